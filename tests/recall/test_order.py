"""Order is one thing, relevance another; one message does not take many places."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from engramdb import Engram, Filters, Settings, Status
from engramdb.recall.fuse import SIBLING_PLACES, Fused, behind_siblings
from engramdb.recall.period import find_period, inside
from engramdb.testing import ManualClock
from engramdb.values import EdgeType
from engramdb.values.population import to_microseconds

NOW = datetime(2026, 11, 18, 18, tzinfo=UTC)


def test_what_a_message_said_already_goes_back_some_places() -> None:
    """The second sentence of a message lets others pass, and nothing is lost."""
    ranked = [Fused(key, 1.0 - key / 100) for key in range(1, 12)]

    order = behind_siblings(ranked, lambda one: {1: 7, 2: 7, 3: 7}.get(one.key))

    assert [one.key for one in order][:2] == [1, 4]
    assert [one.key for one in order].index(2) == SIBLING_PLACES
    assert {one.key for one in order} == {one.key for one in ranked}


def test_what_hardly_fits_does_not_pass_the_rest_of_a_message() -> None:
    """Yesterday's second errand goes before what has nothing to do with yesterday."""
    ranked = [Fused(1, 0.95), Fused(2, 0.69), Fused(3, 0.22)]

    assert behind_siblings(ranked, lambda one: 7 if one.key < 3 else None) == ranked


def test_memories_without_a_message_stay_where_they_are() -> None:
    """What was stated outright was read from no message."""
    ranked = [Fused(3, 0.9), Fused(2, 0.8)]

    assert behind_siblings(ranked, lambda _: None) == ranked


@pytest.mark.parametrize("strategy", ["score", "rrf", "mmr", "rrf_then_mmr"])
def test_no_strategy_changes_how_well_a_memory_fits(tmp_path: Path, strategy: str) -> None:
    """Every strategy puts hits in order; the relevance of each is the same number."""
    settings = Settings(home=tmp_path, embedder="static")
    with Engram.open(tmp_path / "memory.db", settings=settings, background=False) as engram:
        for text in ("tea with milk", "green tea from Uji", "the tea house closes at six", "rain all day"):
            engram.remember(text)
        plain = {hit.memory.id: hit.trust.relevance for hit in engram.recall("green tea").hits}
        others = {
            hit.memory.id: hit.trust.relevance for hit in engram.recall("green tea", strategy=strategy).hits
        }

    assert others == plain


def test_the_end_of_a_period_is_no_part_of_it() -> None:
    """What begins when a period ends is of the next one."""
    period = find_period("what happened in September?", now=NOW)

    assert period is not None
    assert period.start is not None
    assert period.end is not None
    moments = [to_microseconds(at) for at in (period.start, period.end, period.end - timedelta(seconds=1))]
    assert inside(moments, period).tolist() == [True, False, True]


@pytest.mark.parametrize(
    ("question", "first", "last"),
    [
        ("which outages did we have in the first quarter?", (2026, 1, 1), (2026, 4, 1)),
        ("Sum up January for me.", (2026, 1, 1), (2026, 2, 1)),
        ("exactly two weeks ago, what did I tell you?", (2026, 11, 4), (2026, 11, 5)),
    ],
)
def test_times_that_only_a_question_names(
    question: str, first: tuple[int, int, int], last: tuple[int, int, int]
) -> None:
    """In a statement they might be something else: the first quarter of a game."""
    period = find_period(question, now=NOW)

    assert period is not None
    assert (period.start, period.end) == (datetime(*first, tzinfo=UTC), datetime(*last, tzinfo=UTC))


def test_a_day_is_answered_by_what_was_said_then_whatever_day_it_is_about(tmp_path: Path) -> None:
    """Both what was said on a day and what is about it are of that day; a neighbor is not."""
    clock = ManualClock(datetime(2026, 11, 10, 9, tzinfo=UTC))
    settings = Settings(home=tmp_path, embedder="static")
    with Engram.open(tmp_path / "memory.db", settings=settings, clock=clock, background=False) as engram:
        for number in range(30):
            clock.set(datetime(2026, 10, 1, 9, tzinfo=UTC) + timedelta(days=number))
            engram.remember(f"Nothing much happened, bus {number} was late and the day was grey")
        clock.set(datetime(2026, 11, 17, 9, tzinfo=UTC))
        said = engram.remember("Booked the ferry for 3 July 2027")
        clock.set(datetime(2026, 11, 10, 9, tzinfo=UTC))
        about = engram.remember("The plumber comes on 17 November 2026")
        clock.set(NOW)

        hits = engram.recall("what happened yesterday?", limit=2).hits

    assert {hit.memory.id for hit in hits} == {said.id, about.id}


def test_neighbors_are_counted_in_messages(tmp_path: Path) -> None:
    """Three sentences of one message are one step, and the same message is no neighbor of itself."""
    settings = Settings(home=tmp_path, embedder="static")
    with Engram.open(tmp_path / "memory.db", settings=settings, background=False) as engram:
        engram.observe("My sister Nora bakes sourdough on Sundays.", session="s")
        engram.observe(
            "I moved to Lisbon in May. My brother Tom repairs old bicycles. I am allergic to peanuts.",
            session="s",
        )
        engram.observe("Our cat Pixel only drinks from the tap.", session="s")
        engram.flush()
        keys: dict[int, str] = {}
        with engram._parts.store.read() as tx:
            for key in range(1, 20):
                keys |= {key: memory.content for key, memory in tx.memories.by_keys([key]).items()}
            near = tx.candidates.session_neighbors(
                list(keys), reach=3, scope=engram.list(limit=1)[0].scope, filters=Filters()
            )

    distances = {(keys[one][:8], keys[other][:8]): distance for one, other, distance in near}
    assert distances["My siste", "I am all"] == 1
    assert distances["My siste", "Our cat "] == 2
    assert ("I moved ", "I am all") not in distances


@pytest.mark.parametrize(("bonus", "is_counted"), [(0.3, True), (0.0, False)])
def test_words_are_compared_one_by_one(tmp_path: Path, bonus: float, is_counted: bool) -> None:
    """What covers the question word by word gains by it, and nothing does where the policy gives nothing."""
    settings = Settings(home=tmp_path, embedder="static", overrides={"recall": {"late_bonus": bonus}})
    told = "So good to hear from you, it has been ages! Picked up pottery again and it calms me, how are you?"
    with Engram.open(tmp_path / "memory.db", settings=settings, background=False) as engram:
        for text in (told, "Which evening class is it that you teach?", "The class of 1998 meets in June"):
            engram.remember(text)
        for number in range(12):
            engram.remember(f"Parcel {number} came with the morning post and lies in the hall")

        hits = engram.recall("which ceramics class?", limit=3).hits

    late = [reason.contribution for hit in hits for reason in hit.reasons if reason.index == "late"]
    assert any(abs(one) > 0.01 for one in late) is is_counted


def test_one_message_leaves_room_for_others(tmp_path: Path) -> None:
    """Of a message that says the same thing four times over, another message stands among the first two."""
    settings = Settings(home=tmp_path, embedder="static")
    with Engram.open(tmp_path / "memory.db", settings=settings, background=False) as engram:
        engram.observe(
            "The garden fence needs new paint. The fence of the garden is rotten at the bottom. "
            "A garden fence like ours costs 900 euros. Our garden fence was built by Tom in 2011."
        )
        engram.observe("Mrs. Alder wants to share the cost of the garden fence.")
        engram.flush()

        hits = engram.recall("what about the garden fence?", limit=5).hits

    assert any("Alder" in hit.memory.content for hit in hits[:2])
    assert len(hits) == 5


def test_what_is_over_is_neither_read_nor_a_way_to_anything(tmp_path: Path) -> None:
    """Before a sweep comes by, a memory whose last day is over leads to nothing and disputes nothing."""
    clock = ManualClock(NOW)
    settings = Settings(home=tmp_path, embedder="static")
    with Engram.open(tmp_path / "memory.db", settings=settings, clock=clock, background=False) as engram:
        lives = engram.remember("I live in Berlin.")
        moved = engram.remember("The bank has my address in Oslo.", forget_after=NOW + timedelta(hours=1))
        engram.link(moved.id, lives.id, type=EdgeType.CONTRADICTS)
        engram.set_status(lives.id, Status.CHALLENGED)
        engram.remember("Odile is Priya's manager", forget_after=NOW + timedelta(hours=1))
        engram.remember("Odile drinks rooibos tea")
        clock.set(NOW + timedelta(days=1))

        home = engram.recall("where do I live?").hits
        drink = engram.recall("what does Priya's manager drink?").hits

    assert moved.id not in [hit.memory.id for hit in home]
    assert not any(reason.index == "hop" for hit in drink for reason in hit.reasons)


def test_an_event_at_the_end_of_the_calendar_dates_nothing(tmp_path: Path) -> None:
    """The week before the first day there is cannot be told, and is no failure."""
    settings = Settings(home=tmp_path, embedder="static")
    with Engram.open(tmp_path / "memory.db", settings=settings, background=False) as engram:
        engram.remember("The Big Bang launch happened.", occurred_at=datetime(1, 1, 1, tzinfo=UTC))

        assert engram.recall("What did we do the week before the Big Bang launch?").hits
