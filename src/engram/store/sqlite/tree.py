"""
The tables `tree_nodes` and `tree_members`: summaries of clusters, domains and whole scopes.

Written by the dream's steps `tree` and `confidence`; read by the context room and by `engram.confidence`. All
of it is derived. Triggers blank what speaks of a memory that is forgotten or no longer believed, so a summary
never says what its members do not say any more.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np

from engram.store.contract.insight import Naming, Node, Reading, Weight
from engram.store.sqlite.failures import readable
from engram.store.sqlite.filters import AMONG
from engram.store.sqlite.rows import scope_from, to_json
from engram.store.sqlite.scopes import VISIBLE, ScopesTable, names
from engram.store.sqlite.times import from_microseconds, to_microseconds
from engram.values import Breadth, EntityType, Source

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import apsw

    from engram.values import MemoryId, Scope

_COLUMNS = (
    *("id", "level", "parent", "title", "summary", "maker", "members", "grain", "is_whole", "space"),
    *("centroid", "certainty", "doubted", "latest_at", "built_at"),
)
_SELECT = (
    f"SELECT {', '.join(f'n.{name}' for name in _COLUMNS)}, s.project, s.squad, s.agent, s.channel, s.user "
    "FROM tree_nodes n JOIN scopes s ON s.id = n.scope"
)
_SET = ", ".join(f"{name} = excluded.{name}" for name in _COLUMNS[1:])
_PUT = (
    f"INSERT INTO tree_nodes (scope, {', '.join(_COLUMNS)}) "
    f"VALUES ({', '.join('?' * (len(_COLUMNS) + 1))}) ON CONFLICT (id) DO UPDATE SET {_SET}"
)
_KNOWN = f"SELECT {', '.join(_COLUMNS[:-1])} FROM tree_nodes WHERE id = ?"
_MEMBERS = (
    "SELECT t.node, t.memory, t.quoted FROM tree_members t JOIN tree_nodes n ON n.id = t.node "
    "WHERE n.scope = ? ORDER BY t.memory"
)
_IS_USABLE = "m.status IN ('active', 'challenged') AND instr(m.flags, '\"injection\"') = 0"
_NAMINGS = (
    "SELECT DISTINCT x.memory, e.id, e.name, e.type, e.key FROM json_each(?) k "
    "CROSS JOIN entity_mentions x ON x.memory = k.value JOIN entities e ON e.key = x.entity "
    "JOIN memories m ON m.key = x.memory AND m.scope = e.scope ORDER BY x.memory, e.key"
)
_TRUST = "CASE m.source " + " ".join(f"WHEN '{one}' THEN {one.trust}" for one in Source) + " END"
_WEIGHTS = (
    f"SELECT m.key, m.importance, m.confidence * {_TRUST}, m.status = 'active' "
    f"AND m.security <> 'confidential' FROM memories m WHERE m.key {AMONG} AND {_IS_USABLE}"
)
_UNASSIGN = f"DELETE FROM tree_members WHERE node = ? AND memory NOT {AMONG}"
_ASSIGN = (
    "INSERT INTO tree_members (memory, node, quoted) VALUES (?1, ?2, ?3) ON CONFLICT (memory) DO UPDATE "
    "SET node = ?2, quoted = max(?3, 3 * (quoted = 3)) WHERE node <> ?2 OR quoted NOT IN (?3, 3)"
)
_QUOTE = (
    "UPDATE tree_members SET quoted = CASE WHEN memory IN (SELECT value FROM json_each(?1)) "
    "THEN 3 ELSE 2 END WHERE (quoted = 3) <> (memory IN (SELECT value FROM json_each(?1))) "
    "AND node IN (SELECT id FROM tree_nodes WHERE scope = ?2)"
)
_HOMES = (
    "SELECT m.id, c.parent FROM memories m JOIN tree_members t ON t.memory = m.key "
    f"JOIN tree_nodes c ON c.id = t.node WHERE m.id {AMONG} AND c.parent IS NOT NULL"
)
_LATEST = "max(m.created_at, coalesce(m.confirmed_at, 0), coalesce(m.access_last_at, 0))"
_IN_DOUBT = (
    "m.status = 'challenged' OR m.confidence < ? OR EXISTS (SELECT 1 FROM gap_memories g "
    "JOIN gaps o ON o.id = g.gap WHERE g.memory = m.key AND o.closed_at IS NULL "
    "AND o.kind <> 'missing_field')"
)
_READINGS = (
    f"SELECT t.node, count(*), avg(m.confidence * {_TRUST}), sum({_IN_DOUBT}), max({_LATEST}) "
    "FROM tree_members t JOIN tree_nodes n ON n.id = t.node JOIN memories m ON m.key = t.memory "
    "WHERE n.scope = ? GROUP BY t.node"
)
_SCOPES = (
    "SELECT s.project, s.squad, s.agent, s.channel, s.user FROM scopes s WHERE EXISTS "
    "(SELECT 1 FROM memories m WHERE m.scope = s.id AND m.status IN ('active', 'challenged')) OR EXISTS "
    "(SELECT 1 FROM tree_nodes n WHERE n.scope = s.id) ORDER BY s.id"
)
HARDLY_BELIEVED = 0.4
"""Below this confidence a statement is speculative, and its domain less certain for it."""
_BREADTHS = {breadth.level: breadth for breadth in Breadth}


class TreeTable:
    """Nodes by scope and level."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._scopes = ScopesTable(connection)

    def nodes(self, scope: Scope, breadth: Breadth | None = None) -> Sequence[Node]:
        """Return the nodes of exactly this scope, in the order of their ids."""
        levels = [one.level for one in Breadth] if breadth is None else [breadth.level]
        condition = f"n.scope = ? AND n.level {AMONG} ORDER BY n.id"
        return self._nodes(condition, [self._scopes.find(scope), to_json(levels)])

    def visible(self, scope: Scope, breadth: Breadth) -> Sequence[Node]:
        """Return the nodes of one breadth that a reader in this scope may see."""
        condition = f"n.scope IN ({VISIBLE}) AND n.level = ? ORDER BY n.id"
        return self._nodes(condition, [*names(scope), breadth.level])

    def get(self, node_id: str) -> Node | None:
        """Return a node as it is now."""
        found = self._nodes("n.id = ?", [node_id])
        return found[0] if found else None

    def put(self, node: Node) -> bool:
        """Store a node in place of its earlier state, and say whether anything but the moment differs."""
        row = _row(node)
        known: Any = self._connection.execute(_KNOWN, (node.id,)).fetchone()
        if known == row[:-1]:
            return False
        self._connection.execute(_PUT, (self._scopes.make(node.scope), *row))
        return True

    def assign(self, node_id: str, quoted: Mapping[int, int]) -> bool:
        """
        Make these memories the members of a cluster, and say whether any was not.

        The number is the highest level that quotes each.
        """
        before = self._connection.total_changes()
        self._connection.execute(_UNASSIGN, (node_id, to_json(list(quoted))))
        self._connection.executemany(_ASSIGN, [(key, node_id, level) for key, level in quoted.items()])
        return self._connection.total_changes() > before

    def quote(self, scope: Scope, keys: Sequence[int]) -> None:
        """Note that the summary of exactly this scope quotes these members, and no others."""
        bound = (to_json(list(keys)), self._scopes.find(scope))
        self._connection.execute(_QUOTE, bound)

    def drop(self, node_ids: Sequence[str]) -> int:
        """Drop these nodes, and return how many there were."""
        self._connection.execute(f"DELETE FROM tree_nodes WHERE id {AMONG}", (to_json(list(node_ids)),))
        return self._connection.changes()

    def keep(self, scope: Scope, node_ids: Sequence[str]) -> int:
        """Drop every node of exactly this scope but these, and return how many that were."""
        sql = f"DELETE FROM tree_nodes WHERE scope = ? AND id NOT {AMONG}"
        self._connection.execute(sql, (self._scopes.find(scope), to_json(list(node_ids))))
        return self._connection.changes()

    def members(self, scope: Scope) -> dict[str, dict[int, int]]:
        """Return the members of every cluster of exactly this scope, and the highest level quoting each."""
        found: defaultdict[str, dict[int, int]] = defaultdict(dict)
        for node, key, level in self._connection.execute(_MEMBERS, (self._scopes.find(scope),)):
            found[node][key] = level
        return dict(found)

    def clusters_of(self, keys: Sequence[int]) -> dict[int, str]:
        """Return in which cluster each of these memories is."""
        sql = f"SELECT memory, node FROM tree_members WHERE memory {AMONG}"
        rows: list[Any] = self._connection.execute(sql, (to_json(list(keys)),)).fetchall()
        return dict(rows)

    def domains_of(self, memory_ids: Sequence[MemoryId]) -> dict[MemoryId, Node]:
        """Return in which domain each of these memories is, those that are in any."""
        homes: list[Any] = self._connection.execute(_HOMES, (to_json(list(memory_ids)),)).fetchall()
        found = self._nodes(f"n.id {AMONG}", [to_json(sorted({home for _, home in homes}))])
        nodes = {node.id: node for node in found}
        return {memory: nodes[home] for memory, home in homes if home in nodes}

    def usable(self, scope: Scope) -> Sequence[int]:
        """Return the keys of the memories of exactly this scope that belong into its tree, in order."""
        sql = f"SELECT m.key FROM memories m WHERE m.scope = ? AND {_IS_USABLE} ORDER BY m.key"
        rows: list[Any] = self._connection.execute(sql, (self._scopes.find(scope),)).fetchall()
        return [key for (key,) in rows]

    def weights(self, keys: Sequence[int]) -> dict[int, Weight]:
        """Return how much each of these memories matters, those that still belong into a tree."""
        rows: list[Any] = self._connection.execute(_WEIGHTS, (to_json(list(keys)),)).fetchall()
        return {
            key: Weight(importance, certainty, bool(is_quotable))
            for key, importance, certainty, is_quotable in rows
        }

    def namings(self, keys: Sequence[int]) -> Sequence[Naming]:
        """Return which of these memories name which entities of their own scope."""
        rows: list[Any] = self._connection.execute(_NAMINGS, (to_json(list(keys)),)).fetchall()
        with readable("entities"):
            return [Naming(key, entity, name, EntityType(kind)) for key, entity, name, kind, _ in rows]

    def readings(self, scope: Scope) -> dict[str, Reading]:
        """Return what the members of every cluster of exactly this scope amount to now."""
        bound = (HARDLY_BELIEVED, self._scopes.find(scope))
        rows: list[Any] = self._connection.execute(_READINGS, bound).fetchall()
        return {
            node: Reading(members, certainty, doubted, at) for node, members, certainty, doubted, at in rows
        }

    def scopes(self) -> Sequence[Scope]:
        """Return every scope that has memories for a tree, or a tree."""
        rows: list[Any] = self._connection.execute(_SCOPES).fetchall()
        with readable("scopes"):
            return [scope_from(row) for row in rows]

    def _nodes(self, condition: str, parameters: Sequence[Any]) -> Sequence[Node]:
        rows: list[Any] = self._connection.execute(f"{_SELECT} WHERE {condition}", parameters).fetchall()
        scopes: dict[Any, Scope] = {}  # one for thousands of rows: making each anew takes half of the time
        with readable("tree_nodes"):
            return [_node(row, scopes) for row in rows]


def _row(node: Node) -> tuple[Any, ...]:
    """Return the values of the columns; a centroid is kept as little-endian floats."""
    blob = None if node.centroid is None else node.centroid.astype("<f4").tobytes()
    return (
        *(node.id, node.breadth.level, node.parent, node.title, node.summary, node.maker),
        *(node.members, node.grain, int(node.is_whole), node.space if blob else None, blob),
        *(node.certainty, node.doubted, to_microseconds(node.latest_at), to_microseconds(node.built_at)),
    )


def _node(row: Any, scopes: dict[Any, Scope]) -> Node:
    got = dict(zip(_COLUMNS, row, strict=False))
    place = row[len(_COLUMNS) :]
    if place not in scopes:
        scopes[place] = scope_from(place)
    blob = got["centroid"]
    return Node(
        id=got["id"],
        scope=scopes[place],
        breadth=_BREADTHS[got["level"]],
        parent=got["parent"],
        title=got["title"],
        summary=got["summary"],
        maker=got["maker"],
        members=got["members"],
        grain=got["grain"],
        is_whole=bool(got["is_whole"]),
        space=got["space"],
        centroid=None if blob is None else np.frombuffer(blob, "<f4"),
        certainty=got["certainty"],
        doubted=got["doubted"],
        latest_at=from_microseconds(got["latest_at"]),
        built_at=from_microseconds(got["built_at"]),
    )
