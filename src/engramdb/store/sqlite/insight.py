"""The tables of gaps and of the summary tree."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from engramdb.store.contract.dreams import ClusterStats, EntityNaming, MemoryWeight, SummaryNode
from engramdb.store.sqlite.connection import corrupt_on_error, single_value
from engramdb.store.sqlite.filters import AMONG, VISIBLE, ScopesTable, scope_columns
from engramdb.store.sqlite.rows import (
    from_microseconds,
    optional_from_microseconds,
    optional_to_microseconds,
    scope_from,
    to_json,
    to_microseconds,
)
from engramdb.values import ActorKind, Breadth, EdgeType, EntityType, Gap, GapKind, MemoryId, Scope, Source

if TYPE_CHECKING:
    import apsw

    from engramdb.store.sqlite.acts import ActsTable


# The tables `gaps` and `gap_memories`: open questions and the memories that each is about.
#
# A question shows only while all that it is about is still believed or disputed, so settling the ground
# settles it at once; a trigger deletes it with the first of its memories that is forgotten.

_SELECT = (
    "SELECT g.id, g.kind, g.question, g.priority, g.found_at, g.asked_at, g.closed_at, g.snoozed_until, "
    "s.project, s.squad, s.agent, s.channel, s.user FROM gaps g JOIN scopes s ON s.id = g.scope"
)
_HAS_GROUND = (
    "NOT EXISTS (SELECT 1 FROM gap_memories x JOIN memories m ON m.key = x.memory "
    "WHERE x.gap = g.id AND m.status NOT IN ('active', 'challenged'))"
)
_BEHIND = (
    "(-g.priority, g.found_at, g.id) > (SELECT -o.priority, o.found_at, o.id FROM gaps o WHERE o.id = ?)"
)
_LIVING = f"SELECT count(*) FROM memories WHERE id {AMONG} AND status IN ('active', 'challenged')"
_STATE = "SELECT question, priority, closed_at, closed_by FROM gaps WHERE id = ?"
_PUT = (
    "INSERT INTO gaps (id, scope, kind, question, priority, found_at, asked_at, closed_at) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET question = excluded.question, "
    "priority = excluded.priority, closed_at = NULL, closed_by = NULL, closed_because = NULL, "
    "closed_act = NULL"
)
_ABOUT = "INSERT OR IGNORE INTO gap_memories SELECT ?, key FROM memories WHERE id = ?"
_CLOSE = (
    "UPDATE gaps SET closed_at = ?, closed_by = ?, closed_because = ?, closed_act = ? "
    "WHERE id = ? AND closed_at IS NULL"
)
_MEMORIES = f"SELECT x.gap, m.id FROM gap_memories x JOIN memories m ON m.key = x.memory WHERE x.gap {AMONG}"
_ABOUT_ANY = f"SELECT x.gap FROM gap_memories x JOIN memories m ON m.key = x.memory WHERE m.id {AMONG}"
_COUNT_ABOUT = (
    "SELECT count(DISTINCT x.gap) FROM gap_memories x JOIN gaps g ON g.id = x.gap "
    f"JOIN memories m ON m.key = x.memory WHERE m.id {AMONG} AND g.closed_at IS NULL"
)
_USABLE = "m.status IN ('active', 'challenged') AND instr(m.flags, '\"injection\"') = 0"
_CHALLENGED = (
    "SELECT m.key FROM memories m WHERE m.scope = ? AND m.status = 'challenged' "
    f"AND {_USABLE} ORDER BY m.key DESC LIMIT ?"
)
_LINKED = (
    "SELECT e.source, e.target FROM edges e "
    "JOIN memories m ON m.key = e.source JOIN memories o ON o.key = e.target "
    f"WHERE e.type = ? AND m.scope = ? AND o.scope = m.scope AND {_USABLE} "
    "AND o.status IN ('active', 'challenged') AND instr(o.flags, '\"injection\"') = 0 "
    "ORDER BY max(e.source, e.target) DESC, min(e.source, e.target) DESC, e.source LIMIT ?"
)
_MENTIONED_ENTITIES = (
    "SELECT e.id, m.key FROM entities e JOIN entity_mentions x ON x.entity = e.key "
    "JOIN memories m ON m.key = x.memory AND m.scope = e.scope "
    f"WHERE e.scope = ? AND e.type {AMONG} AND e.mentions >= ? AND m.status = 'active' "
    "AND instr(m.flags, '\"injection\"') = 0 AND m.security <> 'confidential' "
    "AND coalesce(m.extractor, '') NOT LIKE 'dream.%' "
    "GROUP BY e.id, m.key ORDER BY e.key, m.key DESC"
)


class GapsTable:
    """Questions by scope."""

    def __init__(self, connection: apsw.Connection, acts: ActsTable) -> None:
        self._connection = connection
        self._acts = acts
        self._scopes = ScopesTable(connection)

    def put(self, gap: Gap) -> bool:
        """
        Ask a question, and return whether that changed anything.

        One that a person closed stays closed, and none is asked about what is no longer believed or disputed.
        """
        if not self.is_news(gap):
            return False
        moments = (to_microseconds(gap.found_at), *map(optional_to_microseconds, (gap.asked_at, None)))
        row = (gap.id, self._scopes.make(gap.scope), gap.kind, _stored_words(gap), gap.priority, *moments)
        self._connection.execute(_PUT, row)
        self._connection.execute("DELETE FROM gap_memories WHERE gap = ?", (gap.id,))
        self._connection.executemany(_ABOUT, [(gap.id, memory) for memory in gap.memories])
        return True

    def is_news(self, gap: Gap) -> bool:
        """Return whether asking this question would change anything."""
        living: int = single_value(self._connection, _LIVING, (to_json(list(gap.memories)),))
        if living < len(set(gap.memories)):
            return False
        state: Any = self._connection.execute(_STATE, (gap.id,)).fetchone()
        if state is None:
            return True
        if state[3] not in (None, ActorKind.RULE):
            return False
        known: list[Any] = self._connection.execute(_MEMORIES, (to_json([gap.id]),)).fetchall()
        is_same_ground = set(gap.memories) <= {memory for _, memory in known}
        return not is_same_ground or state[:3] != (_stored_words(gap), gap.priority, None)

    def close(self, gap_id: str, *, at: datetime, by: ActorKind, because: str) -> bool:
        """Note that a question is settled, and return whether it was open."""
        found: Any = self._connection.execute("SELECT scope FROM gaps WHERE id = ?", (gap_id,)).fetchone()
        act = None if found is None else self._acts.open_key(found[0])
        self._connection.execute(_CLOSE, (to_microseconds(at), by, because, act, gap_id))
        return self._connection.changes() > 0

    def is_settled_by_person(self, gap_id: str) -> bool:
        """Return whether somebody, and no rule, has settled a question."""
        sql = "SELECT closed_by FROM gaps WHERE id = ? AND closed_at IS NOT NULL"
        found: Any = self._connection.execute(sql, (gap_id,)).fetchone()
        return found is not None and found[0] != ActorKind.RULE

    def snooze(self, gap_id: str, *, until: datetime) -> None:
        """Let an open question rest until a moment."""
        sql = "UPDATE gaps SET snoozed_until = ? WHERE id = ?"
        self._connection.execute(sql, (to_microseconds(until), gap_id))

    def mark_asked(
        self, gap_ids: Sequence[str], *, at: datetime, scope: Scope, session: str | None = None
    ) -> None:
        """Note that these questions were put to someone, and in which session of a scope."""
        sql = f"UPDATE gaps SET asked_at = ? WHERE id {AMONG}"
        self._connection.execute(sql, (to_microseconds(at), to_json(list(gap_ids))))
        if session is not None:
            rows = [(self._scopes.make(scope), session, gap, to_microseconds(at)) for gap in gap_ids]
            self._connection.executemany("INSERT OR REPLACE INTO askings VALUES (?, ?, ?, ?)", rows)

    def asked_in(self, session: str, *, scope: Scope) -> dict[str, datetime]:
        """Return the ids of the questions put in a session of exactly this scope, and when each was last."""
        sql = "SELECT gap, at FROM askings WHERE scope = ? AND session = ? ORDER BY at, gap"
        rows: list[Any] = self._connection.execute(sql, (self._scopes.find(scope), session)).fetchall()
        return {gap: from_microseconds(at) for gap, at in rows}

    def ids_ending_with(self, ending: str, *, scope: Scope) -> Sequence[str]:
        """Return the ids of the questions that a scope may see and that end so."""
        sql = f"SELECT g.id FROM gaps g WHERE substr(g.id, -length(?)) = ? AND g.scope IN ({VISIBLE}) LIMIT 2"
        rows: list[Any] = self._connection.execute(sql, [ending, ending, *scope_columns(scope)]).fetchall()
        return [gap for (gap,) in rows]

    def get(self, gap_id: str, *, scope: Scope) -> Gap | None:
        """Return a question that this scope may see, open or closed."""
        found = self._gaps(f"g.id = ? AND g.scope IN ({VISIBLE})", [gap_id, *scope_columns(scope)])
        return found[0] if found else None

    def open_for(self, scope: Scope, *, limit: int, after: str | None = None) -> Sequence[Gap]:
        """
        Return the open questions that a scope may see and whose ground is still there, best first.

        With the id of one, open or closed by now, those that follow it.
        """
        condition = f"g.scope IN ({VISIBLE}) AND g.closed_at IS NULL AND {_HAS_GROUND}"
        behind = "" if after is None else f"AND {_BEHIND}"
        order = "ORDER BY g.priority DESC, g.found_at, g.id LIMIT ?"
        named = [] if after is None else [after]
        return self._gaps(f"{condition} {behind} {order}", [*scope_columns(scope), *named, limit])

    def open_in(self, scope: Scope) -> Sequence[Gap]:
        """Return every open question of exactly this scope."""
        condition = "g.scope = ? AND g.closed_at IS NULL ORDER BY g.priority DESC, g.found_at, g.id"
        return self._gaps(condition, [self._scopes.find(scope)])

    def count_about(self, memory_ids: Sequence[MemoryId]) -> int:
        """Return how many open questions are about any of these memories."""
        total: int = single_value(self._connection, _COUNT_ABOUT, (to_json(list(memory_ids)),))
        return total

    def challenged_in(self, scope: Scope, *, limit: int) -> Sequence[int]:
        """Return the keys of the challenged memories of exactly this scope, newest first."""
        rows: list[Any] = self._connection.execute(_CHALLENGED, (self._scopes.find(scope), limit)).fetchall()
        return [key for (key,) in rows]

    def open_about(self, memory_ids: Sequence[MemoryId], *, scope: Scope) -> Sequence[Gap]:
        """Return the open questions about any of these memories that a scope may see, best first."""
        condition = f"g.id IN ({_ABOUT_ANY}) AND g.scope IN ({VISIBLE}) AND g.closed_at IS NULL"
        order = "ORDER BY g.priority DESC, g.found_at, g.id"
        bound = [to_json(list(memory_ids)), *scope_columns(scope)]
        return self._gaps(f"{condition} AND {_HAS_GROUND} {order}", bound)

    def linked_in(self, scope: Scope, kind: EdgeType, *, limit: int) -> Sequence[tuple[int, int]]:
        """Return the living ends, source first, of the links of a kind within exactly this scope."""
        bound = (kind, self._scopes.find(scope), limit)
        rows: list[Any] = self._connection.execute(_LINKED, bound).fetchall()
        return [(source, target) for source, target in rows]

    def mentioned_entities(
        self, scope: Scope, kinds: Sequence[EntityType], *, least: int, limit: int
    ) -> dict[str, list[int]]:
        """
        Return entities of exactly this scope that at least `least` usable memories mention, with their keys.

        The most mentioned come first, and of each the newest memories.
        """
        bound = (self._scopes.find(scope), to_json(list(kinds)), least)
        found: defaultdict[str, list[int]] = defaultdict(list)
        for entity, key in self._connection.execute(_MENTIONED_ENTITIES, bound):
            found[entity].append(key)
        often = [entity for entity, keys in found.items() if len(keys) >= least]
        first = sorted(often, key=lambda entity: (-len(found[entity]), entity))[:limit]
        return {entity: found[entity] for entity in first}

    def _gaps(self, condition: str, parameters: Iterable[Any]) -> list[Gap]:
        rows: list[Any] = self._connection.execute(
            f"{_SELECT} WHERE {condition}", list(parameters)
        ).fetchall()
        about: defaultdict[str, list[MemoryId]] = defaultdict(list)
        for gap, memory in self._connection.execute(_MEMORIES, (to_json([row[0] for row in rows]),)):
            about[gap].append(memory)
        with corrupt_on_error("gaps"):
            return [
                Gap(
                    id=row[0],
                    kind=GapKind(row[1]),
                    question=row[2],
                    priority=row[3],
                    found_at=from_microseconds(row[4]),
                    asked_at=optional_from_microseconds(row[5]),
                    closed_at=optional_from_microseconds(row[6]),
                    snoozed_until=optional_from_microseconds(row[7]),
                    scope=scope_from(row[8:]),
                    memories=tuple(sorted(about[row[0]])),
                )
                for row in rows
            ]


def _stored_words(gap: Gap) -> str:
    """Return the words to store: none of a question that speaks in the words of memories."""
    return "" if gap.kind.is_about_words else gap.question


# The tables `tree_nodes` and `tree_members`: summaries of clusters, domains and whole scopes.
#
# Written by the dream's steps `tree` and `confidence`; read by `context` and by `engram.confidence`.
# All of it is derived. Triggers blank what mentions a memory that is forgotten or no longer believed, so a
# summary never says what its members do not say any more.

_COLUMNS = (
    *("id", "level", "parent", "title", "summary", "maker", "members", "grain", "is_whole", "space"),
    *("centroid", "certainty", "doubted", "latest_at", "built_at"),
)
_SELECT_NODE = (
    f"SELECT {', '.join(f'n.{name}' for name in _COLUMNS)}, s.project, s.squad, s.agent, s.channel, s.user "
    "FROM tree_nodes n JOIN scopes s ON s.id = n.scope"
)
_SET = ", ".join(f"{name} = excluded.{name}" for name in _COLUMNS[1:])
_PUT_NODE = (
    f"INSERT INTO tree_nodes (scope, {', '.join(_COLUMNS)}) "
    f"VALUES ({', '.join('?' * (len(_COLUMNS) + 1))}) ON CONFLICT (id) DO UPDATE SET {_SET}"
)
_KNOWN = f"SELECT {', '.join(_COLUMNS[:-1])} FROM tree_nodes WHERE id = ?"
_MEMBERS = (
    "SELECT t.node, t.memory, t.quoted FROM tree_members t JOIN tree_nodes n ON n.id = t.node "
    "WHERE n.scope = ? ORDER BY t.memory"
)
_NAMINGS = (
    "SELECT DISTINCT x.memory, e.id, e.name, e.type, e.key FROM json_each(?) k "
    "CROSS JOIN entity_mentions x ON x.memory = k.value JOIN entities e ON e.key = x.entity "
    "JOIN memories m ON m.key = x.memory AND m.scope = e.scope ORDER BY x.memory, e.key"
)
_TRUST = "CASE m.source " + " ".join(f"WHEN '{one}' THEN {one.trust}" for one in Source) + " END"
_WEIGHTS = (
    f"SELECT m.key, m.importance, m.confidence * {_TRUST}, m.status = 'active' "
    f"AND m.security <> 'confidential' FROM memories m WHERE m.key {AMONG} AND {_USABLE}"
)
_UNASSIGN = f"DELETE FROM tree_members WHERE node = ? AND memory NOT {AMONG}"
_ASSIGN = (
    "INSERT INTO tree_members (memory, node, quoted) SELECT value ->> 0, ?1, value ->> 1 FROM json_each(?2) "
    "WHERE true ON CONFLICT (memory) DO UPDATE "
    "SET node = excluded.node, quoted = max(excluded.quoted, 3 * (quoted = 3)) "
    "WHERE node <> excluded.node OR quoted NOT IN (excluded.quoted, 3)"
)
_QUOTE = (
    "UPDATE tree_members SET quoted = CASE WHEN memory IN (SELECT value FROM json_each(?1)) "
    "THEN 3 ELSE 2 END WHERE (quoted = 3) <> (memory IN (SELECT value FROM json_each(?1))) "
    "AND node IN (SELECT id FROM tree_nodes WHERE scope = ?2)"
)
_CLUSTER_OF = (
    "SELECT m.id, c.parent FROM memories m JOIN tree_members t ON t.memory = m.key "
    f"JOIN tree_nodes c ON c.id = t.node WHERE m.id {AMONG} AND c.parent IS NOT NULL"
)
_LATEST = "max(m.created_at, coalesce(m.confirmed_at, 0), coalesce(m.access_last_at, 0))"
_IN_DOUBT = (
    "m.status = 'challenged' OR m.confidence < ? OR EXISTS (SELECT 1 FROM gap_memories g "
    "JOIN gaps o ON o.id = g.gap WHERE g.memory = m.key AND o.closed_at IS NULL "
    "AND o.kind <> 'missing_field')"
)
_CLUSTER_STATS = (
    f"SELECT t.node, count(*), avg(m.confidence * {_TRUST}), sum({_IN_DOUBT}), max({_LATEST}) "
    "FROM tree_members t JOIN tree_nodes n ON n.id = t.node JOIN memories m ON m.key = t.memory "
    "WHERE n.scope = ? GROUP BY t.node"
)
_SCOPES = (
    "SELECT s.project, s.squad, s.agent, s.channel, s.user FROM scopes s WHERE EXISTS "
    "(SELECT 1 FROM memories m WHERE m.scope = s.id AND m.status IN ('active', 'challenged')) OR EXISTS "
    "(SELECT 1 FROM tree_nodes n WHERE n.scope = s.id) ORDER BY s.id"
)
DOUBTED_BELOW = 0.4
"""Below this confidence a statement is speculative, and its domain less certain for it."""
_BREADTHS = {breadth.level: breadth for breadth in Breadth}


class TreeTable:
    """Nodes by scope and level."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._scopes = ScopesTable(connection)

    def nodes(self, scope: Scope, breadth: Breadth | None = None) -> Sequence[SummaryNode]:
        """Return the nodes of exactly this scope, in the order of their ids."""
        levels = [one.level for one in Breadth] if breadth is None else [breadth.level]
        condition = f"n.scope = ? AND n.level {AMONG} ORDER BY n.id"
        return self._nodes(condition, [self._scopes.find(scope), to_json(levels)])

    def visible(self, scope: Scope, breadth: Breadth) -> Sequence[SummaryNode]:
        """Return the nodes of one breadth that a reader in this scope may see."""
        condition = f"n.scope IN ({VISIBLE}) AND n.level = ? ORDER BY n.id"
        return self._nodes(condition, [*scope_columns(scope), breadth.level])

    def get(self, node_id: str) -> SummaryNode | None:
        """Return a node as it is now."""
        found = self._nodes("n.id = ?", [node_id])
        return found[0] if found else None

    def put(self, node: SummaryNode) -> bool:
        """Store a node in place of its earlier state, and return whether anything but the moment differs."""
        row = _node_row(node)
        known: Any = self._connection.execute(_KNOWN, (node.id,)).fetchone()
        if known == row[:-1]:
            return False
        self._connection.execute(_PUT_NODE, (self._scopes.make(node.scope), *row))
        return True

    def assign(self, node_id: str, quoted: Mapping[int, int]) -> bool:
        """
        Make these memories the members of a cluster, and return whether any was not.

        The number is the highest level that quotes each.
        """
        before = self._connection.total_changes()
        self._connection.execute(_UNASSIGN, (node_id, to_json(list(quoted))))
        self._connection.execute(_ASSIGN, (node_id, to_json(list(quoted.items()))))
        return self._connection.total_changes() > before

    def set_quoted(self, scope: Scope, keys: Sequence[int]) -> None:
        """Note that the summary of exactly this scope quotes these members, and no others."""
        bound = (to_json(list(keys)), self._scopes.find(scope))
        self._connection.execute(_QUOTE, bound)

    def drop(self, node_ids: Sequence[str]) -> int:
        """Drop these nodes, and return how many there were."""
        self._connection.execute(f"DELETE FROM tree_nodes WHERE id {AMONG}", (to_json(list(node_ids)),))
        return self._connection.changes()

    def drop_all_except(self, scope: Scope, node_ids: Sequence[str]) -> int:
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

    def domains_of(self, memory_ids: Sequence[MemoryId]) -> dict[MemoryId, SummaryNode]:
        """Return in which domain each of these memories is, those that are in any."""
        homes: list[Any] = self._connection.execute(_CLUSTER_OF, (to_json(list(memory_ids)),)).fetchall()
        found = self._nodes(f"n.id {AMONG}", [to_json(sorted({home for _, home in homes}))])
        nodes = {node.id: node for node in found}
        return {memory: nodes[home] for memory, home in homes if home in nodes}

    def usable(self, scope: Scope) -> Sequence[int]:
        """Return the keys of the memories of exactly this scope that belong into its tree, in order."""
        sql = f"SELECT m.key FROM memories m WHERE m.scope = ? AND {_USABLE} ORDER BY m.key"
        rows: list[Any] = self._connection.execute(sql, (self._scopes.find(scope),)).fetchall()
        return [key for (key,) in rows]

    def weights(self, keys: Sequence[int]) -> dict[int, MemoryWeight]:
        """Return how much each of these memories matters, those that still belong into a tree."""
        rows: list[Any] = self._connection.execute(_WEIGHTS, (to_json(list(keys)),)).fetchall()
        return {
            key: MemoryWeight(importance, certainty, bool(is_quotable))
            for key, importance, certainty, is_quotable in rows
        }

    def entity_namings(self, keys: Sequence[int]) -> Sequence[EntityNaming]:
        """Return which of these memories name which entities of their own scope."""
        rows: list[Any] = self._connection.execute(_NAMINGS, (to_json(list(keys)),)).fetchall()
        with corrupt_on_error("entities"):
            return [EntityNaming(key, entity, name, EntityType(kind)) for key, entity, name, kind, _ in rows]

    def cluster_stats(self, scope: Scope) -> dict[str, ClusterStats]:
        """Return what the members of every cluster of exactly this scope amount to now."""
        bound = (DOUBTED_BELOW, self._scopes.find(scope))
        rows: list[Any] = self._connection.execute(_CLUSTER_STATS, bound).fetchall()
        return {
            node: ClusterStats(members, certainty, doubted, at)
            for node, members, certainty, doubted, at in rows
        }

    def scopes(self) -> Sequence[Scope]:
        """Return every scope that has memories for a tree, or a tree."""
        rows: list[Any] = self._connection.execute(_SCOPES).fetchall()
        with corrupt_on_error("scopes"):
            return [scope_from(row) for row in rows]

    def _nodes(self, condition: str, parameters: Sequence[Any]) -> Sequence[SummaryNode]:
        rows: list[Any] = self._connection.execute(f"{_SELECT_NODE} WHERE {condition}", parameters).fetchall()
        scopes: dict[Any, Scope] = {}  # one for thousands of rows: making each again takes half of the time
        with corrupt_on_error("tree_nodes"):
            return [_node(row, scopes) for row in rows]


def _node_row(node: SummaryNode) -> tuple[Any, ...]:
    """Return the values of the columns; a centroid is stored as little-endian floats."""
    blob = None if node.centroid is None else node.centroid.astype("<f4").tobytes()
    return (
        *(node.id, node.breadth.level, node.parent, node.title, node.summary, node.maker),
        *(node.members, node.grain, int(node.is_whole), node.space if blob else None, blob),
        *(node.certainty, node.doubted, to_microseconds(node.latest_at), to_microseconds(node.built_at)),
    )


def _node(row: Any, scopes: dict[Any, Scope]) -> SummaryNode:
    import numpy as np  # noqa: PLC0415 - most commands compute nothing

    got = dict(zip(_COLUMNS, row, strict=False))
    place = row[len(_COLUMNS) :]
    if place not in scopes:
        scopes[place] = scope_from(place)
    blob = got["centroid"]
    return SummaryNode(
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
