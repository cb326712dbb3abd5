"""
A look at the whole, for `status`.

Called by `Engram.status`; reads one snapshot and asks each part how it fares, here and in other processes.
Counts and states only: nothing of a memory's words is in a report.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.engine.built import is_built
from engram.errors import EmbeddingError
from engram.providers import e5, static
from engram.text.counted import counted
from engram.values import IndexReport, StatusReport

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from engram.engine.assemble import Parts
    from engram.providers.chat import Usage
    from engram.store.contract import Run, Sweep

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


def _finished(run: Run | Sweep | None) -> datetime | None:
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
            f"The last {parts.policy.recall.poor_in_a_row} answers or more were poor: either nothing about "
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
