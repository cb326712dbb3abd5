"""
A mind at rest: from the value that is attended with to the one that the store keeps, and back.

Called by the engine when a turn has ended and when an agent comes back. Vectors of another embedder mean
nothing, so a mind that was kept with one comes back without them: its slots stay, where the talk was
going is lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.attention.mind import Mind
from engram.attention.momentum import Momentum
from engram.attention.topic import LeftTopic
from engram.store.contract import KeptMind, KeptTopic

if TYPE_CHECKING:
    from datetime import datetime

    from engram.values import EmbedderIdentity, Slot


def to_keep(mind: Mind, *, identity: EmbedderIdentity | None, now: datetime) -> KeptMind:
    """Return a mind for the store."""
    left = [_topic(topic.slots, topic.momentum, topic.left_at) for topic in mind.topics]
    present = _topic(mind.slots, mind.momentum, None)
    return KeptMind(topics=(*left, present), at=mind.at or now, embedder=identity)


def from_kept(kept: KeptMind, *, identity: EmbedderIdentity | None) -> Mind:
    """Return the mind that was kept, with its vectors where they are of this embedder."""
    *left, present = kept.topics
    if identity is None or kept.embedder != identity:
        return Mind(slots=present.slots, at=kept.at)
    return Mind(
        slots=present.slots,
        momentum=Momentum(present.vectors, present.confidence),
        topics=tuple(_left(one, kept.at) for one in left),
        at=kept.at,
    )


def _left(topic: KeptTopic, at: datetime) -> LeftTopic:
    momentum = Momentum(topic.vectors, topic.confidence)
    return LeftTopic(momentum=momentum, slots=topic.slots, left_at=topic.left_at or at)


def _topic(slots: tuple[Slot, ...], momentum: Momentum, left_at: datetime | None) -> KeptTopic:
    return KeptTopic(slots=slots, vectors=momentum.rows, confidence=momentum.confidence, left_at=left_at)
