"""
Divide a budget of tokens among the sections before anything is written.

Called by `build` with what each section would like to have; pure arithmetic. Every section is sure of its
share; what it does not need goes to the others in the order of their weight. Working memory is never cut:
what it needs beyond its share is taken from the least important first, in the drop order of seed 002 §8.5.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from engram.values import SectionName

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engram.policy import ContextPolicy

DROP_ORDER = (
    SectionName.REFLECTION,
    SectionName.HINTS,
    SectionName.ROSTER,
    SectionName.TODAY,
    SectionName.SKILLS,
    SectionName.SCHEMAS,
    SectionName.HISTORY,
    SectionName.RECALLED,
    SectionName.IDENTITY,
)
"""Who goes first when there is no room; working memory is not in it."""
PRIORITY = tuple(reversed(DROP_ORDER))
"""Who is given what others leave."""


def shares(budget: int, policy: ContextPolicy) -> dict[SectionName, float]:
    """Return each section's share; in large windows recalled memories grow at the cost of history."""
    grown = policy.recalled_share + (policy.recalled_share_most - policy.recalled_share) * _largeness(
        budget, policy
    )
    return {
        SectionName.IDENTITY: policy.identity_share,
        SectionName.WORKING: policy.working_share,
        SectionName.HISTORY: policy.history_share - max(0.0, grown - policy.recalled_share),
        SectionName.RECALLED: grown,
        SectionName.SCHEMAS: policy.schemas_share,
        SectionName.SKILLS: policy.skills_share,
        SectionName.TODAY: policy.today_share,
        SectionName.ROSTER: policy.roster_share,
        SectionName.HINTS: 0.0,
        SectionName.REFLECTION: 0.0,
    }


def bases(budget: int, working: int, policy: ContextPolicy) -> dict[SectionName, int]:
    """Return what each section is sure of, once working memory has what it needs."""
    sure = {name: math.floor(budget * share) for name, share in shares(budget, policy).items()}
    lacking = max(0, working - sure[SectionName.WORKING])
    for name in DROP_ORDER:
        given = min(sure[name], lacking)
        sure[name] -= given
        lacking -= given
    sure[SectionName.WORKING] = working
    return sure


def allocate(
    budget: int, needs: Mapping[SectionName, int], *, least: Mapping[SectionName, int], policy: ContextPolicy
) -> dict[SectionName, int]:
    """
    Return what each section may cost; a section that is left out has 0.

    `needs` is what each would take at most, `least` what it must have to be worth anything. When one would
    have less than that, the first in the drop order goes, until the rest have enough.
    """
    alive = {name for name in DROP_ORDER if needs.get(name, 0) > 0}
    while True:
        given = _poured(budget, {name: needs[name] for name in alive}, needs, policy)
        if all(given[name] >= min(least.get(name, 1), needs[name]) for name in alive):
            break
        alive.remove(next(name for name in DROP_ORDER if name in alive))
    return {name: given.get(name, 0) for name in SectionName}


def _poured(
    budget: int,
    alive: Mapping[SectionName, int],
    needs: Mapping[SectionName, int],
    policy: ContextPolicy,
) -> dict[SectionName, int]:
    """Return the allowances: each its need within its base, then what is left by priority."""
    working = needs.get(SectionName.WORKING, 0)
    sure = bases(budget, working, policy)
    given = {name: min(need, sure[name]) for name, need in alive.items()}
    left = budget - working - sum(given.values())
    for name in PRIORITY:
        if name in given:
            more = min(alive[name] - given[name], max(0, left))
            given[name] += more
            left -= more
    return given | {SectionName.WORKING: working}


def _largeness(budget: int, policy: ContextPolicy) -> float:
    """Return how large a budget is, from 0 to 1, by its magnitude and not by its size."""
    if budget <= policy.large_from_tokens:
        return 0.0
    reached = math.log(budget / policy.large_from_tokens)
    return min(1.0, reached / math.log(policy.large_to_tokens / policy.large_from_tokens))


def room_for(
    context_window: int, *, output_limit: int, taken: int, reserve: int | None, policy: ContextPolicy
) -> int:
    """
    Return what a model's window leaves for memories, once the fixed parts and the reply have theirs.

    `reserve` is what the caller keeps for the reply; without it a usual reply is kept, or less where the
    model cannot write that much or its window is small. Below 0 the fixed parts alone do not fit.
    """
    usual = min(policy.reply_tokens, output_limit, math.floor(context_window * policy.reply_share_most))
    return context_window - taken - (usual if reserve is None else reserve)
