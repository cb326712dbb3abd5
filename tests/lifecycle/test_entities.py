"""A mention is taken for a known entity when one thing fits, and the registry keeps what was learnt."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from engramdb.lifecycle.entities import register, resolve
from engramdb.store.sqlite.store import SqliteStore
from engramdb.text.normalize import fingerprint
from engramdb.values import GLOBAL, Entity, EntityType, Filters, Memory, Mention, Scope, new_id

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PERSON, FIRM, PROJECT = EntityType.PERSON, EntityType.ORGANIZATION, EntityType.PROJECT
TOOL, FILE, PLACE, UNKNOWN = EntityType.TECHNOLOGY, EntityType.FILE, EntityType.LOCATION, EntityType.UNKNOWN


def known(*names: str, kind: EntityType = PERSON) -> list[Entity]:
    """Return entities; a name may have aliases behind bars."""
    made = []
    for name in names:
        first, *aliases = name.split("|")
        made.append(
            Entity(id=first, name=first, type=kind, aliases=tuple(aliases), first_seen=NOW, last_seen=NOW)
        )
    return made


def name_of(entity: Entity | None) -> str | None:
    """Return the entity's name, or None."""
    return entity.name if entity else None


@pytest.mark.parametrize(
    ("mention", "among", "expected"),
    [
        ("anna schmidt", ["Anna Schmidt"], "Anna Schmidt"),
        ("Dr. Anna Schmidt", ["Anna Schmidt"], "Anna Schmidt"),
        ("Anna", ["Anna Schmidt", "Tom Baker"], "Anna Schmidt"),
        ("Anna", ["Anna Schmidt|Anna", "Anna Müller"], None),
        ("Anna Müller", ["Anna Schmidt"], None),
        ("Anna Schmidt", ["Anna"], "Anna"),
        ("Anna Schmidt", ["Anna", "Anna Müller"], None),
        ("Prof. Schmidt", ["Anna Schmidt"], "Anna Schmidt"),
        ("Schmidt", ["Anna Schmidt"], None),
        ("@john", ["John"], "John"),
        ("@john.k", ["John"], None),
        ("Jon Carter", ["John Carter"], "John Carter"),
        ("Maria Silva", ["Mario Silva"], None),
        ("Alexandra Papadopoulos", ["Alexander Papadopoulos"], None),
        ("Ian", ["Iain"], None),
        ("Tom", ["Tom's sister"], None),
        ("Tom's sister", ["Tom", "Ana's sister"], None),
    ],
)
def test_people_are_known_again_by_whole_or_unambiguous_names(
    mention: str, among: list[str], expected: str | None
) -> None:
    """A first name alone is enough only while one person carries it."""
    assert name_of(resolve(Mention(text=mention, type=PERSON), known(*among))) == expected


@pytest.mark.parametrize(
    ("mention", "kind", "among", "expected"),
    [
        ("the React app", PROJECT, "React project", "React project"),
        ("Acme Corp", FIRM, "Acme Inc.", "Acme Inc."),
        ("Microsft", FIRM, "Microsoft", "Microsoft"),
        ("Release 2024", PROJECT, "Release 2025", None),
        ("tests/test_alpha1.py", FILE, "tests/test_alpha2.py", None),
        ("Preact Native", TOOL, "React Native", None),
    ],
)
def test_things_are_known_again_by_what_matters_in_their_name(
    mention: str, kind: EntityType, among: str, expected: str | None
) -> None:
    """Set words do not count, slips are forgiven, but not in digits, files and technologies."""
    assert name_of(resolve(Mention(text=mention, type=kind), known(among, kind=kind))) == expected


def test_two_types_are_never_one() -> None:
    """A person called Jordan is not the country; what has no type yet may be either."""
    country = known("Jordan", kind=PLACE)

    assert resolve(Mention(text="Jordan", type=PERSON), country) is None
    assert resolve(Mention(text="Jordan", type=UNKNOWN), country) == country[0]


def test_meaning_decides_where_a_name_means_something() -> None:
    """A project under another name is found by likeness from 0.85 on; people never are."""
    project, person = known("Frontend", kind=PROJECT), known("Anna Schmidt")

    assert (
        resolve(Mention(text="User interface", type=PROJECT), project, similarity=lambda *_: 0.85)
        == project[0]
    )
    assert resolve(Mention(text="User interface", type=PROJECT), project, similarity=lambda *_: 0.84) is None
    assert resolve(Mention(text="Eva Lang", type=PERSON), person, similarity=lambda *_: 0.99) is None


@pytest.fixture
def store(store_path: Path) -> Iterator[SqliteStore]:
    """An empty store."""
    opened = SqliteStore.open(str(store_path), now=NOW)
    yield opened
    opened.close()


def say(
    store: SqliteStore,
    content: str,
    *,
    scope: Scope = GLOBAL,
    speaker: str | None = None,
    names: tuple[str, ...] = (),
    day: int = 0,
) -> tuple[Entity, ...]:
    """Store a statement and register what it mentions."""
    now = NOW + timedelta(days=day)
    memory = Memory(id=new_id(now), content=content, created_at=now, updated_at=now, scope=scope)
    with store.atomic() as tx:
        tx.memories.add(memory, fingerprint=fingerprint(content))
        return register(tx, memory, speaker=speaker, names=names, now=now)


def test_an_entity_gathers_names_moments_and_memories(store: SqliteStore) -> None:
    """Anna, Dr. Anna Schmidt and Anna again are one person, first seen on the first day."""
    say(store, "Anna likes tea.")
    say(store, "Dr. Anna Schmidt moved the meeting.", day=1)
    (anna,) = say(store, "Anna is on holiday.", day=2)

    with store.read() as tx:
        (seen,) = tx.entities.list(scope=GLOBAL, limit=10)
        keys = tx.entities.memories_of(seen.id, scope=GLOBAL, filters=Filters(), limit=10)

    assert (anna.name, anna.mentions, anna.first_seen) == ("Dr. Anna Schmidt", 3, NOW)
    assert seen == anna
    assert seen.aliases == ("Anna",)
    assert seen.last_seen == NOW + timedelta(days=2)
    assert len(keys) == 3


def test_registering_twice_changes_nothing(store: SqliteStore) -> None:
    """A memory counts once for each thing that it mentions."""
    memory = Memory(id=new_id(NOW), content="Anna met Tom in Oslo.", created_at=NOW, updated_at=NOW)
    with store.atomic() as tx:
        tx.memories.add(memory, fingerprint=b"1")
        first = register(tx, memory, speaker=None, now=NOW)
        again = register(tx, memory, speaker=None, now=NOW)

    assert again == first
    assert [entity.mentions for entity in again] == [1, 1, 1]


def test_nothing_is_resolved_across_scopes(store: SqliteStore) -> None:
    """Two users' Annas are two people, and neither user sees the other's."""
    mine, yours = Scope(user="me"), Scope(user="you")
    say(store, "Anna Schmidt likes tea.", scope=mine)
    say(store, "Anna likes tea.", scope=yours)

    with store.read() as tx:
        assert [e.name for e in tx.entities.list(scope=mine, limit=10)] == ["Anna Schmidt"]
        assert [e.name for e in tx.entities.list(scope=yours, limit=10)] == ["Anna"]
        assert tx.entities.list(scope=GLOBAL, limit=10) == []


def test_what_an_extractor_names_is_registered_too(store: SqliteStore) -> None:
    """Names from outside count, but not pronouns, the user, blanks or what the text named already."""
    found = say(store, "Anna likes blorp.", names=("blorp", "anna", "User", " ", "she", "x" * 500))

    assert [(entity.name, entity.type) for entity in found] == [("Anna", PERSON), ("blorp", UNKNOWN)]


def test_a_doubtful_word_counts_once_it_is_known(store: SqliteStore) -> None:
    """The first word of a sentence proves nothing, until something is known by that name."""
    before = say(store, "Quandtix renewed the licence.")
    say(store, "The deal with Quandtix is signed.")
    after = say(store, "Quandtix wants more.")

    assert before == ()
    assert [entity.name for entity in after] == ["Quandtix"]


def test_an_unclear_type_becomes_clear(store: SqliteStore) -> None:
    """What was only a name is a project once someone says so."""
    say(store, "She talked about Heron all day.")
    (heron,) = say(store, "Project Heron is done.")

    assert (heron.type, heron.mentions) == (PROJECT, 2)


@pytest.mark.parametrize(
    "mention",
    [
        *(
            "Anna",
            "Anna Schmidt",
            "Dr. Schmidt",
            "Ana Schmidt",
            "Annna Schmidt",
            "@anna",
            "Jon Carter",
            "Carter",
        ),
        *(
            "Peter Schmidt-Meyer",
            "Mueller",
            "Müller",
            "Katherine Jonson",
            "Kathrine Johnson",
            "Tom",
            "Tom Q. Ford",
        ),
    ],
)
def test_the_store_offers_everyone_who_may_be_meant(store: SqliteStore, mention: str) -> None:
    """What the store leaves out as too unlike would not have been taken anyway."""
    people = (
        "Anna Schmidt",
        "Anna Weber",
        "John Carter",
        "Katherine Johnson",
        "Müller",
        "Muller",
        "Tom",
        "Ford",
    )
    everyone: list[Entity] = []
    for name in people:
        everyone += say(store, f"statement {len(everyone)}", names=(name,))

    with store.read() as tx:
        for kind in (PERSON, UNKNOWN):
            offered = tx.entities.candidates(Mention(text=mention, type=kind), scope=GLOBAL)
            every = {entity.id: entity for entity in everyone}
            chosen = resolve(Mention(text=mention, type=kind), offered)
            assert name_of(chosen) == name_of(resolve(Mention(text=mention, type=kind), list(every.values())))
