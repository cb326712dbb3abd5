"""A person takes a rule back in words that name it, and only then."""

from __future__ import annotations

import pytest

from engramdb.text.withdrawals import withdrawals, withdrawn

RULES = [
    "use uv, never pip",
    "dont push to main",
    "never force push to main",
    "btw always open a PR",
    "no mocks",
    "don't deploy on fridays without asking Ana",
]


@pytest.mark.parametrize(
    ("said", "gone"),
    [
        ("forget the uv rule", ["use uv, never pip"]),
        ("ok, scrap that PR policy pls", ["btw always open a PR"]),
        ("the no mocks rule no longer applies", ["no mocks"]),
        ("we can use pip now", ["use uv, never pip"]),
        ("you can push to main again, freeze is over", ["dont push to main"]),
        ("mocks are fine now", ["no mocks"]),
        ("it's ok to use pip again", ["use uv, never pip"]),
    ],
)
def test_a_rule_that_is_named_or_whose_opposite_is_allowed_is_taken_back(said: str, gone: list[str]) -> None:
    """It alone, whatever else forbids something of the kind."""
    assert [RULES[place] for place in withdrawn(withdrawals(said), RULES)] == gone


@pytest.mark.parametrize(
    "said",
    [
        "can we use pip now?",
        "forget it",
        "forget the main rule",
        "you can deploy now",
        "i can see it now",
        "> we can use pip now\nwhat do you make of this mail?",
        "run it again",
        "the new rule is: no pip",
        "",
    ],
)
def test_what_only_sounds_like_it_takes_nothing_back(said: str) -> None:
    """Questions, other people's words, names that several rules go by, and talk of something else."""
    assert withdrawn(withdrawals(said), RULES) == []
