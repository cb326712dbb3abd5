"""The tables of turns, pending reads, boxes and memories handed out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from engramdb.store.contract.capture import DerivedMemory, DreamFilter, Mentions, ToolRun, UniqueName
from engramdb.store.contract.memories import EdgeColumns
from engramdb.store.sqlite.connection import corrupt_on_error, single_value
from engramdb.store.sqlite.filters import AMONG, VISIBLE, ScopesTable, scope_columns
from engramdb.store.sqlite.rows import (
    SELECTED,
    checksum,
    from_json,
    from_microseconds,
    from_row,
    optional_from_microseconds,
    optional_to_microseconds,
    scope_from,
    spans_from_json,
    spans_to_json,
    to_json,
    to_microseconds,
)
from engramdb.values import Box, EdgeType, EntityType, Memory, MemoryId, Role, Scope, Status, Turn, TurnId

if TYPE_CHECKING:
    import apsw


# The table `turns`: what was said, never rewritten.
#
# Written by `observe` alone. Turns are stored as they came, whatever memories were made of them.

_COLUMNS = (
    "id, scope, session, role, speaker, content, occurred_at, created_at, relayed_by, private, checksum"
)
_PLACEHOLDERS = ", ".join("?" * len(_COLUMNS.split(", ")))
_SELECT = (
    "SELECT t.id, t.session, t.role, t.speaker, t.content, t.occurred_at, t.created_at, "
    "t.relayed_by, t.private, s.project, s.squad, s.agent, s.channel, s.user FROM turns t "
    "JOIN scopes s ON s.id = t.scope"
)


SELECT_TURNS = _SELECT.replace(" FROM", ", t.key FROM", 1)
"""Turns with their scopes, and at the end their keys."""
_READ_FROM = (
    f"SELECT {SELECTED}, t.id FROM turns t JOIN memory_turns x ON x.turn = t.key "
    "JOIN memories m ON m.key = x.memory JOIN scopes s ON s.id = m.scope "
    f"WHERE t.id {AMONG} ORDER BY m.key"
)
_WITHOUT_MEMORIES = (
    "SELECT count(*) FROM turns t WHERE t.extracted_at IS NOT NULL "
    "AND NOT EXISTS (SELECT 1 FROM memory_turns x WHERE x.turn = t.key)"
)
_UNREAD = "extracted_at IS NULL AND coalesce(claimed_until, 0) <= ?"
_CLAIM = (
    f"UPDATE turns SET claimed_until = ? WHERE key IN (SELECT key FROM turns WHERE {_UNREAD} "
    "AND scope = ? AND session IS ? ORDER BY key LIMIT ?) RETURNING key"
)
_PENDING_AMONG = (
    "SELECT count(*) FROM turns WHERE extracted_at IS NULL AND id IN (SELECT value FROM json_each(?))"
)
_SETTLE = "UPDATE turns SET extracted_at = ? WHERE id IN (SELECT value FROM json_each(?))"
_UNSUMMARIZED = (
    f"{_SELECT} WHERE t.session = ? AND t.scope = ? AND t.session IS NOT NULL AND t.summarized_at IS NULL "
    "AND t.extracted_at IS NOT NULL AND t.role IN ('user', 'assistant') ORDER BY t.key LIMIT ?"
)
_UNSUMMARIZED_AMONG = (
    "SELECT count(*) FROM turns WHERE summarized_at IS NULL AND id IN (SELECT value FROM json_each(?))"
)
_SUMMARIZE = "UPDATE turns SET summarized_at = ? WHERE id IN (SELECT value FROM json_each(?))"
_OVERDUE = (
    "SELECT scope, session FROM turns WHERE extracted_at IS NULL AND coalesce(claimed_until, 0) <= ?1 "
    "GROUP BY scope, session HAVING max(created_at) NOT BETWEEN ?2 + 1 AND ?1 OR min(created_at) <= ?3 "
    "ORDER BY min(key) LIMIT ?4"
)
_PENDING = "SELECT count(*), min(created_at) FROM turns WHERE extracted_at IS NULL"


class TurnsTable:
    """Turns by id and by session."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._scopes = ScopesTable(connection)

    def add(self, turn: Turn) -> int:
        """Store a turn and return its key."""
        scope = self._scopes.make(turn.scope)
        times = (to_microseconds(turn.occurred_at), to_microseconds(turn.created_at))
        private = spans_to_json(turn.private)
        found = (turn.relayed_by, private, checksum(turn.content, private))
        row = (turn.id, scope, turn.session, turn.role, turn.speaker, turn.content, *times, *found)
        self._connection.execute(f"INSERT INTO turns ({_COLUMNS}) VALUES ({_PLACEHOLDERS})", row)
        return self._connection.last_insert_rowid()

    def get(self, turn_id: TurnId, *, scope: Scope) -> Turn | None:
        """Return a turn that this scope may see."""
        sql = f"{_SELECT} WHERE t.id = ? AND t.scope IN ({VISIBLE})"
        row = self._connection.execute(sql, (turn_id, *scope_columns(scope))).fetchone()
        with corrupt_on_error("turns"):
            return None if row is None else turn_from_row(row)

    def by_keys(self, keys: Sequence[int]) -> dict[int, Turn]:
        """Return the turns that exist, by key."""
        sql = f"{SELECT_TURNS} WHERE t.key {AMONG}"
        rows = self._connection.execute(sql, (to_json(list(keys)),))
        with corrupt_on_error("turns"):
            return {row[-1]: turn_from_row(row) for row in rows}

    def page(self, *, after_key: int, limit: int) -> dict[int, Turn]:
        """Return the next turns of the whole store, by key: what an index is rebuilt from."""
        rows = self._connection.execute(
            f"{SELECT_TURNS} WHERE t.key > ? ORDER BY t.key LIMIT ?", (after_key, limit)
        )
        with corrupt_on_error("turns"):
            return {row[-1]: turn_from_row(row) for row in rows}

    def memories_of(self, turn_ids: Sequence[TurnId]) -> dict[TurnId, list[Memory]]:
        """Return what was read out of each turn, whatever became of it; no key for those that left none."""
        found: dict[TurnId, list[Memory]] = {}
        for row in self._connection.execute(_READ_FROM, (to_json(list(turn_ids)),)):
            found.setdefault(row[-1], []).append(from_row(row))
        return found

    def relink(self) -> None:
        """Note again which memories were read out of which turns, from the memories' own lists."""
        self._connection.execute("DELETE FROM memory_turns")
        self._connection.execute("INSERT INTO memory_turns SELECT turn, memory FROM turns_read")

    def ids_ending_with(self, ending: str, *, scope: Scope) -> Sequence[TurnId]:
        """Return the ids that end in these eight characters: what people copy from a list."""
        sql = f"SELECT t.id FROM turns t WHERE substr(t.id, -8) = ? AND t.scope IN ({VISIBLE})"
        rows: list[Any] = self._connection.execute(sql, (ending, *scope_columns(scope))).fetchall()
        return [turn_id for (turn_id,) in rows]

    def list(
        self, *, scope: Scope, session: str | None, limit: int, before: TurnId | None = None
    ) -> Sequence[Turn]:
        """Return the latest turns, or the latest before the given one, oldest of them first."""
        condition, parameters = f"t.scope IN ({VISIBLE})", list[Any](scope_columns(scope))
        if session is not None:
            condition += " AND t.session = ?"
            parameters.append(session)
        if before is not None:
            condition += " AND t.key < (SELECT key FROM turns WHERE id = ?)"
            parameters.append(before)
        sql = f"{_SELECT} WHERE {condition} ORDER BY t.key DESC LIMIT ?"
        rows: list[Any] = self._connection.execute(sql, (*parameters, limit)).fetchall()
        with corrupt_on_error("turns"):
            return [turn_from_row(row) for row in reversed(rows)]

    def claim(
        self,
        *,
        now: datetime,
        until: datetime,
        limit: int,
        within: tuple[Scope, str | None] | None = None,
        owner: Scope | None = None,
    ) -> Sequence[Turn]:
        """Take the oldest turns of one conversation that no one has read yet, and return them in order."""
        moment = to_microseconds(now)
        place: Any = (
            (self._scopes.find(within[0]), within[1]) if within else self._oldest_place(moment, owner)
        )
        if place is None:
            return []
        claimed: list[Any] = self._connection.execute(
            _CLAIM, (to_microseconds(until), moment, *place, limit)
        ).fetchall()
        sql = f"{_SELECT} WHERE t.key IN (SELECT value FROM json_each(?)) ORDER BY t.key"
        rows = self._connection.execute(sql, (to_json([key for (key,) in claimed]),))
        with corrupt_on_error("turns"):
            return [turn_from_row(row) for row in rows]

    def _oldest_place(self, moment: int, owner: Scope | None) -> Any:
        is_owned = "(?2 IS NULL OR scope = ?2)"
        sql = f"SELECT scope, session FROM turns WHERE {_UNREAD} AND {is_owned} ORDER BY key LIMIT 1"
        return self._connection.execute(sql, (moment, self._scopes.owner(owner))).fetchone()

    def settle(self, turn_ids: Sequence[TurnId], *, now: datetime) -> bool:
        """Note that the turns have been read; says False, and changes nothing, if one of them was already."""
        wanted = to_json(list(turn_ids))
        if single_value(self._connection, _PENDING_AMONG, (wanted,)) != len(turn_ids):
            return False
        self._connection.execute(_SETTLE, (to_microseconds(now), wanted))
        return True

    def note_private(self, turn: Turn) -> int:
        """Note where private words stand in a turn, and return its key."""
        private = spans_to_json(turn.private)
        sql = "UPDATE turns SET private = ?, checksum = ? WHERE id = ? RETURNING key"
        row = (private, checksum(turn.content, private), turn.id)
        key: int = single_value(self._connection, sql, row)
        return key

    def renew(self, turn_ids: Sequence[TurnId], *, until: datetime) -> None:
        """Claim turns for longer, those of them that are claimed and unread."""
        sql = (
            "UPDATE turns SET claimed_until = ? WHERE id IN (SELECT value FROM json_each(?)) "
            "AND extracted_at IS NULL AND claimed_until IS NOT NULL"
        )
        self._connection.execute(sql, (to_microseconds(until), to_json(list(turn_ids))))

    def release(self, turn_ids: Sequence[TurnId]) -> None:
        """Give claimed turns back."""
        sql = "UPDATE turns SET claimed_until = NULL WHERE id IN (SELECT value FROM json_each(?))"
        self._connection.execute(sql, (to_json(list(turn_ids)),))

    def pending(
        self, within: tuple[Scope, str | None] | None = None, *, owner: Scope | None = None
    ) -> tuple[int, datetime | None]:
        """Return how many turns wait to be read, of a conversation, a scope or all, and since when."""
        place: Any = (self._scopes.owner(owner),)
        sql = f"{_PENDING} AND (?1 IS NULL OR scope = ?1)"
        if within is not None:
            place, sql = (
                (self._scopes.find(within[0]), within[1]),
                f"{_PENDING} AND scope = ? AND session IS ?",
            )
        row: Any = self._connection.execute(sql, place).fetchone()
        return row[0], optional_from_microseconds(row[1])

    def overdue(
        self, *, now: datetime, quiet_since: datetime, oldest: datetime, limit: int
    ) -> Sequence[tuple[Scope, str | None]]:
        """Return conversations with unread turns that are quiet since then, or with one older than that."""
        moments = (to_microseconds(one) for one in (now, quiet_since, oldest))
        rows: list[Any] = self._connection.execute(_OVERDUE, (*moments, limit)).fetchall()
        return [(self._scopes.get(scope), session) for scope, session in rows]

    def unsummarized(self, session: str, *, scope: Scope, limit: int) -> Sequence[Turn]:
        """Return the oldest turns of a session that were spoken and read, and that nobody has summed up."""
        rows = self._connection.execute(_UNSUMMARIZED, (session, self._scopes.find(scope), limit))
        with corrupt_on_error("turns"):
            return [turn_from_row(row) for row in rows]

    def mark_summarized(self, turn_ids: Sequence[TurnId], *, now: datetime) -> bool:
        """Note that the turns are summed up; says False, and changes nothing, if one is already, or gone."""
        wanted = to_json(list(turn_ids))
        if single_value(self._connection, _UNSUMMARIZED_AMONG, (wanted,)) != len(turn_ids):
            return False
        self._connection.execute(_SUMMARIZE, (to_microseconds(now), wanted))
        return True

    def unmark_summarized(self, turn_ids: Sequence[TurnId]) -> None:
        """Note that nothing sums these turns up any more."""
        self._connection.execute(_SUMMARIZE, (None, to_json(list(turn_ids))))

    def count(self) -> int:
        """Return how many turns are stored."""
        total: int = single_value(self._connection, "SELECT count(*) FROM turns")
        return total

    def count_without_memories(self) -> int:
        """Return how many turns were read and left no memory."""
        total: int = single_value(self._connection, _WITHOUT_MEMORIES)
        return total


def turn_from_row(row: Sequence[Any]) -> Turn:
    """Return the turn from the columns of `SELECT_TURNS`."""
    turn_id, session, role, speaker, content, occurred_at, created_at, relayed_by, private = row[:9]
    if not (isinstance(turn_id, str) and isinstance(content, str)):  # of a damaged row they may be bytes
        raise TypeError("content")
    return Turn(
        id=turn_id,
        content=content,
        role=Role(role),
        speaker=speaker,
        session=session,
        scope=scope_from(row[9:14]),
        occurred_at=from_microseconds(occurred_at),
        created_at=from_microseconds(created_at),
        relayed_by=relayed_by,
        private=spans_from_json(private),
    )


# What a dream reads, in SQL: the memories of exactly one scope, and what earlier dreams made of them.
#
# Read-only, over the tables `memories`, `edges`, `history` and those of entities. Pages follow the index on
# scope and status, so a page costs what it holds, however large the store is.

_KEYED = f"SELECT {SELECTED}, m.key FROM memories m JOIN scopes s ON s.id = m.scope"
_EARNEST = (
    "m.force IN ('asserted', 'rule', 'hedged') AND m.voice = 'own' AND NOT (m.statement IS NULL "
    "AND (m.answers IS NOT NULL OR m.refers_to <> '[]') AND length(m.content) < 40)"
)
"""What can be weighed by itself: no quotation, story or question, and no "yes, the second one"."""
_SCOPES = "SELECT DISTINCT scope FROM memories WHERE status = 'active' ORDER BY 1"
_CHANGED = "SELECT 1 FROM memories WHERE scope = ? AND change > ? LIMIT 1"
_DERIVED = (
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
    "AND (?2 IS NULL OR a.scope = ?2) "
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


class DreamReadsTable:
    """Memories of one scope after the other, for the dream."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._scopes = ScopesTable(connection)

    def scopes(self) -> list[Scope]:
        """Return the scopes that hold an active memory, in the order in which they were first used."""
        rows: list[Any] = self._connection.execute(_SCOPES).fetchall()
        return [self._scopes.get(number) for (number,) in rows]

    def has_changed(self, scope: Scope, *, since: int) -> bool:
        """Return whether any memory of a scope has a later change than this."""
        bound = (self._scopes.find(scope), since)
        return self._connection.execute(_CHANGED, bound).fetchone() is not None

    def page(self, *, scope: Scope, matching: DreamFilter, after_key: int, limit: int) -> dict[int, Memory]:
        """Return the next active memories of a scope, by key."""
        condition, bound = _filter_clauses(matching)
        sql = f"{_KEYED} WHERE m.scope = ? AND m.status = 'active' AND m.key > ? AND {_EARNEST}{condition}"
        rows = self._connection.execute(
            f"{sql} ORDER BY m.key LIMIT ?", (self._scopes.find(scope), after_key, *bound, limit)
        )
        return {row[-1]: from_row(row) for row in rows}

    def derived_by(self, maker: str, *, scope: Scope) -> list[DerivedMemory]:
        """Return what makers whose name begins so have stated, in any status but erased, oldest first."""
        rows = self._connection.execute(_DERIVED, (maker, self._scopes.find(scope)))
        found = {row[-1]: from_row(row) for row in rows}
        sources = self._sources(found)
        return [DerivedMemory(key, memory, sources[key]) for key, memory in found.items()]

    def _sources(self, made: dict[int, Memory]) -> dict[int, dict[MemoryId, Status]]:
        """Return how the sources of each stand, by its links and by the evidence that it names."""
        found: dict[int, dict[MemoryId, Status]] = {key: {} for key in made}
        linked: list[Any] = self._connection.execute(
            _SOURCES, (to_json(list(made)), _SOURCE_TYPES)
        ).fetchall()
        named = sorted({one for memory in made.values() for one in memory.provenance.episodes})
        stand: dict[str, str] = dict(self._pairs(_STATUSES, (to_json(named),)))
        with corrupt_on_error("memories"):
            for key, memory_id, status in linked:
                found[key][memory_id] = Status(status)
            for key, memory in made.items():
                for one in memory.provenance.episodes:
                    if one in stand:
                        found[key][one] = Status(stand[one])
        return found

    def tool_runs(self, *, scope: Scope) -> list[ToolRun]:
        """Return every run of a tool that an active memory counts, in the order of time."""
        rows: list[Any] = self._connection.execute(_RUNS, (self._scopes.find(scope),)).fetchall()
        with corrupt_on_error("history"):
            return [
                ToolRun(key, from_microseconds(at), "successes" in from_json(text)) for key, at, text in rows
            ]

    def links(self, types: Sequence[EdgeType], *, scope: Scope | None = None) -> EdgeColumns:
        """Return the links of these types between active memories of one scope: this one, or any."""
        import numpy as np  # noqa: PLC0415 - most commands compute nothing

        rows: list[Any] = self._connection.execute(
            _LINKS, (to_json(list(types)), self._scopes.owner(scope))
        ).fetchall()
        sources, targets, kinds, weights = list(zip(*rows, strict=True)) or [()] * 4
        return EdgeColumns(
            sources=np.array(sources, np.int64),
            targets=np.array(targets, np.int64),
            types=list(kinds),
            weights=np.array(weights, np.float32),
        )

    def mentions(self, *, scope: Scope) -> Mentions:
        """Return which active statements of a scope, none of a dream's, mention which of its entities."""
        import numpy as np  # noqa: PLC0415 - most commands compute nothing

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

    def names(self, *, scope: Scope, since: datetime | None) -> list[UniqueName]:
        """Return the names of single entities, all or those that no memory had used before a moment."""
        bound = (self._scopes.find(scope), None if since is None else to_microseconds(since))
        rows: list[Any] = self._connection.execute(_NAMES, bound).fetchall()
        with corrupt_on_error("entities"):
            return [UniqueName(one, EntityType(kind), name, folded) for one, kind, name, folded in rows]

    def unlinked(
        self, name: UniqueName, terms: Sequence[str], *, scope: Scope, after_key: int, limit: int
    ) -> dict[int, Memory]:
        """Return the next active statements that hold these terms and are not linked to the entity."""
        wanted = " ".join('"' + term.replace('"', '""') + '"' for term in terms)
        bound = (wanted, after_key, self._scopes.find(scope), name.entity_id, limit)
        keys = [key for (key,) in self._connection.execute(_UNLINKED, bound)]
        rows = self._connection.execute(f"{_KEYED} WHERE m.key {AMONG} ORDER BY m.key", (to_json(keys),))
        return {row[-1]: from_row(row) for row in rows}

    def _pairs(self, sql: str, bound: Sequence[Any]) -> list[Any]:
        return self._connection.execute(sql, bound).fetchall()


def _filter_clauses(matching: DreamFilter) -> tuple[str, list[Any]]:
    """Return the further conditions of a page and their parameters."""
    sets = {"layer": matching.layers, "category": matching.categories, "extractor": matching.extractors}
    chosen = {column: allowed for column, allowed in sets.items() if allowed}
    condition = "".join(f" AND m.{column} {AMONG}" for column in chosen)
    bound: list[Any] = [to_json(sorted(allowed)) for allowed in chosen.values()]
    if matching.related:
        condition += " AND m.subject IS NOT NULL AND m.predicate IS NOT NULL AND m.object IS NOT NULL"
    if matching.changed_since:
        condition += " AND m.change > ?"
        bound.append(matching.changed_since)
    return condition, bound


# The table `boxes`: stretches of one topic.
#
# Written by the write pipeline as memories come in; there is at most one open box in a scope.

_BOX_COLUMNS = "id, scope, trace, topics, opened_at, last_at, sealed_at, memories"
_SELECT_BOX = (
    "SELECT b.id, b.trace, b.topics, b.opened_at, b.last_at, b.sealed_at, b.memories, "
    "s.project, s.squad, s.agent, s.channel, s.user FROM boxes b JOIN scopes s ON s.id = b.scope"
)


class BoxesTable:
    """Boxes by scope."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._scopes = ScopesTable(connection)

    def open_in(self, scope: Scope) -> Box | None:
        """Return the box of exactly this scope that still takes memories, if there is one."""
        sql = f"{_SELECT_BOX} WHERE b.scope = ? AND b.sealed_at IS NULL ORDER BY b.last_at DESC LIMIT 1"
        row: Any = self._connection.execute(sql, (self._scopes.find(scope),)).fetchone()
        return None if row is None else _box(row)

    def put(self, box: Box) -> None:
        """Store a box in place of its earlier state."""
        times = (to_microseconds(box.opened_at), to_microseconds(box.last_at))
        topics = {"all": sorted(box.topics), "recent": [sorted(each) for each in box.recent]}
        row = (box.id, self._scopes.make(box.scope), box.trace, to_json(topics), *times)
        sql = (
            f"INSERT INTO boxes ({_BOX_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (id) DO UPDATE SET "
            "trace = excluded.trace, topics = excluded.topics, last_at = excluded.last_at, "
            "sealed_at = excluded.sealed_at, memories = excluded.memories"
        )
        self._connection.execute(sql, (*row, optional_to_microseconds(box.sealed_at), box.memories))

    def sealed(self, scope: Scope, *, limit: int) -> Sequence[Box]:
        """Return the latest sealed boxes of exactly this scope, newest first."""
        sql = f"{_SELECT_BOX} WHERE b.scope = ? AND b.sealed_at IS NOT NULL ORDER BY b.last_at DESC LIMIT ?"
        rows: list[Any] = self._connection.execute(sql, (self._scopes.find(scope), limit)).fetchall()
        return [_box(row) for row in rows]


def _box(row: Sequence[Any]) -> Box:
    box_id, trace, topics, opened_at, last_at, sealed_at, memories = row[:7]
    told = from_json(topics)
    return Box(
        id=box_id,
        trace=trace,
        topics=frozenset(told["all"]),
        recent=tuple([frozenset(each) for each in told["recent"]]),
        opened_at=from_microseconds(opened_at),
        last_at=from_microseconds(last_at),
        sealed_at=optional_from_microseconds(sealed_at),
        memories=memories,
        scope=scope_from(row[7:12]),
    )


# The table `handed_out`: which memories a reader was given lately.

_ADD = (
    "INSERT OR REPLACE INTO handed_out (scope, session, memory_id, at) "
    "SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3 FROM json_each(?)"
)
_SINCE = (
    f"SELECT {SELECTED} FROM memories m JOIN scopes s ON s.id = m.scope "
    "JOIN handed_out h ON h.memory_id = m.id "
    "WHERE h.scope = ? AND h.at >= ? GROUP BY m.id ORDER BY max(h.at) DESC LIMIT ?"
)


class HandedOutTable:
    """Memories by who was given them, and when."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._scopes = ScopesTable(connection)

    def add(self, given: Mapping[tuple[Scope, str, MemoryId], datetime]) -> None:
        """Note when memories were last given to a reader in a scope and session."""
        numbers = {scope: self._scopes.make(scope) for scope in dict.fromkeys(key[0] for key in given)}
        rows = [(numbers[scope], *rest, to_microseconds(at)) for (scope, *rest), at in given.items()]
        self._connection.execute(_ADD, (to_json(rows),))

    def since(self, moment: datetime, *, scope: Scope, limit: int) -> Sequence[Memory]:
        """Return what readers in exactly this scope were given since then, latest first."""
        asked = (self._scopes.find(scope), to_microseconds(moment), limit)
        rows: list[Any] = self._connection.execute(_SINCE, asked).fetchall()
        return [from_row(row) for row in rows]

    def prune(self, before: datetime) -> None:
        """Forget what was given before that moment."""
        self._connection.execute("DELETE FROM handed_out WHERE at < ?", (to_microseconds(before),))
