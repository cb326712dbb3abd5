"""Times on the command line: shown by the reader's clock, and read as they are shown."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from engramdb.cli.options import moment
from engramdb.cli.output import minute

if TYPE_CHECKING:
    from collections.abc import Callable

    from surfaces.fixtures import Command

    MovesTo = Callable[[str], None]

pytestmark = pytest.mark.skipif(not hasattr(time, "tzset"), reason="the clock's zone cannot be changed here")

# Written out, so that no table of zones has to be on the machine.
BERLIN = "CET-1CEST,M3.5.0,M10.5.0/3"
NEW_YORK = "EST5EDT,M3.2.0,M11.1.0"
LONDON = "GMT0BST,M3.5.0/1,M10.5.0"

WINTER = datetime(2026, 1, 15, 23, 30, 59, tzinfo=UTC)
SUMMER = datetime(2026, 7, 15, 11, 5, tzinfo=UTC)
A_DAY = datetime(2026, 5, 8, tzinfo=UTC)


@pytest.mark.parametrize(
    ("zone", "at", "shown"),
    [
        ("UTC", WINTER, "2026-01-15 23:30Z"),
        (BERLIN, WINTER, "2026-01-16 00:30+01:00"),
        (BERLIN, SUMMER, "2026-07-15 13:05+02:00"),
        (NEW_YORK, SUMMER, "2026-07-15 07:05-04:00"),
        (LONDON, WINTER, "2026-01-15 23:30+00:00"),
        (LONDON, SUMMER, "2026-07-15 12:05+01:00"),
    ],
)
def test_a_moment_is_shown_by_the_clock_on_the_wall(
    move_to: MovesTo, zone: str, at: datetime, shown: str
) -> None:
    """Whoever looks at a clock and at a list sees the same time; how far it is from UTC stands behind it."""
    move_to(zone)

    assert minute(at) == shown


@pytest.mark.parametrize("zone", [BERLIN, NEW_YORK])
def test_a_day_is_the_same_day_everywhere(move_to: MovesTo, zone: str) -> None:
    """What happened on the eighth is not moved to the seventh for a reader in America."""
    move_to(zone)

    assert minute(A_DAY) == "2026-05-08 00:00+00:00"
    assert moment("2026-05-08") == A_DAY


@pytest.mark.parametrize("zone", ["UTC", BERLIN, NEW_YORK, LONDON])
@pytest.mark.parametrize("at", [WINTER, SUMMER, A_DAY])
def test_what_is_shown_can_be_typed(move_to: MovesTo, zone: str, at: datetime) -> None:
    """A time that was copied from a list into an option is the same moment."""
    move_to(zone)

    assert moment(minute(at)) == at.replace(second=0)


def test_a_typed_time_is_the_readers_own(move_to: MovesTo) -> None:
    """Half past two is half past two in Berlin; who means UTC says so."""
    move_to(BERLIN)

    assert moment("2026-07-15 14:30") == datetime(2026, 7, 15, 12, 30, tzinfo=UTC)
    assert moment("2026-07-15T14:30Z") == datetime(2026, 7, 15, 14, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("zone", "edge", "shown"),
    [
        (BERLIN, datetime.max.replace(tzinfo=UTC), "9999-12-31 23:59+00:00"),
        (NEW_YORK, datetime.min.replace(hour=1, tzinfo=UTC), "0001-01-01 01:00+00:00"),
    ],
)
def test_the_edge_of_the_calendar_is_shown_in_utc(
    move_to: MovesTo, zone: str, edge: datetime, shown: str
) -> None:
    """A moment that a zone would move out of the calendar is shown all the same."""
    move_to(zone)

    assert minute(edge) == shown


def test_json_stays_in_utc(engram_command: Command, move_to: MovesTo) -> None:
    """Programs read the same moment wherever they run, and people their own time."""
    move_to(BERLIN)
    stored = engram_command("remember", "The fair opened", "--occurred-at", "2026-07-15 14:30", "--json")

    listed = engram_command("list")

    assert json.loads(stored.stdout)["occurred_at"] == "2026-07-15T12:30:00Z"
    assert "2026-07-15 14:30+02:00" in listed.stdout
