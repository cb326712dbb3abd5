"""What else speaks for a memory: who stands beside it, whom and what time the question names."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import product
from typing import TYPE_CHECKING

import pytest

from engramdb import Draft, Engram, Filters, Scope, Settings, Source
from engramdb.recall.plan import subjects
from engramdb.store.contract import Sketch
from engramdb.values import Provenance

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from engramdb.testing import ManualClock

TALK = [
    ("Tom", "Which dog did you take home from the shelter?"),
    ("Anna", "Her name is Frida!"),
    ("Tom", "The concert in the old harbour was loud"),
    ("Anna", "I bought new shoes for the marathon"),
    ("Tom", "My brother builds wooden boats in winter"),
    ("Anna", "The library closes earlier on Sundays now"),
]


@pytest.fixture
def engram(store_path: Path, clock: ManualClock) -> Iterator[Engram]:
    """Open a store with a short conversation in it, and some memories that belong to none."""
    settings = Settings(policy="notebook", embedder="static")
    with Engram.open(store_path, settings=settings, clock=clock, background=False) as opened:
        drafts = [_said(speaker, text) for speaker, text in TALK]
        opened.remember_many(drafts)
        for thing in ("bread", "copper", "rain", "violins", "chess"):
            opened.remember(f"A note about {thing}")
        yield opened


def _said(speaker: str, text: str, scope: Scope = Scope()) -> Draft:
    made = Provenance(source=Source.INGEST, speaker=speaker, session="talk")
    return Draft(content=text, provenance=made, scope=scope)


def test_an_answer_is_found_beside_its_question(engram: Engram) -> None:
    """The name shares no word with what is asked; it stands next to what does."""
    answer = engram.recall("dog from the shelter")

    found = {hit.memory.content: hit for hit in answer.hits}
    assert "Her name is Frida!" in list(found)[:3]
    reasons = {reason.index for reason in found["Her name is Frida!"].reasons}
    assert "session" in reasons


def test_neighbours_of_another_scope_stay_hidden(engram: Engram) -> None:
    """A session name that two scopes share joins nothing across them."""
    other = Scope(project="other")
    engram.remember_many([_said("Eve", "The vault combination is on the blue card", other)])

    answer = engram.recall("dog from the shelter", limit=50)

    assert all(hit.memory.scope == Scope() for hit in answer.hits)


def test_whoever_the_question_names_comes_first(engram: Engram) -> None:
    """Two said the same; the question asks about one of them."""
    engram.remember_many([_said("Tom", "I adore fresh figs"), _said("Anna", "I adore fresh figs!")])

    answer = engram.recall("What fruit does Anna adore, fresh figs?")

    assert answer.hits[0].memory.provenance.speaker == "Anna"
    assert "subject" in {reason.index for reason in answer.hits[0].reasons}


@pytest.mark.parametrize(
    ("question", "is_named"),
    [
        ("where does Anna live?", True),
        ("where is anna's dog?", True),
        ("annals of the empire", False),
        ("Hannah", False),
        ("Anna Schmidt", True),
    ],
)
def test_a_name_counts_as_a_whole_word(question: str, is_named: bool) -> None:
    """Anna is named by "Anna" and "anna's", not by words that contain her letters."""
    sketches = {1: Sketch(speaker="Anna", subject=None, when=0)}

    assert subjects(question, sketches) == ([1] if is_named else [])


def test_the_time_that_a_question_names_draws_what_happened_then(
    store_path: Path, clock: ManualClock
) -> None:
    """Of two visits to Lisbon, the one in March answers the question about March."""
    with Engram.open(
        store_path, settings=Settings(policy="notebook", embedder="static"), clock=clock, background=False
    ) as engram:
        for month in (3, 9):
            engram.remember(
                f"We visited Lisbon for the {'spring' if month == 3 else 'autumn'} fair",
                occurred_at=datetime(2025, month, 10, tzinfo=UTC),
            )

        spring = engram.recall("the visit to Lisbon in March 2025")
        autumn = engram.recall("the visit to Lisbon in September 2025")

    assert "spring" in spring.hits[0].memory.content
    assert "autumn" in autumn.hits[0].memory.content
    assert spring.quality.period == (datetime(2025, 3, 1, tzinfo=UTC), datetime(2025, 4, 1, tzinfo=UTC))


def test_what_has_nothing_to_do_with_the_question_is_no_answer(engram: Engram) -> None:
    """A store of few memories does not give them all to every question: an empty answer says more."""
    answer = engram.recall("quantum chromodynamics lattice simulation")

    assert answer.hits == ()
    assert answer.quality.missing == ()


def test_filters_by_words_hold_for_what_is_found_by_meaning(store_path: Path, clock: ManualClock) -> None:
    """Whatever index finds a memory, one that does not speak of the technology is left out."""
    with Engram.open(
        store_path, settings=Settings(policy="notebook", embedder="static"), clock=clock, background=False
    ) as engram:
        engram.remember("The cluster runs on Kubernetes and restarts by itself")
        engram.remember("The cluster of grapes hangs in the cellar")

        answer = engram.recall("the cluster", filters=Filters(technologies=frozenset({"k8s"})))

    assert ["Kubernetes" in hit.memory.content for hit in answer.hits] == [True]


def test_what_is_of_the_time_asked_for_is_found_by_it_alone(store_path: Path, clock: ManualClock) -> None:
    """Yesterday's three share no word with the question, and two hundred others share as little."""
    things = ("bread", "copper", "rain", "violins", "chess", "wool", "figs", "tiles", "ink", "salt")
    with Engram.open(store_path, clock=clock, background=False) as engram:
        for day, thing in product(range(20), things):
            engram.observe(f"Spent the day on {thing}, round {day}")
            clock.advance(hours=2)
        clock.advance(days=1)
        for said in ("Mended the fence with Ade", "The kettle gave up", "Ran nine kilometers by the canal"):
            engram.observe(said)
        engram.flush()
        clock.advance(days=1)

        answer = engram.recall("What happened yesterday?", limit=3)

        assert {hit.memory.content.partition(" ")[0] for hit in answer.hits} == {"Mended", "The", "Ran"}
        assert all("time" in {reason.index for reason in hit.reasons} for hit in answer.hits)
