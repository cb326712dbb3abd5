"""
How far to believe a hit: relevance, accuracy, freshness, utility, and the four in one number.

Called by `recall.pipeline` for the hits that it returns. Being recalled often raises utility and never
accuracy: being read is not evidence of being true.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from engram.values import Source, Status, Trust

if TYPE_CHECKING:
    from datetime import datetime

    from engram.policy import RecallPolicy
    from engram.values import Memory

NEUTRAL = 0.5
PER_FURTHER_EVIDENCE = 0.1
EXPLICIT = 0.3
CONTRADICTED = -0.2
PER_HELP = 0.05
PER_FAILURE = -0.1
RECALLS_ADD = 0.2
RECALLS_FULL = 20
_SECONDS_PER_DAY = 86_400
_BELIEF_DECAY_PER_DAY = 0.023
"""Halves in about thirty days."""


def trust(
    memory: Memory, *, relevance: float, is_contradicted: bool, now: datetime, policy: RecallPolicy
) -> Trust:
    """Return the parts, each in [0, 1], and their weighted sum."""
    right = accuracy(memory, is_contradicted=is_contradicted)
    fresh = 0.5 ** (_days_since(memory.vouched_at, now) / policy.freshness_half_life_days)
    useful = utility(memory)
    composite = (
        policy.trust_relevance * relevance
        + policy.trust_accuracy * right
        + policy.trust_freshness * fresh
        + policy.trust_utility * useful
    )
    return Trust(relevance=relevance, accuracy=right, freshness=fresh, utility=useful, composite=composite)


def accuracy(memory: Memory, *, is_contradicted: bool) -> float:
    """Return how likely it is to be right, by its evidence, and never more than its confidence."""
    further = max(memory.reinforcements, len(memory.provenance.episodes) - 1, 0)
    is_explicit = memory.provenance.source is Source.HUMAN and memory.extractor is None
    found = (
        NEUTRAL
        + PER_FURTHER_EVIDENCE * further
        + (EXPLICIT if is_explicit else 0.0)
        + (CONTRADICTED if is_contradicted or memory.status is Status.CHALLENGED else 0.0)
        + PER_HELP * (memory.helped + memory.successes)
        + PER_FAILURE * (memory.unhelpful + memory.failures)
    )
    return max(0.0, min(1.0, found, memory.confidence))


def utility(memory: Memory) -> float:
    """Return of how much use it is: important, often recalled, found helpful."""
    often = RECALLS_ADD * min(1.0, math.log1p(memory.access.count) / math.log1p(RECALLS_FULL))
    told = PER_HELP * memory.helped + PER_FAILURE * memory.unhelpful
    return max(0.0, min(1.0, memory.importance + often + told))


def belief_score(memory: Memory, *, relevance: float, is_subject: bool, now: datetime) -> float:
    """Return the score of the preset `beliefs`: meaning, importance, recency, stability and subject."""
    used = memory.access.last_at or memory.created_at
    recency = math.exp(-_BELIEF_DECAY_PER_DAY * _days_since(used, now))
    return (
        0.50 * relevance
        + 0.20 * memory.importance
        + 0.10 * recency
        + 0.05 * min(1.0, memory.stability / 5)
        + 0.15 * is_subject
    )


def _days_since(moment: datetime, now: datetime) -> float:
    return max(0.0, (now - moment).total_seconds() / _SECONDS_PER_DAY)
