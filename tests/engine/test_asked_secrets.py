"""A secret that is asked for by name is found by the message that it is from, and nobody else's is."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from engramdb import Engram, Settings
from engramdb.engine.asked_secrets import ASKED
from engramdb.testing import ManualClock
from engramdb.values import Action, Actor, ActorKind, Filters, MemoryType, Recall, Scope

BOATHOUSE = (
    "We changed the lock of the boathouse on Friday. Ana was there, too. "
    "The new code is 48170, keep it to yourself."
)
BIKE = "My bike is at the station. Its lock has a PIN as well. The PIN is 7731."
QUESTION = "what's the code for the boathouse?"


@pytest.fixture
def engram(tmp_path: Path) -> Iterator[Engram]:
    """A store with two secrets, each told two sentences after the thing that it is for."""
    settings = Settings(home=tmp_path / "home", embedder="static", reader="rules")
    with Engram.open(tmp_path / "m.db", settings=settings, clock=ManualClock(), background=False) as engram:
        for number in range(20):
            engram.remember(f"Neighbor number {number} of the boathouse asked about its roof and its code")
        for told in (BOATHOUSE, BIKE):
            engram.observe(told, session="s")
        engram.flush()
        yield engram


def shown(answer: Recall) -> str:
    """Return all that an answer shows."""
    return " ".join([*(hit.memory.content for hit in answer.hits), *(one.excerpt for one in answer.said)])


def test_what_recall_does_not_find_by_its_own_words_is_found_by_its_message(engram: Engram) -> None:
    """It comes first and says why; the limit holds, and the audit names it."""
    answer = engram.recall(QUESTION, limit=3)

    assert answer.hits[0].memory.content == "The new code is 48170, keep it to yourself"
    assert [one.index for one in answer.hits[0].reasons] == [ASKED]
    assert len(answer.hits) == 3
    assert "7731" not in shown(answer)
    revealed = [one for one in engram.audit() if one.action is Action.REVEAL]
    assert [one.target for one in revealed] == [answer.hits[0].memory.id]


@pytest.mark.parametrize(
    "question",
    [
        "who was there when we changed the lock of the boathouse?",
        "is the code of the boathouse new?",
        "does Ana know the code of the boathouse?",
        "what's the code for the garage?",
        "write a poem about the code of the boathouse",
        "when did we change the lock of the boathouse?",
    ],
)
def test_who_asks_for_something_else_is_shown_none(engram: Engram, question: str) -> None:
    """Speaking of a secret is not asking for it, and the code of another door is not the next best."""
    answer = shown(engram.recall(question, limit=10))

    assert "48170" not in answer
    assert "7731" not in answer


def test_two_that_fit_as_well_are_not_shown(engram: Engram) -> None:
    """Nobody can tell which is meant."""
    engram.observe(
        "We changed the lock of the boathouse in Kiel. Jo was there. The code is 52290.", session="t"
    )
    engram.flush()

    assert "48170" not in shown(engram.recall(QUESTION))
    assert "52290" in shown(engram.recall("what's the code for the boathouse in Kiel?"))


def test_what_is_told_twice_is_one_secret(engram: Engram) -> None:
    """Both are shown."""
    engram.observe(
        "The lock of the boathouse again, so that I have it twice: its code is 48170.", session="t"
    )
    engram.flush()

    assert shown(engram.recall(QUESTION, limit=20)).count("48170") == 2


def test_nobody_elses_is_considered(engram: Engram, tmp_path: Path) -> None:
    """Of another user, left out by a filter, from the past, or with an agent that may not ask."""
    agent = Actor(name="helper", kind=ActorKind.AGENT)
    settings = Settings(home=tmp_path / "home", embedder="static", reader="rules", secrets_for_agents="never")

    engram.observe("The sauna has a keypad now. The code is 60414.", session="u", scope=Scope(user="ada"))
    engram.flush()

    assert "60414" in shown(engram.recall("what's the code for the sauna?", scope=Scope(user="ada")))
    assert "60414" not in shown(engram.recall("what's the code for the sauna?", scope=Scope(user="jo")))
    assert "48170" not in shown(
        engram.recall(QUESTION, filters=Filters(types=frozenset({MemoryType.PROCEDURE})))
    )
    assert "48170" not in shown(
        engram.recall(QUESTION, limit=3, as_of=ManualClock().now() - timedelta(days=1))
    )
    with Engram.open(tmp_path / "m.db", settings=settings, background=False, actor=agent) as asked_by_agent:
        assert "48170" not in shown(asked_by_agent.recall(QUESTION))
