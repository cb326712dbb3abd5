"""What a question asks of somebody is told apart from what is merely known of them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from engramdb import Memory
from engramdb.recall.answerability import unspoken
from engramdb.values import new_id

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def known(predicate: str) -> Memory:
    """A memory of Ben with some relation."""
    return Memory(
        id=new_id(NOW),
        content="Ben is at home in Porto",
        subject="Ben",
        predicate=predicate,
        created_at=NOW,
        updated_at=NOW,
    )


@pytest.mark.parametrize(
    ("question", "predicate", "words"),
    [
        ("When is Ben's birthday?", "lives_in", ("birthday",)),
        ("Where does Ben live?", "lives_in", ()),
        ("What is Ben's address?", "lives_in", ()),
        ("When is Ben's birthday?", "born_on", ()),
        ("Who is Ben?", "lives_in", ()),
        ("what is my favourite colour?", "lives_in", ()),
    ],
)
def test_only_what_no_memory_speaks_of_is_unspoken(
    question: str, predicate: str, words: tuple[str, ...]
) -> None:
    """Neither the words of a memory nor those that ask for its relation; and only of who is named."""
    assert unspoken(question, [known(predicate)]) == words


def test_where_nothing_is_known_nothing_is_unspoken() -> None:
    """Then there is nothing that could be taken for an answer."""
    assert unspoken("When is Ben's birthday?", []) == ()
