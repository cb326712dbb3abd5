"""
What will be asked next: a recall prepared for where the talk is going.

Made by the engine's background thread after a turn, looked at when the next one begins; pure, time is an
argument. Whoever uses it looks again at what it holds: a memory that was forgotten meanwhile is not
given. A miss costs nothing but the search, which nobody waited for.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from engram.attention.momentum import alike

if TYPE_CHECKING:
    from datetime import datetime

    import numpy as np
    from numpy.typing import NDArray

    from engram.attention.momentum import Measures, Momentum
    from engram.policy.attention import AttentionPolicy
    from engram.values import Recall


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Prepared:
    """An answer to a question that nobody has asked yet."""

    expected: Momentum
    answer: Recall
    made_at: datetime


def fits(
    prepared: Prepared,
    vector: NDArray[np.float32],
    measure: Measures,
    policy: AttentionPolicy,
    *,
    now: datetime,
) -> bool:
    """Say whether what was prepared serves this question: soon enough, and near enough to it."""
    age = now - prepared.made_at
    if not timedelta() <= age <= timedelta(seconds=policy.anticipation_seconds):
        return False
    return alike(vector, prepared.expected, measure) > policy.anticipation_above
