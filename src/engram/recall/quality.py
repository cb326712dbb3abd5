"""
How good an answer is, in numbers that go with it.

Called by `recall.pipeline` last. Relevancy is the similarity that the indexes saw; NDCG says whether the
order of the hits is the order of their trust, 1 meaning that it is.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from engram.recall.gather import LEXICAL, VECTOR
from engram.text.tokens import count_tokens
from engram.values import Quality

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.recall.asking import Asking, Ranked
    from engram.values import Hit, Memory


def quality_of(asking: Asking, ranked: Ranked, hits: Sequence[Hit], *, milliseconds: float) -> Quality:
    """Return how an answer came about and how good it is."""
    notes, period = asking.notes, asking.plan.period
    return Quality(
        answered=tuple(ranked.answers),
        missing=tuple(notes.missing),
        level=notes.level,
        intent=asking.plan.intent,
        strategy=asking.strategy,
        text_weight=ranked.weights[LEXICAL] if VECTOR in ranked.answers else 1.0,
        period=None if period is None else (period.start, period.end),
        candidates=len(ranked.order),
        average_relevancy=average([hit.trust.relevance for hit in hits]),
        ndcg=ndcg([hit.trust.composite for hit in hits]),
        tokens=sum(_tokens(hit.memory) for hit in hits),
        milliseconds=milliseconds,
        stages=notes.stages,
    )


def average(grades: Sequence[float]) -> float:
    """Return the mean, 0 for none."""
    return sum(grades) / len(grades) if grades else 0.0


def ndcg(grades: Sequence[float]) -> float:
    """Return how close the order of these grades is to the best order of the same grades."""
    ideal = _gain(sorted(grades, reverse=True))
    return _gain(grades) / ideal if ideal else 0.0


def _gain(grades: Sequence[float]) -> float:
    return sum(grade / math.log2(place + 1) for place, grade in enumerate(grades, start=1))


def _tokens(memory: Memory) -> int:
    """Return what the content costs: counted when it was stored, or now where nothing was inferred yet."""
    return memory.detail.tokens.get("full") or count_tokens(memory.content)
