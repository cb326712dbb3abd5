"""
A look at the whole, for `status`: counts, sizes, what waits, and how each part fares, in every process.

Counts and states only: nothing of a memory's words is in a report.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING

from msgspec.structs import replace

from engramdb.engine.parts import is_built
from engramdb.errors import EmbeddingError, StorageError
from engramdb.health import Health
from engramdb.models.chat import CallLog, Usage
from engramdb.store.contract import DreamRun, Store, Sweep
from engramdb.store.contract.whole import PartTally
from engramdb.text.normalize import counted
from engramdb.values import IndexReport, PartHealth, Scope, StatusReport
from engramdb.values.report import BreakerState, SchedulerState

if TYPE_CHECKING:  # a cycle: the parts hold the health store, and the report is about the parts
    from engramdb.engine.parts import Parts

STATIC_EMBEDDER, E5_EMBEDDER = "static", "e5-small"
"""The names of the built-in embedder and of the better one that can be added."""
PURPOSE = "chat: "
"""Prefix of the name under which a purpose of the chat model is counted."""


class HealthStore:
    """
    What this process has to add to the store's own record of its parts and of what the chat model has cost.

    Written when the engine closes, when `status` is asked for, and twice a minute in the background. What
    cannot be written is not worth an error: the parts say themselves what fails.
    """

    def __init__(self, store: Store, health: Health, calls: CallLog) -> None:
        self._store = store
        self._health = health
        self._calls = calls
        self._lock = threading.Lock()
        self._parts: dict[str, PartHealth] = {}
        self._usage: dict[str, Usage] = {}

    def save(self) -> None:
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


_MAX_SCOPES = 20


def overview(parts: Parts) -> StatusReport:
    """Return counts, sizes, what waits, and how each part fares."""
    from engramdb.engine.assemble import reader_names  # noqa: PLC0415 - loads what reads and judges

    parts.health_store.save()
    described = parts.store.describe()
    embedder, space_error = _embedder_name(parts)
    breakers = parts.guard.states() if is_built(parts, "guard") else ()
    with parts.store.read() as tx:
        space = None if space_error else tx.vectors.space(parts.embedder.identity)
        waiting, unjudged = tx.vectors.count_pending(space), tx.memories.count_unjudged()
        by_status = tx.memories.count_by("status")
        return StatusReport(
            store=parts.store.location,
            encrypted=bool(described["encrypted"]),
            format_version=int(str(described["format_version"])),
            size_bytes=int(str(described["size_bytes"])),
            disk_free_bytes=_free_bytes(described),
            read_only=_read_only(parts),
            policy=parts.settings.policy,
            embedder=embedder,
            memories=sum(by_status.values()),
            turns=tx.turns.count(),
            by_status=by_status,
            by_layer=tx.memories.count_by("layer"),
            by_scope={str(scope): n for scope, n in tx.memories.largest_scopes(limit=_MAX_SCOPES).items()},
            awaiting_embedding=waiting,
            awaiting_enrichment=tx.memories.count_unenriched() + tx.memories.count_unfiled(),
            awaiting_judgment=unjudged,
            reader=", ".join(reader_names(parts.settings)),
            judge="rules" if parts.judge is None else f"rules, {parts.judge.name}",
            awaiting_reading=tx.turns.pending()[0],
            turns_without_memories=tx.turns.count_without_memories(),
            chat={name: _spent(usage) for name, usage in parts.calls.by_purpose().items()},
            spent=parts.health_store.spent(),
            recalls=parts.answers.summary()
            if is_built(parts, "answers")
            else {"answers": 0, "poor_in_a_row": 0},
            index=_index(parts),
            entities=tx.entities.count(),
            scheduler=_scheduler(parts),
            workers=parts.worker_states(),
            last_dream=_finished(tx.dreams.latest()),
            last_aging=_finished(tx.sweeps.latest()),
            parts=parts.health.parts(),
            all_parts=parts.health_store.all_parts(),
            breakers=breakers,
            advice=(
                *_read_only_advice(parts),
                *_left_alone(breakers),
                *_clock_advice(parts),
                *_advice(embedder, space_error, waiting),
                *_judging_advice(parts, unjudged),
                *_doubts(parts),
                *_given_up(parts),
                *_disk_advice(described),
            ),
        )


def scope_overview(parts: Parts, scope: Scope) -> StatusReport:
    """Return counts of what a scope sees and what of it waits, and nothing about the rest of the store."""
    from engramdb.engine.assemble import reader_names  # noqa: PLC0415 - loads what reads and judges

    embedder, space_error = _embedder_name(parts)
    described = parts.store.describe()
    with parts.store.read() as tx:
        space = None if space_error else tx.vectors.space(parts.embedder.identity)
        waiting, tally = tx.vectors.count_pending(space, scope=scope), tx.scopes.tally(scope)
        return StatusReport(
            scope=scope,
            store="",
            encrypted=bool(described["encrypted"]),
            format_version=int(str(described["format_version"])),
            size_bytes=0,
            policy=parts.settings.policy,
            embedder=embedder,
            memories=sum(tally.by_status.values()),
            turns=tally.turns,
            by_status=tally.by_status,
            by_layer=tally.by_layer,
            by_scope={str(one): count for one, count in tally.by_scope.items()},
            awaiting_embedding=waiting,
            awaiting_enrichment=tally.unenriched,
            awaiting_judgment=tally.unjudged,
            awaiting_reading=tally.unread_turns,
            turns_without_memories=tally.turns_without_memories,
            reader=", ".join(reader_names(parts.settings)),
            judge="rules" if parts.judge is None else f"rules, {parts.judge.name}",
            entities=tally.entities,
            last_dream=_finished(tx.dreams.latest(scope)),
            advice=tuple(_advice(embedder, space_error, waiting)),
        )


def _index(parts: Parts) -> IndexReport | None:
    state = parts.spaces.state() if is_built(parts, "spaces") else None
    if state is None:
        return None
    return IndexReport(kind=state.backend, rows=state.rows, size_bytes=state.bytes, is_loaded=state.is_loaded)


def _finished(run: DreamRun | Sweep | None) -> datetime | None:
    return None if run is None else run.finished_at


def _free_bytes(described: Mapping[str, object]) -> int | None:
    """Return the bytes that are free beside the store, where it says so."""
    free = described.get("disk_free_bytes")
    return free if isinstance(free, int) else None


def _read_only(parts: Parts) -> str | None:
    reason = parts.store.unwritable
    return None if reason is None else f"{reason.code} {reason.message}"


def _read_only_advice(parts: Parts) -> Iterator[str]:
    """Say why nothing can be written, and what to do."""
    reason = parts.store.unwritable
    if reason is not None:
        yield f"Nothing can be written: {reason}"


def _disk_advice(described: Mapping[str, object]) -> Iterator[str]:
    """Warn where the store could not be rewritten, as erasing does."""
    free = _free_bytes(described)
    if free is not None and free < 2 * int(str(described["size_bytes"])):
        yield (
            f"Only {free / 1_000_000:.0f} MB are free on the disk of the store, less than twice its size: "
            "writes may fail, and the file cannot be rewritten."
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
    if is_built(parts, "answers") and parts.answers.is_poor:
        from engramdb.recall.service import POOR_IN_A_ROW  # noqa: PLC0415 - loaded with the first answer

        yield (
            f"The last {POOR_IN_A_ROW} answers or more were poor: either nothing about "
            "them was ever stored, or the embedder does not fit these memories."
        )


def _scheduler(parts: Parts) -> SchedulerState:
    return parts.scheduler.state() if is_built(parts, "scheduler") else SchedulerState()


def _given_up(parts: Parts) -> Iterator[str]:
    """Say which background jobs have crashed too often to be tried again."""
    found = [job.name for worker in parts.worker_states() for job in worker.jobs if job.is_given_up]
    for name in (*found, *_scheduler(parts).given_up):
        yield (
            f"The background job {name!r} was given up after repeated crashes: restart, or have `doctor` fix "
            "it in the same process, and report the bug."
        )


def _clock_advice(parts: Parts) -> Iterator[str]:
    failure = getattr(parts.clock, "failure", None)
    if failure is not None:
        yield f"The clock does not work, so time goes on from the last moment that it told: {failure}"


def _left_alone(breakers: Sequence[BreakerState]) -> Iterator[str]:
    """Say which parts are not used for a while, why, and until when."""
    for one in breakers:
        failed = counted(one.failures, "failure", "failures")
        when = f"in {one.retry_seconds:.0f} s" if one.retry_seconds >= 1 else "by its next call"
        yield f"The {one.part} is left alone after {failed} in a row and tried again {when}: {one.reason}"


def _judging_advice(parts: Parts, waiting: int) -> Iterator[str]:
    """Say what becomes of memories that wait to be judged."""
    if waiting and parts.judge is not None and not parts.in_background:
        told = counted(waiting, "memory waits", "memories wait")
        yield f"{told} to be compared with what was known before: engram enrich"


def _advice(embedder: str, error: str | None, waiting: int) -> Iterator[str]:
    if error:
        yield f"The embedder does not work, so memories are found by their words only: {error}"
    if embedder.startswith(STATIC_EMBEDDER):
        yield f"A better embedder can be added: engram models add {E5_EMBEDDER}"
    if waiting:
        told = counted(waiting, "memory waits", "memories wait")
        yield f"{told} to be embedded; found by words alone until then."
