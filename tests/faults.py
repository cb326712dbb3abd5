"""Faults for the matrix: parts that raise, hang, lie, vanish and come back, and calls to meet them with."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
import textwrap
import threading
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, cast

import msgspec
import numpy as np
import pytest
from loopback import answering

from engramdb import Engram, EngramError, Filters, Settings, Status
from engramdb.health import CHAT, EMBEDDER, FOREIGN_INDEX, JUDGE, RERANKER
from engramdb.models.chat import ChatPrompt
from engramdb.models.guard import FAILURES_TO_OPEN
from engramdb.models.reader import GuardedModel, Judge
from engramdb.testing import TinyEmbedder
from engramdb.values import EdgeType
from engramdb.verbs.table import VERBS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

RAISES, HANGS, LIES, VANISHES, COMES_BACK = FAULTS = ("raises", "hangs", "lies", "vanishes", "comes back")
MARKER = "zanzibar"
"""A word of every memory; foreign errors quote it, and status must not."""
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
SHORT_SECONDS = 0.15
"""How long a part may hang in these tests."""

NOT_APPLICABLE = {
    ("clock", HANGS): "a clock is read in its caller's thread; a hang there is the caller's own",
    ("lock", LIES): "a lock is held or is not",
    ("permission", HANGS): "permission is given or is not",
    ("permission", LIES): "permission is given or is not",
    ("disk", HANGS): "a disk that hangs stops the process in the kernel",
    ("process", RAISES): "a process that is killed raises nothing",
    ("process", HANGS): "a process that is killed does not hang",
    ("process", LIES): "a process that is killed says nothing",
    ("process", COMES_BACK): "the next process is part of the check of every cell",
}


class Faulty:
    """What a test switches: the fault that a part has now."""

    def __init__(self) -> None:
        self.fault: str | None = None
        self.released = threading.Event()

    def strike(self, *given: object) -> bool:
        """Raise or hang as told, quoting what was given; return whether to lie."""
        if self.fault in (RAISES, COMES_BACK):
            raise RuntimeError(f"no use with {given}")
        if self.fault == VANISHES:
            raise ConnectionResetError(f"gone with {given}")
        if self.fault == HANGS:
            self.released.wait(20)
        return self.fault == LIES


class FaultyEmbedder(TinyEmbedder):
    """The usual embedder of tests, with a fault."""

    def __init__(self, faulty: Faulty) -> None:
        super().__init__()
        self._faulty = faulty

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed, or not."""
        rows = super().embed_documents(texts)
        return np.full_like(rows, np.nan) if self._faulty.strike(*texts) else rows


class FaultyReranker:
    """Likes long texts."""

    name = "faulty"

    def __init__(self, faulty: Faulty) -> None:
        self._faulty = faulty

    def score(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        """Score by length, or not."""
        lies = self._faulty.strike(question, *texts)
        return [float("nan")] if lies else [min(1.0, len(text) / 100) for text in texts]


class FaultyIndex:
    """Proposes every row that it was given."""

    def __init__(self, faulty: Faulty) -> None:
        self._faulty = faulty
        self._rows: set[int] = set()

    def put(self, rows: NDArray[np.intp], vectors: object) -> None:
        """Keep the rows."""
        self._faulty.strike(vectors)
        self._rows |= set(rows.tolist())

    def shortlist(self, query: object, count: int) -> Any:
        """Propose them."""
        return ["no row", count] if self._faulty.strike(query) else np.array(sorted(self._rows), np.intp)


class FaultyJudge:
    """Finds nothing that answers, and no conflict."""

    name = "faulty"
    is_remote = False

    def __init__(self, faulty: Faulty) -> None:
        self._faulty = faulty

    def relate(self, newer: Any, older: Sequence[Any], *, seconds: float | None = None) -> Any:
        """Have no opinion."""
        del seconds
        return ["nonsense"] * 99 if self._faulty.strike(newer, *older) else [None for _ in older]

    def answers(self, question: str, memories: Sequence[str], *, seconds: float | None = None) -> Any:
        """Say that nothing answers."""
        del seconds
        return [7.0] if self._faulty.strike(question, *memories) else [0.5 for _ in memories]

    def rests_on(self, question: str, changes: Sequence[tuple[str, str]]) -> Any:
        """Have no opinion."""
        return "yes" if self._faulty.strike(question, *changes) else None

    def makes_doubtful(self, change: tuple[str, str], statements: Sequence[str]) -> Any:
        """Have no opinion."""
        return "yes" if self._faulty.strike(*change, *statements) else None


class FaultyClock:
    """Goes on by a millisecond whenever it is looked at."""

    def __init__(self, faulty: Faulty) -> None:
        self._faulty = faulty
        self._now = NOW

    def now(self) -> Any:
        """Tell the time, or not."""
        if self._faulty.fault == LIES:
            return datetime(2026, 3, 1, 12)  # noqa: DTZ001 - that is the lie
        if self._faulty.fault == VANISHES:
            return datetime(1999, 1, 1, tzinfo=UTC)  # it goes back a quarter of a century
        self._faulty.strike()
        self._now += timedelta(milliseconds=1)
        return self._now


class Bench:
    """A store of its own for each cell, and what is wrong with it."""

    def __init__(self, folder: Path, template: Path, patch: pytest.MonkeyPatch) -> None:
        self.folder, self.template, self.patch = folder, template, patch
        self.faulty, self.stack = Faulty(), ExitStack()
        self.settings = Settings(
            embedder_timeout_seconds=SHORT_SECONDS,
            chat_timeout_seconds=SHORT_SECONDS,
            busy_timeout_seconds=0.1,
        )
        self.options: dict[str, Any] = {"embedder": TinyEmbedder(), "clock": FaultyClock(Faulty())}
        self.path = folder / "memory.db"
        self.part: str | None = None
        """What health calls the part with the fault."""
        self.repair: Callable[[], None] = self._stop_fault
        self.before: Callable[[], None] = lambda: None
        self.is_store_fault = False

    def open(self, *, background: bool = False) -> Engram:
        """Open the store with the part."""
        return Engram.open(self.path, settings=self.settings, background=background, **self.options)

    def _stop_fault(self) -> None:
        self.faulty.fault = None
        self.faulty.released.set()


def prepare(bench: Bench, part: str, fault: str) -> None:
    """Give the store the part, still without its fault; `bench.before` brings it on."""
    bench.before = lambda: setattr(bench.faulty, "fault", fault)
    _PREPARE[part](bench, fault)
    if not bench.path.exists():
        shutil.copy(bench.template, bench.path)


def _embedder(bench: Bench, fault: str) -> None:
    del fault
    bench.part, bench.options["embedder"] = EMBEDDER, FaultyEmbedder(bench.faulty)


def _reranker(bench: Bench, fault: str) -> None:
    del fault
    bench.part, bench.options["reranker"] = RERANKER, FaultyReranker(bench.faulty)
    bench.patch.setattr("engramdb.recall.fuse.RERANK_SECONDS", SHORT_SECONDS)


def _index(bench: Bench, fault: str) -> None:
    del fault
    bench.part, bench.options["vector_index"] = FOREIGN_INDEX, FaultyIndex(bench.faulty)


def _judge(bench: Bench, fault: str) -> None:
    del fault
    bench.part, judge = JUDGE, FaultyJudge(bench.faulty)
    bench.patch.setattr(
        "engramdb.engine.assemble.choose_judge",
        lambda parts: GuardedModel[Judge](
            lambda: cast("Judge", judge), parts.guard, JUDGE, name="faulty", timeout_seconds=SHORT_SECONDS
        ),
    )


def _chat(bench: Bench, fault: str) -> None:
    """A server that speaks the protocol, or says 500, or nothing, or nonsense."""
    bench.part = CHAT

    def reply(path: str, asked: Any) -> tuple[int, object]:
        del path
        if bench.faulty.fault in (RAISES, COMES_BACK):
            return 500, {"error": f"no use with {asked}"}
        if bench.faulty.fault == HANGS:
            bench.faulty.released.wait(20)
        if bench.faulty.fault == LIES:
            return 200, {"choices": "nonsense", "about": str(asked)}
        return 200, {"choices": [{"message": {"content": "[]"}}]}

    url = bench.stack.enter_context(answering(reply))
    if fault == VANISHES:
        url = "http://127.0.0.1:9/v1"  # the port of `discard`: nobody listens
    bench.settings = msgspec.structs.replace(bench.settings, chat="openai:faulty", chat_url=url)


def _clock(bench: Bench, fault: str) -> None:
    del fault
    bench.options["clock"] = FaultyClock(bench.faulty)


HOLD_THE_LOCK = """
    import sys, apsw
    connection = apsw.Connection(sys.argv[1])
    connection.execute("BEGIN IMMEDIATE")
    print("locked", flush=True)
    sys.stdin.readline()
"""


def _lock(bench: Bench, fault: str) -> None:
    """Another process holds the write lock: for good, for a moment, until it is killed, until it lets go."""
    shutil.copy(bench.template, bench.path)
    bench.is_store_fault = fault == RAISES
    held: list[subprocess.Popen[str]] = []

    def hold() -> None:
        script = [sys.executable, "-c", textwrap.dedent(HOLD_THE_LOCK), str(bench.path)]
        holder = subprocess.Popen(script, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        held.append(holder)
        assert holder.stdout is not None
        assert holder.stdout.readline() == "locked\n"
        if fault == HANGS:
            threading.Timer(0.03, let_go).start()
        if fault in (VANISHES, COMES_BACK):
            let_go()

    def let_go() -> None:
        for holder in held:
            holder.kill()
            holder.wait()

    def clear() -> None:
        let_go()
        for holder in held:
            for pipe in (holder.stdin, holder.stdout):
                if pipe is not None:
                    pipe.close()
        held.clear()

    bench.before, bench.repair = hold, clear
    bench.stack.callback(clear)


@contextmanager
def _mounted(folder: Path, options: bytes) -> Iterator[Any]:
    libc = cast("Any", ctypes.CDLL(None, use_errno=True))
    folder.mkdir(exist_ok=True)
    if not hasattr(libc, "mount") or libc.mount(b"none", bytes(folder), b"tmpfs", 0, options) != 0:
        pytest.skip("this user may not mount a disk")
    try:
        yield libc
    finally:
        libc.umount2(bytes(folder), 2)


def _disk(bench: Bench, fault: str) -> None:
    """A disk of a few megabytes: full, damaged, or gone from under the store."""
    folder = bench.folder / "disk"
    bench.stack.enter_context(_mounted(folder, b"size=8m"))
    bench.path, bench.is_store_fault = folder / "memory.db", True
    shutil.copy(bench.template, bench.path)
    ballast = folder / "ballast"

    def fill() -> None:
        with ballast.open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(65536))
            except OSError:
                pass

    def damage() -> None:
        with bench.path.open("r+b") as file:
            size = bench.path.stat().st_size
            for place in range(3 * 4096, size, 7 * 4096):
                file.seek(place)
                file.write(b"\xa5" * 4096)

    def remove() -> None:
        for file in folder.glob("memory.db*"):
            file.unlink()

    def repair() -> None:
        ballast.unlink(missing_ok=True)
        if fault in (LIES, VANISHES):
            remove()
            shutil.copy(bench.template, bench.path)

    bench.before = {RAISES: fill, COMES_BACK: fill, LIES: damage, VANISHES: remove}[fault]
    bench.repair = repair


def _permission(bench: Bench, fault: str) -> None:
    """A disk that is mounted read-only before the store is opened, and can be written again afterwards."""
    folder = bench.folder / "disk"
    libc = bench.stack.enter_context(_mounted(folder, b"size=8m"))
    bench.path, bench.is_store_fault = folder / "memory.db", True
    shutil.copy(bench.template, bench.path)
    read_only, remount = 1, 32
    libc.mount(b"none", bytes(folder), b"tmpfs", remount | read_only, b"size=8m")

    def repair() -> None:
        libc.mount(b"none", bytes(folder), b"tmpfs", remount, b"size=8m")

    if fault == COMES_BACK:
        repair()
    bench.before, bench.repair = (lambda: None), repair


def _process(bench: Bench, fault: str) -> None:
    del fault
    bench.before = lambda: None


_PREPARE: dict[str, Callable[[Bench, str], None]] = {
    "embedder": _embedder,
    "chat model": _chat,
    "reranker": _reranker,
    "foreign index": _index,
    "judge": _judge,
    "clock": _clock,
    "lock": _lock,
    "disk": _disk,
    "permission": _permission,
    "process": _process,
}
PARTS = tuple(_PREPARE)


# The calls: every verb of the table, with its own example and ids that are there.


def make_template(path: Path) -> dict[str, str]:
    """Fill a store with something for every verb; return the ids that the examples need."""
    with Engram.open(path, clock=FaultyClock(Faulty()), embedder=TinyEmbedder(), background=False) as engram:
        first, second, *_ = [
            engram.remember(f"I keep my {thing} in {MARKER} since {year}", speaker="Ada")
            for thing, year in (("tea", 2019), ("dog", 2020), ("boat", 2021), ("piano", 2022), ("maps", 2023))
        ]
        gone = engram.remember(f"I keep bees in {MARKER}")
        engram.link(first.id, second.id, type=EdgeType.SUPPORTS)
        engram.set_status(gone.id, Status.ARCHIVED, reason="over")
        turn = engram.observe(f"hello from {MARKER}, I moved my office to Ghent", session="s1")
        engram.observe(f"and the parrot of {MARKER} talks", session="s1")
        engram.flush()
        engram.dream()
        gaps = engram.gaps()
    gap = gaps[0].id if gaps else "4f1c77ab0d52"
    return {"id": first.id, "other": second.id, "archived": gone.id, "turn": turn.id, "gap": gap}


def request_for(verb: str, ids: dict[str, str], folder: Path, *, reranked: bool = False) -> Any:
    """Return the request of a verb, made of its own example; a verb without one fails here."""
    declared = VERBS[verb]
    asked = dict(declared.example or {})
    needed = {one for one in declared.request.__struct_fields__ if one in ("id", "other", "turn_id", "path")}
    if "id" in needed and "id" in asked:
        of_gap = verb in ("answer", "close_gap")
        asked["id"] = ids["gap"] if of_gap else ids["archived"] if verb == "restore" else ids["id"]
    if "other" in needed:
        asked["other"] = ids["other"]
    if "turn_id" in needed:
        asked["turn_id"] = ids["turn"]
    if "path" in needed:
        asked["path"] = str(folder / "copy.db")
    if verb == "recall":
        asked |= {"query": f"where is the tea of {MARKER}?"} | (
            {"strategy": "cross_encoder"} if reranked else {}
        )
    if verb == "erase":
        asked = {"id": ids["other"], "reason": "asked"}
    return msgspec.convert(asked, declared.request)


def all_ids(engram: Engram) -> set[str]:
    """Return every memory and turn there is, whatever its status."""
    kept = engram.list(filters=Filters(statuses=frozenset(Status)), limit=1000)
    return {one.id for one in kept} | {one.id for one in engram.turns(limit=1000)}


def exhaust(engram: Engram, bench: Bench) -> None:
    """Let a part fail until it is left alone."""
    for number in range(FAILURES_TO_OPEN + 1):
        if bench.part in (EMBEDDER, FOREIGN_INDEX, RERANKER, JUDGE):
            strategy = "cross_encoder" if bench.part == RERANKER else None
            engram.recall(f"tea {number}", strategy=strategy)
        elif bench.part == CHAT:
            with suppress(EngramError):
                engram._parts.chat.complete(ChatPrompt(system="", user=f"why tea {number}?"))  # type: ignore[union-attr]
    if bench.part == FOREIGN_INDEX and bench.faulty.fault is None:
        free = threading.Event()
        engram._parts.foreign._calls.put(free.set)  # type: ignore[union-attr]
        assert free.wait(20)
