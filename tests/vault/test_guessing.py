"""
A secret cannot be guessed: whoever asks with the right number among many gets what a wrong one gets.

Two stores differ in nothing but their secrets. The same questions, which hold the secret of the first, must
be answered alike by both: same hits, scores, reasons and counts.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from engramdb import Engram, Settings
from engramdb.errors import EngramError
from engramdb.testing import ManualClock, TinyEmbedder
from engramdb.text.terms import terms
from engramdb.values import Actor, ActorKind, Filters

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HELD, OTHER = "4711", "8322"
BATCH = " ".join(f"{number:04}" for number in range(4650, 4750))
QUESTIONS = (BATCH, f"alarm {BATCH}", f"Is {HELD} right?", f"Zoe locker {HELD}", f"it's {HELD}")
AGENT = Actor(kind=ActorKind.AGENT, name="reader")
_IDS = re.compile(r"\b[0-9a-f]{8}-?[0-9a-f-]{20,}\b|\b[0-9A-HJKMNP-TV-Z]{26}\b", re.IGNORECASE)
_TIMINGS = re.compile(r'"(?:milliseconds|stages)":(?:[\d.e-]+|\{[^}]*\}|\[[^\]]*\])')


def filled(folder: Path, secret: str) -> Engram:
    """Return a store that knows secrets, told in every way, beside ordinary things."""
    engram = Engram.open(
        settings=Settings(home=folder),
        embedder=TinyEmbedder(),
        clock=ManualClock(datetime(2026, 3, 1, tzinfo=UTC)),
        background=False,
        actor=AGENT,
    )
    engram.remember(f"The alarm code is {secret}.")
    engram.remember(f"Zoe's locker code {secret} opens at {secret}.")
    engram.remember("Zoe keeps bees behind the house.")
    engram.observe("what is the garage code?", role="assistant", session="s")
    engram.observe("hm, let me look", session="s")
    engram.observe(f"it's {secret}", session="s")
    engram.flush()
    engram.documents.put(("places",), "alarm", {"kind": "code"}, text=f"The gate PIN is {secret}.")
    return engram


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Engram, Engram]]:
    """Two stores that differ in their secrets only."""
    with (
        filled(tmp_path_factory.mktemp("held"), HELD) as one,
        filled(tmp_path_factory.mktemp("other"), OTHER) as two,
    ):
        yield one, two


def plain(answer: object) -> str:
    """Return an answer as text, without what differs from run to run: ids and times."""
    text = msgspec.json.encode(answer).decode()
    names: dict[str, str] = {}
    return _IDS.sub(lambda one: names.setdefault(one[0], f"id{len(names)}"), _TIMINGS.sub("", text))


def answered(engram: Engram, way: str, question: str) -> str:
    """Return what is answered, or why nothing is."""
    try:
        return plain(WAYS[way](engram, question))
    except EngramError as exc:
        return exc.code


WAYS: dict[str, Any] = {
    "recall": lambda engram, question: engram.recall(question, explain=True, limit=20),
    "recall by rank": lambda engram, question: engram.recall(question, strategy="rrf"),
    "timeline": lambda engram, question: engram.timeline(question),
    "reason": lambda engram, question: engram.reason(question),
    "confidence": lambda engram, question: engram.confidence(question),
    "entity": lambda engram, question: engram.entity(question[:60]),
    "list": lambda engram, question: engram.list(filters=Filters(entities=frozenset(question.split()))),
    "documents": lambda engram, question: engram.documents.search(question, ("places",)),
}


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("way", WAYS)
def test_a_right_guess_is_answered_as_a_wrong_one(
    way: str, question: str, stores: tuple[Engram, Engram]
) -> None:
    """Whatever is asked with the secret of one store in it, both answer alike."""
    held, other = (answered(one, way, question) for one in stores)

    assert held == other


def test_asked_by_name_the_secret_is_found_and_shown(stores: tuple[Engram, Engram]) -> None:
    """What keeps a secret out of an index leaves the words by which it is asked for."""
    held, _ = stores
    found = held.recall("what is the alarm code?").hits

    assert HELD in found[0].memory.content


def test_no_index_holds_a_word_of_a_secret(stores: tuple[Engram, Engram]) -> None:
    """Neither memories nor turns are filed under the secret."""
    held, _ = stores
    with held._parts.store.read() as tx:
        counted = tx.terms.statistics(terms(HELD), scope=held.scope).frequencies
        said = tx.turn_terms.frequencies(terms(HELD), scope=held.scope, at_most=100)

    assert not any([*counted.values(), *said.values()])


@pytest.mark.parametrize(
    "words",
    [
        "Zoe's locker code 4477 opens at 4477.",
        "The password is Mauve!77x, yes, mauve!77x.",
        "PIN 9081? PIN: 9081",
    ],
)
def test_a_secret_said_twice_is_masked_twice(words: str, tmp_path: Path) -> None:
    """Every occurrence goes, in the memory and in the turn, in all of their fields."""
    with Engram.open(
        settings=Settings(home=tmp_path), embedder=TinyEmbedder(), background=False, actor=AGENT
    ) as engram:
        engram.remember(words)
        engram.observe(words)
        shown = plain([*engram.list(), *engram.turns()]).lower()

    assert not re.search(r"4477|mauve!77x|9081", shown)
