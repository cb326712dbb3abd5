"""What callers may get wrong gets a named error that says what would be right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from engram.errors import InvalidContent, InvalidQuery

if TYPE_CHECKING:
    from engram import Engram


@pytest.mark.parametrize("field", ["layer", "type", "kind", "source"])
def test_an_unknown_choice_is_answered_with_the_known_ones(engram: Engram, field: str) -> None:
    """Nobody has to look up which layers there are."""
    wrong: dict[str, Any] = {field: "nonsense"}

    with pytest.raises(InvalidContent) as caught:
        engram.remember("The API uses JWT tokens", **wrong)

    assert "Use one of" in caught.value.hint


def test_an_unknown_status_is_answered_with_the_known_ones(engram: Engram) -> None:
    """The same holds for statuses."""
    memory = engram.remember("The API uses JWT tokens")
    wrong: Any = "sleeping"

    with pytest.raises(InvalidContent) as caught:
        engram.set_status(memory.id, wrong)

    assert "archived" in caught.value.hint


def test_a_query_that_cannot_be_written_down_is_refused(engram: Engram) -> None:
    """Half a surrogate pair could not be shown again in the answer."""
    with pytest.raises(InvalidQuery):
        engram.recall("what about \ud800?")
