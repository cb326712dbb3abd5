"""The text index asks for rare words first, and for common ones only where that is cheap."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from engramdb import Draft, Engram, Filters, Scope, Settings
from engramdb.index.lexical import LexicalIndex, searchable_terms
from engramdb.testing import TinyEmbedder
from engramdb.values import GLOBAL

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.xdist_group("lexical-index")

MANY = 6_000
"""More memories than the index is willing to look through for one question."""


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engram]:
    """A store in which one word stands everywhere and another once."""
    path = tmp_path_factory.mktemp("lexical") / "memory.db"
    settings = Settings(durability="relaxed", policy="notebook")
    with Engram.open(path, settings=settings, embedder=TinyEmbedder(), background=False) as engram:
        drafts = [Draft(content=f"meeting number {number}") for number in range(MANY)]
        drafts.insert(100, Draft(content="meeting about the aardvark"))
        engram.remember_many(drafts)
        yield engram


def found(engram: Engram, query: str, *, scope: Scope = GLOBAL, limit: int = 10) -> list[str]:
    """The statements that the text index alone finds, best first."""
    with engram._parts.store.read() as tx:
        hits = LexicalIndex().search(tx, query, scope=scope, filters=Filters(), limit=limit)
        memories = tx.memories.by_keys([hit.key for hit in hits])
        return [memories[hit.key].content for hit in hits]


def test_a_rare_word_decides_beside_a_common_one(crowded: Engram) -> None:
    """The one memory with the rare word comes first, however many share the common word."""
    assert found(crowded, "the meeting about an aardvark")[0] == "meeting about the aardvark"


def test_a_word_that_is_everywhere_gives_the_newest(crowded: Engram) -> None:
    """Too common to rank by, it still finds: the latest memories that hold it."""
    expected = [f"meeting number {number}" for number in range(MANY - 1, MANY - 4, -1)]

    assert found(crowded, "meeting", limit=3) == expected


@pytest.mark.parametrize("others", [0, 1, 5, 20])
def test_the_words_of_the_only_memory_are_not_everybodys(engram: Engram, others: int) -> None:
    """Half of a question counts for nearly half, also in a scope so young that all of it holds the word."""
    for number in range(others):
        engram.remember(f"tulip{number} grows beside rose{number}")
    engram.remember("I use the Helix editor")

    with engram._parts.store.read() as tx:
        (hit,) = LexicalIndex().search(tx, "editor deploy", scope=GLOBAL, filters=Filters(), limit=5)

    assert 0.39 <= hit.score <= 0.5


def test_a_word_that_nobody_used_finds_nothing(crowded: Engram) -> None:
    """An unknown word is an empty answer, not a guess."""
    assert found(crowded, "xylophone") == []


def test_a_word_is_found_as_soon_as_it_is_written(engram: Engram) -> None:
    """Counts that are kept between questions never hide a new memory, nor show a forgotten one."""
    assert not engram.recall("aardvark").hits
    memory = engram.remember("the aardvark sleeps")
    after_write = engram.recall("aardvark").hits
    engram.forget(memory.id)
    after_forgetting = engram.recall("aardvark").hits

    assert [hit.memory.id for hit in after_write] == [memory.id]
    assert after_forgetting == ()


def test_covering_more_of_the_question_is_better(engram: Engram) -> None:
    """A memory with all the words outranks one with some, which outranks one with none."""
    engram.remember("the green tea from Lisbon")
    engram.remember("tea")
    engram.remember("a train to Porto")

    assert found(engram, "green tea Lisbon") == ["the green tea from Lisbon", "tea"]


def test_scores_lie_between_none_and_all_of_the_question(engram: Engram) -> None:
    """A memory that holds every word of the question scores 1, whatever else it holds."""
    engram.remember("green tea from Lisbon, bought on a rainy Tuesday")

    with engram._parts.store.read() as tx:
        (hit,) = LexicalIndex().search(tx, "green tea", scope=GLOBAL, filters=Filters(), limit=5)

    assert hit.score == pytest.approx(1)


def test_the_affordable_terms_are_the_rarest() -> None:
    """Terms are taken rarest first until looking through their memories would cost too much."""
    frequencies = {"rare": 3, "uncommon": 900, "common": 100_000}

    assert searchable_terms(["rare", "uncommon", "common"], frequencies) == ["rare", "uncommon"]
    assert searchable_terms(["common"], frequencies) == []
