"""
Working memory as lines: what the agent has in mind now, the most active first.

Called by `build` with what `attention` holds. It is always whole: a window without room for it is not built.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.context.isolation import name, one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.values import WorkingLine


def working(slots: Sequence[WorkingLine]) -> list[str]:
    """Return a line for each slot."""
    strongest = sorted(slots, key=lambda slot: -slot.activation)
    return [
        f"- {name(slot.source.replace('_', ' '))}: {one_line(slot.text)}"
        for slot in strongest
        if one_line(slot.text)
    ]
