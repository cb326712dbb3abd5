"""The step `procedures`: the same steps on several occasions become one procedure."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import partial

from msgspec import Struct

from engramdb.capture.actions import TASK, TOOL
from engramdb.dream.crystals import TaskResult, describe_tool_step, parse_task_result
from engramdb.dream.ground import (
    EarlierDerivation,
    earlier_derivations,
    find_stored,
    propose_if_changed,
    propose_withdrawals,
    scopes_to_visit,
    usable_by_key,
    usable_statements,
)
from engramdb.dream.step import Derive, Dreaming, Proposal, SideWrite
from engramdb.lifecycle.transitions import MemoryWriter
from engramdb.store.contract import Transaction
from engramdb.store.contract.capture import DreamFilter, ToolRun
from engramdb.text.normalize import lazy
from engramdb.text.terms import terms
from engramdb.values import (
    Action,
    Actor,
    ActorKind,
    Kind,
    Layer,
    Memory,
    MemoryType,
    Scope,
    Status,
)

MIN_OCCASIONS = 2
"""Occasions on which the same steps must follow one another to be a procedure."""
MAX_STEPS = 8
"""A longer chain is a project and no procedure."""
PROCEDURE_CONFIDENCE = 0.7
"""How far a procedure is believed that was only watched; as far as a single run of a tool."""
OCCASION_MINUTES = 30.0
"""After so much silence a run of a tool belongs to another occasion; as long as a box stays open."""

# Find steps that follow one another again and again, and steps that a statement lists.
#
# A pattern is a stretch of the same things in the same order on several occasions; one that only ever
# occurs inside a longer pattern is left out.

MAX_STEP_CHARACTERS = 200

_NUMBERED = lazy(r"(?:^|[\s:;,.])\(?(\d{1,2})[.)]\s+")
_ARROW = lazy(r"\s*(?:->|=>|→|⇒)\s*")
_THEN = lazy(r"[,;.]?\s+(?:and\s+)?(?:then|after that|afterwards|finally|lastly|next)[,:]?\s+", re.IGNORECASE)
_FIRST = lazy(r"\b(?:first(?:ly)?|start by)[,:]?\s+", re.IGNORECASE)
_PURPOSE = lazy(
    r"(?:(?:how )?to|when|whenever|before|after|in order to|for)\s+(?P<what>[^,:;]{3,120})[,:]\s*"
    r"(?:we |i |you )?",
    re.IGNORECASE,
)
_EDGES = " \t\n.,;:!-–—"


def split_into_occasions(
    moments: Sequence[tuple[datetime, Hashable]], *, silence: timedelta
) -> list[list[tuple[datetime, Hashable]]]:
    """Return what happened, in the order of time, cut where nothing happened for longer than the silence."""
    cut: list[list[tuple[datetime, Hashable]]] = []
    for moment, what in moments:
        if not cut or moment - cut[-1][-1][0] > silence:
            cut.append([])
        cut[-1].append((moment, what))
    return cut


def recurring_sequences(
    sequences: Sequence[Sequence[Hashable]], *, min_occasions: int, max_steps: int
) -> dict[tuple[Hashable, ...], list[int]]:
    """
    Return the runs of two or more that occur in at least `min_occasions` sequences, with their positions.

    The longest come first. A stretch inside a longer one that stands in as many sequences is not told apart.
    """
    found: defaultdict[tuple[Hashable, ...], list[int]] = defaultdict(list)
    for place, sequence in enumerate(sequences):
        for stretch in dict.fromkeys(_subsequences(sequence, max_steps)):
            found[stretch].append(place)
    often = {stretch: places for stretch, places in found.items() if len(places) >= min_occasions}
    covered: Counter[tuple[Hashable, ...]] = Counter()
    for stretch, places in often.items():
        for inner in (stretch[1:], stretch[:-1]):
            covered[inner] = max(covered[inner], len(places))
    whole = [stretch for stretch in often if covered[stretch] < len(often[stretch])]
    return {stretch: often[stretch] for stretch in sorted(whole, key=lambda one: (-len(one), often[one]))}


def parse_steps(text: str) -> tuple[str | None, tuple[str, ...]]:
    """Return what a statement says to do in order, two steps or more, and what for; or no steps."""
    whole = " ".join(text.split())
    purpose = _PURPOSE.match(whole)
    rest = whole[purpose.end() :] if purpose else whole
    parts = _numbered_points(rest) or _split_at(_ARROW, rest) or _then_parts(rest)
    steps = tuple(part.strip(_EDGES) for part in parts)
    if len(steps) < 2 or any(not terms(step) or len(step) > MAX_STEP_CHARACTERS for step in steps):
        return None, ()
    return (purpose["what"].strip(_EDGES) if purpose else None), steps


def normalize_steps(steps: Sequence[str]) -> tuple[str, ...]:
    """Return the form in which two ways of writing the same steps are equal."""
    return tuple(" ".join(terms(step)) for step in steps)


def _subsequences(sequence: Sequence[Hashable], longest: int) -> Iterator[tuple[Hashable, ...]]:
    for start in range(len(sequence)):
        for end in range(start + 2, min(start + longest, len(sequence)) + 1):
            yield tuple(sequence[start:end])


def _numbered_points(text: str) -> list[str]:
    """Return the points of a list that counts 1, 2, 3; any other numbers are no list."""
    marks = list(_NUMBERED.finditer(text))
    if len(marks) < 2 or [int(mark[1]) for mark in marks] != list(range(1, len(marks) + 1)):
        return []
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    return [text[mark.end() : end] for mark, end in zip(marks, ends, strict=True)]


def _split_at(mark: re.Pattern[str], text: str) -> list[str]:
    parts = mark.split(text)
    return parts if len(parts) > 1 else []


def _then_parts(text: str) -> list[str]:
    """Return the parts of "first a, then b, finally c"; commas before the first "then" part steps as well."""
    parts = _split_at(_THEN, text)
    if not parts:
        return []
    first = _FIRST.search(parts[0])
    return [parts[0][first.end() :] if first else parts[0], *parts[1:]]


# Learn procedures: the same steps in the same order, on several occasions, become one procedural memory.
#
# Steps come from runs of tools, cut into occasions by silence, and from statements that list what to do in
# order. A task that was finished on the same occasions says what a procedure is for. The words are those of
# the sources; how often it worked is counted on the memory, not written into it.

MAKER = "dream.procedures/1"
_NOT_STATED = frozenset({TASK, TOOL, "session-1"})


class RecurringSteps(Struct, frozen=True, kw_only=True):
    """Steps that recurred, what for, and how often they worked."""

    steps: tuple[str, ...]
    purpose: str | None
    sources: tuple[Memory, ...]
    occasions: int
    successes: int = 0
    failures: int = 0

    @property
    def numbered(self) -> str:
        """The steps, numbered, as they end the content of the procedure."""
        return "; ".join(f"{number}. {step}" for number, step in enumerate(self.steps, start=1))

    @property
    def content(self) -> str:
        """The whole procedure in words."""
        purpose = f"Procedure for “{self.purpose}”" if self.purpose else "Procedure"
        return f"{purpose}: {self.numbered}"


class ProceduresStep:
    """What is done in the same way again becomes a procedure with steps, purpose and counts."""

    name = "procedures"

    def propose(self, dreaming: Dreaming) -> Iterator[Proposal]:
        """Yield new and changed procedures, their counts, and those that lost their ground."""
        for scope in scopes_to_visit(dreaming, changed=True):
            known: defaultdict[str, list[EarlierDerivation]] = defaultdict(list)
            for one in earlier_derivations(dreaming, MAKER, scope):
                known[_numbered_steps(one.memory.content)].append(one)
            kept: set[str] = set()
            for found in (*_recurring_in_runs(dreaming, scope), *_recurring_in_statements(dreaming, scope)):
                same = known[found.numbered]
                kept |= {one.memory.id for one in same}
                new = _propose_procedure(found)
                yield from _propose_if_changed(new, same)
                if found.successes or found.failures:
                    yield from _propose_counts(dreaming, found, find_stored(dreaming, new))
            yield from propose_withdrawals([one for some in known.values() for one in some], except_ids=kept)


def _numbered_steps(content: str) -> str:
    """Return the numbered steps that end the content of a procedure."""
    return content[max(content.find(": 1. ") + 2, 0) :]


def _propose_procedure(found: RecurringSteps) -> Derive:
    return Derive(
        content=found.content,
        sources=found.sources,
        layer=Layer.PROCEDURAL,
        type=MemoryType.PROCEDURE,
        category="procedure",
        confidence=PROCEDURE_CONFIDENCE,
        maker=MAKER,
        reason=f"the same {len(found.steps)} steps on {found.occasions} occasions",
    )


def _propose_if_changed(new: Derive, known: Sequence[EarlierDerivation]) -> Iterator[Derive]:
    """Yield the procedure where it is new, has new evidence or a new purpose."""
    if any(one.is_refused for one in known):
        return
    last = next((one for one in reversed(known) if one.is_active), known[-1] if known else None)
    proposed = propose_if_changed(new, last)
    if proposed is not None:
        yield proposed


def _propose_counts(dreaming: Dreaming, found: RecurringSteps, memory: Memory | None) -> Iterator[SideWrite]:
    """Yield the counts of a procedure that is stored now, where they have changed."""
    counts = (found.successes, found.failures)
    if memory is not None and memory.is_derived and (memory.successes, memory.failures) != counts:
        yield SideWrite(
            what="count",
            about=(memory.id,),
            write=partial(_store_counts, memory=memory, counts=counts, now=dreaming.now),
            reason="it was gone through again",
        )


def _store_counts(tx: Transaction, *, memory: Memory, counts: tuple[int, int], now: datetime) -> bool:
    """Set how often a procedure worked and did not, and return whether that is news."""
    current = tx.memories.get(memory.id, scope=memory.scope)
    if current is None or current.status is not Status.ACTIVE:
        return False
    writer = MemoryWriter(tx, Actor(name=MAKER, kind=ActorKind.RULE), now)
    counted = writer.update(current, Action.COUNT, successes=counts[0], failures=counts[1])
    return counted is not current


def _recurring_in_runs(dreaming: Dreaming, scope: Scope) -> Iterator[RecurringSteps]:
    """Yield the stretches of runs that recurred in a scope."""
    with dreaming.store.read() as tx:
        every = tx.dream_reads.tool_runs(scope=scope)
        tools = usable_by_key(tx, sorted({run.key for run in every}))
    runs = [(run.at, run) for run in every if run.key in tools]
    silence = timedelta(minutes=OCCASION_MINUTES)
    met = [
        [run for _, run in one if isinstance(run, ToolRun)]
        for one in split_into_occasions(runs, silence=silence)
    ]
    chains = [_without_repeats([run.key for run in occasion]) for occasion in met]
    tasks = _tasks_by_occasion(dreaming, scope, met, silence)
    found = recurring_sequences(chains, min_occasions=MIN_OCCASIONS, max_steps=MAX_STEPS)
    for stretch, places in found.items():
        keys = [key for key in stretch if isinstance(key, int)]
        purpose, evidence = _common_purpose([tasks[place] for place in places], min_occasions=MIN_OCCASIONS)
        worked = sum(_all_succeeded(met[place], keys) for place in places)
        yield RecurringSteps(
            steps=tuple(describe_tool_step(tools[key]) for key in keys),
            purpose=purpose,
            sources=(*(tools[key] for key in dict.fromkeys(keys)), *evidence),
            occasions=len(places),
            successes=worked,
            failures=len(places) - worked,
        )


def _without_repeats(keys: Sequence[int]) -> list[int]:
    """Return the keys in order; a tool that is run again at once is the same step."""
    return [key for place, key in enumerate(keys) if place == 0 or keys[place - 1] != key]


def _all_succeeded(runs: Sequence[ToolRun], keys: Sequence[int]) -> bool:
    """Return whether the last run of every step on this occasion was a success."""
    last = {run.key: run.is_success for run in runs}
    return all(last[key] for key in keys)


def _tasks_by_occasion(
    dreaming: Dreaming, scope: Scope, met: Sequence[Sequence[ToolRun]], silence: timedelta
) -> list[list[TaskResult]]:
    """Return the results of tasks that fall to each occasion."""
    told = usable_statements(dreaming, scope, DreamFilter(extractors=frozenset({TASK})))
    results = [one for one in (parse_task_result(memory) for _, memory in told) if one is not None]
    return [
        [one for one in results if runs[0].at <= one.memory.when <= runs[-1].at + silence] for runs in met
    ]


def _common_purpose(
    tasks: Sequence[Sequence[TaskResult]], *, min_occasions: int
) -> tuple[str | None, tuple[Memory, ...]]:
    """Return the task that was finished on most of the occasions, if on enough, and where that is told."""
    counted = Counter(name for some in tasks for name in {one.report.name for one in some})
    often = [name for name, times in counted.items() if times >= min_occasions]
    if not often:
        return None, ()
    best = min(often, key=lambda name: (-counted[name], name))
    told = [one for some in tasks for one in some if one.report.name == best]
    return told[0].report.task, tuple({one.memory.id: one.memory for one in told}.values())


def _recurring_in_statements(dreaming: Dreaming, scope: Scope) -> Iterator[RecurringSteps]:
    """Yield the steps that statements of several sessions list in the same order."""
    found: defaultdict[tuple[str, ...], list[Memory]] = defaultdict(list)
    for _, memory in usable_statements(dreaming, scope):
        is_rule = memory.extractor not in _NOT_STATED and memory.kind is Kind.NOTE
        steps = parse_steps(memory.content)[1] if is_rule else ()
        if 1 < len(steps) <= MAX_STEPS:
            found[normalize_steps(steps)].append(memory)
    for memories in found.values():
        times = len({_occasion_key(memory) for memory in memories}) + sum(
            one.reinforcements for one in memories
        )
        if times >= MIN_OCCASIONS:
            told = [parse_steps(memory.content) for memory in memories]
            purpose = next((what for what, _ in told if what is not None), None)
            yield RecurringSteps(steps=told[0][1], purpose=purpose, sources=tuple(memories), occasions=times)


def _occasion_key(memory: Memory) -> str:
    """Return what tells one occasion from another: the session, or else the day."""
    return memory.provenance.session or memory.when.date().isoformat()
