"""A denial is compared with what is denied, and not with any other denial."""

from __future__ import annotations

import pytest

from engramdb.text.polarity import deny_each_other

OPPOSED = (
    ("I'm allergic to nuts.", "I'm not allergic to nuts, I just dislike them."),
    ("The leak is in the image cache.", "The leak isn't in the image cache after all."),
    ("We don't have a TV at home.", "We have a TV at home but no console."),
    ("Ich esse Fleisch.", "Ich esse kein Fleisch."),
    ("Staging is never redeployed at night.", "Staging is redeployed every night."),
)
AGREEING = (
    ("My landlady doesn't allow pets.", "keeping animals is forbidden by my landlady"),
    ("I'm allergic to peanuts.", "my body doesn't tolerate peanuts, I'm allergic"),
    ("Never force-push to the release branch.", "on the release branch a force push is forbidden"),
    ("We don't have a TV.", "our living room is telly-free"),
    ("I don't eat meat.", "I never eat meat."),
)


@pytest.mark.parametrize(("first", "second"), OPPOSED)
def test_what_one_denies_the_other_says(first: str, second: str) -> None:
    """In whichever order they come."""
    assert deny_each_other(first, second)
    assert deny_each_other(second, first)


@pytest.mark.parametrize(("first", "second"), AGREEING)
def test_a_denial_of_something_else_denies_nothing(first: str, second: str) -> None:
    """The same may be said with a denial and without one."""
    assert not deny_each_other(first, second)
    assert not deny_each_other(second, first)
