"""The step `crystals`: a finished piece of work as one story with its lessons."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta

from msgspec import Struct

from engramdb.capture.actions import (
    AGAIN,
    CANCELLED,
    FAILED,
    PARTLY,
    SUCCEEDED,
    TASK,
    TaskReport,
    parse_task_report,
)
from engramdb.dream.ground import (
    EarlierDerivation,
    earlier_derivations,
    propose_withdrawals,
    scopes_to_visit,
    usable_statements,
)
from engramdb.dream.step import Derive, Dreaming, Proposal
from engramdb.dream.synthesis import find_invention
from engramdb.errors import ChatError
from engramdb.models.chat import CallLog, Usage, ask
from engramdb.models.prompts import crystallise
from engramdb.store.contract.capture import DreamFilter
from engramdb.text.dates import dated, long_date, standalone
from engramdb.text.normalize import normalize_text
from engramdb.text.sentences import sentences
from engramdb.values import Kind, Layer, Memory, MemoryId, MemoryType, Scope

CRYSTAL_DAYS = 7.0
"""A chain of actions is told as a story when nothing was added to it for so long (seed 004)."""
MIN_ACTIONS = 2
"""So many finished actions make a story."""
CRYSTAL_CONFIDENCE = 0.6
"""How far a story and its lessons are believed."""
CRYSTAL_STABILITY = 3.0
"""How many times as slowly a story fades as a single statement."""
LESSON_STABILITY = 2.0
"""The same of a lesson: it fades sooner than the story, and twice as slowly as what taught it."""

# Parse actions from what agents stored: which task, how it ended, with which tool.

_TOOL = "Tool "


class TaskResult(Struct, frozen=True):
    """A task's end as a memory tells it."""

    memory: Memory
    report: TaskReport

    @property
    def is_final(self) -> bool:
        """Whether nothing more is to be expected of it."""
        return self.report.outcome != AGAIN


def parse_task_result(memory: Memory) -> TaskResult | None:
    """Return the result of a task that a memory describes, or None."""
    report = parse_task_report(memory.content) if memory.extractor == TASK else None
    return None if report is None else TaskResult(memory, report)


def describe_tool_step(memory: Memory) -> str:
    """Return what was done with a tool, as a step: `pytest: run the tests`; a command speaks for itself."""
    tool, _, purpose = memory.content.removeprefix(_TOOL).strip().rstrip(".").partition(": ")
    return purpose if purpose.startswith("`") else f"{tool}: {purpose}"


# Put a chain of actions into words: what was done, what came of it, which files, what was learned.
#
# Only the words of the actions are used, put in order; a lesson is a task that failed and then succeeded,
# told as just that.

MAX_RESULT_CHARACTERS = 120
MAX_FILES = 20


def is_finished(chain: Sequence[Memory]) -> bool:
    """Return whether the chain has tasks, and the last word on each of them is final."""
    last = {one.report.name: one for one in _task_results(chain)}
    return bool(last) and all(one.is_final for one in last.values())


def write_story(name: str, chain: Sequence[Memory]) -> str:
    """Return the story of a chain, given in the order of time; `name` is its session or its week."""
    results = [one.report for one in _task_results(chain)]
    tasks = len({one.name for one in results})
    told = [f"“{_shorten(one.task)}” {one.outcome}: {_shorten(one.result)}" for one in results]
    decided = [_shorten(standalone(one)) for one in chain if parse_task_result(one) is None]
    noun = "task" if tasks == 1 else "tasks"
    head = f"Work in {name}, {_date_range(chain)}: {tasks} {noun}, {_outcome_counts(results)}."
    decisions = f" Decided: {'; '.join(decided)}." if decided else ""
    return f"{head} {'; '.join(told)}.{decisions}{files_sentence(chain)}"


def files_sentence(chain: Sequence[Memory]) -> str:
    """Return a sentence with the files that the actions name, or nothing."""
    paths = dict.fromkeys(path for one in chain for path in one.traits.paths)
    return f" Files: {', '.join(list(paths)[:MAX_FILES])}." if paths else ""


def find_lessons(chain: Sequence[Memory]) -> list[tuple[str, list[Memory]]]:
    """Return what is learned from each task that failed before it succeeded, with the two results."""
    found: list[tuple[str, list[Memory]]] = []
    failed: dict[str, TaskResult] = {}
    for result in _task_results(chain):
        one = result.report
        if one.outcome in (FAILED, AGAIN):
            failed[one.name] = result
        elif one.outcome == SUCCEEDED and one.name in failed:
            earlier = failed.pop(one.name)
            before = earlier.report
            text = (
                f"Lesson from “{_shorten(one.task)}”: what {before.outcome}: {_shorten(before.result)}; "
                f"what {one.outcome}: {_shorten(one.result)}"
            )
            found.append((text, [earlier.memory, result.memory]))
    return found


def _task_results(chain: Sequence[Memory]) -> list[TaskResult]:
    return [one for one in map(parse_task_result, chain) if one is not None]


def _outcome_counts(results: Sequence[TaskReport]) -> str:
    """Return how the tasks ended: the last word on each counts."""
    last = {one.name: one.outcome for one in results}
    ends = (SUCCEEDED, PARTLY, FAILED, CANCELLED)
    counted = {outcome: list(last.values()).count(outcome) for outcome in ends}
    return ", ".join(f"{number} {outcome}" for outcome, number in counted.items() if number)


def _date_range(chain: Sequence[Memory]) -> str:
    first, last = long_date(chain[0].when), long_date(chain[-1].when)
    return first if first == last else f"{first} to {last}"


def _shorten(text: str) -> str:
    whole = " ".join(text.split()).rstrip(".;")
    if len(whole) <= MAX_RESULT_CHARACTERS:
        return whole
    return f"{whole[:MAX_RESULT_CHARACTERS].rsplit(' ', 1)[0]} …"


# Tell a finished piece of work as one story, and keep what was learned from it.
#
# The results of tasks and the decisions of one session, or of one week where no session is named, are a
# chain; it is told once every task in it has ended and a week has passed. With a chat model the story is
# prose that `find_invention` has checked, otherwise the results in order. Lessons come first and the story
# last: it marks the chain as told, so a dream that was stopped in between goes on where it was.

MAKER = "dream.crystals/1"
LESSONS = "dream.lessons/1"
MAX_ACTIONS = 20
"""A longer chain is split into parts of this size, or it would not fit into one memory."""


class CrystalsStep:
    """Finished chains of actions become stories with lessons."""

    name = "crystals"

    def propose(self, dreaming: Dreaming) -> Iterator[Proposal]:
        """Yield for each chain that is over its lessons and its story."""
        for scope in scopes_to_visit(dreaming):
            crystals, lessons = (
                earlier_derivations(dreaming, MAKER, scope),
                earlier_derivations(dreaming, LESSONS, scope),
            )
            yield from propose_withdrawals((*crystals, *lessons))
            for name, chain in _finished_chains(dreaming, scope, already_used=_actions_in_stories(crystals)):
                yield from _propose_story(dreaming, name, chain, lessons)


def _actions_in_stories(crystals: Sequence[EarlierDerivation]) -> set[MemoryId]:
    """Return the actions that a story describes; a withdrawn story describes none."""
    left = [one for one in crystals if not one.was_withdrawn and not (one.is_replaceable and one.is_shaken)]
    return {source for one in left for source in one.sources}


def _finished_chains(
    dreaming: Dreaming, scope: Scope, *, already_used: set[MemoryId]
) -> Iterator[tuple[str, list[Memory]]]:
    """Yield the chains of a scope that are over and were not told, in the order of their names."""
    groups: defaultdict[str, list[Memory]] = defaultdict(list)
    tasks = usable_statements(dreaming, scope, DreamFilter(extractors=frozenset({TASK})))
    decisions = usable_statements(dreaming, scope, DreamFilter(categories=frozenset({"decision"})))
    every = {memory.id: memory for _, memory in (*tasks, *decisions)}
    roots = _root_tasks(every.values())
    for memory in every.values():
        if memory.id not in already_used:
            groups[_chain_name(memory, roots)].append(memory)
    over = dreaming.now - timedelta(days=CRYSTAL_DAYS)
    for name in sorted(groups):
        chain = sorted(groups[name], key=lambda one: (one.when, one.id))
        is_over = chain[-1].when <= over and len(chain) >= MIN_ACTIONS
        if is_over and is_finished(chain):
            for begin in range(0, len(chain), MAX_ACTIONS):
                yield name, chain[begin : begin + MAX_ACTIONS]


def _root_tasks(memories: Iterable[Memory]) -> dict[str, str]:
    """Return for each task that is part of another, and for these, the outermost that it belongs to."""
    reports = [one.report for one in map(parse_task_result, memories) if one is not None]
    parents = {one.name: one.parent for one in reports if one.parent}
    whole = {normalize_text(parent): parent for parent in parents.values()}
    return {name: _outermost(name, parents, whole) for name in {*parents, *whole}}


def _outermost(name: str, parents: Mapping[str, str], whole: Mapping[str, str]) -> str:
    met: set[str] = set()
    while name in parents and name not in met:  # a circle ends where it was entered
        met.add(name)
        name = normalize_text(parents[name])
    return whole.get(name, name)


def _chain_name(memory: Memory, roots: Mapping[str, str]) -> str:
    """Return the larger task that an action belongs to, or its session, or else its week."""
    result = parse_task_result(memory)
    if result is not None and result.report.name in roots:
        return f"“{roots[result.report.name]}”"
    year, week, _ = memory.when.isocalendar()
    return memory.provenance.session or f"{year}-W{week:02}"


def _propose_story(
    dreaming: Dreaming, name: str, chain: Sequence[Memory], known: Sequence[EarlierDerivation]
) -> Iterator[Derive]:
    story, lessons = _story_by_model(dreaming, chain) or (write_story(name, chain), find_lessons(chain))
    for text, sources in lessons:
        ids = {one.id for one in sources}
        if not any(one.sources == ids or one.memory.content == text for one in known):
            yield Derive(
                content=text,
                sources=tuple(sources),
                layer=Layer.EPISODIC,
                type=MemoryType.PROCEDURE,
                category="procedure",
                confidence=CRYSTAL_CONFIDENCE,
                stability=LESSON_STABILITY,
                maker=LESSONS,
                reason="learned from a finished chain of actions",
            )
    yield Derive(
        content=story,
        sources=tuple(chain),
        layer=Layer.SEMANTIC,
        type=MemoryType.NARRATIVE,
        kind=Kind.EPISODE,
        category="context",
        confidence=CRYSTAL_CONFIDENCE,
        stability=CRYSTAL_STABILITY,
        maker=MAKER,
        reason=f"{len(chain)} finished actions that belong together",
    )


def _story_by_model(
    dreaming: Dreaming, chain: Sequence[Memory]
) -> tuple[str, list[tuple[str, list[Memory]]]] | None:
    """Return the story and the lessons that a chat model tells, or None where the actions must do."""
    if dreaming.chat is None:
        return None
    log, actions = dreaming.calls or CallLog(), [dated(one) for one in chain]
    try:
        digest = ask(dreaming.chat, crystallise.question(actions), log=log).value
    except ChatError:
        return None  # counted in the log
    policy = dreaming.policy.capture
    made_up = [find_invention(one, actions, policy) for one in sentences(digest.narrative)]
    lessons = [(line.text, [chain[place] for place in line.places]) for line in digest.lessons]
    true = [
        (text, told)
        for text, told in lessons
        if find_invention(text, [dated(one) for one in told], policy) is None
    ]
    dropped = len(lessons) - len(true) + any(made_up)
    if dropped:
        log.note(crystallise.PURPOSE, Usage(dropped=dropped, last_error="a story or lesson made things up"))
    return None if any(made_up) else (f"{digest.narrative}{files_sentence(chain)}", true)
