"""
How often a question finds a memory that shares no word with it, but is linked to one that does.

Run by `python -m evals.queries graph`; asks `Engram.recall` about a world in which every answer is one
step away from what the question says: it speaks of the same person or thing, it is the cause, the
evidence or the lesson, or it was said next in the same session. `measure({"recall": {…}})` asks under
other numbers; `bridge` is how often the memory that the question does speak of is found.
docs/lab/0017-entities-in-recall.md.
"""

from __future__ import annotations

import json
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engramdb import Engram, Settings
from engramdb.testing import ManualClock
from engramdb.text.terms import index_terms, query_terms
from engramdb.values import Edge, EdgeType
from evals.capture.labelled import HALVES, half_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

LABELS = Path(__file__).parent / "data" / "graph.json"
START = datetime(2025, 1, 1, 9, tzinfo=UTC)
CUTS = (5, 10)
LINKS = ("entity", "caused_by", "derived_from", "session")

Case = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Asked:
    """Where the answer and the bridge to it came in the hits; None where they did not."""

    case: Case
    answer: int | None
    bridge: int | None


def measure(
    overrides: Mapping[str, Mapping[str, Any]] | None = None, *, embedder: str = "static"
) -> list[dict[str, Any]]:
    """Return a row for all questions, for each half and for each kind of link."""
    with built(overrides, embedder=embedder) as (engram, ids):
        asked = [_ask(engram, ids, case) for case in _labels()["questions"]]
    groups = {"all": asked}
    groups |= {half: [one for one in asked if half_of(one.case["text"]) == half] for half in HALVES}
    groups |= {link: [one for one in asked if one.case["link"] == link] for link in LINKS}
    return [{"questions": name, **_row(chosen)} for name, chosen in groups.items()]


@contextmanager
def built(
    overrides: Mapping[str, Mapping[str, Any]] | None = None, *, embedder: str = "static"
) -> Iterator[tuple[Engram, dict[str, str]]]:
    """Store the world's memories and links, and give it back with the memories' ids by label."""
    labelled, ids = _labels(), {}
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(
            home=Path(folder),
            durability="relaxed",
            embedder=embedder,
            overrides={room: dict(fields) for room, fields in (overrides or {}).items()},
        )
        clock = ManualClock(START)
        with Engram.open(Path(folder) / "w.db", settings=settings, clock=clock, background=False) as engram:
            for one in labelled["memories"]:
                clock.advance(minutes=2 if "session" in one else 60 * 7)
                memory = engram.remember(
                    one["text"], session=one.get("session"), occurred_at=clock.now() - timedelta(minutes=1)
                )
                ids[one["id"]] = memory.id
            _link(engram, ids, labelled["edges"])
            _check(engram, ids, labelled["questions"])
            yield engram, ids


def failures(half: str, overrides: Mapping[str, Mapping[str, Any]] | None = None) -> list[str]:
    """Return a line for every question of a half whose answer was not found."""
    with built(overrides) as (engram, ids):
        asked = [_ask(engram, ids, case) for case in _labels()["questions"] if half_of(case["text"]) == half]
    return [
        f"{one.case['link']}: {one.case['text']!r} bridge at {one.bridge}"
        for one in asked
        if one.answer is None
    ]


def _link(engram: Engram, ids: Mapping[str, str], edges: Sequence[Case]) -> None:
    with engram._parts.store.atomic() as tx:  # noqa: SLF001 - links have no door of their own yet
        for edge in edges:
            ends = {end: ids[edge[end]] for end in ("source", "target")}
            tx.edges.add(Edge(**ends, type=EdgeType(edge["type"]), weight=1.0, created_at=START))


def _check(engram: Engram, ids: Mapping[str, str], questions: Sequence[Case]) -> None:
    """Raise if an answer can be found by a word of its question, or was settled away."""
    if len(set(ids.values())) < len(ids):
        raise ValueError("two statements of the world became one memory")
    for case in questions:
        answer = engram.get(ids[case["answer"]])
        shared = set(query_terms(case["text"])) & set(index_terms(answer))
        if shared:
            raise ValueError(f"the answer shares {shared} with its question: {case['text']}")


def _ask(engram: Engram, ids: Mapping[str, str], case: Case) -> Asked:
    hits = [hit.memory.id for hit in engram.recall(case["text"], limit=max(CUTS)).hits]
    ranks = {memory_id: rank for rank, memory_id in enumerate(hits, start=1)}
    return Asked(case, ranks.get(ids[case["answer"]]), ranks.get(ids[case["bridge"]]))


def _row(asked: Sequence[Asked]) -> dict[str, Any]:
    row: dict[str, Any] = {"number": len(asked)}
    for cut in CUTS:
        row[f"hit@{cut}"] = _share([one.answer for one in asked], cut)
    row[f"bridge@{CUTS[0]}"] = _share([one.bridge for one in asked], CUTS[0])
    return row


def _share(ranks: Sequence[int | None], cut: int) -> float:
    return sum(rank is not None and rank <= cut for rank in ranks) / max(1, len(ranks))


def _labels() -> dict[str, list[Case]]:
    found: dict[str, list[Case]] = json.loads(LABELS.read_text("utf-8"))
    return found
