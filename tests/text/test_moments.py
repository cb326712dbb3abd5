"""Which stretch of time a phrase means, seen from a given now."""

from __future__ import annotations

import itertools
import time
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.text.moments import MomentRange, Precision, Relation, find_moments, resolve

FRIDAY = datetime(2026, 5, 8, 10, tzinfo=UTC)


def only(text: str, *, now: datetime = FRIDAY) -> MomentRange:
    """Return the one moment that a text names."""
    (moment,) = find_moments(text, now=now)
    return moment


def days(text: str, *, now: datetime = FRIDAY) -> tuple[str, str]:
    """Return the first day of the moment, and the day after its last."""
    moment = only(text, now=now)
    return moment.start.date().isoformat(), moment.end.date().isoformat()


@pytest.mark.parametrize(
    ("phrase", "first", "after"),
    [
        ("today", "2026-05-08", "2026-05-09"),
        ("yesterday", "2026-05-07", "2026-05-08"),
        ("tomorrow", "2026-05-09", "2026-05-10"),
        ("the day before yesterday", "2026-05-06", "2026-05-07"),
        ("last week", "2026-04-27", "2026-05-04"),
        ("this week", "2026-05-04", "2026-05-11"),
        ("next month", "2026-06-01", "2026-07-01"),
        ("last year", "2025-01-01", "2026-01-01"),
        ("last weekend", "2026-05-02", "2026-05-04"),
        ("last summer", "2025-06-01", "2025-09-01"),
        ("last Tuesday", "2026-05-05", "2026-05-06"),
        ("last Friday", "2026-05-01", "2026-05-02"),
        ("last Fri", "2026-05-01", "2026-05-02"),
        ("next Friday", "2026-05-15", "2026-05-16"),
        ("this Monday", "2026-05-04", "2026-05-05"),
        ("last May", "2025-05-01", "2025-06-01"),
        ("three days ago", "2026-05-05", "2026-05-06"),
        ("two weeks ago", "2026-04-20", "2026-04-27"),
        ("in 2 months", "2026-07-01", "2026-08-01"),
        ("a year ago", "2025-01-01", "2026-01-01"),
        ("two years from now", "2028-01-01", "2029-01-01"),
        ("5 May 2023", "2023-05-05", "2023-05-06"),
        ("May 5th, 2023", "2023-05-05", "2023-05-06"),
        ("2023-05-08", "2023-05-08", "2023-05-09"),
        ("May 2023", "2023-05-01", "2023-06-01"),
        ("in 2019", "2019-01-01", "2020-01-01"),
        ("the end of the month", "2026-05-31", "2026-06-01"),
        ("gestern", "2026-05-07", "2026-05-08"),
        ("vor zwei Wochen", "2026-04-20", "2026-04-27"),
        ("letztes Jahr", "2025-01-01", "2026-01-01"),
        ("il y a trois jours", "2026-05-05", "2026-05-06"),
        ("la semaine dernière", "2026-04-27", "2026-05-04"),
        ("ayer", "2026-05-07", "2026-05-08"),
        ("hace dos años", "2024-01-01", "2025-01-01"),
        ("вчера", "2026-05-07", "2026-05-08"),
        ("через неделю", "2026-05-11", "2026-05-18"),
        ("昨天", "2026-05-07", "2026-05-08"),
        ("三天前", "2026-05-05", "2026-05-06"),
        ("来週", "2026-05-11", "2026-05-18"),
        ("2023年5月8日", "2023-05-08", "2023-05-09"),
    ],
)
def test_a_phrase_means_a_stretch_of_days(phrase: str, first: str, after: str) -> None:
    """From the first day to before the day after the last."""
    assert days(phrase) == (first, after)


@pytest.mark.parametrize(
    ("phrase", "now", "first"),
    [
        ("last month", datetime(2026, 3, 31, tzinfo=UTC), "2026-02-01"),
        ("next month", datetime(2026, 1, 31, tzinfo=UTC), "2026-02-01"),
        ("last month", datetime(2026, 1, 15, tzinfo=UTC), "2025-12-01"),
        ("yesterday", datetime(2024, 3, 1, tzinfo=UTC), "2024-02-29"),
        ("yesterday", datetime(2026, 1, 1, tzinfo=UTC), "2025-12-31"),
        ("one year ago", datetime(2024, 2, 29, tzinfo=UTC), "2023-01-01"),
        ("last week", datetime(2026, 1, 1, tzinfo=UTC), "2025-12-22"),
    ],
)
def test_the_calendar_has_edges(phrase: str, now: datetime, first: str) -> None:
    """Months end on different days, years turn, and February has 29 days now and then."""
    assert days(phrase, now=now)[0] == first


def test_a_bare_weekday_or_month_lies_where_the_verb_puts_it() -> None:
    """What was is before now, what will be is after it."""
    assert days("on Monday I went home")[0] == "2026-05-04"
    assert days("on Monday I will go home")[0] == "2026-05-11"
    assert days("I moved in September")[0] == "2025-09-01"
    assert days("I will move in September")[0] == "2026-09-01"


@pytest.mark.parametrize(
    "text",
    [
        *("every Friday", "every Tuesday and Friday", "on Fridays", "I may go", "we march on", "30 February"),
        *("hier ist es", "guten Morgen", "por la mañana"),
    ],
)
def test_what_only_looks_like_a_moment_is_none(text: str) -> None:
    """Habits, verbs, days that do not exist, and words of another language."""
    assert find_moments(text, now=FRIDAY) == []


def test_a_relation_opens_one_side() -> None:
    """Since has no end, before has no beginning, by includes its day."""
    since, before, by = only("since 2019"), only("before May 2023"), only("by Monday")

    assert (since.relation, since.lower, since.upper) == (
        Relation.SINCE,
        datetime(2019, 1, 1, tzinfo=UTC),
        None,
    )
    assert (before.lower, before.upper) == (None, datetime(2023, 5, 1, tzinfo=UTC))
    assert (by.lower, by.upper) == (None, datetime(2026, 5, 12, tzinfo=UTC))


def test_recently_is_two_weeks_and_stays_vague() -> None:
    """A vague phrase gives a range to search, but no date to write down."""
    moment = only("I recently moved")

    assert moment.precision is Precision.VAGUE
    assert moment.end - moment.start == timedelta(days=14)
    assert resolve("I recently moved", now=FRIDAY) == ("I recently moved", None)


@pytest.mark.parametrize(
    ("said", "stored"),
    [
        ("I ran yesterday", "I ran on 7 May 2026"),
        ("Yesterday I ran", "On 7 May 2026 I ran"),
        ("we met last week", "we met in the week of 27 April 2026"),
        ("done by tomorrow", "done by 9 May 2026"),
        ("ill since last month", "ill since April 2026"),
        ("out last night", "out on the night of 7 May 2026"),
        ("flying on Sunday morning", "flying on the morning of 10 May 2026"),
        ("yesterday's talk", "7 May 2026's talk"),
        ("a few days ago", "a few days ago"),
        ("born on 3 March", "born on 3 March"),
        ("ich war gestern da", "ich war gestern da"),
    ],
)
def test_relative_phrases_become_dates(said: str, stored: str) -> None:
    """What needs a now is rewritten; what is vague, absolute or in another language stays as it was said."""
    assert resolve(said, now=FRIDAY)[0] == stored


def test_a_day_begins_where_the_speaker_is() -> None:
    """In Tokyo it is already Saturday; the answer is in UTC."""
    tokyo = datetime(2026, 5, 9, 1, tzinfo=timezone(timedelta(hours=9)))

    moment = only("today", now=tokyo)

    assert moment.start == datetime(2026, 5, 8, 15, tzinfo=UTC)
    assert moment.start.utcoffset() == timedelta(0)


def test_the_span_says_where_the_phrase_stands() -> None:
    """A caller can cut the phrase out of its text."""
    text = "We met last week in Rome"
    moment = only(text)

    assert text[moment.first : moment.last] == "last week"


SAID = "in last next 3 999 years days ago May on by since the end of month yesterday 31 2024 周 前 vor"


@given(
    st.lists(st.sampled_from(SAID.split()), max_size=12),
    st.datetimes(
        min_value=datetime(2, 1, 1),  # noqa: DTZ001
        max_value=datetime(9990, 1, 1),  # noqa: DTZ001
        timezones=st.just(UTC),
    ),
)
def test_nothing_raises_and_ranges_are_ordered(words: list[str], now: datetime) -> None:
    """Whatever is said whenever: spans do not overlap, and every stretch begins before it ends."""
    moments = find_moments(" ".join(words), now=now)

    assert all(moment.start < moment.end for moment in moments)
    assert all(one.last <= other.first for one, other in itertools.pairwise(moments))


@pytest.mark.parametrize(
    "piece",
    ["in ", "last ", "1 ", "by by ", "yesterday ", "12 de may ", "vor ", "the day before ", "9", " ", "年"],
)
def test_a_hostile_text_costs_little(piece: str) -> None:
    """Eight kilobytes of half a phrase are read in a blink."""
    text = (piece * 8192)[:8192]
    begin = time.process_time()

    find_moments(text, now=FRIDAY)

    assert time.process_time() - begin < 0.5
