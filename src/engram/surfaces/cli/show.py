"""
Show the engine's values to a person, in plain lines.

Called by the commands where `--json` was not asked for; calls `output` only.
The first word of a line is what a script or a second command needs: an id, a score, a name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.surfaces.cli.output import bold, dim, indented, minute, one_line, out, short, visible, warning

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.values import DoctorReport, HistoryEvent, Hit, Memory, Recall, StatusReport

_BESIDE_SCORE = " " * 10
_TRUST_PARTS = ("relevance", "accuracy", "freshness", "utility")


def show_line(memory: Memory) -> None:
    """Show a memory as one line of a list."""
    first = f"{short(memory.id)}  {dim(minute(memory.when))}  {memory.category}  "
    out(indented(first, one_line(memory.content), indent=_BESIDE_SCORE))


def show_lines(memories: Sequence[Memory]) -> None:
    """Show memories one below the other."""
    for memory in memories:
        show_line(memory)


def show_memory(memory: Memory) -> None:
    """Show everything about one memory that a person may want to know."""
    out(visible(memory.content))
    out()
    show_rows(
        {
            "id": memory.id,
            "status": memory.status + (", pinned" if memory.pinned else ""),
            "scope": str(memory.scope),
            "kind": f"{memory.kind}, {memory.type}, {memory.category}, {memory.layer}"
            + (" by hand" if memory.layer_held else ""),
            "when": minute(memory.when),
            "stored": minute(memory.created_at),
            "forget after": minute(memory.forget_after) if memory.forget_after else None,
            "confidence": f"{memory.confidence:.2f} ({memory.confidence_tier})",
            "importance": f"{memory.importance:.2f}",
            "said by": memory.provenance.speaker,
            "session": memory.provenance.session,
            "source": memory.provenance.source,
            "repeated": f"{memory.reinforcements} times" if memory.reinforcements else None,
            "recalled": recalls(memory),
            "version": str(memory.version),
            "replaces": memory.supersedes,
            "replaced by": memory.superseded_by,
        }
    )


def show_recall(answer: Recall) -> None:
    """Show the hits with score, content, time and what found them."""
    for hit in answer.hits:
        _show_hit(hit)


def show_recall_explained(answer: Recall) -> None:
    """Show the hits with every reason, and how the answer came about."""
    for hit in answer.hits:
        _show_hit(hit)
        for reason in hit.reasons:
            place = f"{reason.index}: place {reason.rank}, score {reason.score:.3f}"
            out(_BESIDE_SCORE + dim(f"{place}, gives {reason.contribution:.3f}"))
        believed = {part: f"{getattr(hit.trust, part):.2f}" for part in _TRUST_PARTS}
        parts = ", ".join(f"{part} {value}" for part, value in believed.items())
        out(_BESIDE_SCORE + dim(f"trust {hit.trust.composite:.2f}: {parts}"))
    _show_quality(answer)


def show_history(events: Sequence[HistoryEvent]) -> None:
    """Show what happened to a memory, oldest first."""
    for event in events:
        moved = f"{event.old_status or 'new'} → {event.new_status}" if event.new_status else ""
        changed = ", ".join(f"{name} {old} → {new}" for name, (old, new) in event.changes.items())
        what = "; ".join(part for part in (moved, changed, event.reason) if part)
        out(f"{dim(minute(event.at))}  {event.action:<10}  by {one_line(event.actor.name)}  {one_line(what)}")


def show_status(report: StatusReport) -> None:
    """Show the whole at a glance."""
    counts = ", ".join(f"{number} {name}" for name, number in report.by_status.items())
    show_rows(
        {
            "store": report.store,
            "size": f"{report.size_bytes / 1_000_000:.1f} MB, format {report.format_version}"
            + (", encrypted" if report.encrypted else ""),
            "memories": f"{report.memories} ({counts})" if counts else "0",
            "layers": ", ".join(f"{number} {name}" for name, number in report.by_layer.items()) or None,
            "turns": str(report.turns),
            "policy": report.policy,
            "embedder": report.embedder,
            "to be read": f"{report.awaiting_reading} turns" if report.awaiting_reading else None,
            "to be embedded": str(report.awaiting_embedding),
            "to be enriched": str(report.awaiting_enrichment) if report.awaiting_enrichment else None,
        }
    )
    for scope, number in report.by_scope.items():
        out(f"  {number:>8}  in {one_line(scope)}")
    for part in report.parts:
        if part.is_failing:
            out(warning(f"{part.name} fails: {one_line(part.failure or '')}"))


def show_doctor(report: DoctorReport) -> None:
    """Show every check, the good ones too."""
    for check in report.checks:
        verdict = "repaired" if check.repaired else "ok" if check.ok else "WRONG"
        mark = verdict if check.ok else warning(verdict)
        out(f"{mark:<8}  {check.name}: {one_line(check.found)}")


def _show_hit(hit: Hit) -> None:
    out(indented(f"{bold(f'{hit.score:.2f}')}      ", one_line(hit.memory.content), indent=_BESIDE_SCORE))
    found_by = ", ".join(f"{reason.index} #{reason.rank}" for reason in hit.reasons)
    said_by = f" · {one_line(hit.memory.provenance.speaker)}" if hit.memory.provenance.speaker else ""
    about = f"{minute(hit.memory.when)}{said_by} · {hit.memory.category} · {found_by}"
    out(f"{short(hit.memory.id)}  {dim(about)}")


def recalls(memory: Memory) -> str | None:
    """Return how often and when last a memory was recalled, if ever."""
    log = memory.access
    return None if log.last_at is None else f"{log.count} times, last {minute(log.last_at)}"


def _show_quality(answer: Recall) -> None:
    quality = answer.quality
    missing = [f"{one.index}: {one_line(one.reason)}" for one in quality.missing]
    out()
    show_rows(
        {
            "answered": ", ".join(quality.answered) or "no index",
            "missing": "; ".join(missing) or "nothing",
            "candidates": str(quality.candidates),
            "relevancy": f"{quality.average_relevancy:.2f} on average, NDCG {quality.ndcg:.2f}",
            "tokens": f"about {quality.tokens}",
            "took": f"{quality.milliseconds:.1f} ms: "
            + ", ".join(f"{name} {spent:.1f}" for name, spent in quality.stages.items()),
        }
    )


def show_rows(named: dict[str, str | None]) -> None:
    """Show names and values, leaving out what has no value."""
    for name, value in named.items():
        if value is not None:
            out(f"{dim(f'{name:<14}')}  {visible(value)}")
