"""
What people told an agent, and whether it is found afterwards: `observe` beside keeping every sentence.

    python -m evals.reading [--sealed] [--embedder static]

Two baselines in the same run, with the same embedder and recall: every sentence of every turn stored as it
was said, and the same with the newest of the best twenty first. *Kept*: what was marked as worth keeping is
in the store. *Findable*: a memory that holds it is among the first five when asked for. The
conversations were written blind (evals/conversations); a story changes its mind, and its question wants the
current fact.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeAlias

from engramdb import Draft, Engram, Memory, Scope, Settings
from engramdb.testing import ManualClock
from engramdb.text.sentences import sentences
from evals import report
from training.report import interval

HERE = Path(__file__).parent
CONVERSATIONS = HERE / "conversations"
STORIES = Path(__file__).parents[1] / "training" / "data" / "stories" / "all.jsonl"
TOP = 5
POOL = 20
Store: TypeAlias = Callable[[Engram, ManualClock, Sequence[tuple[float, str, str]], Scope, str], None]
Ask: TypeAlias = Callable[[Engram, str, Scope], Sequence[Memory]]


def observed(
    engram: Engram, clock: ManualClock, turns: Sequence[tuple[float, str, str]], scope: Scope, session: str
) -> None:
    """Tell the turns to an agent that remembers."""
    begun = clock.now()
    for day, by, text in turns:
        said_at = begun + timedelta(days=day)
        role = by if by in ("user", "assistant", "tool") else "user"
        engram.observe(
            text,
            role=role,
            speaker=None if by == role else by,
            session=session,
            occurred_at=said_at,
            scope=scope,
        )
    engram.flush()


def verbatim(
    engram: Engram, clock: ManualClock, turns: Sequence[tuple[float, str, str]], scope: Scope, _session: str
) -> None:
    """Store every sentence as it was said."""
    begun = clock.now()
    drafts = [
        Draft(content=one, occurred_at=begun + timedelta(days=day), scope=scope)
        for day, _by, text in turns
        for one in sentences(text)
        if one.strip()
    ]
    engram.remember_many(drafts)


def best(engram: Engram, question: str, scope: Scope) -> Sequence[Memory]:
    """Return what recall gives first."""
    return [hit.memory for hit in engram.recall(question, limit=TOP, scope=scope).hits]


def newest(engram: Engram, question: str, scope: Scope) -> Sequence[Memory]:
    """Return the newest of the best."""
    found = [hit.memory for hit in engram.recall(question, limit=POOL, scope=scope).hits]
    return sorted(found, key=lambda one: one.when, reverse=True)[:TOP]


WAYS: dict[str, tuple[str, Store, Ask]] = {
    "observe": ("balanced", observed, best),
    "every sentence": ("notebook", verbatim, best),
    "every sentence, newest first": ("notebook", verbatim, newest),
}


def holds(memory: Memory, words: str) -> bool:
    """Return whether a memory holds most of some words."""
    return report.holds(_told(memory), words)


def _told(memory: Memory) -> str:
    return f"{memory.content} {memory.verbatim or ''}"


def conversations(path: Path, way: str, limit: int, settings: Settings) -> dict[str, list[bool]]:
    """Return what of each conversation is kept and findable, and whether changes are told as of now."""
    policy, store, ask = WAYS[way]
    found: defaultdict[str, list[bool]] = defaultdict(list)
    for engram, clock, scope, row in _each(path, limit, settings, policy):
        turns = [(number / 1000, turn["by"], turn["text"]) for number, turn in enumerate(row["turns"])]
        store(engram, clock, turns, scope, "talk")
        stored = engram.list(limit=200, scope=scope)
        for one in row["asks"]:
            by = "assistant's words" if row["turns"][one["turn"]]["by"] == "assistant" else "people's words"
            hits = ask(engram, one["q"], scope)
            found[f"kept, {by}"].append(any(holds(memory, one["words"]) for memory in stored))
            found[f"findable, {by}"].append(any(holds(memory, one["words"]) for memory in hits))
        for one in row.get("changed", ()):
            current, stale = (one[name]["words"] for name in ("current", "stale"))
            told = [(holds(memory, current), holds(memory, stale)) for memory in ask(engram, one["q"], scope)]
            found["changed: current in the top five"].append(any(now for now, _then in told))
            found["changed: current before outdated"].append(
                next((now for now, then in told if now or then), False)
            )
        marked = [one["words"] for one in row["asks"]]
        found["memories that answer nothing"] += [
            not any(_covers(words, memory) for words in marked) for memory in stored
        ]
    return found


def _covers(words: str, memory: Memory) -> bool:
    told, wanted = (set(re.findall(r"\w+", text.casefold())) for text in (_told(memory), words))
    return len(told & wanted) >= report.LEAST_OVERLAP * min(len(told), len(wanted))


def stories(path: Path, way: str, limit: int, settings: Settings) -> dict[str, list[bool]]:
    """Return whether the current fact comes first, comes at all, and comes before the outdated one."""
    policy, store, ask = WAYS[way]
    found: defaultdict[str, list[bool]] = defaultdict(list)
    for engram, clock, scope, row in _each(path, limit, settings, policy):
        store(engram, clock, [(day, by, text) for day, by, text in row["turns"]], scope, "talk")
        hits = [_told(memory) for memory in ask(engram, row["question"], scope)]
        is_current = [bool(re.search(row["current"], text, re.IGNORECASE)) for text in hits]
        found["current fact first"].append(bool(is_current) and is_current[0])
        found["current fact in the top five"].append(any(is_current))
    return found


def references(path: Path, way: str, settings: Settings) -> dict[str, list[bool]]:
    """Return whether what leans on earlier words is found by what it meant, all talks in one store."""
    policy, store, ask = WAYS[way]
    found: defaultdict[str, list[bool]] = defaultdict(list)
    scope = Scope(user="references")
    with _opened(settings, policy) as (engram, clock):
        asked: list[dict[str, Any]] = []
        for number, row in enumerate(_rows(path)):
            turns = [(place / 1000, turn["by"], turn["text"]) for place, turn in enumerate(row["turns"])]
            store(engram, clock, turns, scope, f"talk {number}")
            clock.advance(days=1)
            asked += row["asks"]
        for one in asked:
            hits = ask(engram, one["q"], scope)
            found["references answerable"].append(any(holds(memory, one["words"]) for memory in hits))
    return found


def junk(path: Path, way: str, settings: Settings) -> dict[str, list[bool]]:
    """
    Return which messages left a memory, each kind apart.

    Those of `*_keep.jsonl` only look as if they held nothing, and should.
    """
    policy, store, _ = WAYS[way]
    found: defaultdict[str, list[bool]] = defaultdict(list)
    with _opened(settings, policy) as (engram, clock):
        for number, row in enumerate(_rows(path)):
            scope = Scope(user=f"junk {number}")
            store(engram, clock, [(0.0, row["by"], row["text"])], scope, "talk")
            is_stored = bool(engram.list(limit=1, scope=scope))
            measure = "lookalikes stored" if row["kind"] == "keep" else "junk stored"
            found[measure].append(is_stored)
            if row["kind"] != "keep":
                found[f"{measure}, {row['kind']}"].append(is_stored)
    return found


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


@contextmanager
def _opened(settings: Settings, policy: str) -> Iterator[tuple[Engram, ManualClock]]:
    chosen = Settings(home=settings.home, embedder=settings.embedder, reader=settings.reader, policy=policy)
    clock = ManualClock()
    with (
        tempfile.TemporaryDirectory() as folder,
        Engram.open(Path(folder) / "memory.db", settings=chosen, clock=clock, background=False) as engram,
    ):
        yield engram, clock


def _each(
    path: Path, limit: int, settings: Settings, policy: str
) -> Iterator[tuple[Engram, ManualClock, Scope, dict[str, Any]]]:
    with _opened(settings, policy) as (engram, clock):
        for number, row in enumerate(_rows(path)[:limit]):
            yield engram, clock, Scope(user=f"{path.stem} {number}"), row


def main() -> None:
    """Print one table a kind of text, a column for each way."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sealed", action="store_true", help="the half that is for the end")
    parser.add_argument("--conversations", type=int, default=100, help="at most so many of each register")
    parser.add_argument("--stories", type=int, default=120)
    parser.add_argument("--embedder", default="static")
    arguments = parser.parse_args()
    settings = Settings.load(embedder=arguments.embedder)
    folder = CONVERSATIONS / ("sealed" if arguments.sealed else "open")
    for path in sorted(folder.glob("*.jsonl")):
        columns = {way: conversations(path, way, arguments.conversations, settings) for way in WAYS}
        _table(f"{path.stem}, {folder.stem}", columns)
    half = "sealed" if arguments.sealed else "open"
    path = HERE / "references" / f"{half}.jsonl"
    _table(f"references, {half}", {way: references(path, way, settings) for way in WAYS})
    for path in sorted((HERE / "junk").glob(f"{half}*.jsonl")):
        _table(f"junk, {path.stem}", {way: junk(path, way, settings) for way in WAYS})
    if arguments.stories:
        _table("stories", {way: stories(STORIES, way, arguments.stories, settings) for way in WAYS})


def _table(title: str, columns: dict[str, dict[str, list[bool]]]) -> None:
    measures: Iterable[str] = dict.fromkeys(name for found in columns.values() for name in found)
    print(f"\n| {title} | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|", sep="\n")
    for measure in measures:
        cells = (
            interval(sum(found.get(measure, [])), len(found.get(measure, []))) for found in columns.values()
        )
        print(f"| {measure} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
