"""What two statements name is compared however it is written: numbers, names, months and weekdays."""

from __future__ import annotations

import pytest

from engramdb.text.specifics import covers_specifics, specifics_of, swap_specifics

SAME = (
    ("I pay 240 euros a month.", "two hundred and forty euros leave my account"),
    ("Invoices over 5,000 need two signatures.", "for bills above five thousand it takes 2"),
    ("Dinner is at seven.", "dinner: 19:00"),
    ("My husband Tomasz is a nurse.", "tomasz (hubby) works as a nurse"),
    ("The billing service is written in Kotlin.", "kotlin, that's what billing is coded in"),
    ("We release on the first Monday.", "release day: the 1st, mondays"),
    ("Die Abnahme ist am Dienstag.", "Acceptance is on Tuesday."),
    ("The key of the rig is 0d3a1619.", "rig: key 0D3A1619"),
    ("The flight took 12h30min.", "a flight of 12 hours and 30 minutes"),
    ("I bought an iPhone15Pro.", "my new phone: iPhone 15 Pro"),
    ("The fence is painted every five years.", "painting happens in a five-year rhythm"),
)
SWAPPED = (
    ("I pay 240 euros a month.", "I pay 420 euros a month."),
    ("We have three employees.", "We have 4 employees."),
    ("My husband Tomasz is a nurse.", "My husband Piotr is a nurse."),
    ("The service is written in Kotlin.", "The service is written in Rust."),
    ("The review is on Tuesday.", "The review is on Thursday."),
    ("Camila leaves in June.", "Camila leaves in July."),
    ("We use Node 18.", "We use Node 20."),
    ("Alice reports to Bob.", "Bob reports to Alice."),
    ("We deployed commit 3f6a9be.", "We deployed commit 3f6a0be."),
    ("The key of the rig is cebe3f6a.", "The key of the rig is 3c6be3ca."),
)


@pytest.mark.parametrize(("first", "second"), SAME)
def test_the_same_written_otherwise_is_no_other_thing(first: str, second: str) -> None:
    """Digits and words, capitals and small letters, one language and another."""
    assert not swap_specifics(first, second)
    assert not swap_specifics(second, first)


@pytest.mark.parametrize(("first", "second"), SWAPPED)
def test_two_that_name_different_things_are_never_one(first: str, second: str) -> None:
    """Each names something that the other does not."""
    assert swap_specifics(first, second)
    assert swap_specifics(second, first)


def test_what_only_one_names_makes_the_other_say_less() -> None:
    """It is no contradiction, but only the fuller one may stand for both."""
    full, bare = "My husband Tomasz owns 40 percent.", "My husband owns a part."
    assert not swap_specifics(full, bare)
    assert covers_specifics(full, bare)
    assert not covers_specifics(bare, full)


def test_a_pronoun_is_no_number() -> None:
    """One is as often a pronoun, and may is as often a verb."""
    assert specifics_of("One may think that this one is done.").is_empty
