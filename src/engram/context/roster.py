"""
Who else is there: the other agents, a line each.

Called by `build` with the lines that whoever knows them gives; nobody does until agents share memories.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.context.isolation import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence


def roster(agents: Sequence[str]) -> list[str]:
    """Return the lines of the other agents."""
    return [f"- {one_line(agent)}" for agent in agents if one_line(agent)]
