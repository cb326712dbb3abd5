"""
A look at the whole, for `status`.

Called by `Engram.status`; reads one snapshot and asks each part how it fares.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.errors import EmbeddingError
from engram.providers import e5, static
from engram.values import StatusReport

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engram.engine.assemble import Parts
    from engram.providers.chat import Usage

_MOST_SCOPES = 20


def overview(parts: Parts) -> StatusReport:
    """Return counts, sizes, what waits, and how each part fares."""
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
            recalls=parts.answers.summary(),
            parts=parts.health.parts(),
            advice=(*_advice(embedder, space_error, waiting), *_doubts(parts)),
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
        yield f"{waiting} memories wait to be embedded; until then they are found by their words only."
