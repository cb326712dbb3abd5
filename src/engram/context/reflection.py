"""
A word about the knowledge itself: that little is known of a topic, and questions that would close a gap.

Called by `build` after recall; pure. The judgement is the recall's own: how well the best memories fit. A
question is brought up only where the window shows what it is about, seldom, and never twice in a week.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from engram.context.isolation import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence, Set
    from datetime import datetime

    from engram.policy import ContextPolicy
    from engram.values import Gap, Hit, MemoryId

UNKNOWN = (
    "- note: nothing in memory fits this message well; what is left is general knowledge, or asking the user"
)
THIN = "- note: little in memory fits this message well; it may be incomplete or out of date"
ASK = "- open question for the user, where it fits: "


def note(hits: Sequence[Hit], policy: ContextPolicy) -> str | None:
    """Return what to say about how well the topic is known; None where it is known well."""
    fits = sorted((hit.trust.relevance for hit in hits), reverse=True)
    if not policy.reflects:
        return None
    if not fits or fits[0] < policy.unknown_below:
        return UNKNOWN
    good = sum(fit >= policy.thin_below for fit in fits)
    return THIN if good < policy.thin_hits else None


def questions(
    gaps: Sequence[Gap], shown: Set[MemoryId], *, left: int, now: datetime, policy: ContextPolicy
) -> list[Gap]:
    """Return the open questions worth asking now: about what is shown, not asked lately, weightiest first."""
    rested = now - timedelta(days=policy.gap_days)
    due = [
        gap
        for gap in gaps
        if gap.closed_at is None
        and (gap.asked_at is None or gap.asked_at <= rested)
        and not shown.isdisjoint(gap.memories)
    ]
    return sorted(due, key=lambda gap: -gap.priority)[: max(0, left)]


def question_line(gap: Gap) -> str:
    """Return an open question as a line."""
    return ASK + one_line(gap.question)
