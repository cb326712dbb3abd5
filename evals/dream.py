"""
What a dream does to a year of memories: size, duplicates, current and stale facts found, and tokens.

    python -m evals.dream [--seed 7] [--embedder static] [--steps] [--json FILE]

A generated life (`evals.life`) is told to an Engram as a user would tell it. The store is then measured
as it is (*heap*), after one dream at the end of the year (*dreamed*), after aging (*aged*) or dreaming
(*dreamed monthly*) every month, and after both (*aged and dreamed*). `--steps` also takes a copy of the heap
for every step of the dream and lets it take that step alone, which shows a step that makes recall worse. How
long a dream takes, and how long others wait for it, is measured by `evals.dream_speed`.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engramdb import Engram, Filters, Memory, Settings
from engramdb.models.registry import open_embedder
from engramdb.testing import ManualClock
from engramdb.text.tokens import count_tokens
from engramdb.values.query import MAX_LIMIT
from evals.life import BEGIN, DAYS, enter, live
from evals.report import keep, show

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from engramdb import Hit
    from engramdb.models.embedder import Embedder
    from evals.life import Life, Slot

CUT = 5
SEARCHED = 20
"""So many hits are read for a current fact before it counts as not found."""
ABOUT_CUT = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """How one question fared: where the current fact stood, and what was stale."""

    slot: Slot
    rank: int | None
    tokens: int
    """Of the hits up to the current fact, which whoever asks has to read."""
    stale: int
    """How many of the first hits state what is not so any more, or never was."""
    hits: int
    first_stale: int | None


def ask(engram: Engram, life: Life, slot: Slot) -> Answer:
    """Ask for one slot and judge the hits by the ground truth."""
    hits = engram.recall(slot.question, limit=SEARCHED).hits
    verdicts = [verdict(life, slot, hit.memory.content) for hit in hits]
    rank = next((place for place, one in enumerate(verdicts, start=1) if one == "current"), None)
    return Answer(
        slot=slot,
        rank=rank,
        tokens=sum(count_tokens(hit.memory.content) for hit in hits[:rank]),
        stale=verdicts[:CUT].count("stale"),
        hits=len(hits[:CUT]),
        first_stale=next((place for place, one in enumerate(verdicts, start=1) if one == "stale"), None),
    )


def verdict(life: Life, slot: Slot, text: str) -> str:
    """Say whether a text states the current value of a slot, only a stale one, or neither."""
    found = {fact for fact in life.stated_by(text) if fact.slot == slot.name}
    if any(fact.is_current for fact in found):
        return "current"
    return "stale" if found else ""


def measure(engram: Engram, life: Life, label: str) -> tuple[dict[str, Any], list[Answer]]:
    """Return the numbers of one store, and how each question fared."""
    active = list(every(engram))
    answers = [ask(engram, life, slot) for slot in life.slots]
    found = [one for one in answers if one.rank is not None and one.rank <= CUT]
    changed = [one for one in answers if one.slot.stale]
    row = {
        "": label,
        "active": len(active),
        "MB": 0.0,
        "known": known(life, active),
        **duplicates(life, active),
        f"recall@{CUT}": len(found) / len(answers),
        "first is current": sum(one.rank == 1 for one in answers) / len(answers),
        f"stale of {CUT}": sum(one.stale for one in answers) / max(1, sum(one.hits for one in answers)),
        "stale before current": sum(map(_is_misled, changed)) / len(changed),
        f"facts in {ABOUT_CUT} about": about(engram, life),
    }
    return row, answers


def every(engram: Engram) -> Iterator[Memory]:
    """Yield every active memory."""
    before = None
    while page := engram.list(limit=MAX_LIMIT, before=before, filters=Filters()):
        yield from page
        before = page[-1].id


def known(life: Life, active: Sequence[Memory]) -> float:
    """Return for which share of the questions some active memory states the current fact."""
    stated = {fact for memory in active for fact in life.stated_by(memory.content)}
    return sum(fact in stated for fact in life.facts if fact.is_current) / len(life.slots)


def duplicates(life: Life, active: Sequence[Memory]) -> dict[str, Any]:
    """Return which share of the memories that state one fact says what another one says already."""
    told: dict[tuple[str, str], int] = {}
    for memory in active:
        facts = life.stated_by(memory.content)
        if len(facts) == 1:
            (fact,) = facts
            told[fact.slot, fact.value] = told.get((fact.slot, fact.value), 0) + 1
    pairs = sum(count * (count - 1) // 2 for count in told.values())
    surplus = sum(count - 1 for count in told.values())
    return {"duplicate rate": surplus / max(1, sum(told.values())), "same pairs": pairs}


def about(engram: Engram, life: Life) -> float:
    """Return how many different current facts ten hits about a person or project hold, on average."""
    counts = []
    for who in dict.fromkeys(slot.about for slot in life.slots if slot.about != "I"):
        hits: Sequence[Hit] = engram.recall(f"What do you know about {who}?", limit=ABOUT_CUT).hits
        found = {fact for hit in hits for fact in life.stated_by(hit.memory.content)}
        counts.append(sum(fact.is_current and fact.about == who for fact in found))
    return sum(counts) / len(counts)


def tokens_for_the_same(runs: dict[str, list[Answer]]) -> dict[str, float]:
    """Return the tokens read per question until the current fact, over the questions that all runs answer."""
    both = [
        place
        for place, answers in enumerate(zip(*runs.values(), strict=True))
        if all(one.rank is not None for one in answers)
    ]
    return {
        label: sum(answers[place].tokens for place in both) / max(1, len(both))
        for label, answers in runs.items()
    }


def _is_misled(answer: Answer) -> bool:
    if answer.first_stale is None or answer.first_stale > CUT:
        return False
    return answer.rank is None or answer.first_stale < answer.rank


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """Where stores are made, and with what."""

    folder: Path
    embedder: Embedder
    life: Life

    def opened(self, name: str) -> tuple[Engram, ManualClock]:
        """Open a store by name at the end of the year."""
        clock = ManualClock(BEGIN)
        settings = Settings(home=self.folder, durability="relaxed")
        path = self.folder / f"{name}.db"
        return Engram.open(
            path, settings=settings, clock=clock, embedder=self.embedder, background=False
        ), clock

    def told(self, name: str, every_month: Callable[[Engram], object] | None = None) -> None:
        """Tell the life to a new store."""
        engram, clock = self.opened(name)
        with engram:
            monthly = None if every_month is None else lambda: every_month(engram)
            enter(self.life, engram, clock, every_month=monthly)

    def after(self, name: str, change: Callable[[Engram], object], *, label: str) -> Any:
        """Copy a store, change the copy at the end of the year and measure it."""
        path = self.folder / "copy.db"
        for old in self.folder.glob("copy.db*"):
            old.unlink()
        shutil.copy(self.folder / f"{name}.db", path)
        engram, clock = self.opened("copy")
        with engram:
            clock.advance(days=DAYS)
            change(engram)
            row, answers = measure(engram, self.life, label)
        return {**row, "MB": path.stat().st_size / 1e6}, answers  # closed, and without its log


def compare(bench: Bench, *, single_steps: bool) -> list[dict[str, Any]]:
    """Return a row for every way of looking after the store."""
    bench.told("heap")
    bench.told("aged", lambda engram: engram.age())
    bench.told("dreamed monthly", lambda engram: engram.dream())
    bench.told("aged and dreamed", lambda engram: (engram.age(), engram.dream()))
    found = [
        bench.after("heap", lambda _: None, label="heap"),
        bench.after("heap", lambda engram: engram.dream(), label="dreamed"),
        bench.after("aged", lambda _: None, label="aged"),
        bench.after("dreamed monthly", lambda _: None, label="dreamed monthly"),
        bench.after("aged and dreamed", lambda _: None, label="aged and dreamed"),
    ]
    if single_steps:
        found += [
            bench.after("heap", partial(_take_alone, step), label=f"only {step}")
            for step in step_names(bench)
        ]
    tokens = tokens_for_the_same({row[""]: answers for row, answers in found})
    return [{**row, "tokens for the same": tokens[row[""]]} for row, _ in found]


def _take_alone(step: str, engram: Engram) -> None:
    engram.dream(steps=[step])


def step_names(bench: Bench) -> list[str]:
    """Return the names of the steps that a dream takes."""
    engram, clock = bench.opened("heap")
    with engram:
        clock.advance(days=DAYS)
        return [report.step for report in engram.dream(dry_run=True).steps]


def main() -> None:
    """Measure, print the tables and keep the JSON."""
    parser = argparse.ArgumentParser(prog="python -m evals.dream", description=__doc__.split("\n")[1])
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--embedder", default="static")
    parser.add_argument("--home", type=Path, default=Settings.load().home)
    parser.add_argument("--steps", action="store_true", help="also take every step alone")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    embedder = open_embedder(arguments.embedder, arguments.home)
    life = live(seed=arguments.seed)
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(folder=Path(folder), embedder=embedder, life=life)
        rows = compare(bench, single_steps=arguments.steps)
    show(f"A year of {len(life.said)} turns and {len(life.facts)} facts, {embedder.identity.name}", rows)
    found = {"seed": arguments.seed, "embedder": str(embedder.identity), "rows": rows}
    print(f"\nWritten to {keep('dream', found, path=arguments.json)}")


if __name__ == "__main__":
    main()
