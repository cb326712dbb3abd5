"""
Memories that fit the message: as many as could fit into the room, best first.

Called by `build`, which is handed the way to recall; this room knows no index. There is no fixed number: the
room decides how many are asked for, up to what one recall may answer.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from engram.context.detail import Wish
from engram.context.lines import is_allowed
from engram.values import SecurityTier
from engram.values.query import MAX_LIMIT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.policy import ContextPolicy
    from engram.values import Hit

CONFIDENTIAL_FITS = 0.35
"""How well a confidential memory must fit before it is shown to a model unasked."""
LEAST_HITS = 10
"""So many are asked for however small the room: the best of them may be short."""


def how_many(room: int, policy: ContextPolicy) -> int:
    """Return how many memories to ask for, given the tokens that there may be for them."""
    return min(MAX_LIMIT, max(LEAST_HITS, math.ceil(room / policy.tokens_per_hit)))


def recalled(hits: Sequence[Hit]) -> list[Wish]:
    """
    Return what recall found and may enter a window, best first.

    The summary of a session only repeats what was stated in it, so beside that it is left out.
    """
    found = [hit for hit in hits if is_allowed(hit.memory) and _is_wanted(hit)]
    told = {hit.memory.provenance.session for hit in found if not hit.memory.is_session_summary}
    return [
        Wish(hit.memory, hit.score)
        for hit in found
        if not (hit.memory.is_session_summary and hit.memory.provenance.session in told)
    ]


def _is_wanted(hit: Hit) -> bool:
    """Say whether a hit may fill room: a confidential one only where it is what the message is about."""
    is_confidential = hit.memory.security is SecurityTier.CONFIDENTIAL
    return not is_confidential or hit.trust.relevance >= CONFIDENTIAL_FITS


def withheld(hits: Sequence[Hit]) -> int:
    """Return how many hits may not enter a window by themselves."""
    return sum(not is_allowed(hit.memory) for hit in hits)
