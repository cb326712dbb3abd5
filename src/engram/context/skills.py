"""
How things are done: the procedural memories of the scope, what worked most often first.

Called by `build`; the memories come from `standing`. Those that fit the message are recalled anyway, so here
they are ordered by how well they served.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.context.detail import Wish
from engram.context.standing import best_first, weight
from engram.values import Layer

if TYPE_CHECKING:
    from engram.context.standing import Standing


def skills(standing: Standing) -> list[Wish]:
    """Return what skills would like to show, best first."""
    return [Wish(one, weight(one)) for one in best_first(standing.in_layer(Layer.PROCEDURAL))]
