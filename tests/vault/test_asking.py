"""Which secret a question asks for: by its use, by whose it is, and by the words that people have for it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from engramdb.values import Memory, SecurityTier
from engramdb.vault.asking import asked_secret, secrets_asked_for

THEN = datetime(2026, 3, 1, tzinfo=UTC)


def secret(content: str, *, id: str) -> Memory:  # noqa: A002
    """Return a confidential memory."""
    return Memory(
        id=id, content=content, created_at=THEN, updated_at=THEN, security=SecurityTier.CONFIDENTIAL
    )


HELD = [
    secret("at the back gate of the allotment the keypad wants 4471", id="gate"),
    secret("the old safe in the hall opens with 31-7-22", id="safe"),
    secret("my bank PIN is 8052", id="bank"),
    secret("Nora's school card has the PIN 7719", id="nora"),
    secret("at the nursery the password is Marzipan-77", id="nursery"),
    secret("der Code am Hoftor ist 9093", id="yard"),
]


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("what do I press at the allotment gate?", "gate"),
        ("how do I open the old safe in the hall?", "safe"),
        ("what word do we say at the nursery?", "nursery"),
        ("what's the safe word of the nursery?", "nursery"),
        ("Was muss ich am Hoftor drücken?", "yard"),
    ],
)
def test_what_is_done_with_a_secret_asks_for_it(question: str, found: str) -> None:
    """As its name does, where the rest of the words fit."""
    assert secrets_asked_for(question, HELD) == {found}


@pytest.mark.parametrize(
    "question",
    [
        "how do I open a shop?",
        "what do I enter in the competition?",
        "how do I open the jar of olives?",
        "what should we say at the funeral?",
        "how do I get into publishing?",
    ],
)
def test_opening_something_else_asks_for_no_secret(question: str) -> None:
    """A thing that no secret is told of shows none."""
    assert not secrets_asked_for(question, HELD)


def test_a_secret_of_somebody_is_nobody_elses() -> None:
    """The owner must fit, however well the other words do."""
    asked = asked_secret("what's the PIN of Lena's school card?")

    assert asked is not None
    assert asked.owners == {"lena"}
    assert not secrets_asked_for("what's the PIN of Lena's school card?", HELD)
    assert secrets_asked_for("what's the PIN of Nora's school card?", HELD) == {"nora"}


def test_a_contraction_owns_nothing() -> None:
    """Neither "what's the" nor "Bob's here"."""
    asked = asked_secret("Bob's at the door, what's the code of the allotment gate?")

    assert asked is not None
    assert not asked.owners
