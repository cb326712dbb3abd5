"""
What a session begins with: the person's rules, what stands, and what matters most of what is known.

Nobody has asked anything yet, so nothing is recalled. Rules come first and whole, for as long as they are not
taken back; then what is pinned and preferred; then statements by their weight, as many as fit, under the days
they are from; and an open question or two.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from msgspec import Struct

from engramdb.capture.actions import is_run_record
from engramdb.context.budget import Measure
from engramdb.context.lines import (
    BLOCK,
    NOTICE,
    RULES_NOTICE,
    RULES_TITLE,
    day_line,
    frame_block,
    line_prefix,
    may_enter_window,
    one_line,
    text_at_level,
)
from engramdb.context.sections import question_line
from engramdb.text.qualifiers import condense
from engramdb.text.telling import telling_factor
from engramdb.values import Brief, DetailLevel, Gap, Memory
from engramdb.values.reading import Force, Lasting

RULES_SHARE = 0.6
"""Of the budget; a person with more rules than that is given the newest."""
STANDING_SHARE = 0.15
"""Of the budget, for what is pinned and preferred."""
LOOKED_AT = 400
"""How many of the newest memories are weighed."""
LINE_WORDS = 45
"""Of a statement, and what qualifies it; rules are told whole, up to"""
RULE_WORDS = 85
HALF_LIFE_DAYS = 30.0
"""After so long the part of a weight that is due to being new is halved;"""
NEWNESS_SHARE = 0.4
"""and that is so much of it."""
PASSING_DAYS = 3.0
"""What was only true for a while is no longer told after so long."""
MISFITS = 8
"""So many lines in a row that do not fit end the search for one that does."""
TITLES = (RULES_TITLE, "# Standing", "# Known")


class BriefSources(Struct, frozen=True, kw_only=True):
    """What a brief is made of."""

    standing: Sequence[Memory]
    """Pinned memories, rules, preferences, procedures, hints about the code."""
    newest: Sequence[Memory]
    questions: Sequence[Gap] = ()
    session: str | None = None
    """The session that begins: what it said itself is not told again."""


def build_brief(sources: BriefSources, budget: int, *, measure: Measure, now: datetime) -> Brief:
    """Return the brief, within a number of tokens."""
    rules, standing, known = _chosen(sources, now)
    notice = RULES_NOTICE if rules else NOTICE
    page = _BriefPage(measure, budget - measure.of(frame_block(" ", tag=BLOCK, notice=notice)))
    page.fill(TITLES[0], rules, allowance=round(budget * RULES_SHARE))
    page.fill(TITLES[1], standing, allowance=round(budget * STANDING_SHARE))
    page.fill(TITLES[2], known, allowance=page.left, by_day=True)
    page.add_lines([question_line(gap) for gap in sources.questions])
    has_rules = any(one.id in page.held for one in rules)
    text = frame_block("\n".join(page.lines), tag=BLOCK, notice=RULES_NOTICE if has_rules else NOTICE)
    return Brief(
        text=text,
        tokens=measure.of(text),
        budget=budget,
        memories=tuple(page.held),
        rules=sum(one.id in page.held for one in rules),
        left_out=sum(one.id not in page.held for one in (*rules, *standing, *known)),
    )


class _BriefPage:
    """Lines while they are collected, and the tokens that are left."""

    def __init__(self, measure: Measure, left: int) -> None:
        self._measure = measure
        self.left = left
        self.lines: list[str] = []
        self.held: dict[str, None] = {}

    def fill(self, title: str, memories: Iterable[Memory], *, allowance: int, by_day: bool = False) -> None:
        """Take the memories that fit, in their order; under the days they are from where asked for."""
        room = min(allowance, self.left) - self._measure.of(f"{title}\n")
        taken, misfits = dict[str, Memory](), 0
        days = set()
        for memory in memories:
            day = memory.last_stated_at.date()
            cost = self._measure.of(f"{brief_line(memory)}\n")
            cost += self._measure.of(f"{day_line(day)}\n") if by_day and day not in days else 0
            if cost > room:
                misfits += 1
                if misfits == MISFITS:
                    break
                continue
            room, misfits = room - cost, 0
            taken[memory.id] = memory
            days.add(day)
        if taken:
            self.left -= min(allowance, self.left) - room
            self.lines += [title, *_written(taken.values(), by_day=by_day)]
            self.held |= dict.fromkeys(taken)

    def add_lines(self, lines: Iterable[str]) -> None:
        """Take the lines that fit."""
        for line in lines:
            cost = self._measure.of(f"{line}\n")
            if cost <= self.left:
                self.left -= cost
                self.lines.append(line)


def _written(memories: Iterable[Memory], *, by_day: bool) -> Iterable[str]:
    if not by_day:
        yield from map(brief_line, memories)
        return
    last = None
    for memory in sorted(memories, key=lambda one: (one.last_stated_at, one.id)):
        if memory.last_stated_at.date() != last:
            last = memory.last_stated_at.date()
            yield day_line(last)
        yield brief_line(memory)


def brief_line(memory: Memory) -> str:
    """Return a memory as a line: who said it, and the words, cut where they are many."""
    most = RULE_WORDS if memory.is_rule else LINE_WORDS
    words = " ".join(text_at_level(memory, DetailLevel.FULL).split())
    return f"- {line_prefix(memory)}: {one_line(condense(words, most))}"


def _chosen(sources: BriefSources, now: datetime) -> tuple[list[Memory], list[Memory], list[Memory]]:
    """Return rules, what stands, and what else is worth knowing, each in the order that it gets tokens."""
    every = {one.id: one for one in (*sources.standing, *sources.newest)}
    usable = [one for one in every.values() if _is_usable(one, sources.session, now)]
    rules = sorted((one for one in usable if one.is_rule), key=_rule_order, reverse=True)
    standing = [one for one in usable if not one.is_rule and _stands(one)]
    known = [one for one in usable if not one.is_rule and not _stands(one)]
    standing.sort(key=lambda one: (one.pinned, weight(one, now)), reverse=True)
    known.sort(key=lambda one: weight(one, now), reverse=True)
    return rules, standing, known


def _is_usable(memory: Memory, session: str | None, now: datetime) -> bool:
    """Return whether a memory says something that holds by itself, and to one who was not there."""
    if not may_enter_window(memory) or memory.is_over(now) or is_run_record(memory):
        return False
    if memory.is_session_summary or (session is not None and memory.provenance.session == session):
        return False
    if memory.is_past(now) and not memory.pinned:
        return False
    is_passed = memory.lasting is Lasting.PASSING and (now - memory.last_stated_at).days >= PASSING_DAYS
    return memory.pinned or (memory.is_believed and not is_passed)


def _stands(memory: Memory) -> bool:
    return memory.pinned or memory.category == "preference"


def _rule_order(memory: Memory) -> tuple[bool, bool, datetime]:
    return memory.pinned, memory.force is Force.RULE, memory.stated_at


def weight(memory: Memory, now: datetime) -> float:
    """
    Return how much a memory matters to work that begins now: its importance, less with age.

    What gives a rule or a reason weighs more than its importance says, what only reports progress or is a
    scrap of talk less: without a reader, importance hardly tells them apart.
    """
    age_days = max(0.0, (now - memory.last_stated_at).total_seconds() / 86_400)
    newness: float = 0.5 ** (age_days / HALF_LIFE_DAYS)
    share = 1 - NEWNESS_SHARE + NEWNESS_SHARE * newness
    return memory.importance * share * telling_factor(memory)
