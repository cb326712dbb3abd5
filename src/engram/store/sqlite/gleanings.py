"""
What a dream reads, in SQL: the memories of exactly one scope, and what earlier dreams made of them.

Read-only, over the tables `memories`, `edges`, `history` and those of entities. Pages follow the index on
scope and status, so a page costs what it holds, however large the store is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from engram.store.contract.gleanings import Made, Mentions, Named, ToolRun
from engram.store.contract.shapes import EdgeColumns
from engram.store.sqlite.failures import readable
from engram.store.sqlite.filters import AMONG
from engram.store.sqlite.rows import SELECTED, from_json, from_row, to_json
from engram.store.sqlite.scopes import ScopesTable
from engram.store.sqlite.times import from_microseconds, to_microseconds
from engram.values import EdgeType, EntityType, Scope, Status

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    import apsw

    from engram.store.contract.gleanings import Sift
    from engram.values import Memory, MemoryId

_KEYED = f"SELECT {SELECTED}, m.key FROM memories m JOIN scopes s ON s.id = m.scope"
_SCOPES = "SELECT DISTINCT scope FROM memories WHERE status = 'active' ORDER BY 1"
_CHANGED = "SELECT 1 FROM memories WHERE scope = ? AND change > ? LIMIT 1"
_MADE = (
    f"{_KEYED} WHERE m.scope = ?2 AND m.status <> 'erased' AND m.extractor >= ?1 "
    "AND m.extractor < ?1 || char(1114111) ORDER BY m.key"
)
_SOURCE_TYPES = to_json([EdgeType.DERIVED_FROM, EdgeType.INFERRED_FROM])
_SOURCES = (
    "SELECT e.source, m.id, m.status FROM edges e JOIN memories m ON m.key = e.target "
    f"WHERE e.source {AMONG} AND e.type {AMONG}"
)
_STATUSES = f"SELECT id, status FROM memories WHERE id {AMONG}"
_RUNS = (
    "SELECT m.key, h.at, h.changes FROM memories m JOIN history h ON h.memory_id = m.id "
    "WHERE m.scope = ? AND m.status = 'active' AND m.extractor = 'tool-1' AND h.action = 'count' "
    "ORDER BY h.at, h.key"
)
_LINKS = (
    "SELECT e.source, e.target, e.type, e.weight FROM edges e "
    "CROSS JOIN memories a ON a.key = e.source CROSS JOIN memories b ON b.key = e.target "
    f"WHERE e.type {AMONG} AND a.scope = b.scope AND a.status = 'active' AND b.status = 'active' "
    "ORDER BY e.source, e.target, e.type"
)
_MENTIONS = (
    "SELECT DISTINCT x.memory, x.entity, m.change FROM entities e "
    "JOIN entity_mentions x ON x.entity = e.key JOIN memories m ON m.key = x.memory "
    "WHERE e.scope = ?1 AND m.scope = ?1 AND m.status = 'active' "
    "AND coalesce(m.extractor, '') NOT LIKE 'dream.%' ORDER BY x.memory, x.entity"
)
_LIVE = (
    "EXISTS (SELECT 1 FROM entity_mentions x JOIN memories m ON m.key = x.memory WHERE x.entity = {n}.entity "
    "AND x.folded = {n}.folded AND m.status = 'active')"
)
_SHARED = (
    "SELECT a.folded, p.id, q.id FROM entity_names a "
    "JOIN entity_names b ON b.scope = a.scope AND b.folded = a.folded AND b.entity > a.entity "
    "JOIN entities p ON p.key = a.entity JOIN entities q ON q.key = b.entity "
    f"WHERE a.scope = ? AND {_LIVE.format(n='a')} AND {_LIVE.format(n='b')} ORDER BY a.folded, p.key, q.key"
)
_NAMES = (
    "SELECT e.id, e.type, n.name, n.folded FROM entity_names n JOIN entities e ON e.key = n.entity "
    "WHERE n.scope = ?1 AND NOT EXISTS (SELECT 1 FROM entity_names o WHERE o.scope = n.scope "
    f"AND o.folded = n.folded AND o.entity <> n.entity) AND {_LIVE.format(n='n')} "
    "AND (?2 IS NULL OR NOT EXISTS (SELECT 1 FROM entity_mentions y JOIN memories d ON d.key = y.memory "
    "WHERE y.entity = n.entity AND y.folded = n.folded AND d.created_at < ?2)) ORDER BY n.folded, n.entity"
)
_UNLINKED = (
    "SELECT t.rowid FROM terms t CROSS JOIN memories m ON m.key = t.rowid WHERE terms MATCH ?1 "
    "AND t.rowid > ?2 AND m.scope = ?3 AND m.status = 'active' "
    "AND coalesce(m.extractor, '') NOT LIKE 'dream.%' "
    "AND NOT EXISTS (SELECT 1 FROM entity_mentions x JOIN entities e ON e.key = x.entity "
    "WHERE e.id = ?4 AND x.memory = m.key) ORDER BY t.rowid LIMIT ?5"
)


class GleaningsTable:
    """Memories of one scope after the other, for the dream."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._scopes = ScopesTable(connection)

    def scopes(self) -> list[Scope]:
        """Return the scopes that hold an active memory, in the order in which they were first used."""
        rows: list[Any] = self._connection.execute(_SCOPES).fetchall()
        return [self._scopes.get(number) for (number,) in rows]

    def is_changed(self, scope: Scope, *, since: int) -> bool:
        """Say whether any memory of a scope has a later change than this."""
        bound = (self._scopes.find(scope), since)
        return self._connection.execute(_CHANGED, bound).fetchone() is not None

    def page(self, *, scope: Scope, sift: Sift, after_key: int, limit: int) -> dict[int, Memory]:
        """Return the next active memories of a scope, by key."""
        condition, bound = _sifted(sift)
        sql = f"{_KEYED} WHERE m.scope = ? AND m.status = 'active' AND m.key > ?{condition}"
        rows = self._connection.execute(
            f"{sql} ORDER BY m.key LIMIT ?", (self._scopes.find(scope), after_key, *bound, limit)
        )
        return {row[-1]: from_row(row) for row in rows}

    def made(self, maker: str, *, scope: Scope) -> list[Made]:
        """Return what makers whose name begins so have stated, in any status but erased, oldest first."""
        rows = self._connection.execute(_MADE, (maker, self._scopes.find(scope)))
        found = {row[-1]: from_row(row) for row in rows}
        sources = self._sources(found)
        return [Made(key, memory, sources[key]) for key, memory in found.items()]

    def _sources(self, made: dict[int, Memory]) -> dict[int, dict[MemoryId, Status]]:
        """Return how the sources of each stand, by its links and by the evidence that it names."""
        found: dict[int, dict[MemoryId, Status]] = {key: {} for key in made}
        linked: list[Any] = self._connection.execute(
            _SOURCES, (to_json(list(made)), _SOURCE_TYPES)
        ).fetchall()
        named = sorted({one for memory in made.values() for one in memory.provenance.episodes})
        stand: dict[str, str] = dict(self._pairs(_STATUSES, (to_json(named),)))
        with readable("memories"):
            for key, memory_id, status in linked:
                found[key][memory_id] = Status(status)
            for key, memory in made.items():
                for one in memory.provenance.episodes:
                    if one in stand:
                        found[key][one] = Status(stand[one])
        return found

    def runs(self, *, scope: Scope) -> list[ToolRun]:
        """Return every run of a tool that an active memory counts, in the order of time."""
        rows: list[Any] = self._connection.execute(_RUNS, (self._scopes.find(scope),)).fetchall()
        with readable("history"):
            return [
                ToolRun(key, from_microseconds(at), "successes" in from_json(text)) for key, at, text in rows
            ]

    def links(self, types: Sequence[EdgeType]) -> EdgeColumns:
        """Return the links of these types between active memories of one and the same scope, whichever."""
        rows: list[Any] = self._connection.execute(_LINKS, (to_json(list(types)),)).fetchall()
        sources, targets, kinds, weights = list(zip(*rows, strict=True)) or [()] * 4
        return EdgeColumns(
            sources=np.array(sources, np.int64),
            targets=np.array(targets, np.int64),
            types=list(kinds),
            weights=np.array(weights, np.float32),
        )

    def mentions(self, *, scope: Scope) -> Mentions:
        """Return which active statements of a scope, none of a dream's, speak of which of its entities."""
        rows: list[Any] = self._connection.execute(_MENTIONS, (self._scopes.find(scope),)).fetchall()
        memories, entities, changed = list(zip(*rows, strict=True)) or [()] * 3
        return Mentions(
            np.array(memories, np.int64), np.array(entities, np.int64), np.array(changed, np.int64)
        )

    def entity_ids(self, keys: Sequence[int]) -> dict[int, str]:
        """Return the ids of entities by their keys."""
        return dict(self._pairs(f"SELECT key, id FROM entities WHERE key {AMONG}", (to_json(list(keys)),)))

    def shared_names(self, *, scope: Scope) -> list[tuple[str, str, str]]:
        """Return a folded name and the ids of two entities of a scope that both go by it."""
        rows: list[Any] = self._connection.execute(_SHARED, (self._scopes.find(scope),)).fetchall()
        return [(folded, one, other) for folded, one, other in rows]

    def names(self, *, scope: Scope, since: datetime | None) -> list[Named]:
        """Return the names of single entities, all or those that no memory had used before a moment."""
        bound = (self._scopes.find(scope), None if since is None else to_microseconds(since))
        rows: list[Any] = self._connection.execute(_NAMES, bound).fetchall()
        with readable("entities"):
            return [Named(one, EntityType(kind), name, folded) for one, kind, name, folded in rows]

    def unlinked(
        self, name: Named, terms: Sequence[str], *, scope: Scope, after_key: int, limit: int
    ) -> dict[int, Memory]:
        """Return the next active statements that hold these terms and are not linked to the entity."""
        wanted = " ".join('"' + term.replace('"', '""') + '"' for term in terms)
        bound = (wanted, after_key, self._scopes.find(scope), name.entity_id, limit)
        keys = [key for (key,) in self._connection.execute(_UNLINKED, bound)]
        rows = self._connection.execute(f"{_KEYED} WHERE m.key {AMONG} ORDER BY m.key", (to_json(keys),))
        return {row[-1]: from_row(row) for row in rows}

    def _pairs(self, sql: str, bound: Sequence[Any]) -> list[Any]:
        return self._connection.execute(sql, bound).fetchall()


def _sifted(sift: Sift) -> tuple[str, list[Any]]:
    """Return the further conditions of a page and their parameters."""
    sets = {"layer": sift.layers, "category": sift.categories, "extractor": sift.extractors}
    chosen = {column: allowed for column, allowed in sets.items() if allowed}
    condition = "".join(f" AND m.{column} {AMONG}" for column in chosen)
    bound: list[Any] = [to_json(sorted(allowed)) for allowed in chosen.values()]
    if sift.related:
        condition += " AND m.subject IS NOT NULL AND m.predicate IS NOT NULL AND m.object IS NOT NULL"
    if sift.changed_since:
        condition += " AND m.change > ?"
        bound.append(sift.changed_since)
    return condition, bound
