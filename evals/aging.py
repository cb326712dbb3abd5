"""
What does aging cost: the arithmetic, a whole sweep over a store, and looking ahead?

    python -m evals.aging [--columns 100000 1000000] [--stores 100000] [--due 0 0.01 0.1] [--ahead 10000]

Columns are made up: a year of memories, most read out of turns, recalled a few times or never. Stores are
filled with the same, straight into their tables, and swept with nothing, a hundredth and a tenth of them due.
The machines are shared, so arithmetic is given in processor time, and the rest in both.
The write-up is docs/lab/0016-aging.md.
"""

from __future__ import annotations

import argparse
import dataclasses
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from engramdb.lifecycle.aging import compare, forecast, presets_with
from engramdb.lifecycle.rules import Contest, judge
from engramdb.lifecycle.sweep import Sweeper, sweep
from engramdb.policy import PRESETS
from engramdb.store.sqlite.rows import COLUMNS, to_row
from engramdb.store.sqlite.store import SqliteStore
from engramdb.values import GLOBAL, Layer, Memory, new_id
from engramdb.values.aging import LASTINGS, LAYERS, NEVER, SOURCES
from engramdb.values.population import Population, to_microseconds
from evals.report import keep, show

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from engramdb.policy import AgingPolicy

NOW = datetime(2026, 1, 1, tzinfo=UTC)
MOMENT = to_microseconds(NOW)
YEAR = 365 * 86_400_000_000
CATEGORIES = ("fact", "general", "technical", "person", "preference", "decision", "commitment")
PROJECT_SIZE = 9_900
"""Just below the limit of `tiered`, so that some projects are too full and most are not."""
PAGE_ROWS = 5_000
BATCH_ROWS = 20_000
DUE = (0.0, 0.01, 0.1)
"""Of a store: nothing to write, an ordinary sweep, one after a long pause."""
REPEATS = 3


@dataclasses.dataclass(frozen=True)
class Spent:
    """How long something took, on the processor and on the wall."""

    cpu: float
    wall: float


def timed(action: Callable[[], object], *, repeats: int = 1) -> Spent:
    """Return the least that the action took of so many times."""
    found = []
    for _ in range(repeats):
        cpu, wall = time.process_time(), time.perf_counter()
        action()
        found.append(Spent(time.process_time() - cpu, time.perf_counter() - wall))
    return Spent(min(one.cpu for one in found), min(one.wall for one in found))


def made_up(size: int, *, seed: int = 1) -> Population:
    """Return a year of memories as columns."""
    chance = np.random.default_rng(seed)
    created = MOMENT - (chance.random(size) * YEAR).astype(np.int64)
    recalls = np.where(chance.random(size) < 0.5, 0, chance.geometric(0.35, size)).astype(np.int64)
    rows = np.repeat(np.arange(size), np.minimum(recalls, 20))
    moments = created[rows] + ((MOMENT - created[rows]) * chance.random(len(rows))).astype(np.int64)
    recalled = created.copy()
    np.maximum.at(recalled, rows, moments)
    return Population(
        keys=np.arange(1, size + 1),
        said=created,
        confirmed=created,
        recalled=recalled,
        forget_after=np.full(size, NEVER),
        due=np.zeros(size, np.int64),
        asked=np.full(size, NEVER),
        changed=created,
        recalls=recalls,
        sessions=np.minimum(recalls, 4),
        confirmations=chance.integers(0, 3, size),
        confidence=chance.uniform(0.5, 1, size),
        importance=chance.random(size) ** 2,
        stability=(1 + 0.1 * recalls).astype(np.float64),
        strength=np.ones(size),
        arousal=chance.random(size) ** 3,
        sources=chance.integers(0, len(SOURCES), size).astype(np.int8),
        layers=chance.choice(
            [LAYERS.index(Layer.EPISODIC), LAYERS.index(Layer.SEMANTIC)], size, p=[0.8, 0.2]
        ).astype(np.int8),
        statuses=np.zeros(size, np.int8),
        lastings=chance.integers(0, len(LASTINGS), size).astype(np.int8),
        categories=np.array(CATEGORIES)[chance.integers(0, len(CATEGORIES), size)],
        projects=chance.integers(0, 1 + size // PROJECT_SIZE, size),
        pinned=chance.random(size) < 0.01,
        held=np.zeros(size, np.bool_),
        extracted=chance.random(size) < 0.7,
        derived=np.zeros(size, np.bool_),
        summaries=np.zeros(size, np.bool_),
        enduring=chance.random(size) < 0.1,
        episodes=chance.random(size) < 0.5,
        session_ended=np.full(size, NEVER),
        recent_rows=rows,
        recent_moments=moments,
    )


# --- arithmetic ---------------------------------------------------------------------------------------------


def arithmetic(size: int) -> list[dict[str, Any]]:
    """Return what judging so many memories takes under each preset, at once and in the pages of a sweep."""
    population, found = made_up(size), []
    pages = [
        population.take(np.arange(start, min(start + PAGE_ROWS, size))) for start in range(0, size, PAGE_ROWS)
    ]
    for name, preset in PRESETS.items():
        policy = preset.aging
        at_once = timed(lambda policy=policy: judge(population, policy, MOMENT), repeats=REPEATS)  # type: ignore[misc]
        in_pages = timed(lambda policy=policy: judge_pages(pages, policy), repeats=REPEATS)  # type: ignore[misc]
        found.append(
            {
                "memories": size,
                "preset": name,
                "at once, s a million": at_once.cpu * 1e6 / size,
                "in pages, s a million": in_pages.cpu * 1e6 / size,
            }
        )
    return found


def judge_pages(pages: Sequence[Population], policy: AgingPolicy) -> None:
    """Do what a sweep computes: judge every page, and once more where rules choose among those due."""
    contest = Contest(policy, already={})
    for page in pages:
        judge(page, policy, MOMENT)
    if contest.is_needed:
        for page in pages:
            contest.enter(judge(page, policy, MOMENT))
        list(contest.losers())


# --- stores -------------------------------------------------------------------------------------------------


def filled(path: Path, size: int, *, due: float = 0.0) -> SqliteStore:
    """Return a store of so many memories, a share of which the rule `speculative` is due for."""
    store = SqliteStore.open(str(path), now=NOW)
    names = ", ".join(("key", "change", "fingerprint", "scope", *COLUMNS))
    marks = ", ".join("?" * (len(COLUMNS) + 4))
    for start in range(0, size, BATCH_ROWS):
        chance = np.random.default_rng(start)
        rows = list(
            _rows(made_up(min(BATCH_ROWS, size - start), seed=start), chance.random(BATCH_ROWS) < due)
        )
        keys = range(start + 1, start + 1 + len(rows))
        with store.atomic() as tx:
            scope = tx.scopes.make(GLOBAL)
            connection = tx.memories._connection  # noqa: SLF001 - a million one by one would take an hour
            keyed = ((key, key, row[0].encode(), scope, *row) for key, row in zip(keys, rows, strict=True))
            connection.executemany(f"INSERT INTO memories ({names}) VALUES ({marks})", keyed)  # noqa: S608
            texts = ((key, f"statement number {key}") for key in keys)
            connection.executemany("INSERT INTO terms (rowid, words) VALUES (?, ?)", texts)
            connection.execute("UPDATE counters SET value = ? WHERE name = 'change'", (keys[-1],))
    return store


def _rows(population: Population, is_due: NDArray[np.bool_]) -> Iterator[tuple[Any, ...]]:
    """Yield the made-up memories as rows, all knowledge, which only doubt lets go: two months, never sure."""
    columns = {name: place for place, name in enumerate(COLUMNS)}
    template = list(to_row(Memory(id="", content="a statement", created_at=NOW, updated_at=NOW)))
    recent: dict[int, list[int]] = {}
    for row, moment in zip(population.recent_rows.tolist(), population.recent_moments.tolist(), strict=True):
        recent.setdefault(row, []).append(moment)
    for row in range(len(population)):
        values = template.copy()
        made = MOMENT - 60 * YEAR // 365 if is_due[row] else int(population.said[row])
        known = sorted(recent.get(row, [])) if not is_due[row] else []
        changes = {
            "id": new_id(NOW),
            "created_at": made,
            "updated_at": made,
            "layer": Layer.SEMANTIC.value,
            "kind": "episode" if population.episodes[row] else "note",
            "category": str(population.categories[row]) if not is_due[row] else "fact",
            "extractor": "heuristic-1" if population.extracted[row] else None,
            "importance": max(0.35, float(population.importance[row])),
            "confidence": 0.3 if is_due[row] else float(population.confidence[row]),
            "access_count": len(known),
            "access_last_at": known[-1] if known else None,
            "access_recent": str(known).replace(" ", ""),
        }
        if changes["category"] == "commitment":
            changes["category"] = "decision"
        for name, value in changes.items():
            values[columns[name]] = value
        yield tuple(values)


def sweeps(size: int, shares: Sequence[float], folder: Path) -> list[dict[str, Any]]:
    """Return what whole sweeps over a store take, with such shares of it due."""
    found = []
    for due in shares:
        store = filled(folder / f"{size}-{due}.db", size, due=due)
        policy = PRESETS["balanced"].aging
        pages: list[Population] = []
        read = timed(lambda store=store, pages=pages: pages.extend(read_pages(store)))  # type: ignore[misc]
        judged = timed(lambda policy=policy, pages=pages: judge_pages(pages, policy))  # type: ignore[misc]
        found.append(_swept(store, "balanced", due, read, judged))
        if due == 0:
            judged = timed(lambda pages=pages: judge_pages(pages, PRESETS["tiered"].aging))  # type: ignore[misc]
            found.append(_swept(store, "tiered", due, read, judged))
        store.close()
    return found


def read_pages(store: SqliteStore) -> Iterator[Population]:
    """Yield everything that a sweep looks at, as it reads it."""
    after = 0
    while True:
        with store.read() as tx:
            page = tx.ages.page(after_key=after, limit=PAGE_ROWS)
        if not len(page):
            return
        after = int(page.keys[-1])
        yield page


def _swept(store: SqliteStore, preset: str, due: float, read: Spent, judged: Spent) -> dict[str, Any]:
    policy = PRESETS[preset].aging
    reports = []
    sweeper = Sweeper(store=store, policy=policy, policy_name=preset, now=NOW)
    whole = timed(lambda: reports.append(sweep(sweeper)))
    (report,) = reports
    looks = 2 if preset == "tiered" else 1
    left = sum(number for rule, number in report.by_rule.items() if "_to_" not in rule)
    return {
        "memories": report.looked_at,
        "preset": preset,
        "due": due,
        "left": left,
        "moved": report.changed - left,
        "read cpu s": looks * read.cpu,
        "judge cpu s": judged.cpu,
        "whole cpu s": whole.cpu,
        "whole wall s": whole.wall,
        "longest write ms": report.longest_write_milliseconds,
    }


# --- looking ahead ------------------------------------------------------------------------------------------


def looking_ahead(size: int, folder: Path) -> list[dict[str, Any]]:
    """Return what a forecast for a year takes under each preset, and a comparison of all of them."""
    store, found = filled(folder / f"ahead-{size}.db", size, due=0.01), []
    for name, preset in PRESETS.items():
        spent = timed(
            lambda name=name, policy=preset.aging: forecast(  # type: ignore[misc]
                store, policy, name, scope=GLOBAL, now=NOW, days=365
            )
        )
        found.append({"memories": size, "forecast": name, "cpu s": spent.cpu, "wall s": spent.wall})
    every = presets_with("balanced", PRESETS["balanced"].aging)
    spent = timed(lambda: compare(store, every, scope=GLOBAL, now=NOW, days=(30, 90, 365)))
    found.append({"memories": size, "forecast": "all compared", "cpu s": spent.cpu, "wall s": spent.wall})
    store.close()
    return found


def main() -> None:
    """Measure, print the tables and keep the JSON."""
    parser = argparse.ArgumentParser(prog="python -m evals.aging", description=__doc__.split("\n")[1])
    parser.add_argument("--columns", type=int, nargs="*", default=[100_000, 1_000_000])
    parser.add_argument("--stores", type=int, nargs="*", default=[100_000])
    parser.add_argument("--due", type=float, nargs="*", default=DUE)
    parser.add_argument("--ahead", type=int, nargs="*", default=[10_000, 100_000])
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = {
            "Arithmetic of one sweep, processor time": [
                row for size in arguments.columns for row in arithmetic(size)
            ],
            "Whole sweeps over a store": [
                row for size in arguments.stores for row in sweeps(size, arguments.due, Path(folder))
            ],
            "Looking a year ahead": [
                row for size in arguments.ahead for row in looking_ahead(size, Path(folder))
            ],
        }
    for title, rows in found.items():
        if rows:
            show(title, rows)
    print(f"\nWritten to {keep('aging', found, path=arguments.json)}")


if __name__ == "__main__":
    main()
