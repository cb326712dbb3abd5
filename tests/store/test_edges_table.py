"""Links are a feed that another process can follow: every change once, in order, removals included."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING

import apsw
import pytest

from engramdb.store.sqlite.edges import MAX_REMOVAL_AGE_CHANGES
from engramdb.store.sqlite.migrations import (
    m001_first_layout,
    m002_entities_and_capture_state,
    m004_graph_feed,
)
from engramdb.store.sqlite.store import SqliteStore
from engramdb.values import GLOBAL, Edge, EdgeType, Entity, EntityType, Memory, new_id

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from engramdb.store.contract import EdgeColumns

NOW = datetime(2026, 1, 1, tzinfo=UTC)
NEXT, RELATED = EdgeType.NEXT, EdgeType.RELATED_TO


@pytest.fixture
def store(store_path: Path) -> Iterator[SqliteStore]:
    """An empty store."""
    opened = SqliteStore.open(str(store_path), now=NOW, is_durable=False)
    yield opened
    opened.close()


def keep(store: SqliteStore, count: int) -> list[Memory]:
    """Store so many memories, whose keys are 1, 2, 3 and so on."""
    memories = [
        Memory(id=new_id(NOW), content=f"Statement {number}.", created_at=NOW, updated_at=NOW)
        for number in range(count)
    ]
    with store.atomic() as tx:
        for memory in memories:
            tx.memories.add(memory, fingerprint=memory.id.encode())
    return memories


def link(store: SqliteStore, a: Memory, b: Memory, *, kind: EdgeType = RELATED, weight: float = 0.5) -> None:
    """Link two memories."""
    with store.atomic() as tx:
        tx.edges.add(Edge(source=a.id, target=b.id, type=kind, weight=weight, created_at=NOW))


def unlink(store: SqliteStore, a: Memory, b: Memory, *, kind: EdgeType = RELATED) -> None:
    """Take a link away."""
    with store.atomic() as tx:
        tx.edges.remove(a.id, b.id, kind)


def rows(edges: EdgeColumns) -> list[tuple[int, int, str, float]]:
    """The links as rows."""
    columns = edges.sources.tolist(), edges.targets.tolist(), edges.types, edges.weights.tolist()
    return list(zip(*columns, strict=True))


def feed(store: SqliteStore, *, since: int = 0) -> list[tuple[int, int, str, float]]:
    """What a reader learns who has followed the feed up to here."""
    with store.read() as tx:
        cursor, edges = tx.edges.changes(since=since, limit=1000)
        assert cursor == tx.edges.latest_change()
    return rows(edges)


def pass_time(path: Path, changes: int) -> None:
    """Let so many changes of other links go by."""
    connection = apsw.Connection(str(path))
    connection.execute("UPDATE counters SET value = value + ? WHERE name = 'edge_change'", (changes,))
    connection.close()


def test_a_link_stands_in_the_feed_at_its_latest_change(store: SqliteStore) -> None:
    """A new weight moves a link to the end; whoever reads from the start meets it once."""
    a, b, c = keep(store, 3)
    link(store, a, b)
    link(store, b, c)

    link(store, a, b, weight=0.75)

    assert feed(store) == [(2, 3, "related_to", 0.5), (1, 2, "related_to", 0.75)]
    assert feed(store, since=2) == [(1, 2, "related_to", 0.75)]
    assert feed(store, since=3) == []


def test_a_link_that_was_taken_away_weighs_nothing_in_the_feed(store: SqliteStore) -> None:
    """A reader that knows the link learns that it is gone; another type between the same ends stays."""
    a, b = keep(store, 2)
    link(store, a, b)
    link(store, a, b, kind=NEXT)

    unlink(store, a, b)

    assert feed(store, since=2) == [(1, 2, "related_to", 0.0)]
    with store.read() as tx:
        assert [edge.type for edge in tx.edges.of(a.id)] == [NEXT]


def test_a_link_that_comes_back_comes_after_its_removal(store: SqliteStore) -> None:
    """The feed is in the order of what happened, so the last word on a link is the right one."""
    a, b = keep(store, 2)
    link(store, a, b)
    unlink(store, a, b)

    link(store, a, b, weight=0.25)

    assert feed(store)[-1] == (1, 2, "related_to", 0.25)


def test_taking_away_what_is_not_there_changes_nothing(store: SqliteStore) -> None:
    """The feed does not move, also where a memory of that id was never stored."""
    a, b = keep(store, 2)

    unlink(store, a, b)
    with store.atomic() as tx:
        tx.edges.remove(a.id, "nobody", RELATED)

    assert feed(store) == []
    with store.read() as tx:
        assert tx.edges.latest_change() == 0


def test_a_write_that_fails_leaves_nothing_in_the_feed(store: SqliteStore) -> None:
    """Readers never learn of a link that was taken back with its write."""
    a, b = keep(store, 2)

    with pytest.raises(ZeroDivisionError), store.atomic() as tx:  # noqa: PT012 - the write must fail after it
        tx.edges.add(Edge(source=a.id, target=b.id, type=NEXT, weight=1, created_at=NOW))
        raise ZeroDivisionError

    assert feed(store) == []


def test_the_feed_can_be_read_in_pages(store: SqliteStore) -> None:
    """Pages follow one another without a gap or an overlap, removals among them."""
    memories = keep(store, 6)
    for a, b in pairwise(memories):
        link(store, a, b)
    unlink(store, memories[1], memories[2])
    whole = feed(store)
    cursor, pages = 0, []

    with store.read() as tx:
        while cursor < tx.edges.latest_change():
            cursor, edges = tx.edges.changes(since=cursor, limit=2)
            pages.append(rows(edges))

    assert [len(page) for page in pages] == [2, 2, 1]
    assert [row for page in pages for row in page] == whole


def test_removals_are_dropped_after_a_while_and_late_readers_can_tell(
    store: SqliteStore, store_path: Path
) -> None:
    """The record of removals is bounded; it says up to where it can no longer be followed."""
    a, b, c = keep(store, 3)
    link(store, a, b)
    link(store, b, c)
    unlink(store, a, b)
    with store.read() as tx:
        before = tx.edges.pruned_change()
    pass_time(store_path, MAX_REMOVAL_AGE_CHANGES)

    unlink(store, b, c)

    with store.read() as tx:
        after = tx.edges.pruned_change()
        _, left = tx.edges.changes(since=0, limit=10)
    assert (before, after) == (0, 3)
    assert rows(left) == [(2, 3, "related_to", 0.0)]


def test_links_are_found_by_either_end(store: SqliteStore) -> None:
    """What leaves or reaches any of some memories is told once, by keys."""
    a, b, c, d = keep(store, 4)
    link(store, a, b)
    link(store, c, a)
    link(store, c, d)

    with store.read() as tx:
        of_one = tx.edges.touching([1])
        of_both_ends = tx.edges.touching([1, 2])
        of_none = tx.edges.touching([])

    assert sorted(rows(of_one)) == [(1, 2, "related_to", 0.5), (3, 1, "related_to", 0.5)]
    assert sorted(rows(of_both_ends)) == sorted(rows(of_one))
    assert rows(of_none) == []


def mention(store: SqliteStore, name: str, *memories: Memory, also: str | None = None) -> None:
    """Let memories speak of a new entity, by one name or two."""
    entity = Entity(
        id=new_id(NOW),
        name=name,
        type=EntityType.PERSON,
        scope=GLOBAL,
        first_seen=NOW,
        last_seen=NOW,
        mentions=0,
        aliases=(also,) if also else (),
    )
    with store.atomic() as tx:
        tx.entities.add(entity)
        for memory in memories:
            for called in (name, also) if also else (name,):
                tx.entities.link(entity.id, memory.id, name=called, at=NOW)


def test_memories_share_what_they_speak_of(store: SqliteStore) -> None:
    """Who speaks of the same is told once for each entity, the rarest first, however it is called."""
    a, b, c, d = keep(store, 4)
    mention(store, "Maria", a, b, c)
    mention(store, "Anna Schmidt", a, d, also="Anna")

    with store.read() as tx:
        shared = tx.edges.sharing_entities({1: 10}, limit=10)

    assert shared.origins.tolist() == [1, 1, 1]
    assert shared.others.tolist() == [4, 2, 3]
    assert shared.mentions.tolist() == [2, 3, 3]


def test_what_too_many_speak_of_is_left_out(store: SqliteStore) -> None:
    """Each memory says how well known an entity may be to count, and the rarest are told first."""
    a, b, c = keep(store, 3)
    mention(store, "Maria", a, b, c)
    mention(store, "Anna", b, c)

    with store.read() as tx:
        shared = tx.edges.sharing_entities({1: 2, 2: 3}, limit=10)
        first = tx.edges.sharing_entities({1: 2, 2: 3}, limit=1)

    assert list(zip(shared.origins.tolist(), shared.others.tolist(), strict=True)) == [(2, 3), (2, 1), (2, 3)]
    assert (first.origins.tolist(), first.mentions.tolist()) == ([2], [2])


def test_links_of_an_old_file_keep_their_ends_and_are_numbered_in_order() -> None:
    """A file from before the feed loses no link, and its feed begins with all of them, oldest first."""
    connection = apsw.Connection(":memory:")
    connection.pragma("foreign_keys", "on")
    m001_first_layout.up(connection)
    m002_entities_and_capture_state.up(connection)
    connection.execute("INSERT INTO scopes VALUES (1, '', '', '', '', '')")
    for key, memory_id in ((7, "seven"), (9, "nine")):
        connection.execute(OLD_MEMORY, {"key": key, "id": memory_id})
    old = [("nine", "seven", "supersedes", 1.0, 200), ("seven", "nine", "next", 0.5, 100)]
    connection.executemany("INSERT INTO edges VALUES (?, ?, ?, ?, ?)", old)

    m004_graph_feed.up(connection)

    kept = connection.execute("SELECT * FROM edges ORDER BY change").fetchall()
    counters = connection.execute("SELECT name, value FROM counters WHERE name LIKE 'edge%'").fetchall()
    assert kept == [(1, 7, 9, "next", 0.5, 100), (2, 9, 7, "supersedes", 1.0, 200)]
    assert counters == [("edge_change", 2), ("edge_pruned", 0)]
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    connection.close()


OLD_MEMORY = """
INSERT INTO memories (
    key, id, change, fingerprint, scope, status, layer, type, category, kind, content, source, turns,
    episodes, created_at, updated_at, confidence, importance, stability, strength, reinforcements, valence,
    intensity, arousal, access_count, access_recent, access_sessions, pinned, version, security, detail,
    traits
) VALUES (
    :key, :id, :key, x'00', 1, 'archived', 'episodic', 'fact', 'general', 'note', 'Tea.', 'human', '[]', '[]',
    1, 1, 0.9, 0.5, 1.0, 1.0, 0, 0.0, 0.0, 0.0, 0, '[]', 0, 0, 1, 'cleartext', '{}', '{}'
)
"""


def test_a_link_that_is_drawn_again_keeps_its_first_day(store: SqliteStore) -> None:
    """Its weight is the new one; since when it is there is asked by whoever looks at the past."""
    one, other = keep(store, 2)
    later = NOW + timedelta(days=9)
    with store.atomic() as tx:
        tx.edges.add(Edge(source=one.id, target=other.id, type=RELATED, weight=0.4, created_at=NOW))
    with store.atomic() as tx:
        tx.edges.add(Edge(source=one.id, target=other.id, type=RELATED, weight=0.9, created_at=later))

    with store.read() as tx:
        (edge,) = tx.edges.of(one.id)
    assert (edge.weight, edge.created_at) == (0.9, NOW)
