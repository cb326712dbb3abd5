"""
Put memories of one topic into one box, and follow a topic from box to box.

Called by the gate inside its write. A box is sealed when the topic changes, after a silence, or when it is
full; a sealed box takes the trace of the latest earlier box with overlapping topics, or begins one.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from engram.text.topics import overlap
from engram.values import Box, new_id

if TYPE_CHECKING:
    from datetime import datetime

    from engram.policy import CapturePolicy
    from engram.store.contract import Transaction
    from engram.values import Scope

_TRACED_BOXES = 50
_LATEST_BOXES = 5
"""Looked at first: a topic that comes back was mostly left a moment ago, and reading a box takes a while."""
_MOST_TOPICS = 60
_RECENT_STATEMENTS = 4  # one shared word means little in a box of fifty


def place(
    tx: Transaction, topics: frozenset[str], *, scope: Scope, policy: CapturePolicy, now: datetime
) -> str:
    """Return the id of the box that a memory with these topics belongs to, opened or sealed as needed."""
    current = tx.boxes.open_in(scope)
    if current is not None and _is_over(current, topics, policy, now):
        tx.boxes.put(replace(current, sealed_at=now, trace=_trace(tx, current, policy)))
        current = None
    if current is None:
        box_id = new_id(now)
        current = Box(
            id=box_id, trace=box_id, topics=frozenset(), opened_at=now, last_at=now, memories=0, scope=scope
        )
    filled = replace(
        current,
        topics=frozenset(sorted(current.topics | topics)[:_MOST_TOPICS]),
        recent=(*current.recent, topics)[-_RECENT_STATEMENTS:],
        last_at=now,
        memories=current.memories + 1,
    )
    tx.boxes.put(filled)
    return filled.id


def _is_over(box: Box, topics: frozenset[str], policy: CapturePolicy, now: datetime) -> bool:
    if now - box.last_at > timedelta(minutes=policy.box_minutes) or box.memories >= policy.box_memories:
        return True
    recent = frozenset[str]().union(*box.recent)
    return bool(topics and recent) and overlap(recent, topics) < policy.box_overlap


def _trace(tx: Transaction, box: Box, policy: CapturePolicy) -> str:
    for most in (_LATEST_BOXES, _TRACED_BOXES):
        for earlier in tx.boxes.sealed(box.scope, limit=most):
            if overlap(earlier.topics, box.topics) >= policy.box_overlap:
                return earlier.trace
    return box.trace
