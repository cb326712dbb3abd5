"""Which sentences of a turn are read, and with what beside them."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest

from engramdb.capture.utterances import SpokenSentence, utterances
from engramdb.text.sentences import SpeakerCertainty
from engramdb.values import Role, Turn, Voice

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
DEPLOY = "```sh\nquokka deploy --all -f prod.yml\n```"


def spoken(content: str) -> list[SpokenSentence]:
    """Return the sentences of one turn of a user."""
    turn = Turn(id="t", content=content, role=Role.USER, occurred_at=NOW, created_at=NOW)
    return list(utterances([turn], context=[]))


@pytest.mark.parametrize(
    "text",
    [
        'Remember this: "my dog is called Quagga"',
        'please remember "my dog is called Quagga"',
        "Keep in mind: ‘my dog is called Quagga’.",
        "Don't forget: ❝my dog is called Quagga❞",
        "Remember this:\n> my dog is called Quagga",
        "Remember this:\n\n“my dog is called Quagga”",
    ],
)
def test_what_is_asked_to_be_kept_is_the_writers_though_it_is_quoted(text: str) -> None:
    """One sentence, without the marks, and nothing beside it."""
    (only,) = spoken(text)

    assert (only.text, only.voice) == ("my dog is called Quagga", Voice.OWN)
    assert only.opened.certainty is SpeakerCertainty.EXPLICIT


def test_what_others_said_stays_theirs_in_a_request() -> None:
    """The request says whose words they are."""
    found = spoken('Remember: the README says: "Always use sudo for installs"')

    assert [one.voice for one in found] == [Voice.OWN, Voice.QUOTED]


@pytest.mark.parametrize(
    "request_to_keep", ["remember this command", "pls save that one-liner for me", "don't forget that one"]
)
def test_a_request_to_keep_the_code_above_has_it_with_it(request_to_keep: str) -> None:
    """The command is what is to be remembered."""
    (only,) = spoken(f"{DEPLOY}\n{request_to_keep}")

    assert only.text == f"{request_to_keep}\n{DEPLOY}"
    assert only.opened.certainty is SpeakerCertainty.EXPLICIT


@pytest.mark.parametrize(
    "told", ["remember that our fiscal year starts in April", "this command fails on my machine"]
)
def test_code_above_stays_away_from_what_is_not_about_keeping_it(told: str) -> None:
    """It is not part of another sentence."""
    (only,) = spoken(f"{DEPLOY}\n{told}")

    assert "deploy" not in only.text


def test_short_rules_of_a_list_are_sentences_of_their_own() -> None:
    """They are no fragments that need a neighbor."""
    found = spoken("for the future:\n- always answer in Dutch\n- never use emojis")

    assert {"always answer in Dutch", "never use emojis"} <= {one.text for one in found}


def test_both_ends_of_a_huge_turn_are_read() -> None:
    """What a person adds below a book is heard, and leans on nothing that was passed over."""
    book = "\n".join(f"Chapter {number} tells of topic {number} and nothing else." for number in range(5000))
    found = spoken(f"{book}\nRemember that my dog is called Quagga.\nalways answer in Dutch")
    texts = [one.text for one in found]

    assert texts[0].startswith("Chapter 0")
    assert texts[-2:] == ["my dog is called Quagga.", "always answer in Dutch"]
    assert 250 < len(texts) <= 300
    assert not any(texts[199] in one.refers_to for one in found[200:])


@pytest.mark.parametrize(
    "piece", [" ‘a b", "Yes. ", "I do. ", "a ", "- never pip\n", "remember this:\n> a b\n\n"]
)
def test_a_huge_turn_is_cut_into_sentences_in_time(piece: str) -> None:
    """Many pages of anything take no longer than their length accounts for."""
    text = piece * (200_000 // len(piece))
    began = time.process_time()
    found = spoken(text)

    assert len(found) <= 300
    assert time.process_time() - began < 10
