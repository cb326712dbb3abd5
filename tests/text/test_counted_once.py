"""Counts of tokens are remembered, without the words and without end."""

from __future__ import annotations

from engramdb.text import tokens
from engramdb.text.tokens import MOST_COUNTED, forget_counts, most_tokens


def test_a_remembered_count_is_the_count() -> None:
    """The second answer is the first, for each tokenizer by itself."""
    text = "Maya keeps her passport in the blue drawer, nicht im Schrank."

    first = [most_tokens(text, name) for name in ("o200k", "mistral")]
    forget_counts()
    again = [most_tokens(text, name) for name in ("mistral", "o200k")][::-1]

    assert first == again == [most_tokens(text, name) for name in ("o200k", "mistral")]


def test_no_words_are_remembered() -> None:
    """What is kept of a text is a mark, so that nothing of it outlives an erasure."""
    most_tokens("the secret is xylophone")

    assert all(isinstance(mark, bytes) and b"xylophone" not in mark for _, mark in tokens._counted)


def test_counts_are_not_remembered_without_end() -> None:
    """More texts than the limit leave fewer than the limit behind."""
    for number in range(MOST_COUNTED + 10):
        most_tokens(f"{number}")

    assert len(tokens._counted) <= MOST_COUNTED
