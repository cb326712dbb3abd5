"""
Show the engine's values to a person, in plain lines.

Called by the commands where `--json` was not asked for; calls `output` only.
The first word of a line is what a script or a second command needs: an id, a score, a name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.surfaces.cli.output import dim, indented, minute, one_line, out, short, visible, warning

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.values import DoctorReport, Memory

_UNDER_ID = " " * 10
_WIDEST_CATEGORY = 12
"""A longer one stands out of its column, so that it does not push all the others aside."""


def show_line(memory: Memory, *, width: int = 0) -> None:
    """Show a memory as one line of a list, whose categories are so wide."""
    first = f"{short(memory.id)}  {dim(minute(memory.when))}  {memory.category:<{width}}  "
    out(indented(first, one_line(memory.content), indent=_UNDER_ID))


def show_lines(memories: Sequence[Memory]) -> None:
    """Show memories one below the other."""
    widths = [len(memory.category) for memory in memories]
    width = max((one for one in widths if one <= _WIDEST_CATEGORY), default=0)
    for memory in memories:
        show_line(memory, width=width)


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
            "security": str(memory.security),
            "flags": ", ".join(memory.flags) or None,
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


def show_doctor(report: DoctorReport) -> None:
    """Show every check, the good ones too, and below them what was done, once."""
    for check in report.checks:
        verdict = f"{'repaired' if check.repaired else 'ok' if check.ok else 'WRONG':<8}"
        mark = verdict if check.ok else warning(verdict)  # widened first: colour has a length, too
        out(f"{mark}  {check.name}: {one_line(check.found)}")
    for deed in dict.fromkeys(check.did for check in report.checks if check.did):
        out(f"{'done':<8}  {deed}")


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


def show_rows(named: dict[str, str | None]) -> None:
    """Show names and values, leaving out what has no value."""
    for name, value in named.items():
        if value is not None:
            out(f"{dim(f'{name:<14}')}  {visible(value)}")
