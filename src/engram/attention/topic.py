"""
Whether a message goes on with the topic, drifts away from it, turns to another, or comes back to one.

Called by `attention.mind`; pure. A topic that is left is kept with its slots and its centre, so that
they are there again when it returns. A message that says little by itself never changes the topic: "ok"
is no turn away.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from engram.attention.momentum import alike
from engram.values import TopicShift

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    import numpy as np
    from numpy.typing import NDArray

    from engram.attention.momentum import Measures, Momentum
    from engram.policy.attention import AttentionPolicy
    from engram.values import Slot


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LeftTopic:
    """A topic that was left: where it was going, what was in mind, and when."""

    momentum: Momentum
    slots: tuple[Slot, ...]
    left_at: datetime


def shift_of(
    vector: NDArray[np.float32], momentum: Momentum, measure: Measures, policy: AttentionPolicy
) -> TopicShift:
    """Return what a telling message does to the topic; the first one begins it."""
    if not momentum.speaks(vector):
        return TopicShift.CONTINUATION
    similarity = alike(vector, momentum, measure)
    if similarity > policy.continues_above:
        return TopicShift.CONTINUATION
    return TopicShift.DRIFT if similarity > policy.drifts_above else TopicShift.SWITCH


def returning_to(
    vector: NDArray[np.float32], topics: Sequence[LeftTopic], measure: Measures, policy: AttentionPolicy
) -> LeftTopic | None:
    """Return the topic that a message goes on with, if it is one that was left."""
    best, highest = None, policy.continues_above
    for topic in topics:
        similarity = alike(vector, topic.momentum, measure)
        if similarity > highest:
            best, highest = topic, similarity
    return best
