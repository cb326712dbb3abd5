"""
Put what is known of someone or something into a few lines.

Called by the step `profiles`; pure. Every line is a statement in its own words. The weightiest are chosen and
then put into the order in which they were stored, so that a card changes when its statements do and not when
two of them change places.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.text.normal import normalise
from engram.values import EntityType, MemoryType, Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from engram.values import Entity, Memory

CATEGORY = {
    EntityType.PERSON: "person",
    EntityType.PROJECT: "project",
    EntityType.TECHNOLOGY: "technical",
    EntityType.SERVICE: "technical",
    EntityType.ORGANIZATION: "entity",
    EntityType.CONCEPT: "entity",
    EntityType.LOCATION: "entity",
}
"""Of what there are profiles, and the category of each; a file and an unclear name have none."""

BEHAVIOUR = ("instruction", "correction", "preference", "principle", "skill")
"""What a statement must be to tell how somebody wants things done, the most binding first."""
_USER = frozenset({"user", "the user"})


def chosen(memories: Iterable[Memory], *, most: int) -> list[Memory]:
    """Return the weightiest statements, each thing said once, in the order in which they were stored."""
    by_words: dict[str, Memory] = {}
    for one in sorted(memories, key=lambda one: (-one.importance * one.confidence, one.id)):
        if one.type is not MemoryType.NARRATIVE:
            by_words.setdefault(normalise(one.content), one)
    return sorted(list(by_words.values())[:most], key=lambda one: one.id)


def heading(entity: Entity) -> str:
    """Return the first line of a profile: whom it is of, what that is, and its other names."""
    others = [alias for alias in entity.aliases if normalise(alias) != normalise(entity.name)]
    called = f", also called {', '.join(others)}" if others else ""
    return f"Profile of {entity.name} ({entity.type}){called}:"


def written(head: str, lines: Iterable[str], *, characters: int) -> str:
    """Return a card: a heading and one line for each statement, cut where it is too long."""
    return "\n".join([head, *(f"- {_cut(line, characters)}" for line in lines)])


def is_of_user(memory: Memory) -> bool:
    """Say whether a statement tells how the user wants things or works."""
    if memory.category not in BEHAVIOUR or memory.provenance.source is Source.INGEST:
        return False
    if memory.subject is None:
        return memory.provenance.speaker is None and memory.provenance.source is Source.HUMAN
    return normalise(memory.subject) in _USER


def by_behaviour(memories: Sequence[Memory]) -> list[Memory]:
    """Return the statements with what binds most first."""
    return sorted(memories, key=lambda one: (BEHAVIOUR.index(one.category), one.id))


def _cut(text: str, characters: int) -> str:
    whole = " ".join(text.split())
    if len(whole) <= characters:
        return whole
    return f"{whole[: characters - 2].rsplit(' ', 1)[0]} …"
