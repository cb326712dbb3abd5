"""What carries a statement is the same words, whoever says it and however numbers and days are written."""

from __future__ import annotations

import pytest

from engramdb.text.gist import gist_of


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I smoke", "The user smokes"),
        ("my mum has a pacemaker", "The user's mother has a pacemaker."),
        ("the exam is in Feb", "the exam is in February"),
        ("we owe 38k", "we owe 38,000"),
    ],
)
def test_two_ways_to_write_a_statement_have_the_same_words(one: str, other: str) -> None:
    """Who speaks, small words, and the forms of months, relatives and numbers make no difference."""
    assert gist_of(one) == gist_of(other)


def test_what_is_named_is_told_from_what_is_merely_said() -> None:
    """Names, numbers, relatives and days can be compared by themselves."""
    gist = gist_of("On Friday my sister met Oyelaran in room 14")

    assert gist.names == {"oyelar"}
    assert gist.numbers == {"14"}
    assert gist.relatives == {"kin sister"}
    assert gist.times == {"day 5"}
    assert gist.names | gist.relatives | gist.times < gist.words
