"""
How well questions about someone or something find what is about them.

Run by `python -m evals.queries entities`: a small world of memories goes through the write pipeline, and each
question is asked of `recall.entity`. What is labelled as being about someone is compared with the
memories of the entities that the question names (`named`), and with the profile that a name gives
(`profile`). Questions that only seem to name something must find nothing. `failures(half)` shows
mistakes: look at the tune half only. The write-up is docs/lab/0017-entities-in-recall.md.
"""

from __future__ import annotations

import json
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engramdb import Engram, Filters, Layer, Scope, Settings
from engramdb.errors import MemoryNotFound
from engramdb.recall.entity import linked, named_in, profile
from engramdb.testing import ManualClock
from evals.capture.labelled import HALVES, half_of, scores

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engramdb.store.contract import Transaction

LABELS = Path(__file__).parent / "data" / "entities.json"
EVERYONE = Scope()
MANY = 1000
_ROUNDS = 3
"""How often each question is asked for the time; the fastest counts, as others share the machine."""

Case = dict[str, Any]


@dataclass(frozen=True, slots=True)
class World:
    """The stored memories: what each is about, by its key."""

    engram: Engram
    about: dict[int, frozenset[str]]
    texts: dict[int, str]

    def wanted(self, case: Case) -> set[int]:
        """Return the keys of the memories that are about what the question names."""
        return {key for key, about in self.about.items() if about & set(case["about"])}


@contextmanager
def built() -> Iterator[World]:
    """Store the world's memories, one after the other as a user would, and give it back."""
    labelled = _labels()
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(home=Path(folder), durability="relaxed", embedder="static")
        clock = ManualClock()
        with Engram.open(Path(folder) / "w.db", settings=settings, clock=clock, background=False) as engram:
            about: dict[str, set[str]] = {}
            for one in labelled["memories"]:
                day = datetime.fromisoformat(one["day"]).replace(tzinfo=UTC)
                memory = engram.remember(
                    one["text"], layer=Layer(one["layer"]), speaker=one.get("speaker"), occurred_at=day
                )
                about.setdefault(memory.id, set()).update(one["about"])
                clock.advance(seconds=1)
            with engram._parts.store.read() as tx:  # noqa: SLF001 - the store has no door of its own
                by_key = tx.memories.by_keys(range(1, len(labelled["memories"]) + 1))
            keyed = {key: frozenset(about[memory.id]) for key, memory in by_key.items()}
            yield World(engram, keyed, {key: memory.content for key, memory in by_key.items()})


def measure() -> list[dict[str, Any]]:
    """Return a row for each half."""
    with built() as world, world.engram._parts.store.read() as tx:  # noqa: SLF001
        return [{"half": half, **_row(tx, world, cases(half))} for half in HALVES]


def cases(half: str) -> list[Case]:
    """Return the questions of a half."""
    return [case for case in _labels()["questions"] if half_of(case["text"]) == half]


def failures(half: str) -> list[str]:
    """Return a line for every memory that is wrongly found or missed."""
    lines = []
    with built() as world, world.engram._parts.store.read() as tx:  # noqa: SLF001
        for case in cases(half):
            wanted = world.wanted(case)
            asked = [("named", _named(tx, case))]
            if "profile" in case:
                asked.append(("profile", _profiled(tx, case)))
            for how, found in asked:
                names = [one.name for one in named_in(tx, case["text"], scope=EVERYONE)]
                head = f"{how} {case['text']!r} {names}"
                lines += [f"{head} + {world.texts[key]}" for key in sorted(found - wanted)]
                lines += [f"{head} - {world.texts[key]}" for key in sorted(wanted - found)]
    return lines


def _row(tx: Transaction, world: World, labelled: Sequence[Case]) -> dict[str, Any]:
    named = [(world.wanted(case), _named(tx, case)) for case in labelled]
    profiles = [(world.wanted(case), _profiled(tx, case)) for case in labelled if "profile" in case]
    idle = [found for wanted, found in named if not wanted]
    times = sorted(_milliseconds(tx, case) for case in labelled)
    return {
        "questions": len(labelled),
        **{f"named {name}": value for name, value in _scores(named).items()},
        **{f"profile {name}": value for name, value in _scores(profiles).items()},
        "silent": f"{sum(not found for found in idle)} of {len(idle)}",
        "ms": times[len(times) // 2],
    }


def _scores(pairs: Sequence[tuple[set[int], set[int]]]) -> dict[str, float]:
    """Return precision and recall over all memories of all questions."""
    right = sum(len(wanted & found) for wanted, found in pairs)
    claimed = sum(len(found - wanted) for wanted, found in pairs)
    missed = sum(len(wanted - found) for wanted, found in pairs)
    return scores(right, claimed, missed)


def _named(tx: Transaction, case: Case) -> set[int]:
    entities = named_in(tx, case["text"], scope=EVERYONE)
    return set(linked(tx, entities, scope=EVERYONE, filters=Filters(), limit=MANY))


def _profiled(tx: Transaction, case: Case) -> set[int]:
    try:
        found = profile(tx, case["profile"], scope=EVERYONE, limit=MANY)
    except MemoryNotFound:
        return set()
    ids = {memory.id for memories in found.memories.values() for memory in memories}
    keyed = tx.memories.by_keys(range(1, MANY))
    return {key for key, memory in keyed.items() if memory.id in ids}


def _milliseconds(tx: Transaction, case: Case) -> float:
    fastest = float("inf")
    for _ in range(_ROUNDS):
        start = time.perf_counter()
        named_in(tx, case["text"], scope=EVERYONE)
        fastest = min(fastest, time.perf_counter() - start)
    return fastest * 1000


def _labels() -> dict[str, list[Case]]:
    found: dict[str, list[Case]] = json.loads(LABELS.read_text("utf-8"))
    return found
