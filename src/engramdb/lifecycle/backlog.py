"""
What is left for later: enriching and judging bulk, embedding what could not be yet, filing an old store.

Runs on a background worker. While writes keep coming it waits, since during a bulk import it would be in the
way; a failing embedder or store is tried again, patiently.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Protocol

from msgspec import Struct

from engramdb.clock import Clock
from engramdb.errors import EmbeddingError, EngramError
from engramdb.index.rebuild import embed_pending
from engramdb.lifecycle.admission import WritePipeline
from engramdb.lifecycle.candidates import enriched
from engramdb.lifecycle.filing import refiled
from engramdb.lifecycle.judging import judge_pending
from engramdb.lifecycle.pacing import fitting_rows
from engramdb.lifecycle.transitions import MemoryWriter
from engramdb.models.embedder import Embedder
from engramdb.store.contract import Store, Transaction
from engramdb.values import Actor, ActorKind, Memory
from engramdb.worker import Worker

BACKFILL = "backfill in the background"
"""The name of this job in `status`."""
ENRICHING = Actor(name="enrichment", kind=ActorKind.RULE)
FILING = Actor(name="filing", kind=ActorKind.RULE)
FILED = "filed by what it says"
BATCH = 128
"""Memories that are read and looked at together."""
FIRST_WRITE_ROWS, MOST_WRITE_ROWS = 8, 32
"""Memories that one write takes."""
FEW = 32
"""As many are embedded without waiting until the machine is idle: what one act has changed."""
QUIET_SECONDS = 0.5
"""It begins when nothing was written for so long."""
JUDGE_AGAIN_SECONDS = 60.0
"""How long a judge that fails is left alone."""
MAX_QUIET_SECONDS = 30.0
"""It waits no longer than this for writers that never pause."""


class BacklogParts(Protocol):
    """What the backlog needs of the engine; the embedder is opened when there is something to embed."""

    @property
    def clock(self) -> Clock: ...
    @property
    def store(self) -> Store: ...
    @property
    def embedder(self) -> Embedder: ...
    @property
    def stop(self) -> threading.Event: ...
    @property
    def pipeline(self) -> WritePipeline: ...


class Backlog:
    """Enriches and embeds what waits, soon after it is asked to."""

    def __init__(self, parts: BacklogParts, worker: Worker) -> None:
        self._parts = parts
        self._worker = worker
        self._lock = threading.Lock()
        self._asked_at: float | None = None
        self._seen: frozenset[int] = frozenset()

    def wake(self) -> None:
        """Work soon, or once more after the work under way."""
        now = time.monotonic()
        with self._lock:
            if self._asked_at is None:
                self._asked_at = now
            latest = self._asked_at + MAX_QUIET_SECONDS
        delay = min(QUIET_SECONDS, max(0.0, latest - now))
        self._worker.submit(BACKFILL, self._work, delay_seconds=delay)

    def has_unembedded(self) -> bool:
        """Return whether a memory has no vector in the embedder's space."""
        try:
            identity = self._parts.embedder.identity
        except EmbeddingError:  # noted in health by the embedder itself
            return False
        with self._parts.store.read() as tx:
            return bool(tx.vectors.pending(tx.vectors.space(identity), limit=1))

    def embed_few(self) -> None:
        """Embed what waits now, unless it is much: that, and what fails, is left to a background."""
        with suppress(EngramError):  # what was asked for is done
            if self._few_unembedded():
                embed_pending(self._parts.store, self._parts.embedder)

    def take_up_few(self) -> None:
        """Wake where others have left a little to embed; what was seen before is under way or fails."""
        with suppress(EngramError):
            waiting = self._few_unembedded()
            is_news, self._seen = bool(waiting - self._seen), waiting
            if is_news:
                self.wake()

    def _few_unembedded(self) -> frozenset[int]:
        """Return the keys of what waits to be embedded, none where it is much."""
        with self._parts.store.read() as tx:
            if not tx.vectors.is_lacking():
                return frozenset()
        identity = self._parts.embedder.identity  # which may have to be loaded
        with self._parts.store.read() as tx:
            waiting = tx.vectors.pending(tx.vectors.space(identity), limit=FEW + 1)
        return frozenset(waiting if len(waiting) <= FEW else ())

    def _work(self) -> None:
        with self._lock:
            self._asked_at = None
        stop, store = self._parts.stop, self._parts.store
        with store.background_writes():
            enrich_pending(store, now=self._parts.clock.now(), stop=stop)
            refile_pending(store, now=self._parts.clock.now(), stop=stop)
            embed_pending(store, self._parts.embedder, is_stopped=stop.is_set)
            judge_pending(self._parts.pipeline, now=self._parts.clock.now, stop=stop)
        if self._is_unfinished() and not stop.is_set():
            self._worker.submit(BACKFILL, self._work, delay_seconds=JUDGE_AGAIN_SECONDS)

    def _is_unfinished(self) -> bool:
        """Return whether a judge was asked for and could not get through: it is asked again after a while."""
        with self._parts.store.read() as tx:
            return self._parts.pipeline.judge is not None and bool(tx.memories.count_unjudged())


def refile_pending(
    store: Store,
    *,
    now: datetime,
    stop: threading.Event | None = None,
    progress: Callable[[int], None] | None = None,
) -> int:
    """
    File what an earlier version has stored, and return how many memories that were.

    Each is marked by the write that files it, so that a process that is killed loses nothing and the next one
    goes on.
    """

    def file(tx: Transaction, _key: int, memory: Memory, filed: Memory) -> None:
        MemoryWriter(tx, FILING, now).refile(memory, filed, reason=FILED)

    work = _PendingWork(lambda tx: tx.memories.unfiled(limit=BATCH), refiled, file)
    return _work_through(store, work, stop=stop, progress=progress)


def enrich_pending(
    store: Store,
    *,
    now: datetime,
    stop: threading.Event | None = None,
    progress: Callable[[int], None] | None = None,
) -> int:
    """Enrich what came in bulk, and return how many memories that were."""

    def enrich(tx: Transaction, key: int, _memory: Memory, rich: Memory) -> None:
        MemoryWriter(tx, ENRICHING, now).enrich(key, rich)

    work = _PendingWork(lambda tx: tx.memories.unenriched(limit=BATCH), enriched, enrich)
    return _work_through(store, work, stop=stop, progress=progress)


class _PendingWork(Struct, frozen=True):
    """What waits, what is made of each memory, and how that is written."""

    waiting: Callable[[Transaction], Mapping[int, Memory]]
    make: Callable[[Memory], Memory]
    write: Callable[[Transaction, int, Memory, Memory], None]


def _work_through(
    store: Store,
    work: _PendingWork,
    *,
    stop: threading.Event | None,
    progress: Callable[[int], None] | None,
) -> int:
    """Work until nothing waits: what takes long happens outside of writes, and each write takes a few."""
    done, rows = 0, FIRST_WRITE_ROWS
    while stop is None or not stop.is_set():
        with store.read() as tx:
            seen = work.waiting(tx)
        if not seen:
            break
        made = {key: work.make(memory) for key, memory in seen.items()}
        keys = list(seen)
        while keys:
            some, keys = keys[:rows], keys[rows:]
            with store.atomic() as tx:
                begun = time.perf_counter()
                for key, memory in tx.memories.by_keys(some).items():
                    is_same = memory == seen[key]
                    if memory.status is seen[key].status:  # else it has left, or waits for the next look
                        work.write(tx, key, memory, made[key] if is_same else work.make(memory))
            rows = fitting_rows(len(some), time.perf_counter() - begun, least=1, most=MOST_WRITE_ROWS)
        done += len(seen)
        if progress is not None:
            progress(len(seen))
    return done
