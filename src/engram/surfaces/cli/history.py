"""
`engram history`: show what happened to a memory.

Calls `Engram.history`. Every change has a line: who, when, what, and why where a reason was given.
The history never holds memory text, so there is none to show. Ids are shown by their end, moments to the
minute; `--json` has them whole.
"""

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime

from engram.surfaces.cli.options import MemoryId, Shared
from engram.surfaces.cli.output import dim, indented, minute, one_line, out, present, short
from engram.values import HistoryEvent

ID_LENGTH = 36
_UNDER = " " * 19


def history(shared: Shared, memory_id: MemoryId) -> None:
    """
    Show everything that happened to a memory, oldest first.

    Example: engram history 3f2a9c1b
    """
    with shared.open_existing() as engram:
        events = engram.history(memory_id)

    present(events, _show, as_json=shared.json)


def _show(events: Sequence[HistoryEvent]) -> None:
    for event in events:
        moved = f"{event.old_status or 'new'} → {event.new_status}" if event.new_status else ""
        changed = [_changed(name, old, new) for name, (old, new) in event.changes.items()]
        what = "; ".join(part for part in (moved, ", ".join(changed), event.reason) if part)
        first = f"{dim(minute(event.at))}  {event.action:<10}  by {one_line(event.actor.name)}  "
        out(indented(first, one_line(what), indent=_UNDER).rstrip())


def _changed(name: str, old: object, new: object) -> str:
    """Return what became of a field; one that was empty before has no old value to show."""
    field = name.replace("_", " ")
    if new is None:
        return f"no {field}" if old is None else f"no {field} any more"
    return f"{field} {_told(new)}" if old is None else f"{field} {_told(old)} → {_told(new)}"


def _told(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.2f}"
    if isinstance(value, str):
        return _told_text(value)
    return str(value)


def _told_text(text: str) -> str:
    """Return a moment to the minute, an id by its end, and any other text as it is."""
    if len(text) == ID_LENGTH and text.count("-") == 4:
        return short(text)
    if "T" in text and text[:4].isdigit():
        with suppress(ValueError):
            return minute(datetime.fromisoformat(text))
    return text
