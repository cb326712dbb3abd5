"""
What the slots hold, read from the store this moment and inside the agent's scope.

Called by the engine whenever working memory is shown or put into a prompt. A slot is only a pointer:
what was forgotten, superseded, erased, flagged or moved out of sight since is not there any more,
whatever a snapshot says.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from engram.attention.slots import strongest_first
from engram.text.detail import levels
from engram.text.terms import query_terms, terms
from engram.text.tokens import count_tokens
from engram.text.topics import tells
from engram.values import Item, Slot, SlotSource, Status, WorkingLine

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from engram.attention.mind import Mind
    from engram.store.contract import Transaction
    from engram.values import Gap, Memory, Scope, Turn

SENSORY_ACTIVATION = 0.4
"""What was just said is weaker than what was found for it: it stands in the history as well."""

USED_SHARE = 0.5
"""A reply that has this share of a slot's telling words made use of it."""
LINE_TOKENS = 8
"""What a line costs beside its words: its dash, its source, its end."""


def items(tx: Transaction, slots: Sequence[Slot], *, scope: Scope, now: datetime) -> tuple[Item, ...]:
    """Return what these slots hold, the most active first, without those whose ground is gone."""
    found = (_item(tx, slot, scope, now) for slot in strongest_first(slots))
    return tuple(one for one in found if one is not None)


def with_ground(tx: Transaction, mind: Mind, *, scope: Scope, now: datetime) -> Mind:
    """Return the mind without slots whose memory, turn or question is no longer there to be seen."""
    return replace(
        mind,
        slots=_standing(tx, mind.slots, scope, now),
        topics=tuple(replace(topic, slots=_standing(tx, topic.slots, scope, now)) for topic in mind.topics),
    )


def used_by(reply: str, held: Sequence[Item]) -> frozenset[str]:
    """Return the keys of the slots whose telling words come back in a reply."""
    spoken = set(terms(reply))
    return frozenset(item.slot.key for item in held if _shared(item.content, spoken) >= USED_SHARE)


def lines(
    held: Sequence[Item], *, room: int, count: Callable[[str], int] = count_tokens
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
    """Say whether a memory may come to mind by itself: not if the gate warned of it, or its time is over."""
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


def _line(item: Item, text: str) -> WorkingLine:
    return WorkingLine(text=text, source=item.slot.source, activation=item.slot.activation)


def _cost(told: Sequence[WorkingLine], count: Callable[[str], int]) -> int:
    return sum(count(line.text) + LINE_TOKENS for line in told)


def _key_fact(item: Item) -> str:
    known = None if item.memory is None else item.memory.detail.key_fact
    return known or levels(item.content).key_fact or item.content


def _shared(content: str, spoken: set[str]) -> float:
    telling = {term for term in query_terms(content) if tells(term)}
    return len(telling & spoken) / len(telling) if telling else 0.0


def _standing(tx: Transaction, slots: Sequence[Slot], scope: Scope, now: datetime) -> tuple[Slot, ...]:
    held = {item.slot.key for item in items(tx, slots, scope=scope, now=now)}
    return tuple(slot for slot in slots if slot.key in held)


def _item(tx: Transaction, slot: Slot, scope: Scope, now: datetime) -> Item | None:
    if slot.memory_id is not None:
        memory = tx.memories.get(slot.memory_id, scope=scope)
        is_there = memory is not None and may_enter(memory, now)
        return Item(slot=slot, content=memory.content, memory=memory) if memory and is_there else None
    if slot.turn_id is not None:
        turn = tx.turns.get(slot.turn_id, scope=scope)
        return None if turn is None else Item(slot=slot, content=_gist(turn.content))
    if slot.gap_id is not None:
        gap = tx.gaps.get(slot.gap_id, scope=scope)
        is_open = gap is not None and gap.closed_at is None
        return Item(slot=slot, content=gap.question) if gap and is_open else None
    return Item(slot=slot, content=slot.text)


def _gist(said: str) -> str:
    return levels(said).summary or said
