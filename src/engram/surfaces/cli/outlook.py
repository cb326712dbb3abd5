"""
Show one memory's future: what is left of it, why it matters, what will happen, what one recall would change.

Called by `engram forecast ID`. The dates of both futures stand side by side, because what a person can do
about a memory that fades is to use it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.surfaces.cli.ahead import ahead, shifted
from engram.surfaces.cli.output import minute, out, visible
from engram.surfaces.cli.show import recalls, show_rows
from engram.surfaces.cli.table import show_table

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from engram.values import Change, Forecast, Importance, Outlook

_UNDER_VALUES = " " * 14
_HEADER = ("it", "if nothing happens", "after one more recall now")


def show_outlook(found: Forecast) -> None:
    """Show the outlook of the one memory that a forecast was asked for."""
    (outlook,) = found.soonest
    memory = outlook.memory
    out(visible(memory.content))
    out()
    show_rows(
        {
            "id": memory.id,
            "status": memory.status + (", pinned" if memory.pinned else ""),
            "policy": found.policy,
            "retention": f"{outlook.retention:.2f}, {outlook.tier}",
            "layer": memory.layer + (", chosen by hand" if memory.layer_held else ""),
            "recalled": recalls(memory) or "never",
            "importance": f"{outlook.importance.value:.2f}, made of",
        }
    )
    _show_factors(outlook.importance)
    out()
    _show_changes(outlook, found)


def _show_factors(importance: Importance) -> None:
    rows = [[_UNDER_VALUES, name, f"{part:+.2f}"] for name, part in importance.factors.items()]
    show_table(["", "", ""], rows, numbers={2})


def _show_changes(outlook: Outlook, found: Forecast) -> None:
    """Show what will happen, and how one more recall would move it; what has left is not recalled."""
    alone = [[_named(one), _dated(one.at, found.made_at)] for one in outlook.changes]
    rows = alone if outlook.memory.status.is_terminal else _both_futures(outlook, found)
    if rows:
        show_table(_HEADER[: len(rows[0])], rows)
    else:
        out(f"nothing changes within {found.days:g} days")


def _both_futures(outlook: Outlook, found: Forecast) -> list[list[str]]:
    horizon = f"within {found.days:g} days"
    rows = []
    for change in outlook.changes:
        same = _same(change, outlook.after_recall)
        later = "no longer " + horizon if same is None else _moved(change, same)
        rows.append([_named(change), _dated(change.at, found.made_at), later])
    new = [change for change in outlook.after_recall if _same(change, outlook.changes) is None]
    return rows + [[_named(one), "not " + horizon, _dated(one.at, found.made_at)] for one in new]


def _same(change: Change, others: Sequence[Change]) -> Change | None:
    return next((one for one in others if (one.kind, one.what) == (change.kind, change.what)), None)


def _moved(change: Change, other: Change) -> str:
    shift = shifted(change.at, other.at)
    return shift if shift == "the same" else f"{minute(other.at)}, {shift}"


def _named(change: Change) -> str:
    if change.kind == "leaves":
        return f"is {change.status} by the rule {change.what}"
    return f"turns {change.what}" if change.kind == "tier" else f"becomes {change.what}"


def _dated(moment: datetime, now: datetime) -> str:
    return f"{minute(moment)}, {ahead(moment, now)}"
