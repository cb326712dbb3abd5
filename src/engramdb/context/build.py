"""Build a window: measure what is fixed, divide the budget, fill, frame."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence, Set
from datetime import datetime

from msgspec import Struct, field

from engramdb.context.budget import (
    DROP_ORDER,
    NO_ROOM_REASON,
    PRIORITY,
    TINY_TOKENS,
    Measure,
    SectionCandidate,
    allocate_tokens,
    fill_section,
    fill_with_lines,
    full_tokens,
    guaranteed_tokens,
)
from engramdb.context.fitting import fitting_window, has_topic
from engramdb.context.history import MIN_TOKENS as LEAST_HISTORY
from engramdb.context.history import (
    HistoryMessage,
    RenderedHistory,
    Summarize,
    estimate_tokens,
    render_history,
)
from engramdb.context.lines import BLOCK, NOTICE, NOTICE_AGAIN, frame_block
from engramdb.context.overview import (
    Summaries,
    fill_overview,
    is_overview,
    nearest_lines,
    overview_memories,
)
from engramdb.context.sections import (
    MIN_HITS,
    StandingMemories,
    agent_lines,
    choose_questions,
    count_withheld,
    hint_candidates,
    identity_candidates,
    knowledge_note,
    memories_to_recall,
    premise_notes,
    question_line,
    recalled_candidates,
    schema_candidates,
    skill_candidates,
    today_candidates,
    working_memory_lines,
)
from engramdb.errors import InvalidQuery
from engramdb.policy import ContextPolicy
from engramdb.store.contract import Store
from engramdb.values import (
    DetailLevel,
    Fate,
    Gap,
    Loss,
    Memory,
    MemoryId,
    Missing,
    Recall,
    Scope,
    Section,
    SectionName,
    Window,
    WorkingLine,
)
from engramdb.values.recall import unreadable_notes

# A window while it is built: the request, its sources, and what has been collected so far.
#
# Filled by `build` step by step; holds no decisions. What a section would cost is noted once, from the
# counts that are stored with the memories.

TITLE_TOKENS = 15
"""What the title of a section takes, and a little more."""
SPARE = 1.2
"""Stored counts may be too small: this share more is requested, and what is not used goes to others."""


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
    """Recalls this many memories for the message."""
    measure: Measure
    policy: ContextPolicy
    summarize: Summarize | None = None
    wider: Summaries | None = None
    """Returns what the dream wrote about many memories at once."""
    gaps: Callable[[Set[MemoryId]], Sequence[Gap]] | None = None
    """Returns the open questions about these memories."""
    questions_left: int = 0


class WindowDraft(Struct):
    """A window while it is being built."""

    request: WindowRequest
    sources: WindowSources
    needs: dict[SectionName, int] = field(default_factory=dict)
    candidates: dict[SectionName, Sequence[SectionCandidate]] = field(default_factory=dict)
    lines: dict[SectionName, list[str]] = field(default_factory=dict)
    sections: dict[SectionName, Section] = field(default_factory=dict)
    history: RenderedHistory = field(default_factory=lambda: RenderedHistory(None))
    answer: Recall | None = None
    overview: Sequence[Memory] | None = None
    """What an overview is chosen from, where the message asks for one."""
    losses: list[Loss] = field(default_factory=list)
    missing: list[Missing] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)

    @property
    def measure(self) -> Measure:
        return self.sources.measure

    def request_memories(self, name: SectionName, candidates: Sequence[SectionCandidate]) -> None:
        """Note which memories a section would like to show, and what they would cost."""
        candidates = [one for one in candidates if not one.memory.is_over(self.request.now)]
        self.candidates[name] = candidates
        if candidates:
            self.needs[name] = math.ceil(full_tokens(candidates, self.measure) * SPARE) + TITLE_TOKENS

    def request_lines(self, name: SectionName, lines: list[str]) -> None:
        """Note which lines a section would like to show, and what they would cost."""
        self.lines[name] = lines
        if lines:
            self.needs[name] = sum(self.measure.of(f"{line}\n") for line in lines) + TITLE_TOKENS

    @property
    def is_tiny(self) -> bool:
        """Whether there is so little room that one block must do for everything."""
        return self.request.budget <= TINY_TOKENS

    @property
    def shown(self) -> set[MemoryId]:
        """The memories that are in the window already, by more than a tag."""
        held = (one for section in self.sections.values() for one in section.holds)
        return {one.memory_id for one in held if one.level is not DetailLevel.TAG}


# Build a window: measure what is fixed, ask each section what it would like, divide the budget, fill,
# frame.
#
# Called by the service; asks each section for its lines, and recall only through what it is handed.
# The budget is divided before anything is written, each line is written once, and what had no room is said.
# Sections are filled in the order of their weight; what one does not use is the next one's.

MIN_TOKENS = 30
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
CAPPED_SHARES = (
    *(SectionName.IDENTITY, SectionName.SCHEMAS, SectionName.SKILLS, SectionName.TODAY),
    *(SectionName.ROSTER, SectionName.HINTS, SectionName.REFLECTION),
)
"""These grow to twice their share at most: many preferences must not leave a message without memories."""
CAPPED_PART = 3
"""and never beyond a third of a small window."""
MIN_LINE_TOKENS = 10
"""A line costs no less, so a section need not look at more memories than that allows."""
QUESTIONS_TOKENS = 150
"""What one or two open questions take."""


def build_window(request: WindowRequest, sources: WindowSources) -> Window:
    """Return the window for a message; raises where working memory alone does not fit."""
    draft = WindowDraft(request, sources)
    _collect_candidates(draft)
    room = _available_tokens(draft)
    _collect_recalled(draft, room)
    _fill_all(draft, room)
    return _frame_window(draft)


def _available_tokens(draft: WindowDraft) -> int:
    """Return what there is for sections, once the blocks around them are paid for."""
    measure, request = draft.measure, draft.request
    is_split = not draft.is_tiny and any(name in draft.needs for name in STABLE)
    notices = [NOTICE, NOTICE_AGAIN] if is_split else [NOTICE]
    around = 2 + sum(measure.of(frame_block(" ", tag=BLOCK, notice=words)) + 2 for words in notices)
    lines = working_memory_lines(request.working)
    whole = fill_with_lines(SectionName.WORKING, lines, request.budget, measure=measure)
    is_whole = whole is not None and whole.text.count("\n") == len(lines)
    if lines and (whole is None or not is_whole or whole.tokens + around > request.budget):
        needed = around + sum(measure.of(f"{line}\n") for line in lines)
        raise InvalidQuery(
            f"working memory takes {needed} tokens, and {request.budget} are there for it",
            hint="Use a model with a larger window, reserve less, or hold less in working memory.",
        )
    if whole is not None:
        draft.sections[SectionName.WORKING] = whole
        draft.needs[SectionName.WORKING] = whole.tokens
    return max(0, request.budget - around)


def _collect_candidates(draft: WindowDraft) -> None:
    """Ask the sections that do not depend on recall what they would like."""
    request, sources = draft.request, draft.sources
    has_overview = is_overview(request.message)
    with sources.store.read() as tx:
        unreadable = tx.memories.skip_unreadable()
        standing = sources.standing.of(tx, request.scope)
        if has_overview:
            draft.overview = overview_memories(tx, request.scope, request.now)
        elif not has_topic(request.message):
            stored = today_candidates(tx, request.scope, now=request.now, session=request.session)
            draft.request_memories(SectionName.TODAY, stored)
    draft.missing += unreadable_notes(
        dict.fromkeys(
            [*standing.unreadable, *(one for one in unreadable if request.scope.sees(unreadable[one]))]
        )
    )
    limit = request.budget // MIN_LINE_TOKENS
    identity = identity_candidates(standing, sources.policy)
    if has_overview:  # it holds the weightiest of the others itself
        identity = [one for one in identity if one.memory.pinned]
    elif draft.is_tiny:
        identity = [one for one in identity if one.memory.pinned or one.memory.is_rule]
    draft.request_memories(SectionName.IDENTITY, identity[:limit])
    if not has_overview:
        draft.request_memories(SectionName.SKILLS, skill_candidates(standing)[:limit])
    draft.request_memories(SectionName.HINTS, hint_candidates(standing)[:limit])
    draft.request_lines(SectionName.ROSTER, agent_lines(request.agents))
    draft.needs[SectionName.HISTORY] = estimate_tokens(request.history, measure=draft.measure)


def _collect_recalled(draft: WindowDraft, room: int) -> None:
    """Recall as much as could fit, and ask the sections that follow from it."""
    request, sources = draft.request, draft.sources
    if draft.overview is not None:
        _collect_overview(draft, draft.overview)
        return
    needs = _capped_needs(draft, room) | {SectionName.RECALLED: room}
    available = allocate_tokens(room, needs, minimums=_section_minimums(), policy=sources.policy)[
        SectionName.RECALLED
    ]
    draft.answer = sources.recall(memories_to_recall(available))
    hits = fitting_window(request.message, draft.answer)
    draft.request_memories(SectionName.RECALLED, recalled_candidates(hits))
    if draft.is_tiny and _wider_lines(draft) is not None:
        draft.needs[SectionName.RECALLED] = room
    draft.missing += draft.answer.quality.missing
    if count := count_withheld(hits):
        reason = "flagged as an attempt to instruct"
        draft.losses.append(
            Loss(section=SectionName.RECALLED, fate=Fate.WITHHELD, count=count, reason=reason)
        )
    with sources.store.read() as tx:
        tx.memories.skip_unreadable()  # recall has told
        draft.request_memories(
            SectionName.SCHEMAS, schema_candidates(tx, request.message, hits, request.scope)
        )
    told = knowledge_note(draft.answer, hits, sources.policy) if has_topic(request.message) else None
    notes = premise_notes(draft.answer.premises)
    draft.request_lines(SectionName.REFLECTION, [*notes, *([told] if told else [])])
    if sources.gaps is not None and sources.questions_left > 0:
        known = draft.needs.get(SectionName.REFLECTION, TITLE_TOKENS)
        draft.needs[SectionName.REFLECTION] = known + QUESTIONS_TOKENS


def _collect_overview(draft: WindowDraft, memories: Sequence[Memory]) -> None:
    """Ask for room for all that is known; what fits the words of the message does not matter."""
    draft.answer = draft.sources.recall(MIN_HITS)
    draft.missing += draft.answer.quality.missing
    whole = full_tokens([SectionCandidate(one, 1.0) for one in memories], draft.measure)
    draft.needs[SectionName.RECALLED] = math.ceil(whole * SPARE) + 2 * TITLE_TOKENS


def _capped_needs(draft: WindowDraft, room: int) -> dict[SectionName, int]:
    """Return what each section would take, within what the modest ones may grow to."""
    most = _section_caps(draft, room)
    return {name: min(tokens, most.get(name, tokens)) for name, tokens in draft.needs.items()}


def _section_caps(draft: WindowDraft, room: int) -> dict[SectionName, int]:
    """Return what the modest sections may grow to, whatever others leave."""
    sure = guaranteed_tokens(room, draft.needs.get(SectionName.WORKING, 0), draft.sources.policy)
    return {name: min(max(2 * sure[name], 4 * MIN_TOKENS), room // CAPPED_PART) for name in CAPPED_SHARES}


def _section_minimums() -> Mapping[SectionName, int]:
    return {name: LEAST_HISTORY if name is SectionName.HISTORY else MIN_TOKENS for name in DROP_ORDER}


def _fill_all(draft: WindowDraft, room: int) -> None:
    """Fill the sections by priority; what one leaves is added to the next that was cut short."""
    needs, most = _capped_needs(draft, room), _section_caps(draft, room)
    given = allocate_tokens(room, needs, minimums=_section_minimums(), policy=draft.sources.policy)
    left = room - sum(given.values())
    for name in PRIORITY:
        if given[name]:
            more = min(left, max(0, most[name] - given[name])) if name in CAPPED_SHARES else left
            left += given[name] - _fill_one(draft, name, given[name] + more)
    for name in PRIORITY:
        if not given[name] and needs.get(name, 0):
            left = (
                left - _fill_one(draft, name, left) if left >= _section_minimums()[name] else 0
            )  # none before its turn
            if name not in draft.sections:
                _note_dropped(draft, name)


def _fill_one(draft: WindowDraft, name: SectionName, allowance: int) -> int:
    """Fill one section, and return what it used."""
    sources = draft.sources
    if not allowance:
        return 0
    if name is SectionName.HISTORY:
        draft.history = render_history(
            draft.request.history,
            allowance,
            measure=draft.measure,
            policy=sources.policy,
            summarize=sources.summarize,
        )
        draft.losses += draft.history.losses
        return _add_section(draft, name, draft.history.section)
    if name in (SectionName.ROSTER, SectionName.REFLECTION):
        lines = [
            *draft.lines.get(name, ()),
            *(_question_lines(draft) if name is SectionName.REFLECTION else ()),
        ]
        return _add_section(draft, name, fill_with_lines(name, lines, allowance, measure=draft.measure))
    if name is SectionName.RECALLED and draft.overview is not None:
        return _add_overview(draft, draft.overview, allowance)
    shown = draft.shown
    candidates = [one for one in draft.candidates.get(name, ()) if one.memory.id not in shown]
    wider = _wider_lines(draft) if name is SectionName.RECALLED else None
    section, losses = fill_section(name, candidates, allowance, measure=draft.measure, wider=wider)
    draft.losses += losses
    return _add_section(draft, name, section)


def _wider_lines(draft: WindowDraft) -> Callable[[int], Sequence[str]] | None:
    """Return the way to lines that sum up what lies near a message; None for one about something else."""
    summaries = draft.sources.wider
    is_known = draft.answer is not None and draft.answer.quality.is_known
    if summaries is None or (has_topic(draft.request.message) and not is_known):
        return None
    return lambda token_budget: nearest_lines(summaries, token_budget, measure=draft.measure)


def _add_overview(draft: WindowDraft, memories: Sequence[Memory], allowance: int) -> int:
    """Add the overview of what other sections do not show already."""
    shown = draft.shown
    unseen = [one for one in memories if one.id not in shown]
    section, losses = fill_overview(
        unseen, allowance, measure=draft.measure, now=draft.request.now, summaries=draft.sources.wider
    )
    draft.losses += losses
    return _add_section(draft, SectionName.RECALLED, section)


def _add_section(draft: WindowDraft, name: SectionName, section: Section | None) -> int:
    if section is None:
        return 0
    draft.sections[name] = section
    return section.tokens


def _question_lines(draft: WindowDraft) -> list[str]:
    """Return the lines of the open questions that this window brings up."""
    sources = draft.sources
    if sources.gaps is None or not sources.questions_left:
        return []
    draft.gaps = choose_questions(
        sources.gaps(draft.shown), draft.shown, left=sources.questions_left, now=draft.request.now
    )
    return [question_line(gap) for gap in draft.gaps]


def _note_dropped(draft: WindowDraft, name: SectionName) -> None:
    if any(loss.section is name and loss.fate is Fate.DROPPED for loss in draft.losses):
        return
    shown = draft.shown
    count = sum(one.memory.id not in shown for one in draft.candidates.get(name, ()))
    count += len(draft.lines.get(name, ()))
    count += len(draft.request.history) if name is SectionName.HISTORY else 0
    if count:
        draft.losses.append(Loss(section=name, fate=Fate.DROPPED, count=count, reason=NO_ROOM_REASON))


def _frame_window(draft: WindowDraft) -> Window:
    """Return the window; where joining the lines made it too long after all, the least goes."""
    request, measure = draft.request, draft.measure
    while True:
        stable = [draft.sections[name] for name in STABLE if name in draft.sections]
        present = [draft.sections[name] for name in PRESENT if name in draft.sections]
        if draft.is_tiny:
            stable, present = [], [*stable, *present]
        standing = frame_block("\n".join(one.text for one in stable), tag=BLOCK, notice=NOTICE)
        again = NOTICE_AGAIN if standing else NOTICE
        now = frame_block("\n".join(one.text for one in present), tag=BLOCK, notice=again)
        blocks = (standing, draft.history.block, now)
        tokens = sum(measure.of(block) + 2 for block in blocks if block)  # and the empty lines between them
        if tokens <= request.budget or not _drop_lowest_priority(draft):
            break
    told = "\n".join(one.text for one in present)
    return Window(
        message=request.message,
        budget=request.budget,
        tokens=tokens,
        fixed_tokens=request.fixed_tokens,
        counter=measure.counter.name,
        is_exact=measure.counter.is_exact,
        sections=(*stable, *_history_sections(draft), *present),
        fixed=request.fixed,
        standing=standing,
        conversation=draft.history.block,
        turns=draft.history.turns,
        present=now,
        losses=tuple(draft.losses),
        missing=tuple(dict.fromkeys(draft.missing)),
        quality=None if draft.answer is None else draft.answer.quality,
        asked=tuple(gap for gap in draft.gaps if question_line(gap) in told),
    )


def _history_sections(draft: WindowDraft) -> Sequence[Section]:
    return () if draft.history.section is None else (draft.history.section,)


def _drop_lowest_priority(draft: WindowDraft) -> bool:
    """Take the first section of the drop order away, and return whether there was one."""
    for name in DROP_ORDER:
        if draft.sections.pop(name, None) is not None:
            if name is SectionName.HISTORY:
                draft.history = RenderedHistory(None)
            _note_dropped(draft, name)
            return True
    return False
