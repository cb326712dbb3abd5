"""The recall loop: what an agent was given and then repeats is neither news nor evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import apsw
import pytest

from engramdb import Engram, Scope, Settings, Source

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from engramdb.testing import ManualClock

FACT = "The deployment of the shop runs every Thursday at noon"


@pytest.fixture
def engram(store_path: Path, clock: ManualClock) -> Iterator[Engram]:
    """An engine that knows one fact."""
    settings = Settings(embedder="static")
    with Engram.open(store_path, settings=settings, clock=clock, background=False) as opened:
        opened.remember(FACT)
        yield opened


@pytest.mark.parametrize(
    "echo",
    [
        FACT,
        "As I recall, the deployment of the shop runs every Thursday at noon.",
        "The shop deployment runs each Thursday at noon",
    ],
    ids=["quotation", "quotation inside", "paraphrase"],
)
def test_an_agents_echo_is_no_evidence(engram: Engram, echo: str) -> None:
    """Quoted or in other words: no second memory, and the first is not a bit stronger."""
    before = engram.recall("when does the shop deploy?").hits[0].memory

    answer = engram.remember(echo, source=Source.ASSISTANT)

    assert answer.id == before.id
    (after,) = engram.list()
    assert (after.confidence, after.reinforcements, after.confirmed_at) == (before.confidence, 0, None)


def test_the_same_words_of_a_person_are_evidence(engram: Engram) -> None:
    """A person who says it again confirms it, whatever the agent was given."""
    engram.recall("when does the shop deploy?")

    again = engram.remember(FACT)

    assert again.reinforcements == 1


def test_an_agents_own_news_is_kept(engram: Engram) -> None:
    """What it was not given is news, even right after a recall."""
    engram.recall("when does the shop deploy?")

    news = engram.remember("The payment service returned an error on Monday", source=Source.ASSISTANT)

    assert news.content in {memory.content for memory in engram.list()}
    assert len(engram.list()) == 2


@pytest.mark.parametrize(
    ("fact", "news"),
    [
        ("The shop launches on 3 May", "The shop launches on 12 May"),
        ("The shop stores its orders in MySQL", "The shop stores its orders in PostgreSQL"),
        ("Maya has a dog", "Maya has a cat"),
        ("The shop ships to Norway", "The shop does not ship to Norway"),
        ("Maya leads the shop team", "Maya leads the shop team, and her number is 555 0142"),
        ("Maya leads the shop team", "You told me that Maya leads the shop team and hates meetings"),
    ],
    ids=["a date", "a product", "an animal", "a negation", "a number more", "a dislike more"],
)
def test_what_an_agent_changes_or_adds_is_news(engram: Engram, fact: str, news: str) -> None:
    """It was given the old fact a moment ago; what it learned since is not taken for a repetition."""
    engram.remember(fact)
    engram.recall(fact)

    answer = engram.remember(news, source=Source.ASSISTANT)

    assert answer.content == news


@pytest.mark.parametrize("lead", ["You told me that", "According to my notes,", "From memory:"])
def test_how_a_quotation_is_led_in_is_no_news(engram: Engram, lead: str) -> None:
    """Words about remembering add nothing to what is remembered."""
    fact = engram.recall("when does the shop deploy?").hits[0].memory

    answer = engram.remember(f"{lead} {FACT[0].lower()}{FACT[1:]}", source=Source.ASSISTANT)

    assert answer.id == fact.id


def test_after_a_day_the_echo_is_forgotten(engram: Engram, clock: ManualClock) -> None:
    """A statement made long after the recall stands on its own."""
    engram.recall("when does the shop deploy?")
    clock.advance(hours=25)

    again = engram.remember(FACT, source=Source.ASSISTANT)

    assert again.reinforcements == 1


def test_the_guard_holds_across_processes(store_path: Path) -> None:
    """One process recalls, another hears the agent repeat it."""
    settings = Settings(embedder="static")
    with Engram.open(store_path, settings=settings, background=False) as first:
        fact = first.remember(FACT)
        first.recall("when does the shop deploy?")

    with Engram.open(store_path, settings=settings, background=False) as second:
        second.remember(FACT, source=Source.ASSISTANT)

        assert second.get(fact.id).reinforcements == 0


def test_what_one_reader_was_given_is_news_elsewhere(engram: Engram) -> None:
    """The guard belongs to the scope of the reader."""
    engram.recall("when does the shop deploy?")

    elsewhere = engram.remember(FACT, source=Source.ASSISTANT, scope=Scope(project="other"))

    assert elsewhere.scope == Scope(project="other")


def test_a_guard_that_cannot_be_kept_shows_in_the_status(engram: Engram, store_path: Path) -> None:
    """A question is answered all the same, and whoever looks sees that echoes may slip through."""
    engram.recall("when does the shop deploy?")
    outside = apsw.Connection(str(store_path))
    outside.execute("CREATE TRIGGER jam BEFORE INSERT ON handed_out BEGIN SELECT RAISE(ABORT, 'jam'); END")
    outside.close()

    engram.remember("The payment service moved to Oslo")

    assert any(part.name == "read notes" and part.is_failing for part in engram.status().parts)
