"""
What is left for later: enriching and judging bulk, embedding what could not be yet, filing an old store.

Runs on a background worker. While writes keep coming it waits, since during a bulk import it would be in the
way; a failing embedder or store is tried again, patiently.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import datetime
from typing import Protocol

from engramdb.clock import Clock
from engramdb.errors import EmbeddingError
from engramdb.index.rebuild import embed_pending
from engramdb.lifecycle.admission import WritePipeline
from engramdb.lifecycle.candidates import enriched
from engramdb.lifecycle.filing import refiled
from engramdb.lifecycle.judging import judge_pending
from engramdb.lifecycle.transitions import MemoryWriter
from engramdb.models.embedder import Embedder
from engramdb.store.contract import Store
from engramdb.values import Actor, ActorKind
from engramdb.worker import Worker

BACKFILL = "backfill in the background"
"""The name of this job in `status`."""
ENRICHING = Actor(name="enrichment", kind=ActorKind.RULE)
FILING = Actor(name="filing", kind=ActorKind.RULE)
FILED = "filed by what it says"
BATCH = 128
"""Memories enriched or filed in one write: a tenth of a second."""
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

    def _work(self) -> None:
        with self._lock:
            self._asked_at = None
        stop = self._parts.stop
        enrich_pending(self._parts.store, now=self._parts.clock.now(), stop=stop)
        refile_pending(self._parts.store, now=self._parts.clock.now(), stop=stop)
        embed_pending(self._parts.store, self._parts.embedder, is_stopped=stop.is_set)
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
    File what an earlier version has stored, a batch to a write, and return how many memories that were.

    Each is marked by the write that files it, so that a process that is killed loses nothing and the next one
    goes on.
    """
    done = 0
    while stop is None or not stop.is_set():
        with store.atomic() as tx:
            writer = MemoryWriter(tx, FILING, now)
            waiting = tx.memories.unfiled(limit=BATCH)
            for memory in waiting.values():
                writer.refile(memory, refiled(memory), reason=FILED)
        if not waiting:
            break
        done += len(waiting)
        if progress is not None:
            progress(len(waiting))
    return done


def enrich_pending(
    store: Store,
    *,
    now: datetime,
    stop: threading.Event | None = None,
    progress: Callable[[int], None] | None = None,
) -> int:
    """Enrich what came in bulk, a batch to a write, and return how many memories that were."""
    done = 0
    while stop is None or not stop.is_set():
        with store.atomic() as tx:
            writer = MemoryWriter(tx, ENRICHING, now)
            waiting = tx.memories.unenriched(limit=BATCH)
            for key, memory in waiting.items():
                writer.enrich(key, enriched(memory))
        if not waiting:
            break
        done += len(waiting)
        if progress is not None:
            progress(len(waiting))
    return done
