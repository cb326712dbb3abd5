"""Names in questions, and everything known about one entity."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from engramdb.errors import MemoryNotFound
from engramdb.store.contract import Appearance, Transaction
from engramdb.text.mentions import mentions
from engramdb.text.name_runs import Word, words_of
from engramdb.text.names import fold, fold_name, name_lists
from engramdb.text.terms import STOP_WORDS, query_terms
from engramdb.values import Entity, EntityType, Filters, Layer, Memory, Scope
from engramdb.values.entity import Companion, EntityProfile, Relation

# Names in a question, and which known things they may mean: pure rules, without the store.
#
# A name in capitals counts at once; a word in small letters only may be one. Two entities are one person
# where one carries all names of the other: "Bob", "Bob Chen" and "Robert Chen, known as Bob" may have been
# met before anyone said that they are the same.

MAX_WORDS = 60
"""Words of a question that are looked at; a longer one is a pasted text."""

LONGEST_NAME = 4
"""Words of the longest name in small letters that is looked up."""


class AskedName(Struct, frozen=True):
    """A name that a question uses, or a few words of it that may be one."""

    words: tuple[str, ...]
    folds: frozenset[str]
    """The forms in which it may be stored."""
    type: EntityType = EntityType.UNKNOWN
    is_sure: bool = False
    has_noun: bool = False
    """Whether a word beside it says what it is: project, app, service."""

    @property
    def is_full_name(self) -> bool:
        """Whether it names one person, so that others with the same first name are not meant."""
        return self.type is EntityType.PERSON and len(self.words) > 1

    @property
    def has_title(self) -> bool:
        """Whether it is a family name after a title: Dr. Schmidt."""
        return len(self.words) == 2 and self.words[0].rstrip(".") in name_lists().person_titles

    @property
    def part(self) -> str | None:
        """The word that may be a person's given or family name, where it is no full name."""
        return self.words[-1] if len(self.words) == 1 or self.has_title else None


def name(text: str) -> AskedName:
    """Return a text that is a name for sure."""
    return AskedName(tuple(fold(text).split()), _folds(text), is_sure=True)


def asked_names(question: str) -> list[AskedName]:
    """Return the names in a question, and the words that may be names, the longest first."""
    sure = [
        AskedName(tuple(fold(one.text).split()), _folds(one.text), one.type, is_sure=True)
        for one in mentions(question)
    ]
    every = [*sure, *_possible(words_of(question)[:MAX_WORDS])]
    return sorted(every, key=lambda one: (-len(one.words), not one.is_sure))


def fitting(asked: AskedName, known: Sequence[Entity]) -> list[Entity]:
    """Return who may be called so, exact names first; only those of the suggested type, if any are."""
    exact = [one for one in known if not asked.folds.isdisjoint(folded_names(one))]
    partly = [one for one in known if one not in exact and _carries(one, asked)]
    found = exact + partly
    same_type = [one for one in found if one.type is asked.type]
    return same_type if same_type and asked.type is not EntityType.UNKNOWN else found


def folded_names(entity: Entity) -> frozenset[str]:
    """Return all names of an entity as they are compared."""
    return frozenset(fold_name(one, entity.type) for one in (entity.name, *entity.aliases))


def first_names(entity: Entity) -> frozenset[str]:
    """Return the first words of a person's longer names."""
    longer = (one.split() for one in folded_names(entity) if " " in one and "'s " not in one)
    return frozenset(words[0] for words in longer if entity.type is EntityType.PERSON)


def possible_names(entity: Entity) -> frozenset[str]:
    """Return what someone may go by elsewhere: any name, a first name, a nickname with the family's."""
    names, first, last = folded_names(entity), first_names(entity), _last_names(entity)
    is_person = entity.type is EntityType.PERSON
    full = {f"{one} {family}" for one in names if " " not in one for family in last if is_person}
    return names | first | full


def with_same(meant: Sequence[Entity], known: Sequence[Entity]) -> list[Entity]:
    """Return the entities with all of `known` that are the same under another name."""
    found = list(meant)
    for one in found:  # grows while it is walked through: what is the same as the same is the same
        found += [other for other in known if other not in found and _are_same(one, other)]
    return found


def bare_names(entity: Entity) -> frozenset[str]:
    """Return the names of someone who goes by single words only; none for anyone with a longer name."""
    names = folded_names(entity)
    return frozenset() if any(" " in one for one in names) else names


def _folds(text: str) -> frozenset[str]:
    return frozenset(fold_name(text, kind) for kind in EntityType)


def _possible(words: Sequence[Word]) -> Iterator[AskedName]:
    """Yield every few words in a row, but none that begin or end with a word that says nothing."""
    nouns = name_lists().project_nouns | name_lists().service_nouns
    for start in range(len(words)):
        for end in range(start + 1, min(start + LONGEST_NAME, len(words)) + 1):
            run = words[start:end]
            if run[0].folded in STOP_WORDS or run[-1].folded in STOP_WORDS:
                continue
            around = words[max(0, start - 1) : end + 1]
            yield AskedName(
                tuple(one.folded for one in run),
                frozenset({" ".join(one.folded for one in run), _with_owners(run)}),
                is_sure=len(run) > 1 or (run[0].is_capital and not run[0].starts_sentence),
                has_noun=any(one.folded in nouns for one in around),
            )


def _with_owners(run: Sequence[Word]) -> str:
    """Return the words with the 's of owners: Tom's sister."""
    owned = [f"{one.folded}'s" if one.is_owner else one.folded for one in run[:-1]]
    return " ".join([*owned, run[-1].folded])


def _carries(entity: Entity, asked: AskedName) -> bool:
    """Return whether a person's longer name begins with it, or ends with it after a title or nothing."""
    if entity.type is not EntityType.PERSON or asked.part is None:
        return False
    if not asked.has_title and asked.part in first_names(entity):
        return True
    is_family = asked.has_title or (asked.type is EntityType.UNKNOWN and asked.is_sure)
    return is_family and asked.part in _last_names(entity)


def _last_names(entity: Entity) -> frozenset[str]:
    longer = (one.split() for one in folded_names(entity) if " " in one and "'s " not in one)
    return frozenset(words[-1] for words in longer)


def _are_same(one: Entity, other: Entity) -> bool:
    return _covers(one, other) or _covers(other, one)


def _covers(one: Entity, other: Entity) -> bool:
    """Return whether each name of the other is a name of this one too, or is made of its names."""
    if one.type is not other.type and EntityType.UNKNOWN not in (one.type, other.type):
        return False
    own, last = folded_names(one), _last_names(one)
    return all(
        name in own or (" " in name and name.split()[0] in own and name.split()[-1] in last)
        for name in folded_names(other)
    )


# Whom and what a question names, what memories say of it, and the profile of one thing.
#
# AskedName by the recall pipeline and by the engine; asks `recall.names` for the rules and the store for
# entities. Nothing is looked up twice: a question costs two or three reads, whatever it names. Ambiguity
# is shown, never settled: a name that several carry gives all of them. Numbers:
# docs/lab/0017-entities-in-recall.md.

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
        found = [entity for entity in fitting(one, known) if one.is_sure or _is_meant(tx, one, entity, scope)]
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
        companions=tuple(Companion(entity=one, memories=count) for one, count in company),
        months=dict(sorted(Counter(f"{one.when:%Y-%m}" for one in told).items())),
        namesakes=tuple(namesakes),
    )


def _look_up(tx: Transaction, asked: Sequence[AskedName], scope: Scope) -> Sequence[Entity]:
    """Return every entity that one of the names may mean."""
    names = _names_of(asked)
    in_full = {word for one in asked if one.is_full_name and not one.has_title for word in one.words}
    parts = {one.part for one in asked if one.part is not None} - in_full
    return tx.entities.named(names, given=parts, family=parts, scope=scope) if names else ()


def _names_of(asked: Sequence[AskedName]) -> set[str]:
    """Return the forms to look up, and the first names of those who are named in full."""
    first = {one.words[0] for one in asked if one.is_full_name}
    return {form for one in asked for form in one.folds} | first


def _with_same(
    tx: Transaction, meant: Sequence[Entity], known: Sequence[Entity], scope: Scope, *, looked_up: set[str]
) -> list[Entity]:
    """Return the entities, and those that are the same under another name; most mentioned first."""
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


def _is_meant(tx: Transaction, asked: AskedName, entity: Entity, scope: Scope) -> bool:
    """Return whether a word in small letters means the entity, and not what the word means to everyone."""
    (word,) = asked.words
    lists = name_lists()
    if entity.type is EntityType.PERSON and word in lists.given and word not in lists.given_words:
        return True
    if entity.type in _NAMED_BY_NOUN and asked.has_noun:
        return True
    held = tx.terms.statistics(query_terms(word), scope=scope).frequencies
    return entity.mentions >= PLAIN_SHARE * max(held.values(), default=0)


def _by_id_or_name(tx: Transaction, name_or_id: str, scope: Scope) -> tuple[list[Entity], list[Entity]]:
    """Return the entity with those that are the same, and then the others that go by the name."""
    by_id = tx.entities.get(name_or_id, scope=scope)
    asked = name(name_or_id)
    known = sorted(_look_up(tx, [asked], scope), key=_most_mentioned) if by_id is None else [by_id]
    found = fitting(asked, known) if by_id is None else [by_id]
    same = _with_same(tx, found[:1], known, scope, looked_up=set())
    return same, [one for one in found if one not in same]


def _as_one(same: Sequence[Entity], told: Sequence[Appearance]) -> Entity:
    """Return one entity under all its names, with the moments and the number of what was told of it."""
    main = same[0]
    every = (alias for one in same for alias in (one.name, *one.aliases))
    names = [alias for alias in every if alias.casefold() != main.name.casefold()]
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
            yield Relation(
                subject=memory.subject, predicate=memory.predicate, object=memory.object, memory_id=memory.id
            )


def _stands_in(names: Iterable[str], end: str | None) -> bool:
    """Return whether a name stands in the subject or the object as whole words."""
    words = f" {fold_name(end)} " if end else ""
    return any(f" {one} " in words for one in names)
