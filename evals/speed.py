"""
Speed, size and memory: adding, bulk adding, recalling and opening, from a thousand to a million memories.

    python -m evals.speed [--sizes 1000 10000 100000] [--embedder static] [--json FILE]

Every size runs in a process of its own, so that its memory is its own. Sentences are drawn from a
vocabulary with natural word frequencies; questions take words from a stored sentence. With a model pack,
questions are embedded by it, and stored vectors are random points around a few hundred centres, since
embedding a hundred thousand sentences would take half an hour and change nothing that is timed here.
Above `--straight` memories the store is filled straight through its tables, past admission, with such
vectors: a million would take half an hour, and bulk adding is timed on the smaller ones. These machines
are shared: compare ratios within one run.
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
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import psutil

from engramdb import Draft, Engram, Filters, Settings
from engramdb.clock import SystemClock
from engramdb.models.registry import open_embedder
from engramdb.models.wordpiece import VOCABULARY_PATH
from engramdb.store.sqlite.store import SqliteStore
from engramdb.text.terms import TERMS_VERSION, terms, turn_terms
from engramdb.values import Memory, Role, Turn, new_id
from evals.report import keep, show

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime

    from numpy.typing import NDArray

    from engramdb.models.calibration import Calibration
    from engramdb.models.embedder import Embedder
    from engramdb.values import EmbedderIdentity

SINGLE_ADDS = 200
QUESTIONS = 200
THREADS = 8
FILL_ROWS = 5000
SENTENCES_A_TURN = 2
CENTRES = 400
TENTH, HUNDREDTH = "tenth", "hundredth"
"""Categories of a tenth and of a hundredth of the memories, to filter by."""


class RandomDocuments:
    """Real questions, made-up documents: random points around centres, in the embedder's own space."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._random = np.random.default_rng(0)
        self._centres = self._random.normal(size=(CENTRES, embedder.identity.dimension)).astype(np.float32)
        self.batch = 1024
        self.similarity_floor = embedder.similarity_floor

    @property
    def identity(self) -> EmbedderIdentity:
        """The identity of the embedder inside."""
        return self._embedder.identity

    @property
    def calibration(self) -> Calibration:
        """The calibration of the embedder inside."""
        return self._embedder.calibration

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return a random unit vector per text."""
        chosen = self._centres[self._random.integers(CENTRES, size=len(texts))]
        noise = self._random.normal(size=chosen.shape).astype(np.float32)
        rows: NDArray[np.float32] = chosen + 0.7 * noise
        unit: NDArray[np.float32] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return unit

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return what the embedder says."""
        return self._embedder.embed_queries(texts)


class Sentences:
    """Endless sentences of words with natural frequencies; the same seed gives the same sentences."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        every = VOCABULARY_PATH.read_text(encoding="utf-8").split("\n")
        self._words = [word for word in every if word.isascii() and word.isalpha() and len(word) > 1]
        self._weights = list(np.cumsum(1 / np.arange(1, len(self._words) + 1)))

    def next(self) -> str:
        """Return the next sentence, of six to twenty words."""
        count = self._random.randint(6, 20)
        return " ".join(self._random.choices(self._words, cum_weights=self._weights, k=count))

    def question(self, sentence: str) -> str:
        """Return a question about a sentence, with some of its words."""
        words = sentence.split()
        return "what did we say about " + " ".join(self._random.sample(words, min(4, len(words)))) + "?"


def milliseconds(action: Callable[[], object]) -> float:
    """Return how long the action took on the wall clock."""
    started = time.perf_counter()
    action()
    return (time.perf_counter() - started) * 1000


def spread(times: Sequence[float], name: str) -> dict[str, float]:
    """Return median and 95th percentile, named."""
    return {
        f"{name} p50 ms": float(np.percentile(times, 50)),
        f"{name} p95 ms": float(np.percentile(times, 95)),
    }


def measure(size: int, choice: str, home: Path, folder: Path, straight: int) -> dict[str, Any]:
    """Fill a store of this size and time everything that users wait for."""
    path = folder / f"{size}.db"
    embedder = _embedder(choice, home)
    settings = Settings(home=home)
    row: dict[str, Any] = {"memories": size}
    sentences = Sentences(size)
    if size > straight:
        samples = _fill_straight(path, size, sentences, RandomDocuments(embedder))
        row |= {"bulk adds/s": float("nan"), "enriched/s": float("nan")}
    with Engram.open(path, settings=settings, embedder=embedder) as engram:
        if size <= straight:
            samples, row["bulk adds/s"] = _fill(engram, size, sentences)
            row["enriched/s"] = _enrich(engram)
        row |= spread(
            [milliseconds(lambda: engram.remember(sentences.next())) for _ in range(SINGLE_ADDS)], "add"
        )
        row |= spread(
            [milliseconds(lambda: engram.observe(sentences.next())) for _ in range(SINGLE_ADDS)], "observe"
        )
        questions = [sentences.question(sample) for sample in samples]
        row |= _ask(engram, questions)
        row |= _ask_in_threads(engram, questions)
    row |= _open_cold(path, settings, embedder, questions[0])
    row["resident MB"] = psutil.Process().memory_info().rss / 1e6
    row["file MB"] = path.stat().st_size / 1e6
    with Engram.open(path, settings=settings, embedder=embedder, background=False) as engram:
        row |= _ask_of_turns(engram, size, sentences)
    return row


def _embedder(choice: str, home: Path) -> Embedder:
    embedder = open_embedder(choice, home)
    return embedder if embedder.identity.name == "static" else RandomDocuments(embedder)


def _fill(engram: Engram, size: int, sentences: Sentences) -> tuple[list[str], float]:
    samples: list[str] = []
    every = max(1, size // QUESTIONS)

    def drafts() -> Iterator[Draft]:
        for number in range(size):
            content = sentences.next()
            if number % every == 0:
                samples.append(content)
            yield Draft(content=content, category=_category(number))

    prepared = list(drafts())  # making sentences up is not part of adding them
    started = time.perf_counter()
    for _ in engram.remember_stream(prepared):
        pass
    return samples, size / (time.perf_counter() - started)


def _fill_straight(path: Path, size: int, sentences: Sentences, made_up: RandomDocuments) -> list[str]:
    """Fill a store through its own tables, as admission would leave it, and return some of the sentences."""
    now, samples = SystemClock().now(), []
    every = max(1, size // QUESTIONS)
    store = SqliteStore.open(str(path), now=now, is_durable=False)
    with store.atomic() as tx:
        tx.terms.clear(version=TERMS_VERSION)
    for start in range(0, size, FILL_ROWS):
        with store.atomic() as tx:
            space = tx.vectors.make_space(made_up.identity)
            keys = []
            for number in range(start, min(size, start + FILL_ROWS)):
                memory = _memory(number, sentences.next(), now)
                keys.append(tx.memories.add(memory, fingerprint=number.to_bytes(8, "big")))
                tx.terms.put(keys[-1], [term for word in memory.content.split() for term in _terms(word)])
                tx.memories.mark_enriched(keys[-1])
                if number % every == 0:
                    samples.append(memory.content)
            tx.vectors.put(space, keys, made_up.embed_documents([""] * len(keys)))
    store.close()
    return samples


@cache
def _terms(word: str) -> tuple[str, ...]:
    return tuple(terms(word))


def _memory(number: int, content: str, now: datetime) -> Memory:
    return Memory(
        id=new_id(now),
        content=content,
        category=_category(number),
        created_at=now,
        updated_at=now,
    )


def _category(number: int) -> str:
    return HUNDREDTH if number % 100 == 7 else TENTH if number % 10 == 3 else "fact"


def _enrich(engram: Engram) -> float:
    """Have everything enriched before questions are timed, and return how many memories that was a second."""
    started = time.perf_counter()
    waiting = engram.status().awaiting_enrichment
    while engram.status().awaiting_enrichment:
        time.sleep(0.2)  # the background does it, as it would for a user
    return waiting / (time.perf_counter() - started)


def _ask(engram: Engram, questions: Sequence[str]) -> dict[str, Any]:
    first = milliseconds(lambda: engram.recall(questions[0]))
    stages: dict[str, list[float]] = {}
    times = []
    for question in questions:
        answer = engram.recall(question)
        times.append(answer.quality.milliseconds)
        for stage, spent in answer.quality.stages.items():
            stages.setdefault(stage, []).append(spent)
    slowest = sorted(stages, key=lambda stage: -float(np.median(stages[stage])))[:3]
    return {
        "first recall ms": first,
        **spread(times, "recall"),
        **spread(_filtered(engram, questions, TENTH), "10 % filter"),
        **spread(_filtered(engram, questions, HUNDREDTH), "1 % filter"),
        "slowest stages": ", ".join(f"{stage} {np.median(stages[stage]):.2f}" for stage in slowest),
    }


def _ask_of_turns(engram: Engram, size: int, sentences: Sentences) -> dict[str, float]:
    """Add as many turns as there are memories, and ask for what was said in them alone."""
    samples, every = [], max(1, size // QUESTIONS)
    for start in range(0, size, FILL_ROWS):
        with engram._parts.store.atomic() as tx:  # noqa: SLF001 - filled past the write pipeline
            for number in range(start, min(size, start + FILL_ROWS)):
                said = ". ".join(sentences.next() for _ in range(SENTENCES_A_TURN))
                now = SystemClock().now()
                turn = Turn(id=new_id(now), content=said, role=Role.USER, occurred_at=now, created_at=now)
                tx.turn_terms.put(tx.turns.add(turn), turn_terms(turn))
                if number % every == 0:
                    samples.append(said.partition(". ")[0])
    questions = [sentences.question(sample) for sample in samples]
    engram.recall(questions[0])
    answers = [engram.recall(question) for question in questions]
    without = [engram.recall(question, turns=False) for question in questions]
    return {
        **spread([one.quality.milliseconds for one in without], "recall without turns"),
        **spread([one.quality.milliseconds for one in answers], "recall with turns"),
        "turns looked at": sum("turns" in one.quality.answered for one in answers) / len(answers),
    }


def _filtered(engram: Engram, questions: Sequence[str], category: str) -> list[float]:
    filters = Filters(categories=frozenset({category}))
    return [engram.recall(question, filters=filters).quality.milliseconds for question in questions]


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


def write_from_processes(folder: Path, processes: int = 4, writes: int = 250) -> dict[str, Any]:
    """Let several processes write to one file and return how many writes a second came through."""
    path = folder / "shared.db"
    Engram.open(path, settings=Settings(embedder="static"), background=False).close()
    context = multiprocessing.get_context("spawn")
    started = time.perf_counter()
    workers = [context.Process(target=_write, args=(path, number, writes)) for number in range(processes)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    spent = time.perf_counter() - started
    with Engram.open(path, settings=Settings(embedder="static"), background=False) as engram:
        stored = engram.status().memories
    return {"processes": processes, "writes each": writes, "stored": stored, "writes/s": stored / spent}


def _write(path: Path, number: int, writes: int) -> None:
    with Engram.open(path, settings=Settings(embedder="static"), background=False) as engram:
        for count in range(writes):
            engram.remember(f"process {number} wrote sentence {count}")


def main() -> None:
    """Measure each size in its own process, print the tables and keep the JSON."""
    parser = argparse.ArgumentParser(prog="python -m evals.speed", description=__doc__.split("\n")[1])
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 10_000, 100_000])
    parser.add_argument("--embedder", default="static")
    parser.add_argument("--home", type=Path, default=Settings.load().home)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--straight", type=int, default=50_000, help="above, fill past the write pipeline")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if arguments.one:
            size = arguments.sizes[0]
            found = measure(size, arguments.embedder, arguments.home, Path(folder), arguments.straight)
            print(json.dumps(found))
            return
        rows = [_in_own_process(size, arguments) for size in arguments.sizes]
        shared = write_from_processes(Path(folder))
    for names in _columns(rows):
        show(f"Speed, {arguments.embedder}", [{name: row[name] for name in names} for row in rows])
    show("Several processes on one file", [shared])
    found = {"embedder": arguments.embedder, "rows": rows, "processes": shared}
    print(f"\nWritten to {keep('speed', found, path=arguments.json)}")


def _in_own_process(size: int, arguments: argparse.Namespace) -> dict[str, Any]:
    command = [sys.executable, "-m", "evals.speed", "--one", "--sizes", str(size)]
    command += ["--embedder", arguments.embedder, "--home", str(arguments.home)]
    command += ["--straight", str(arguments.straight)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    row: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    print(f"{size}: {row['recall p50 ms']:.2f} ms a recall", file=sys.stderr)
    return row


def _columns(rows: Sequence[dict[str, Any]]) -> Iterator[list[str]]:
    """Yield the columns in groups that fit a page, each with the size."""
    names = [name for name in rows[0] if name != "memories"]
    for start in range(0, len(names), 6):
        yield ["memories", *names[start : start + 6]]


if __name__ == "__main__":
    main()
