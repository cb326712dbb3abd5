"""Times that a clock skips or shows twice, and times from before there were zones."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from engramdb.cli.options import moment
from engramdb.cli.output import minute

if TYPE_CHECKING:
    from collections.abc import Callable

    MovesTo = Callable[[str], None]

pytestmark = pytest.mark.skipif(not hasattr(time, "tzset"), reason="the clock's zone cannot be changed here")

BERLIN = "CET-1CEST,M3.5.0,M10.5.0/3"
NEW_YORK = "EST5EDT,M3.2.0,M11.1.0"
KIRIBATI = "<+14>-14"
SUN_TIME = "LMT-0:53:28"


def test_an_hour_that_spring_leaves_out_comes_after_the_one_before_it(move_to: MovesTo) -> None:
    """From 01:45 to 02:30 is a span of time and not an empty one that ends before it begins."""
    move_to(BERLIN)

    typed = [moment(f"2026-03-29T{clock}") for clock in ("01:45", "02:30", "03:45")]

    assert typed == sorted(typed)
    assert typed[1] == datetime(2026, 3, 29, 1, 30, tzinfo=UTC)


def test_an_hour_that_autumn_repeats_is_its_first(move_to: MovesTo) -> None:
    """The second can be typed with its distance from UTC, as it is shown."""
    move_to(NEW_YORK)
    second = datetime(2026, 11, 1, 6, 30, 15, 7, tzinfo=UTC)

    assert moment("2026-11-01T01:30:15.000007") == second - timedelta(hours=1)
    assert moment(minute(second)) == second.replace(second=0, microsecond=0)


@pytest.mark.parametrize("zone", ["UTC", BERLIN, NEW_YORK, KIRIBATI, SUN_TIME])
@pytest.mark.parametrize("year", [2, 476, 1850, 2026, 9998])
def test_what_is_shown_can_be_typed(move_to: MovesTo, zone: str, year: int) -> None:
    """In every year of the calendar, also where an offset had seconds."""
    move_to(zone)
    at = datetime(year, 7, 4, 23, 59, tzinfo=UTC)

    assert moment(minute(at)) == at
