"""
Kill the process behind every way in, at random moments, and look at the file.

Several processes write to one file, each through another surface: the library, the command line, the HTTP
API, the tools of MCP, hooks, dreams, imports, a notebook, and the migration of an old file. Each tells its
parent when a write was acknowledged. All are killed with SIGKILL. Then the file must be sound by every check
of the doctor, hold every acknowledged write, and no part of a write that is whole or nothing.

    python -m evals.kills --kills 2000
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import multiprocessing
import os
import random
import sys
import tempfile
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw

from engramdb import Draft, Engram, Settings, Status
from engramdb.errors import StoreBusy
from engramdb.store.sqlite.migrations import APPLICATION_ID, migrate
from engramdb.testing import TinyEmbedder
from evals.crash import PRELOADED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from multiprocessing.connection import Connection

    from engramdb.values import Memory

BATCH = 8
"""Statements in one write that is whole or nothing, and in one imported file."""
ROUNDS_PER_FILE = 8
MAX_LIFE_SECONDS = 0.5
OLD_TURNS = 40
OLD_FORMAT = 23
"""The layout from which migrations are killed."""
MORE_PRELOADED = [
    *PRELOADED,
    *("engramdb.cli.main", "engramdb.cli.memories", "engramdb.http.app", "engramdb.mcp.tools"),
    *("engramdb.hooks.run", "engramdb.hooks.respond", "engramdb.dream.service", "engramdb.dream.run"),
    *("engramdb.importing.service", "engramdb.notebook.sync", "starlette.testclient", "evals.kills"),
]


class WriteLost(AssertionError):
    """The file does not hold what was acknowledged, or holds half of something."""


def open_quietly(path: Path) -> Engram:
    """Open without a model and without background threads; statements are kept apart however alike."""
    settings = Settings(policy="notebook", home=path.parent / "home", backups=False)
    return Engram.open(path, settings=settings, embedder=TinyEmbedder(), background=False)


def statements(name: str, number: int, count: int) -> list[str]:
    """Return statements that nobody else writes."""
    return [f"{name} keeps item {number + n} under q{name}x{number + n}" for n in range(count)]


# --- the writers: each yields what it has been told is stored -----------------------------------------------


def by_library(path: Path, name: str, chance: random.Random) -> Iterator[list[str]]:
    """Single statements, and batches that are whole or nothing."""
    with open_quietly(path) as engram:
        for number in range(0, 10**6, BATCH):
            said = statements(name, number, chance.choice([1, BATCH]))
            engram.remember_many([Draft(content=one) for one in said])
            yield said


def by_command_line(path: Path, name: str, _: random.Random) -> Iterator[list[str]]:
    """`engram remember`, as the command does it."""
    from engramdb.cli.main import app  # noqa: PLC0415 - loaded by the writer

    os.environ["ENGRAM_HOME"] = str(path.parent / "home")
    os.environ["ENGRAM_POLICY"] = "notebook"
    for number in range(10**6):
        said = statements(name, number, 1)
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            app(["remember", said[0], "--store", str(path)], standalone_mode=False)
        yield said


def by_http(path: Path, name: str, _: random.Random) -> Iterator[list[str]]:
    """`POST /v1/remember` on the application."""
    from starlette.testclient import TestClient  # noqa: PLC0415 - loaded by the writer

    from engramdb.http.app import create_app  # noqa: PLC0415 - loaded by the writer

    with open_quietly(path) as engram:
        client = TestClient(create_app(engram), base_url="http://127.0.0.1:7070")
        for number in range(10**6):
            said = statements(name, number, 1)
            reply = client.post("/v1/remember", json={"content": said[0]})
            if reply.status_code < 300:
                yield said
            elif reply.status_code != 503:
                raise WriteLost(f"HTTP {reply.status_code}: {reply.text[:200]}")


def by_mcp(path: Path, name: str, _: random.Random) -> Iterator[list[str]]:
    """The tool `remember`."""
    from engramdb.mcp.tool import Visit  # noqa: PLC0415 - loaded by the writer
    from engramdb.mcp.tools import ALL  # noqa: PLC0415 - loaded by the writer

    tool = next(one for one in ALL if one.name == "remember")
    with open_quietly(path) as engram:
        for number in range(10**6):
            said = statements(name, number, 1)
            tool.call(Visit(engram=engram, session=None), {"content": said[0]})
            yield said


def by_hook(path: Path, name: str, _: random.Random) -> Iterator[list[str]]:
    """The hook of a prompt; what it stores it stores beside the answer, so nothing is acknowledged."""
    from engramdb.hooks.events import HookCall  # noqa: PLC0415 - loaded by the writer
    from engramdb.hooks.run import run  # noqa: PLC0415 - loaded by the writer

    call = HookCall(event="UserPromptSubmit", store=str(path), home=str(path.parent / "home"))
    for number in range(10**6):
        prompt = statements(name, number, 1)[0]
        event = {"session_id": name, "prompt": prompt, "hook_event_name": "UserPromptSubmit", "cwd": "/"}
        run(call, io.BytesIO(json.dumps(event).encode()), io.BytesIO(), can_fork=False)
        yield []


def by_dream(path: Path, name: str, _: random.Random) -> Iterator[list[str]]:
    """Statements, and dreams, aging and forgetting between them."""
    with open_quietly(path) as engram:
        for number in range(0, 10**6, BATCH):
            said = statements(name, number, BATCH)
            engram.remember_many([Draft(content=one) for one in said])
            yield said
            with contextlib.suppress(StoreBusy):  # of one that was killed, for five minutes
                engram.dream()
            with contextlib.suppress(StoreBusy):
                engram.age()
            yield []


def by_import(path: Path, name: str, _: random.Random) -> Iterator[list[str]]:
    """Files of statements; an import that returned is there as a whole."""
    with open_quietly(path) as engram:
        for number in range(0, 10**6, BATCH):
            said = statements(name, number, BATCH)
            source = path.parent / f"{name}-{number}.jsonl"
            source.write_text("".join(json.dumps({"content": one}) + "\n" for one in said))
            engram.import_from(source)
            yield said


def by_notebook(path: Path, name: str, _: random.Random) -> Iterator[list[str]]:
    """A folder of notes, one more each time."""
    folder = path.parent / f"{name}-notes"
    with open_quietly(path) as engram:
        for number in range(10**6):
            said = statements(name, number, 1)
            engram.remember(said[0])
            yield said
            with contextlib.suppress(StoreBusy):  # of one that was killed, for ten minutes
                engram.notebook_sync(folder)
            yield []


def by_turns(path: Path, name: str, _: random.Random) -> Iterator[list[str]]:
    """Turns of a conversation, read now and then."""
    with open_quietly(path) as engram:
        for number in range(10**6):
            said = statements(name, number, 1)
            engram.observe(said[0], session=name)
            yield said
            if number % 4 == 3:
                engram.flush()


WRITERS: dict[str, Callable[[Path, str, random.Random], Iterator[list[str]]]] = {
    "library": by_library,
    "turns": by_turns,
    "command line": by_command_line,
    "http": by_http,
    "mcp": by_mcp,
    "hook": by_hook,
    "dream": by_dream,
    "import": by_import,
    "notebook": by_notebook,
}


def write_until_killed(kind: str, path: str, name: str, seed: int, pipe: Connection) -> None:
    """Write without end, and tell what was acknowledged."""
    try:
        for said in WRITERS[kind](Path(path), name, random.Random(seed)):
            pipe.send(said)
    except Exception as exc:  # noqa: BLE001 - told to the parent, which fails
        pipe.send(f"{kind}: {type(exc).__name__}: {exc}")
        time.sleep(60)


def migrate_until_killed(path: str, pipe: Connection) -> None:
    """Open an old file."""
    pipe.send([])
    open_quietly(Path(path)).close()
    time.sleep(60)


# --- killing, and looking at the file -----------------------------------------------------------------------


class Killer:
    """Starts writers, kills them, and checks the file after each round."""

    def __init__(self, folder: Path, seed: int, per_round: int) -> None:
        self._folder = folder
        self._chance = random.Random(seed)
        self._per_round = per_round
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(MORE_PRELOADED)
        self.kills: Counter[str] = Counter()
        self.acknowledged: Counter[str] = Counter()
        self.rounds = 0

    def run(self, kills: int) -> None:
        """Go on until so many processes were killed."""
        acknowledged: set[str] = set()
        path = self._folder
        while self.kills.total() < kills:
            if self.rounds % ROUNDS_PER_FILE == 0:
                path, acknowledged = self._new_file(), set()
            if self._chance.random() < 0.1:
                self._kill_migration()
            acknowledged |= self._round(path)
            self.check(path, acknowledged)
            self.rounds += 1
            if self.rounds % 20 == 0:
                print(self, file=sys.stderr, flush=True)

    def _new_file(self) -> Path:
        folder = self._folder / f"store-{self.rounds}"
        folder.mkdir()
        return folder / "memory.db"

    def _round(self, path: Path) -> set[str]:
        """Let several writers write and die; return what was acknowledged to them."""
        started: list[tuple[str, Any, Connection]] = []
        for kind in self._chance.choices(list(WRITERS), k=self._per_round):
            ours, theirs = self._context.Pipe(duplex=False)
            name = f"{kind.replace(' ', '')}{self.kills.total()}n{len(started)}"
            arguments = (kind, str(path), name, self._chance.getrandbits(32), theirs)
            process = self._context.Process(target=write_until_killed, args=arguments, daemon=True)
            process.start()
            theirs.close()
            started.append((kind, process, ours))
        found: set[str] = set()
        for kind, process, pipe in started:
            if self._chance.random() > 0.15:
                pipe.poll(20)  # it has written something
            time.sleep(self._chance.uniform(0, MAX_LIFE_SECONDS))
            process.kill()
            process.join()
            self.kills[kind] += 1
            said = _read(pipe)
            self.acknowledged[kind] += len(said)
            found |= said
        return found

    def _kill_migration(self) -> None:
        """Kill a process that brings an old file up to date; the next one finishes it."""
        path = self._folder / f"old-{self.kills.total()}.db"
        make_old_file(path)
        ours, theirs = self._context.Pipe(duplex=False)
        process = self._context.Process(target=migrate_until_killed, args=(str(path), theirs), daemon=True)
        process.start()
        ours.poll(20)
        time.sleep(self._chance.uniform(0, 0.08))
        process.kill()
        process.join()
        self.kills["migration"] += 1
        with open_quietly(path) as engram:
            if len(engram.turns(limit=1000)) != OLD_TURNS or not engram.doctor().ok:
                raise WriteLost(f"migration: {[c for c in engram.doctor().checks if not c.ok]}")

    def check(self, path: Path, acknowledged: set[str]) -> None:
        """Raise unless the file is sound and holds all that was acknowledged."""
        if not path.exists():
            if acknowledged:
                raise WriteLost("the file is gone")
            return
        with open_quietly(path) as engram:
            report = engram.doctor()
            wrong = [f"{c.name}: {c.found}" for c in report.checks if not c.ok and c.name != "embedded"]
            if wrong:
                raise WriteLost(f"doctor: {wrong}")
            memories = every_memory(engram)
            said = {one.content for one in memories} | every_turn(engram)
            if lost := acknowledged - said:
                raise WriteLost(f"{len(lost)} of {len(acknowledged)} lost, such as {sorted(lost)[0]!r}")
            active = Counter((one.scope, one.content) for one in memories if one.status is Status.ACTIVE)
            if twice := [text for (_, text), n in active.items() if n > 1]:
                raise WriteLost(f"stored twice: {twice[:3]}")

    def __str__(self) -> str:
        kills = ", ".join(f"{kind} {n}" for kind, n in sorted(self.kills.items()))
        return (
            f"{self.kills.total()} kills ({kills}), {self.rounds} checks of a file, "
            f"{self.acknowledged.total()} acknowledged writes, lost 0, half applied 0"
        )


def every_memory(engram: Engram) -> list[Memory]:
    """Return the memories of every status and scope."""
    with engram._parts.store.read() as tx:  # noqa: SLF001 - looks behind the public verbs on purpose
        keys = [key for (key,) in _rows(tx, "SELECT key FROM memories ORDER BY key")]
        found: list[Memory] = []
        for start in range(0, len(keys), 500):
            found += tx.memories.by_keys(keys[start : start + 500]).values()
        return found


def every_turn(engram: Engram) -> set[str]:
    """Return what was said, in every scope."""
    with engram._parts.store.read() as tx:  # noqa: SLF001
        return {text for (text,) in _rows(tx, "SELECT content FROM turns")}


def _rows(tx: Any, sql: str) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = tx.connection.execute(sql).fetchall()
    return found


def make_old_file(path: Path) -> None:
    """Write a file of an older layout with some turns."""
    connection = apsw.Connection(str(path))
    connection.pragma("journal_mode", "wal")
    migrate(connection, str(path), now=datetime.now(UTC), until=OLD_FORMAT)
    connection.execute("INSERT OR IGNORE INTO scopes VALUES (1, '', '', '', '', '')")
    at = int(time.time() * 1e6)
    for number in range(OLD_TURNS):
        connection.execute(
            "INSERT INTO turns (id, scope, session, role, content, occurred_at, created_at) "
            "VALUES (?, 1, 's', 'user', ?, ?, ?)",
            (f"t{number}", f"turn number {number}", at, at),
        )
    connection.pragma("application_id", APPLICATION_ID)
    connection.close()


def _read(pipe: Connection) -> set[str]:
    said: set[str] = set()
    try:
        while True:
            message = pipe.recv()
            if isinstance(message, str):
                raise WriteLost(message)
            said |= set(message)
    except (EOFError, OSError):
        return said
    finally:
        pipe.close()


def main() -> None:
    """Read the command line, kill, and report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("--kills", type=int, default=2000)
    parser.add_argument("--per-round", type=int, default=6)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        killer = Killer(Path(folder), options.seed, options.per_round)
        killer.run(options.kills)
        print(killer, f"in {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
