"""Which secret a question asks for, and whose; what only sounds like a question for one."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from engramdb.values import Memory, SecurityTier
from engramdb.values.privacy import PiiKind, PiiSpan
from engramdb.vault.asking import secrets_asked_for, shown_to
from engramdb.vault.questions import asked_secret

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
    secret("Kim's passport number is X12345678", id="passport"),
    secret("Kim's credit card number is 4539 1488 0343 6467", id="card"),
    secret("Kim's API key is sk-live-9f8a7b6c5d4e3f2a1b0c", id="key"),
    secret("Kim's social security number is 536-22-8145", id="ssn"),
]


@pytest.mark.parametrize(
    "question",
    [
        *(
            "Was the back gate open?",
            "What type of gate do we have?",
            "Did Ana come in through the open gate?",
        ),
        *("How open is the nursery?", "Nora's school card is blue", "Which credit card does Kim like best?"),
        *(
            "Is Kim's passport green?",
            "Does Kim need a passport for Oslo?",
            "What's the key question for Kim?",
        ),
        *("Plan Kim's social evening", "Is Kim a sin eater?", "What is a token of love for Kim?"),
    ],
)
def test_everyday_words_ask_for_no_secret(question: str) -> None:
    """What opens is no code, a passport no number, and a key question no key."""
    assert not secrets_asked_for(question, HELD)


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("What's the number of Kim's passport?", "passport"),
        ("Kim's passport number", "passport"),
        ("What's the expiry and number of Kim's credit card?", "card"),
        ("What is Kim's API key?", "key"),
        ("What's Kim's social security number?", "ssn"),
    ],
)
def test_the_number_of_a_thing_is_asked_for(question: str, found: str) -> None:
    """By the name of the thing with a word for its number."""
    assert secrets_asked_for(question, HELD) == {found}


def test_a_secret_of_somebody_is_nobody_elses() -> None:
    """The owner must fit, however well the other words do."""
    asked = asked_secret("what's the PIN of Lena's school card?")

    assert asked is not None
    assert asked.owners == {"lena"}
    assert not secrets_asked_for("what's the PIN of Lena's school card?", HELD)
    assert secrets_asked_for("what's the PIN of Nora's school card?", HELD) == {"nora"}


def test_where_asks_for_the_place_of_a_key_alone() -> None:
    """Where a password is kept is no request for it."""
    told = "the spare key is under the third flowerpot"
    place = PiiSpan(told.index("under"), len(told), PiiKind.CREDENTIAL)
    held = [secret(told, id="key").evolve(private=(place,)), *HELD]

    assert secrets_asked_for("where is the spare key?", held) == {"key"}
    assert secrets_asked_for("where are the spare keys?", held) == {"key"}
    assert not secrets_asked_for("where do we keep the code of the back gate?", held)
    assert not secrets_asked_for("where is Kim's API key used?", held)


def test_what_is_said_of_little_is_shown_only_where_nothing_else_says_as_much() -> None:
    """A third of the words will do for one secret, and not for two."""
    question = "what's the alarm code for the holiday house in Norway, near Bergen?"
    one = secret("the alarm code of the holiday flat is 1212", id="one")
    two = secret("the alarm code of the holiday camp is 3434", id="two")

    assert secrets_asked_for(question, [one]) == {"one"}
    assert not secrets_asked_for(question, [one, two])


def test_a_card_in_a_question_for_a_pin_only_says_which() -> None:
    """The number of the card stays masked."""
    pin = secret("the PIN of Kim's credit card is 4410", id="pin")

    assert secrets_asked_for("what number is the PIN of Kim's credit card?", [pin, *HELD]) == {"pin"}


def test_who_told_a_secret_is_its_owner() -> None:
    """Rowland's PIN is the one that Rowland calls his; "wlan" in a name is no wifi."""
    pin = secret("my PIN is 8052", id="pin")
    told = pin.evolve(provenance=replace(pin.provenance, speaker="Rowland"))

    assert secrets_asked_for("what is Rowland's PIN?", [told]) == {"pin"}
    assert not secrets_asked_for("what is Rowland's PIN?", [pin])


def test_a_contraction_owns_nothing() -> None:
    """Neither "what's the" nor "Bob's here"."""
    asked = asked_secret("Bob's at the door, what's the code of the allotment gate?")

    assert asked is not None
    assert not asked.owners


def test_my_own_is_not_somebody_elses() -> None:
    """Nor is the one that says no more than the kind; who names the owner gets it."""
    held = [secret("Nora's bank PIN is 9917", id="nora")]

    assert not secrets_asked_for("what is my PIN?", held)
    assert not secrets_asked_for("my pin", held)
    assert not secrets_asked_for("PIN", held)
    assert secrets_asked_for("what is Nora's PIN?", held) == {"nora"}
    assert secrets_asked_for("what is my PIN?", [secret("my PIN for Nora's shop is 9917", id="mine")]) == {
        "mine"
    }


def test_a_sentence_before_lends_its_words_only_to_a_secret_that_nothing_names() -> None:
    """The combination of the safe is not the code of the diary that was talked of before."""
    safe = secret("My safe's combination is 33-18-72", id="safe").evolve(refers_to=("Kim keeps a diary.",))
    code = secret("the code is 4471", id="code").evolve(refers_to=("We got a new lock for the shed.",))

    assert not secrets_asked_for("what is the code of Kim's diary?", [safe])
    assert secrets_asked_for("what is the shed code?", [code]) == {"code"}


def test_of_several_secrets_in_a_memory_only_the_one_that_is_asked_for_is_shown() -> None:
    """The others stay masked, in every field."""
    told = "the door code of the cabin is 7723, and Bob's debit card PIN is 9917"
    both = secret(told, id="both").evolve(statement=told)

    shown = shown_to("what is the door code of the cabin?", both)

    assert "7723" in shown.content
    assert "9917" not in f"{shown.content} {shown.statement}"
    assert "9917" in shown_to("what's the PIN of Bob's debit card?", both).content


def test_what_stays_masked_stays_so_wherever_it_is_said_again() -> None:
    """Also where only its first place was found."""
    told = "the door code is 7723, and Bob's card PIN is 9917, yes, 9917"
    spans = tuple(
        PiiSpan(told.index(one), told.index(one) + 4, PiiKind.CREDENTIAL) for one in ("7723", "9917")
    )

    shown = shown_to("what is the door code?", secret(told, id="both").evolve(private=spans))

    assert "7723" in shown.content
    assert "9917" not in shown.content
