"""
Retention in a word: hot, warm, cold, evictable.

Called by the verdict, the forecast and the listing of a store. A tier is never stored: it is a function of
time, so it is always right.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from engram.values import Tier

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from engram.policy import AgingPolicy

TIERS = tuple(Tier)


def tier_of(retention: float, policy: AgingPolicy) -> Tier:
    """Return the tier of one retention."""
    return TIERS[int(tiers(np.array([retention]), policy)[0])]


def tiers(retention: NDArray[np.float64], policy: AgingPolicy) -> NDArray[np.int8]:
    """Return the place in `TIERS` of each retention."""
    return np.select(
        [retention >= policy.hot, retention >= policy.warm, retention >= policy.cold], [0, 1, 2], 3
    ).astype(np.int8)


def floor_of(tier: Tier, policy: AgingPolicy) -> float:
    """Return the lowest retention that still belongs to a tier."""
    return {Tier.HOT: policy.hot, Tier.WARM: policy.warm, Tier.COLD: policy.cold, Tier.EVICTABLE: 0.0}[tier]
