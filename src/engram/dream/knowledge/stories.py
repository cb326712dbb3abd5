"""
Put a chain of actions into words: what was done, what came of it, which files, what was learned.

Called by the step `crystals`; pure. Only the words of the actions are used, put in order; a lesson is a task
that failed and then succeeded, told as just that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.dream.knowledge.actions import AGAIN, FAILED, PARTLY, SUCCEEDED, task_result
from engram.text.passage import long_date

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.dream.knowledge.actions import TaskResult
    from engram.values import Memory

LONGEST_RESULT_CHARACTERS = 120
MOST_FILES = 20


def is_finished(chain: Sequence[Memory]) -> bool:
    """Say whether the chain has tasks, and the last word on each of them is final."""
    last = {one.name: one for one in _results(chain)}
    return bool(last) and all(one.is_final for one in last.values())


def story_of(name: str, chain: Sequence[Memory]) -> str:
    """Return the story of a chain, given in the order of time; `name` is its session or its week."""
    results = _results(chain)
    tasks = len({one.name for one in results})
    told = [f"“{_short(one.task)}” {one.outcome}: {_short(one.result)}" for one in results]
    decided = [_short(one.content) for one in chain if task_result(one) is None]
    head = f"Work in {name}, {_days(chain)}: {tasks} {'task' if tasks == 1 else 'tasks'}, {_counts(results)}."
    decisions = f" Decided: {'; '.join(decided)}." if decided else ""
    return f"{head} {'; '.join(told)}.{decisions}{files_of(chain)}"


def files_of(chain: Sequence[Memory]) -> str:
    """Return a sentence with the files that the actions name, or nothing."""
    paths = dict.fromkeys(path for one in chain for path in one.traits.paths)
    return f" Files: {', '.join(list(paths)[:MOST_FILES])}." if paths else ""


def lessons_of(chain: Sequence[Memory]) -> list[tuple[str, list[Memory]]]:
    """Return what is learned from each task that failed before it succeeded, with the two results."""
    found: list[tuple[str, list[Memory]]] = []
    failed: dict[str, TaskResult] = {}
    for one in _results(chain):
        if one.outcome in (FAILED, AGAIN):
            failed[one.name] = one
        elif one.outcome == SUCCEEDED and one.name in failed:
            before = failed.pop(one.name)
            text = (
                f"Lesson from “{_short(one.task)}”: what {before.outcome}: {_short(before.result)}; "
                f"what {one.outcome}: {_short(one.result)}"
            )
            found.append((text, [before.memory, one.memory]))
    return found


def _results(chain: Sequence[Memory]) -> list[TaskResult]:
    return [one for one in map(task_result, chain) if one is not None]


def _counts(results: Sequence[TaskResult]) -> str:
    """Return how the tasks ended: the last word on each counts."""
    last = {one.name: one.outcome for one in results}
    counted = {outcome: list(last.values()).count(outcome) for outcome in (SUCCEEDED, PARTLY, FAILED)}
    return ", ".join(f"{number} {outcome}" for outcome, number in counted.items() if number)


def _days(chain: Sequence[Memory]) -> str:
    first, last = long_date(chain[0].when), long_date(chain[-1].when)
    return first if first == last else f"{first} to {last}"


def _short(text: str) -> str:
    whole = " ".join(text.split()).rstrip(".;")
    if len(whole) <= LONGEST_RESULT_CHARACTERS:
        return whole
    return f"{whole[:LONGEST_RESULT_CHARACTERS].rsplit(' ', 1)[0]} …"
