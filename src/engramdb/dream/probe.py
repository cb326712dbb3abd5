"""
Challenge old beliefs that much rests on: asked for often, said once, and never confirmed since.

Looks at the columns of the whole store a page at a time, and questions the most used
few. The policy may also let a questioned belief lose some confidence, once for each questioning, or mark it
as disputed until somebody answers; a pinned one is only asked about. Being used is what makes a wrong belief
dear, so use decides the order.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from datetime import timedelta

from engramdb.dream.gaps import ask_question
from engramdb.dream.step import Adjust, Dreaming, Proposal, Restatus
from engramdb.lifecycle.questions import stale_question
from engramdb.policy import InsightPolicy
from engramdb.store.contract import Transaction
from engramdb.text.guarded import is_guarded
from engramdb.values import Kind, Memory, Status
from engramdb.values.population import to_microseconds

PROBE_RECALLS = 10
"""An old belief is worth a question where it was used so often."""
MIN_PROBED_CONFIDENCE = 0.4
"""No questioning takes confidence below this: an old belief is doubted, not made speculative."""

PAGE_ROWS = 20_000
PROBE_REASON = "probed: old, much used and never confirmed"
"""The reason in the history, by which a later run knows that a belief was weakened already."""
STALE_PRIORITY = 0.5
FULL_USE_COUNT = 100
CANDIDATES_PER_PROBE = 20
"""Candidates read for each question: some have been asked about and answered already."""


class ProbeStep:
    """The step `probe`."""

    name = "probe"

    def propose(self, dreaming: Dreaming) -> Iterator[Proposal]:
        """Yield a question for each of the most used old beliefs, and a loss of confidence by policy."""
        policy = dreaming.policy.insight
        room = policy.probe_most
        for key in _most_used(dreaming):
            with dreaming.store.read() as tx:
                memory = tx.memories.by_keys([key]).get(key)
                if memory is None or not _is_questionable(memory):
                    continue
                gap = stale_question(memory, priority=_question_priority(memory), now=dreaming.now)
                known = tx.gaps.get(gap.id, scope=memory.scope)
                if known is not None and known.closed_at is not None:
                    continue  # someone has answered; the next one may take its place
                weaker = _lowered_confidence(tx, memory, policy)
            if room == 0:
                return
            room -= 1
            if known is None:
                yield ask_question(gap)
            if weaker is not None:
                yield Adjust(memory=memory, changes={"confidence": weaker}, reason=PROBE_REASON)
            if policy.probe_challenges and _may_be_outdated(memory):
                yield Restatus(memory=memory, status=Status.CHALLENGED, reason=PROBE_REASON)


def _most_used(dreaming: Dreaming) -> list[int]:
    """Return the keys of old, single-sourced beliefs, the most used first, more than can be asked about."""
    policy = dreaming.policy.insight
    oldest = to_microseconds(dreaming.now - timedelta(days=policy.probe_after_days))
    best: list[tuple[int, int]] = []
    after = 0
    while not dreaming.is_stopped():
        with dreaming.store.read() as tx:
            page = tx.ages.page(after_key=after, limit=PAGE_ROWS, owner=dreaming.scope)
        if not len(page):
            break
        after = int(page.keys[-1])
        is_due = page.has(Status.ACTIVE) & (page.recalls >= PROBE_RECALLS)
        is_due &= (page.confirmed <= oldest) & (page.confirmations == 0)
        found = zip(page.recalls[is_due].tolist(), (-page.keys[is_due]).tolist(), strict=True)
        best = heapq.nlargest(CANDIDATES_PER_PROBE * policy.probe_most, [*best, *found])
    return [-key for _, key in best]


def _is_questionable(memory: Memory) -> bool:
    is_single = memory.reinforcements == 0 and len(memory.provenance.episodes) <= 1
    return memory.status is Status.ACTIVE and is_single and not memory.is_suspicious


def _may_be_outdated(memory: Memory) -> bool:
    """Return whether time alone may have made it untrue: no birthday, no rule, nothing a person guards."""
    return memory.kind is Kind.NOTE and not memory.endures and not is_guarded(memory)


def _question_priority(memory: Memory) -> float:
    used = min(1.0, math.log1p(memory.access.count) / math.log1p(FULL_USE_COUNT))
    return round(STALE_PRIORITY + 0.3 * used, 2)


def _lowered_confidence(tx: Transaction, memory: Memory, policy: InsightPolicy) -> float | None:
    """Return the confidence that a belief is left with, or None where it keeps what it has."""
    lowered = max(MIN_PROBED_CONFIDENCE, memory.confidence - policy.probe_weaken_by)
    if memory.pinned or lowered >= memory.confidence:
        return None
    since = memory.last_stated_at
    events = tx.history.since([memory.id], since).get(memory.id, [])
    return None if any(event.reason == PROBE_REASON for event in events) else lowered
