"""Which ways of writing are the same statement, and which are not."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from engramdb.text.normalize import clean, fingerprint, is_text
from engramdb.text.terms import passage
from engramdb.values import Memory, Provenance


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I like tea", "i LIKE   tea."),
        ("I like tea", "“I like tea”"),
        ("Straße", "STRASSE"),
        ("Café", "Cafe\u0301"),
        ("ﬁne", "fine"),
        ("１２", "12"),
        ("tea\u00a0time", "tea time"),
    ],
)
def test_these_are_the_same_statement(one: str, other: str) -> None:
    """Case, spacing, Unicode form and sentence punctuation do not count."""
    assert fingerprint(one) == fingerprint(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("C", "C++"), ("C", "C#"), ("1.5", "15"), ("-5", "5"), ("a b", "ab"), ("resume", "résumé"), ("$5", "5")],
)
def test_these_are_different_statements(one: str, other: str) -> None:
    """Nothing that carries meaning is dropped."""
    assert fingerprint(one) != fingerprint(other)


def test_the_speaker_is_part_of_the_statement() -> None:
    """The same words of two people are two facts; how a name is written does not matter."""
    assert fingerprint("I like tea", speaker="Ann") != fingerprint("I like tea", speaker="Bob")
    assert fingerprint("I like tea", speaker="Ann") == fingerprint("I like tea", speaker="ann ")
    assert fingerprint("I like tea", speaker="Ann") != fingerprint("I like tea")


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("a\r\nb\rc", "a\nb\nc"),
        ("  tea \n", "tea"),
        ("a\x00b", "ab"),
        ("page one\x0cpage two", "page one page two"),
        ("e\x00\u0301", "é"),
        ("tab\tstays", "tab\tstays"),
        ("\x1b[31mred", "[31mred"),
    ],
)
def test_text_is_stored_clean(given: str, stored: str) -> None:
    """Control characters go, what they separate stays apart, and characters are composed."""
    assert clean(given) == stored


def test_half_a_character_is_not_text() -> None:
    """Half a surrogate pair cannot be written to any file."""
    assert is_text("whole 🎉")
    assert not is_text("half \ud83c")


def test_an_embedder_reads_the_day_and_the_speaker_first() -> None:
    """What is embedded names the day in words and who said it, where they are known."""
    moment = datetime(2023, 5, 8, 23, tzinfo=UTC)
    memory = Memory(id="m", content="I like tea", created_at=moment, updated_at=moment)
    spoken = memory.evolve(occurred_at=moment, provenance=Provenance(speaker="Caroline"))

    assert passage(memory) == "I like tea"
    assert passage(spoken) == "[8 May 2023] Caroline: I like tea"
