"""
How long a dream takes over so many memories, and how long others wait while one runs.

    python -m evals.dream_speed [--sizes 10000] [--contention 10000] [--folder FOLDER] [--home HOME]

Stores are filled with natural statements (`evals.natural`) through admission, enriched, and kept in
`--folder` for the next time. `--sizes` dreams twice over a copy of each and tells the seconds of every step:
wall time and processor time, since machines are shared. `--contention` imports some more into a copy, so that
the background has work as well, and then dreams while eight threads recall and two remember without pause;
once without a dream, once with it in the same process, and once with it in another one. It tells how long a
write took, how long it stood in line, and for how long each side held the store, beside how much processor
time it spent meanwhile: under load a thread that holds the store waits for the processor as well.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct, field

from engramdb import Draft, Engram, Settings, Status
from engramdb.lifecycle.backlog import enrich_pending
from engramdb.models.registry import open_embedder
from engramdb.store.sqlite.connection import WriteQueue
from engramdb.store.sqlite.store import SqliteStore
from engramdb.testing import ManualClock
from engramdb.values import DreamReport
from evals.life import BEGIN
from evals.natural import natural_statements, questions_about
from evals.report import keep, show

READERS, WRITERS = 8, 2
DAYS = 365
"""Over how long the statements of a store were made."""
SAMPLE = 2000
"""From so many statements questions are made up."""
IMPORTED = 1024
"""Statements that the background still has to enrich when the dream begins."""
WITHOUT_SECONDS = 20.0
"""How long readers and writers are watched without a dream."""


def fill(path: Path, size: int) -> None:
    """Fill a store through admission, as an import would; one that is there already stays."""
    if path.exists():
        return
    unfinished = path.with_suffix(".unfinished")
    clock, embedder = ManualClock(BEGIN), open_embedder("static", path.parent)
    settings = Settings(home=path.parent, durability="relaxed")
    with Engram.open(
        unfinished, settings=settings, clock=clock, embedder=embedder, background=False
    ) as engram:
        drafts = (Draft(content=one) for one in islice(natural_statements(), size))
        for _ in engram.remember_stream(drafts):
            clock.advance(seconds=DAYS * 86_400 / size)
    store = SqliteStore.open(str(unfinished), now=clock.now(), is_durable=False)
    enrich_pending(store, now=clock.now())
    store.close()
    unfinished.rename(path)


class Bench(Struct, frozen=True):
    """Where stores are, and the model pack whose judge takes part, if any."""

    folder: Path
    home: Path | None = None

    @contextmanager
    def copied(self, size: int) -> Iterator[Path]:
        """Lend a copy of the store of this size."""
        whole, copy = self.folder / f"{size}.db", self.folder / f"{size}-copy.db"
        fill(whole, size)
        shutil.copy(whole, copy)
        try:
            yield copy
        finally:
            for old in self.folder.glob(f"{copy.name}*"):
                old.unlink()

    def opened(self, path: Path, *, background: bool = False) -> Engram:
        """Open a store on the day after its last statement."""
        clock = ManualClock(BEGIN)
        clock.advance(days=DAYS + 1)
        settings = Settings(home=self.home or self.folder, durability="relaxed")
        embedder = open_embedder("static", self.folder)
        return Engram.open(path, settings=settings, clock=clock, embedder=embedder, background=background)


# --- how long a dream takes ---------------------------------------------------------------------------------


def time_dreams(bench: Bench, size: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return how long a first dream takes and a second one after it, and the seconds of each step."""
    with bench.copied(size) as path, bench.opened(path) as engram:
        before = engram.status().by_status.get(Status.ACTIVE, 0)
        first, wall, cpu, steps = _timed(engram)
        second, wall_again, cpu_again, again = _timed(engram)
        after = engram.status().by_status.get(Status.ACTIVE, 0)
    row = {
        "memories": size,
        "active": before,
        "active after": after,
        "dream cpu s": cpu,
        "dream wall s": wall,
        "cpu ms per memory": cpu * 1000 / size,
        "changes": first.changed,
        "longest write ms": first.longest_write_milliseconds,
        "again cpu s": cpu_again,
        "again wall s": wall_again,
        "changes again": second.changed,
    }
    rows = [
        {"step": name, "cpu s": spent, "wall s": steps[name][1], "again cpu s": again[name][0], **counts}
        for name, (spent, _, counts) in steps.items()
    ]
    return row, rows


def _timed(engram: Engram) -> tuple[DreamReport, float, float, dict[str, tuple[float, float, Any]]]:
    """Dream, and return the report, wall seconds, processor seconds, and both of every step."""
    marks: list[tuple[str, float]] = []

    def note(step: str, _share: float) -> None:
        marks.append((step, time.process_time()))

    begin, busy = time.perf_counter(), time.process_time()
    report = engram.dream(progress=note)
    marks.append(("", time.process_time()))
    spent = {name: end - start for (name, start), (_, end) in pairwise(marks)}
    steps = {
        one.step: (spent.get(one.step, 0.0), one.milliseconds / 1000, {"changes": sum(one.counts.values())})
        for one in report.steps
    }
    return report, time.perf_counter() - begin, time.process_time() - busy, steps


# --- how long others wait -----------------------------------------------------------------------------------


SIDES = {"writers": "writer", "dream": "MainThread", "background": "engram"}
"""Who holds the store, and how the names of their threads begin."""


class Turn(Struct, frozen=True):
    """One turn at the writing connection: whose, how long it was waited for and how long it was held."""

    thread: str
    waited: float
    held: float
    cpu: float
    """Processor seconds of the thread while it held the store."""


class TimedQueue(WriteQueue):
    """A line of writers that notes how long each waited and held the store."""

    def __init__(self) -> None:
        super().__init__(max_waiting=256, timeout_seconds=120.0)
        self.turns: list[Turn] = []

    @contextmanager
    def turn(self, **options: Any) -> Iterator[None]:
        """Hold the right to write."""
        asked = time.perf_counter()
        with super().turn(**options):
            begun, busy = time.perf_counter(), time.thread_time()
            try:
                yield
            finally:
                held, cpu = time.perf_counter() - begun, time.thread_time() - busy
                self.turns.append(Turn(threading.current_thread().name, begun - asked, held, cpu))


class Load(Struct):
    """Readers and writers at work, and how long their calls took."""

    engram: Engram
    statements: Sequence[str]
    stop: threading.Event = field(default_factory=threading.Event)
    recalls: list[float] = field(default_factory=list)
    writes: list[float] = field(default_factory=list)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Read and write beside the block."""
        work = [(f"reader-{number}", self._read) for number in range(READERS)]
        work += [(f"writer-{number}", self._write) for number in range(WRITERS)]
        threads = [threading.Thread(target=run, args=(name,), name=name) for name, run in work]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self.stop.set()
            for thread in threads:
                thread.join()

    def _read(self, name: str) -> None:
        rng = random.Random(name)
        while not self.stop.is_set():
            question = questions_about(rng.choice(self.statements), rng)
            self.recalls.append(_seconds(lambda: self.engram.recall(question, limit=5)))  # noqa: B023

    def _write(self, name: str) -> None:
        rng, number = random.Random(name), 0
        while not self.stop.is_set():
            number += 1
            said = f"{rng.choice(self.statements)} ({name} {number})"
            self.writes.append(_seconds(lambda: self.engram.remember(said)))  # noqa: B023


def _seconds(action: Callable[[], object]) -> float:
    begin = time.perf_counter()
    action()
    return time.perf_counter() - begin


def contend(bench: Bench, size: int, *, mode: str) -> dict[str, Any]:
    """Return how long reads and writes take beside a dream in this process, in another one, or without."""
    statements = list(islice(natural_statements(), SAMPLE))
    with bench.copied(size) as path, bench.opened(path, background=True) as engram:
        for _ in engram.remember_stream(Draft(content=one) for one in _imported(size)):
            pass
        engram.recall(statements[0])
        queue = TimedQueue()
        engram._parts.store._line = queue  # type: ignore[attr-defined]  # noqa: SLF001 - to watch it
        load = Load(engram, statements)
        begin, busy = time.perf_counter(), time.process_time()
        report: DreamReport | None = None
        with load.running():
            if mode == "none":
                time.sleep(WITHOUT_SECONDS)
            elif mode == "threads":
                report = engram.dream()
            else:
                _dream_elsewhere(bench, path)
        spent, wall = time.process_time() - busy, time.perf_counter() - begin
    row = {"dream": mode, "memories": size, "wall s": wall, "cpu s": spent}
    row |= {"changes": report.changed if report else ""}
    row |= _spread("write", load.writes) | _spread("recall", load.recalls)
    row |= _spread("stood in line", [one.waited for one in queue.turns if one.thread.startswith("writer")])
    for name, thread in SIDES.items():
        turns = [one for one in queue.turns if one.thread.startswith(thread)]
        row |= _spread(f"{name} held", [one.held for one in turns])
        row |= {f"{name} held cpu max ms": max((one.cpu for one in turns), default=0.0) * 1000}
    return row


def _imported(size: int) -> Iterator[str]:
    return islice(natural_statements(), size, size + IMPORTED)


def _dream_elsewhere(bench: Bench, path: Path) -> None:
    process = multiprocessing.get_context("spawn").Process(target=_dream_alone, args=(bench, path))
    process.start()
    process.join()


def _dream_alone(bench: Bench, path: Path) -> None:
    with bench.opened(path) as engram:
        engram.dream()


def _spread(name: str, seconds: Sequence[float]) -> dict[str, Any]:
    milliseconds = np.array(seconds or [0.0]) * 1000
    return {
        f"{name} number": len(seconds),
        f"{name} p50 ms": float(np.percentile(milliseconds, 50)),
        f"{name} p99 ms": float(np.percentile(milliseconds, 99)),
        f"{name} max ms": float(milliseconds.max()),
    }


def main() -> None:
    """Measure, print the tables and keep the JSON."""
    parser = argparse.ArgumentParser(prog="python -m evals.dream_speed", description=__doc__.split("\n")[1])
    parser.add_argument("--sizes", type=int, nargs="*", default=[], help="time dreams of so many memories")
    parser.add_argument("--contention", type=int, help="watch others beside a dream of so many memories")
    parser.add_argument("--modes", nargs="*", default=["none", "threads", "process"])
    parser.add_argument("--folder", type=Path, help="where stores are kept for the next time")
    parser.add_argument("--home", type=Path, help="where the model pack is, so that its judge takes part")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(arguments.folder or Path(folder), arguments.home)
        timed = [time_dreams(bench, size) for size in arguments.sizes]
        contended = [
            contend(bench, arguments.contention, mode=mode)
            for mode in arguments.modes
            if arguments.contention
        ]
    if timed:
        show("A dream", [row for row, _ in timed])
        for row, steps in timed:
            show(f"Its steps over {row['memories']} memories", steps)
        found["timed"] = [{**row, "steps": steps} for row, steps in timed]
    if contended:
        names = list(contended[0])
        show(
            "Beside a dream", [{"": name, **{row["dream"]: row[name] for row in contended}} for name in names]
        )
        found["contended"] = contended
    print(f"\nWritten to {keep('dream_speed', found, path=arguments.json)}")


if __name__ == "__main__":
    main()
