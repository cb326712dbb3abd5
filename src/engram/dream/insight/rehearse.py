"""
What a replay does to a memory, in numbers.

Called by the step `replay`; pure. A replayed memory is as strong as on its first day and a step more, and its
stability grows by a third or by that step, whichever is more: whichever of the two its curve reads, it fades
a quarter more slowly from then on.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from engram.aging.population import Population
    from engram.policy import InsightPolicy
    from engram.values import Memory

    Floats = NDArray[np.float64]

SLOWER_BY = 4 / 3
"""Times as long: a rate of three quarters is a quarter slower."""
PREFERRED = 2.0
"""How many times as readily a moving memory is chosen."""

_SPECIFIC = re.compile(r"(?<![.!?]\s)(?<!\A)\b[A-Z][\w'’-]+|\b[A-Z]{2,}\w*|\b\w*\d[\w.:/-]*")
_WORD = re.compile(r"\w+")


def strengthened(memory: Memory, policy: InsightPolicy, *, stability_most: float) -> dict[str, object]:
    """Return what a replay changes in a memory: nothing where it is as strong as can be."""
    strength = min(policy.replay_strength_most, max(1.0, memory.strength) + policy.replay_strength)
    stability = min(
        stability_most, max(memory.stability + policy.replay_strength, memory.stability * SLOWER_BY)
    )
    wanted = {"strength": max(strength, memory.strength), "stability": max(stability, memory.stability)}
    return {name: value for name, value in wanted.items() if value != getattr(memory, name)}


def readiness(population: Population, retention: Floats, policy: InsightPolicy) -> Floats:
    """Return how readily each memory is chosen for a replay; 0 for those that need none."""
    is_at_risk = (population.recalls >= policy.replay_recalls) & (retention < policy.replay_fading_below)
    need = np.log1p(population.recalls) * (1 - retention)
    moved: Floats = np.where(population.arousal > policy.replay_arousal, PREFERRED, 1.0)
    chosen: Floats = np.where(is_at_risk, need * moved, 0.0)
    return chosen


def moved_by(memory: Memory, links: int, policy: InsightPolicy) -> float | None:
    """Return the arousal of a memory that so many new links met in, or None where that is no insight."""
    if links < policy.replay_insight_links:
        return None
    wanted = min(policy.replay_insight_most, memory.affect.arousal + policy.replay_insight_by * links)
    return wanted if wanted > memory.affect.arousal else None


def differ_in_a_detail(first: str, second: str) -> bool:
    """
    Say whether two statements that read alike each hold a name or number that the other lacks.

    Those are not two ways to say one thing, and a reader who is given the one may take it for the other.
    """
    one, two = _specifics(first), _specifics(second)
    words = (_words(first), _words(second))
    return bool(one - words[1]) and bool(two - words[0])


def _specifics(text: str) -> set[str]:
    return {found.casefold().rstrip(".:/-") for found in _SPECIFIC.findall(text)}


def _words(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(text)} | _specifics(text)
