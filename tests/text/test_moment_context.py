"""What the words beside a time phrase make of it."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest

from engramdb.text.moments import find_moments, named_times

MONDAY = datetime(2026, 11, 16, 9, tzinfo=UTC)


def told(text: str) -> str | None:
    """Return the first day of what a statement is about, or none."""
    _, moment = named_times(text, now=MONDAY)
    return moment.date().isoformat() if moment else None


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("launch is a week from today", "2026-11-23"),
        ("the quarterly review is a week from Thursday", "2026-11-26"),
        ("the audit is two weeks from Friday", "2026-12-04"),
        ("the audit was set for two weeks from Friday", "2026-12-04"),
        ("rent is due a month from Friday", "2026-12-20"),
        ("the lease ends a year from today", "2027-11-16"),
        ("a fortnight from tomorrow we fly", "2026-12-01"),
        ("our trip is a week from next Friday", "2026-12-04"),
        ("ready in three weeks from Friday", "2026-12-11"),
        ("the offer expires two weeks from 20 November", "2026-12-04"),
        ("two days before Friday", "2026-11-18"),
        ("it was fixed two days before last Friday", "2026-11-11"),
        ("the day after Thursday", "2026-11-20"),
        ("the meeting is Thursday week", "2026-11-26"),
        ("tomorrow week", "2026-11-24"),
        ("the meeting is a week on Thursday", "2026-11-26"),
        ("the exam is a week today", "2026-11-23"),
        ("two Fridays from now", "2026-11-27"),
        ("three days from now", "2026-11-19"),
        ("the results come in a fortnight", "2026-11-30"),
        ("in a week's time", "2026-11-23"),
        ("we go live the week after next", "2026-11-30"),
        ("the Friday after next", "2026-12-04"),
        ("the month after next", "2027-01-01"),
    ],
)
def test_a_distance_is_counted_from_the_day_that_is_named(text: str, day: str) -> None:
    """A week from Thursday is not Thursday."""
    assert told(text) == day


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("pay day is the last Friday of the month", "2026-11-27"),
        ("kickoff is on the first Monday in December", "2026-12-07"),
        ("kickoff is the 2nd Tuesday of next month", "2026-12-08"),
        ("we met on the last Friday of October", "2026-10-30"),
        ("the review is on the last Thursday of January", "2027-01-28"),
        ("the first Monday of March 2025", "2025-03-03"),
        ("pay day is the last Friday of every month", None),
        ("the fifth Monday of December", None),
        ("every second Tuesday", None),
        ("we meet once a week on Thursday", None),
    ],
)
def test_a_weekday_is_counted_within_its_month(text: str, day: str | None) -> None:
    """The last Friday of the month is not last Friday; that of every month is no day."""
    assert told(text) == day


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("the call was moved from Tuesday to Thursday", "2026-11-19"),
        ("the demo got moved from Wednesday to Friday", "2026-11-20"),
        ("the meeting was moved up from Friday to Wednesday", "2026-11-18"),
        ("the deadline was pushed from Friday to Tuesday", "2026-11-24"),
        ("it was pushed back from Friday to next Wednesday", "2026-11-25"),
        ("the call has been moved from Tuesday to 3 pm on Thursday", "2026-11-19"),
        ("we moved the call to Friday", "2026-11-20"),
        ("the review was postponed until Friday", "2026-11-20"),
        ("the review was postponed until the 20th", "2026-11-20"),
        ("the launch was moved from March to April", "2027-04-01"),
        ("the release slipped from Q1 to Q2", "2027-04-01"),
        ("the review was moved from 3 to 5 November", "2026-11-05"),
        ("Thursday's call was pushed from 3 to 5 pm", "2026-11-19"),
        ("the call was pushed from 3 to 5 pm", None),
        ("we moved to Paris on Friday", "2026-11-13"),
        ("we worked from Monday to Wednesday", "2026-11-09"),
    ],
)
def test_what_was_moved_is_on_the_new_day_ahead(text: str, day: str | None) -> None:
    """The moving is past, the day is not."""
    assert told(text) == day


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("they mailed, so the fair happens on 28 December", "2026-12-28"),
        ("the stall is booked for 17 January", "2027-01-17"),
        ("hired Fatou for support, starts in February", "2027-02-01"),
        ("I told everyone that v3 goes to the store on 2 February", "2027-02-02"),
        ("flights booked, we fly out on 12 January", "2027-01-12"),
        ("we moved offices on 3 March", "2026-03-03"),
    ],
)
def test_a_date_that_something_is_arranged_for_may_lie_ahead(text: str, day: str) -> None:
    """Whatever else has happened in the same sentence; of what happened on a day, the last one counts."""
    assert told(text) == day


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("our bank is Rabobank not ING, I said that wrong yesterday", None),
        ("I told you the wrong port yesterday, it is 5433", None),
        ("the port is 5433, I told you yesterday", None),
        ("as I wrote on Friday, the rate is 5%", None),
        ("contrary to what I said last week, we use Postgres", None),
        ("Yesterday I said our bank is ING", None),
        ("she told me yesterday that she is pregnant", None),
        ("I said yesterday that the launch is tomorrow", "2026-11-17"),
        ("my sister wrote to me yesterday that she is coming on Saturday", "2026-11-21"),
        ("Anna told me she quit yesterday", "2026-11-15"),
        ("I told Anna yesterday about the job", "2026-11-15"),
        ("the report is done, I wrote it yesterday", "2026-11-15"),
        ("she said yes yesterday", "2026-11-15"),
    ],
)
def test_when_something_was_said_is_not_when_it_is_true(text: str, day: str | None) -> None:
    """The time of saying is named, but nothing is filed under it; a telling that is the news itself is."""
    assert told(text) == day
    assert find_moments(text, now=MONDAY)


@pytest.mark.parametrize(
    "text", ["the party is on the saturday", "we left on the Friday", "the following Saturday", "that Monday"]
)
def test_a_weekday_of_an_unknown_week_is_no_date(text: str) -> None:
    """The saturday is that of a week which the words do not name."""
    assert find_moments(text, now=MONDAY) == []


@pytest.mark.parametrize("text", ["away for two weeks from Friday", "the sprint lasts two weeks from Friday"])
def test_what_lasts_from_a_day_begins_on_it(text: str) -> None:
    """How long it goes on does not move the day."""
    assert told(text) == "2026-11-20"


PIECES = (
    "a_week_from_ a_week_from_Thursday_ moved_from_Tuesday_to_ moved_ was_moved_to_ Thursday_week_ "
    "the_last_Friday_of_ I_said_that_wrong_yesterday_ as_I_said_ today_I_said_ on_the_Friday_ "
    "the_week_after_next_ Friday_was_moved_ wrote_to_you_on_Friday,_"
)


@pytest.mark.usefixtures("collector_at_rest")
@pytest.mark.parametrize("piece", [piece.replace("_", " ") for piece in PIECES.split()])
def test_a_hundred_kilobytes_of_half_phrases_are_read_in_linear_time(piece: str) -> None:
    """Twice as much takes about twice as long."""
    seconds = []
    for size in (50_000, 100_000):
        begin = time.thread_time()
        find_moments((piece * size)[:size], now=MONDAY)
        seconds.append(time.thread_time() - begin)

    assert seconds[1] < 3 * seconds[0] + 0.5
    assert seconds[1] < 3
