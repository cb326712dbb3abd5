"""Status: health of parts, usage, quality of answers."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from engramdb.engine.built import is_built
from engramdb.engine.clock import Clock
from engramdb.errors import (
    AccessDenied,
    ContentTooLarge,
    EdgeNotAllowed,
    EmbeddingError,
    EngramError,
    InjectionBlocked,
    InvalidContent,
    InvalidQuery,
    InvalidScope,
    MemoryNotFound,
    StatusNotAllowed,
    StorageError,
)
from engramdb.models import e5, static
from engramdb.models.calibration import Calibration
from engramdb.models.chat import CallLog, Usage
from engramdb.models.embedder import Embedder
from engramdb.policy import RecallPolicy
from engramdb.store.contract import DreamRun, Store, Sweep
from engramdb.store.contract.whole import PartTally
from engramdb.text.normalize import counted
from engramdb.values import EmbedderIdentity, IndexReport, PartHealth, Recall, StatusReport

if TYPE_CHECKING:
    from engramdb.engine.assemble import Parts

POOR_RELEVANCY = 0.3
"""An answer with a lower average relevancy is poor."""
POOR_IN_A_ROW = 10
"""So many poor answers in a row are worth a warning."""


# Which parts work: the last success and the last failure of each, with the reason.
#
# Kept by the engine for its own process and shown by `status`. The embedder is watched by a wrapper that
# notes how each call ended, so neither the write pipeline nor recall has to.

EMBEDDER = "embedder"
CHAT = "chat model"
REFUSALS = (
    AccessDenied,
    ContentTooLarge,
    EdgeNotAllowed,
    InjectionBlocked,
    InvalidContent,
    InvalidQuery,
    InvalidScope,
    MemoryNotFound,
    StatusNotAllowed,
)
"""What is wrong with a request: a part that refuses it works, and has not failed."""


class Health:
    """How each part fared."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._parts: dict[str, PartHealth] = {}

    @contextmanager
    def watch(self, part: str) -> Iterator[None]:
        """Note whether the block succeeded; its error goes on to the caller, and a refusal is not noted."""
        try:
            yield
        except REFUSALS:
            raise
        except EngramError as exc:
            self._note(part, failure=f"{exc.code} {exc}")
            raise
        self._note(part, failure=None)

    def failed(self, part: str, error: EngramError) -> None:
        """Note a failure that was dealt with where it happened."""
        self._note(part, failure=f"{error.code} {error}")

    def is_failing(self, part: str) -> bool:
        """Say whether the part's last attempt failed."""
        with self._lock:
            return part in self._parts and self._parts[part].is_failing

    def parts(self) -> tuple[PartHealth, ...]:
        """Return every part that has been used."""
        with self._lock:
            return tuple(self._parts.values())

    def _note(self, part: str, *, failure: str | None) -> None:
        now = self._clock.now()
        with self._lock:
            known = self._parts.get(part, PartHealth(name=part))
            if failure is None:
                self._parts[part] = replace(known, last_success=now)
            else:
                self._parts[part] = replace(
                    known, last_failure=now, failure=failure, failures=known.failures + 1
                )


class WatchedEmbedder:
    """An embedder whose calls are noted."""

    def __init__(self, embedder: Embedder, health: Health) -> None:
        self._embedder = embedder
        self._health = health

    @property
    def identity(self) -> EmbedderIdentity:
        """The identity of the embedder inside."""
        with self._health.watch(EMBEDDER):
            return self._embedder.identity

    @property
    def similarity_floor(self) -> float:
        """The floor of the embedder inside."""
        return self._embedder.similarity_floor

    @property
    def calibration(self) -> Calibration:
        """The calibration of the embedder inside, which may have to ask its server for it."""
        with self._health.watch(EMBEDDER):
            return self._embedder.calibration

    @property
    def batch(self) -> int:
        """How many texts are worth handing over at once."""
        return self._embedder.batch

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text that will be stored."""
        with self._health.watch(EMBEDDER):
            return self._embedder.embed_documents(texts)

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per question that will be asked."""
        with self._health.watch(EMBEDDER):
            return self._embedder.embed_queries(texts)


# Keep in the store how each part fares and what the chat model has cost, so that a restart forgets neither.
#
# Held by the engine; written when it closes, when `status` is asked for, and twice a minute where it works in
# the background. What cannot be written is not worth an error: the parts say themselves what fails.

PURPOSE = "chat: "
"""How the name begins under which a purpose of the chat model is kept."""


class Ledger:
    """What this process has to add to the store's own account of its parts."""

    def __init__(self, store: Store, health: Health, calls: CallLog) -> None:
        self._store = store
        self._health = health
        self._calls = calls
        self._lock = threading.Lock()
        self._parts: dict[str, PartHealth] = {}
        self._usage: dict[str, Usage] = {}

    def keep(self) -> None:
        """Add what happened since the last time to the store, if it can be written."""
        with self._lock, suppress(StorageError):
            parts = {part.name: part for part in self._health.parts()}
            usage = self._calls.by_purpose()
            fresh = [*self._fresh_parts(parts), *self._fresh_usage(usage)]
            if not fresh:
                return
            with self._store.atomic() as tx:
                for tally in fresh:
                    tx.parts.add(tally)
            self._parts, self._usage = parts, usage

    def all_parts(self) -> tuple[PartHealth, ...]:
        """Return how every part fared last, in whichever process."""
        with self._store.read() as tx:
            kept = [one for one in tx.parts.list() if not one.name.startswith(PURPOSE)]
        return tuple(
            PartHealth(
                name=one.name,
                last_success=one.last_success,
                last_failure=one.last_failure,
                failure=one.failure,
                failures=one.failures,
            )
            for one in kept
        )

    def spent(self) -> Mapping[str, Mapping[str, float]]:
        """Return what the chat model was asked so far, in whichever process, by purpose."""
        with self._store.read() as tx:
            kept = [one for one in tx.parts.list() if one.name.startswith(PURPOSE)]
        return {
            one.name.removeprefix(PURPOSE): {
                "calls": one.calls,
                "failures": one.failures,
                "input_tokens": one.input_tokens,
                "output_tokens": one.output_tokens,
                "milliseconds": one.milliseconds,
            }
            for one in kept
        }

    def _fresh_parts(self, parts: Mapping[str, PartHealth]) -> Iterator[PartTally]:
        for name, part in parts.items():
            before = self._parts.get(name, PartHealth(name=name))
            if part != before:
                yield PartTally(
                    name=name,
                    last_success=part.last_success,
                    last_failure=part.last_failure,
                    failure=part.failure,
                    failures=part.failures - before.failures,
                )

    def _fresh_usage(self, usage: Mapping[str, Usage]) -> Iterator[PartTally]:
        for purpose, total in usage.items():
            before = self._usage.get(purpose, Usage())
            if replace(total, last_error=None) != replace(before, last_error=None):
                yield PartTally(
                    name=f"{PURPOSE}{purpose}",
                    failures=total.failures - before.failures,
                    calls=total.calls - before.calls,
                    input_tokens=total.input_tokens - before.input_tokens,
                    output_tokens=total.output_tokens - before.output_tokens,
                    milliseconds=total.milliseconds - before.milliseconds,
                )


# How good the latest answers were: rolling averages for `status`, and a warning when many in a row were poor.

KEPT = 200
"""So many answers are averaged."""


class AnswerLog:
    """The quality of the latest answers."""

    def __init__(self, policy: Callable[[], RecallPolicy]) -> None:
        self._policy = policy
        self._lock = threading.Lock()
        self._latest: deque[tuple[float, float, float]] = deque(maxlen=KEPT)
        self._count = 0
        self._poor_in_a_row = 0
        self._levels: dict[str, int] = {}

    def add(self, answer: Recall) -> None:
        """Take in one answer; an empty one from an empty store says nothing about quality."""
        quality = answer.quality
        with self._lock:
            self._count += 1
            self._levels[quality.level] = self._levels.get(quality.level, 0) + 1
            if not quality.candidates:
                return
            self._latest.append((quality.average_relevancy, quality.ndcg, quality.milliseconds))
            is_poor = quality.average_relevancy < POOR_RELEVANCY
            self._poor_in_a_row = self._poor_in_a_row + 1 if is_poor else 0

    def summary(self) -> dict[str, float]:
        """Return how many answers there were, and the averages of the latest."""
        with self._lock:
            found: dict[str, float] = {"answers": self._count, "poor_in_a_row": self._poor_in_a_row}
            found |= {f"level: {level}": number for level, number in self._levels.items()}
            latest = list(self._latest)
        if latest:
            relevancy, ndcg, milliseconds = np.array(latest).T
            found |= {"average_relevancy": float(relevancy.mean()), "ndcg": float(ndcg.mean())}
            found |= {f"milliseconds_p{p}": float(np.percentile(milliseconds, p)) for p in (50, 95)}
        return found

    @property
    def is_poor(self) -> bool:
        """Whether so many poor answers came in a row that something may be wrong."""
        with self._lock:
            return self._poor_in_a_row > 0 and self._poor_in_a_row >= POOR_IN_A_ROW


# A look at the whole, for `status`.
#
# Called by `Engram.status`; reads one snapshot and asks each part how it fares, here and in other processes.
# Counts and states only: nothing of a memory's words is in a report.

_MOST_SCOPES = 20


def overview(parts: Parts) -> StatusReport:
    """Return counts, sizes, what waits, and how each part fares."""
    parts.ledger.keep()
    described = parts.store.describe()
    embedder, space_error = _embedder_name(parts)
    with parts.store.read() as tx:
        space = None if space_error else tx.vectors.space(parts.embedder.identity)
        waiting = tx.vectors.count_pending(space)
        by_status = tx.memories.count_by("status")
        return StatusReport(
            store=parts.store.location,
            encrypted=bool(described["encrypted"]),
            format_version=int(str(described["format_version"])),
            size_bytes=int(str(described["size_bytes"])),
            disk_free_bytes=_room(described),
            policy=parts.settings.policy,
            embedder=embedder,
            memories=sum(by_status.values()),
            turns=tx.turns.count(),
            by_status=by_status,
            by_layer=tx.memories.count_by("layer"),
            by_scope={str(scope): n for scope, n in tx.memories.largest_scopes(limit=_MOST_SCOPES).items()},
            awaiting_embedding=waiting,
            awaiting_enrichment=tx.memories.count_unenriched(),
            awaiting_reading=tx.turns.pending()[0],
            chat={name: _spent(usage) for name, usage in parts.calls.by_purpose().items()},
            spent=parts.ledger.spent(),
            recalls=parts.answers.summary(),
            index=_index(parts),
            entities=tx.entities.count(),
            last_dream=_finished(tx.dreams.latest()),
            last_ageing=_finished(tx.sweeps.latest()),
            parts=parts.health.parts(),
            all_parts=parts.ledger.all_parts(),
            advice=(*_advice(embedder, space_error, waiting), *_doubts(parts), *_room_advice(described)),
        )


def _index(parts: Parts) -> IndexReport | None:
    state = parts.spaces.state() if is_built(parts, "spaces") else None
    if state is None:
        return None
    return IndexReport(kind=state.backend, rows=state.rows, size_bytes=state.bytes, is_loaded=state.is_loaded)


def _finished(run: DreamRun | Sweep | None) -> datetime | None:
    return None if run is None else run.finished_at


def _room(described: Mapping[str, object]) -> int | None:
    """Return the bytes that are free beside the store, where it says so."""
    free = described.get("disk_free_bytes")
    return free if isinstance(free, int) else None


def _room_advice(described: Mapping[str, object]) -> Iterator[str]:
    """Say so where the store could not be written anew, as erasing does."""
    free = _room(described)
    if free is not None and free < 2 * int(str(described["size_bytes"])):
        yield (
            f"Only {free / 1_000_000:.0f} MB are free on the disk of the store, less than twice its size: "
            "writes may fail, and the file cannot be written anew."
        )


def _spent(usage: Usage) -> dict[str, float]:
    return {
        "calls": usage.calls,
        "failures": usage.failures,
        "invalid": usage.invalid,
        "dropped": usage.dropped,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "milliseconds": usage.milliseconds,
    }


def _embedder_name(parts: Parts) -> tuple[str, str | None]:
    try:
        identity = parts.embedder.identity
    except EmbeddingError as exc:
        return parts.settings.embedder, str(exc)
    return f"{identity.name} ({identity.dimension} dimensions, revision {identity.revision})", None


def _doubts(parts: Parts) -> Iterator[str]:
    if parts.answers.is_poor:
        yield (
            f"The last {POOR_IN_A_ROW} answers or more were poor: either nothing about "
            "them was ever stored, or the embedder does not fit these memories."
        )


def _advice(embedder: str, error: str | None, waiting: int) -> Iterator[str]:
    if error:
        yield f"The embedder does not work, so memories are found by their words only: {error}"
    if embedder.startswith(static.NAME):
        yield f"A better embedder can be added: engram models add {e5.NAME}"
    if waiting:
        told = counted(waiting, "memory waits", "memories wait")
        yield f"{told} to be embedded; found by words alone until then."
