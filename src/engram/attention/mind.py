"""
A mind: the slots, the momentum and the topics of one agent, and what a turn does to them.

Called by the engine: `attend` when a message comes in, `settle` when the turn has ended well, `awake`
when a mind comes back after a while. Pure values in and out, time is an argument; a turn that fails
leaves the mind as it was. What somebody put there on purpose stays through a change of topic: whether it
changed is a guess, the note is not.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from engram.attention.momentum import Momentum, is_vague, moved
from engram.attention.slots import fade, left_after, place, trim, use
from engram.attention.topic import LeftTopic, returning_to, shift_of
from engram.values import Restored, TopicShift

if TYPE_CHECKING:
    from datetime import datetime

    import numpy as np
    from numpy.typing import NDArray

    from engram.attention.momentum import Measures
    from engram.policy.attention import AttentionPolicy
    from engram.values import Slot


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Mind:
    """What one agent attends to."""

    slots: tuple[Slot, ...] = ()
    momentum: Momentum = field(default_factory=Momentum)
    topics: tuple[LeftTopic, ...] = ()
    """Topics that were left, the latest last."""
    at: datetime | None = None
    """The moment of the latest turn."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Message:
    """What was said, and its vector where there is one."""

    text: str
    vector: NDArray[np.float32] | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Experience:
    """What a turn brings to mind."""

    message: Message
    found: tuple[Slot, ...] = ()
    """What was recalled, promoted or noted, weakest last."""
    used: frozenset[str] = frozenset()
    """The keys of the slots that the reply made use of."""
    reply: NDArray[np.float32] | None = None
    """The vector of what was answered, which is talk as well."""


def attend(
    mind: Mind, message: Message, measure: Measures, policy: AttentionPolicy, *, now: datetime
) -> tuple[Mind, TopicShift]:
    """Return the mind as it meets a message, faded and on topic, and what the message does to the topic."""
    slots = fade(mind.slots, policy.turn_decay * _left(mind, policy, now=now), policy)
    faded = replace(mind, slots=slots, at=now)
    if message.vector is None or is_vague(message.text, policy):
        return faded, TopicShift.CONTINUATION
    shift = shift_of(message.vector, mind.momentum, measure, policy)
    if shift is TopicShift.CONTINUATION:
        return faded, shift
    if shift is TopicShift.DRIFT:
        return replace(faded, slots=fade(slots, policy.drift_decay, policy)), shift
    back = returning_to(message.vector, mind.topics, measure, policy)
    turned = _left_behind(faded, policy, now=now)
    return (turned, shift) if back is None else (_back_to(turned, back, policy), TopicShift.RETURN)


def settle(
    mind: Mind, experience: Experience, measure: Measures, policy: AttentionPolicy, *, now: datetime
) -> Mind:
    """Return the attending mind after its turn: what was found is in mind, what was used is stronger."""
    message, momentum = experience.message, mind.momentum
    if message.vector is not None and not is_vague(message.text, policy):
        momentum = moved(momentum, message.vector, measure)
    if experience.reply is not None:
        momentum = moved(momentum, experience.reply, measure)
    slots = use(place(mind.slots, experience.found, policy), experience.used, policy, now=now)
    return replace(mind, slots=slots, momentum=momentum, at=now)


def awake(mind: Mind, policy: AttentionPolicy, *, now: datetime) -> tuple[Mind, Restored]:
    """Return a mind that slept: as it was, fainter, or, after a long time, empty."""
    asleep = timedelta() if mind.at is None else max(timedelta(), now - mind.at)
    full, decayed = timedelta(hours=policy.full_hours), timedelta(hours=policy.decayed_hours)
    if mind.at is None or asleep >= decayed:
        return Mind(), Restored.FRESH
    if asleep < full:
        return replace(mind, at=now), Restored.FULL
    lost = (1 - policy.decayed_least) * ((asleep - full) / (decayed - full))
    return replace(mind, slots=fade(mind.slots, 1 - lost, policy), at=now), Restored.DECAYED


def wipe(mind: Mind) -> None:
    """Overwrite every number of a mind's vectors; words are let go of, which is all that Python can do."""
    for momentum in (mind.momentum, *(topic.momentum for topic in mind.topics)):
        momentum.rows.fill(0)


def _left(mind: Mind, policy: AttentionPolicy, *, now: datetime) -> float:
    return 1.0 if mind.at is None else left_after(now - mind.at, policy)


def _left_behind(mind: Mind, policy: AttentionPolicy, *, now: datetime) -> Mind:
    """Return the mind ready for another topic; the one that it leaves is kept."""
    gone = tuple(slot for slot in mind.slots if not slot.is_explicit)
    explicit = tuple(slot for slot in mind.slots if slot.is_explicit)
    left = LeftTopic(momentum=mind.momentum, slots=gone, left_at=now)
    topics = (*mind.topics, left)[-policy.kept_topics :]
    return replace(mind, slots=explicit, momentum=Momentum(), topics=topics)


def _back_to(mind: Mind, topic: LeftTopic, policy: AttentionPolicy) -> Mind:
    """Return the mind on a topic that it had left, with what was in mind then."""
    held = {slot.key for slot in mind.slots}
    slots = (*mind.slots, *(slot for slot in topic.slots if slot.key not in held))
    others = tuple(one for one in mind.topics if one is not topic)
    return replace(mind, slots=trim(slots, policy), momentum=topic.momentum, topics=others)
