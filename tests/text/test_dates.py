"""How a stretch of time is named, and how a text is shown after its day has passed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engramdb.text.dates import MONTHS, dated, name_stretch, with_dates
from engramdb.text.lexicons import ENGLISH
from engramdb.text.moments import named_times
from engramdb.text.terms import index_terms, passage, said_words, terms
from engramdb.values import Memory, Moment, new_id

MONDAY = datetime(2026, 11, 16, 9, tzinfo=UTC)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def stated(content: str, *, now: datetime = MONDAY) -> Memory:
    """Return a memory with its times as they are read when it is stated."""
    moments, occurred_at = named_times(content, now=now)
    return Memory(
        id=new_id(now),
        content=content,
        created_at=now,
        updated_at=now,
        moments=moments,
        occurred_at=occurred_at,
    )


@pytest.mark.parametrize(
    ("start", "end", "words"),
    [
        ("2026-11-17", "2026-11-18", "17 November 2026"),
        ("2026-11-17T05:00", "2026-11-17T12:00", "17 November 2026"),
        ("2026-11-17T20:00", "2026-11-18T06:00", "17 November 2026"),
        ("2026-05-12", "2026-05-15", "12–14 May 2026"),
        ("2026-04-27", "2026-05-04", "27 April – 3 May 2026"),
        ("2026-12-28", "2027-01-04", "28 December 2026 – 3 January 2027"),
        ("2026-11-01", "2026-12-01", "November 2026"),
        ("2026-06-01", "2026-09-01", "June–August 2026"),
        ("2026-12-01", "2027-03-01", "December 2026 – February 2027"),
        ("2025-01-01", "2026-01-01", "2025"),
        ("1990-01-01", "2000-01-01", "1990–1999"),
    ],
)
def test_a_stretch_is_named_as_shortly_as_its_edges_allow(start: str, end: str, words: str) -> None:
    """A day, days of a month, months, years; a part of a day is told by its day."""
    assert name_stretch(at(start), at(end)) == words


def test_months_are_spelled_as_the_lexicon_has_them() -> None:
    """What is written as a date is read as one."""
    assert [name.lower() for name in MONTHS] == ENGLISH.time.months.split()


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("The release is tomorrow", "The release is tomorrow (17 November 2026)"),
        ("The deadline is Friday", "The deadline is Friday (20 November 2026)"),
        ("We met last week in Rome", "We met last week (9–15 November 2026) in Rome"),
        ("I moved last summer", "I moved last summer (June–August 2026)"),
        ("Ich fliege morgen nach Rom", "Ich fliege morgen (17 November 2026) nach Rom"),
        ("昨天我们见面了", "昨天 (15 November 2026)我们见面了"),
        ("The review is on 14 January", "The review is on 14 January"),
        ("The release is tomorrow (17 November)", "The release is tomorrow (17 November)"),
        ("I recently moved", "I recently moved"),
        ("We ski in winter", "We ski in winter"),
    ],
)
def test_the_date_stands_beside_a_relative_time(said: str, shown: str) -> None:
    """The words stay as they were said; a date, a habit or something vague needs none."""
    memory = stated(said)

    assert memory.content == said
    assert dated(memory) == shown


def test_two_relative_times_have_each_its_own_date() -> None:
    """Also where the same word comes twice."""
    shown = dated(stated("Not today but tomorrow, or the tomorrow after that"))

    assert shown.startswith("Not today (16 November 2026) but tomorrow (17 November 2026), or the tomorrow")


def test_a_shortened_text_has_the_dates_of_what_is_left_of_it() -> None:
    """What a summary has lost is not dated."""
    moments = stated("We met yesterday and fly tomorrow").moments

    assert with_dates("fly tomorrow", moments) == "fly tomorrow (17 November 2026)"
    assert with_dates("fly soon", moments) == "fly soon"


def test_what_is_indexed_holds_the_date_of_a_relative_time() -> None:
    """Once: where the day in front says it already, the words are not dated again."""
    tomorrow = stated("The release is tomorrow")
    both = stated("I was ill yesterday but the release is tomorrow")

    assert passage(tomorrow) == "[17 November 2026] The release is tomorrow"
    assert passage(both) == "[15 November 2026] I was ill yesterday but the release is tomorrow"
    assert said_words(both) == f"{passage(both)} (17 November 2026)"
    assert said_words(tomorrow) == passage(tomorrow)
    assert set(terms("17 November")) <= set(index_terms(tomorrow)) & set(index_terms(both))


def test_a_long_text_is_about_no_single_moment() -> None:
    """Its times are kept all the same, as far as it is read, and no more than a few."""
    page = "Yesterday it rained. " + "It was a long day with many words in it. " * 20
    moments, occurred_at = named_times(page, now=MONDAY)
    many, _ = named_times("on 1 May 2020, " * 200, now=MONDAY)

    assert [one.words for one in moments] == ["Yesterday"]
    assert occurred_at is None
    assert len(many) <= 16


TIMES = st.tuples(st.sampled_from("abc"), st.datetimes(max_value=datetime(9990, 1, 1)), st.booleans())  # noqa: DTZ001


@given(st.text(alphabet="abc (", max_size=30), st.lists(TIMES, max_size=4))
def test_dating_only_adds(text: str, told: list[tuple[str, datetime, bool]]) -> None:
    """Whatever the times are, the words stay, in their order."""
    moments = [
        Moment(words=words, start=start, end=start + timedelta(hours=1), is_relative=is_relative)
        for words, start, is_relative in told
    ]
    letters = iter(with_dates(text, moments))

    assert all(letter in letters for letter in text)
