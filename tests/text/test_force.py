"""How a sentence is meant."""

from __future__ import annotations

import pytest

from engramdb.text.force import read_force
from engramdb.text.sentences import take_opening


def force(text: str, *, in_conversation: bool = True) -> str:
    return read_force(take_opening(text), in_conversation=in_conversation)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the deploy runs from the main branch", "asserted"),
        ("what does the deploy run from", "question"),
        ("wait what do you mean by the last part", "question"),
        ("can u draft an out of office, im off from the 4th", "request"),
        ("no, undo that", "request"),
        ("yes do it", "request"),
        ("请帮我写一封信", "request"),
        ("never push to main", "rule"),
        ("so never put me in a meeting after 15:45 please", "rule"),
        ("use uv, not pip", "rule"),
        ("nope, never had chickenpox", "asserted"),
        ("we're considering Kafka", "hedged"),
        ("I'd probably be late anyway", "hedged"),
        ("If we lost the account we'd probably let two people go", "hypothetical"),
        ("in my novel the king dies", "quoted"),
        ("it writes at 96 kbit/s", "asserted"),
        ("Let's go with plan B", "asserted"),
    ],
)
def test_the_words_of_a_sentence_say_how_it_is_meant(text: str, expected: str) -> None:
    """Questions and orders need no mark, and words of courtesy before them change nothing."""
    assert force(text) == expected


@pytest.mark.parametrize(
    ("text", "said", "noted"),
    [
        ("Run the tests with -n 4", "request", "rule"),
        ("any change to the API needs two reviews", "question", "rule"),
        ("open the vault with the blue key", "request", "asserted"),
    ],
)
def test_an_order_of_the_moment_is_an_instruction_in_a_note(text: str, said: str, noted: str) -> None:
    """What is said to an agent is done once; what is written down is meant to last."""
    assert (force(text), force(text, in_conversation=False)) == (said, noted)
