"""
Damage files at random, and see what is told, what is answered and what is saved.

Real stores, plain and encrypted, are damaged in one of many ways: flipped bits, pages of rubbish, zeroed,
swapped or doubled pages, a cut, a ruined header, a torn log. On each copy the store is opened, listed, asked,
examined and salvaged. Counted are errors that are not ours, answers that differ from the truth without an
error or a finding of the doctor, and rows that SQLite can read and the salvage has not saved.

    python -m evals.damage --files 1000
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import apsw

from engramdb import Draft, Engram, EngramError, Filters, Settings, Status
from engramdb.testing import TinyEmbedder

if TYPE_CHECKING:
    from collections.abc import Callable

PAGE = 4096
KEY = "7d" * 32
MEMORIES, TURNS = 120, 40
ANY_STATUS = Filters(statuses=frozenset(Status))


def flip_bits(content: bytearray, chance: random.Random) -> None:
    """Flip one to eight bits."""
    for _ in range(chance.choice([1, 1, 2, 8])):
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)


def fill_page(content: bytearray, chance: random.Random) -> None:
    """Overwrite a page with rubbish."""
    at = _page(content, chance)
    content[at : at + PAGE] = chance.randbytes(PAGE)


def zero_pages(content: bytearray, chance: random.Random) -> None:
    """Zero one to four pages in a row."""
    at = _page(content, chance)
    end = min(len(content), at + PAGE * chance.randint(1, 4))
    content[at:end] = bytes(end - at)


def swap_pages(content: bytearray, chance: random.Random) -> None:
    """Exchange two pages."""
    one, two = _page(content, chance), _page(content, chance)
    content[one : one + PAGE], content[two : two + PAGE] = (
        content[two : two + PAGE],
        content[one : one + PAGE],
    )


def double_page(content: bytearray, chance: random.Random) -> None:
    """Write a page over another one."""
    one, two = _page(content, chance), _page(content, chance)
    content[two : two + PAGE] = content[one : one + PAGE]


def cut(content: bytearray, chance: random.Random) -> None:
    """Cut the file short, at a page or in the middle of one."""
    end = chance.randrange(PAGE, len(content))
    del content[end if chance.random() < 0.5 else end - end % PAGE :]


def ruin_header(content: bytearray, chance: random.Random) -> None:
    """Overwrite the header, or some of it."""
    start = chance.choice([0, 0, 16, 24])
    content[start:100] = chance.randbytes(100 - start)


WAYS = (flip_bits, flip_bits, fill_page, zero_pages, swap_pages, double_page, cut, ruin_header)
"""Ways to damage a file; the log has its own."""


def _page(content: bytearray, chance: random.Random) -> int:
    return chance.randrange(len(content) // PAGE) * PAGE


class Tally:
    """What was seen."""

    def __init__(self) -> None:
        self.files: Counter[str] = Counter()
        self.outcomes: Counter[str] = Counter()
        self.foreign: list[str] = []
        self.silent: list[str] = []
        self.unsaved: list[str] = []

    def __str__(self) -> str:
        ways = ", ".join(f"{way} {n}" for way, n in sorted(self.files.items()))
        outcomes = ", ".join(f"{name} {n}" for name, n in sorted(self.outcomes.items()))
        return (
            f"{self.files.total()} files ({ways}); {outcomes}; foreign errors {len(self.foreign)}, "
            f"silent wrong answers {len(self.silent)}, readable rows not saved {len(self.unsaved)}"
        )


class Patient:
    """One store, kept as it was, and damaged again and again."""

    def __init__(self, folder: Path, key: str) -> None:
        self.folder = folder
        self.key = key
        self._path = folder / "whole.db"
        with self.open(self._path) as engram:
            drafts = [
                Draft(content=f"note {n} on topic q{n} of the {n % 7} th kind") for n in range(MEMORIES)
            ]
            engram.remember_many(drafts)
            for number in range(TURNS):
                engram.observe(f"hello, this is message number {number}", session="s1")
            self.truth = self.read(engram)
            log = self._path.with_name("whole.db-wal")
            self.log = log.read_bytes() if log.exists() else b""
            self.before = self._path.read_bytes()
        self.after = self._path.read_bytes()

    def open(self, path: Path) -> Engram:
        """Open without background threads."""
        settings = Settings(key=self.key, backups=False, home=self.folder)
        return Engram.open(path, settings=settings, embedder=TinyEmbedder(), background=False)

    @staticmethod
    def read(engram: Engram) -> dict[str, str]:
        """Return what every memory and turn says, by id."""
        found = {memory.id: memory.content for memory in engram.list(limit=1000, filters=ANY_STATUS)}
        return found | {turn.id: turn.content for turn in engram.turns(limit=1000)}


def examine(patient: Patient, seed: int, tally: Tally) -> None:
    """Damage one copy, use it, and note what happened."""
    chance = random.Random(seed)
    folder = patient.folder / str(seed)
    folder.mkdir()
    path = folder / "memory.db"
    way = _damage(patient, path, chance)
    tally.files[way] += 1
    told = _use(patient, path, f"{seed} {way}", tally)
    saved = _salvage(patient, path, f"{seed} {way}", tally)
    tally.outcomes["told" if told else "unharmed"] += 1
    tally.outcomes["salvaged" if saved else "not salvaged"] += 1
    shutil.rmtree(folder)


def _damage(patient: Patient, path: Path, chance: random.Random) -> str:
    if chance.random() < 0.12:  # the store as it was in use, with a torn log
        path.write_bytes(patient.before)
        log = bytearray(patient.log)
        if chance.random() < 0.5:
            del log[chance.randrange(len(log)) :]
        else:
            flip_bits(log, chance)
        path.with_name("memory.db-wal").write_bytes(log)
        return "torn log"
    content = bytearray(patient.after)
    way = chance.choice(WAYS)
    way(content, chance)
    path.write_bytes(content)
    return way.__name__


def _use(patient: Patient, path: Path, what: str, tally: Tally) -> bool:
    """Open, list, ask and examine a copy; return whether anything was told."""
    copy = path.with_name("used.db")
    for ending in ("", "-wal"):
        if path.with_name(path.name + ending).exists():
            shutil.copyfile(path.with_name(path.name + ending), copy.with_name(copy.name + ending))
    is_log = what.endswith("torn log")
    told, wrong = False, list[str]()
    try:
        engram = patient.open(copy)
    except EngramError:
        return True
    except Exception as exc:  # noqa: BLE001 - which must not be
        tally.foreign.append(f"{what}: open: {exc!r}")
        return True
    for name, call in _CALLS.items():
        try:
            found = call(engram)
            wrong += _differences(patient.truth, found, name, is_part=is_log or name == "recall")
        except EngramError:
            told = True
        except Exception as exc:  # noqa: BLE001
            tally.foreign.append(f"{what}: {name}: {exc!r}")
    try:
        told = told or not engram.doctor().ok
    except Exception as exc:  # noqa: BLE001
        tally.foreign.append(f"{what}: doctor: {exc!r}")
    try:
        engram.close()
    except Exception as exc:  # noqa: BLE001
        tally.foreign.append(f"{what}: close: {exc!r}")
    if wrong and not told:
        tally.silent.append(f"{what}: {wrong[0]}")
    return told


def _memories(engram: Engram) -> dict[str, str]:
    return {memory.id: memory.content for memory in engram.list(limit=1000, filters=ANY_STATUS)}


def _turns(engram: Engram) -> dict[str, str]:
    return {turn.id: turn.content for turn in engram.turns(limit=1000)}


def _asked(engram: Engram) -> dict[str, str]:
    answer = engram.recall("note 7 on topic q7", limit=20)
    return {hit.memory.id: hit.memory.content for hit in answer.hits}


_CALLS: dict[str, Callable[[Engram], dict[str, str]]] = {"list": _memories, "turns": _turns, "recall": _asked}


def _differences(truth: dict[str, str], found: dict[str, str], name: str, *, is_part: bool) -> list[str]:
    wrong = [f"{name}: {one} says {text!r}" for one, text in found.items() if truth.get(one) != text]
    expected = MEMORIES if name == "list" else TURNS
    if not is_part and len(found) < expected:
        wrong.append(f"{name}: {len(found)} of {expected}")
    return wrong


def _salvage(patient: Patient, path: Path, what: str, tally: Tally) -> bool:
    """Salvage a copy; what SQLite can read row by row must be in the new store."""
    new = path.with_name("new.db")
    settings = Settings(key=patient.key, home=patient.folder, backups=False)
    try:
        report = Engram.salvage(path, new, settings=settings, embedder=TinyEmbedder())
    except EngramError:
        return False
    except Exception as exc:  # noqa: BLE001
        tally.foreign.append(f"{what}: salvage: {exc!r}")
        return False
    try:
        with patient.open(new) as engram:
            changed = set(report.changed)
            sound = [check.name for check in engram.doctor().checks if not check.ok]
    except Exception as exc:  # noqa: BLE001
        tally.foreign.append(f"{what}: salvaged: {exc!r}")
        return False
    if set(sound) - {"memories", "embedded"} or ("memories" in sound and not changed):
        tally.unsaved.append(f"{what}: the new store is not sound: {sound}")
    named = {one for table in report.tables for one in table.ids}  # among them rows that are no memories
    readable = {one for one in _readable(path, patient.key) if one in patient.truth}
    if missing := readable - _readable(new, patient.key) - named:  # in whatever scope
        tally.unsaved.append(f"{what}: {len(missing)} rows")
    return True


def _readable(path: Path, key: str) -> set[str]:
    """Return the ids of memories and turns that SQLite reads one by one, with its own means."""
    copy = path.with_name("looked.db")
    for ending in ("", "-wal"):
        if path.with_name(path.name + ending).exists():
            shutil.copyfile(path.with_name(path.name + ending), copy.with_name(copy.name + ending))
    found: set[str] = set()
    try:
        connection = apsw.Connection(str(copy))
    except apsw.Error:
        return found
    try:
        if key:
            connection.pragma("key", f"raw:{key}")
        for table, count in (("memories", 2 * MEMORIES), ("turns", 2 * TURNS)):
            for number in range(1, count):
                try:
                    sql = f"SELECT id, * FROM {table} WHERE key = ?"  # noqa: S608 - our own tables
                    found |= {str(row[0]) for row in connection.execute(sql, (number,)).fetchall()}
                except (apsw.Error, UnicodeDecodeError):
                    continue
    finally:
        connection.close()
    return found


def run(folder: Path, files: int, seed: int) -> Tally:
    """Damage so many files, two in three of them plain."""
    tally = Tally()
    plain, sealed = folder / "plain", folder / "sealed"
    plain.mkdir()
    sealed.mkdir()
    patients = [Patient(plain, ""), Patient(plain.with_name("sealed"), KEY)]
    for number in range(files):
        examine(patients[number % 3 == 2], seed + number, tally)
        if number % 100 == 99:
            print(tally, file=sys.stderr, flush=True)
    return tally


def main() -> None:
    """Read the command line, damage, and report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        tally = run(Path(folder), options.files, options.seed)
    for line in (*tally.foreign, *tally.silent, *tally.unsaved):
        print(line)
    print(tally, f"in {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
