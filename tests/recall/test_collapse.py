"""What another hit says better is left out of an answer."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from engramdb import Layer
from engramdb.recall.fuse import collapse
from engramdb.values import Memory, Provenance

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def memory(name: str, content: str, **changes: Any) -> Memory:
    """A memory with a short id."""
    return Memory(id=name, content=content, created_at=NOW, updated_at=NOW, **changes)


def kept(*memories: Memory) -> list[str]:
    """The ids that are left, in order."""
    return [one.id for one in collapse(memories, lambda one: one)]


def test_a_fact_stands_for_the_episodes_that_it_was_made_of() -> None:
    """The episode ranked first, and the fact is what the reader wants."""
    episode = memory("e", "On Monday she said that she prefers tea")
    fact = memory("f", "She prefers tea", layer=Layer.SEMANTIC, provenance=Provenance(episodes=("e", "x")))

    assert kept(episode, fact) == ["f"]


def test_the_same_words_are_given_once_from_the_more_lasting_layer() -> None:
    """Case and punctuation do not make two of one."""
    first = memory("a", "She prefers tea.")
    second = memory("b", "she prefers tea", layer=Layer.SEMANTIC)

    assert kept(first, second) == ["b"]
    assert kept(second, first) == ["b"]


def test_the_same_words_of_two_people_are_two_facts() -> None:
    """What Anna likes says nothing about Tom."""
    anna = memory("a", "I like tea", provenance=Provenance(speaker="Anna"))
    tom = memory("t", "I like tea", provenance=Provenance(speaker="Tom"))

    assert kept(anna, tom) == ["a", "t"]
