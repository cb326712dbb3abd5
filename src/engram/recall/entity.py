"""
Whom and what a question names, what memories say of it, and the profile of one thing.

Asked by the recall pipeline and by the engine; asks `recall.names` for the rules and the store for
entities. Nothing is looked up twice: a question costs two or three reads, whatever it names. Ambiguity
is shown, never settled: a name that several carry gives all of them. Numbers:
docs/lab/0017-entities-in-recall.md.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from engram.errors import MemoryNotFound
from engram.recall.names import (
    asked_names,
    bare_names,
    first_names,
    fitting,
    folded_names,
    name,
    possible_names,
    with_same,
)
from engram.text.entity_names import fold_name, name_lists
from engram.text.terms import query_terms
from engram.values import EntityType, Filters
from engram.values.profile import Companion, EntityProfile, Relation

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime

    from engram.recall.names import Asked
    from engram.store.contract import Appearance, Transaction
    from engram.values import Entity, Layer, Memory, Scope

MAX_EXPANSIONS = 3
"""Aliases that may join the words of a question: more would drown it (seed 002 §41.3)."""

PLAIN_SHARE = 0.8
"""Of the memories that hold a word, so many must mean the entity before the word alone does."""

SHARED_REACH = 1000
"""How many of each entity's memories are looked through for those that speak of several."""

_NAMED_BY_NOUN = frozenset({EntityType.PROJECT, EntityType.SERVICE})


def named_in(tx: Transaction, question: str, *, scope: Scope) -> list[Entity]:
    """Return the entities that the question names, most mentioned first; an ambiguous name gives all."""
    if tx.entities.is_empty():
        return []
    asked = asked_names(question)
    known = _look_up(tx, asked, scope)
    meant: dict[str, Entity] = {}
    covered: set[str] = set()
    for one in asked if known else ():
        if covered.issuperset(one.words):
            continue
        found = [entity for entity in fitting(one, known) if one.is_sure or _is_meant(tx, one, entity)]
        meant.update({entity.id: entity for entity in found})
        if found or one.is_full_name:
            covered |= {*one.words}
    return _with_same(tx, list(meant.values()), known, scope, looked_up=_names_of(asked))


def expansions(entities: Iterable[Entity], question: str) -> list[str]:
    """
    Return at most three other names of the entities that share no word with the question.

    A longer form of a name that is there already ("Ann Meyer" for "Ann") would find nothing more and make
    every other word of the question count for less.
    """
    present = set(query_terms(question))
    found: list[str] = []
    for entity in entities:
        for alias in (entity.name, *entity.aliases):
            words = {*query_terms(alias)}
            if words and not words & present:
                found.append(alias)
                present |= words
    return found[:MAX_EXPANSIONS]


def linked(
    tx: Transaction, entities: Sequence[Entity], *, scope: Scope, filters: Filters, limit: int
) -> list[int]:
    """Return the keys of memories that speak of these: of most of them first, then the newest."""
    reach = limit if len(entities) == 1 else max(limit, SHARED_REACH)
    spoken: Counter[int] = Counter()
    for entity in entities:
        spoken.update(tx.entities.memories_of(entity.id, scope=scope, filters=filters, limit=reach))
    return sorted(spoken, key=lambda key: (-spoken[key], -key))[:limit]


def profile(
    tx: Transaction,
    name_or_id: str,
    *,
    scope: Scope,
    limit: int,
    now: datetime | None = None,
    filters: Filters | None = None,
) -> EntityProfile:
    """
    Return what is known about the entity of this name or id: at most `limit` memories of each layer.

    Where several go by the name, the most mentioned is shown and the others are its namesakes.
    """
    same, namesakes = _by_id_or_name(tx, name_or_id, scope)
    if not same:
        raise MemoryNotFound(
            f"nothing called {name_or_id[:80]!r} is known in scope {scope}",
            hint="Check the name and the scope.",
        )
    ids = [one.id for one in same]
    told = tx.entities.appearances(ids, scope=scope, filters=filters or Filters(), alive_at=now)
    keys = _newest_of_each_layer(told, limit)
    memories = tx.memories.by_keys([key for some in keys.values() for key in some])
    entity = _as_one(same, told)
    company = tx.entities.companions(ids, [one.key for one in told], scope=scope, limit=limit)
    return EntityProfile(
        entity=entity,
        memories={layer: tuple(memories[key] for key in some) for layer, some in keys.items()},
        relations=tuple(_relations(entity, memories.values())),
        companions=tuple(Companion(one, count) for one, count in company),
        months=dict(sorted(Counter(f"{one.when:%Y-%m}" for one in told).items())),
        namesakes=tuple(namesakes),
    )


def _look_up(tx: Transaction, asked: Sequence[Asked], scope: Scope) -> Sequence[Entity]:
    """Return every entity that one of the names may mean."""
    names = _names_of(asked)
    in_full = {word for one in asked if one.is_full_name and not one.has_title for word in one.words}
    parts = {one.part for one in asked if one.part is not None} - in_full
    return tx.entities.named(names, given=parts, family=parts, scope=scope) if names else ()


def _names_of(asked: Sequence[Asked]) -> set[str]:
    """Return the forms to look up, and the first names of those who are named in full."""
    first = {one.words[0] for one in asked if one.is_full_name}
    return {form for one in asked for form in one.folds} | first


def _with_same(
    tx: Transaction, meant: Sequence[Entity], known: Sequence[Entity], scope: Scope, *, looked_up: set[str]
) -> list[Entity]:
    """Return the entities, and whoever is the same under another name; most mentioned first."""
    names = {one for entity in meant for one in possible_names(entity)}
    if not names <= looked_up:
        known = tx.entities.named(names, scope=scope)
    same = with_same(meant, known)
    bare = {one for entity in same[len(meant) :] for one in bare_names(entity)}
    if bare:  # "Anna" is Anna Schmidt only while there is no other Anna
        others = [one for one in tx.entities.named((), given=bare, scope=scope) if one not in same]
        carried = {one for other in others for one in first_names(other)}
        same = [one for one in same if one in meant or carried.isdisjoint(bare_names(one))]
    return sorted(same, key=_most_mentioned)


def _most_mentioned(entity: Entity) -> tuple[float, ...]:
    return -entity.mentions, -entity.last_seen.timestamp()


def _is_meant(tx: Transaction, asked: Asked, entity: Entity) -> bool:
    """Say whether a word in small letters means the entity, and not what the word means to everyone."""
    (word,) = asked.words
    lists = name_lists()
    if entity.type is EntityType.PERSON and word in lists.given and word not in lists.given_words:
        return True
    if entity.type in _NAMED_BY_NOUN and asked.has_noun:
        return True
    held = tx.terms.frequencies(query_terms(word))
    return entity.mentions >= PLAIN_SHARE * max(held.values(), default=0)


def _by_id_or_name(tx: Transaction, name_or_id: str, scope: Scope) -> tuple[list[Entity], list[Entity]]:
    """Return the entity with whoever is the same, and then the others that go by the name."""
    by_id = tx.entities.get(name_or_id, scope=scope)
    asked = name(name_or_id)
    known = sorted(_look_up(tx, [asked], scope), key=_most_mentioned) if by_id is None else [by_id]
    found = fitting(asked, known) if by_id is None else [by_id]
    same = _with_same(tx, found[:1], known, scope, looked_up=set())
    return same, [one for one in found if one not in same]


def _as_one(same: Sequence[Entity], told: Sequence[Appearance]) -> Entity:
    """Return one entity under all its names, with the moments and the number of what was told of it."""
    main = same[0]
    names = [alias for one in same for alias in (one.name, *one.aliases) if alias != main.name]
    moments = [one.when for one in told] or [main.first_seen, main.last_seen]
    return replace(
        main,
        aliases=tuple(dict.fromkeys(names)),
        first_seen=min(moments),
        last_seen=max(moments),
        mentions=len(told),
    )


def _newest_of_each_layer(told: Sequence[Appearance], limit: int) -> dict[Layer, list[int]]:
    """Return the keys by layer, as many of each as are asked for."""
    keys: dict[Layer, list[int]] = {}
    for one in told:
        keys.setdefault(one.layer, []).append(one.key)
    return {layer: keys[layer][:limit] for layer in sorted(keys)}


def _relations(entity: Entity, memories: Iterable[Memory]) -> Iterator[Relation]:
    """Yield what the memories say that the entity does, is or has, or that is done to it."""
    names = folded_names(entity)
    for memory in memories:
        if memory.predicate and any(_stands_in(names, end) for end in (memory.subject, memory.object)):
            yield Relation(memory.subject, memory.predicate, memory.object, memory.id)


def _stands_in(names: Iterable[str], end: str | None) -> bool:
    """Say whether a name stands in the subject or the object as whole words."""
    words = f" {fold_name(end)} " if end else ""
    return any(f" {one} " in words for one in names)
