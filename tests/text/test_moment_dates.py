"""Dates beside weekdays, in digits and from day to day, and what looks like one and is none."""

from __future__ import annotations

import itertools
import time
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engramdb.settings import DateOrder
from engramdb.text.moments import MomentRange, TimeRelation, find_moments

WEDNESDAY = datetime(2026, 1, 7, 10, tzinfo=UTC)


def only(text: str, *, date_order: DateOrder = "auto") -> MomentRange:
    """Return the one moment that a text names."""
    (moment,) = find_moments(text, now=WEDNESDAY, date_order=date_order)
    return moment


def day(text: str, *, date_order: DateOrder = "auto") -> str:
    """Return the one day that a text names."""
    moment = only(text, date_order=date_order)
    assert (moment.end - moment.start).days == 1
    return moment.start.date().isoformat()


@pytest.mark.parametrize(
    ("text", "words", "date"),
    [
        ("The review is on Wednesday, January 14.", "on Wednesday, January 14", "2026-01-14"),
        ("The review is on Tuesday, January 14.", "on Tuesday, January 14", "2026-01-14"),
        ("We ship Fri 13 Feb", "Fri 13 Feb", "2026-02-13"),
        ("We meet on Monday (12 May)", "on Monday (12 May)", "2026-05-12"),
        ("by Wednesday, 14 January 2026 please", "by Wednesday, 14 January 2026", "2026-01-14"),
        ("last Monday, 5 January", "last Monday, 5 January", "2026-01-05"),
        ("12 May (Monday)", "12 May (Monday)", "2026-05-12"),
        ("Thu 14/01/2027", "Thu 14/01/2027", "2027-01-14"),
        ("am Mittwoch, den 14. Januar", "am Mittwoch, den 14. Januar", "2026-01-14"),
        ("Treffen am Fr 13.2. in Wien", "am Fr 13.2.", "2026-02-13"),
        ("le mercredi 14 janvier 2026", "le mercredi 14 janvier 2026", "2026-01-14"),
        ("el miércoles, 14 de enero", "el miércoles, 14 de enero", "2026-01-14"),
        ("mercoledì 14 gennaio", "mercoledì 14 gennaio", "2026-01-14"),
        ("в среду, 14 января", "в среду, 14 января", "2026-01-14"),
        ("评审在1月14日（星期三）", "1月14日（星期三）", "2026-01-14"),
        ("评审在星期三1月14日", "星期三1月14日", "2026-01-14"),
        ("1月14日(水)に会議", "1月14日(水)", "2026-01-14"),
    ],
)
def test_a_date_counts_and_the_weekday_beside_it_does_not(text: str, words: str, date: str) -> None:
    """Both are one moment, whichever comes first and whether they agree or not, in every language."""
    moment = only(text)

    assert text[moment.first : moment.last] == words
    assert day(text) == date


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("Lunch Wed the 14th at noon", "2026-01-14"),
        ("I saw him on Thursday the 4th", "2025-12-04"),
        ("see you next Friday the 20th", "2026-02-20"),
        ("see you next Tuesday the 19th", "2026-01-19"),
        ("rendez-vous mercredi 14", "2026-01-14"),
    ],
)
def test_a_weekday_chooses_the_month_of_a_day(text: str, date: str) -> None:
    """The nearest month in which the day is that weekday; where there is none, the number counts."""
    assert day(text) == date


def test_the_word_before_the_weekday_opens_a_side_of_the_date() -> None:
    """By Wednesday, 14 January is until then, and so it is in other languages."""
    relations = [
        only(text).relation
        for text in ("by Wednesday, 14 January", "bis Mittwoch, 14. Januar", "до 14.01.2026")
    ]

    assert relations == [TimeRelation.UNTIL, TimeRelation.UNTIL, TimeRelation.BEFORE]


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("12/01/2026", "2026-01-12"),
        ("due 12.01.2026", "2026-01-12"),
        ("12-01-2026", "2026-01-12"),
        ("12/01/26", "2026-01-12"),
        ("on 12.01.26 we met", "2026-01-12"),
        ("01/27/2026", "2026-01-27"),
        ("2026/01/12", "2026-01-12"),
        ("2026-01-12", "2026-01-12"),
        ("at 2026-01-12T10:30:00Z it rang", "2026-01-12"),
        ("1/12", "2025-12-01"),
        ("12.1.", "2026-01-12"),
        ("The deadline is 1/12", "2026-12-01"),
        ("by 12/1 it is done", "2026-01-12"),
        ("The party is 5/6 at 8pm", "2026-06-05"),
        ("Am 12.1. fliegen wir", "2026-01-12"),
        ("The talk on 12.1. is long", "2026-01-12"),
        ("Call me at 3:30 pm on 12 May", "2026-05-12"),
        ("on 12 May at 15:30", "2026-05-12"),
        ("Dinner on 12/01/2026 at 7.30 pm", "2026-01-12"),
    ],
)
def test_dates_in_digits_are_read(text: str, date: str) -> None:
    """Year first, dots and slashes, with or without a year; a time of day changes no date."""
    assert day(text) == date


def test_the_setting_decides_where_day_and_month_could_be_either() -> None:
    """Slashes and hyphens follow it unless that gives no day; dots and ISO dates have one order."""
    orders: tuple[DateOrder, ...] = ("auto", "day-first", "month-first")

    assert [day("12/01/2026", date_order=one) for one in orders] == ["2026-01-12", "2026-01-12", "2026-12-01"]
    assert [day("on 2/3", date_order=one) for one in orders] == ["2026-03-02", "2026-03-02", "2026-02-03"]
    assert [day("27/01/2026", date_order=one) for one in orders] == ["2026-01-27"] * 3
    assert [day("12.01.2026", date_order=one) for one in orders] == ["2026-01-12"] * 3
    assert [day("2026/01/12", date_order=one) for one in orders] == ["2026-01-12"] * 3


@pytest.mark.parametrize(
    ("text", "first", "after"),
    [
        ("12–14 May", "2026-05-12", "2026-05-15"),
        ("from 3 to 5 June", "2026-06-03", "2026-06-06"),
        ("Monday 12 - Wednesday 14 May", "2026-05-12", "2026-05-15"),
        ("Mon 12 May – Wed 14 May", "2026-05-12", "2026-05-15"),
        ("12 May to 3 June 2027", "2027-05-12", "2027-06-04"),
        ("between 28 December and 3 January", "2025-12-28", "2026-01-04"),
        ("28 December 2026 until 3 January", "2026-12-28", "2027-01-04"),
        ("12.–14.05.2026", "2026-05-12", "2026-05-15"),
        ("12/05–14/05/2026", "2026-05-12", "2026-05-15"),
        ("from 1/12 to 3/12", "2025-12-01", "2025-12-04"),
        ("vom 12. bis 14. Mai", "2026-05-12", "2026-05-15"),
        ("du 12 au 14 mai", "2026-05-12", "2026-05-15"),
        ("del 12 al 14 de mayo", "2026-05-12", "2026-05-15"),
        ("dal 12 al 14 maggio", "2026-05-12", "2026-05-15"),
        ("с 12 по 14 мая", "2026-05-12", "2026-05-15"),
        ("5月12日到14日", "2026-05-12", "2026-05-15"),
        ("5月12日から14日まで", "2026-05-12", "2026-05-15"),
        ("The review was moved from 3 to 5 June", "2026-06-05", "2026-06-06"),
        ("The review was moved from 3 June to 5 June", "2026-06-05", "2026-06-06"),
    ],
)
def test_two_days_with_a_word_between_them_are_one_stretch(text: str, first: str, after: str) -> None:
    """From the first to the last; but of a day that was moved, the new one."""
    moment = only(text)

    assert moment.start.date().isoformat() == first
    assert moment.end.date().isoformat() == after
    assert moment.relation is TimeRelation.WITHIN


@pytest.mark.parametrize(
    "text",
    [
        *("version 1.2.3", "upgrade to 12.1.", "it runs on 12.1.", "Ubuntu 22.04. is out", "build 12.01.26"),
        *(
            "1/2 cup of sugar",
            "on 1/2 of the cakes",
            "a ratio of 3/4",
            "reduced by 1/3",
            "rated 9/10",
            "24/7",
        ),
        *("the share rose from 1/2 to 2/3", "5/10 tests pass", "since 9/11", "a 3/4 inch pipe", "for 3/2"),
        *("10.0.12.1", "192.168.1.12", "port 8080/3000", "on port 1/12", "$12.01/12", "31/31/2026", "45/12"),
        *("logs/2026/01/12/app.log", "report_12.01.2026.pdf", "backup-2026-01-12.sql", "a/12/01/2026"),
        *(
            "https://example.org/2026/01/12/post",
            "May 5,000 people",
            "in May 12 people came",
            "call at 3:30 pm",
        ),
        *("30/02/2026", "12.13.14", "=12/01/2026", "12/01/2026%"),
    ],
)
def test_other_numbers_are_no_dates(text: str) -> None:
    """Versions, fractions, ratings, addresses, ports, prices, paths, file names, counts."""
    assert find_moments(text, now=WEDNESDAY) == []


def test_a_date_beside_a_relative_phrase_is_the_same_moment() -> None:
    """In brackets always; after a comma where both mean the same day."""
    assert day("The release is tomorrow (8 January)") == "2026-01-08"
    assert day("The release is tomorrow (9 January)") == "2026-01-09"
    assert day("Tomorrow, 8 January, we go") == "2026-01-08"
    assert len(find_moments("Tomorrow, and on 9 January", now=WEDNESDAY)) == 2


@pytest.mark.parametrize(
    ("text", "is_relative"),
    [
        ("tomorrow", True),
        ("on Friday", True),
        ("The deadline is Friday", True),
        ("Meet me Friday at 3", True),
        ("Friday meetings are dull", False),
        ("closed on Black Friday", False),
        ("open Black Friday", False),
        ("a few days ago", False),
        ("recently", False),
        ("I moved in September", True),
        ("the deal closes in Q3", False),
        ("last summer", True),
        ("Wed the 14th", True),
        ("on 14 January", False),
        ("in 2019", False),
        ("gestern war ich da", True),
        ("am nächsten Montag", True),
        ("il y a trois jours", True),
        ("昨天", True),
        ("2025年3月", False),
    ],
)
def test_what_means_another_day_on_another_day_is_relative(text: str, *, is_relative: bool) -> None:
    """A date is not, nor is what may be any month or names no days."""
    assert only(text).is_relative is is_relative


@pytest.mark.parametrize(
    "text", ["last frıday", "in fıve days", "ſunday 14 May", "12 MÄRZ 2026", "on İ 1/12"]
)
def test_letters_that_fold_oddly_are_no_reason_to_fail(text: str) -> None:
    """A pattern that ignores case takes a dotless i for an i."""
    find_moments(text, now=WEDNESDAY)


PIECES = (
    "1/ 12/01/ 1/12 12.1. on_1/12 2026-01- 12-14 Mon_12_ from_3_to_ 12_May_to_ Monday,_ 12–14_ ( .1 1月14日 "
    "周三 12/01/2026- tomorrow_( 14日到 vom_12. le_12/1_ 1/12/ Wed_the_ 01.01.2026–"
)


@pytest.mark.usefixtures("collector_at_rest")
@pytest.mark.parametrize("piece", [piece.replace("_", " ") for piece in PIECES.split()])
def test_a_hundred_kilobytes_of_half_dates_are_read_in_linear_time(piece: str) -> None:
    """Twice as much takes about twice as long, and a hundred kilobytes a second or two at most."""
    seconds = []
    for size in (50_000, 100_000):
        begin = time.thread_time()
        find_moments((piece * size)[:size], now=WEDNESDAY)
        seconds.append(time.thread_time() - begin)

    assert seconds[1] < 3 * seconds[0] + 0.5
    assert seconds[1] < 3


SAID = (
    "1 12 31 2026 99 0 / . - – : ( ) , May Mai Mon Freitag Wed 周三 14日 1月 the on by from to until bis au "
    "tomorrow v 1/12 12.1. 12/01/2026 2026-01-12 14th am den at 3pm $ % T"
)


@given(
    st.lists(st.sampled_from([*SAID.split(), " "]), max_size=14).map("".join)
    | st.lists(st.sampled_from(SAID.split()), max_size=14).map(" ".join),
    st.datetimes(
        min_value=datetime(2, 1, 1),  # noqa: DTZ001
        max_value=datetime(9990, 1, 1),  # noqa: DTZ001
        timezones=st.just(UTC),
    ),
    st.sampled_from(["auto", "day-first", "month-first"]),
)
def test_nothing_raises_and_dates_are_ordered(text: str, now: datetime, date_order: DateOrder) -> None:
    """Whatever stands beside whatever: spans do not overlap, and every stretch begins before it ends."""
    moments = find_moments(text, now=now, date_order=date_order)

    assert all(moment.start < moment.end for moment in moments)
    assert all(0 <= moment.first < moment.last <= len(text) for moment in moments)
    assert all(one.last <= other.first for one, other in itertools.pairwise(moments))


@pytest.mark.parametrize("text", ["it expires 09/28", "exp 09/28", "expiry 09/28", "valid thru 09/28"])
def test_what_expires_is_said_as_a_month_and_a_year(text: str) -> None:
    """As on a card; who means a day says so, and a year that is over is a day of the month."""
    moment = only(text)

    assert (moment.start.date().isoformat(), moment.end.date().isoformat()) == ("2028-09-01", "2028-10-01")
    assert day("the offer expires on 09/28").endswith("-09-28")
    assert day("the offer expires 12/24") == "2025-12-24"
