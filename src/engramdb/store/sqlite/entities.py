"""The tables of entities and their names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from engramdb.store.contract import Appearance
from engramdb.store.sqlite.connection import corrupt_on_error, single_value
from engramdb.store.sqlite.filters import (
    AMONG,
    INDEXED,
    IS_LIVE_NAME,
    VISIBLE,
    ScopesTable,
    name_folds,
    not_expired,
    scope_columns,
    where,
)
from engramdb.store.sqlite.rows import from_microseconds, scope_from, to_json, to_microseconds
from engramdb.text.names import fold_name
from engramdb.values import Entity, EntityType, Filters, Layer, MemoryId, Mention, Scope

if TYPE_CHECKING:
    import apsw

_SELECT = (
    "SELECT e.key, e.id, e.name, e.type, e.first_seen, e.last_seen, e.mentions, "
    "s.project, s.squad, s.agent, s.channel, s.user FROM entities e JOIN scopes s ON s.id = e.scope"
)
_LIVE = (
    "SELECT 1 FROM entity_mentions x JOIN memories m ON m.key = x.memory "
    f"WHERE x.entity = e.key AND m.status {AMONG}"
)
_NAMES = f"SELECT n.entity, n.folded, n.name FROM entity_names n WHERE n.entity {AMONG}"
_LIVE_COUNTS = (
    "SELECT x.entity, count(DISTINCT x.memory) FROM entity_mentions x JOIN memories m ON m.key = x.memory "
    f"WHERE x.entity {AMONG} AND m.status {AMONG} GROUP BY 1"
)
_PEOPLE_BY = (
    f"SELECT n.entity FROM json_each(?) w CROSS JOIN ({VISIBLE}) s CROSS JOIN entity_names n "
    "ON n.scope = s.id AND {} JOIN entities o ON o.key = n.entity AND o.type = 'person' "
    f"WHERE {IS_LIVE_NAME} LIMIT ?"
)
_GIVEN = _PEOPLE_BY.format("n.folded > w.value || ' ' AND n.folded < w.value || '!'")
_FAMILY = _PEOPLE_BY.format("n.last_word = w.value")
_APPEARANCES = (
    "SELECT DISTINCT m.key, m.layer, m.when_at FROM entity_mentions x JOIN memories m ON m.key = x.memory "
    f"JOIN entities e ON e.key = x.entity WHERE e.id {AMONG} AND "
)
_COMPANIONS = (
    "SELECT e.id, count(DISTINCT x.memory) FROM entity_mentions x JOIN entities e ON e.key = x.entity "
    f"WHERE x.memory {AMONG} AND e.id NOT {AMONG} GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ?"
)
_CANDIDATES = """
SELECT entity FROM entity_names WHERE scope = :scope AND folded IN (SELECT value FROM json_each(:exact))
UNION SELECT * FROM (
    SELECT entity FROM entity_names WHERE scope = :scope AND folded > :first || ' ' AND folded < :first || '!'
    AND (:first = :whole OR EXISTS (
        SELECT 1 FROM entity_names WHERE scope = :scope AND folded IN (:first, :last))) LIMIT :limit)
UNION SELECT * FROM (
    SELECT entity FROM entity_names WHERE scope = :scope AND last_word = :last
    AND (:last = :whole OR (
        substr(folded, 1, 1) = substr(:whole, 1, 1) AND abs(length(folded) - :length) <= 2)) LIMIT :limit)
UNION SELECT * FROM (
    SELECT entity FROM entity_names WHERE scope = :scope AND folded >= :start
    AND folded < :start || char(1114111) AND abs(length(folded) - :length) <= 2 LIMIT :limit)
UNION SELECT * FROM (
    SELECT key FROM entities WHERE scope = :scope AND type = :type ORDER BY last_seen DESC LIMIT :recent)
"""
_LINKED = (
    "SELECT e.key, e.type, m.key, EXISTS (SELECT 1 FROM entity_mentions x WHERE x.entity = e.key "
    "AND x.memory = m.key) FROM entities e JOIN memories m ON m.id = ? WHERE e.id = ?"
)
_AFTER_UNLINK = (
    f"DELETE FROM entity_names WHERE entity {AMONG} AND NOT EXISTS (SELECT 1 FROM entity_mentions x "
    "WHERE x.entity = entity_names.entity AND x.folded = entity_names.folded)",
    f"DELETE FROM entities WHERE key {AMONG} AND NOT EXISTS (SELECT 1 FROM entity_names n "
    "WHERE n.entity = entities.key)",
    "UPDATE entities SET (name, folded) = (SELECT n.name, n.folded FROM entity_names n "
    "WHERE n.entity = entities.key ORDER BY length(n.name) DESC, n.folded LIMIT 1) "
    f"WHERE key {AMONG} AND NOT EXISTS (SELECT 1 FROM entity_names n "
    "WHERE n.entity = entities.key AND n.folded = entities.folded)",
    "UPDATE entities SET mentions = (SELECT count(DISTINCT memory) FROM entity_mentions x "
    f"WHERE x.entity = entities.key) WHERE key {AMONG}",
)
_NAMES_USED = (
    "SELECT n.entity, n.folded FROM entity_names n JOIN entities e ON e.key = n.entity WHERE e.id = ?"
)
_MENTION = "entity, memory, folded, at"
_KEY_OF_MEMORY = "(SELECT key FROM memories WHERE id = ?)"
_LIVE_BY_NAME = f"SELECT n.entity FROM entity_names n WHERE n.scope IN ({VISIBLE}) AND {IS_LIVE_NAME}"
_MEANINGFUL = frozenset({EntityType.PROJECT, EntityType.SERVICE, EntityType.ORGANIZATION, EntityType.CONCEPT})
MAX_COUNTED = 2000
"""Mentions up to which those of forgotten memories are left out of the count: that takes 2 µs for each."""
MAX_NAMESAKES = 20
"""Who is looked at by a part of a name; a question for one of twenty Annas does not say which by it."""
MAX_CANDIDATES = 50
"""Per kind of match; a first name shared by fifty others identifies no one anyway."""


class EntitiesTable:
    """Entities by name and by memory."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._scopes = ScopesTable(connection)

    def add(self, entity: Entity) -> None:
        """Store a new entity under all its names."""
        columns = "id, scope, name, folded, type, first_seen, last_seen, mentions"
        row = (entity.id, self._scopes.make(entity.scope), *_entity_row(entity))
        self._connection.execute(f"INSERT INTO entities ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
        self._add_names(entity)

    def update(self, entity: Entity) -> None:
        """Store a changed entity under its id; names are added, never taken away."""
        columns = "name = ?, folded = ?, type = ?, first_seen = ?, last_seen = ?, mentions = ?"
        self._connection.execute(
            f"UPDATE entities SET {columns} WHERE id = ?", (*_entity_row(entity), entity.id)
        )
        self._add_names(entity)

    def link(self, entity_id: str, memory_id: MemoryId, *, name: str, at: datetime) -> bool:
        """
        Note that a memory calls an entity so; return whether that is the first time that it mentions
        it.
        """
        rows: list[Any] = self._connection.execute(_LINKED, (memory_id, entity_id)).fetchall()
        entity, kind, memory, is_linked = rows[0]
        row = (entity, memory, fold_name(name, EntityType(kind)), to_microseconds(at))
        self._connection.execute(
            f"INSERT OR IGNORE INTO entity_mentions ({_MENTION}) VALUES (?, ?, ?, ?)", row
        )
        if not is_linked:
            self._connection.execute("UPDATE entities SET mentions = mentions + 1 WHERE key = ?", (entity,))
        return not is_linked

    def unlink(self, memory_id: MemoryId) -> None:
        """Take a memory's mentions away, and every name and entity that no other memory mentions."""
        sql = f"DELETE FROM entity_mentions WHERE memory = {_KEY_OF_MEMORY} RETURNING entity"
        rows: list[Any] = self._connection.execute(sql, (memory_id,)).fetchall()
        touched = to_json(sorted({entity for (entity,) in rows}))
        for sql in _AFTER_UNLINK:
            self._connection.execute(sql, (touched,))

    def candidates(self, mention: Mention, *, scope: Scope) -> Sequence[Entity]:
        """Return the entities of exactly this scope that the mention may mean, found ones and hidden ones."""
        kinds = EntityType if mention.type is EntityType.UNKNOWN else (mention.type,)
        folds = {fold_name(mention.text, kind) for kind in kinds}
        whole = min(folds, key=len)
        words = whole.split()
        asked = {
            "scope": self._scopes.find(scope),
            "exact": to_json([*folds, words[0], words[-1]]),
            "whole": whole,
            "first": words[0],
            "last": words[-1],
            "start": whole[: max(2, len(whole) // 2)] if len(words) > 1 else whole[:2],
            "length": len(whole),
            "type": mention.type,
            "limit": MAX_CANDIDATES,
            "recent": MAX_CANDIDATES if mention.type in _MEANINGFUL else 0,
        }
        keys: list[Any] = self._connection.execute(_CANDIDATES, asked).fetchall()
        if not keys:
            return []
        return self._entities(f"e.key {AMONG}", [to_json([key for (key,) in keys])])

    def get(self, entity_id: str, *, scope: Scope) -> Entity | None:
        """Return an entity that this scope may see."""
        found = self._visible("e.id = ?", [entity_id], scope=scope, limit=1)
        return found[0] if found else None

    def by_name(self, name: str, *, scope: Scope) -> Sequence[Entity]:
        """Return the entities that go by this name, in any spelling."""
        return self.named(name_folds([name]), scope=scope)

    def named(
        self,
        folded: Iterable[str],
        *,
        given: Iterable[str] = (),
        family: Iterable[str] = (),
        scope: Scope,
    ) -> Sequence[Entity]:
        """
        Return the entities that go by one of these folded names, the latest mentioned first.

        Also the people with a longer name that begins with one of `given` or ends with one of `family`.
        """
        # One query for all three takes three times as long as three.
        found = self._keys(
            f"{_LIVE_BY_NAME} AND n.folded {AMONG}", [*scope_columns(scope), INDEXED, _name_set(folded)]
        )
        for sql, parts in ((_GIVEN, given), (_FAMILY, family)):
            found |= self._keys(sql, [_name_set(parts), *scope_columns(scope), INDEXED, MAX_NAMESAKES])
        if not found:
            return []
        return self._visible(f"e.key {AMONG}", [_name_set(found)], scope=scope, limit=MAX_CANDIDATES)

    def starting_with(self, text: str, *, scope: Scope, limit: int) -> Sequence[Entity]:
        """Return the entities with a name that begins so, for completion."""
        start = fold_name(text)
        condition = f"e.key IN ({_LIVE_BY_NAME} AND n.folded >= ? AND n.folded < ? || char(1114111))"
        return self._visible(
            condition, [*scope_columns(scope), INDEXED, start, start], scope=scope, limit=limit
        )

    def list(self, *, scope: Scope, kind: EntityType | None = None, limit: int) -> Sequence[Entity]:
        """Return the entities that this scope may see, the latest mentioned first."""
        wanted = to_json([kind] if kind is not None else list(EntityType))
        return self._visible(f"e.type {AMONG}", [wanted], scope=scope, limit=limit)

    def of_memory(self, memory_id: MemoryId, *, scope: Scope) -> Sequence[Entity]:
        """Return what a memory mentions."""
        condition = f"e.key IN (SELECT entity FROM entity_mentions WHERE memory = {_KEY_OF_MEMORY})"
        return self._visible(condition, [memory_id], scope=scope, limit=1000)

    def memories_of(self, entity_id: str, *, scope: Scope, filters: Filters, limit: int) -> Sequence[int]:
        """Return the keys of the memories that mention an entity, the latest stored first."""
        condition, parameters = where(scope, filters)
        # By name and newest first, as the table is sorted: stops early where thousands mention it.
        sql = (
            "SELECT x.memory FROM entity_mentions x CROSS JOIN memories m ON m.key = x.memory "
            f"WHERE x.entity = ? AND x.folded = ? AND {condition} ORDER BY x.memory DESC LIMIT ?"
        )
        called: list[Any] = self._connection.execute(_NAMES_USED, (entity_id,)).fetchall()
        found: set[int] = set()
        for name in called:
            found |= {key for (key,) in self._connection.execute(sql, (*name, *parameters, limit))}
        return sorted(found, reverse=True)[:limit]

    def appearances(
        self,
        entity_ids: Sequence[str],
        *,
        scope: Scope,
        filters: Filters,
        alive_at: datetime | None = None,
    ) -> Sequence[Appearance]:
        """Return every memory that mentions one of these, those about the latest moment first."""
        condition, parameters = not_expired(where(scope, filters), alive_at)
        sql = f"{_APPEARANCES}{condition} ORDER BY 3 DESC, 1 DESC"
        bound = (to_json(list(entity_ids)), *parameters)
        rows: list[Any] = self._connection.execute(sql, bound).fetchall()
        with corrupt_on_error("memories"):
            return [Appearance(key, Layer(layer), from_microseconds(when)) for key, layer, when in rows]

    def companions(
        self, entity_ids: Sequence[str], keys: Sequence[int], *, scope: Scope, limit: int
    ) -> Sequence[tuple[Entity, int]]:
        """Return who else these memories mention, and how many of them do, the most frequent first."""
        bound = (to_json(list(keys)), to_json(list(entity_ids)), limit)
        rows: list[Any] = self._connection.execute(_COMPANIONS, bound).fetchall()
        counts: dict[str, int] = dict(rows)
        found = self._visible(f"e.id {AMONG}", [to_json(list(counts))], scope=scope, limit=limit)
        return sorted(((one, counts[one.id]) for one in found), key=lambda pair: (-pair[1], pair[0].id))

    def is_empty(self) -> bool:
        """Return whether nothing was ever named, so that nothing need be looked up."""
        return self._connection.execute("SELECT 1 FROM entities LIMIT 1").fetchone() is None

    def count(self) -> int:
        """Return how many entities are stored."""
        total: int = single_value(self._connection, "SELECT count(*) FROM entities")
        return total

    def _visible(
        self, condition: str, parameters: Iterable[Any], *, scope: Scope, limit: int
    ) -> Sequence[Entity]:
        """Return entities with a findable memory, showing only the names that such memories use."""
        seen = f"e.scope IN ({VISIBLE}) AND EXISTS ({_LIVE}) ORDER BY e.last_seen DESC, e.key DESC LIMIT ?"
        bound = [*parameters, *scope_columns(scope), INDEXED, limit]
        return self._entities(f"{condition} AND {seen}", bound, live=True)

    def _entities(self, condition: str, parameters: Sequence[Any], *, live: bool = False) -> Sequence[Entity]:
        rows: list[Any] = self._connection.execute(f"{_SELECT} WHERE {condition}", parameters).fetchall()
        keys = to_json([row[0] for row in rows])
        sql, bound = (f"{_NAMES} AND {IS_LIVE_NAME}", (keys, INDEXED)) if live else (_NAMES, (keys,))
        called: dict[int, dict[str, str]] = {}
        named: list[Any] = self._connection.execute(f"{sql} ORDER BY 1, 2", bound).fetchall()
        for entity, folded, name in named:
            called.setdefault(entity, {})[folded] = name
        counts = self._live_counts([row[0] for row in rows if row[6] <= MAX_COUNTED]) if live else {}
        with corrupt_on_error("entities"):
            return [_entity(row, called.get(row[0], {}), counts.get(row[0], row[6])) for row in rows]

    def _keys(self, sql: str, bound: Sequence[Any]) -> set[int]:
        return {key for (key,) in self._connection.execute(sql, bound)}

    def _live_counts(self, keys: Sequence[int]) -> dict[int, int]:
        bound = (to_json(list(keys)), INDEXED)
        rows: list[Any] = self._connection.execute(_LIVE_COUNTS, bound).fetchall()
        return dict(rows)

    def _add_names(self, entity: Entity) -> None:
        """Store the names that are new, under the number and scope of the entity."""
        own: list[Any] = self._connection.execute(
            "SELECT scope, key FROM entities WHERE id = ?", (entity.id,)
        ).fetchall()
        folds = {fold_name(name, entity.type): name for name in reversed((entity.name, *entity.aliases))}
        rows = [(*own[0], folded, name, folded.split()[-1]) for folded, name in folds.items()]
        columns = "(scope, entity, folded, name, last_word)"
        sql = f"INSERT OR IGNORE INTO entity_names {columns} VALUES (?, ?, ?, ?, ?)"
        self._connection.executemany(sql, rows)


def _name_set(members: Iterable[str] | Iterable[int]) -> str:
    return to_json(sorted(set(members)))


def _entity_row(entity: Entity) -> tuple[Any, ...]:
    moments = (to_microseconds(entity.first_seen), to_microseconds(entity.last_seen))
    return (entity.name, fold_name(entity.name, entity.type), entity.type, *moments, entity.mentions)


def _entity(row: Sequence[Any], called: dict[str, str], mentions: int) -> Entity:
    """Return the entity by the names given; its own name too is shown only if it is among them."""
    _, entity_id, name, kind, first_seen, last_seen, _ = row[:7]
    own = fold_name(name, EntityType(kind))
    shown = name if own in called or not called else max(called.values(), key=len)
    return Entity(
        id=entity_id,
        name=shown,
        type=EntityType(kind),
        scope=scope_from(row[7:12]),
        aliases=tuple(dict.fromkeys(one for one in called.values() if one != shown)),
        first_seen=from_microseconds(first_seen),
        last_seen=from_microseconds(last_seen),
        mentions=mentions,
    )
