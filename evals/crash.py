"""
Kill writing processes without warning, and see whether anything that was acknowledged is lost.

    python -m evals.crash --rounds 300 --processes 3

Each process writes as fast as it can and says so on a pipe before and after every call; it is killed with
SIGKILL at a random moment. The parent keeps a ledger of what was acknowledged and compares it with the file:
every acknowledged write must be there with its state, its history, its audit rows and its index entries, and
the one write in flight must be there whole or not at all. `tests/anomalies` runs a few dozen rounds of this.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from engramdb import Draft, Engram, Filters, Scope, Settings, Status
from engramdb.testing import TinyEmbedder
from engramdb.text.terms import terms

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from multiprocessing.connection import Connection
    from multiprocessing.context import ForkServerProcess

    from engramdb import Memory
    from engramdb.store.contract import Transaction

BULK = 12
"""Drafts in one bulk write: all of them are kept, or none."""
ROUNDS_PER_FILE = 6
"""Crashes that one file goes through before a fresh one, so that checking it stays quick."""
MAX_LIFE_SECONDS = 0.5
"""How long a process lives before it is killed: a moment to load its word lists, then it writes."""
EARLY_KILL = 0.15
"""Share of the processes that are killed while they are still opening the file."""
PRELOADED = [
    "engramdb.testing",
    "engramdb.engine.engram",
    "engramdb.engine.assemble",
    "engramdb.engine.assemble",
    "engramdb.engine.status",
    "engramdb.lifecycle.service",
    "engramdb.lifecycle.backlog",
    "engramdb.lifecycle.entities",
    "engramdb.capture.writer",
    "engramdb.store.sqlite.precision",
    "rapidfuzz.fuzz",
    "engramdb.capture.extract",
    "engramdb.index.spaces",
    "engramdb.policy.presets",
    "engramdb.models.calibration",
    "engramdb.models.static",
]
"""Loaded once for all processes, so that each writes at once."""
SAMPLE = 4
"""Memories that are asked for by a question after each round."""

_ANY_STATUS = Filters(statuses=frozenset(Status))


class AcknowledgedWriteLost(AssertionError):
    """The file does not say what was acknowledged."""


@dataclass(frozen=True, slots=True)
class Step:
    """One call: the verb, the statement it works on, and the statements it adds."""

    verb: str
    target: str = ""
    added: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of one statement."""

    status: str = "active"
    pinned: bool = False
    reinforcements: int = 0
    replaced_by: str = ""
    actions: tuple[str, ...] = ("remember",)


Ledger: TypeAlias = dict[str, Fate]


@dataclass(slots=True)
class Tally:
    """What a run has seen."""

    rounds: int = 0
    kills: int = 0
    acknowledged: int = 0
    in_flight_kept: int = 0
    in_flight_dropped: int = 0
    memories_checked: int = 0
    verbs: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))

    def __str__(self) -> str:
        verbs = ", ".join(f"{verb} {count}" for verb, count in sorted(self.verbs.items()))
        return (
            f"{self.rounds} rounds, {self.kills} kills, {self.acknowledged} acknowledged writes ({verbs}), "
            f"in flight: {self.in_flight_kept} kept whole, {self.in_flight_dropped} dropped whole; lost: 0"
        )


# --- what a process does ------------------------------------------------------------------------------------


def write_until_killed(path: str, name: str, seed: int, durability: str, pipe: Connection) -> None:
    """Write without end, announcing each step before it begins and after it returned."""
    rng = random.Random(seed)
    serial, ids = 0, dict[str, str]()
    with open_quietly(path, durability=durability) as engram:
        pipe.send("open")
        while True:
            step = _choose(rng, name, serial, list(ids))
            serial += BULK
            pipe.send(step)
            _carry_out(engram, step, ids)
            pipe.send("done")


def open_quietly(path: str | Path, *, durability: str = "full") -> Engram:
    """
    Open the file with an embedder that needs no model, and without background threads.

    The policy keeps statements apart however alike they are, so that the ledger can foretell every write.
    """
    settings = Settings(durability=durability, policy="notebook")
    return Engram.open(path, settings=settings, embedder=TinyEmbedder(), background=False)


def _choose(rng: random.Random, name: str, serial: int, live: list[str]) -> Step:
    verbs = ["remember", "bulk"] if not live else ["remember", "bulk", "repeat", "pin", "correct", "forget"]
    verb = rng.choice(verbs)
    if verb == "bulk":
        return Step(verb, added=tuple(_statement(name, serial + n) for n in range(BULK)))
    if verb == "remember":
        return Step(verb, added=(_statement(name, serial),))
    target = rng.choice(live)
    return Step(verb, target, (_statement(name, serial),) if verb == "correct" else ())


def _statement(name: str, serial: int) -> str:
    return f"{name} keeps note {serial} under {_codeword(name, serial)}"


def _codeword(name: str, serial: int) -> str:
    return f"q{name}x{serial}"


def _carry_out(engram: Engram, step: Step, ids: dict[str, str]) -> None:
    """Make the call, and remember the ids of what can still be changed."""
    if step.verb == "bulk":
        drafts = [Draft(content=content) for content in step.added]
        ids |= {memory.content: memory.id for memory in engram.remember_many(drafts)}
    elif step.verb == "remember":
        ids[step.added[0]] = engram.remember(step.added[0]).id
    elif step.verb == "repeat":
        engram.remember(step.target)
    elif step.verb == "pin":
        engram.pin(ids[step.target])
    elif step.verb == "correct":
        ids[step.added[0]] = engram.correct(ids.pop(step.target), step.added[0]).id
    else:
        engram.forget(ids.pop(step.target))


# --- what the file should say -------------------------------------------------------------------------------


def after(ledger: Ledger, step: Step) -> Ledger:
    """Return the ledger as it is once the step has happened."""
    then = ledger | {content: Fate() for content in step.added}
    if not step.target:
        return then
    fate = ledger[step.target]
    if step.verb == "repeat":
        fate = _acted(fate, "reinforce", reinforcements=fate.reinforcements + 1)
    elif step.verb == "pin":
        fate = fate if fate.pinned else _acted(fate, "pin", pinned=True)
    elif step.verb == "forget":
        fate = _acted(fate, "forget", status="forgotten")
    else:
        then[step.added[0]] = Fate(pinned=fate.pinned)
        fate = _acted(fate, "correct", status="superseded", replaced_by=step.added[0])
    return then | {step.target: fate}


def _acted(fate: Fate, action: str, **changes: str | bool | int) -> Fate:
    changed: Fate = replace(fate, actions=(*fate.actions, action), **changes)  # type: ignore[arg-type]
    return changed


def written_in(engram: Engram) -> Ledger:
    """Return what the file says, statement by statement; its history and audit trail must agree."""
    with engram._parts.store.read() as tx:  # noqa: SLF001 - the check looks behind the public verbs on purpose
        memories = _all_memories(engram, tx)
        contents = {memory.id: memory.content for memory in memories}
        audited = _audited(tx)
        ledger = {}
        for memory in memories:
            actions = tuple(str(event.action) for event in tx.history.of(memory.id))
            if actions != audited[memory.id]:
                raise AcknowledgedWriteLost(f"history {actions} but audit {audited[memory.id]}")
            ledger[memory.content] = Fate(
                status=str(memory.status),
                pinned=memory.pinned,
                reinforcements=memory.reinforcements,
                replaced_by=contents[memory.superseded_by] if memory.superseded_by else "",
                actions=actions,
            )
        if len(ledger) != len(memories):
            raise AcknowledgedWriteLost(f"{len(memories)} memories with {len(ledger)} statements")
        return ledger


def _all_memories(engram: Engram, tx: Transaction) -> list[Memory]:
    total = max(1, tx.memories.count())
    return list(tx.memories.list(scope=engram._scope, filters=_ANY_STATUS, limit=total, before=None))  # noqa: SLF001


def _audited(tx: Transaction) -> Mapping[str, tuple[str, ...]]:
    found: defaultdict[str, tuple[str, ...]] = defaultdict(tuple)
    for event in reversed(tx.audit.recent(limit=10_000_000)):
        if not event.action.is_search:  # what was shown is audited, too, and changes nothing
            found[event.target or ""] += (str(event.action),)
    return found


def check_indexes(engram: Engram, ledger: Ledger) -> None:
    """Raise unless both indexes hold exactly what they should, and the doctor agrees."""
    report = engram.doctor()
    if not report.ok:
        raise AcknowledgedWriteLost(f"doctor: {[check for check in report.checks if not check.ok]}")
    with engram._parts.store.read() as tx:  # noqa: SLF001
        for content, fate in ledger.items():
            (documents,) = tx.terms.statistics([_last_term(content)], scope=Scope()).frequencies.values()
            if documents != (0 if fate.status == "forgotten" else 1):
                raise AcknowledgedWriteLost(f"{content!r} is {fate.status} and indexed {documents} times")


def check_recall(engram: Engram, ledger: Ledger, rng: random.Random) -> None:
    """Raise unless a few statements are found, or not found, as they should be."""
    for content in rng.sample(sorted(ledger), min(SAMPLE, len(ledger))):
        answer = engram.recall(content, limit=3)
        is_found = content in {hit.memory.content for hit in answer.hits}
        if answer.quality.missing or is_found != (ledger[content].status == "active"):
            raise AcknowledgedWriteLost(f"{content!r} is {ledger[content].status}; found: {is_found}")


def _last_term(content: str) -> str:
    return terms(content.rpartition(" ")[2])[0]


# --- killing ------------------------------------------------------------------------------------------------


class Crasher:
    """One file after another, written by processes that never end well."""

    def __init__(self, folder: Path, *, processes: int, seed: int, durability: str = "full") -> None:
        self._folder = folder
        self._processes = processes
        self._rng = random.Random(seed)
        self._durability = durability
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(PRELOADED)
        self._born = 0
        self.tally = Tally()

    def run(self, rounds: int) -> Iterator[Tally]:
        """Crash so many times, checking the file after each, and yield what was seen so far."""
        path, ledger = self._folder, Ledger()
        for number in range(rounds):
            if number % ROUNDS_PER_FILE == 0:
                path, ledger = self._folder / f"{number}.db", {}
            ledger = self._crash_once(path, ledger)
            self.tally.rounds += 1
            yield self.tally

    def _crash_once(self, path: Path, before: Ledger) -> Ledger:
        """Let some processes write and die; return what the file holds, or raise."""
        writers = [self._start(path) for _ in range(self._processes)]
        for process, pipe, _ in self._rng.sample(writers, len(writers)):
            if self._rng.random() > EARLY_KILL:
                pipe.poll(30)  # it has opened the file
            time.sleep(self._rng.uniform(0, MAX_LIFE_SECONDS))
            process.kill()
            process.join()
            self.tally.kills += 1
        expected = [self._read_pipe(pipe) for _, pipe, _ in writers]
        with open_quietly(path) as engram:
            found = written_in(engram)
            for (_, _, name), (ledger, in_flight) in zip(writers, expected, strict=True):
                self._compare({k: v for k, v in found.items() if k.startswith(name + " ")}, ledger, in_flight)
            self._compare({k: v for k, v in found.items() if k in before}, before, None)
            check_indexes(engram, found)
            check_recall(engram, found, self._rng)
        self.tally.memories_checked += len(found)
        return found

    def _start(self, path: Path) -> tuple[ForkServerProcess, Connection, str]:
        self._born += 1
        name = f"writer{self._born}"
        ours, theirs = self._context.Pipe(duplex=False)
        arguments = (str(path), name, self._rng.getrandbits(32), self._durability, theirs)
        process = self._context.Process(target=write_until_killed, args=arguments, daemon=True)
        process.start()
        theirs.close()
        return process, ours, name

    def _read_pipe(self, pipe: Connection) -> tuple[Ledger, Step | None]:
        """Return what was acknowledged, and the step that was under way."""
        ledger: Ledger = {}
        step: Step | None = None
        try:
            while True:
                message = pipe.recv()
                if isinstance(message, Step):
                    step = message
                elif step is not None:
                    ledger, done = after(ledger, step), step
                    step = None
                    self.tally.acknowledged += 1
                    self.tally.verbs[done.verb] += 1
        except (EOFError, OSError):
            return ledger, step
        finally:
            pipe.close()

    def _compare(self, found: Ledger, acknowledged: Ledger, in_flight: Step | None) -> None:
        if found == acknowledged:
            self.tally.in_flight_dropped += in_flight is not None
            return
        if in_flight is not None and found == after(acknowledged, in_flight):
            self.tally.in_flight_kept += 1
            return
        either = {text: (acknowledged.get(text), found.get(text)) for text in acknowledged | found}
        wrong = {text: pair for text, pair in either.items() if pair[0] != pair[1]}
        raise AcknowledgedWriteLost(f"in flight: {in_flight}; acknowledged and found: {wrong}")


def main() -> None:
    """Read the command line, crash, and report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--processes", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--durability", choices=["full", "relaxed"], default="full")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        crasher = Crasher(
            Path(folder), processes=options.processes, seed=options.seed, durability=options.durability
        )
        for tally in crasher.run(options.rounds):
            if tally.rounds % 20 == 0:
                print(tally, file=sys.stderr)
        print(crasher.tally)


if __name__ == "__main__":
    main()
