"""Which stretch of time a question asks for, and how near a memory is to it."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engramdb.recall.period import Period, find_period, nearness, resolve_anchor
from engramdb.text.moments import TimeRelation

FRIDAY = datetime(2026, 5, 8, 10, tzinfo=UTC)
RELEASE = datetime(2026, 4, 15, 14, tzinfo=UTC)


def asked(question: str, *, now: datetime = FRIDAY) -> Period:
    """Return the period of a question that has one."""
    period = find_period(question, now=now)
    assert period is not None
    return period


def days(period: Period) -> tuple[str | None, str | None]:
    """Return the first and the last day of a period."""
    last = period.end - timedelta(microseconds=1) if period.end else None
    start, end = (edge.date().isoformat() if edge else None for edge in (period.start, last))
    return start, end


def microseconds(*moments: datetime) -> list[int]:
    """Return moments as the store counts them."""
    return [int(moment.timestamp() * 1_000_000) for moment in moments]


@pytest.mark.parametrize(
    ("question", "first", "last"),
    [
        ("What did we do last Tuesday?", "2026-05-05", "2026-05-05"),
        ("What did we ship in March?", "2026-03-01", "2026-03-31"),
        ("notes from September", "2025-09-01", "2025-09-30"),
        ("What happened over the weekend?", "2026-05-02", "2026-05-03"),
        ("What do I have on Monday?", "2026-05-11", "2026-05-11"),
        ("What did I know before 27 June 2023?", None, "2023-06-26"),
        ("What have we decided since Monday?", "2026-05-04", None),
        ("What did we agree on last week on Tuesday?", "2026-04-28", "2026-04-28"),
        ("Which book did I finish in March of last year?", "2025-03-01", "2025-03-31"),
        ("In 2023, what did I do in the autumn?", "2023-09-01", "2023-11-30"),
        ("What changed between last Monday and yesterday?", "2026-05-04", "2026-05-07"),
        ("Which issues came up from 3 March until 7 April?", "2026-03-03", "2026-04-07"),
        ("What happened after March 2024 but before June 2024?", "2024-04-01", "2024-05-31"),
        ("What did we eat the week before Christmas?", "2025-12-17", "2025-12-23"),
        ("How did we spend New Year's Eve?", "2025-12-31", "2025-12-31"),
        ("Did I take my pills yesterday or on Monday?", "2026-05-04", "2026-05-07"),
        ("Since the outage last week, what have we changed?", "2026-04-27", None),
        ("Who called after the trip in March?", "2026-03-01", None),
        ("What was shown on the Sunday before 25 October 2022?", "2022-10-23", "2022-10-23"),
        ("What did I watch recently, as I said on 7 February 2022?", "2022-02-07", "2022-02-07"),
        ("Did I sleep well today or last night?", "2026-05-07", "2026-05-08"),
        ("Was haben wir zwischen Mai und Juli gemacht?", "2025-05-01", "2025-07-31"),
        ("5月から7月まで何をしましたか？", "2025-05-01", "2025-07-31"),
    ],
)
def test_a_question_asks_for_a_stretch_of_days(question: str, first: str | None, last: str | None) -> None:
    """Phrases are read together, and what has no year or week of its own lies behind us."""
    assert days(asked(question)) == (first, last)


@pytest.mark.parametrize(
    "question",
    [
        "When did I move to Berlin?",
        "How has my understanding of Rust changed over time?",
        "What do I usually eat on my birthday?",
        "What is the March project about?",
        "May I see the notes?",
        "What was the second option?",
        "What is new in version 2023.1?",
        "What do I wear in winter?",
        "Which shop did I like for Black Friday?",
        "Who plays Wednesday Addams?",
        "Which editor do I use these days?",
        "What should I pack before the trip?",
        "Since you know my taste, which wine should I buy?",
        "Who presented before Anna?",
        "Who looked after the dog?",
        "",
    ],
)
def test_a_question_that_names_no_time_has_no_period(question: str) -> None:
    """Names, habits, plans and reasons only look like times; asking when is not saying when."""
    assert find_period(question, now=FRIDAY) is None


def test_what_was_spoken_about_is_not_when_it_was_said() -> None:
    """The trip is in August, but the memory of it was made yesterday."""
    period = asked("What did I say yesterday about the trip in August?")

    assert days(period) == ("2026-05-07", "2026-05-07")
    assert period.words == ("yesterday",)


def test_a_day_begins_where_the_asker_is() -> None:
    """In Tokyo, March of last year began nine hours before it did in London."""
    tokyo = datetime(2026, 5, 9, 1, tzinfo=timezone(timedelta(hours=9)))

    period = asked("What did we do in March last year?", now=tokyo)

    assert period.start == datetime(2025, 2, 28, 15, tzinfo=UTC)
    assert period.end == datetime(2025, 3, 31, 15, tzinfo=UTC)


@pytest.mark.parametrize(
    ("question", "event", "relation"),
    [
        ("What has happened since the release?", "the release", TimeRelation.SINCE),
        (
            "What did we use before the migration to Postgres?",
            "the migration to Postgres",
            TimeRelation.BEFORE,
        ),
        ("What did I do after the road trip to relax?", "the road trip", TimeRelation.AFTER),
        ("Since I moved to Lisbon, what have I read?", "I moved to Lisbon", TimeRelation.SINCE),
        ("after joining Acme, what did I learn?", "joining Acme", TimeRelation.AFTER),
        ("How did I feel until the surgery?", "the surgery", TimeRelation.UNTIL),
        ("Who helped during the move?", "the move", TimeRelation.WITHIN),
        ("Was hat sich seit dem Umzug nach Berlin geändert?", "dem Umzug nach Berlin", TimeRelation.SINCE),
        ("Que s'est-il passé depuis la migration ?", "la migration", TimeRelation.SINCE),
        ("Что было после релиза?", "релиза", TimeRelation.AFTER),
    ],
)
def test_a_time_may_hang_on_an_event(question: str, event: str, relation: TimeRelation) -> None:
    """The event keeps its words, to be looked up; until then the period has no ends."""
    period = asked(question)

    assert (period.anchor, period.relation) == (event, relation)
    assert (period.start, period.end) == (None, None)


@pytest.mark.parametrize(
    ("question", "first", "last"),
    [
        ("What has happened since the release?", "2026-04-15", None),
        ("What did we know before the release?", None, "2026-04-15"),
        ("Who was there during the release?", "2026-04-15", "2026-04-15"),
        ("What did people say two days after the release?", "2026-04-17", "2026-04-17"),
        ("What did we do the week before the release?", "2026-04-08", "2026-04-14"),
        ("What broke two weeks after the release?", "2026-04-26", "2026-05-02"),
        ("Which bugs came in last week after the release?", "2026-04-27", "2026-05-03"),
    ],
)
def test_an_event_that_is_found_gives_the_period_its_ends(
    question: str, first: str | None, last: str | None
) -> None:
    """Days are counted from the day of the event; a range that the question gave besides still holds."""
    period = resolve_anchor(asked(question), RELEASE)

    assert days(period) == (first, last)
    assert (period.anchor, period.anchor_days) == (None, None)


def test_a_period_without_an_event_stays_as_it_is() -> None:
    """There is nothing to resolve in a date."""
    period = asked("What did we do last week?")

    assert resolve_anchor(period, RELEASE) is period


def test_nearness_is_whole_inside_and_fades_outside() -> None:
    """A day off is still likely, three days off hardly, three weeks off not at all."""
    period = asked("What did I do on 27 June 2023?")
    day = datetime(2023, 6, 27, tzinfo=UTC)
    moments = microseconds(*(day + timedelta(days=off) for off in (0, 0.99, 2, 4, 22)))

    near = nearness(moments, period)

    assert near[:2].tolist() == [1.0, 1.0]
    assert near[2] == pytest.approx(np.exp(-0.5))
    assert near[3] == pytest.approx(np.exp(-4.5))
    assert near[4] < 1e-9


def test_nearness_fades_alike_on_both_sides() -> None:
    """Early by two days is as far as late by two days."""
    period = asked("What happened in March 2024?")
    assert period.start is not None
    assert period.end is not None

    early, late = nearness(
        microseconds(period.start - timedelta(days=2), period.end + timedelta(days=2)), period
    )

    assert early == pytest.approx(late)


def test_an_open_side_never_fades() -> None:
    """Since May has no end, before May no beginning, and an event that is not found has neither."""
    long_ago, today = microseconds(datetime(1990, 1, 1, tzinfo=UTC), FRIDAY)

    assert nearness(today, asked("what changed since 2020?")) == 1.0
    assert nearness(long_ago, asked("what did I know before 2020?")) == 1.0
    assert nearness([long_ago, today], asked("what changed since the release?")).tolist() == [1.0, 1.0]


def test_a_memory_without_a_moment_is_near_to_nothing() -> None:
    """What nobody dated is not found by its date."""
    assert nearness([float("nan")], asked("what did we do last week?")).tolist() == [0.0]


def test_the_longer_and_the_vaguer_a_phrase_the_softer_its_edges() -> None:
    """A day is off by a day, a month by ten, a year no more than a season, and recently by twice as much."""
    said = ("yesterday", "last week", "in March", "last summer", "in 2019")
    softness = [asked(f"What did I do {phrase}?").softness_days for phrase in said]

    assert softness == sorted(softness)
    assert softness[0] == 1.0
    assert softness[2] == pytest.approx(10, abs=0.5)
    assert softness[3] == softness[4] == 30.0
    recent, fortnight = (asked(f"what happened {phrase}?") for phrase in ("recently", "from 1 to 14 March"))
    assert recent.softness_days > fortnight.softness_days


def test_of_a_pasted_document_both_ends_are_read() -> None:
    """People ask before what they paste or after it; what lies between is not their question."""
    paste = "On 3 March 1999 it rained. " * 400
    before = asked(f"What did we decide yesterday? {paste}")
    after = f"{paste} What did we decide on 7 May 2026?"

    assert "yesterday" in before.words
    assert asked(after).words[-1] == "on 7 May 2026"


SAID = (
    "what did we do in last next 3 years days ago May on by since the end of month yesterday 2024 before "
    "after release during two weeks week Christmas and or from to between March Monday , ? about for I moved "
    "9999-12-30 上周 前 vor dem Umzug 3月 から"
)


@given(
    st.lists(st.sampled_from(SAID.split()), max_size=14),
    st.datetimes(
        min_value=datetime(2, 1, 1),  # noqa: DTZ001
        max_value=datetime(9990, 1, 1),  # noqa: DTZ001
        timezones=st.just(UTC),
    ),
)
def test_whatever_is_asked_gets_an_ordered_period_or_none(words: list[str], now: datetime) -> None:
    """Nothing raises; ends are in order, and words are the question's own."""
    question = " ".join(words)

    period = find_period(question, now=now)

    if period is not None:
        assert period.start is None or period.end is None or period.start < period.end
        assert period.start or period.end or period.anchor
        assert all(said in question for said in period.words)
        assert 0 <= float(nearness(microseconds(FRIDAY)[0], period)) <= 1


@pytest.mark.usefixtures("collector_at_rest")
@pytest.mark.parametrize(
    "piece", ["上周", "12 de may ", "since I moved and ", "last week on ", "9", "after the "]
)
def test_a_hostile_question_costs_little(piece: str) -> None:
    """Twenty kilobytes of half a phrase are read in a blink."""
    question = (piece * 20_000)[:20_000]
    begin = time.thread_time()

    find_period(question, now=FRIDAY)

    assert time.thread_time() - begin < 0.5
