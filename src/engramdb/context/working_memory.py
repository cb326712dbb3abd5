"""Working memory: slots, what they hold, the attention of one agent, morning recall."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from engramdb.context.attention import (
    LeftTopic,
    Measures,
    Momentum,
    classify_shift,
    find_left_topic,
    is_vague,
    update_momentum,
)
from engramdb.lifecycle.questions import open_questions, put_into_words
from engramdb.policy.context import AttentionPolicy
from engramdb.store.contract import AttentionSnapshot, TopicSnapshot, Transaction
from engramdb.text.dates import with_dates
from engramdb.text.detail import levels
from engramdb.text.pii_spoken import MAX_BETWEEN
from engramdb.text.terms import query_terms, terms
from engramdb.text.tokens import count_tokens
from engramdb.text.traits import tells
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
from engramdb.vault.disclosure import Audience, disclose_memory, disclose_turns

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

EXTRA_SLOTS = 2
"""Extra slots while they are small, and fewer while they are large (seed 002)."""
TURN_DECAY = 0.9
"""What is left of a slot's activation after each turn."""
USE_BOOST = 0.3
"""How much of the way to full activation a slot gains when it is used."""
MIN_ACTIVATION = 0.1
"""What is weaker leaves, unless someone put it there on purpose."""
DRIFT_DECAY = 0.7
"""What a drift leaves of every slot's activation."""
MAX_TOPICS = 5
"""How many topics that were left are remembered, to come back to."""
DECAYED_LEAST = 0.2
"""What is left of activation at the end of the hours in which it fades."""
MORNING_SLOTS = 5
"""How many things a new day begins with,"""
MORNING_DAYS = 14.0
"""of those from the last days, except promises."""


# Working memory as a handful of slots: what is placed, used, fades and gives way.
#
# Time is an argument. A slot holds an id, or words of its own, and an activation in [0, 1]. When there are
# too many the weakest gives way, and what someone put there on purpose gives way last. Seven, give or take
# two: how many depends on what they cost together.


def add_slots(slots: Sequence[Slot], new: Iterable[Slot], policy: AttentionPolicy) -> tuple[Slot, ...]:
    """
    Return the slots with these added; a slot that is there already is boosted, not duplicated.

    A memory that comes up again keeps its place and becomes more active; one that someone now asks for on
    purpose is explicit from then on.
    """
    held = {slot.key: slot for slot in slots}
    for slot in new:
        known = held.get(slot.key)
        held[slot.key] = slot if known is None else _refresh_slot(known, slot)
    return trim_slots(tuple(held.values()), policy)


def boost_slots(slots: Sequence[Slot], keys: Set[str], *, now: datetime) -> tuple[Slot, ...]:
    """Return the slots with those of these keys boosted."""
    return tuple(
        replace(slot, activation=_boost(slot.activation), used_at=now) if slot.key in keys else slot
        for slot in slots
    )


def fade_slots(slots: Sequence[Slot], share: float) -> tuple[Slot, ...]:
    """Return the slots with this share of their activation left; those that are too faint leave."""
    faded = [replace(slot, activation=slot.activation * share) for slot in slots]
    return tuple(slot for slot in faded if slot.is_explicit or slot.activation >= MIN_ACTIVATION)


def remaining_share(elapsed: timedelta, policy: AttentionPolicy) -> float:
    """Return the share of activation that is left after a time; none is lost to a clock that went back."""
    minutes = max(0.0, elapsed.total_seconds() / 60)
    return float(0.5 ** (minutes / policy.half_life_minutes))


def trim_slots(slots: Sequence[Slot], policy: AttentionPolicy) -> tuple[Slot, ...]:
    """Return as many slots as there is room for, in the order they came in."""
    remaining = list(slots)
    while len(remaining) > slot_capacity(remaining, policy):
        remaining.remove(min(remaining, key=_strength))
    return tuple(remaining)


def slot_capacity(slots: Sequence[Slot], policy: AttentionPolicy) -> int:
    """Return how many slots there may be: more while they are small, fewer while they are large."""
    cost = sum(slot.tokens for slot in slots)
    if cost > policy.slot_tokens:
        return policy.slots - EXTRA_SLOTS
    return policy.slots + (EXTRA_SLOTS if cost <= policy.slot_tokens / 2 else 0)


def sort_by_strength(slots: Sequence[Slot]) -> list[Slot]:
    """Return the slots in the order that a prompt should show them."""
    return sorted(slots, key=_strength, reverse=True)


def _refresh_slot(known: Slot, new: Slot) -> Slot:
    activation = max(new.activation, _boost(known.activation))
    source = new.source if new.is_explicit else known.source
    return replace(new, source=source, activation=activation)


def _boost(activation: float) -> float:
    return min(1.0, activation + USE_BOOST * (1 - activation))


def _strength(slot: Slot) -> tuple[bool, float, datetime]:
    return slot.is_explicit, slot.activation, slot.used_at


# What the slots hold, read from the store this moment and inside the agent's scope.
#
# A slot is only a pointer: what was forgotten, superseded, erased, flagged or moved out of sight since is
# not there any more, whatever a snapshot says.

SENSORY_ACTIVATION = 0.4
"""What was just said is weaker than what was found for it: it stands in the history as well."""

USED_SHARE = 0.5
"""A reply that has this share of a slot's telling words used it."""
LINE_TOKENS = 8
"""What a line costs beside its words: its dash, its source, its end."""


class ConcealsWords(Protocol):
    """Knows which words say what was forgotten."""

    def conceal_text(
        self, tx: Transaction, text: str, *, scope: Scope, session: str | None = None
    ) -> str: ...


def read_items(
    tx: Transaction,
    slots: Sequence[Slot],
    *,
    scope: Scope,
    now: datetime,
    known: ConcealsWords | None = None,
) -> tuple[WorkingItem, ...]:
    """
    Return what these slots hold, the most active first, without those whose ground is gone.

    With `known` also without what was said, or noted, of what was forgotten since.
    """
    found = (_item(tx, slot, scope, now) for slot in sort_by_strength(slots))
    return tuple(
        one
        for one in found
        if one is not None
        and not (
            known is not None
            and one.memory is None
            and known.conceal_text(tx, one.content, scope=scope) != one.content
        )
    )


def drop_ungrounded(tx: Transaction, state: AttentionState, *, scope: Scope, now: datetime) -> AttentionState:
    """Return the state without slots whose memory, turn or question is no longer visible."""
    return replace(
        state,
        slots=_grounded_slots(tx, state.slots, scope, now),
        topics=tuple(
            replace(topic, slots=_grounded_slots(tx, topic.slots, scope, now)) for topic in state.topics
        ),
    )


def slots_used_by(reply: str, held: Sequence[WorkingItem]) -> frozenset[str]:
    """Return the keys of the slots whose telling words come back in a reply."""
    spoken = set(terms(reply))
    return frozenset(item.slot.key for item in held if _shared_words(item.content, spoken) >= USED_SHARE)


def working_lines(
    held: Sequence[WorkingItem], *, token_budget: int, count: Callable[[str], int] = count_tokens
) -> tuple[WorkingLine, ...]:
    """
    Return working memory as lines for a prompt, within a token budget by the reader's count.

    Where all of it whole is too much, memories are told as their key facts; if that is too much still, the
    least active go. The budget is the reader's: a small model is shown less, and the state stays as it is.
    """
    whole = [_line(item, _with_dates(item, item.content)) for item in held]
    if _line_tokens(whole, count) <= token_budget:
        return tuple(whole)
    short = [_line(item, _with_dates(item, _key_fact(item))) for item in held]
    while short and _line_tokens(short, count) > token_budget:
        short.pop()
    return tuple(short)


def may_enter_working_memory(memory: Memory, now: datetime) -> bool:
    """
    Return whether a memory may enter by itself: not if admission warned of it, or its time is
    over.
    """
    return memory.status is Status.ACTIVE and not memory.is_suspicious and not memory.is_over(now)


def memory_slot(memory: Memory, source: SlotSource, *, activation: float, now: datetime) -> Slot:
    """Return a slot that points to a memory."""
    return Slot(
        source=source,
        activation=min(1.0, max(0.0, activation)),
        tokens=count_tokens(memory.content),
        used_at=now,
        memory_id=memory.id,
    )


def turn_slot(turn: Turn, *, now: datetime) -> Slot:
    """Return a slot that points to something that was said."""
    return Slot(
        source=SlotSource.SENSORY,
        activation=SENSORY_ACTIVATION,
        tokens=count_tokens(_shorten(turn.content)),
        used_at=now,
        turn_id=turn.id,
    )


def gap_slot(gap: Gap, *, activation: float, now: datetime) -> Slot:
    """Return a slot that points to an open question."""
    return Slot(
        source=SlotSource.GAP_QUESTION,
        activation=activation,
        tokens=count_tokens(gap.question),
        used_at=now,
        gap_id=gap.id,
    )


def text_slot(text: str, source: SlotSource, *, activation: float, now: datetime) -> Slot:
    """Return a slot with words of its own."""
    return Slot(source=source, activation=activation, tokens=count_tokens(text), used_at=now, text=text)


def _line(item: WorkingItem, text: str) -> WorkingLine:
    return WorkingLine(text=text, source=item.slot.source, activation=item.slot.activation)


def _line_tokens(told: Sequence[WorkingLine], count: Callable[[str], int]) -> int:
    return sum(count(line.text) + LINE_TOKENS for line in told)


def _with_dates(item: WorkingItem, text: str) -> str:
    return text if item.memory is None else with_dates(text, item.memory.moments)


def _key_fact(item: WorkingItem) -> str:
    known = None if item.memory is None else item.memory.detail.key_fact
    return known or levels(item.content).key_fact or item.content


def _shared_words(content: str, spoken: set[str]) -> float:
    telling = {term for term in query_terms(content) if tells(term)}
    return len(telling & spoken) / len(telling) if telling else 0.0


def _grounded_slots(tx: Transaction, slots: Sequence[Slot], scope: Scope, now: datetime) -> tuple[Slot, ...]:
    held = {item.slot.key for item in read_items(tx, slots, scope=scope, now=now)}
    return tuple(slot for slot in slots if slot.key in held)


def _item(tx: Transaction, slot: Slot, scope: Scope, now: datetime) -> WorkingItem | None:
    if slot.memory_id is not None:
        memory = tx.memories.get(slot.memory_id, scope=scope)
        is_there = memory is not None and may_enter_working_memory(memory, now)
        shown = disclose_memory(memory, Audience.WORKING_MEMORY) if memory and is_there else None
        return None if shown is None else WorkingItem(slot=slot, content=shown.content, memory=shown)
    if slot.turn_id is not None:
        turn = tx.turns.get(slot.turn_id, scope=scope)
        if turn is None:
            return None
        before = tx.turns.list(scope=scope, session=turn.session, limit=MAX_BETWEEN + 1, before=turn.id)
        (shown_turn,) = disclose_turns([turn], Audience.WORKING_MEMORY, before=before)
        return WorkingItem(slot=slot, content=_shorten(shown_turn.content))
    if slot.gap_id is not None:
        gap = tx.gaps.get(slot.gap_id, scope=scope)
        told = put_into_words(tx, [gap] if gap is not None and gap.closed_at is None else [])
        return WorkingItem(slot=slot, content=told[0].question) if told else None
    return WorkingItem(slot=slot, content=slot.text)


def _shorten(said: str) -> str:
    return levels(said).summary or said


# The attention of one agent: its slots, momentum and topics, and what a turn does to them.
#
# Pure values in and out, time is an argument; a turn that fails leaves the state as it was. What someone
# put there on purpose stays through a change of topic: whether it changed is a guess, the note is not.


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


class TurnExperience(Struct, frozen=True, kw_only=True, eq=False):
    """What a turn adds to working memory."""

    message: AttendedMessage
    found: tuple[Slot, ...] = ()
    """What was recalled, promoted or noted, weakest last."""
    used: frozenset[str] = frozenset()
    """The keys of the slots that the reply made use of."""
    reply: NDArray[np.float32] | None = None
    """The vector of what was answered, which is talk as well."""


def attend_to(
    state: AttentionState,
    message: AttendedMessage,
    measure: Measures,
    policy: AttentionPolicy,
    *,
    now: datetime,
) -> tuple[AttentionState, TopicShift]:
    """Return the state as it meets a message, faded and on topic, and what the message does to the topic."""
    slots = fade_slots(state.slots, TURN_DECAY * _remaining(state, policy, now=now))
    faded = replace(state, slots=slots, at=now)
    if message.vector is None or is_vague(message.text, policy):
        return faded, TopicShift.CONTINUATION
    shift = classify_shift(message.vector, state.momentum, measure, policy)
    if shift is TopicShift.CONTINUATION:
        return faded, shift
    if shift is TopicShift.DRIFT:
        return replace(faded, slots=fade_slots(slots, DRIFT_DECAY)), shift
    back = find_left_topic(message.vector, state.topics, measure, policy)
    turned = _leave_topic(faded, now=now)
    return (turned, shift) if back is None else (_return_to_topic(turned, back, policy), TopicShift.RETURN)


def settle_turn(
    state: AttentionState,
    experience: TurnExperience,
    measure: Measures,
    policy: AttentionPolicy,
    *,
    now: datetime,
) -> AttentionState:
    """Return the state after its turn: what was found is added, what was used is stronger."""
    message, momentum = experience.message, state.momentum
    if message.vector is not None and not is_vague(message.text, policy):
        momentum = update_momentum(momentum, message.vector, measure)
    if experience.reply is not None:
        momentum = update_momentum(momentum, experience.reply, measure)
    slots = boost_slots(add_slots(state.slots, experience.found, policy), experience.used, now=now)
    return replace(state, slots=slots, momentum=momentum, at=now)


def wake_up(
    state: AttentionState, policy: AttentionPolicy, *, now: datetime
) -> tuple[AttentionState, Restored]:
    """Return a state after a pause: as it was, fainter, or, after a long time, empty."""
    asleep = timedelta() if state.at is None else max(timedelta(), now - state.at)
    full, decayed = timedelta(hours=policy.full_hours), timedelta(hours=policy.decayed_hours)
    if state.at is None or asleep >= decayed:
        return AttentionState(), Restored.FRESH
    if asleep < full:
        return replace(state, at=now), Restored.FULL
    lost = (1 - DECAYED_LEAST) * ((asleep - full) / (decayed - full))
    return replace(state, slots=fade_slots(state.slots, 1 - lost), at=now), Restored.DECAYED


def wipe_state(state: AttentionState) -> None:
    """
    Overwrite every number of a state's vectors; its words are only released, which is all that Python can
    do.
    """
    for momentum in (state.momentum, *(topic.momentum for topic in state.topics)):
        momentum.rows.fill(0)


def _remaining(state: AttentionState, policy: AttentionPolicy, *, now: datetime) -> float:
    return 1.0 if state.at is None else remaining_share(now - state.at, policy)


def _leave_topic(state: AttentionState, *, now: datetime) -> AttentionState:
    """Return the state ready for another topic; the one that it leaves is remembered."""
    gone = tuple(slot for slot in state.slots if not slot.is_explicit)
    explicit = tuple(slot for slot in state.slots if slot.is_explicit)
    left = LeftTopic(momentum=state.momentum, slots=gone, left_at=now)
    topics = (*state.topics, left)[-MAX_TOPICS:]
    return replace(state, slots=explicit, momentum=Momentum(), topics=topics)


def _return_to_topic(state: AttentionState, topic: LeftTopic, policy: AttentionPolicy) -> AttentionState:
    """Return the state on a topic that it had left, with its slots of then."""
    held = {slot.key for slot in state.slots}
    slots = (*state.slots, *(slot for slot in topic.slots if slot.key not in held))
    others = tuple(one for one in state.topics if one is not topic)
    return replace(state, slots=trim_slots(slots, policy), momentum=topic.momentum, topics=others)


# Attention at rest: from the value in use to the snapshot that the store holds, and back.


def to_snapshot(
    state: AttentionState, *, identity: EmbedderIdentity | None, now: datetime
) -> AttentionSnapshot:
    """Return a snapshot for the store."""
    left = [_topic_snapshot(topic.slots, topic.momentum, topic.left_at) for topic in state.topics]
    present = _topic_snapshot(state.slots, state.momentum, None)
    return AttentionSnapshot(topics=(*left, present), at=state.at or now, embedder=identity)


def from_snapshot(snapshot: AttentionSnapshot, *, identity: EmbedderIdentity | None) -> AttentionState:
    """Return the state of a snapshot, with its vectors where they are of this embedder."""
    *left, present = snapshot.topics
    if identity is None or snapshot.embedder != identity:
        return AttentionState(slots=present.slots, at=snapshot.at)
    return AttentionState(
        slots=present.slots,
        momentum=Momentum(present.vectors, present.confidence),
        topics=tuple(_left_topic_from_snapshot(one, snapshot.at) for one in left),
        at=snapshot.at,
    )


def _left_topic_from_snapshot(topic: TopicSnapshot, at: datetime) -> LeftTopic:
    momentum = Momentum(topic.vectors, topic.confidence)
    return LeftTopic(momentum=momentum, slots=topic.slots, left_at=topic.left_at or at)


def _topic_snapshot(slots: tuple[Slot, ...], momentum: Momentum, left_at: datetime | None) -> TopicSnapshot:
    return TopicSnapshot(slots=slots, vectors=momentum.rows, confidence=momentum.confidence, left_at=left_at)


# Morning recall: what an agent begins with after a long pause, so that it feels remembered.
#
# Called by the engine when there is no snapshot, or only an old one; reads the store. Promises that are not
# kept yet come first, then how the latest session ended, an open question, and what of the last days
# matters most.

MEMORIES_CONSIDERED = 50
"""Newest memories of each kind that are considered."""
MAX_PROMISES = 2
MORNING_ACTIVATION = 0.5
"""What enters by itself is weaker than what was asked for."""
_FAR = timedelta(days=36_500)


def morning_slots(tx: Transaction, *, scope: Scope, now: datetime) -> tuple[Slot, ...]:
    """Return what to begin with, each thing once."""
    memories: dict[str, Memory] = {}
    for memory in _morning_memories(tx, scope, now):
        if may_enter_working_memory(memory, now):
            memories.setdefault(memory.id, memory)
    gaps = [gap_slot(gap, activation=MORNING_ACTIVATION, now=now) for gap in _open_question(tx, scope, now)]
    found = [
        memory_slot(one, SlotSource.MORNING_RECALL, activation=MORNING_ACTIVATION, now=now)
        for one in memories.values()
    ]
    return (*found[: MORNING_SLOTS - len(gaps)], *gaps)


def _open_question(tx: Transaction, scope: Scope, now: datetime) -> list[Gap]:
    """Return the best open question, unless it was put to someone in the last days."""
    earliest = now - timedelta(days=MORNING_DAYS)
    open_ones = open_questions(tx, scope, limit=MEMORIES_CONSIDERED)
    return [
        gap
        for gap in open_ones
        if (gap.asked_at is None or gap.asked_at <= earliest)
        and (gap.snoozed_until is None or gap.snoozed_until <= now)
    ][:1]


def _morning_memories(tx: Transaction, scope: Scope, now: datetime) -> Iterator[Memory]:
    """Yield promises, the latest summary, and then what matters of the last days."""
    promises = _newest(tx, scope, Filters(categories=frozenset({"commitment"})))
    earliest = now - timedelta(days=MORNING_DAYS)
    open_ones = [one for one in promises if (_due_date(one) or now) >= earliest]
    yield from sorted(open_ones, key=lambda one: _time_until_due(one, now))[:MAX_PROMISES]
    told = Filters(types=frozenset({MemoryType.NARRATIVE}), kinds=frozenset({Kind.EPISODE}))
    summaries = [one for one in _newest(tx, scope, told) if one.is_session_summary]
    yield from summaries[:1]
    lately = _newest(tx, scope, Filters(since=earliest))
    yield from sorted(lately, key=lambda one: (one.importance, one.when), reverse=True)


def _newest(tx: Transaction, scope: Scope, filters: Filters) -> Sequence[Memory]:
    return tx.memories.list(scope=scope, filters=filters, limit=MEMORIES_CONSIDERED, before=None)


def _due_date(promise: Memory) -> datetime | None:
    """Return when a promise is due, where it says so: a date of its own, or a moment after it was made."""
    if promise.occurred_at is not None and promise.occurred_at > promise.stated_at:
        return promise.occurred_at
    return promise.valid_to or promise.forget_after


def _time_until_due(promise: Memory, now: datetime) -> tuple[timedelta, timedelta]:
    """Return how far away a promise is due, those without a date last, and among these the newest first."""
    due = _due_date(promise)
    return (_FAR if due is None else abs(due - now), now - promise.stated_at)
