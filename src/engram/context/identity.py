"""
Who the agent and the user are: pinned memories, instructions, principles and preferences of the scope.

Called by `build`; the memories come from `standing`. They are the same for every message, so that this part
of a prompt stays as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.context.detail import Wish
from engram.context.standing import best_first, weight

if TYPE_CHECKING:
    from engram.context.standing import Standing
    from engram.policy import ContextPolicy


def identity(standing: Standing, policy: ContextPolicy) -> list[Wish]:
    """Return what identity would like to show, best first."""
    return [Wish(one, weight(one)) for one in best_first(standing.identity(policy))]
