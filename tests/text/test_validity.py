"""From when and until when a statement is true, by its words."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from engramdb.text.validity import read_validity


def read(text: str, said: str) -> tuple[str | None, str | None]:
    """Return the first day on which it is true and the first on which it is not any more."""
    found = read_validity(text, now=datetime.fromisoformat(f"{said}T09:00:00").replace(tzinfo=UTC))
    start, end = (None if one is None else one.date().isoformat() for one in (found.start, found.end))
    return start, end


@pytest.mark.parametrize(
    ("text", "said", "start"),
    [
        ("Since March we live in Porto", "2025-05-10", "2025-03-01"),
        ("We moved in March", "2025-05-10", "2025-03-01"),
        ("As of 1 June I work at Klarna", "2025-06-10", "2025-06-01"),
        ("As of 1 June I work at Klarna", "2025-05-10", "2025-06-01"),
        ("I started at Klarna last week", "2025-06-10", "2025-06-02"),
        ("From February on we deploy on Tuesdays", "2025-03-10", "2025-02-01"),
        ("We use Linear from 1 April onwards", "2025-05-10", "2025-04-01"),
        ("The shop stays open late from this week", "2024-04-08", "2024-04-08"),
        ("The rate is 89 starting this week", "2024-01-17", "2024-01-15"),
        ("Two weeks ago I switched to Helix", "2025-05-10", "2025-04-21"),
        ("He cut the line over on 14 February while I was away", "2025-03-24", "2025-02-14"),
        ("The team has banked with Nordea since 1 August", "2024-10-15", "2024-08-01"),
        ("seit März wohnen wir in Bonn", "2025-05-10", "2025-03-01"),
        ("nous habitons à Lyon depuis mars", "2025-05-10", "2025-03-01"),
        ("desde marzo vivo en Madrid", "2025-05-10", "2025-03-01"),
        ("ab 1. Juni arbeite ich bei SAP", "2025-05-10", "2025-06-01"),
        ("am 3. März sind wir nach Bonn gezogen", "2025-05-10", "2025-03-03"),
    ],
)
def test_words_date_a_change_or_a_state(text: str, said: str, start: str) -> None:
    """Whenever it was said, it is true from the day on that it names."""
    assert read(text, said) == (start, None)


@pytest.mark.parametrize(
    "text",
    [
        "We live in Porto",
        "My birthday is 3 May",
        "The fair is on 28 June",
        "The meeting was on 5 March",
        "The deadline is 20 May",
        "My passport expires on 3 March 2027",
        "25 March is what they gave us",
        "Recently we moved the desks",
        "Our bank is Rabobank, I said that wrong yesterday",
    ],
)
def test_a_date_that_is_the_value_is_not_a_beginning(text: str) -> None:
    """Nor is a vague time, or the time at which something was said."""
    assert read(text, "2025-05-10") == (None, None)


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("I lived in Paris in 2019", "2019-01-01", "2020-01-01"),
        ("I worked at Klarna from 2018 to 2021", "2018-01-01", "2022-01-01"),
        ("I was at Siemens in 2019", "2019-01-01", "2020-01-01"),
        ("We used Jenkins in 2022", "2022-01-01", "2023-01-01"),
        ("Ilkka is on leave until July", None, "2025-07-01"),
        ("The offer holds until Friday", None, "2025-05-17"),
    ],
)
def test_words_say_until_when(text: str, start: str | None, end: str | None) -> None:
    """A state told in the past was over; what holds until a day includes it."""
    assert read(text, "2025-05-10") == (start, end)


@pytest.mark.parametrize("text", ["I visited Paris in 2019", "I joined Acme in 2019", "Rex died in 2019"])
def test_what_happened_stays_true(text: str) -> None:
    """An event or a change has a beginning and no end."""
    assert read(text, "2025-05-10") == ("2019-01-01", None)


def test_where_nobody_knows_when_it_was_said_only_dates_count() -> None:
    """Last week was some week; 2021 was 2021."""
    now = datetime(2025, 5, 10, tzinfo=UTC)

    assert read_validity("We moved last week", now=now, is_dated=False).start is None
    dated = read_validity("We use Postgres since 2021", now=now, is_dated=False)
    assert dated.start == datetime(2021, 1, 1, tzinfo=UTC)
