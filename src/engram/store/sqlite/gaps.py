"""
The tables `gaps` and `gap_memories`: open questions and the memories that each is about.

Written by the dream and by whoever answers; read by `engram.gaps` and the context room. A question shows only
while all that it is about is still believed or disputed, so settling the ground settles it at once; a trigger
deletes it with the first of its memories that is forgotten.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from engram.store.sqlite.connection import only
from engram.store.sqlite.failures import readable
from engram.store.sqlite.filters import AMONG
from engram.store.sqlite.rows import scope_from, to_json
from engram.store.sqlite.scopes import VISIBLE, ScopesTable, names
from engram.store.sqlite.times import (
    from_microseconds,
    optional_from_microseconds,
    optional_to_microseconds,
    to_microseconds,
)
from engram.values import ActorKind, Gap, GapKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    import apsw

    from engram.values import EntityType, MemoryId, Scope

_SELECT = (
    "SELECT g.id, g.kind, g.question, g.priority, g.found_at, g.asked_at, g.closed_at, "
    "s.project, s.squad, s.agent, s.channel, s.user FROM gaps g JOIN scopes s ON s.id = g.scope"
)
_GROUND_LEFT = (
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
    "priority = excluded.priority, closed_at = NULL, closed_by = NULL, closed_because = NULL"
)
_ABOUT = "INSERT OR IGNORE INTO gap_memories SELECT ?, key FROM memories WHERE id = ?"
_CLOSE = "UPDATE gaps SET closed_at = ?, closed_by = ?, closed_because = ? WHERE id = ? AND closed_at IS NULL"
_MEMORIES = f"SELECT x.gap, m.id FROM gap_memories x JOIN memories m ON m.key = x.memory WHERE x.gap {AMONG}"
_COUNT_ABOUT = (
    "SELECT count(DISTINCT x.gap) FROM gap_memories x JOIN gaps g ON g.id = x.gap "
    f"JOIN memories m ON m.key = x.memory WHERE m.id {AMONG} AND g.closed_at IS NULL"
)
_USABLE = "m.status IN ('active', 'challenged') AND instr(m.flags, '\"injection\"') = 0"
_CHALLENGED = (
    "SELECT m.key FROM memories m WHERE m.scope = ? AND m.status = 'challenged' "
    f"AND {_USABLE} ORDER BY m.key DESC LIMIT ?"
)
_CONTRADICTIONS = (
    "SELECT DISTINCT min(e.source, e.target), max(e.source, e.target) FROM edges e "
    "JOIN memories m ON m.key = e.source JOIN memories o ON o.key = e.target "
    f"WHERE e.type = 'contradicts' AND m.scope = ? AND o.scope = m.scope AND {_USABLE} "
    "AND o.status IN ('active', 'challenged') AND instr(o.flags, '\"injection\"') = 0 "
    "ORDER BY 2 DESC, 1 DESC LIMIT ?"
)
_SPOKEN_OF = (
    "SELECT e.id, m.key FROM entities e JOIN entity_mentions x ON x.entity = e.key "
    "JOIN memories m ON m.key = x.memory AND m.scope = e.scope "
    f"WHERE e.scope = ? AND e.type {AMONG} AND e.mentions >= ? AND m.status = 'active' "
    "AND instr(m.flags, '\"injection\"') = 0 AND m.security <> 'confidential' "
    "AND coalesce(m.extractor, '') NOT LIKE 'dream.%' "
    "GROUP BY e.id, m.key ORDER BY e.key, m.key DESC"
)


class GapsTable:
    """Questions by scope."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._scopes = ScopesTable(connection)

    def put(self, gap: Gap) -> bool:
        """
        Ask a question, and say whether that changed anything.

        One that a person closed stays closed, and none is asked about what is no longer believed or disputed.
        """
        if not self.is_news(gap):
            return False
        moments = (to_microseconds(gap.found_at), *map(optional_to_microseconds, (gap.asked_at, None)))
        row = (gap.id, self._scopes.make(gap.scope), gap.kind, gap.question, gap.priority, *moments)
        self._connection.execute(_PUT, row)
        self._connection.execute("DELETE FROM gap_memories WHERE gap = ?", (gap.id,))
        self._connection.executemany(_ABOUT, [(gap.id, memory) for memory in gap.memories])
        return True

    def is_news(self, gap: Gap) -> bool:
        """Say whether asking this question would change anything."""
        living: int = only(self._connection, _LIVING, (to_json(list(gap.memories)),))
        if living < len(set(gap.memories)):
            return False
        state: Any = self._connection.execute(_STATE, (gap.id,)).fetchone()
        if state is None:
            return True
        if state[3] not in (None, ActorKind.RULE):
            return False
        known: list[Any] = self._connection.execute(_MEMORIES, (to_json([gap.id]),)).fetchall()
        is_same_ground = set(gap.memories) <= {memory for _, memory in known}
        return not is_same_ground or state[:3] != (gap.question, gap.priority, None)

    def close(self, gap_id: str, *, at: datetime, by: ActorKind, because: str) -> bool:
        """Note that a question is settled, and say whether it was open."""
        self._connection.execute(_CLOSE, (to_microseconds(at), by, because, gap_id))
        return self._connection.changes() > 0

    def asked(self, gap_ids: Sequence[str], *, at: datetime) -> None:
        """Note that these questions were put to somebody."""
        sql = f"UPDATE gaps SET asked_at = ? WHERE id {AMONG}"
        self._connection.execute(sql, (to_microseconds(at), to_json(list(gap_ids))))

    def get(self, gap_id: str, *, scope: Scope) -> Gap | None:
        """Return a question that this scope may see, open or closed."""
        found = self._gaps(f"g.id = ? AND g.scope IN ({VISIBLE})", [gap_id, *names(scope)])
        return found[0] if found else None

    def open_for(self, scope: Scope, *, limit: int, after: str | None = None) -> Sequence[Gap]:
        """
        Return the open questions that a scope may see and whose ground is still there, best first.

        With the id of one, open or closed by now, those that follow it.
        """
        condition = f"g.scope IN ({VISIBLE}) AND g.closed_at IS NULL AND {_GROUND_LEFT}"
        behind = "" if after is None else f"AND {_BEHIND}"
        order = "ORDER BY g.priority DESC, g.found_at, g.id LIMIT ?"
        named = [] if after is None else [after]
        return self._gaps(f"{condition} {behind} {order}", [*names(scope), *named, limit])

    def open_in(self, scope: Scope) -> Sequence[Gap]:
        """Return every open question of exactly this scope."""
        condition = "g.scope = ? AND g.closed_at IS NULL ORDER BY g.priority DESC, g.found_at, g.id"
        return self._gaps(condition, [self._scopes.find(scope)])

    def count_about(self, memory_ids: Sequence[MemoryId]) -> int:
        """Return how many open questions are about any of these memories."""
        total: int = only(self._connection, _COUNT_ABOUT, (to_json(list(memory_ids)),))
        return total

    def challenged_in(self, scope: Scope, *, limit: int) -> Sequence[int]:
        """Return the keys of the challenged memories of exactly this scope, newest first."""
        rows: list[Any] = self._connection.execute(_CHALLENGED, (self._scopes.find(scope), limit)).fetchall()
        return [key for (key,) in rows]

    def contradictions_in(self, scope: Scope, *, limit: int) -> Sequence[tuple[int, int]]:
        """Return pairs of living memories of exactly this scope that are linked as contradicting."""
        rows: list[Any] = self._connection.execute(
            _CONTRADICTIONS, (self._scopes.find(scope), limit)
        ).fetchall()
        return [(first, second) for first, second in rows]

    def spoken_of(
        self, scope: Scope, kinds: Sequence[EntityType], *, least: int, limit: int
    ) -> dict[str, list[int]]:
        """
        Return the entities of exactly this scope that so many usable memories speak of, with their keys.

        The most spoken of come first, and of each the newest memories.
        """
        bound = (self._scopes.find(scope), to_json(list(kinds)), least)
        found: defaultdict[str, list[int]] = defaultdict(list)
        for entity, key in self._connection.execute(_SPOKEN_OF, bound):
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
        with readable("gaps"):
            return [
                Gap(
                    id=row[0],
                    kind=GapKind(row[1]),
                    question=row[2],
                    priority=row[3],
                    found_at=from_microseconds(row[4]),
                    asked_at=optional_from_microseconds(row[5]),
                    closed_at=optional_from_microseconds(row[6]),
                    scope=scope_from(row[7:]),
                    memories=tuple(sorted(about[row[0]])),
                )
                for row in rows
            ]
