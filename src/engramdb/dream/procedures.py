"""The step `procedures`: the same steps on several occasions become one procedure."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import partial

from msgspec import Struct

from engramdb.dream.crystals import TASK, TOOL, TaskResult, task_result, tool_step
from engramdb.dream.ground import (
    EarlierDerivation,
    changed,
    earlier,
    grounded,
    scopes,
    statements,
    stored,
    withdrawn,
)
from engramdb.dream.proposals import Derive, Proposal, SideWrite
from engramdb.dream.step import Dreaming
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
"""On so many occasions the same steps must follow one another to be a procedure."""
MAX_STEPS = 8
"""A longer chain is a project and no procedure."""
PROCEDURE_CONFIDENCE = 0.7
"""How far a procedure is believed that was only watched; as far as a single run of a tool."""
OCCASION_MINUTES = 30.0
"""After so much silence a run of a tool belongs to another occasion; as long as a box stays open."""

# Find steps that follow one another again and again, and steps that a statement lists.
#
# Called by the step `procedures`; pure. A pattern is a stretch of the same things in the same order on
# several
# occasions; one that only ever occurs inside a longer pattern is left out.

LONGEST_STEP_CHARACTERS = 200

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


def occasions(
    moments: Sequence[tuple[datetime, Hashable]], *, silence: timedelta
) -> list[list[tuple[datetime, Hashable]]]:
    """Return what happened, in the order of time, cut where nothing happened for longer than the silence."""
    cut: list[list[tuple[datetime, Hashable]]] = []
    for moment, what in moments:
        if not cut or moment - cut[-1][-1][0] > silence:
            cut.append([])
        cut[-1].append((moment, what))
    return cut


def patterns(
    sequences: Sequence[Sequence[Hashable]], *, least: int, longest: int
) -> dict[tuple[Hashable, ...], list[int]]:
    """
    Return the stretches of two or more that stand in at least so many sequences, with the places of those.

    The longest come first. A stretch inside a longer one that stands in as many sequences is not told apart.
    """
    found: defaultdict[tuple[Hashable, ...], list[int]] = defaultdict(list)
    for place, sequence in enumerate(sequences):
        for stretch in dict.fromkeys(_stretches(sequence, longest)):
            found[stretch].append(place)
    often = {stretch: places for stretch, places in found.items() if len(places) >= least}
    covered: Counter[tuple[Hashable, ...]] = Counter()
    for stretch, places in often.items():
        for inner in (stretch[1:], stretch[:-1]):
            covered[inner] = max(covered[inner], len(places))
    whole = [stretch for stretch in often if covered[stretch] < len(often[stretch])]
    return {stretch: often[stretch] for stretch in sorted(whole, key=lambda one: (-len(one), often[one]))}


def steps_in(text: str) -> tuple[str | None, tuple[str, ...]]:
    """Return what a statement says to do in order, two steps or more, and what for; or no steps."""
    whole = " ".join(text.split())
    purpose = _PURPOSE.match(whole)
    rest = whole[purpose.end() :] if purpose else whole
    parts = _numbered(rest) or _apart(_ARROW, rest) or _then(rest)
    steps = tuple(part.strip(_EDGES) for part in parts)
    if len(steps) < 2 or any(not terms(step) or len(step) > LONGEST_STEP_CHARACTERS for step in steps):
        return None, ()
    return (purpose["what"].strip(_EDGES) if purpose else None), steps


def same_steps(steps: Sequence[str]) -> tuple[str, ...]:
    """Return the form in which two ways of writing the same steps are equal."""
    return tuple(" ".join(terms(step)) for step in steps)


def _stretches(sequence: Sequence[Hashable], longest: int) -> Iterator[tuple[Hashable, ...]]:
    for start in range(len(sequence)):
        for end in range(start + 2, min(start + longest, len(sequence)) + 1):
            yield tuple(sequence[start:end])


def _numbered(text: str) -> list[str]:
    """Return the points of a list that counts 1, 2, 3; any other numbers are no list."""
    marks = list(_NUMBERED.finditer(text))
    if len(marks) < 2 or [int(mark[1]) for mark in marks] != list(range(1, len(marks) + 1)):
        return []
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    return [text[mark.end() : end] for mark, end in zip(marks, ends, strict=True)]


def _apart(mark: re.Pattern[str], text: str) -> list[str]:
    parts = mark.split(text)
    return parts if len(parts) > 1 else []


def _then(text: str) -> list[str]:
    """Return the parts of "first a, then b, finally c"; commas before the first "then" part steps as well."""
    parts = _apart(_THEN, text)
    if not parts:
        return []
    first = _FIRST.search(parts[0])
    return [parts[0][first.end() :] if first else parts[0], *parts[1:]]


# Learn procedures: the same steps in the same order, on several occasions, become one procedural memory.
#
# A step of the dream. Steps come from runs of tools, cut into occasions by silence, and from statements that
# list what to do in order. A task that was finished on the same occasions says what a procedure is for. The
# words are those of the sources; how often it worked is counted on the memory, not written into it.

MAKER = "dream.procedures/1"
_NOT_STATED = frozenset({TASK, TOOL, "session-1"})


class Recurring(Struct, frozen=True, kw_only=True):
    """Steps that recurred, what for, and how often they worked."""

    steps: tuple[str, ...]
    purpose: str | None
    sources: tuple[Memory, ...]
    occasions: int
    successes: int = 0
    failures: int = 0

    @property
    def listed(self) -> str:
        """The steps, numbered, as they end the content of the procedure."""
        return "; ".join(f"{number}. {step}" for number, step in enumerate(self.steps, start=1))

    @property
    def content(self) -> str:
        """The whole procedure in words."""
        purpose = f"Procedure for “{self.purpose}”" if self.purpose else "Procedure"
        return f"{purpose}: {self.listed}"


class ProceduresStep:
    """What is done in the same way again becomes a procedure with steps, purpose and counts."""

    name = "procedures"

    def propose(self, dreaming: Dreaming) -> Iterator[Proposal]:
        """Yield new and changed procedures, their counts, and those that lost their ground."""
        for scope in scopes(dreaming, changed=True):
            known: defaultdict[str, list[EarlierDerivation]] = defaultdict(list)
            for one in earlier(dreaming, MAKER, scope):
                known[_listed(one.memory.content)].append(one)
            kept: set[str] = set()
            for found in (*_from_runs(dreaming, scope), *_from_statements(dreaming, scope)):
                same = known[found.listed]
                kept |= {one.memory.id for one in same}
                new = _procedure(found)
                yield from _stated(new, same)
                if found.successes or found.failures:
                    yield from _counted(dreaming, found, stored(dreaming, new))
            yield from withdrawn([one for some in known.values() for one in some], but=kept)


def _listed(content: str) -> str:
    """Return the numbered steps that end the content of a procedure."""
    return content[max(content.find(": 1. ") + 2, 0) :]


def _procedure(found: Recurring) -> Derive:
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


def _stated(new: Derive, known: Sequence[EarlierDerivation]) -> Iterator[Derive]:
    """Yield the procedure where it is new, has new evidence or a new purpose."""
    if any(one.is_refused for one in known):
        return
    last = next((one for one in reversed(known) if one.stands), known[-1] if known else None)
    proposed = changed(new, last)
    if proposed is not None:
        yield proposed


def _counted(dreaming: Dreaming, found: Recurring, memory: Memory | None) -> Iterator[SideWrite]:
    """Yield the counts of a procedure that is stored now, where they have changed."""
    counts = (found.successes, found.failures)
    if memory is not None and memory.is_derived and (memory.successes, memory.failures) != counts:
        yield SideWrite(
            what="count",
            about=(memory.id,),
            write=partial(_count, memory=memory, counts=counts, now=dreaming.now),
            reason="it was gone through again",
        )


def _count(tx: Transaction, *, memory: Memory, counts: tuple[int, int], now: datetime) -> bool:
    """Set how often a procedure worked and did not, and say whether that is news."""
    current = tx.memories.get(memory.id, scope=memory.scope)
    if current is None or current.status is not Status.ACTIVE:
        return False
    writer = MemoryWriter(tx, Actor(name=MAKER, kind=ActorKind.RULE), now)
    counted = writer.update(current, Action.COUNT, successes=counts[0], failures=counts[1])
    return counted is not current


def _from_runs(dreaming: Dreaming, scope: Scope) -> Iterator[Recurring]:
    """Yield the stretches of runs that recurred in a scope."""
    with dreaming.store.read() as tx:
        every = tx.gleanings.runs(scope=scope)
        tools = grounded(tx, sorted({run.key for run in every}))
    runs = [(run.at, run) for run in every if run.key in tools]
    silence = timedelta(minutes=OCCASION_MINUTES)
    met = [[run for _, run in one if isinstance(run, ToolRun)] for one in occasions(runs, silence=silence)]
    chains = [_without_repeats([run.key for run in occasion]) for occasion in met]
    tasks = _tasks_of(dreaming, scope, met, silence)
    found = patterns(chains, least=MIN_OCCASIONS, longest=MAX_STEPS)
    for stretch, places in found.items():
        keys = [key for key in stretch if isinstance(key, int)]
        purpose, evidence = _purpose([tasks[place] for place in places], least=MIN_OCCASIONS)
        worked = sum(_all_worked(met[place], keys) for place in places)
        yield Recurring(
            steps=tuple(tool_step(tools[key]) for key in keys),
            purpose=purpose,
            sources=(*(tools[key] for key in dict.fromkeys(keys)), *evidence),
            occasions=len(places),
            successes=worked,
            failures=len(places) - worked,
        )


def _without_repeats(keys: Sequence[int]) -> list[int]:
    """Return the keys in order; a tool that is run again at once is the same step."""
    return [key for place, key in enumerate(keys) if place == 0 or keys[place - 1] != key]


def _all_worked(runs: Sequence[ToolRun], keys: Sequence[int]) -> bool:
    """Say whether the last run of every step on this occasion was a success."""
    last = {run.key: run.is_success for run in runs}
    return all(last[key] for key in keys)


def _tasks_of(
    dreaming: Dreaming, scope: Scope, met: Sequence[Sequence[ToolRun]], silence: timedelta
) -> list[list[TaskResult]]:
    """Return the results of tasks that fall to each occasion."""
    told = statements(dreaming, scope, DreamFilter(extractors=frozenset({TASK})))
    results = [one for one in (task_result(memory) for _, memory in told) if one is not None]
    return [
        [one for one in results if runs[0].at <= one.memory.when <= runs[-1].at + silence] for runs in met
    ]


def _purpose(tasks: Sequence[Sequence[TaskResult]], *, least: int) -> tuple[str | None, tuple[Memory, ...]]:
    """Return the task that was finished on most of the occasions, if on enough, and where that is told."""
    counted = Counter(name for some in tasks for name in {one.name for one in some})
    often = [name for name, times in counted.items() if times >= least]
    if not often:
        return None, ()
    best = min(often, key=lambda name: (-counted[name], name))
    told = [one for some in tasks for one in some if one.name == best]
    return told[0].task, tuple({one.memory.id: one.memory for one in told}.values())


def _from_statements(dreaming: Dreaming, scope: Scope) -> Iterator[Recurring]:
    """Yield the steps that statements of several sessions list in the same order."""
    found: defaultdict[tuple[str, ...], list[Memory]] = defaultdict(list)
    for _, memory in statements(dreaming, scope):
        is_rule = memory.extractor not in _NOT_STATED and memory.kind is Kind.NOTE
        steps = steps_in(memory.content)[1] if is_rule else ()
        if 1 < len(steps) <= MAX_STEPS:
            found[same_steps(steps)].append(memory)
    for memories in found.values():
        times = len({_occasion(memory) for memory in memories}) + sum(one.reinforcements for one in memories)
        if times >= MIN_OCCASIONS:
            told = [steps_in(memory.content) for memory in memories]
            purpose = next((what for what, _ in told if what is not None), None)
            yield Recurring(steps=told[0][1], purpose=purpose, sources=tuple(memories), occasions=times)


def _occasion(memory: Memory) -> str:
    """Return what tells one occasion from another: the session, or else the day."""
    return memory.provenance.session or memory.when.date().isoformat()
