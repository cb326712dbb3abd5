"""What was true at a moment, as known now: what was said later about then counts, and what has changed."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from engramdb import Engram, Filters, Layer, Settings, Status
from engramdb.errors import InvalidQuery
from engramdb.testing import ManualClock
from engramdb.values.recall import KnowledgeChange

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from engramdb import Memory

TOLD = [
    (datetime(2023, 9, 4, 12, tzinfo=UTC), "We live in Almada"),
    (datetime(2024, 1, 15, 12, tzinfo=UTC), "Tiago gets a rash from kiwi"),
    (datetime(2024, 5, 19, 12, tzinfo=UTC), "Since 2 March we live in Braga"),
]
MOVED = datetime(2024, 3, 2, tzinfo=UTC)
HOME = "where do we live?"


def day(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(TOLD[0][0])


@pytest.fixture
def engram(tmp_path: Path, clock: ManualClock) -> Iterator[Engram]:
    settings = Settings(store=str(tmp_path / "memory.db"), embedder="static")
    with Engram.open(settings=settings, clock=clock, background=False) as engram:
        yield engram


def _remember(engram: Engram, said: str, _at: datetime) -> None:
    engram.remember(said)


def _observe(engram: Engram, said: str, _at: datetime) -> None:
    engram.observe(f"{said}.", session="talk")
    engram.flush()


@pytest.fixture(params=[_remember, _observe])
def lived(request: pytest.FixtureRequest, engram: Engram, clock: ManualClock) -> Engram:
    """A store that was told each thing on its day."""
    for at, said in TOLD:
        clock.set(at)
        request.param(engram, said, at)
    return engram


def _import(engram: Engram, folder: Path) -> None:
    rows = [{"text": said, "date": at.isoformat()} for at, said in TOLD]
    (folder / "old.jsonl").write_text("\n".join(map(json.dumps, reversed(rows))))
    engram.import_from(folder / "old.jsonl", mapping={"content": "text", "occurred_at": "date"})


def _tell_late(engram: Engram, _folder: Path) -> None:
    for at, said in TOLD:
        engram.remember(said, occurred_at=at)


def _hand_over(engram: Engram, _folder: Path) -> None:
    for at, said in TOLD:
        engram.observe(f"{said}.", session="old", occurred_at=at)
    engram.flush()


@pytest.fixture(params=[_import, _tell_late, _hand_over])
def filled(request: pytest.FixtureRequest, engram: Engram, clock: ManualClock, tmp_path: Path) -> Engram:
    """A store that was told everything on one day, long after."""
    clock.set(day("2026-01-01"))
    request.param(engram, tmp_path)
    return engram


def home(engram: Engram, *, as_of: str | None = None, valid_at: str | None = None) -> list[str]:
    """Return where they lived, in a word, by the clocks."""
    moments = {"as_of": as_of and day(as_of), "valid_at": valid_at and day(valid_at)}
    hits = engram.recall(HOME, turns=False, **moments).hits  # type: ignore[arg-type]
    return [
        name for hit in hits for name in ("Almada", "Braga") if hit.memory.content.rstrip(".").endswith(name)
    ]


def test_what_was_told_late_was_true_before_it_was_told(lived: Engram) -> None:
    """They moved in March and said so in May: in April Almada was believed, and Braga was true."""
    assert home(lived) == ["Braga"]
    assert home(lived, as_of="2024-04-01") == ["Almada"]
    assert home(lived, valid_at="2024-04-01") == ["Braga"]
    assert home(lived, valid_at="2024-02-10") == ["Almada"]
    assert home(lived, valid_at="2023-01-01") == []


def test_both_clocks_may_be_asked_at_once(lived: Engram) -> None:
    """What in April was believed to be true in April, and what in June was."""
    assert home(lived, as_of="2024-04-01", valid_at="2024-04-01") == ["Almada"]
    assert home(lived, as_of="2024-06-01", valid_at="2024-04-01") == ["Braga"]


def test_ten_years_that_are_stored_today_are_ten_years(filled: Engram) -> None:
    """Nothing was believed before the import, and each day has its own truth."""
    assert home(filled) == ["Braga"]
    assert home(filled, as_of="2025-01-01") == []
    assert home(filled, valid_at="2024-04-01") == ["Braga"]
    assert home(filled, valid_at="2024-02-10") == ["Almada"]


def test_a_timeline_tells_both_values_at_their_own_time(filled: Engram) -> None:
    """The old one, and the new one in its place from the day on that it holds, however they came in."""
    told = [one for one in filled.timeline(HOME).entries if "live" in one.memory.content]

    assert [one.change for one in told] == [KnowledgeChange.ADDITION, KnowledgeChange.CORRECTION]
    old, new = told
    assert (old.at, new.at) == (TOLD[0][0], MOVED)
    assert old.memory.content.rstrip(".") == "We live in Almada"
    assert new.replaced is not None
    assert new.replaced.id == old.memory.id
    assert (new.replaced.valid_from, new.replaced.valid_to) == (TOLD[0][0], MOVED)
    assert new.memory.valid_from == MOVED


def test_an_answer_about_then_counts_as_no_recall(lived: Engram) -> None:
    """Looking back does not keep a memory from fading."""
    lived.recall(HOME, valid_at=day("2024-04-01"))
    lived.recall(HOME, valid_at=day("2024-02-10"))

    stored = lived.list(filters=Filters(statuses=frozenset({Status.ACTIVE, Status.SUPERSEDED})))
    assert [one.access.count for one in stored] == [0] * len(stored)


@pytest.mark.parametrize("status", [Status.FORGOTTEN, Status.PRUNED, Status.INVALIDATED])
def test_what_was_taken_back_was_never_true(lived: Engram, status: Status) -> None:
    """Forgotten stays forgotten, and a mistake was one then, too."""
    (old,) = lived.list(filters=Filters(statuses=frozenset({Status.SUPERSEDED})))
    lived.set_status(old.id, status)

    assert home(lived, valid_at="2024-02-10") == []


def test_what_has_faded_since_was_true_then(lived: Engram) -> None:
    """Archived memories answer for their own time; asked for by status, only those of that status do."""
    (old,) = lived.list(filters=Filters(statuses=frozenset({Status.SUPERSEDED})))
    lived.set_status(old.id, Status.ARCHIVED)

    assert home(lived, valid_at="2024-02-10") == ["Almada"]
    active = Filters(statuses=frozenset({Status.ACTIVE}))
    hits = lived.recall(HOME, valid_at=day("2024-02-10"), filters=active).hits
    assert old.id not in [hit.memory.id for hit in hits]
    other = Filters(layers=frozenset({Layer.CODEBASE}))
    assert lived.recall(HOME, valid_at=day("2024-02-10"), filters=other).hits == ()


def test_a_moment_has_a_time_zone(engram: Engram) -> None:
    """A bare date could be any of a day's."""
    with pytest.raises(InvalidQuery, match="valid_at has no time zone"):
        engram.recall(HOME, valid_at=datetime(2024, 4, 1))  # noqa: DTZ001 - that is the point


def test_a_correction_may_date_itself(engram: Engram, clock: ManualClock) -> None:
    """By hand, too: what it replaces was true until then."""
    old = engram.remember("I work at Acme")
    clock.set(day("2024-05-10"))

    new = engram.correct(old.id, "I work at Klarna since 1 March")

    assert new.valid_from == day("2024-03-01")
    assert engram.get(old.id).valid_to == day("2024-03-01")


def test_what_was_over_when_it_was_told_replaces_nothing(engram: Engram, clock: ManualClock) -> None:
    """Having lived in Paris in 2019 says nothing of today, and answers for 2019."""
    engram.remember("I live in Lisbon")
    clock.advance(days=10)
    engram.remember("I lived in Paris in 2019")

    def then(moment: str) -> list[str]:
        return [hit.memory.content for hit in engram.recall("where do I live?", valid_at=day(moment)).hits]

    assert "I live in Lisbon" in [one.content for one in engram.list()]
    assert then("2019-06-01") == ["I lived in Paris in 2019"]
    assert then("2023-09-10") == ["I live in Lisbon"]


def test_a_list_knows_both_clocks(lived: Engram) -> None:
    """What was believed on a day, as it was then, and what was true on it; page by page, too."""

    def contents(memories: Sequence[Memory]) -> list[str]:
        return [one.content.rstrip(".") for one in memories]

    april = day("2024-04-01")
    assert contents(lived.list(as_of=april)) == [said for _, said in TOLD[1::-1]]
    assert {one.status for one in lived.list(as_of=april)} == {Status.ACTIVE}
    assert contents(lived.list(valid_at=april)) == [said for _, said in TOLD[:0:-1]]
    assert contents(lived.list(valid_at=day("2024-02-10"))) == [said for _, said in TOLD[1::-1]]
    first, second = (
        lived.list(valid_at=april, limit=1),
        lived.list(valid_at=april, before=lived.list(valid_at=april, limit=1)[0].id),
    )
    assert contents([*first, *second]) == contents(lived.list(valid_at=april))
