"""Long records are read page by page to their end, and what comes in meanwhile neither repeats nor hides."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engramdb import Engram, Scope, Settings
from engramdb.errors import InvalidQuery, MemoryNotFound
from engramdb.store.contract import DreamRun
from engramdb.testing import ManualClock, TinyEmbedder
from engramdb.values import Action, AuditEvent, DreamReport, Gap, GapKind, Role, Turn, new_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from engramdb.store.contract import Transaction

ANN = Scope(user="ann")
NOW = ManualClock().now()


def add_turns(tx: Transaction, numbers: Sequence[int]) -> None:
    """Keep so many messages."""
    for number in numbers:
        tx.turns.add(
            Turn(
                id=new_id(NOW),
                content=f"turn {number}",
                role=Role.USER,
                session="s1",
                occurred_at=NOW,
                created_at=NOW,
            )
        )


def add_gaps(tx: Transaction, numbers: Sequence[int]) -> None:
    """Ask so many questions, many of them of the same weight and found at the same time."""
    for number in numbers:
        tx.gaps.put(
            Gap(
                id=f"gap{number * 7919 % 10_007}",
                kind=GapKind.MISSING_FIELD,
                question=f"Is {number} so?",
                priority=number % 3 / 4,
                found_at=NOW + timedelta(seconds=number % 5),
            )
        )


def add_dreams(tx: Transaction, numbers: Sequence[int]) -> None:
    """Note so many dreams, all begun at the same moment."""
    for number in numbers:
        report = DreamReport(started_at=NOW, milliseconds=float(number))
        tx.dreams.put(DreamRun(started_at=NOW, policy="balanced", steps=(), report=report, finished_at=NOW))


def add_events(tx: Transaction, numbers: Sequence[int]) -> None:
    """Note so many actions, all alike but for their targets."""
    for number in numbers:
        tx.audit.add(AuditEvent(at=NOW, action=Action.PIN, target=str(number)))


@dataclass(frozen=True)
class Record:
    """A long record: how it grows, how a page of it is asked for, and what names an entry of it."""

    add: Callable[[Transaction, Sequence[int]], None]
    page: Callable[[Engram, int, Any], Sequence[Any]]
    cursor: Callable[[Sequence[Any]], Any]
    name: Callable[[Any], Any]

    def pages(self, engram: Engram, limits: Sequence[int], grow: Sequence[int] = ()) -> list[Any]:
        """Return the names of all entries, in pages of these sizes in turn; the record grows meanwhile."""
        found: list[Any] = []
        cursor, number = None, 0
        while page := self.page(engram, limits[number % len(limits)], cursor):
            found += [self.name(one) for one in self.in_order(page)]
            cursor, number = self.cursor(page), number + 1
            if number in grow:
                with engram._parts.store.atomic() as tx:
                    self.add(tx, [10_000 + number])
        return found

    def in_order(self, page: Sequence[Any]) -> Sequence[Any]:
        """Return the entries as pages follow one another: turns lead back in time."""
        return page[::-1] if self.add is add_turns else page


RECORDS = {
    "turns": Record(
        add_turns,
        lambda engram, limit, before: engram.turns(limit=limit, before=before),
        lambda page: page[0].id,
        lambda one: one.id,
    ),
    "gaps": Record(
        add_gaps,
        lambda engram, limit, after: engram.gaps(limit=limit, after=after),
        lambda page: page[-1].id,
        lambda one: one.id,
    ),
    "dreams": Record(
        add_dreams,
        lambda engram, limit, before: engram.dreams(limit=limit, before=before),
        lambda page: page[-1].number,
        lambda one: one.number,
    ),
    "audit": Record(
        add_events,
        lambda engram, limit, before: engram.audit(limit=limit, before=before, action=Action.PIN),
        lambda page: page[-1].number,
        lambda one: one.number,
    ),
}
MANY = 1_203
"""More than is ever given at once."""


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engram]:
    """A store whose records are longer than any page; tests only read it."""
    path = tmp_path_factory.mktemp("long") / "memory.db"
    with Engram.open(path, clock=ManualClock(), embedder=TinyEmbedder(), background=False) as engram:
        with engram._parts.store.atomic() as tx:
            for record in RECORDS.values():
                record.add(tx, range(MANY))
        yield engram


@pytest.mark.parametrize("name", RECORDS)
def test_everything_is_reached(long: Engram, name: str) -> None:
    """Beyond the thousand that is given at once, each entry once, in one order whatever the pages."""
    found = RECORDS[name].pages(long, [1000])

    assert len(found) == len(set(found)) == MANY
    assert RECORDS[name].pages(long, [611, 97]) == found


@pytest.mark.parametrize("name", RECORDS)
@given(limits=st.lists(st.integers(1, 9), min_size=1, max_size=4), grow=st.sets(st.integers(1, 6)))
@settings(max_examples=10)
def test_what_was_there_is_met_once_while_more_comes_in(
    tmp_path_factory: pytest.TempPathFactory, name: str, limits: list[int], grow: set[int]
) -> None:
    """Whatever the sizes of the pages, and whenever the record grows."""
    record, path = RECORDS[name], tmp_path_factory.mktemp("growing") / "memory.db"
    relaxed = Settings(store=str(path), durability="relaxed")
    with Engram.open(settings=relaxed, embedder=TinyEmbedder(), background=False) as engram:
        with engram._parts.store.atomic() as tx:
            record.add(tx, range(20))
        before = record.pages(engram, [1000])

        found = record.pages(engram, limits, sorted(grow))

    assert [one for one in found if one in set(before)] == before
    assert len(found) == len(set(found))


def test_a_question_that_was_settled_still_marks_the_place(engram: Engram) -> None:
    """Who answers questions page by page goes on behind the last one, though it is closed."""
    with engram._parts.store.atomic() as tx:
        add_gaps(tx, range(6))
    first, *others = engram.gaps()

    engram.close_gap(first.id)

    assert engram.gaps(after=first.id) == others


def test_a_turn_may_be_named_by_its_ending(engram: Engram) -> None:
    """As lists show it; and a page of one conversation is of that one alone."""
    first = engram.observe("one", session="s1")
    engram.observe("two", session="s2")
    last = engram.observe("three", session="s1")

    assert engram.turns(before=last.id[-8:], session="s1") == [first]
    assert len(engram.turns(before=last.id)) == 2


def test_a_cursor_out_of_sight_is_refused(engram: Engram) -> None:
    """Another person's turn or question says nothing, not even where it stands."""
    turn = engram.observe("hello", scope=ANN)
    with engram._parts.store.atomic() as tx:
        tx.gaps.put(
            Gap(
                id="hers", kind=GapKind.MISSING_FIELD, question="Is it so?", scope=ANN, found_at=engram._now()
            )
        )

    for look in (
        lambda: engram.turns(before=turn.id),
        lambda: engram.turns(before=turn.id[-8:]),
        lambda: engram.gaps(after="hers"),
    ):
        with pytest.raises(MemoryNotFound):
            look()
    assert engram.turns(before=turn.id, scope=ANN) == []


@pytest.mark.parametrize("cursor", [0, -1, 2**63, "7", 1.5])
def test_a_number_that_is_none_is_refused(engram: Engram, cursor: Any) -> None:
    """Rather than beginning again without a word."""
    for look in (engram.audit, engram.dreams):
        with pytest.raises(InvalidQuery):
            look(before=cursor)


@pytest.mark.parametrize("cursor", ["", "nobody", "x" * 500, "\ud800", 7, None.__class__])
def test_an_id_that_is_none_is_refused_in_a_few_words(engram: Engram, cursor: Any) -> None:
    """Whatever it is; a long one is not quoted at length."""
    for look in (lambda: engram.turns(before=cursor), lambda: engram.gaps(after=cursor)):
        with pytest.raises(MemoryNotFound) as refused:
            look()
        assert len(str(refused.value)) < 120


def test_a_dream_knows_its_number(engram: Engram) -> None:
    """The report that it returns is the one that is kept; a rehearsal is not kept and has none."""
    first, second = (engram.dream(steps=["gaps"]) for _ in range(2))
    rehearsed = engram.dream(steps=["gaps"], dry_run=True)

    assert [one.number for one in engram.dreams()] == [second.number, first.number]
    assert engram.dreams(before=second.number) == [first]
    assert rehearsed.number is None
