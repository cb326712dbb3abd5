"""
Speed, size and memory on real conversation text, from a thousand to a million memories.

    python -m evals.speed [--data LOCOMO] [--sizes 1000 10000 1000000] [--embedder static] [--json FILE]

Memories are the turns of a LoCoMo file, first as they stand and then recombined, with other names and numbers
(`evals.natural`); without a file, what people say in the open sets. Questions are the file's own. Times are
processor time of the whole process where they do not say otherwise: these machines are shared. Every size
runs in a process of its own, so that its memory is its own. With a model pack, questions are embedded by it,
and stored vectors are random points around a few hundred centres, since embedding a hundred thousand texts
would take half an hour. Above `--straight` memories the store is filled through its own tables, past the
write pipeline, with the real terms and vectors: bulk adding is timed on the smaller ones.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import apsw
import numpy as np
import psutil

from engramdb import Draft, Engram, Filters, Settings
from engramdb.clock import SystemClock
from engramdb.models.registry import open_embedder
from engramdb.store.sqlite.store import SqliteStore
from engramdb.text.terms import TERMS_VERSION, index_terms, passage, turn_terms
from engramdb.values import Memory, Role, Turn, new_id
from evals import locomo
from evals.made_up import RandomDocuments
from evals.natural import natural_statements, questions_about, recombined
from evals.report import keep, show

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime

    from engramdb.models.embedder import Embedder

SINGLE_ADDS = 200
QUESTIONS = 200
WARMING = 20
"""Questions that are asked before any is timed: patterns are compiled and indexes loaded by then."""
COUNTED = 50
"""Questions whose SQL statements are counted."""
THREADS = 8
FILL_ROWS = 5000
WITH_TURNS = 100_000
"""Up to this many memories, as many turns are added to be searched too."""
TENTH, HUNDREDTH = "tenth", "hundredth"
"""Categories of a tenth and of a hundredth of the memories, to filter by."""


class ConversationText(NamedTuple):
    """What is said, without end, and what is asked about it."""

    statements: Iterator[str]
    questions: list[str]


def conversation_text(data: Path | None, *, seed: int = 7) -> ConversationText:
    """Return the turns and questions of a LoCoMo file, or what people say in the open sets."""
    rng = random.Random(seed)
    if data is None:
        asked = [questions_about(one, rng) for one in islice(natural_statements(seed), 5 * QUESTIONS)]
        return ConversationText(natural_statements(seed), rng.sample(asked, QUESTIONS))
    conversations = locomo.read(data)
    told = dict.fromkeys(draft.content for one in conversations for draft in one.drafts.values())
    questions = [question.text for one in conversations for question in one.questions]
    return ConversationText(recombined(list(told), seed), rng.sample(questions, QUESTIONS))


def milliseconds(action: Callable[[], object]) -> float:
    """Return how long the action took on the wall clock."""
    started = time.perf_counter()
    action()
    return (time.perf_counter() - started) * 1000


def cpu_milliseconds(action: Callable[[], object]) -> float:
    """Return the processor time that the action took."""
    started = time.process_time()
    action()
    return (time.process_time() - started) * 1000


def spread(times: Sequence[float], name: str) -> dict[str, float]:
    """Return median and 95th percentile, named."""
    return {
        f"{name} p50 ms": float(np.percentile(times, 50)),
        f"{name} p95 ms": float(np.percentile(times, 95)),
    }


def measure(size: int, arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Fill a store of this size and time everything that users wait for."""
    path, text = folder / f"{size}.db", conversation_text(arguments.data)
    embedder = _embedder(arguments.embedder, arguments.home)
    is_built_in = embedder.identity.name == "static"
    # A home without model packs, or their reader and judge would be timed as well.
    settings = Settings(home=folder if is_built_in else arguments.home)
    row: dict[str, Any] = {"memories": size}
    if size > arguments.straight:
        _fill_straight(path, size, text.statements, embedder)
    with Engram.open(path, settings=settings, embedder=embedder, background=False) as engram:
        if size <= arguments.straight:
            row |= _fill(engram, size, text.statements)
        row |= _add_singly(engram, text.statements)
        row |= _ask(engram, text.questions)
        row["resident MB"] = psutil.Process().memory_info().rss / 1e6
        row |= _ask_in_threads(engram, text.questions)
    row["file MB"] = path.stat().st_size / 1e6
    row |= _open_cold(path, settings, embedder, text.questions[0])
    row["SQL a recall"] = _count_statements(path, settings, embedder, text.questions[:COUNTED])
    if size <= WITH_TURNS:
        with Engram.open(path, settings=settings, embedder=embedder, background=False) as engram:
            row |= _ask_of_turns(engram, size, text)
    return row


def _embedder(choice: str, home: Path) -> Embedder:
    embedder = open_embedder(choice, home)
    return embedder if embedder.identity.name == "static" else RandomDocuments(embedder)


# Filling


def _fill(engram: Engram, size: int, statements: Iterator[str]) -> dict[str, float]:
    """Add everything in bulk, and infer what is left for later; return how fast each went."""
    texts = list(islice(statements, size))  # making texts up is not part of adding them
    drafts = [Draft(content=one, category=_category(number)) for number, one in enumerate(texts)]

    def add() -> None:
        for _ in engram.remember_stream(drafts):
            pass

    started = time.process_time()
    waited = milliseconds(add) / 1000
    added = time.process_time() - started
    enriched = cpu_milliseconds(engram.enrich) / 1000
    return {
        "words": sum(len(one.split()) for one in texts) / size,
        "bulk adds/s": size / added,
        "bulk adds/s wall": size / waited,
        "enriched/s": size / enriched,
    }


def _fill_straight(path: Path, size: int, statements: Iterator[str], embedder: Embedder) -> None:
    """Fill a store through its own tables, as the write pipeline would leave it."""
    now = SystemClock().now()
    store = SqliteStore.open(str(path), now=now, is_durable=False)
    with store.atomic() as tx:
        tx.terms.clear(version=TERMS_VERSION)
    for start in range(0, size, FILL_ROWS):
        with store.atomic() as tx:
            space = tx.vectors.make_space(embedder.identity)
            memories = [
                _memory(number, next(statements), now)
                for number in range(start, min(size, start + FILL_ROWS))
            ]
            keys = []
            for number, memory in enumerate(memories, start=start):
                keys.append(tx.memories.add(memory, fingerprint=number.to_bytes(8, "big")))
                tx.terms.put(keys[-1], index_terms(memory))
                tx.memories.mark_enriched(keys[-1])
            tx.vectors.put(space, keys, embedder.embed_documents([passage(one) for one in memories]))
    store.close()


def _memory(number: int, content: str, now: datetime) -> Memory:
    return Memory(
        id=new_id(now),
        content=content,
        category=_category(number) or "fact",
        created_at=now,
        updated_at=now,
    )


def _category(number: int) -> str | None:
    """Return a category to filter by, and mostly none, so that the words are read for it."""
    return HUNDREDTH if number % 100 == 7 else TENTH if number % 10 == 3 else None


def _add_singly(engram: Engram, statements: Iterator[str]) -> dict[str, float]:
    engram.remember(next(statements))
    added = [cpu_milliseconds(lambda: engram.remember(next(statements))) for _ in range(SINGLE_ADDS)]
    observed = [cpu_milliseconds(lambda: engram.observe(next(statements))) for _ in range(SINGLE_ADDS)]
    return spread(added, "add") | spread(observed, "observe")


# Asking


def _ask(engram: Engram, questions: Sequence[str]) -> dict[str, Any]:
    first = milliseconds(lambda: engram.recall(questions[0]))
    for question in questions[:WARMING]:
        engram.recall(question)
    stages: dict[str, list[float]] = {}
    cpu, wall = [], []
    for question in questions:
        started = time.process_time()
        answer = engram.recall(question)
        cpu.append((time.process_time() - started) * 1000)
        wall.append(answer.quality.milliseconds)
        for stage, spent in answer.quality.stages.items():
            stages.setdefault(stage, []).append(spent)
    return {
        "first recall ms": first,
        **spread(cpu, "recall"),
        "recall wall p50 ms": float(np.median(wall)),
        **spread(_filtered(engram, questions, TENTH), "10 % filter"),
        **spread(_filtered(engram, questions, HUNDREDTH), "1 % filter"),
        "stages": {name: float(np.sum(spent)) / len(questions) for name, spent in stages.items()},
    }


def _filtered(engram: Engram, questions: Sequence[str], category: str) -> list[float]:
    filters = Filters(categories=frozenset({category}))
    return [cpu_milliseconds(lambda one=one: engram.recall(one, filters=filters)) for one in questions]  # type: ignore[misc]


def _ask_in_threads(engram: Engram, questions: Sequence[str]) -> dict[str, float]:
    with ThreadPoolExecutor(THREADS) as pool:
        started = time.perf_counter()
        answers = list(pool.map(engram.recall, questions))
        spent = time.perf_counter() - started
    times = [answer.quality.milliseconds for answer in answers]
    return {f"recalls/s {THREADS} threads": len(questions) / spent, **spread(times, f"{THREADS} threads")}


def _open_cold(path: Path, settings: Settings, embedder: Embedder, question: str) -> dict[str, float]:
    started = time.perf_counter()
    with Engram.open(path, settings=settings, embedder=embedder) as engram:
        opened = time.perf_counter()
        engram.recall(question)
        answered = time.perf_counter()
    return {"open ms": (opened - started) * 1000, "open to answer ms": (answered - started) * 1000}


def _count_statements(path: Path, settings: Settings, embedder: Embedder, questions: Sequence[str]) -> float:
    """Return how many SQL statements a recall takes, once everything is loaded."""
    executed: list[str] = []

    def traced(_cursor: apsw.Cursor, sql: str, _bindings: object) -> bool:
        executed.append(sql)
        return True

    def hook(connection: apsw.Connection) -> None:
        connection.exec_trace = traced

    apsw.connection_hooks.append(hook)
    try:
        with Engram.open(path, settings=settings, embedder=embedder, background=False) as engram:
            for question in questions:
                engram.recall(question)
            executed.clear()
            for question in questions:
                engram.recall(question)
            return len(executed) / len(questions)
    finally:
        apsw.connection_hooks.remove(hook)


def _ask_of_turns(engram: Engram, size: int, text: ConversationText) -> dict[str, float]:
    """Add as many turns as there are memories, and ask for what was said in them alone."""
    for start in range(0, size, FILL_ROWS):
        with engram._parts.store.atomic() as tx:  # noqa: SLF001 - filled past the write pipeline
            for _ in range(start, min(size, start + FILL_ROWS)):
                now, said = SystemClock().now(), next(text.statements)
                turn = Turn(id=new_id(now), content=said, role=Role.USER, occurred_at=now, created_at=now)
                tx.turn_terms.put(tx.turns.add(turn), turn_terms(turn))
    engram.recall(text.questions[0])
    with_turns = [cpu_milliseconds(lambda one=one: engram.recall(one)) for one in text.questions]  # type: ignore[misc]
    answered = sum("turns" in engram.recall(one).quality.answered for one in text.questions)
    return {**spread(with_turns, "recall with turns"), "turns looked at": answered / len(text.questions)}


# Several processes


def write_from_processes(folder: Path, processes: int = 4, writes: int = 250) -> dict[str, Any]:
    """Let several processes write to one file and return how many writes a second came through."""
    path = folder / "shared.db"
    Engram.open(path, settings=Settings(home=path.parent, embedder="static"), background=False).close()
    context = multiprocessing.get_context("spawn")
    started = time.perf_counter()
    workers = [context.Process(target=_write, args=(path, number, writes)) for number in range(processes)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    spent = time.perf_counter() - started
    with Engram.open(
        path, settings=Settings(home=path.parent, embedder="static"), background=False
    ) as engram:
        stored = engram.status().memories
    return {"processes": processes, "writes each": writes, "stored": stored, "writes/s": stored / spent}


def _write(path: Path, number: int, writes: int) -> None:
    with Engram.open(
        path, settings=Settings(home=path.parent, embedder="static"), background=False
    ) as engram:
        for count in range(writes):
            engram.remember(f"process {number} wrote sentence {count}")


def main() -> None:
    """Measure each size in its own process, print the tables and keep the JSON."""
    arguments = _arguments()
    with tempfile.TemporaryDirectory() as folder:
        if arguments.one:
            print(json.dumps(measure(arguments.sizes[0], arguments, Path(folder))))
            return
        rows = [_in_own_process(size, arguments) for size in arguments.sizes]
        shared = write_from_processes(Path(folder))
    stages = [{"memories": row["memories"], **row.pop("stages")} for row in rows]
    for names in _columns(rows):
        show(f"Speed, {arguments.embedder}", [{name: row.get(name, "") for name in names} for row in rows])
    show("Milliseconds of a recall by stage, wall clock, mean", stages)
    show("Several processes on one file", [shared])
    found = {"embedder": arguments.embedder, "rows": rows, "stages": stages, "processes": shared}
    print(f"\nWritten to {keep('speed', found, path=arguments.json)}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m evals.speed", description=__doc__.split("\n")[1])
    parser.add_argument("--data", type=Path, help="a LoCoMo file whose turns and questions are used")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 10_000, 100_000])
    parser.add_argument("--embedder", default="static")
    parser.add_argument("--home", type=Path, default=Settings.load().home)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--straight", type=int, default=100_000, help="above, fill past the write pipeline")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def _in_own_process(size: int, arguments: argparse.Namespace) -> dict[str, Any]:
    command = [sys.executable, "-m", "evals.speed", "--one", "--sizes", str(size)]
    command += ["--embedder", arguments.embedder, "--home", str(arguments.home)]
    command += ["--straight", str(arguments.straight)]
    command += [] if arguments.data is None else ["--data", str(arguments.data)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    row: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    print(f"{size}: {row['recall p50 ms']:.2f} ms a recall", file=sys.stderr)
    return row


def _columns(rows: Sequence[dict[str, Any]]) -> Iterator[list[str]]:
    """Yield the columns in groups that fit a page, each with the size."""
    names = list(dict.fromkeys(name for row in rows for name in row if name != "memories"))
    for start in range(0, len(names), 6):
        yield ["memories", *names[start : start + 6]]


if __name__ == "__main__":
    main()
