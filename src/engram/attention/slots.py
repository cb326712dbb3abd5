"""
Working memory as a handful of slots: what is placed, used, fades and gives way.

Called by `attention.mind`; pure, time is an argument. A slot holds an id, or words of its own, and an
activation in [0, 1]. When there are too many the weakest gives way, and what somebody put there on
purpose gives way last. Seven, give or take two: how many depends on what they cost together.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence, Set
    from datetime import datetime, timedelta

    from engram.policy.attention import AttentionPolicy
    from engram.values import Slot


def place(slots: Sequence[Slot], new: Iterable[Slot], policy: AttentionPolicy) -> tuple[Slot, ...]:
    """
    Return the slots with these in mind as well; what is there already is used, and not doubled.

    A memory that comes up again keeps its place and becomes more active; one that somebody now asks for on
    purpose is explicit from then on.
    """
    held = {slot.key: slot for slot in slots}
    for slot in new:
        known = held.get(slot.key)
        held[slot.key] = slot if known is None else _again(known, slot, policy)
    return trim(tuple(held.values()), policy)


def use(slots: Sequence[Slot], keys: Set[str], policy: AttentionPolicy, *, now: datetime) -> tuple[Slot, ...]:
    """Return the slots with those of these keys boosted."""
    return tuple(
        replace(slot, activation=_boosted(slot.activation, policy), used_at=now) if slot.key in keys else slot
        for slot in slots
    )


def fade(slots: Sequence[Slot], share: float, policy: AttentionPolicy) -> tuple[Slot, ...]:
    """Return the slots with this share of their activation left; those that are too faint leave."""
    faded = [replace(slot, activation=slot.activation * share) for slot in slots]
    return tuple(slot for slot in faded if slot.is_explicit or slot.activation >= policy.least_activation)


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
        return policy.slots - policy.slots_give
    return policy.slots + (policy.slots_give if cost <= policy.slot_tokens / 2 else 0)


def strongest_first(slots: Sequence[Slot]) -> list[Slot]:
    """Return the slots in the order that a prompt should show them."""
    return sorted(slots, key=_strength, reverse=True)


def _again(known: Slot, new: Slot, policy: AttentionPolicy) -> Slot:
    activation = max(new.activation, _boosted(known.activation, policy))
    source = new.source if new.is_explicit else known.source
    return replace(new, source=source, activation=activation)


def _boosted(activation: float, policy: AttentionPolicy) -> float:
    return min(1.0, activation + policy.boost * (1 - activation))


def _strength(slot: Slot) -> tuple[bool, float, datetime]:
    return slot.is_explicit, slot.activation, slot.used_at
