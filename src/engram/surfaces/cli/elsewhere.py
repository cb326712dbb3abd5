"""
Say that other scopes hold memories.

Called by commands that found nothing, or that take along what one scope sees; calls `Engram.status`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.surfaces.cli.output import one_line
from engram.surfaces.elsewhere import hidden_scope

if TYPE_CHECKING:
    from engram.engine.engram import Engram


def elsewhere(engram: Engram) -> str | None:
    """Return a line about memories that the command's scope does not see, if there are any."""
    name = hidden_scope(engram.status().by_scope, engram.scope)
    if name is None:
        return None
    return f"Other scopes hold memories, such as {one_line(name)}; `engram status` lists them."
