"""
Does a year of aging and dreaming lose what somebody wants to keep, and how much smaller is the store?

    python -m evals.year [--embedder static] [--reader rules] [--preset balanced ...] [--seed 1] [--folder F]

Sixty things worth keeping (`year_data`) are told once each, in the first nine months, between conversations
by other hands: `conversations/open` and the open halves of `beliefs/data`, about seven messages a day. The
same year is lived twice: with a sweep a week and a dream a month, and with neither. Then every thing is asked
for. An answer is right where one of the first five hits holds its words.

Two sizes are told. The *store per answer* is what all living memories cost in tokens, conclusions of dreams
and summaries included, over the right answers: what is carried along for each. The *tokens given* are what
the hits of a right answer cost: what is read for each. Besides, everything is asked that the authors of the
conversations thought worth asking on the day, which nobody promised to keep for a year: how much of it is
still among the hits, and how much is found at all, in the archive or among what was said.
The write-up is docs/lab/0045-aging-by-kind.md.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any

from msgspec import Struct

from engramdb import Engram, Settings
from engramdb.policy import PRESETS
from engramdb.testing import ManualClock
from engramdb.text.tokens import count_tokens
from engramdb.values import Memory, Status
from evals.report import keep, show

HERE = Path(__file__).parent
TALKS = HERE / "conversations" / "open"
BELIEFS = HERE / "beliefs" / "data"
BEGIN = datetime(2025, 1, 6, 8, tzinfo=UTC)
DAYS = 365
LAST_TOLD = 270
"""What is to be kept is told by then, so that it is three months old at least."""
TOP = 5
SWEEP_DAYS, DREAM_DAYS = 7, 30
RETOLD_SHARE = 0.6
"""A text tells what was asked for of a conversation where it has so much of its words."""
SHARE_REMEMBERED = 0.2
"""Of what is to be kept so much is stated by `remember`; the rest is only said."""


class Kept(Struct, frozen=True):
    """Something worth keeping, how it is asked for, and what a right answer holds."""

    kind: str
    text: str
    question: str
    answer: str


class Message(Struct, frozen=True):
    """Something said on a day of the year."""

    day: int
    session: str
    text: str
    role: str = "user"
    is_remembered: bool = False


# --- what is told -------------------------------------------------------------------------------------------


def worth_keeping() -> list[Kept]:
    """Return what is asked for at the end."""
    return [Kept(**one) for one in _lines(HERE / "year_data" / "keep.jsonl")]


def told(seed: int) -> list[Message]:
    """Return everything that is said in the year, in its order."""
    chance = random.Random(seed)
    said = list(_small_talk(chance))
    for number, one in enumerate(worth_keeping()):
        day = chance.randrange(LAST_TOLD)
        is_remembered = chance.random() < SHARE_REMEMBERED
        said.append(Message(day, f"k{number}", one.text, is_remembered=is_remembered))
    return sorted(said, key=lambda one: (one.day, one.session))


def _small_talk(chance: random.Random) -> Iterator[Message]:
    """Yield conversations, stories, pairs and repetitions, each on days of its own."""
    for path in sorted(TALKS.glob("*.jsonl")):
        for number, talk in enumerate(_lines(path)):
            day = chance.randrange(DAYS)
            for turn in talk["turns"]:
                yield Message(day, f"{path.stem}{number}", turn["text"], role=turn["by"])
    for name in ("stories", "traps"):
        for one in _lines(BELIEFS / f"open_{name}.jsonl"):
            days = sorted(chance.sample(range(DAYS), len(one["turns"])))
            for day, (_, role, text) in zip(days, one["turns"], strict=True):
                yield Message(day, f"{one['id']} {day}", text, role=role)
    for name in ("harmless", "conflict"):
        for one in _lines(BELIEFS / f"open_{name}.jsonl"):
            day = chance.randrange(DAYS - min(one["days"], DAYS - 1))
            yield Message(day, f"{one['id']}a", one["old"])
            yield Message(min(DAYS - 1, day + one["days"]), f"{one['id']}b", one["new"])
    for one in _lines(BELIEFS / "open_groups.jsonl"):
        for place, wording in enumerate(one["wordings"]):
            yield Message(chance.randrange(DAYS), f"{one['id']} {place}", wording)


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line]


# --- a life -------------------------------------------------------------------------------------------------


def live(engram: Engram, clock: ManualClock, said: Sequence[Message], *, ages: bool) -> None:
    """Tell a year day by day, with or without sweeps and dreams."""
    by_day: dict[int, list[Message]] = {}
    for one in said:
        by_day.setdefault(one.day, []).append(one)
    for day in range(DAYS):
        clock.set(BEGIN + timedelta(days=day))
        for one in by_day.get(day, []):
            clock.advance(minutes=2)
            if one.is_remembered:
                engram.remember(one.text, session=one.session)
            else:
                engram.observe(one.text, role=one.role, session=one.session)
        engram.flush()
        if ages and day % SWEEP_DAYS == SWEEP_DAYS - 1:
            engram.age()
        if ages and day % DREAM_DAYS == DREAM_DAYS - 1:
            engram.dream()
    clock.set(BEGIN + timedelta(days=DAYS))


def measure(engram: Engram) -> dict[str, Any]:
    """Return what is answered, what is offered from the archive, and what the store and an answer cost."""
    right: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    offered, given, misses = 0, 0, []
    for one in worth_keeping():
        answer = engram.recall(one.question, limit=TOP, turns=False)
        is_right = any(_holds(hit.memory, one.answer) for hit in answer.hits)
        asked[one.kind] += 1
        right[one.kind] += is_right
        if is_right:
            given += sum(count_tokens(hit.memory.content) for hit in answer.hits)
        else:
            offered += any(_holds(match.memory, one.answer) for match in answer.archived)
            misses.append(one.text)
    living = list(_living(engram))
    tokens = sum(count_tokens(one.content) for one in living)
    total = sum(right.values())
    return {
        "right": total,
        "of": sum(asked.values()),
        "offered from the archive": offered,
        "memories": len(living),
        "derived": sum(one.is_restatement for one in living),
        "tokens": tokens,
        "store per answer": tokens / max(1, total),
        "tokens given": given / max(1, total),
        **_ask_of_talk(engram),
        "by kind": {kind: f"{right[kind]}/{asked[kind]}" for kind in asked},
        "missed": misses,
    }


def _holds(memory: Memory, words: str) -> bool:
    return words.casefold() in memory.content.casefold()


def _ask_of_talk(engram: Engram) -> dict[str, int]:
    """Return how much is still told of what could be asked on the day, and how much is found at all."""
    told, found, number = 0, 0, 0
    for path in sorted(TALKS.glob("*.jsonl")):
        for one in (ask for talk in _lines(path) for ask in talk["asks"]):
            answer = engram.recall(one["q"], limit=TOP)
            hits = [hit.memory.content for hit in answer.hits]
            beside = [match.memory.content for match in answer.archived]
            beside += [said.excerpt for said in answer.said]
            is_told = any(_retells(text, one["words"]) for text in hits)
            number += 1
            told += is_told
            found += is_told or any(_retells(text, one["words"]) for text in beside)
    return {"asked of the talk": number, "told": told, "found": found}


def _retells(text: str, words: str) -> bool:
    wanted = set(words.casefold().split())
    return len(wanted & set(text.casefold().split())) >= RETOLD_SHARE * len(wanted)


def _living(engram: Engram) -> Iterator[Memory]:
    before = None
    while page := engram.list(limit=1000, before=before):
        yield from (one for one in page if one.status in (Status.ACTIVE, Status.CHALLENGED))
        before = page[-1].id


def run(settings: Settings, said: Sequence[Message], path: Path, *, ages: bool) -> dict[str, Any]:
    """Live a year in a new store and return what is left of it."""
    started, busy, clock = time.perf_counter(), time.process_time(), ManualClock(BEGIN)
    with Engram.open(path, settings=settings, clock=clock, background=False) as engram:
        live(engram, clock, said, ages=ages)
        found = measure(engram)
    spent = {"seconds": time.perf_counter() - started, "processor seconds": time.process_time() - busy}
    return found | spent


def main() -> None:
    """Live the years and report."""
    parser = argparse.ArgumentParser(description="A year with aging and dreams, and one without")
    parser.add_argument("--embedder", default="static")
    parser.add_argument("--reader", default="rules", help="rules, pack or auto")
    parser.add_argument("--folder", type=Path, help="where the stores are kept to be looked at")
    parser.add_argument("--preset", nargs="+", default=["balanced"], choices=list(PRESETS))
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    said = told(arguments.seed)
    rows, found = [], {}
    with tempfile.TemporaryDirectory() as temporary:
        for preset, is_on in product(arguments.preset, ("off", "on")):
            path = (arguments.folder or Path(temporary)) / f"{preset}-{is_on}.db"
            settings = Settings(
                policy=preset, durability="relaxed", embedder=arguments.embedder, reader=arguments.reader
            )
            one = run(settings, said, path, ages=is_on == "on")
            found[f"{preset} {is_on}"] = one
            shown = {name: value for name, value in one.items() if name not in ("missed", "by kind")}
            rows.append({"preset": preset, "aging and dreams": is_on, **shown})
            print(preset, is_on, one["by kind"], *one["missed"], sep="\n  ", flush=True)
    show(f"{len(said)} messages, {arguments.embedder}", rows)
    keep(f"year-{arguments.embedder}-{arguments.seed}", {"messages": len(said), "runs": found})


if __name__ == "__main__":
    main()
