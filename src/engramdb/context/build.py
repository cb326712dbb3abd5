"""Build a window: measure what is fixed, divide the budget, fill, frame."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from msgspec import Struct, field

from engramdb.context.budget import (
    DROP_ORDER,
    NO_ROOM,
    PRIORITY,
    Measure,
    Wish,
    allocate,
    bases,
    fill,
    fill_lines,
    full_tokens,
)
from engramdb.context.history import LEAST_TOKENS as LEAST_HISTORY
from engramdb.context.history import HistoryMessage, RenderedHistory, Summarise, need, write
from engramdb.context.lines import BLOCK, NOTICE, NOTICE_AGAIN, framed
from engramdb.context.sections import (
    StandingMemories,
    hints,
    how_many,
    identity,
    note,
    question_line,
    questions,
    recalled,
    roster,
    schemas,
    skills,
    today,
    withheld,
    working,
)
from engramdb.errors import InvalidQuery
from engramdb.policy import ContextPolicy
from engramdb.store.contract import Store
from engramdb.values import (
    Breadth,
    DetailLevel,
    Fate,
    Gap,
    Loss,
    MemoryId,
    Missing,
    Recall,
    Scope,
    Section,
    SectionName,
    Summary,
    Window,
    WorkingLine,
)

# The desk that a window is built on: what was asked, what it is built from, and what has been laid out so
# far.
#
# Filled by `build` step by step; holds no decisions. What a section would cost is noted once, from the counts
# that are stored with the memories.

TITLE_TOKENS = 15
"""What the title of a section takes, and a little more."""
SPARE = 1.2
"""Stored counts may be too small: so much more is asked for, and what is not used goes on to others."""


class WindowRequest(Struct, frozen=True, kw_only=True):
    """What a window is built for."""

    message: str
    scope: Scope
    now: datetime
    budget: int
    session: str | None = None
    fixed: str = ""
    fixed_tokens: int = 0
    history: Sequence[HistoryMessage] = ()
    working: Sequence[WorkingLine] = ()
    agents: Sequence[str] = ()


class WindowSources(Struct, frozen=True, kw_only=True):
    """What a window is built from."""

    store: Store
    standing: StandingMemories
    recall: Callable[[int], Recall]
    """Answers with so many memories for the message."""
    measure: Measure
    policy: ContextPolicy
    summarise: Summarise | None = None
    wider: Callable[[Breadth], Sequence[Summary]] | None = None
    gaps: Callable[[], Sequence[Gap]] | None = None
    questions_left: int = 0


class WindowDraft(Struct):
    """A window while it is being built."""

    asked: WindowRequest
    sources: WindowSources
    needs: dict[SectionName, int] = field(default_factory=dict)
    wishes: dict[SectionName, Sequence[Wish]] = field(default_factory=dict)
    lines: dict[SectionName, list[str]] = field(default_factory=dict)
    sections: dict[SectionName, Section] = field(default_factory=dict)
    history: RenderedHistory = field(default_factory=lambda: RenderedHistory(None))
    answer: Recall | None = None
    losses: list[Loss] = field(default_factory=list)
    missing: list[Missing] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)

    @property
    def measure(self) -> Measure:
        return self.sources.measure

    def want(self, name: SectionName, wishes: Sequence[Wish]) -> None:
        """Note which memories a section would like to show, and what they would cost."""
        wishes = [one for one in wishes if not one.memory.is_over(self.asked.now)]
        self.wishes[name] = wishes
        if wishes:
            self.needs[name] = math.ceil(full_tokens(wishes, self.measure) * SPARE) + TITLE_TOKENS

    def want_lines(self, name: SectionName, lines: list[str]) -> None:
        """Note which lines a section would like to show, and what they would cost."""
        self.lines[name] = lines
        if lines:
            self.needs[name] = sum(self.measure.of(f"{line}\n") for line in lines) + TITLE_TOKENS

    @property
    def shown(self) -> set[MemoryId]:
        """The memories that are in the window already, by more than a tag."""
        held = (one for section in self.sections.values() for one in section.holds)
        return {one.memory_id for one in held if one.level is not DetailLevel.TAG}


# Build a window: measure what is fixed, ask each section what it would like, divide the budget, fill, frame.
#
# Called by the engine; calls one small file for each section, and recall only through what it is handed. The
# budget is divided before anything is written, each line is written once, and what had no room is said.
# Sections are filled in the order of their weight; what one does not use is the next one's.

LEAST_TOKENS = 30
"""Less room than this holds no section: a title and a line."""
STABLE = tuple(name for name in PRIORITY if name.is_stable)
PRESENT = (
    SectionName.SCHEMAS,
    SectionName.TODAY,
    SectionName.RECALLED,
    SectionName.WORKING,
    SectionName.REFLECTION,
)
"""In the order of the prompt: what matters most stands nearest to the message."""
MODEST = (
    *(SectionName.IDENTITY, SectionName.SCHEMAS, SectionName.SKILLS, SectionName.TODAY),
    *(SectionName.ROSTER, SectionName.HINTS, SectionName.REFLECTION),
)
"""These grow to twice their share at most: many preferences must not leave a message without memories."""
LEAST_LINE_TOKENS = 10
"""A line costs no less, so a section need not look at more memories than that allows."""
QUESTIONS_TOKENS = 60
"""What one or two open questions take."""


def build(asked: WindowRequest, sources: WindowSources) -> Window:
    """Return the window for a message; raises where working memory alone does not fit."""
    desk = WindowDraft(asked, sources)
    _ask_around(desk)
    room = _room(desk)
    _recall(desk, room)
    _fill_all(desk, room)
    return _framed(desk)


def _room(desk: WindowDraft) -> int:
    """Return what there is for sections, once the blocks around them are paid for."""
    measure, asked = desk.measure, desk.asked
    notices = [NOTICE, NOTICE_AGAIN] if any(name in desk.needs for name in STABLE) else [NOTICE]
    around = 2 + sum(measure.of(framed(" ", tag=BLOCK, notice=words)) + 2 for words in notices)
    lines = working(asked.working)
    whole = fill_lines(SectionName.WORKING, lines, asked.budget, measure=measure)
    is_whole = whole is not None and whole.text.count("\n") == len(lines)
    if lines and (whole is None or not is_whole or whole.tokens + around > asked.budget):
        needed = around + sum(measure.of(f"{line}\n") for line in lines)
        raise InvalidQuery(
            f"working memory takes {needed} tokens, and {asked.budget} are there for it",
            hint="Use a model with a larger window, reserve less, or hold less in mind.",
        )
    if whole is not None:
        desk.sections[SectionName.WORKING] = whole
        desk.needs[SectionName.WORKING] = whole.tokens
    return max(0, asked.budget - around)


def _ask_around(desk: WindowDraft) -> None:
    """Ask the sections that do not depend on recall what they would like."""
    asked, sources = desk.asked, desk.sources
    with sources.store.read() as tx:
        standing = sources.standing.of(tx, asked.scope)
        desk.want(SectionName.TODAY, today(tx, asked.scope, now=asked.now, session=asked.session))
    most = asked.budget // LEAST_LINE_TOKENS
    desk.want(SectionName.IDENTITY, identity(standing, sources.policy)[:most])
    desk.want(SectionName.SKILLS, skills(standing)[:most])
    desk.want(SectionName.HINTS, hints(standing)[:most])
    desk.want_lines(SectionName.ROSTER, roster(asked.agents))
    desk.needs[SectionName.HISTORY] = need(asked.history, measure=desk.measure, policy=sources.policy)


def _recall(desk: WindowDraft, room: int) -> None:
    """Recall as much as could fit, and ask the sections that follow from it."""
    asked, sources = desk.asked, desk.sources
    needs = _needs(desk, room) | {SectionName.RECALLED: room}
    most = allocate(room, needs, least=_least(), policy=sources.policy)[SectionName.RECALLED]
    desk.answer = sources.recall(how_many(most))
    hits = desk.answer.hits
    desk.want(SectionName.RECALLED, recalled(hits))
    desk.missing += desk.answer.quality.missing
    if count := withheld(hits):
        reason = "flagged as an attempt to instruct"
        desk.losses.append(Loss(section=SectionName.RECALLED, fate=Fate.WITHHELD, count=count, reason=reason))
    with sources.store.read() as tx:
        desk.want(SectionName.SCHEMAS, schemas(tx, asked.message, hits, asked.scope))
    told = note(hits, sources.policy)
    desk.want_lines(SectionName.REFLECTION, [told] if told else [])
    if sources.gaps is not None and sources.questions_left > 0:
        known = desk.needs.get(SectionName.REFLECTION, TITLE_TOKENS)
        desk.needs[SectionName.REFLECTION] = known + QUESTIONS_TOKENS


def _needs(desk: WindowDraft, room: int) -> dict[SectionName, int]:
    """Return what each section would take, within what the modest ones may grow to."""
    most = _most(desk, room)
    return {name: min(tokens, most.get(name, tokens)) for name, tokens in desk.needs.items()}


def _most(desk: WindowDraft, room: int) -> dict[SectionName, int]:
    """Return what the modest sections may grow to, whatever others leave."""
    sure = bases(room, desk.needs.get(SectionName.WORKING, 0), desk.sources.policy)
    return {name: max(2 * sure[name], 4 * LEAST_TOKENS) for name in MODEST}


def _least() -> Mapping[SectionName, int]:
    return {name: LEAST_HISTORY if name is SectionName.HISTORY else LEAST_TOKENS for name in DROP_ORDER}


def _fill_all(desk: WindowDraft, room: int) -> None:
    """Fill the sections by priority; what one leaves is added to the next that was cut short."""
    needs, most = _needs(desk, room), _most(desk, room)
    given = allocate(room, needs, least=_least(), policy=desk.sources.policy)
    left = room - sum(given.values())
    for name in PRIORITY:
        if given[name]:
            more = min(left, max(0, most[name] - given[name])) if name in MODEST else left
            left += given[name] - _fill(desk, name, given[name] + more)
    for name in PRIORITY:
        if not given[name] and needs.get(name, 0):
            left = left - _fill(desk, name, left) if left >= _least()[name] else 0  # none before its turn
            if name not in desk.sections:
                _say_dropped(desk, name)


def _fill(desk: WindowDraft, name: SectionName, allowance: int) -> int:
    """Fill one section, and return what it used."""
    sources = desk.sources
    if not allowance:
        return 0
    if name is SectionName.HISTORY:
        desk.history = write(
            desk.asked.history,
            allowance,
            measure=desk.measure,
            policy=sources.policy,
            summarise=sources.summarise,
        )
        desk.losses += desk.history.losses
        return _kept(desk, name, desk.history.section)
    if name in (SectionName.ROSTER, SectionName.REFLECTION):
        lines = [*desk.lines.get(name, ()), *(_asking(desk) if name is SectionName.REFLECTION else ())]
        return _kept(desk, name, fill_lines(name, lines, allowance, measure=desk.measure))
    shown = desk.shown
    wishes = [wish for wish in desk.wishes.get(name, ()) if wish.memory.id not in shown]
    wider = sources.wider if name is SectionName.RECALLED else None
    section, losses = fill(name, wishes, allowance, measure=desk.measure, wider=wider)
    desk.losses += losses
    return _kept(desk, name, section)


def _kept(desk: WindowDraft, name: SectionName, section: Section | None) -> int:
    if section is None:
        return 0
    desk.sections[name] = section
    return section.tokens


def _asking(desk: WindowDraft) -> list[str]:
    """Return the lines of the open questions that this window brings up."""
    sources = desk.sources
    if sources.gaps is None or not sources.questions_left:
        return []
    desk.gaps = questions(sources.gaps(), desk.shown, left=sources.questions_left, now=desk.asked.now)
    return [question_line(gap) for gap in desk.gaps]


def _say_dropped(desk: WindowDraft, name: SectionName) -> None:
    if any(loss.section is name and loss.fate is Fate.DROPPED for loss in desk.losses):
        return
    shown = desk.shown
    count = sum(wish.memory.id not in shown for wish in desk.wishes.get(name, ()))
    count += len(desk.lines.get(name, ()))
    count += len(desk.asked.history) if name is SectionName.HISTORY else 0
    if count:
        desk.losses.append(Loss(section=name, fate=Fate.DROPPED, count=count, reason=NO_ROOM))


def _framed(desk: WindowDraft) -> Window:
    """Return the window; where joining the lines made it too long after all, the least goes."""
    asked, measure = desk.asked, desk.measure
    while True:
        stable = [desk.sections[name] for name in STABLE if name in desk.sections]
        present = [desk.sections[name] for name in PRESENT if name in desk.sections]
        standing = framed("\n".join(one.text for one in stable), tag=BLOCK, notice=NOTICE)
        again = NOTICE_AGAIN if standing else NOTICE
        now = framed("\n".join(one.text for one in present), tag=BLOCK, notice=again)
        blocks = (standing, desk.history.block, now)
        tokens = sum(measure.of(block) + 2 for block in blocks if block)  # and the empty lines between them
        if tokens <= asked.budget or not _drop_least(desk):
            break
    told = "\n".join(one.text for one in present)
    return Window(
        message=asked.message,
        budget=asked.budget,
        tokens=tokens,
        fixed_tokens=asked.fixed_tokens,
        counter=measure.counter.name,
        is_exact=measure.counter.is_exact,
        sections=(*stable, *_history_sections(desk), *present),
        fixed=asked.fixed,
        standing=standing,
        conversation=desk.history.block,
        turns=desk.history.turns,
        present=now,
        losses=tuple(desk.losses),
        missing=tuple(desk.missing),
        quality=None if desk.answer is None else desk.answer.quality,
        asked=tuple(gap for gap in desk.gaps if question_line(gap) in told),
    )


def _history_sections(desk: WindowDraft) -> Sequence[Section]:
    return () if desk.history.section is None else (desk.history.section,)


def _drop_least(desk: WindowDraft) -> bool:
    """Take the first section of the drop order away, and say whether there was one."""
    for name in DROP_ORDER:
        if desk.sections.pop(name, None) is not None:
            if name is SectionName.HISTORY:
                desk.history = RenderedHistory(None)
            _say_dropped(desk, name)
            return True
    return False
