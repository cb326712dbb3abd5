"""Which secret a question asks for, and whose; what only sounds like a question for one."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from engramdb.values import Memory, SecurityTier
from engramdb.values.privacy import PiiKind, PiiSpan
from engramdb.vault.asking import secrets_asked_for, shown_with
from engramdb.vault.masking import mask_memory
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


def shown_to(question: str, memory: Memory) -> Memory:
    """Return a memory as somebody sees it who asks for a secret in it."""
    meant = secrets_asked_for(question, [memory])
    return shown_with(memory, meant[memory.id]) if memory.id in meant else mask_memory(memory)


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
    assert secrets_asked_for(question, HELD).keys() == {found}


def test_a_secret_of_somebody_is_nobody_elses() -> None:
    """The owner must fit, however well the other words do."""
    asked = asked_secret("what's the PIN of Lena's school card?")

    assert asked is not None
    assert asked.owners == {"lena"}
    assert not secrets_asked_for("what's the PIN of Lena's school card?", HELD)
    assert secrets_asked_for("what's the PIN of Nora's school card?", HELD).keys() == {"nora"}


def test_where_asks_for_the_place_of_a_key_alone() -> None:
    """Where a password is kept is no request for it."""
    told = "the spare key is under the third flowerpot"
    place = PiiSpan(told.index("under"), len(told), PiiKind.CREDENTIAL)
    held = [secret(told, id="key").evolve(private=(place,)), *HELD]

    assert secrets_asked_for("where is the spare key?", held).keys() == {"key"}
    assert secrets_asked_for("where are the spare keys?", held).keys() == {"key"}
    assert not secrets_asked_for("where do we keep the code of the back gate?", held)
    assert not secrets_asked_for("where is Kim's API key used?", held)


def test_another_place_is_another_secret() -> None:
    """However well the rest fits: nothing says Oslo or Acme319."""
    held = [
        secret("the alarm code of the house in Kiel is 1212", id="kiel"),
        secret("the password for vendor Acme314 is Marzipan-77", id="acme"),
        secret("my bank PIN is 8052", id="bank"),
    ]

    assert secrets_asked_for("what's the alarm code of the house?", held).keys() == {"kiel"}
    assert not secrets_asked_for("what's the alarm code of the house in Oslo?", held)
    assert secrets_asked_for("what's the password for vendor Acme314?", held).keys() == {"acme"}
    assert not secrets_asked_for("what's the password for vendor Acme319?", held)


def test_two_that_fit_as_well_are_not_shown() -> None:
    """Nobody can tell which of them is meant."""
    one = secret("the alarm code of the holiday flat is 1212", id="one")
    two = secret("the alarm code of the holiday camp is 3434", id="two")

    assert secrets_asked_for("what's the alarm code of the holiday camp?", [one, two]).keys() == {"two"}
    assert not secrets_asked_for("what's the alarm code of the holiday place?", [one, two])


SHOP = [
    secret("the alarm code at the shop is 4471", id="shop"),
    secret("my bank PIN is 9921", id="bank"),
]


@pytest.mark.parametrize(
    "said",
    [
        *("don't tell me the alarm code at the shop", "please never show anyone the alarm code at the shop"),
        *("I changed the alarm code at the shop yesterday", "Bob asked me for the alarm code at the shop"),
        *("delete the alarm code at the shop", "remind me to update the alarm code at the shop"),
        *("what do you think about the alarm code at the shop?", "how secure is the alarm code at the shop?"),
        "what time did Bob enter the alarm code at the shop?",
        *("which company made the alarm keypad at the shop?", "Bob broke the shop alarm keypad"),
        *("I'm going to the bank with a bowling pin", "what does the word PIN mean at a bank?"),
        *("which bank has the best PIN security?", "my bank PIN was stolen", "could you forget my bank PIN"),
        *("hey Engram does Kim know my bank PIN", "and does Kim know my bank PIN", "so is my bank PIN safe"),
        *("I wonder whether Kim knows my bank PIN", "- is my bank PIN safe?", "how do I open the shop"),
        *("where did I put the ladder at the shop?", "it needs a new bank PIN", "is a bank PIN four digits?"),
        *("password for the bank, can I cancel without my PIN", "weiß Ana den Code im shop?"),
    ],
)
def test_who_speaks_of_a_secret_asks_for_none(said: str) -> None:
    """Statements, refusals, and questions for something else."""
    assert not secrets_asked_for(said, SHOP)


@pytest.mark.parametrize(
    ("question", "found"),
    [
        *(("would you tell me the alarm code at the shop?", "shop"), ("alarm code shop", "shop")),
        *(("do you happen to know the alarm code at the shop?", "shop"), ("my bank pin please", "bank")),
        ("What's the alarm code at the shop, is it still the old one?", "shop"),
        *(("I need my bank PIN", "bank"), ("read me the code for the shop", "shop")),
        *(("what was my bank PIN again?", "bank"), ("Wie lautet der Alarmcode im shop?", "shop")),
        ("I'm at the till. What's my bank PIN?", "bank"),
    ],
)
def test_requests_in_everyday_words_are_requests(question: str, found: str) -> None:
    """Politely, in a hurry, with more sentences around it."""
    assert secrets_asked_for(question, SHOP).keys() == {found}


@pytest.mark.parametrize(
    ("told", "question", "given", "kept"),
    [
        ("Nora's alarm code is 5512 and Tom's is 7788.", "what's Tom's alarm code?", "7788", "5512"),
        ("My bank PIN is 7788 and Nora's is 5512.", "what's Nora's bank PIN?", "5512", "7788"),
        ("Nora's bank PIN is 5512, mine is 7788.", "what's my bank PIN?", "7788", "5512"),
        (
            "4471 is the alarm code of the shop, 9921 is the bank PIN.",
            "what's the alarm code of the shop?",
            "4471",
            "9921",
        ),
        (
            "The code is 4471 for the shop, and 9921 for the bank.",
            "what's the code for the bank?",
            "9921",
            "4471",
        ),
    ],
)
def test_of_two_in_a_sentence_the_right_one_is_shown(told: str, question: str, given: str, kept: str) -> None:
    """By the words around each, and whose it is."""
    spans = tuple(PiiSpan(told.index(one), told.index(one) + 4, PiiKind.CREDENTIAL) for one in (given, kept))

    shown = shown_to(question, secret(told, id="both").evolve(private=spans)).content

    assert given in shown
    assert kept not in shown


def test_a_value_that_is_told_with_another_shows_that_one_nowhere() -> None:
    """Only memories of the value that is asked for are meant, and only that value in them."""
    both = secret("Nora's bank PIN is 5512, the shop alarm code is 4471.", id="both")
    nora = secret("Nora's bank PIN is 5512.", id="nora")

    assert secrets_asked_for("what's the shop alarm code?", [both, nora]) == {"both": frozenset({"4471"})}


@pytest.mark.parametrize(
    "told",
    [
        *("The PIN of Nora is 4471", "Dad uses 4471 as PIN", "Her bank PIN is 4471"),
        *("The PIN of my wife's card is 5512", "Nora moved to Kiel. Her bank PIN is 4471"),
    ],
)
def test_my_own_is_none_of_another_person(told: str) -> None:
    """However it is said whose it is."""
    assert not secrets_asked_for("what's my bank PIN?", [secret(told, id="hers")])
    assert not secrets_asked_for("what's my PIN?", [secret(told, id="hers")])


def test_another_speakers_own_is_not_mine() -> None:
    """Bob's "my" is Bob's."""
    told = secret("My bank PIN is 9921.", id="bob")
    bobs = told.evolve(provenance=replace(told.provenance, speaker="Bob"))

    assert not secrets_asked_for("what's my bank PIN?", [bobs])
    assert secrets_asked_for("what's Bob's bank PIN?", [bobs]).keys() == {"bob"}


def test_a_message_lends_its_words_only_to_a_sentence_that_does_not_say_which() -> None:
    """The bank PIN is not the alarm code that was talked of before it; "the code" may be."""
    bank, code = secret("My bank PIN is 9921.", id="bank"), secret("The code is 4471.", id="code")
    around = "The alarm at the shop was fixed by Bob today."
    messages = {one.id: f"{around} {one.content}" for one in (bank, code)}
    question = "what's the alarm code at the shop?"

    assert not secrets_asked_for(question, [bank], messages=messages)
    assert secrets_asked_for(question, [code], messages=messages).keys() == {"code"}
    assert not secrets_asked_for("give me the PIN of Bob", [bank], messages=messages)


def test_a_card_in_a_question_for_a_pin_only_says_which() -> None:
    """The number of the card stays masked."""
    pin = secret("the PIN of Kim's credit card is 4410", id="pin")

    assert secrets_asked_for("what number is the PIN of Kim's credit card?", [pin, *HELD]).keys() == {"pin"}


def test_who_told_a_secret_is_its_owner() -> None:
    """Rowland's PIN is the one that Rowland calls his; "wlan" in a name is no wifi."""
    pin = secret("my PIN is 8052", id="pin")
    told = pin.evolve(provenance=replace(pin.provenance, speaker="Rowland"))

    assert secrets_asked_for("what is Rowland's PIN?", [told]).keys() == {"pin"}
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
    assert secrets_asked_for("what is Nora's PIN?", held).keys() == {"nora"}
    mine = secret("my PIN for Nora's shop is 9917", id="mine")
    assert secrets_asked_for("what is my PIN?", [mine]).keys() == {"mine"}


def test_a_sentence_before_lends_its_words_only_to_a_secret_that_nothing_names() -> None:
    """The combination of the safe is not the code of the diary that was talked of before."""
    safe = secret("The safe's combination is 33-18-72", id="safe").evolve(refers_to=("Kim keeps a diary.",))
    code = secret("the code is 4471", id="code").evolve(refers_to=("We got a new lock for the shed.",))

    assert not secrets_asked_for("what is the code of Kim's diary?", [safe])
    assert secrets_asked_for("what is the shed code?", [code]).keys() == {"code"}


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
