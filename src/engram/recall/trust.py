"""
How far to believe a hit: relevance, accuracy, freshness, utility, and the four in one number.

Called by `recall.pipeline` for the hits that it returns; shows, does not rank. Being recalled often never
raises accuracy: being read is not evidence of being true.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.values import Trust

if TYPE_CHECKING:
    from datetime import datetime

    from engram.policy import RecallPolicy
    from engram.values import Memory

_SECONDS_PER_DAY = 86_400


def trust(memory: Memory, *, relevance: float, now: datetime, policy: RecallPolicy) -> Trust:
    """Return the parts, each in [0, 1], and their weighted sum."""
    accuracy = memory.confidence * memory.provenance.source.trust
    age_days = max(0.0, (now - memory.updated_at).total_seconds() / _SECONDS_PER_DAY)
    freshness = 0.5 ** (age_days / policy.freshness_half_life_days)
    utility = memory.importance
    composite = (
        policy.trust_relevance * relevance
        + policy.trust_accuracy * accuracy
        + policy.trust_freshness * freshness
        + policy.trust_utility * utility
    )
    return Trust(
        relevance=relevance, accuracy=accuracy, freshness=freshness, utility=utility, composite=composite
    )
