"""What stays out of plain files: what is secret or reaches a person, but not a mere name or home town."""

from __future__ import annotations

import pytest

from engramdb.text.pii import classify, is_withheld
from engramdb.values import SecurityTier


@pytest.mark.parametrize(
    "text",
    [
        "I live in Oslo",
        "My name is Maya",
        "My sister Ida lives in Bergen",
        "私は東京に住んでいます",
        "Maya likes tea",
    ],
)
def test_names_and_home_towns_may_stand_in_a_file(text: str) -> None:
    """A notebook or an export without them would tell nobody's life, whatever their tier is."""
    assert not is_withheld(text, classify(text).tier)


@pytest.mark.parametrize(
    "text",
    [
        "My name is Maya and my mail is maya@example.org",
        "I live at 12 Elm Street, Springfield",
        "I live at home 59.91273, 10.74609",
        "My card is 4111 1111 1111 1111",
        "Call me on +47 22 12 34 56",
    ],
)
def test_what_reaches_a_person_or_opens_a_door_stays_out(text: str) -> None:
    """One exact thing is enough, also beside a name; coordinates are a place that is exact."""
    assert is_withheld(text, classify(text).tier)


def test_a_tier_from_elsewhere_is_taken_at_its_word() -> None:
    """What a dream wrote from something sensitive, or bulk has not looked at yet, shows nothing by itself."""
    assert is_withheld("Maya likes tea", SecurityTier.SENSITIVE)
    assert is_withheld("My name is Maya", SecurityTier.CONFIDENTIAL)
