"""A sign, an option or a path makes another statement, however alike the words are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engramdb import Engram, Settings, Source, Status
from engramdb.testing import ManualClock

APART = [
    ("The balance is +200 euros", "The balance is -200 euros"),
    ("The offset is 5", "The offset is -5"),
    ("The limit is <5", "The limit is >5"),
    ("The limit is 5 %", "The limit is 5"),
    ("Use git rebase", "Use git rebase -i"),
    ("Compare with ==", "Compare with ==="),
    ("It is in $HOME", "It is in HOME"),
    ("Install with pip install foo", "Install with pip install foo[all]"),
    ("Deploy with make deploy", "Deploy with make deploy-all"),
]


@pytest.fixture
def engram(store_path: Path, clock: ManualClock) -> Iterator[Engram]:
    """A store without a pack."""
    settings = Settings(embedder="static", reader="rules")
    with Engram.open(store_path, settings=settings, clock=clock, background=False) as opened:
        yield opened


@pytest.mark.parametrize(("first", "second"), [*APART, *((two, one) for one, two in APART)])
def test_another_sign_option_or_path_is_another_statement(
    engram: Engram, clock: ManualClock, first: str, second: str
) -> None:
    """Neither the write nor a dream takes one for the other."""
    engram.remember(first)
    clock.advance(days=1)
    engram.remember(second)
    clock.advance(days=1)
    engram.dream()

    assert {one.content for one in engram.list()} >= {first, second}


@pytest.mark.parametrize(
    ("now", "then"),
    [
        ("I'm not married", "I was married"),
        ("I don't eat meat", "I ate meat as a child"),
        ("The server is not in Frankfurt", "The server was in Frankfurt"),
        ("I use vim for python", "I switched to IntelliJ for Java"),
        ("We use Redis for caching", "We stopped using Redis for queues"),
    ],
)
def test_the_past_and_another_purpose_retire_nothing(
    engram: Engram, clock: ManualClock, now: str, then: str
) -> None:
    """What was so once, or is so for something else, leaves what is so now."""
    old = engram.remember(now)
    clock.advance(days=30)
    engram.remember(then)

    assert engram.get(old.id).status in (Status.ACTIVE, Status.CHALLENGED)


def test_a_person_s_words_are_a_memory_of_their_own_beside_an_agent_s(engram: Engram) -> None:
    """Whoever says it outright has said it: an assistant's guess does not stand for it."""
    guessed = engram.remember("The cat is called Mochi", source=Source.ASSISTANT)

    stated = engram.remember("The cat is really called Mochi")

    assert stated.id != guessed.id
    assert stated.provenance.source is Source.HUMAN


@pytest.mark.parametrize("limit", [1, 5])
def test_the_person_s_word_goes_before_an_agent_s_other_value(
    engram: Engram, clock: ManualClock, limit: int
) -> None:
    """Nothing disputes it, and the agent's words fit better."""
    own = engram.remember("My blood type is A positive", pinned=True)
    clock.advance(days=1)
    engram.remember("Your blood type is B negative", source=Source.ASSISTANT)

    assert engram.recall("what is your blood type?", limit=limit).hits[0].memory.id == own.id
