"""A filter lets the same memories through wherever it is applied: in SQL, in the roster, in plain Python."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path, PurePosixPath

from hypothesis import given, settings
from hypothesis import strategies as st

from engramdb import Draft, Engram, Filters, Kind, Layer, Memory, MemoryType, Scope, Settings, Status
from engramdb.index.roster import Roster
from engramdb.store.sqlite.store import SqliteStore
from engramdb.testing import ManualClock, TinyEmbedder
from engramdb.values import Entity, EntityType, Provenance, Traits, new_id

START = datetime(2026, 1, 1, tzinfo=UTC)
CATEGORIES = ["fact", "preference", "my-own", "general"]

names = st.sampled_from([None, "a", "b"])
scopes = st.builds(Scope, project=names, user=names)
# Around the same microsecond, where rounding would show.
moments = st.integers(-3, 3).map(lambda n: START + timedelta(microseconds=n * 333_333))
marks = st.tuples(
    scopes,
    st.sampled_from(Layer),
    st.sampled_from(MemoryType),
    st.sampled_from(Kind),
    st.sampled_from(CATEGORIES),
    st.sampled_from([Status.ACTIVE, Status.ACTIVE, Status.ARCHIVED, Status.CHALLENGED, Status.SUPERSEDED]),
    st.none() | moments,
)
filters = st.builds(
    Filters,
    statuses=st.frozensets(st.sampled_from(Status)),
    layers=st.frozensets(st.sampled_from(Layer), max_size=2),
    types=st.frozensets(st.sampled_from(MemoryType), max_size=2),
    kinds=st.frozensets(st.sampled_from(Kind), max_size=1),
    categories=st.frozensets(st.sampled_from([*CATEGORIES, "unheard-of"]), max_size=2),
    since=st.none() | moments,
    until=st.none() | moments,
)


def passes(memory: Memory, filters: Filters, scope: Scope) -> bool:
    """The filter in plain Python, as its documentation reads."""
    return (
        scope.sees(memory.scope)
        and memory.status in filters.statuses
        and (not filters.layers or memory.layer in filters.layers)
        and (not filters.types or memory.type in filters.types)
        and (not filters.kinds or memory.kind in filters.kinds)
        and (not filters.categories or memory.category in filters.categories)
        and (filters.since is None or memory.when >= filters.since)
        and (filters.until is None or memory.when < filters.until)
    )


@given(stored=st.lists(marks, min_size=1, max_size=14), asked=filters, scope=scopes)
def test_the_roster_the_store_and_the_definition_agree(
    stored: list[tuple[Scope, Layer, MemoryType, Kind, str, Status, datetime | None]],
    asked: Filters,
    scope: Scope,
) -> None:
    """For random memories and random filters three implementations choose the same memories."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Engram.open(
            Path(folder) / "memory.db",
            settings=Settings(durability="relaxed", policy="notebook"),
            clock=ManualClock(START),
            embedder=TinyEmbedder(),
            background=False,
        ) as engram,
    ):
        drafts = [
            Draft(
                content=f"tea {number}",
                scope=where,
                layer=layer,
                type=type_,
                kind=kind,
                category=category,
                occurred_at=at,
            )
            for number, (where, layer, type_, kind, category, _, at) in enumerate(stored)
        ]
        for memory, (*_, status, _at) in zip(engram.remember_many(drafts), stored, strict=True):
            if status is not Status.ACTIVE:
                engram.set_status(memory.id, status, scope=memory.scope)

        with engram._parts.store.read() as tx:
            memories = tx.memories.by_keys(list(range(1, len(stored) + 1)))
            expected = {key for key, memory in memories.items() if passes(memory, asked, scope)}
            listed = {m.id for m in tx.memories.list(scope=scope, filters=asked, limit=50, before=None)}
            searched = {one.key for one in tx.terms.newest("tea", scope=scope, filters=asked, limit=50)}
            roster, space = Roster(), tx.vectors.space(TinyEmbedder.identity)
            assert space is not None
            roster.apply(tx.vectors.changes(space, dimension=64, since=0, limit=50))
            columns = roster.columns()
            mask = roster.mask(columns, scopes=tx.scopes.visible(scope), filters=asked)
        recalled = {hit.memory.id for hit in engram.recall("tea", scope=scope, filters=asked, limit=50).hits}

        assert set(columns.keys[mask].tolist()) == expected
        assert searched == expected
        assert listed == {memories[key].id for key in expected}
        assert recalled == listed


SAME = {"k8s": "kubernetes", "zoë": "zoe", "golang": "go", "the oslo": "oslo"}
"""Other ways of writing what memories mention."""


@dataclass(frozen=True)
class Said:
    """What a memory mentions."""

    scope: Scope
    status: Status
    traits: Traits
    speaker: str | None
    session: str | None
    names: frozenset[str]


def some(*words: str, most: int = 2) -> st.SearchStrategy[frozenset[str]]:
    """A few of these words."""
    return st.frozensets(st.sampled_from(words), max_size=most)


owners = st.sampled_from([Scope(), Scope(user="a"), Scope(user="b")])
sayings = st.builds(
    Said,
    scope=owners,
    status=st.sampled_from([Status.ACTIVE, Status.ACTIVE, Status.ARCHIVED, Status.FORGOTTEN]),
    traits=st.builds(
        Traits,
        technologies=some("Kubernetes", "Go", "C", "C++").map(tuple),
        paths=some("src/a.py", "./SRC/auth/b.py", "srcs/a.py", "/etc/hosts").map(tuple),
        language=st.sampled_from([None, "Go", "C++"]),
        sentiment=st.sampled_from([None, "positive", "neutral"]),
    ),
    speaker=st.sampled_from([None, "Ann", "ANN", "Zoë"]),
    session=st.sampled_from([None, "s1", "S1"]),
    names=some("Anna", "Anna Schmidt", "Oslo"),
)
WORDS = {
    "technologies": ["k8s", "KUBERNETES", "golang", "c", "Cobol"],
    "paths": ["src", "./src/", "SRC\\Auth", "/", "b.py"],
    "languages": ["go", "C++", "c"],
    "sentiments": ["Positive", "neutral"],
    "speakers": ["ann", "Zoe", "bob"],
    "sessions": ["s1", "s2"],
    "entities": ["anna", "ANNA SCHMIDT", "the Oslo", "Nobody"],
}
parts = st.sampled_from(sorted(WORDS)).flatmap(
    lambda part: st.tuples(st.just(part), st.frozensets(st.sampled_from(WORDS[part]), min_size=1, max_size=2))
)
statuses = st.sampled_from([{Status.ACTIVE}, {Status.ACTIVE, Status.ARCHIVED}, {Status.FORGOTTEN}]).map(
    frozenset
)
# Two parts at most: with more, hardly any memory would pass, and nothing would be tested.
worded_filters = st.builds(
    lambda allowed, asked: Filters(statuses=allowed, **dict(asked)),
    statuses,
    st.lists(parts, min_size=1, max_size=2),
)


@given(said=st.lists(sayings, min_size=4, max_size=14), asked=worded_filters, scope=owners)
@settings(max_examples=100)
def test_whatever_reads_the_store_and_the_definition_agree_on_words(
    said: list[Said], asked: Filters, scope: Scope
) -> None:
    """List, both text searches, whoever asks which keys pass, and plain Python choose the same memories."""
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteStore.open(str(Path(folder) / "memory.db"), now=START, is_durable=False)
        keys = keep_all(store, said)
        expected = [key for key, one in zip(keys, said, strict=True) if mentions_all(one, asked, scope, said)]

        with store.read() as tx:
            listed = [
                memory.id for memory in tx.memories.list(scope=scope, filters=asked, limit=50, before=None)
            ]
            newest = [one.key for one in tx.terms.newest("tea", scope=scope, filters=asked, limit=50)]
            found = [one.key for one in tx.terms.search({"tea": 1.0}, scope=scope, filters=asked, limit=50)]
            passing = tx.memories.keys_passing(scope=scope, filters=asked, limit=50)
            chosen = tx.candidates.filter_keys(keys, scope=scope, filters=asked)
            ids = [memory.id for memory in tx.memories.by_keys(expected).values()]
            wrong = tx.traits.count_wrong()
        store.close()

        assert sorted(newest) == sorted(found) == passing == expected
        assert chosen == set(expected)
        assert sorted(listed) == sorted(ids)
        assert wrong == 0


def keep_all(store: SqliteStore, said: list[Said]) -> list[int]:
    """Store the memories with their words and the things that they speak of, and return their keys."""
    keys, known = [], set()
    with store.atomic() as tx:
        for one in said:
            memory = Memory(
                id=new_id(START),
                content="tea",
                created_at=START,
                updated_at=START,
                scope=one.scope,
                traits=one.traits,
                provenance=Provenance(speaker=one.speaker, session=one.session),
            )
            keys.append(tx.memories.add(memory, fingerprint=memory.id.encode()))
            tx.terms.put(keys[-1], ["tea"])
            tx.memories.replace(memory.evolve(status=one.status))
            for name in sorted(one.names):
                entity_id = f"{name} of {one.scope}"
                if entity_id not in known:
                    known.add(entity_id)
                    tx.entities.add(person(entity_id, name, one.scope))
                tx.entities.link(entity_id, memory.id, name=name, at=START)
    return keys


def person(entity_id: str, name: str, scope: Scope) -> Entity:
    """Return an entity of a scope."""
    return Entity(
        id=entity_id,
        name=name,
        type=EntityType.UNKNOWN,
        scope=scope,
        first_seen=START,
        last_seen=START,
        mentions=0,
    )


def mentions_all(one: Said, asked: Filters, scope: Scope, said: list[Said]) -> bool:
    """The filters on words in plain Python, as their documentation reads."""
    traits = one.traits
    pairs = (
        (asked.technologies, traits.technologies),
        (asked.languages, [traits.language]),
        (asked.sentiments, [traits.sentiment]),
        (asked.speakers, [one.speaker]),
        (asked.entities, findable_names(one, said)),
    )
    return (
        scope.sees(one.scope)
        and one.status in asked.statuses
        and (not asked.sessions or one.session in asked.sessions)
        and all(not wanted or not plain(wanted).isdisjoint(plain(there)) for wanted, there in pairs)
        and (not asked.paths or any(is_below(path, top) for path in traits.paths for top in asked.paths))
    )


def plain(words: object) -> set[str]:
    """Words as they are compared."""
    folded = {word.casefold() for word in words if word}  # type: ignore[attr-defined]
    return {SAME.get(word, word) for word in folded}


def is_below(path: str, top: str) -> bool:
    """Whether a path is the other, or in that folder."""
    inner, outer = (PurePosixPath(one.replace("\\", "/").casefold()) for one in (path, top))
    return inner.is_relative_to(outer)


def findable_names(one: Said, said: list[Said]) -> set[str]:
    """The names in a memory that some memory of its scope which may be found uses."""
    live = {
        name for other in said if other.scope == one.scope and other.status.is_indexed for name in other.names
    }
    return set(one.names) & live
