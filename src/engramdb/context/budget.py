"""Divide a token budget among sections and fill each within its share."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Mapping, Sequence
from datetime import date

from msgspec import Struct, field
from msgspec.structs import replace

from engramdb.context.lines import (
    DAY_TOKENS,
    TAGS,
    TAGS_TOKENS,
    TITLES,
    day_line,
    line_prefix_tokens,
    memory_line,
    section_text,
    stored_tokens,
    text_at_level,
)
from engramdb.models.capabilities import TokenCounter
from engramdb.policy import ContextPolicy
from engramdb.values import (
    DetailLevel,
    Fate,
    Loss,
    Memory,
    Section,
    SectionName,
    ShownMemory,
)

LARGE_FROM_TOKENS = 32_000
"""From this budget on, what is recalled gets a larger share at the cost of history;"""
LARGE_TO_TOKENS = 1_000_000
"""at this one, its largest."""
WHOLE_SHARE = 0.6
"""The share of a section for its best memories, whole; the rest goes by worth per token."""
SCORE_POWER = 9.0
"""How much more the better hits get (0: all alike, 9: the best nearly all): docs/lab/0020-context.md."""
SUMMARY_WORTH = 0.1
"""What a summary is worth beside the whole memory,"""
KEY_FACT_WORTH = 0.03
"""a key fact,"""
TAG_WORTH = 0.003
"""and a tag: docs/lab/0020-context.md."""

# Count tokens with whatever counter there is, and never too few.


class Measure(Struct, frozen=True):
    """A counter, and how its counts compare with those that are stored with memories."""

    counter: TokenCounter
    ratio: float = 1.0

    def of(self, text: str) -> int:
        """Return what a text costs at most."""
        return self.counter.most(text) if text else 0

    def planned(self, stored: int) -> int:
        """Return what a text with this stored count is likely to cost."""
        return math.ceil(stored * self.ratio)

    def calibrated(self, samples: Sequence[tuple[str, int]]) -> Measure:
        """Return the measure with the ratio of these texts' counts to the counts stored with them."""
        stored = sum(tokens for _, tokens in samples)
        return replace(self, ratio=sum(self.of(text) for text, _ in samples) / stored) if stored else self


# Divide a budget of tokens among the sections before anything is written.
#
# Called by `build` with what each section would like to have; pure arithmetic. Every section is sure of its
# share; what it does not need goes to the others in the order of their weight. Working memory is never cut:
# what it needs beyond its share is taken from the least important first, in the drop order of seed 002
# §8.5.

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
"""Which section is dropped first when tokens run out; working memory never is."""
PRIORITY = tuple(reversed(DROP_ORDER))
"""Who is given what others leave."""


def section_shares(budget: int, policy: ContextPolicy) -> dict[SectionName, float]:
    """Return each section's share; in large windows recalled memories grow at the cost of history."""
    grown = policy.recalled_share + (policy.recalled_share_most - policy.recalled_share) * _budget_scale(
        budget
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


def guaranteed_tokens(budget: int, working: int, policy: ContextPolicy) -> dict[SectionName, int]:
    """Return what each section is sure of, once working memory has what it needs."""
    sure = {name: math.floor(budget * share) for name, share in section_shares(budget, policy).items()}
    lacking = max(0, working - sure[SectionName.WORKING])
    for name in DROP_ORDER:
        given = min(sure[name], lacking)
        sure[name] -= given
        lacking -= given
    sure[SectionName.WORKING] = working
    return sure


def allocate_tokens(
    budget: int,
    needs: Mapping[SectionName, int],
    *,
    minimums: Mapping[SectionName, int],
    policy: ContextPolicy,
) -> dict[SectionName, int]:
    """
    Return what each section may cost; a section that is left out has 0.

    `needs` is what each would take at most, `least` what it must have to be worth anything. When one would
    have less than that, the first in the drop order goes, until the rest have enough.
    """
    alive = {name for name in DROP_ORDER if needs.get(name, 0) > 0}
    while True:
        given = _distribute(budget, {name: needs[name] for name in alive}, needs, policy)
        if all(given[name] >= min(minimums.get(name, 1), needs[name]) for name in alive):
            break
        alive.remove(next(name for name in DROP_ORDER if name in alive))
    return {name: given.get(name, 0) for name in SectionName}


def _distribute(
    budget: int,
    alive: Mapping[SectionName, int],
    needs: Mapping[SectionName, int],
    policy: ContextPolicy,
) -> dict[SectionName, int]:
    """
    Return the allowances: each its need within its base, then what is left by priority.

    A history that fits as a whole comes first: what was said is worth more than the last of many hits.
    """
    working = needs.get(SectionName.WORKING, 0)
    sure = guaranteed_tokens(budget, working, policy)
    given = {name: min(need, sure[name]) for name, need in alive.items()}
    left = budget - working - sum(given.values())
    said = SectionName.HISTORY
    is_whole = said in given and alive[said] - given[said] <= left
    for name in (said, *PRIORITY) if is_whole else PRIORITY:
        if name in given:
            more = min(alive[name] - given[name], max(0, left))
            given[name] += more
            left -= more
    return given | {SectionName.WORKING: working}


def _budget_scale(budget: int) -> float:
    """Return how large a budget is, from 0 to 1, by its magnitude and not by its size."""
    if budget <= LARGE_FROM_TOKENS:
        return 0.0
    reached = math.log(budget / LARGE_FROM_TOKENS)
    return min(1.0, reached / math.log(LARGE_TO_TOKENS / LARGE_FROM_TOKENS))


def available_tokens(
    context_window: int, *, output_limit: int, used_tokens: int, reserve: int | None, policy: ContextPolicy
) -> int:
    """
    Return what a model's window leaves for memories, once the fixed parts and the reply have theirs.

    `reserve` is what the caller keeps for the reply; without it a usual reply is reserved, or less where the
    model cannot write that much or its window is small. Below 0 the fixed parts alone do not fit.
    """
    usual = min(policy.reply_tokens, output_limit, math.floor(context_window * policy.reply_share_most))
    return context_window - used_tokens - (usual if reserve is None else reserve)


# Decide how much of each memory is shown, from what the levels cost and what they are worth.
#
# A part of the budget is for the best memories whole. The rest is given step by step to whatever adds the
# most worth for a token: the better a memory fits, the sooner it grows from nothing to its key fact, its
# summary, its full words. A level that another one beats in both is passed over. Against taking the best
# whole until the budget is gone: docs/lab/0020-context.md.

LEVELS = tuple(DetailLevel)
"""Most detail first."""
SHORTEST_FIRST = tuple(reversed(LEVELS))
_TAG_MARK_TOKENS = 1


class SectionCandidate(Struct, frozen=True):
    """A memory that a section would like to show, and how much it matters there, in (0, 1]."""

    memory: Memory
    value: float


class DetailStep(Struct, frozen=True):
    """One level of one memory: what it costs and what it is worth, its line included."""

    level: DetailLevel
    tokens: int
    worth: float


def level_values() -> dict[DetailLevel, float]:
    """Return what each level is worth beside the whole."""
    return {
        DetailLevel.FULL: 1.0,
        DetailLevel.SUMMARY: SUMMARY_WORTH,
        DetailLevel.KEY_FACT: KEY_FACT_WORTH,
        DetailLevel.TAG: TAG_WORTH,
    }


def full_tokens(candidates: Sequence[SectionCandidate], measure: Measure) -> int:
    """Return what all of them would cost with nothing left out."""
    lines = sum(
        stored_tokens(one.memory, DetailLevel.FULL) + line_prefix_tokens(one.memory) for one in candidates
    )
    days = len({one.memory.when.date() for one in candidates})
    return measure.planned(lines) + days * DAY_TOKENS


def detail_steps(
    candidate: SectionCandidate, worth: Mapping[DetailLevel, float], measure: Measure, *, power: float
) -> list[DetailStep]:
    """Return the levels worth choosing from, shortest first; each further token brings less than the last."""
    value = max(candidate.value, 1e-3) ** power
    lead = line_prefix_tokens(candidate.memory)
    found: list[DetailStep] = []
    for level in SHORTEST_FIRST:
        words = stored_tokens(candidate.memory, level)
        around = _TAG_MARK_TOKENS if level is DetailLevel.TAG else lead
        step = DetailStep(level, measure.planned(words + around), value * worth[level])
        while found and (step.tokens <= found[-1].tokens or _is_dominated(found, step)):
            found.pop()
        found.append(step)
    return found


def choose_levels(
    candidates: Sequence[SectionCandidate], token_budget: int, *, measure: Measure
) -> list[DetailLevel | None]:
    """Return the level of each memory within the budget, None for those that stay out."""
    if full_tokens(candidates, measure) <= token_budget:
        return [DetailLevel.FULL] * len(candidates)
    worth = level_values()
    ladders = [detail_steps(one, worth, measure, power=SCORE_POWER) for one in candidates]
    whole = _shown_whole(candidates, ladders, round(token_budget * WHOLE_SHARE))
    return _add_levels(candidates, ladders, token_budget, whole)


def _shown_whole(
    candidates: Sequence[SectionCandidate], ladders: Sequence[Sequence[DetailStep]], token_budget: int
) -> list[int]:
    """Return the places of the best memories that are shown whole before any other gets a token."""
    found, days = [], set()
    for place, (candidate, ladder) in enumerate(zip(candidates, ladders, strict=True)):
        day = candidate.memory.when.date()
        token_budget -= ladder[-1].tokens + (0 if day in days else DAY_TOKENS)
        if token_budget < 0:
            break
        found.append(place)
        days.add(day)
    return found


def _add_levels(
    candidates: Sequence[SectionCandidate],
    ladders: Sequence[Sequence[DetailStep]],
    token_budget: int,
    whole: Sequence[int],
) -> list[DetailLevel | None]:
    """Return the levels: some whole, then the step with the most worth for its tokens while any fits."""
    reached = [-1] * len(ladders)
    days = {candidates[place].memory.when.date() for place in whole}
    token_budget -= len(days) * DAY_TOKENS + sum(ladders[place][-1].tokens for place in whole)
    for place in whole:
        reached[place] = len(ladders[place]) - 1
    has_tags = False
    waiting = [
        (-_value_per_token(ladder, -1), place) for place, ladder in enumerate(ladders) if reached[place] < 0
    ]
    heapq.heapify(waiting)
    while waiting:
        _, place = heapq.heappop(waiting)
        ladder, at = ladders[place], reached[place]
        cost = ladder[at + 1].tokens - (ladder[at].tokens if at >= 0 else 0)
        day = candidates[place].memory.when.date()
        is_tag = ladder[at + 1].level is DetailLevel.TAG
        around = (0 if has_tags else TAGS_TOKENS) if is_tag else (0 if day in days else DAY_TOKENS)
        if cost + around > token_budget:
            continue
        token_budget -= cost + around
        reached[place] += 1
        has_tags = has_tags or is_tag
        if not is_tag:
            days.add(day)
        if at + 2 < len(ladder):
            heapq.heappush(waiting, (-_value_per_token(ladder, at + 1), place))
    return [ladder[at].level if at >= 0 else None for ladder, at in zip(ladders, reached, strict=True)]


def _value_per_token(ladder: Sequence[DetailStep], at: int) -> float:
    """Return the worth that the next step adds for each token."""
    below = ladder[at] if at >= 0 else DetailStep(DetailLevel.TAG, 0, 0.0)
    above = ladder[at + 1]
    return (above.worth - below.worth) / max(1, above.tokens - below.tokens)


def _is_dominated(found: Sequence[DetailStep], step: DetailStep) -> bool:
    """Return whether the last level adds less for its tokens than going past it to this one."""
    last, below = found[-1], (found[-2] if len(found) > 1 else DetailStep(DetailLevel.TAG, 0, 0.0))
    by_last = (last.worth - below.worth) / max(1, last.tokens - below.tokens)
    by_step = (step.worth - below.worth) / max(1, step.tokens - below.tokens)
    return by_step >= by_last


# Fill one section of memories within its allowance: choose the levels, write each line once, count it.
#
# Levels are chosen from stored counts; the lines are then counted as they are written, and where a stored
# count was too small the memory takes a shorter level. What does not fit at any level is left out and said
# to be.

NO_ROOM_REASON = "no room"
CALIBRATION_SAMPLES = 8
"""Memories sampled to learn how the counter differs from the stored counts."""
MAX_MISFITS = 5
"""After this many memories in a row that do not fit, no further one is tried."""
WIDER_SHARE = 0.15
"""Share of a section for summaries of many memories, where not all fit by themselves."""
TINY_TOKENS = 400
"""A budget for memories that is no larger holds few of them, and so"""
TINY_WIDER_SHARE = 0.3
"""so much of it is for summaries, and whatever the memories that fit the message leave;"""
TREE_LINE_TOKENS = 42
"""at least a line of one fact, unless that costs more than a third: docs/lab/0054-context.md."""
MIN_REMAINING_TOKENS = 4
"""Fewer tokens than this hold nothing."""


class _SectionPage(Struct):
    """A section while it is being written."""

    name: SectionName
    token_budget: int
    measure: Measure
    used: int = 0
    days: set[date] = field(default_factory=set)
    lines: dict[int, tuple[Memory, str]] = field(default_factory=dict)
    tags: dict[int, str] = field(default_factory=dict)
    levels: dict[int, DetailLevel] = field(default_factory=dict)
    wider: list[str] = field(default_factory=list)

    def write(self, place: int, memory: Memory, level: DetailLevel) -> bool:
        """Write a memory at a level if it fits, and return whether it does."""
        written = memory_line(memory, level)
        if level is DetailLevel.TAG:
            cost = self.measure.of(f"; {written}" if self.tags else f"{TAGS}{written}\n")
        else:
            day = memory.when.date()
            above = "" if day in self.days else f"{day_line(day)}\n"
            cost = self.measure.of(f"{above}{written}\n")
        if self.used + cost > self.token_budget:
            return False
        self.used += cost
        self.levels[place] = level
        if level is DetailLevel.TAG:
            self.tags[place] = written
        else:
            self.days.add(memory.when.date())
            self.lines[place] = (memory, written)
        return True

    def add_wider(self, lines: Sequence[str]) -> None:
        """Write lines that sum up many memories."""
        self.wider += lines
        self.used += sum(self.measure.of(f"{line}\n") for line in lines)


def fill_section(
    name: SectionName,
    candidates: Sequence[SectionCandidate],
    allowance: int,
    *,
    measure: Measure,
    wider: Callable[[int], Sequence[str]] | None = None,
) -> tuple[Section | None, list[Loss]]:
    """
    Return the section, None where nothing fits, and what was left out or shortened.

    Where memories would stay out altogether, and in a tiny section, `wider` is asked for lines that sum up
    many of them, within a number of tokens.
    """
    page = _SectionPage(name, allowance, measure, used=measure.of(f"{TITLES[name]}\n"))
    fitted = _calibrated_measure(measure, candidates)
    levels = choose_levels(candidates, allowance - page.used, measure=fitted)
    if wider is not None and (None in levels or allowance <= TINY_TOKENS):
        page.add_wider(wider(_wider_tokens(allowance - page.used, candidates, fitted)))
        levels = choose_levels(candidates, allowance - page.used, measure=fitted)
    for place, (candidate, level) in enumerate(zip(candidates, levels, strict=True)):
        if level is not None:
            _write_best(page, place, candidate.memory, level)
    _use_remaining_tokens(page, candidates)
    losses = _section_losses(page, candidates)
    if not page.levels and not page.wider:
        return None, losses
    text = section_text(name, page.lines.values(), list(page.tags.values()), page.wider)
    holds = tuple(
        ShownMemory(memory_id=candidates[place].memory.id, level=page.levels[place]) for place in page.levels
    )
    return Section(name=name, text=text, tokens=page.used, allowance=allowance, holds=holds), losses


def fill_with_lines(
    name: SectionName, lines: Sequence[str], allowance: int, *, measure: Measure
) -> Section | None:
    """Return a section of plain lines, as many as fit in their order; None where none does."""
    used = measure.of(f"{TITLES[name]}\n")
    fitting = []
    for one in lines:
        used += measure.of(f"{one}\n")
        if used > allowance:
            break
        fitting.append(one)
    if not fitting:
        return None
    text = "\n".join([TITLES[name], *fitting])
    return Section(name=name, text=text, tokens=measure.of(f"{text}\n"), allowance=allowance)


def _wider_tokens(room: int, candidates: Sequence[SectionCandidate], measure: Measure) -> int:
    """Return what summaries of many memories may take beside these."""
    if room > TINY_TOKENS:
        return round(room * WIDER_SHARE)
    is_worth = room >= 3 * TREE_LINE_TOKENS
    beside_best = min(TREE_LINE_TOKENS, room - full_tokens(candidates[:1], measure)) if is_worth else 0
    return max(round(room * TINY_WIDER_SHARE), beside_best, room - full_tokens(candidates, measure))


def _write_best(page: _SectionPage, place: int, memory: Memory, level: DetailLevel) -> None:
    """Write a memory at the level, or at the first shorter one that fits."""
    before = None
    for shorter in LEVELS[LEVELS.index(level) :]:
        words = text_at_level(memory, shorter)
        if words != before and page.write(place, memory, shorter):
            return
        before = words


def _use_remaining_tokens(page: _SectionPage, candidates: Sequence[SectionCandidate]) -> None:
    """Give the tokens that are left, because stored counts were too large, to those that stayed out."""
    failures = 0
    for place, candidate in enumerate(candidates):
        if page.token_budget - page.used < MIN_REMAINING_TOKENS or failures == MAX_MISFITS:
            return
        if place not in page.levels:
            _write_best(page, place, candidate.memory, DetailLevel.KEY_FACT)
            failures = 0 if place in page.levels else failures + 1


def _calibrated_measure(measure: Measure, candidates: Sequence[SectionCandidate]) -> Measure:
    """Return the measure with what the counter makes of the stored counts of a few of these memories."""
    some = [one.memory for one in candidates[:: max(1, len(candidates) // CALIBRATION_SAMPLES)]]
    return measure.calibrated(
        [(text_at_level(one, DetailLevel.FULL), stored_tokens(one, DetailLevel.FULL)) for one in some]
    )


def _section_losses(page: _SectionPage, candidates: Sequence[SectionCandidate]) -> list[Loss]:
    dropped = len(candidates) - len(page.levels)
    degraded = sum(level is not DetailLevel.FULL for level in page.levels.values())
    found = []
    if dropped:
        found.append(Loss(section=page.name, fate=Fate.DROPPED, count=dropped, reason=NO_ROOM_REASON))
    if degraded:
        found.append(Loss(section=page.name, fate=Fate.DEGRADED, count=degraded, reason=NO_ROOM_REASON))
    return found
