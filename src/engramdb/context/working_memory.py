"""Working memory: slots, what they hold, the mind of one agent, morning recall."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from engramdb.context.attention import LeftTopic, Measures, Momentum, is_vague, moved, returning_to, shift_of
from engramdb.policy.context import AttentionPolicy
from engramdb.store.contract import AttentionSnapshot, TopicSnapshot, Transaction
from engramdb.text.detail import levels
from engramdb.text.terms import query_terms, terms
from engramdb.text.tokens import count_tokens
from engramdb.text.topics import tells
from engramdb.values import (
    EmbedderIdentity,
    Filters,
    Gap,
    Kind,
    Memory,
    MemoryType,
    Restored,
    Scope,
    Slot,
    SlotSource,
    Status,
    TopicShift,
    Turn,
    WorkingItem,
    WorkingLine,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

EXTRA_SLOTS = 2
"""So many slots more while they are small, so many fewer while they are large (seed 002)."""
TURN_DECAY = 0.9
"""What is left of a slot's activation after each turn."""
USE_BOOST = 0.3
"""How much of the way to full activation a slot gains when it is used."""
MIN_ACTIVATION = 0.1
"""What is weaker leaves, unless somebody put it there on purpose."""
DRIFT_DECAY = 0.7
"""What a drift leaves of every slot's activation."""
MAX_TOPICS = 5
"""How many topics that were left are remembered, to come back to."""
DECAYED_LEAST = 0.2
"""What is left of activation at the end of the hours in which it fades."""
MORNING_SLOTS = 5
"""How many things a new day begins with,"""
MORNING_DAYS = 14.0
"""of those that came up within so many days, except promises."""


# Working memory as a handful of slots: what is placed, used, fades and gives way.
#
# Called by `attention.mind`; pure, time is an argument. A slot holds an id, or words of its own, and an
# activation in [0, 1]. When there are too many the weakest gives way, and what somebody put there on
# purpose gives way last. Seven, give or take two: how many depends on what they cost together.


def place(slots: Sequence[Slot], new: Iterable[Slot], policy: AttentionPolicy) -> tuple[Slot, ...]:
    """
    Return the slots with these in mind as well; what is there already is used, and not doubled.

    A memory that comes up again keeps its place and becomes more active; one that somebody now asks for on
    purpose is explicit from then on.
    """
    held = {slot.key: slot for slot in slots}
    for slot in new:
        known = held.get(slot.key)
        held[slot.key] = slot if known is None else _again(known, slot)
    return trim(tuple(held.values()), policy)


def use(slots: Sequence[Slot], keys: Set[str], *, now: datetime) -> tuple[Slot, ...]:
    """Return the slots with those of these keys boosted."""
    return tuple(
        replace(slot, activation=_boosted(slot.activation), used_at=now) if slot.key in keys else slot
        for slot in slots
    )


def fade(slots: Sequence[Slot], share: float) -> tuple[Slot, ...]:
    """Return the slots with this share of their activation left; those that are too faint leave."""
    faded = [replace(slot, activation=slot.activation * share) for slot in slots]
    return tuple(slot for slot in faded if slot.is_explicit or slot.activation >= MIN_ACTIVATION)


def left_after(elapsed: timedelta, policy: AttentionPolicy) -> float:
    """Return the share of activation that is left after a time; none is lost to a clock that went back."""
    minutes = max(0.0, elapsed.total_seconds() / 60)
    return float(0.5 ** (minutes / policy.half_life_minutes))


def trim(slots: Sequence[Slot], policy: AttentionPolicy) -> tuple[Slot, ...]:
    """Return as many slots as there is room for, in the order they came in."""
    kept = list(slots)
    while len(kept) > room_for(kept, policy):
        kept.remove(min(kept, key=_strength))
    return tuple(kept)


def room_for(slots: Sequence[Slot], policy: AttentionPolicy) -> int:
    """Return how many slots there may be: more while they are small, fewer while they are large."""
    cost = sum(slot.tokens for slot in slots)
    if cost > policy.slot_tokens:
        return policy.slots - EXTRA_SLOTS
    return policy.slots + (EXTRA_SLOTS if cost <= policy.slot_tokens / 2 else 0)


def strongest_first(slots: Sequence[Slot]) -> list[Slot]:
    """Return the slots in the order that a prompt should show them."""
    return sorted(slots, key=_strength, reverse=True)


def _again(known: Slot, new: Slot) -> Slot:
    activation = max(new.activation, _boosted(known.activation))
    source = new.source if new.is_explicit else known.source
    return replace(new, source=source, activation=activation)


def _boosted(activation: float) -> float:
    return min(1.0, activation + USE_BOOST * (1 - activation))


def _strength(slot: Slot) -> tuple[bool, float, datetime]:
    return slot.is_explicit, slot.activation, slot.used_at


# What the slots hold, read from the store this moment and inside the agent's scope.
#
# Called by the engine whenever working memory is shown or put into a prompt. A slot is only a pointer:
# what was forgotten, superseded, erased, flagged or moved out of sight since is not there any more,
# whatever a snapshot says.

SENSORY_ACTIVATION = 0.4
"""What was just said is weaker than what was found for it: it stands in the history as well."""

USED_SHARE = 0.5
"""A reply that has this share of a slot's telling words made use of it."""
LINE_TOKENS = 8
"""What a line costs beside its words: its dash, its source, its end."""


def items(tx: Transaction, slots: Sequence[Slot], *, scope: Scope, now: datetime) -> tuple[WorkingItem, ...]:
    """Return what these slots hold, the most active first, without those whose ground is gone."""
    found = (_item(tx, slot, scope, now) for slot in strongest_first(slots))
    return tuple(one for one in found if one is not None)


def with_ground(tx: Transaction, mind: AttentionState, *, scope: Scope, now: datetime) -> AttentionState:
    """Return the mind without slots whose memory, turn or question is no longer there to be seen."""
    return replace(
        mind,
        slots=_standing(tx, mind.slots, scope, now),
        topics=tuple(replace(topic, slots=_standing(tx, topic.slots, scope, now)) for topic in mind.topics),
    )


def used_by(reply: str, held: Sequence[WorkingItem]) -> frozenset[str]:
    """Return the keys of the slots whose telling words come back in a reply."""
    spoken = set(terms(reply))
    return frozenset(item.slot.key for item in held if _shared(item.content, spoken) >= USED_SHARE)


def lines(
    held: Sequence[WorkingItem], *, room: int, count: Callable[[str], int] = count_tokens
) -> tuple[WorkingLine, ...]:
    """
    Return what is in mind as lines for a prompt, in no more than so many tokens by the reader's count.

    Where all of it whole is too much, memories are told as their key facts; if that is too much still, the
    least active go. The room is the reader's: a small model is told less, and the mind stays as it is.
    """
    whole = [_line(item, item.content) for item in held]
    if _cost(whole, count) <= room:
        return tuple(whole)
    short = [_line(item, _key_fact(item)) for item in held]
    while short and _cost(short, count) > room:
        short.pop()
    return tuple(short)


def may_enter(memory: Memory, now: datetime) -> bool:
    """Say whether a memory may come to mind by itself: not if admission warned of it, or its time is over."""
    return memory.status is Status.ACTIVE and "injection" not in memory.flags and not memory.is_over(now)


def of_memory(memory: Memory, source: SlotSource, *, activation: float, now: datetime) -> Slot:
    """Return a slot that points to a memory."""
    return Slot(
        source=source,
        activation=min(1.0, max(0.0, activation)),
        tokens=count_tokens(memory.content),
        used_at=now,
        memory_id=memory.id,
    )


def of_turn(turn: Turn, *, now: datetime) -> Slot:
    """Return a slot that points to something that was said."""
    return Slot(
        source=SlotSource.SENSORY,
        activation=SENSORY_ACTIVATION,
        tokens=count_tokens(_gist(turn.content)),
        used_at=now,
        turn_id=turn.id,
    )


def of_gap(gap: Gap, *, activation: float, now: datetime) -> Slot:
    """Return a slot that points to an open question."""
    return Slot(
        source=SlotSource.GAP_QUESTION,
        activation=activation,
        tokens=count_tokens(gap.question),
        used_at=now,
        gap_id=gap.id,
    )


def of_words(text: str, source: SlotSource, *, activation: float, now: datetime) -> Slot:
    """Return a slot with words of its own."""
    return Slot(source=source, activation=activation, tokens=count_tokens(text), used_at=now, text=text)


def _line(item: WorkingItem, text: str) -> WorkingLine:
    return WorkingLine(text=text, source=item.slot.source, activation=item.slot.activation)


def _cost(told: Sequence[WorkingLine], count: Callable[[str], int]) -> int:
    return sum(count(line.text) + LINE_TOKENS for line in told)


def _key_fact(item: WorkingItem) -> str:
    known = None if item.memory is None else item.memory.detail.key_fact
    return known or levels(item.content).key_fact or item.content


def _shared(content: str, spoken: set[str]) -> float:
    telling = {term for term in query_terms(content) if tells(term)}
    return len(telling & spoken) / len(telling) if telling else 0.0


def _standing(tx: Transaction, slots: Sequence[Slot], scope: Scope, now: datetime) -> tuple[Slot, ...]:
    held = {item.slot.key for item in items(tx, slots, scope=scope, now=now)}
    return tuple(slot for slot in slots if slot.key in held)


def _item(tx: Transaction, slot: Slot, scope: Scope, now: datetime) -> WorkingItem | None:
    if slot.memory_id is not None:
        memory = tx.memories.get(slot.memory_id, scope=scope)
        is_there = memory is not None and may_enter(memory, now)
        return WorkingItem(slot=slot, content=memory.content, memory=memory) if memory and is_there else None
    if slot.turn_id is not None:
        turn = tx.turns.get(slot.turn_id, scope=scope)
        return None if turn is None else WorkingItem(slot=slot, content=_gist(turn.content))
    if slot.gap_id is not None:
        gap = tx.gaps.get(slot.gap_id, scope=scope)
        is_open = gap is not None and gap.closed_at is None
        return WorkingItem(slot=slot, content=gap.question) if gap and is_open else None
    return WorkingItem(slot=slot, content=slot.text)


def _gist(said: str) -> str:
    return levels(said).summary or said


# A mind: the slots, the momentum and the topics of one agent, and what a turn does to them.
#
# Called by the engine: `attend` when a message comes in, `settle` when the turn has ended well, `awake`
# when a mind comes back after a while. Pure values in and out, time is an argument; a turn that fails
# leaves the mind as it was. What somebody put there on purpose stays through a change of topic: whether it
# changed is a guess, the note is not.


class AttentionState(Struct, frozen=True, kw_only=True, eq=False):
    """What one agent attends to."""

    slots: tuple[Slot, ...] = ()
    momentum: Momentum = field(default_factory=Momentum)
    topics: tuple[LeftTopic, ...] = ()
    """Topics that were left, the latest last."""
    at: datetime | None = None
    """The moment of the latest turn."""


class AttendedMessage(Struct, frozen=True, kw_only=True, eq=False):
    """What was said, and its vector where there is one."""

    text: str
    vector: NDArray[np.float32] | None = None


class Experience(Struct, frozen=True, kw_only=True, eq=False):
    """What a turn brings to mind."""

    message: AttendedMessage
    found: tuple[Slot, ...] = ()
    """What was recalled, promoted or noted, weakest last."""
    used: frozenset[str] = frozenset()
    """The keys of the slots that the reply made use of."""
    reply: NDArray[np.float32] | None = None
    """The vector of what was answered, which is talk as well."""


def attend(
    mind: AttentionState,
    message: AttendedMessage,
    measure: Measures,
    policy: AttentionPolicy,
    *,
    now: datetime,
) -> tuple[AttentionState, TopicShift]:
    """Return the mind as it meets a message, faded and on topic, and what the message does to the topic."""
    slots = fade(mind.slots, TURN_DECAY * _left(mind, policy, now=now))
    faded = replace(mind, slots=slots, at=now)
    if message.vector is None or is_vague(message.text, policy):
        return faded, TopicShift.CONTINUATION
    shift = shift_of(message.vector, mind.momentum, measure, policy)
    if shift is TopicShift.CONTINUATION:
        return faded, shift
    if shift is TopicShift.DRIFT:
        return replace(faded, slots=fade(slots, DRIFT_DECAY)), shift
    back = returning_to(message.vector, mind.topics, measure, policy)
    turned = _left_behind(faded, now=now)
    return (turned, shift) if back is None else (_back_to(turned, back, policy), TopicShift.RETURN)


def settle(
    mind: AttentionState, experience: Experience, measure: Measures, policy: AttentionPolicy, *, now: datetime
) -> AttentionState:
    """Return the attending mind after its turn: what was found is in mind, what was used is stronger."""
    message, momentum = experience.message, mind.momentum
    if message.vector is not None and not is_vague(message.text, policy):
        momentum = moved(momentum, message.vector, measure)
    if experience.reply is not None:
        momentum = moved(momentum, experience.reply, measure)
    slots = use(place(mind.slots, experience.found, policy), experience.used, now=now)
    return replace(mind, slots=slots, momentum=momentum, at=now)


def awake(mind: AttentionState, policy: AttentionPolicy, *, now: datetime) -> tuple[AttentionState, Restored]:
    """Return a mind that slept: as it was, fainter, or, after a long time, empty."""
    asleep = timedelta() if mind.at is None else max(timedelta(), now - mind.at)
    full, decayed = timedelta(hours=policy.full_hours), timedelta(hours=policy.decayed_hours)
    if mind.at is None or asleep >= decayed:
        return AttentionState(), Restored.FRESH
    if asleep < full:
        return replace(mind, at=now), Restored.FULL
    lost = (1 - DECAYED_LEAST) * ((asleep - full) / (decayed - full))
    return replace(mind, slots=fade(mind.slots, 1 - lost), at=now), Restored.DECAYED


def wipe(mind: AttentionState) -> None:
    """Overwrite every number of a mind's vectors; words are let go of, which is all that Python can do."""
    for momentum in (mind.momentum, *(topic.momentum for topic in mind.topics)):
        momentum.rows.fill(0)


def _left(mind: AttentionState, policy: AttentionPolicy, *, now: datetime) -> float:
    return 1.0 if mind.at is None else left_after(now - mind.at, policy)


def _left_behind(mind: AttentionState, *, now: datetime) -> AttentionState:
    """Return the mind ready for another topic; the one that it leaves is kept."""
    gone = tuple(slot for slot in mind.slots if not slot.is_explicit)
    explicit = tuple(slot for slot in mind.slots if slot.is_explicit)
    left = LeftTopic(momentum=mind.momentum, slots=gone, left_at=now)
    topics = (*mind.topics, left)[-MAX_TOPICS:]
    return replace(mind, slots=explicit, momentum=Momentum(), topics=topics)


def _back_to(mind: AttentionState, topic: LeftTopic, policy: AttentionPolicy) -> AttentionState:
    """Return the mind on a topic that it had left, with what was in mind then."""
    held = {slot.key for slot in mind.slots}
    slots = (*mind.slots, *(slot for slot in topic.slots if slot.key not in held))
    others = tuple(one for one in mind.topics if one is not topic)
    return replace(mind, slots=trim(slots, policy), momentum=topic.momentum, topics=others)


# A mind at rest: from the value that is attended with to the one that the store keeps, and back.


def to_keep(mind: AttentionState, *, identity: EmbedderIdentity | None, now: datetime) -> AttentionSnapshot:
    """Return a mind for the store."""
    left = [_topic(topic.slots, topic.momentum, topic.left_at) for topic in mind.topics]
    present = _topic(mind.slots, mind.momentum, None)
    return AttentionSnapshot(topics=(*left, present), at=mind.at or now, embedder=identity)


def from_kept(kept: AttentionSnapshot, *, identity: EmbedderIdentity | None) -> AttentionState:
    """Return the mind that was kept, with its vectors where they are of this embedder."""
    *left, present = kept.topics
    if identity is None or kept.embedder != identity:
        return AttentionState(slots=present.slots, at=kept.at)
    return AttentionState(
        slots=present.slots,
        momentum=Momentum(present.vectors, present.confidence),
        topics=tuple(_left_kept(one, kept.at) for one in left),
        at=kept.at,
    )


def _left_kept(topic: TopicSnapshot, at: datetime) -> LeftTopic:
    momentum = Momentum(topic.vectors, topic.confidence)
    return LeftTopic(momentum=momentum, slots=topic.slots, left_at=topic.left_at or at)


def _topic(slots: tuple[Slot, ...], momentum: Momentum, left_at: datetime | None) -> TopicSnapshot:
    return TopicSnapshot(slots=slots, vectors=momentum.rows, confidence=momentum.confidence, left_at=left_at)


# Morning recall: what an agent begins with after a long pause, so that it feels remembered.
#
# Called by the engine when there is no snapshot, or only an old one; reads the store. Promises that are
# not kept yet come first, then how the latest session ended, an open question, and what of the last days
# matters most.

LOOKED_AT = 50
"""Of each sort so many of the newest are looked at."""
MOST_PROMISES = 2
ACTIVATION = 0.5
"""What comes to mind by itself is weaker than what was asked for."""
SUMMARY = "session-"
"""How the extractor of session summaries is called, whatever its version."""
_FAR = timedelta(days=36_500)


def morning(tx: Transaction, *, scope: Scope, now: datetime) -> tuple[Slot, ...]:
    """Return what to begin with, each thing once."""
    memories: dict[str, Memory] = {}
    for memory in _worth(tx, scope, now):
        if may_enter(memory, now):
            memories.setdefault(memory.id, memory)
    gaps = [of_gap(gap, activation=ACTIVATION, now=now) for gap in _rested(tx, scope, now)]
    found = [
        of_memory(one, SlotSource.MORNING_RECALL, activation=ACTIVATION, now=now) for one in memories.values()
    ]
    return (*found[: MORNING_SLOTS - len(gaps)], *gaps)


def _rested(tx: Transaction, scope: Scope, now: datetime) -> list[Gap]:
    """Return the best open question, unless it was put to somebody in the last days."""
    earliest = now - timedelta(days=MORNING_DAYS)
    open_ones = tx.gaps.open_for(scope, limit=LOOKED_AT)
    return [gap for gap in open_ones if gap.asked_at is None or gap.asked_at <= earliest][:1]


def _worth(tx: Transaction, scope: Scope, now: datetime) -> Iterator[Memory]:
    """Yield promises, the latest summary, and then what matters of the last days."""
    promises = _newest(tx, scope, Filters(categories=frozenset({"commitment"})))
    earliest = now - timedelta(days=MORNING_DAYS)
    open_ones = [one for one in promises if (_due(one) or now) >= earliest]
    yield from sorted(open_ones, key=lambda one: _distance(one, now))[:MOST_PROMISES]
    told = Filters(types=frozenset({MemoryType.NARRATIVE}), kinds=frozenset({Kind.EPISODE}))
    summaries = [one for one in _newest(tx, scope, told) if (one.extractor or "").startswith(SUMMARY)]
    yield from summaries[:1]
    lately = _newest(tx, scope, Filters(since=earliest))
    yield from sorted(lately, key=lambda one: (one.importance, one.when), reverse=True)


def _newest(tx: Transaction, scope: Scope, filters: Filters) -> Sequence[Memory]:
    return tx.memories.list(scope=scope, filters=filters, limit=LOOKED_AT, before=None)


def _due(promise: Memory) -> datetime | None:
    """Return when a promise is due, where it says so: a date of its own, or a moment after it was made."""
    if promise.occurred_at is not None and promise.occurred_at > promise.created_at:
        return promise.occurred_at
    return promise.valid_to or promise.forget_after


def _distance(promise: Memory, now: datetime) -> tuple[timedelta, timedelta]:
    """Return how far away a promise is due, those without a date last, and among these the newest first."""
    due = _due(promise)
    return (_FAR if due is None else abs(due - now), now - promise.created_at)
