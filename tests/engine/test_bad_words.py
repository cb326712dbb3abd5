"""What callers may get wrong gets a named error that says what would be right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from engramdb import Draft, Engram, Filters
from engramdb.errors import EngramError, InvalidContent, InvalidQuery, InvalidScope, MemoryNotFound

if TYPE_CHECKING:
    from pathlib import Path


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


@pytest.mark.parametrize("scope", ["ann", {"user": "ann"}])
def test_a_scope_that_is_none_is_refused_by_every_verb(engram: Engram, scope: Any) -> None:
    """Whoever comes from another library gives a name or a dict; the answer shows what is wanted here."""
    memory = engram.remember("The API uses JWT tokens")

    for verb in (engram.remember, engram.recall, engram.observe, engram.timeline):
        with pytest.raises(InvalidScope, match="a scope is a Scope") as caught:
            verb("which tokens?", scope=scope)
        assert "Scope(user=" in caught.value.hint
    with pytest.raises(InvalidScope):
        engram.get(memory.id, scope=scope)


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        ("importance", "high"),
        ("confidence", [0.5]),
        ("category", 5),
        ("speaker", 5),
        ("session", 5),
        ("occurred_at", "2024-05-01"),
        ("forget_after", 1_700_000_000),
    ],
)
def test_a_field_of_another_type_is_named(engram: Engram, field: str, wrong: Any) -> None:
    """The message names the field and the type, not a line inside Engram; nothing is stored."""
    with pytest.raises(InvalidContent, match=field):
        engram.remember("The API uses JWT tokens", **{field: wrong})

    assert not engram.list()


@pytest.mark.parametrize("field", ["speaker", "session"])
def test_a_turn_of_a_session_that_is_no_text_is_refused(engram: Engram, field: str) -> None:
    """A session 5 would be kept, and never found again as "5"."""
    wrong: dict[str, Any] = {field: 5}

    with pytest.raises(InvalidContent, match=field):
        engram.observe("I like tea", **wrong)

    assert not engram.turns()


@pytest.mark.parametrize(
    "wrong", [{"limit": "5"}, {"as_of": "2024-05-01"}, {"filters": {"user_id": "ann"}}, {"query": 5}]
)
def test_a_question_of_another_type_is_refused_by_name(engram: Engram, wrong: dict[str, Any]) -> None:
    """So is a dict for filters, which other libraries take."""
    asked: dict[str, Any] = {"query": "which tokens?"} | wrong

    with pytest.raises(InvalidQuery):
        engram.recall(**asked)


@pytest.mark.parametrize("part", ["statuses", "layers", "types", "kinds", "categories"])
def test_a_filter_that_is_one_word_is_not_taken_for_its_letters(part: str) -> None:
    """`categories="fact"` would let through f, a, c and t, which is nothing, and say so to nobody."""
    wrong: dict[str, Any] = {part: "fact"}

    with pytest.raises(InvalidQuery, match=part):
        Filters(**wrong)


@pytest.mark.parametrize("wrong", ["a statement", {"content": "a statement"}])
def test_many_statements_are_drafts(engram: Engram, wrong: Any) -> None:
    """The error shows how to make one."""
    with pytest.raises(InvalidContent) as caught:
        engram.remember_many([Draft(content="The API uses JWT tokens"), wrong])

    assert "Draft(content=" in caught.value.hint


def test_an_id_that_is_no_text_is_not_found(engram: Engram) -> None:
    """None, where a look-up before went wrong, is told by name."""
    nothing: Any = None

    with pytest.raises(MemoryNotFound, match="NoneType"):
        engram.forget(nothing)


def test_a_handle_with_a_scope_that_is_none_says_so_at_its_first_use(tmp_path: Path) -> None:
    """The scope that a handle is opened with is looked at like any other."""
    wrong: Any = "ann"

    with Engram.open(tmp_path / "memory.db", scope=wrong) as engram, pytest.raises(EngramError):
        engram.recall("which tokens?")
