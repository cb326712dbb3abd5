"""Fragments stay together; a rule, and what takes one back, stands alone."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from engramdb.capture.utterances import utterances
from engramdb.values import Role, Turn, TurnId

MONDAY = datetime(2026, 5, 4, tzinfo=UTC)


def said(text: str) -> list[str]:
    """Return the sentences that a message of a user is read in."""
    turn = Turn(id=TurnId("t1"), content=text, role=Role.USER, occurred_at=MONDAY, created_at=MONDAY)
    return [one.sentence for one in utterances([turn], context=[])]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Noor. My sister. Since March.", ["Noor. My sister. Since March."]),
        (
            "btw use uv, never pip. and don't push to main. also I am on call this week",
            ["btw use uv, never pip.", "and don't push to main.", "also I am on call this week"],
        ),
        ("use uv, never pip and don't push to main", ["use uv, never pip", "don't push to main"]),
        (
            "we can push to main again. and forget the uv rule",
            ["we can push to main again.", "and forget the uv rule"],
        ),
        ("never push to main. no exceptions.", ["never push to main. no exceptions."]),
        ("never push to main. school run.", ["never push to main.", "school run."]),
        (
            "we never deploy on fridays and never on holidays",
            ["we never deploy on fridays and never on holidays"],
        ),
        ("always write tests first, never after", ["always write tests first, never after"]),
        ("I like tea and never drink coffee", ["I like tea and never drink coffee"]),
    ],
)
def test_each_rule_is_a_sentence_of_its_own(text: str, expected: list[str]) -> None:
    """What only stresses or completes it stays with it."""
    assert said(text) == expected
