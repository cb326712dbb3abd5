"""
Show the engine's values to a person, in plain lines.

Called by the commands where `--json` was not asked for; calls `output` only.
The first word of a line is what a script or a second command needs: an id, a score, a name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.surfaces.cli.output import dim, indented, minute, one_line, out, short, visible, warning

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.values import DoctorReport, HistoryEvent, Memory, StatusReport

_UNDER_ID = " " * 10
_LEVEL = "level: "
"""What the engine puts before the name of a level where it counts them."""


def show_line(memory: Memory) -> None:
    """Show a memory as one line of a list."""
    first = f"{short(memory.id)}  {dim(minute(memory.when))}  {memory.category}  "
    out(indented(first, one_line(memory.content), indent=_UNDER_ID))


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
            "repeated": times(memory.reinforcements) if memory.reinforcements else None,
            "confirmed": minute(memory.confirmed_at) if memory.confirmed_at else None,
            "recalled": recalls(memory),
            "feedback": feedbacks(memory),
            "version": str(memory.version),
            "replaces": memory.supersedes,
            "replaced by": memory.superseded_by,
            **_traits(memory),
        }
    )


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
            "recalls": _answers(report.recalls),
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


def recalls(memory: Memory) -> str | None:
    """Return how often and when last a memory was recalled, if ever."""
    log = memory.access
    return None if log.last_at is None else f"{times(log.count)}, last {minute(log.last_at)}"


def feedbacks(memory: Memory) -> str | None:
    """Return how often a memory was said to help and not to, if ever."""
    told = (("helped", memory.helped), ("did not help", memory.unhelpful))
    return ", ".join(f"{what} {times(number)}" for what, number in told if number) or None


def times(number: int) -> str:
    """Return a number of times in words."""
    return "once" if number == 1 else f"{number} times"


def _traits(memory: Memory) -> dict[str, str | None]:
    """Return what was inferred from the content, which filters can ask for."""
    found = memory.traits
    listed = {name: ", ".join(getattr(found, name)) for name in ("people", "technologies", "paths", "topics")}
    return {
        **{name: one_line(value) if value else None for name, value in listed.items()},
        "language": found.language,
        "sentiment": found.sentiment,
    }


def _answers(recalled: Mapping[str, float]) -> str:
    """Return how good the answers of this process were; a command that has just begun gave none."""
    count = int(recalled.get("answers", 0))
    if not count:
        return "none by this command; a server counts its own"
    found = [f"{count} in this process"]
    if "average_relevancy" in recalled:
        found += [
            f"relevancy {recalled['average_relevancy']:.2f}, NDCG {recalled['ndcg']:.2f}",
            f"{recalled['milliseconds_p50']:.1f} ms, p95 {recalled['milliseconds_p95']:.1f} ms",
            f"{int(recalled['poor_in_a_row'])} poor in a row",
        ]
    levels = [(name, number) for name, number in recalled.items() if name.startswith(_LEVEL)]
    found += [f"{number:g} {name.removeprefix(_LEVEL)}" for name, number in levels if name != _LEVEL + "full"]
    return "; ".join(found)


def show_rows(named: dict[str, str | None]) -> None:
    """Show names and values, leaving out what has no value."""
    for name, value in named.items():
        if value is not None:
            out(f"{dim(f'{name:<14}')}  {visible(value)}")
