"""What holds is what was stated last, in whatever order statements come in."""

from __future__ import annotations

import itertools
import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from engramdb import Engram, Settings
from engramdb.testing import ManualClock
from engramdb.values import EdgeType, Filters, KnowledgeChange, Memory, Status

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

NOW = datetime(2026, 5, 1, 9, tzinfo=UTC)
HOMES = {2018: "Rome", 2021: "Paris", 2024: "Lisbon"}


def year(number: int) -> datetime:
    return datetime(number, 6, 1, tzinfo=UTC)


def opened(path: Path) -> Engram:
    settings = Settings(store=str(path), embedder="static")
    return Engram.open(settings=settings, clock=ManualClock(NOW), background=False)


@pytest.fixture
def engram(tmp_path: Path) -> Iterator[Engram]:
    with opened(tmp_path / "memory.db") as engram:
        yield engram


def current(engram: Engram) -> list[str]:
    return sorted(memory.content for memory in engram.list(limit=50))


def chain(engram: Engram) -> list[Memory]:
    """Return what held before, earliest first."""
    superseded = Filters(statuses=frozenset({Status.SUPERSEDED}))
    return sorted(engram.list(filters=superseded, limit=50), key=lambda memory: memory.when)


@pytest.mark.parametrize("order", list(itertools.permutations(HOMES)))
def test_the_latest_home_holds_whatever_was_told_first(engram: Engram, order: Sequence[int]) -> None:
    """Rome in 2018, Paris in 2021 and Lisbon in 2024 leave Lisbon, and a history without gaps."""
    for number in order:
        engram.remember(f"I live in {HOMES[number]}", occurred_at=year(number))

    assert current(engram) == ["I live in Lisbon"]
    past = chain(engram)
    assert [memory.content for memory in past] == ["I live in Rome", "I live in Paris"]
    assert [memory.valid_to for memory in past] == [year(2021), year(2024)]


def test_an_old_statement_that_comes_late_is_linked_to_what_replaced_it(engram: Engram) -> None:
    """Whoever looks at the old one learns what holds, and the other way round."""
    lisbon = engram.remember("I live in Lisbon", occurred_at=year(2024))

    paris = engram.remember("I live in Paris", occurred_at=year(2021))

    assert (paris.status, paris.superseded_by) == (Status.SUPERSEDED, lisbon.id)
    assert engram.get(paris.id) == paris
    now = engram.get(lisbon.id)
    assert (now.status, now.supersedes, now.confidence) == (Status.ACTIVE, paris.id, lisbon.confidence)
    edges = [(one.source, one.target) for one in engram.links(paris.id) if one.type is EdgeType.SUPERSEDES]
    assert edges == [(lisbon.id, paris.id)]
    assert [event.new_status for event in engram.history(paris.id)] == [Status.ACTIVE, Status.SUPERSEDED]


def test_a_timeline_tells_what_came_late_at_its_own_time(tmp_path: Path) -> None:
    """Paris of 2021 stands before Lisbon in its place of 2024, whichever the store heard of first."""
    clock = ManualClock(NOW)
    with Engram.open(tmp_path / "other.db", clock=clock, background=False) as engram:
        engram.remember("I live in Lisbon", occurred_at=year(2024))
        clock.advance(days=1)
        engram.remember("I live in Paris", occurred_at=year(2021))

        told = engram.timeline("where I live").entries

    assert [(one.change, one.memory.content, one.at) for one in told] == [
        (KnowledgeChange.ADDITION, "I live in Paris", year(2021)),
        (KnowledgeChange.CORRECTION, "I live in Lisbon", year(2024)),
    ]
    assert told[1].learned_at == clock.now()
    assert told[1].replaced is not None
    assert (told[1].replaced.valid_from, told[1].replaced.valid_to) == (year(2021), year(2024))


def test_an_old_session_does_not_overrule_a_new_one(engram: Engram) -> None:
    """Turns of 2021 that are handed over today are history to what was said in 2024."""
    engram.observe("I live in Lisbon.", session="new", occurred_at=year(2024))
    engram.flush()
    engram.observe("I moved to Paris.", session="old", occurred_at=year(2021))
    engram.flush()

    answer = engram.recall("where do I live?", limit=1)

    assert "Lisbon" in answer.hits[0].memory.content
    assert not any("Paris" in content for content in current(engram))


def test_a_day_that_a_statement_is_about_does_not_make_it_old(engram: Engram) -> None:
    """What is said now about last month replaces what was said an hour ago."""
    engram.observe("I live in Berlin.", session="s", occurred_at=NOW)
    engram.flush()

    engram.observe("I moved to Paris last month.", session="s")
    engram.flush()

    assert not any("Berlin" in content for content in current(engram))


def test_what_was_replaced_by_name_stays_replaced_when_it_is_told_late(engram: Engram) -> None:
    """Having switched from vim to Helix in 2023, an old note about vim does not make vim current."""
    engram.remember("I switched from vim to Helix", occurred_at=year(2023))

    late = engram.remember("I use vim", occurred_at=year(2020))

    assert late.status is Status.SUPERSEDED
    assert current(engram) == ["I switched from vim to Helix"]


def test_a_fact_that_was_said_again_later_is_not_replaced_by_what_lies_between(engram: Engram) -> None:
    """Berlin in 2020 and again in 2024 outweighs Paris in 2022, also when Paris comes last."""
    for number, home in ((2020, "Berlin"), (2024, "Berlin"), (2022, "Paris")):
        engram.remember(f"I live in {home}", occurred_at=year(number))

    assert current(engram) == ["I live in Berlin"]


def test_an_old_repetition_does_not_make_a_memory_fresh(engram: Engram) -> None:
    """Evidence of 2020 is dated 2020: it has been true for longer, and was last said in 2024."""
    engram.remember("I live in Berlin", occurred_at=year(2024))

    again = engram.remember("I live in Berlin", occurred_at=year(2020))

    assert (again.reinforcements, again.said_at, again.last_stated_at) == (1, year(2020), year(2024))
    assert again.valid_from == year(2020)


def test_a_correction_holds_although_it_keeps_the_day_of_the_old_statement(engram: Engram) -> None:
    """A correction is stated now, however long ago the thing happened."""
    old = engram.remember("I live in Paris", occurred_at=year(2019))

    engram.correct(old.id, "I live in Lyon")
    engram.remember("I live in Rome", occurred_at=year(2020))

    assert current(engram) == ["I live in Lyon"]


def test_files_of_several_years_may_be_imported_in_any_order(tmp_path: Path) -> None:
    """One file a year, six orders, the same current facts."""
    facts = {
        2018: ["I live in Rome", "I work at Acme"],
        2021: ["I live in Paris", "Maya is allergic to nuts"],
        2024: ["I live in Lisbon", "I work at Umbrella"],
    }
    for number, contents in facts.items():
        rows = [{"text": one, "date": year(number).isoformat()} for one in contents]
        (tmp_path / f"{number}.jsonl").write_text("\n".join(map(json.dumps, rows)))

    found = []
    for order in itertools.permutations(facts):
        with opened(tmp_path / f"{'-'.join(map(str, order))}.db") as engram:
            for number in order:
                mapping = {"content": "text", "occurred_at": "date"}
                engram.import_from(tmp_path / f"{number}.jsonl", mapping=mapping)
            found.append(current(engram))

    expected = ["I live in Lisbon", "I work at Umbrella", "Maya is allergic to nuts"]
    assert found == [expected] * 6


def test_lines_of_one_file_may_stand_in_any_order(tmp_path: Path) -> None:
    """A batch is settled within itself by the moments of its rows."""
    rows = [{"text": f"I live in {home}", "date": year(number).isoformat()} for number, home in HOMES.items()]
    for place, order in enumerate(itertools.permutations(rows)):
        (tmp_path / f"{place}.jsonl").write_text("\n".join(map(json.dumps, order)))
        with opened(tmp_path / f"{place}.db") as engram:
            mapping = {"content": "text", "occurred_at": "date"}
            engram.import_from(tmp_path / f"{place}.jsonl", mapping=mapping)

            assert current(engram) == ["I live in Lisbon"]
