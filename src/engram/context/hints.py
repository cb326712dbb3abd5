"""
Hints about the code: the memories of the codebase layer.

Called by `build`; the memories come from `standing`. They have no share of their own and take what others
leave: they are the first to go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.context.detail import Wish
from engram.context.standing import best_first, weight
from engram.values import Layer

if TYPE_CHECKING:
    from engram.context.standing import Standing


def hints(standing: Standing) -> list[Wish]:
    """Return what coding hints would like to show, best first."""
    return [Wish(one, weight(one)) for one in best_first(standing.in_layer(Layer.CODEBASE))]
