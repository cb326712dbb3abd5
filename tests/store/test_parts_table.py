"""The table of parts: several processes note beside each other, in any order, and nothing is lost."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from msgspec.structs import replace

from engramdb.store.contract.whole import PartTally
from engramdb.store.sqlite.store import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Iterator

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
NUMBERS = itertools.count()
MOMENTS = some.none() | some.integers(1, 9).map(lambda minutes: NOON + timedelta(minutes=minutes))


@some.composite
def tallies(draw: some.DrawFn) -> PartTally:
    """A note of one process: it worked, it failed, or both."""
    failed = draw(MOMENTS)
    return PartTally(
        name="",
        last_success=draw(MOMENTS),
        last_failure=failed,
        failure=None if failed is None else f"failed at {failed:%H:%M}",
        failures=0 if failed is None else draw(some.integers(1, 3)),
        calls=draw(some.integers(0, 5)),
    )


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteStore]:
    """One store for all examples; every one notes under a name of its own."""
    place = tmp_path_factory.mktemp("parts") / "memory.db"
    opened = SqliteStore.open(str(place), now=NOON, is_durable=False)
    yield opened
    opened.close()


def noted(store: SqliteStore, given_tallies: list[PartTally]) -> PartTally:
    """Return what the store holds of one part after these notes."""
    name = f"part {next(NUMBERS)}"
    with store.atomic() as tx:
        for tally in given_tallies:
            tx.parts.add(replace(tally, name=name))
        (found,) = (one for one in tx.parts.list() if one.name == name)
    return replace(found, name="")


@settings(max_examples=20)
@given(some.lists(tallies(), min_size=1, max_size=5))
def test_notes_add_up_in_any_order(store: SqliteStore, given_tallies: list[PartTally]) -> None:
    """Counts are sums, moments the latest, and the reason that of the latest failure."""
    forwards = noted(store, given_tallies)
    backwards = noted(store, given_tallies[::-1])

    assert forwards == backwards
    assert forwards.failures == sum(one.failures for one in given_tallies)
    assert forwards.calls == sum(one.calls for one in given_tallies)
    worked = [one.last_success for one in given_tallies if one.last_success]
    failed = [one.last_failure for one in given_tallies if one.last_failure]
    assert forwards.last_success == max(worked, default=None)
    assert forwards.last_failure == max(failed, default=None)
    assert forwards.failure == (f"failed at {max(failed):%H:%M}" if failed else None)
