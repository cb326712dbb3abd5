"""
Decide how much of each memory is shown, from what the levels cost and what they are worth.

Called by `fill` before anything is written; pure. A part of the room is for the best memories whole. The rest
is given step by step to whatever adds the most worth for a token: the better a memory fits, the sooner it
grows from nothing to its key fact, its summary, its full words. A level that another one beats in both is
passed over. Against taking the best whole until the room is gone: docs/lab/0020-context.md.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engram.context.lines import DAY_TOKENS, TAGS_TOKENS, lead_tokens, stored_tokens
from engram.values import DetailLevel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.context.measure import Measure
    from engram.policy import ContextPolicy
    from engram.values import Memory

LEVELS = tuple(DetailLevel)
"""Most detail first."""
SHORTEST_FIRST = tuple(reversed(LEVELS))
_TAG_MARK_TOKENS = 1


@dataclass(frozen=True, slots=True)
class Wish:
    """A memory that a section would like to show, and how much it matters there, in (0, 1]."""

    memory: Memory
    value: float


@dataclass(frozen=True, slots=True)
class Step:
    """One level of one memory: what it costs and what it is worth, its line included."""

    level: DetailLevel
    tokens: int
    worth: float


def worths(policy: ContextPolicy) -> dict[DetailLevel, float]:
    """Return what each level is worth beside the whole."""
    return {
        DetailLevel.FULL: 1.0,
        DetailLevel.SUMMARY: policy.summary_worth,
        DetailLevel.KEY_FACT: policy.key_fact_worth,
        DetailLevel.TAG: policy.tag_worth,
    }


def full_tokens(wishes: Sequence[Wish], measure: Measure) -> int:
    """Return what all of them would cost with nothing left out."""
    lines = sum(stored_tokens(one.memory, DetailLevel.FULL) + lead_tokens(one.memory) for one in wishes)
    days = len({one.memory.when.date() for one in wishes})
    return measure.planned(lines) + days * DAY_TOKENS


def steps(wish: Wish, worth: Mapping[DetailLevel, float], measure: Measure, *, power: float) -> list[Step]:
    """Return the levels worth choosing from, shortest first; each further token brings less than the last."""
    value = max(wish.value, 1e-3) ** power
    lead = lead_tokens(wish.memory)
    found: list[Step] = []
    for level in SHORTEST_FIRST:
        words = stored_tokens(wish.memory, level)
        around = _TAG_MARK_TOKENS if level is DetailLevel.TAG else lead
        step = Step(level, measure.planned(words + around), value * worth[level])
        while found and (step.tokens <= found[-1].tokens or _is_beaten(found, step)):
            found.pop()
        found.append(step)
    return found


def choose(
    wishes: Sequence[Wish], room: int, *, measure: Measure, policy: ContextPolicy
) -> list[DetailLevel | None]:
    """Return the level of each memory within the room, None for those that stay out."""
    if full_tokens(wishes, measure) <= room:
        return [DetailLevel.FULL] * len(wishes)
    worth = worths(policy)
    ladders = [steps(one, worth, measure, power=policy.score_power) for one in wishes]
    whole = _whole(wishes, ladders, round(room * policy.whole_share))
    return _climb(wishes, ladders, room, whole)


def _whole(wishes: Sequence[Wish], ladders: Sequence[Sequence[Step]], room: int) -> list[int]:
    """Return the places of the best memories that are shown whole before any other gets room at all."""
    found, days = [], set()
    for place, (wish, ladder) in enumerate(zip(wishes, ladders, strict=True)):
        day = wish.memory.when.date()
        room -= ladder[-1].tokens + (0 if day in days else DAY_TOKENS)
        if room < 0:
            break
        found.append(place)
        days.add(day)
    return found


def _climb(
    wishes: Sequence[Wish], ladders: Sequence[Sequence[Step]], room: int, whole: Sequence[int]
) -> list[DetailLevel | None]:
    """Return the levels: some whole, then the step with the most worth for its tokens while any fits."""
    reached = [-1] * len(ladders)
    days = {wishes[place].memory.when.date() for place in whole}
    room -= len(days) * DAY_TOKENS + sum(ladders[place][-1].tokens for place in whole)
    for place in whole:
        reached[place] = len(ladders[place]) - 1
    has_tags = False
    waiting = [(-_gain(ladder, -1), place) for place, ladder in enumerate(ladders) if reached[place] < 0]
    heapq.heapify(waiting)
    while waiting:
        _, place = heapq.heappop(waiting)
        ladder, at = ladders[place], reached[place]
        cost = ladder[at + 1].tokens - (ladder[at].tokens if at >= 0 else 0)
        day = wishes[place].memory.when.date()
        is_tag = ladder[at + 1].level is DetailLevel.TAG
        around = (0 if has_tags else TAGS_TOKENS) if is_tag else (0 if day in days else DAY_TOKENS)
        if cost + around > room:
            continue
        room -= cost + around
        reached[place] += 1
        has_tags = has_tags or is_tag
        if not is_tag:
            days.add(day)
        if at + 2 < len(ladder):
            heapq.heappush(waiting, (-_gain(ladder, at + 1), place))
    return [ladder[at].level if at >= 0 else None for ladder, at in zip(ladders, reached, strict=True)]


def _gain(ladder: Sequence[Step], at: int) -> float:
    """Return the worth that the next step adds for each token."""
    below = ladder[at] if at >= 0 else Step(DetailLevel.TAG, 0, 0.0)
    above = ladder[at + 1]
    return (above.worth - below.worth) / max(1, above.tokens - below.tokens)


def _is_beaten(found: Sequence[Step], step: Step) -> bool:
    """Say whether the last level adds less for its tokens than going past it to this one."""
    last, below = found[-1], (found[-2] if len(found) > 1 else Step(DetailLevel.TAG, 0, 0.0))
    by_last = (last.worth - below.worth) / max(1, last.tokens - below.tokens)
    by_step = (step.worth - below.worth) / max(1, step.tokens - below.tokens)
    return by_step >= by_last
