"""Secrets are found as people tell them: in any order of words, in lists, and as answers."""

from __future__ import annotations

import time

import pytest

from engramdb.text.pii import CONCEALED, classify, conceal_secrets
from engramdb.text.pii_spoken import awaited_secret
from engramdb.values import SecurityTier

HIDDEN = "Tr0ub4dor&3xQz"
SEED = "legal winner thank year wave sausage worth useful legal winner thank yellow"


@pytest.mark.parametrize(
    "told",
    [
        "from now on always use {} as the password for the router",
        "never share {}, which is my password",
        "always type {} when it asks for a passphrase",
        "Is {} the password you want?",
        "{} is our wifi password",
        "{} (the router password)",
        "{} - that's the password",
        "it's {}, the router password",
        "(pw {}) I log in daily",
        "Which one? 1) {} as password 2) another",
        "My password changed. Now it's {}.",
        "{} ist mein Passwort",
        "I log in with {} every day",
    ],
)
def test_a_value_may_stand_anywhere_about_its_name(told: str) -> None:
    """Before it, after it or in brackets; what is left tells nothing of it."""
    shown = conceal_secrets(told.format(HIDDEN))

    assert CONCEALED in shown
    assert HIDDEN not in shown


@pytest.mark.parametrize(
    "told", ["use {} as password", "{}, which is my pw", "is {} the passphrase?", "{} (my pin)"]
)
def test_a_plainer_value_is_one_where_the_words_say_so(told: str) -> None:
    """A word with two digits may be anything elsewhere."""
    assert "hunter22" not in conceal_secrets(told.format("hunter22"))
    assert conceal_secrets("hunter22 came up when it asked for a password") == (
        "hunter22 came up when it asked for a password"
    )


@pytest.mark.parametrize("told", ["4711 is my PIN", "use 4711 as the pin", f"my seed phrase is {SEED}"])
def test_digits_and_plain_words_are_secrets_where_they_are_called_so(told: str) -> None:
    """A number is a PIN, and twelve words in a row are a seed phrase."""
    assert classify(told).tier is SecurityTier.CONFIDENTIAL


@pytest.mark.parametrize(
    "told",
    [
        f"Passwords: {HIDDEN} or hunter22xx?",
        "Passwords: swordfish, hunter22xx or kitten?",
        "our old passwords are swordfish, hunter22xx and kitten",
    ],
)
def test_a_list_of_passwords_is_concealed_as_a_whole(told: str) -> None:
    """Also those in it that would be words elsewhere."""
    shown = conceal_secrets(told)

    assert not any(word in shown for word in (HIDDEN, "swordfish", "hunter22xx", "kitten"))


@pytest.mark.parametrize(
    "text",
    [
        "the password policy is strict",
        "I forgot my password again",
        "OAuth2 is the password replacement",
        "use bcrypt12 as the password hash",
        "we use SHA256 for the password hashing",
        "I use 1Password as my password manager",
        "my iPhone15 asks for the passcode",
        "enter the password on page2",
        "the login page of v2.14.3 is slow",
        "log in with the account of the 2nd team",
        "GPT-4o is our login helper",
        "user42 is my login name",
        "PR1234 for the login fix, see JIRA-1234",
        "log in to prod-eu-west-1a first",
        "the pin is bent on the 40-pin connector",
        "the password must have 12 characters",
        "set DB_PASSWORD in .env.local2",
        "commit 9fceb02d0ae598e95dc970b74767f19372d61af8 fixes the login",
        "our passwords are hashed, salted and never logged",
        "I lost the paper with the seed phrase of my old wallet when we moved last winter",
    ],
)
def test_talk_about_secrets_is_no_secret(text: str) -> None:
    """Versions, tickets, hashes and machines stand near passwords all the time."""
    assert conceal_secrets(text) == text


@pytest.mark.parametrize(
    ("before", "answer"),
    [
        ("What is the password?", HIDDEN),
        ("What's the password?", "swordfish"),
        ("What is the passphrase?", "correct horse battery staple"),
        ("what is your seed phrase?", SEED),
        ("What's the door code?", "4711"),
        ("the wifi password is", "hunter22"),
        ("Please enter the password.", "hunter22"),
        ("I have changed my password.", f"now it's {HIDDEN}"),
    ],
)
def test_an_answer_is_a_secret_by_what_was_said_before(before: str, answer: str) -> None:
    """By itself it is a word or a number."""
    assert classify(answer).tier is not SecurityTier.CONFIDENTIAL
    assert classify(answer, answering=before).tier is SecurityTier.CONFIDENTIAL


@pytest.mark.parametrize(
    ("before", "answer"),
    [
        ("Which password manager do you use?", "Bitwarden"),
        ("What's the password policy?", "twelve characters"),
        ("Which site needs a new password?", "Amazon"),
        ("Did you forget the password?", "yesterday, yes"),
        ("what is the password?", "I forgot it"),
        ("what is the password?", "not sure, ask Marta"),
        ("What's the postal code?", "10115"),
        ("what does the code do?", "parses utf8"),
        ("I forgot my password again", "use python3 here"),
    ],
)
def test_not_every_answer_after_a_password_is_one(before: str, answer: str) -> None:
    """Who asks for something else, or gets no answer, has been told nothing."""
    assert classify(answer, answering=before).tier is SecurityTier.CLEARTEXT


def test_a_request_is_remembered_across_a_filler_and_not_for_ever() -> None:
    """A long message is another subject."""
    asked = "What is the password of the router?"
    long = "By the way, the garden needs water every evening while we are away in June."

    assert awaited_secret([asked]) == asked
    assert awaited_secret([f"Hello. {asked}", "one moment", "let me look"]) == asked
    assert awaited_secret([asked, long]) is None
    assert awaited_secret([asked, "a", "b", "c", "d"]) is None
    assert awaited_secret([]) is None


@pytest.mark.parametrize(
    "text",
    [
        "password=a1b2c3d4, " * 5000,
        "Tr0ub4dor&3xQz " * 7000 + "password",
        "seed phrase " + "legal " * 18000,
        "x1y2z as my " * 8000,
        "passwords: " + "hunter22, " * 10000,
    ],
)
def test_hostile_text_is_read_in_seconds(text: str) -> None:
    """Time grows with the length and not with its square: 100 kB took 30 s before."""
    begin = time.perf_counter()
    classify(text, answering="what is the password?")

    assert time.perf_counter() - begin < 15
