"""Which stretch of time a phrase means, seen from a given now."""

from __future__ import annotations

import itertools
import time
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engramdb.text.calendar import Precision
from engramdb.text.moments import _RULES, MomentRange, TimeRelation, find_moments, resolve

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
        ("the week before last", "2026-04-20", "2026-04-27"),
        ("this past Tuesday", "2026-05-05", "2026-05-06"),
        ("three Fridays ago", "2026-04-17", "2026-04-18"),
        ("a fortnight ago", "2026-04-20", "2026-04-27"),
        ("two weekends ago", "2026-04-25", "2026-04-27"),
        ("a year ago today", "2025-05-08", "2025-05-09"),
        ("a few days ago", "2026-05-03", "2026-05-07"),
        ("in the last three days", "2026-05-05", "2026-05-08"),
        ("over the past month", "2026-04-08", "2026-05-08"),
        ("the past 48h", "2026-05-06", "2026-05-08"),
        ("earlier this week", "2026-05-04", "2026-05-08"),
        ("Q3 2025", "2025-07-01", "2025-10-01"),
        ("last quarter", "2026-01-01", "2026-04-01"),
        ("H1 2025", "2025-01-01", "2025-07-01"),
        ("early March 2025", "2025-03-01", "2025-03-11"),
        ("mid-2024", "2024-05-01", "2024-09-01"),
        ("at the end of 2024", "2024-09-01", "2025-01-01"),
        ("the first two weeks of September 2025", "2025-09-01", "2025-09-15"),
        ("the last week of March 2025", "2025-03-25", "2025-04-01"),
        ("the week of 13 April", "2026-04-13", "2026-04-20"),
        ("the summer of 2023", "2023-06-01", "2023-09-01"),
        ("in the 90s", "1990-01-01", "2000-01-01"),
        ("in May '24", "2024-05-01", "2024-06-01"),
        ("27.06.2023", "2023-06-27", "2023-06-28"),
        ("06/27/2023", "2023-06-27", "2023-06-28"),
        ("in 2023-11", "2023-11-01", "2023-12-01"),
        ("last Christmas", "2025-12-24", "2025-12-27"),
        ("over Easter 2025", "2025-04-18", "2025-04-22"),
        ("around Easter 1998", "1998-04-10", "1998-04-14"),
        ("between 2019 and 2021", "2019-01-01", "2022-01-01"),
        ("from 10 to 14 August 2025", "2025-08-10", "2025-08-15"),
        ("March 3-7, 2026", "2026-03-03", "2026-03-08"),
        ("Jan-Mar 2025", "2025-01-01", "2025-04-01"),
        ("heute Morgen", "2026-05-08", "2026-05-08"),
        ("letzten Dienstag", "2026-05-05", "2026-05-06"),
        ("diesen Sommer", "2026-06-01", "2026-09-01"),
        ("im Jahr 2019", "2019-01-01", "2020-01-01"),
        ("in den letzten drei Tagen", "2026-05-05", "2026-05-08"),
        ("mardi dernier", "2026-05-05", "2026-05-06"),
        ("ces trois derniers jours", "2026-05-05", "2026-05-08"),
        ("el verano pasado", "2025-06-01", "2025-09-01"),
        ("ieri", "2026-05-07", "2026-05-08"),
        ("due settimane fa", "2026-04-20", "2026-04-27"),
        ("martedì scorso", "2026-05-05", "2026-05-06"),
        ("в прошлый вторник", "2026-05-05", "2026-05-06"),
        ("в марте 2024 года", "2024-03-01", "2024-04-01"),
        ("上周二", "2026-04-28", "2026-04-29"),
        ("去年三月", "2025-03-01", "2025-04-01"),
        ("最近三天", "2026-05-05", "2026-05-08"),
        ("先週の火曜日", "2026-04-28", "2026-04-29"),
        ("この3日間", "2026-05-05", "2026-05-08"),
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


@pytest.mark.parametrize(
    ("phrase", "behind", "ahead"),
    [
        ("on Monday", "2026-05-04", "2026-05-11"),
        ("in September", "2025-09-01", "2026-09-01"),
        ("in Q3", "2025-07-01", "2026-07-01"),
        ("on the 20th", "2026-04-20", "2026-05-20"),
        ("over the weekend", "2026-05-02", "2026-05-09"),
        ("in the autumn", "2025-09-01", "2026-09-01"),
        ("at Christmas", "2025-12-24", "2026-12-24"),
        ("between June and August", "2025-06-01", "2026-06-01"),
        ("am Montag", "2026-05-04", "2026-05-11"),
        ("en septembre", "2025-09-01", "2026-09-01"),
        ("九月", "2025-09-01", "2026-09-01"),
    ],
)
def test_who_knows_which_way_a_text_points_can_say_so(phrase: str, behind: str, ahead: str) -> None:
    """A question looks back without a verb that does; what it means by a bare month follows from that."""
    past, future = (
        find_moments(phrase, now=FRIDAY, direction=direction)[0] for direction in ("past", "future")
    )

    assert past.start.date().isoformat() == behind
    assert future.start.date().isoformat() == ahead


def test_a_bare_weekday_or_month_lies_where_the_verb_puts_it() -> None:
    """What was is before now, what will be is after it."""
    assert days("on Monday I went home")[0] == "2026-05-04"
    assert days("on Monday I will go home")[0] == "2026-05-11"
    assert days("I moved in September")[0] == "2025-09-01"
    assert days("I will move in September")[0] == "2026-09-01"


def test_each_clause_decides_for_its_own_time() -> None:
    """What another clause tells of the past does not move an appointment a year back."""
    assert days("Ana got a job in Porto, we move on 1 June")[0] == "2026-06-01"
    assert days("I'm moving in June, it was a long search")[0] == "2026-06-01"
    assert days("the rota came out and they have me on nights from June")[0] == "2026-06-01"
    assert days("in September, before all that, I moved")[0] == "2025-09-01"


@pytest.mark.parametrize(
    "text",
    [
        *("every Friday", "every Tuesday and Friday", "on Fridays", "I may go", "we march on", "30 February"),
        *("hier ist es", "guten Morgen", "por la mañana", "every Friday in winter", "I ski in winter"),
        *("inspired by autumn", "we led in the 4th quarter", "the meeting is on the 20th"),
        *("version 2023.1", "Mars is red", "Ich fliege am Montag", "每周一", "毎週月曜日", "los lunes"),
        *("I wrote it in two weeks", "what I was up to"),
    ],
)
def test_what_only_looks_like_a_moment_is_none(text: str) -> None:
    """Habits, verbs, days that do not exist, and words of another language."""
    assert find_moments(text, now=FRIDAY) == []


def test_a_relation_opens_one_side() -> None:
    """Since has no end, before has no beginning, by includes its day."""
    since, before, by = only("since 2019"), only("before May 2023"), only("by Monday")
    onwards, end = only("from May 2023 onwards"), only("before the end of May 2023")

    assert (since.relation, since.lower, since.upper) == (
        TimeRelation.SINCE,
        datetime(2019, 1, 1, tzinfo=UTC),
        None,
    )
    assert (before.lower, before.upper) == (None, datetime(2023, 5, 1, tzinfo=UTC))
    assert (by.lower, by.upper) == (None, datetime(2026, 5, 12, tzinfo=UTC))
    assert (onwards.lower, onwards.upper) == (datetime(2023, 5, 1, tzinfo=UTC), None)
    assert (end.lower, end.upper) == (None, datetime(2023, 6, 1, tzinfo=UTC))


@pytest.mark.parametrize(
    ("phrase", "lower", "upper"),
    [
        ("seit 2019", "2019-01-01", None),
        ("vor dem 27. Juni 2023", None, "2023-06-27"),
        ("avant le 27 juin 2023", None, "2023-06-27"),
        ("después del 27 de junio de 2023", "2023-06-28", None),
        ("prima del 27 giugno 2023", None, "2023-06-27"),
        ("с марта 2024 года", "2024-03-01", None),
        ("до конца месяца", None, "2026-06-01"),
        ("2023年6月27日之前", None, "2023-06-27"),
        ("2023年6月27日以降", "2023-06-27", None),
        ("pre-2018", None, "2018-01-01"),
        ("older than a year", None, "2025-05-08"),
    ],
)
def test_a_relation_opens_one_side_in_any_language(phrase: str, lower: str | None, upper: str | None) -> None:
    """The word may stand before the stretch or behind it."""
    moment = only(phrase)

    found = [edge.date().isoformat() if edge else None for edge in (moment.lower, moment.upper)]
    assert found == [lower, upper]


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
        ("we hiked over the weekend", "we hiked on the weekend of 2 May 2026"),
        ("we met earlier this week", "we met earlier in the week of 4 May 2026"),
        ("it rained between May and July", "it rained between May and July 2025"),
        ("I worked from November to February", "I worked from November 2025 to February 2026"),
        ("sales fell last quarter", "sales fell in Q1 2026"),
        ("I read a lot in the last month", "I read a lot in the last month"),
        ("the deal closes in Q3", "the deal closes in Q3"),
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


SAMPLES = (
    "the day before yesterday",
    "over the weekend in early March '24 or at the end of 2024, from Q1 to Q2 2025",
    "Jan-Mar 2025, 3 to 7 March, the first two weeks of May, the 28th of last month, three Fridays ago",
    "a fortnight ago, just now, older than a day, pre-2018, in the 90s, at Christmas, xmas 2020, on the 3rd",
    "am Montag, im Sommer, seit 2019, vor zwei Wochen, bis Ende des Monats, in den letzten 3 Tagen",
    "mardi dernier, l'été dernier, en mars, ces trois derniers jours, récemment, d'ici la fin du mois",
    "el martes pasado, hace dos semanas, en los últimos tres días, a finales de marzo, últimamente",
    "martedì scorso, due settimane fa, negli ultimi tre giorni, tra due giorni, stamattina, di recente",
    "в марте, с понедельника, через неделю, за последние три дня, на выходных, до конца месяца",
    "上周二, 三月到五月, 2023年6月27日之前, 最近三天, 去年夏天, 3天前, 最近",
    "先週の火曜日, この3日間, 週末, 3月以降, 2019年から",
)


@pytest.mark.parametrize("text", SAMPLES)
def test_no_rule_is_passed_over_that_would_match(text: str) -> None:
    """Rules are found by their words, which is quick; no phrase is lost by it."""
    tried = _RULES.worth_trying(text.lower())

    missed = [
        rule.pattern.pattern for rule in _RULES.rules if rule.pattern.search(text) and rule not in tried
    ]

    assert missed == []


SAID = (
    "in last next 3 999 years days ago May on by since the end of month yesterday 31 2024 周 前 vor '24 "
    "first half early from to between and Q4 Christmas 90s older than a few fortnight im März 3月 一 上 から "
    "bis Ende des"
)


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


@pytest.mark.usefixtures("collector_at_rest")
@pytest.mark.parametrize(
    "piece",
    ["in ", "last ", "1 ", "by by ", "yesterday ", "12 de may ", "vor ", "the day before ", "9", " ", "年"],
)
def test_a_hostile_text_costs_little(piece: str) -> None:
    """Eight kilobytes of half a phrase are read in a blink."""
    text = (piece * 8192)[:8192]
    begin = time.thread_time()

    find_moments(text, now=FRIDAY)

    assert time.thread_time() - begin < 0.5
