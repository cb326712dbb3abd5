"""Attention: momentum, topic shifts, and anticipation."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Protocol

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from engramdb.policy.context import AttentionPolicy
from engramdb.text.terms import query_terms
from engramdb.text.traits import tells
from engramdb.values import Recall, Slot, TopicShift

CENTROID_SHARE = 0.3
"""The share of the latest turn in the running center of what is talked about."""
MAX_MOMENTUM = 0.4
"""The most that the conversation so far may weigh in a question."""
ANTICIPATION_ABOVE = 0.6
"""A prepared answer is used for a question at least this much like the expected one,"""
ANTICIPATION_SECONDS = 60.0
"""that comes this soon."""

# Momentum: the running center of what is talked about, and how far it leans on the next question.
#
# "Ok, now deploy it" says nothing by itself: blended with the center of the last turns it asks for what
# "it" is. Every similarity is on the common scale of docs/lab/0010-calibration.md; what it is worth:
# docs/lab/0021-attention.md.

RECENT_TURNS = 4
"""Two exchanges: what was said before them hardly counts in the center, and is another stretch of talk."""
SETTLING = 0.2
"""How much of what is missing to full confidence a turn adds."""
DOUBT = 0.5
"""How much of it a turn takes away that has nothing to do with the ones before."""


class Measures(Protocol):
    """The part of a calibration that attention needs."""

    def similarity(self, cosine: float) -> float: ...


class Momentum(Struct, frozen=True, eq=False):
    """Where the talk is going: the vectors of the latest things said, one to a row, the newest last."""

    rows: NDArray[np.float32] = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    confidence: float = 0.0

    @property
    def is_empty(self) -> bool:
        """Whether nothing was said yet, or it was wiped."""
        return not self.rows.any()

    def is_comparable(self, vector: NDArray[np.float32]) -> bool:
        """Return whether a vector can be compared with what was said, which takes the same space."""
        return not self.is_empty and self.rows.shape[1:] == vector.shape


def similarity_to_recent(vector: NDArray[np.float32], momentum: Momentum, measure: Measures) -> float:
    """
    Return how alike a vector is to the one of the latest turns that it is most like, on the common scale.

    Not to their center: everything is alike to an average, and no line of the scale would hold there.
    """
    if not momentum.is_comparable(vector):
        return 0.0
    lengths = np.linalg.norm(momentum.rows, axis=1) * np.linalg.norm(vector)
    return measure.similarity(float((momentum.rows @ vector / np.maximum(lengths, 1e-9)).max()))


def momentum_center(momentum: Momentum) -> NDArray[np.float32]:
    """Return the running center of what was said, of length one; the newest has the policy's share."""
    ages = np.arange(len(momentum.rows))[::-1]
    weights = CENTROID_SHARE * (1 - CENTROID_SHARE) ** ages
    mean = weights @ momentum.rows
    return np.asarray(mean / max(float(np.linalg.norm(mean)), 1e-9), np.float32)


def update_momentum(momentum: Momentum, vector: NDArray[np.float32], measure: Measures) -> Momentum:
    """Return the momentum after something was said; it grows surer with every turn that fits those before."""
    row = vector.astype(np.float32)[None]
    if not momentum.is_comparable(vector):
        return Momentum(row.copy(), SETTLING)
    doubt = DOUBT * (1 - similarity_to_recent(vector, momentum, measure))
    confidence = (momentum.confidence * (1 - SETTLING) + SETTLING) * (1 - doubt)
    return Momentum(np.concatenate([momentum.rows, row])[-RECENT_TURNS:], confidence)


def blend_with_momentum(
    vector: NDArray[np.float32], momentum: Momentum, text: str, policy: AttentionPolicy
) -> NDArray[np.float32]:
    """Return the question's vector with its share of momentum, of length one again."""
    share = momentum_share(momentum, text, policy)
    if not share or not momentum.is_comparable(vector):
        return vector
    mixed = (1 - share) * vector + share * momentum_center(momentum)
    return np.asarray(mixed / max(float(np.linalg.norm(mixed)), 1e-9), np.float32)


def momentum_share(momentum: Momentum, text: str, policy: AttentionPolicy) -> float:
    """
    Return the share of momentum in a question.

    A message that says little is a continuation by its nature, so the whole share is due; one that speaks for
    itself is given, if anything, as much of it as the talk is settled.
    """
    if not policy.uses_momentum or momentum.is_empty:
        return 0.0
    if is_vague(text, policy):
        return MAX_MOMENTUM
    return 0.0 if policy.leans_only_when_vague else MAX_MOMENTUM * momentum.confidence


def is_vague(text: str, policy: AttentionPolicy) -> bool:
    """Return whether a message has too few distinctive words to have a topic of its own."""
    telling = {term for term in query_terms(text) if tells(term)}
    return len(telling) <= policy.vague_terms


# Whether a message goes on with the topic, drifts away from it, turns to another, or comes back to one.


class LeftTopic(Struct, frozen=True, kw_only=True, eq=False):
    """A topic that was left: its momentum, the slots at the time, and when."""

    momentum: Momentum
    slots: tuple[Slot, ...]
    left_at: datetime


def classify_shift(
    vector: NDArray[np.float32], momentum: Momentum, measure: Measures, policy: AttentionPolicy
) -> TopicShift:
    """Return what a telling message does to the topic; the first one begins it."""
    if not momentum.is_comparable(vector):
        return TopicShift.CONTINUATION
    similarity = similarity_to_recent(vector, momentum, measure)
    if similarity > policy.continues_above:
        return TopicShift.CONTINUATION
    return TopicShift.DRIFT if similarity > policy.drifts_above else TopicShift.SWITCH


def find_left_topic(
    vector: NDArray[np.float32], topics: Sequence[LeftTopic], measure: Measures, policy: AttentionPolicy
) -> LeftTopic | None:
    """Return the topic that a message goes on with, if it is one that was left."""
    best, highest = None, policy.continues_above
    for topic in topics:
        similarity = similarity_to_recent(vector, topic.momentum, measure)
        if similarity > highest:
            best, highest = topic, similarity
    return best


# What will be asked next: a recall prepared for where the talk is going.


class AnticipatedAnswer(Struct, frozen=True, kw_only=True, eq=False):
    """An answer to a question that no one has asked yet."""

    expected: Momentum
    answer: Recall
    made_at: datetime


def is_usable_for(
    prepared: AnticipatedAnswer,
    vector: NDArray[np.float32],
    measure: Measures,
    *,
    now: datetime,
) -> bool:
    """Return whether what was prepared serves this question: soon enough, and near enough to it."""
    age = now - prepared.made_at
    if not timedelta() <= age <= timedelta(seconds=ANTICIPATION_SECONDS):
        return False
    return similarity_to_recent(vector, prepared.expected, measure) > ANTICIPATION_ABOVE
