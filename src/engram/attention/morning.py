"""
Morning recall: what an agent begins with after a long pause, so that it feels remembered.

Called by the engine when there is no snapshot, or only an old one; reads the store. Promises that are
not kept yet come first, then how the latest session ended, an open question, and what of the last days
matters most.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from engram.attention.contents import may_enter, of_gap, of_memory
from engram.values import Filters, Kind, MemoryType, SlotSource

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from engram.policy.attention import AttentionPolicy
    from engram.store.contract import Transaction
    from engram.values import Gap, Memory, Scope, Slot

LOOKED_AT = 50
"""Of each sort so many of the newest are looked at."""
MOST_PROMISES = 2
ACTIVATION = 0.5
"""What comes to mind by itself is weaker than what was asked for."""
SUMMARY = "session-"
"""How the extractor of session summaries is called, whatever its version."""
_FAR = timedelta(days=36_500)


def morning(tx: Transaction, *, scope: Scope, policy: AttentionPolicy, now: datetime) -> tuple[Slot, ...]:
    """Return what to begin with, each thing once."""
    memories: dict[str, Memory] = {}
    for memory in _worth(tx, scope, policy, now):
        if may_enter(memory, now):
            memories.setdefault(memory.id, memory)
    gaps = [of_gap(gap, activation=ACTIVATION, now=now) for gap in _rested(tx, scope, policy, now)]
    found = [
        of_memory(one, SlotSource.MORNING_RECALL, activation=ACTIVATION, now=now) for one in memories.values()
    ]
    return (*found[: policy.morning_slots - len(gaps)], *gaps)


def _rested(tx: Transaction, scope: Scope, policy: AttentionPolicy, now: datetime) -> list[Gap]:
    """Return the best open question, unless it was put to somebody in the last days."""
    earliest = now - timedelta(days=policy.morning_days)
    open_ones = tx.gaps.open_for(scope, limit=LOOKED_AT)
    return [gap for gap in open_ones if gap.asked_at is None or gap.asked_at <= earliest][:1]


def _worth(tx: Transaction, scope: Scope, policy: AttentionPolicy, now: datetime) -> Iterator[Memory]:
    """Yield promises, the latest summary, and then what matters of the last days."""
    promises = _newest(tx, scope, Filters(categories=frozenset({"commitment"})))
    earliest = now - timedelta(days=policy.morning_days)
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
