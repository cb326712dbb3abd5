"""Entities are found by any of their names, in scope, and only through memories that may be found."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from engramdb.store.sqlite.store import SqliteStore
from engramdb.values import GLOBAL, Entity, EntityType, Filters, Memory, Mention, Scope, Status, new_id

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PERSON = EntityType.PERSON


@pytest.fixture
def store(store_path: Path) -> Iterator[SqliteStore]:
    """An empty store."""
    opened = SqliteStore.open(str(store_path), now=NOW)
    yield opened
    opened.close()


def keep(store: SqliteStore, *, scope: Scope = GLOBAL, status: Status = Status.ACTIVE) -> Memory:
    """Store a memory."""
    memory = Memory(
        id=new_id(NOW), content="A statement.", created_at=NOW, updated_at=NOW, scope=scope, status=status
    )
    with store.atomic() as tx:
        tx.memories.add(memory, fingerprint=memory.id.encode())
    return memory


def enter(
    store: SqliteStore, name: str, *memories: Memory, scope: Scope = GLOBAL, kind: EntityType = PERSON
) -> Entity:
    """Store an entity that memories mention by its name."""
    entity = Entity(
        id=new_id(NOW), name=name, type=kind, scope=scope, first_seen=NOW, last_seen=NOW, mentions=0
    )
    with store.atomic() as tx:
        tx.entities.add(entity)
        for memory in memories:
            tx.entities.link(entity.id, memory.id, name=name, at=NOW)
    return entity


def alias(store: SqliteStore, entity: Entity, name: str, memory: Memory) -> None:
    """Let a memory call the entity by another name."""
    with store.atomic() as tx:
        current = tx.entities.get(entity.id, scope=entity.scope)
        assert current is not None
        others = (*current.aliases, name)
        changed = Entity(
            id=current.id,
            name=current.name,
            type=current.type,
            scope=current.scope,
            first_seen=NOW,
            last_seen=NOW,
            aliases=others,
            mentions=current.mentions,
        )
        tx.entities.update(changed)
        tx.entities.link(entity.id, memory.id, name=name, at=NOW + timedelta(seconds=1))


def names(store: SqliteStore, *, scope: Scope = GLOBAL) -> list[str]:
    """Return the names of the entities that a scope may see."""
    with store.read() as tx:
        return [entity.name for entity in tx.entities.list(scope=scope, limit=100)]


def forget(store: SqliteStore, memory: Memory, status: Status = Status.FORGOTTEN) -> None:
    """Move a memory out of sight."""
    with store.atomic() as tx:
        tx.memories.replace(memory.evolve(status=status))


@pytest.mark.parametrize("asked", ["Anna Schmidt", "anna schmidt", "Dr. ANNA SCHMIDT", "Annie", "ännie"])
def test_an_entity_is_found_by_any_of_its_names(store: SqliteStore, asked: str) -> None:
    """Case, accents and titles do not count, and an alias is as good as the name."""
    memory = keep(store)
    anna = enter(store, "Anna Schmidt", memory)
    alias(store, anna, "Annie", memory)

    with store.read() as tx:
        found = tx.entities.by_name(asked, scope=GLOBAL)

    assert [(entity.id, entity.aliases, entity.mentions) for entity in found] == [(anna.id, ("Annie",), 1)]


def test_two_entities_may_share_a_name(store: SqliteStore) -> None:
    """There are many Annas, and a person may be called like a country."""
    memory = keep(store)
    enter(store, "Jordan", memory)
    enter(store, "Jordan", memory, kind=EntityType.LOCATION)

    with store.read() as tx:
        kinds = {entity.type for entity in tx.entities.by_name("jordan", scope=GLOBAL)}

    assert kinds == {PERSON, EntityType.LOCATION}


def test_names_are_completed(store: SqliteStore) -> None:
    """The first letters are enough to be offered an entity."""
    memory = keep(store)
    for name in ("Anna Schmidt", "Annika", "Tom"):
        enter(store, name, memory)

    with store.read() as tx:
        offered = {entity.name for entity in tx.entities.starting_with("Ann", scope=GLOBAL, limit=10)}

    assert offered == {"Anna Schmidt", "Annika"}


@pytest.mark.parametrize("status", [Status.FORGOTTEN, Status.PRUNED, Status.ERASED])
def test_a_forgotten_memory_takes_its_entities_out_of_sight(store: SqliteStore, status: Status) -> None:
    """What only a forgotten memory told is found by no name, no list and no link."""
    memory = keep(store)
    anna = enter(store, "Anna", memory)

    forget(store, memory, status)

    with store.read() as tx:
        assert tx.entities.get(anna.id, scope=GLOBAL) is None
        assert tx.entities.by_name("Anna", scope=GLOBAL) == []
        assert tx.entities.starting_with("An", scope=GLOBAL, limit=9) == []
        assert tx.entities.list(scope=GLOBAL, limit=9) == []
        assert tx.entities.of_memory(memory.id, scope=GLOBAL) == []
        assert tx.entities.memories_of(anna.id, scope=GLOBAL, filters=Filters(), limit=9) == []


def test_a_forgotten_memory_takes_the_name_that_it_alone_used(store: SqliteStore) -> None:
    """A full name that only a forgotten memory told is not shown because of another memory's first name."""
    told, kept = keep(store), keep(store)
    anna = enter(store, "Anna Schmidt", told)
    alias(store, anna, "Anna", kept)

    forget(store, told)

    assert names(store) == ["Anna"]
    with store.read() as tx:
        assert tx.entities.by_name("Anna Schmidt", scope=GLOBAL) == []
        (seen,) = tx.entities.by_name("Anna", scope=GLOBAL)
    assert (seen.aliases, seen.mentions) == ((), 1)


def test_the_resolver_still_knows_what_is_out_of_sight(store: SqliteStore) -> None:
    """A memory that comes back finds its entities again, so they are not made twice."""
    memory = keep(store)
    anna = enter(store, "Anna", memory)
    forget(store, memory)

    with store.read() as tx:
        candidates = tx.entities.candidates(Mention(text="Anna", type=PERSON), scope=GLOBAL)

    assert [entity.id for entity in candidates] == [anna.id]


def test_unlinking_leaves_no_name_behind(store: SqliteStore, store_path: Path) -> None:
    """What an erased memory alone told is not in the tables; what another told too stays."""
    told, kept = keep(store), keep(store)
    anna = enter(store, "Anna Schmidt", told)
    alias(store, anna, "Anna", kept)
    enter(store, "Quandtix", told, kind=EntityType.ORGANIZATION)

    with store.atomic() as tx:
        tx.entities.unlink(told.id)

    assert names(store) == ["Anna"]
    with store.read() as tx:
        (left,) = tx.entities.candidates(Mention(text="Anna", type=PERSON), scope=GLOBAL)
        assert tx.entities.count() == 1
        assert (
            tx.entities.candidates(Mention(text="Quandtix", type=EntityType.ORGANIZATION), scope=GLOBAL) == []
        )
    assert (left.name, left.aliases, left.mentions) == ("Anna", (), 1)


def test_a_reader_sees_its_own_and_wider_scopes(store: SqliteStore) -> None:
    """The scopes of entities are those of memories; the resolver looks into exactly one."""
    project, user = Scope(project="p"), Scope(project="p", user="u")
    for name, scope in (("Ann", GLOBAL), ("Bob", project), ("Eve", user)):
        enter(store, name, keep(store, scope=scope), scope=scope)

    assert sorted(names(store)) == ["Ann"]
    assert sorted(names(store, scope=project)) == ["Ann", "Bob"]
    assert sorted(names(store, scope=user)) == ["Ann", "Bob", "Eve"]
    with store.read() as tx:
        assert tx.entities.candidates(Mention(text="Ann", type=PERSON), scope=user) == []
        assert tx.entities.by_name("Eve", scope=project) == []


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("Anna Schmidt", {"Anna Schmidt", "Anno Schmidt"}),
        ("Anna", {"Anna Schmidt", "Anna Müller"}),
        ("Dr. Schmidt", {"Anna Schmidt", "Anno Schmidt", "Peter Schmidt"}),
        ("Tom K. Baker", {"Tom"}),
    ],
)
def test_candidates_are_alike_by_spelling_or_part_of_a_name(
    store: SqliteStore, asked: str, expected: set[str]
) -> None:
    """Whoever may be meant is among them; whoever cannot be is not."""
    memory = keep(store)
    for name in ("Anna Schmidt", "Anna Müller", "Peter Schmidt", "Anno Schmidt", "Tom"):
        enter(store, name, memory)

    with store.read() as tx:
        alike = {
            entity.name for entity in tx.entities.candidates(Mention(text=asked, type=PERSON), scope=GLOBAL)
        }

    assert alike == expected


def test_entities_are_listed_by_type_and_memories_newest_first(store: SqliteStore) -> None:
    """A list may be narrowed to one type; an entity's memories come latest first, within the filters."""
    first, second = keep(store), keep(store)
    anna = enter(store, "Anna", first, second)
    enter(store, "Oslo", first, kind=EntityType.LOCATION)

    with store.read() as tx:
        places = tx.entities.list(scope=GLOBAL, kind=EntityType.LOCATION, limit=9)
        keys = tx.entities.memories_of(anna.id, scope=GLOBAL, filters=Filters(), limit=9)
        latest = tx.memories.by_keys(keys[:1])
        none = tx.entities.memories_of(
            anna.id, scope=GLOBAL, filters=Filters(since=NOW + timedelta(days=1)), limit=9
        )
        spoken_of = {entity.name for entity in tx.entities.of_memory(first.id, scope=GLOBAL)}

    assert [entity.name for entity in places] == ["Oslo"]
    assert [memory.id for memory in latest.values()] == [second.id]
    assert none == []
    assert spoken_of == {"Anna", "Oslo"}
