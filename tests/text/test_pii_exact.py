"""A name or a town in a plain file must not take along what reaches a person or opens a door."""

from __future__ import annotations

import pytest

from engramdb.text.pii import classify, is_withheld
from engramdb.values import SecurityTier
from engramdb.values.privacy import PiiKind

NAMED = "My name is Maya Lopez"


@pytest.mark.parametrize(
    "beside",
    [
        "my IBAN is de89370400440532013000",
        "IBAN: DE89-3704-0044-0532-0130-00",
        "IBAN DE89 3704 0044 0532 0130 01",
        "card 4111.1111.1111.1111",
        "card \uff14111 1111 1111 1111",
        "call (020) 7946 0958",
        "0171 1234567",
        "\uff10\uff12\uff10 \uff17\uff19\uff14\uff16 \uff10\uff19\uff15\uff18",
        "phone zero seven nine four six zero nine",
        "m\u200baya@exam\u200bple.org",
        "maya\uff20example.org",
        "maya at example dot org",
        "find me as @mayalopez",
        "password is hunter two",
        "my PIN is four two one nine",
        "seed phrase apple banana orange grape",
        "server 192.168.1.17",
        "room 3 in the east wing",
    ],
)
def test_what_stands_beside_a_name_may_be_too_much(beside: str) -> None:
    """Written oddly, spelled out or disguised: no finder need be sure of it, a doubt keeps it out."""
    text = f"{NAMED}, {beside}"

    assert is_withheld(text, classify(text).tier)


@pytest.mark.parametrize("place", ["Oslo, Karl Johans gate 12", "Oslo 0154", "SW1A 1AA, London"])
def test_a_home_town_with_a_number_is_an_address(place: str) -> None:
    """Streets of any language have house numbers, and a town has postcodes."""
    text = f"I live in {place}"

    assert is_withheld(text, classify(text).tier)


@pytest.mark.parametrize(
    "text",
    [
        f"{NAMED} and I am 34",
        f"{NAMED} and I have 3 cats",
        f"{NAMED}, since 3 May 2021 with Acme",
        f"{NAMED} and I get up at 6:30",
        "I moved to Porto in 2021",
        "I lived in Oslo in the 1990s",
        "I lived in Oslo for 12 years",
        "I live in Oslo since 2019-04-01",
        "私は東京に住んでいます。もう2年になります",
    ],
)
def test_years_ages_and_counts_give_nobody_away(text: str) -> None:
    """A life without any number in it could not be told either."""
    assert classify(text).tier is SecurityTier.SENSITIVE

    assert not is_withheld(text, SecurityTier.SENSITIVE)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Transfer it to de89370400440532013000", PiiKind.BANK_ACCOUNT),
        ("Pay with 4111.1111.1111.1111", PiiKind.PAYMENT_CARD),
        ("Pay with 4111\u200b1111\u200b1111\u200b1111", PiiKind.PAYMENT_CARD),
    ],
)
def test_a_disguise_does_not_lower_the_tier(text: str, kind: PiiKind) -> None:
    """Small letters, dots and invisible characters change nothing about what a number opens."""
    found = classify(text)

    assert found.tier is SecurityTier.CONFIDENTIAL
    assert kind in found.kinds


@pytest.mark.parametrize(
    "text", ["pi is 3.141592653589793", "de12 cats sat on the mat with another cat", "Release 1111.2222"]
)
def test_other_numbers_are_none_of_these(text: str) -> None:
    """What only looks a little like an account or a card is neither."""
    assert not classify(text).kinds
