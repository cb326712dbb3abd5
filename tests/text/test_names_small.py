"""Names are found in small letters where something speaks for them, and common words are none."""

from __future__ import annotations

import time

import pytest

from engramdb.text.mentions import mentions
from engramdb.values import EntityType


def named(text: str) -> dict[str, EntityType]:
    """Return what a text names, and what that is."""
    return {one.text: one.type for one in mentions(text)}


PERSON, PLACE, FIRM = EntityType.PERSON, EntityType.LOCATION, EntityType.ORGANIZATION


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("kofi moved to tallinn", {"kofi": PERSON, "tallinn": PLACE}),
        ("talked to siobhan about it", {"siobhan": PERSON}),
        ("marta silva is in the office", {"marta silva": PERSON}),
        ("she works at zorbex now", {"zorbex": FIRM}),
        ("the flight to new york is at nine", {"new york": PLACE}),
        ("ask mrs. oyelowo about the keys", {"mrs. oyelowo": PERSON}),
        ("my wife xanthippe is from nieuwpoort", {"xanthippe": PERSON, "nieuwpoort": PLACE}),
    ],
)
def test_names_in_small_letters_are_found(text: str, wanted: dict[str, EntityType]) -> None:
    """On a list, or beside a word that says what they are."""
    assert named(text) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "will the rose be in bloom in may",
        "we talked to legal and to the neighbours",
        "it is in prod and in the monorepo",
        "the turkey was in the oven",
        "mark it as done and move on",
        "idk tbh, lemme check the repo",
        "mi camisa es rosa",
        "",
    ],
)
def test_common_words_talk_and_trade_are_no_names(text: str) -> None:
    """Will, rose, may, mark and turkey are words first."""
    assert named(text) == {}


@pytest.mark.parametrize(
    "text",
    [
        "Our Postgres database runs on port 5433.",
        "Our postgres is slow",
    ],
)
def test_our_is_no_part_of_a_name(text: str) -> None:
    """What is ours is called as it is called."""
    assert {name.casefold() for name in named(text)} == {"postgres"}


@pytest.mark.parametrize(
    "text",
    [
        "Rename UserService to AccountService.",
        "Do it Your Way.",
        "Hope this helps, Sir.",
        "Dear Diary, it is late.",
    ],
)
def test_names_in_code_and_title_case_name_nothing(text: str) -> None:
    """A capital alone proves little."""
    assert named(text) == {}


def test_a_person_on_no_list_is_known_by_what_people_do() -> None:
    """A firm sends reminders too, so that is not enough."""
    assert named("Xilonen thinks it is fine") == {"Xilonen": PERSON}
    assert named("Acme sent a reminder").get("Acme") is not PERSON


def test_a_long_text_of_unknown_words_takes_little_time() -> None:
    """Only so many of them are looked at."""
    began = time.process_time()
    mentions("the " + "qwzx " * 2_000)

    assert time.process_time() - began < 1.0
