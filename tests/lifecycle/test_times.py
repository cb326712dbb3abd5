"""The times that a statement names are read on every way in, and its words stay as they are."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from engramdb import Engram, Settings
from engramdb.context.lines import memory_line, stored_tokens
from engramdb.exporting.export import line_of
from engramdb.lifecycle.drafts import Draft
from engramdb.mcp import render
from engramdb.testing import ManualClock
from engramdb.text.moments import named_times
from engramdb.text.tokens import count_tokens
from engramdb.values import DetailLevel, Filters, Provenance, Source, Status, Voice

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from engramdb.settings import DateOrder
    from engramdb.values import Memory

NOW = datetime(2026, 11, 16, 9, tzinfo=UTC)
TOMORROW = datetime(2026, 11, 17, tzinfo=UTC)


def opened(path: Path, clock: ManualClock, *, date_order: DateOrder = "auto") -> Engram:
    settings = Settings(store=str(path), embedder="static", date_order=date_order)
    return Engram.open(settings=settings, clock=clock, background=False)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOW)


@pytest.fixture
def engram(tmp_path: Path, clock: ManualClock) -> Iterator[Engram]:
    with opened(tmp_path / "memory.db", clock) as engram:
        yield engram


def named(memory: Memory) -> list[tuple[str, str]]:
    """Return the times of a memory: in which words, and from which day on."""
    return [(one.words, one.start.date().isoformat()) for one in memory.moments]


def test_remember_resolves_relative_times_and_keeps_the_words(engram: Engram) -> None:
    """What is about a moment is filed at it, and holds from when it was said."""
    memory = engram.remember("The release is tomorrow")

    assert memory.content == "The release is tomorrow"
    assert named(memory) == [("tomorrow", "2026-11-17")]
    assert memory.occurred_at == TOMORROW
    assert memory.valid_from == NOW
    assert engram.get(memory.id) == memory


def test_a_relative_time_is_found_by_its_date(engram: Engram, clock: ManualClock) -> None:
    """By words and by the stretch of time that a question asks for, long after."""
    engram.remember("The release is tomorrow")
    for other in ("The API uses JWT", "Ann lives in Oslo", "We use Postgres", "Rex is my dog"):
        engram.remember(other)
    clock.advance(days=30)

    for question in ("17 November", "What happened on 17 November?", "what was on 17/11/2026?"):
        hits = engram.recall(question).hits
        assert hits[0].memory.content == "The release is tomorrow", question


def test_bulk_resolves_relative_times_too(engram: Engram) -> None:
    """Each as of when it was said; without a moment that is now."""
    past = datetime(2024, 5, 8, tzinfo=UTC)
    drafts = [
        Draft(content="The demo is tomorrow"),
        Draft(content="The fair is tomorrow", said_at=past),
        Draft(content="We met Bob yesterday", occurred_at=past),
        Draft(content="We saw Eve yesterday", occurred_at=NOW - timedelta(hours=20)),
    ]
    stored = engram.remember_many(drafts)

    assert [named(one)[0][1] for one in stored] == ["2026-11-17", "2024-05-09", "2024-05-07", "2026-11-15"]
    assert [one.occurred_at for one in stored[2:]] == [past, NOW - timedelta(hours=20)]


def test_times_that_were_given_are_kept(engram: Engram) -> None:
    """An extractor that has read them knows better."""
    first = engram.remember("The release is tomorrow")
    other = Draft(
        content="The launch is tomorrow", moments=first.moments, said_at=datetime(2020, 1, 1, tzinfo=UTC)
    )

    (stored,) = engram.remember_many([other])

    assert stored.moments == first.moments


def test_nobody_knows_when_imported_text_without_a_date_was_said(engram: Engram) -> None:
    """Its tomorrow is not ours; a date in it still counts."""
    imported = Provenance(source=Source.INGEST)
    drafts = [
        Draft(content="The release is tomorrow", provenance=imported),
        Draft(content="We moved tomorrow's talk to 3 May 2027", provenance=imported),
    ]
    relative, dated = engram.remember_many(drafts)

    assert (relative.moments, relative.occurred_at) == ((), None)
    assert named(dated) == [("3 May 2027", "2027-05-03")]


def test_nobody_knows_when_somebody_else_s_words_were_said(engram: Engram) -> None:
    """The tomorrow of a mail that is pasted today may be long over."""
    (stored,) = engram.remember_many(
        [Draft(content="I arrive tomorrow", said_at=NOW, provenance=Provenance(voice=Voice.FORWARDED))]
    )

    assert stored.moments == ()


def test_the_same_words_on_another_day_are_another_statement(engram: Engram, clock: ManualClock) -> None:
    """On the same day they are a repetition."""
    first = engram.remember("I ran five miles yesterday")
    again = engram.remember("I ran five miles yesterday.")
    clock.advance(days=3)
    later = engram.remember("I ran five miles yesterday")

    assert again.id == first.id
    assert again.reinforcements == 1
    assert later.id != first.id
    assert {named(one)[0][1] for one in engram.list()} == {"2026-11-15", "2026-11-18"}
    assert all(check.ok for check in engram.doctor().checks)


def test_a_dream_does_not_merge_what_was_said_of_two_days(engram: Engram, clock: ManualClock) -> None:
    """However alike the words are."""
    for _ in range(3):
        engram.remember("I ran five miles yesterday evening")
        clock.advance(days=3)

    engram.dream()

    assert len(engram.list(filters=Filters(statuses=frozenset({Status.ACTIVE})))) >= 3


def test_what_was_said_later_holds_although_it_tells_of_an_earlier_time(
    engram: Engram, clock: ManualClock
) -> None:
    """Who moved last month says so today."""
    old = engram.remember("I live in Berlin")
    clock.advance(days=1)
    new = engram.remember("I moved to Paris last month")

    assert new.occurred_at == datetime(2026, 10, 1, tzinfo=UTC)
    assert new.last_stated_at == clock.now()
    assert engram.get(old.id).superseded_by == new.id


def test_a_correction_is_read_as_of_now_and_loses_the_old_moment(engram: Engram, clock: ManualClock) -> None:
    """A moment that somebody gave stays."""
    given_at = datetime(2026, 10, 1, tzinfo=UTC)
    memory = engram.remember("The release is tomorrow")
    given = engram.remember("We met Bob in Rome", occurred_at=given_at)
    clock.advance(days=1)

    corrected = engram.correct(memory.id, "The release is on Friday")
    bare = engram.correct(corrected.id, "The release is done")
    kept = engram.correct(given.id, "We met Bob in Oslo yesterday")

    assert named(corrected) == [("on Friday", "2026-11-20")]
    assert corrected.occurred_at == datetime(2026, 11, 20, tzinfo=UTC)
    assert bare.occurred_at is None
    assert kept.occurred_at == given_at


def test_words_with_a_relative_time_name_a_memory_on_their_day(engram: Engram) -> None:
    """As the words of any other memory do."""
    memory = engram.remember("The release is tomorrow")

    assert engram.get("the release is tomorrow").id == memory.id


@pytest.mark.parametrize(
    ("said", "words", "day"),
    [
        ("The review is on Wednesday, January 14.", "on Wednesday, January 14", "2027-01-14"),
        ("We fly to Rome tomorrow.", "tomorrow", "2026-11-17"),
        ("My visa expires on 12/01/2027.", "on 12/01/2027", "2027-01-12"),
    ],
)
def test_what_is_observed_keeps_its_words_and_has_its_times(
    engram: Engram, clock: ManualClock, said: str, words: str, day: str
) -> None:
    """As of when the turn was said, which may be read later."""
    engram.observe(said, role="user", session="s1")
    clock.advance(days=2)
    engram.flush()
    (memory,) = engram.list()

    assert memory.content.rstrip(".") == said.rstrip(".")
    assert named(memory) == [(words, day)]
    assert memory.occurred_at == memory.moments[0].start


def test_the_setting_decides_how_digits_are_read(tmp_path: Path) -> None:
    """On the way in and in a question."""
    found = {}
    for date_order in ("day-first", "month-first"):
        with opened(tmp_path / f"{date_order}.db", ManualClock(NOW), date_order=date_order) as engram:
            memory = engram.remember("The contract ends on 04/05/2027")
            plan = engram.recall("What ends on 04/05/2027?", explain=True).quality
            found[date_order] = (memory.moments[0].start.date().isoformat(), str(plan.period))

    assert found["day-first"][0] == "2027-05-04"
    assert found["month-first"][0] == "2027-04-05"
    assert found["day-first"][1] != found["month-first"][1]


def test_an_export_takes_the_times_along(engram: Engram, clock: ManualClock, tmp_path: Path) -> None:
    """Read again in another store on another day, tomorrow is still the same day."""
    file = tmp_path / "export.jsonl"
    engram.remember("The release is tomorrow")
    engram.remember("I moved to Paris last month")
    file.write_bytes(b"".join(line_of(one) for one in engram.export()))
    clock.advance(days=40)

    with opened(tmp_path / "other.db", clock) as other:
        other.import_from(file)
        taken = {one.content: one for one in other.list()}

    assert named(taken["The release is tomorrow"]) == [("tomorrow", "2026-11-17")]
    moved = taken["I moved to Paris last month"]
    assert (moved.said_at, moved.valid_from) == (NOW, datetime(2026, 10, 1, tzinfo=UTC))


def test_models_are_shown_the_date_beside_a_relative_time(engram: Engram) -> None:
    """In the window, in the lines of the MCP server and in its values, which keep the words as they are."""
    memory = engram.remember("The release is tomorrow")
    shown = "The release is tomorrow (17 November 2026)"

    assert memory_line(memory, DetailLevel.FULL).endswith(shown)
    assert shown in engram.context("when is the release?", model="claude-opus-4-6").text
    assert render.line(memory).endswith(shown)
    assert render.shape(memory)["content"] == memory.content
    assert render.shape(memory)["readable"] == shown
    assert "dated" not in render.shape(engram.remember("Ann lives in Oslo"))
    assert stored_tokens(memory, DetailLevel.FULL) >= count_tokens(shown)


CARD = "Mom's bank card ends in 4432 and expires on 09/28, cvv 118"


@pytest.mark.parametrize("way", ["remember", "draft", "observe"])
def test_no_date_of_a_memory_comes_from_a_secret(engram: Engram, way: str) -> None:
    """A mask that dates its memory tells its digits; the day beside a secret counts as any other."""
    if way == "remember":
        engram.remember(CARD)
        engram.remember("The door code is 4471 since 3 May 2024")
    elif way == "draft":
        (known,) = named_times("it expires on 09/28", now=NOW)[0]
        engram.remember_many([Draft(content=CARD, moments=(known,), occurred_at=known.start)])
        engram.remember("The door code is 4471 since 3 May 2024")
    else:
        engram.observe(CARD, session="s")
        engram.observe("The door code is 4471 since 3 May 2024", session="s")
        engram.flush()
    card = next(one for one in engram.list() if "card" in one.content)
    door = next(one for one in engram.list() if "door" in one.content)

    told = [one for one in (card.occurred_at, card.valid_from, card.valid_to) if one is not None]
    assert "[confidential]" in card.content
    assert "09/28" not in card.content
    assert not [one for one in told if (one.month, one.day) == (9, 28) or one.year == 2028]
    assert card.moments == ()
    assert door.valid_from == datetime(2024, 5, 3, tzinfo=UTC)
