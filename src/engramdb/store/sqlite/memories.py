"""The tables `memories` and `history`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from engramdb.errors import InvalidScope, MemoryNotFound, StoreCorrupt
from engramdb.store.contract import Related, Sketch
from engramdb.store.sqlite.acts import EVENTS, ActsTable, history_events
from engramdb.store.sqlite.connection import corrupt_on_error, single_value
from engramdb.store.sqlite.edges import TraitsTable
from engramdb.store.sqlite.filters import (
    VISIBLE,
    ScopesTable,
    is_selective,
    not_expired,
    scope_columns,
    where,
    where_narrowed,
)
from engramdb.store.sqlite.rows import (
    COLUMNS,
    INDEXED_STATUSES,
    SELECTED,
    checksum,
    from_json,
    from_row,
    scope_from,
    spans_to_json,
    to_json,
    to_microseconds,
    to_row,
)
from engramdb.values import (
    Filters,
    HistoryEvent,
    Memory,
    MemoryId,
    Scope,
    Status,
)

if TYPE_CHECKING:
    import apsw


# What recall asks about candidates before it fetches any: neighbors in the session, speaker, filters.

_AMONG = "m.key IN (SELECT value FROM json_each(?))"
_SAID = "coalesce(m.said_at, m.created_at)"
_FIRST_TURN = "(SELECT min(x.turn) FROM memory_turns x WHERE x.memory = m.key)"
_SKETCHES = (
    f"SELECT m.key, m.speaker, m.subject, m.when_at, {_SAID}, {_FIRST_TURN}, "
    "m.content, coalesce(m.answers, '') || ' ' || m.refers_to, m.security "
    f"FROM memories m WHERE {_AMONG}"
)
_SAME_OCCASION = 12 * 3600 * 1_000_000
"""In microseconds: a session that is taken up again the next day is another occasion."""
_MEMORIES_A_MESSAGE = 4
"""So many memories a message are looked through for those of the next one."""
_BESIDE = (
    f"(SELECT json_group_array(json_array(m.key, {_FIRST_TURN})) FROM (SELECT key, when_at, moments "
    "FROM memories n WHERE n.session = s.session AND n.scope = s.scope AND n.status = 'active' "
    "AND n.key {direction} LIMIT ?) m "
    # What names a time is filed under that time, and says nothing of when it was said.
    f"WHERE s.moments <> '[]' OR m.moments <> '[]' OR abs(m.when_at - s.when_at) <= {_SAME_OCCASION})"
)
_SESSION_NEIGHBORS = (
    "SELECT s.key, (SELECT min(x.turn) FROM memory_turns x WHERE x.memory = s.key), "
    f"{_BESIDE.format(direction='< s.key ORDER BY n.key DESC')}, "
    f"{_BESIDE.format(direction='> s.key ORDER BY n.key')} "
    "FROM memories s WHERE s.key IN (SELECT value FROM json_each(?)) AND s.session IS NOT NULL"
)
_RELATED = (
    "SELECT m.key, m.subject, m.speaker FROM memories m "
    "WHERE m.predicate IN (SELECT value FROM json_each(?)) AND m.status = 'active' "
    "AND m.predicate IS NOT NULL AND m.valid_to IS NULL AND coalesce(m.is_negated, 0) = 0 "
    "AND {condition} ORDER BY m.key DESC LIMIT ?"
)
_IN_PERIOD = "SELECT m.key FROM memories m {index} WHERE {moments} AND {condition} LIMIT ?"
_BY_MOMENT = {"m.when_at": "memories_by_when", _SAID: "memories_by_saying"}
"""The index of each moment, named because the planner would go through all of a scope."""


MAX_SUCCESSORS = 50
"""How far a chain of what took the place of what is followed."""
_HEIRS = (
    "WITH RECURSIVE chain (start, next, is_same, depth) AS ("
    "SELECT key, superseded_by, status = 'merged', 1 FROM memories "
    "WHERE key IN (SELECT value FROM json_each(?)) AND status IN ('superseded', 'merged') "
    "UNION ALL SELECT c.start, m.superseded_by, c.is_same AND m.status = 'merged', c.depth + 1 "
    "FROM chain c JOIN memories m ON m.id = c.next "
    "WHERE m.status IN ('superseded', 'merged') AND c.depth < ?) "
    "SELECT c.start, m.key, c.is_same FROM chain c JOIN memories m ON m.id = c.next "
    "WHERE m.status IN ('active', 'challenged')"
)


class CandidatesTable:
    """Memories by key, as far as ranking needs them."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def sketches(self, keys: Sequence[int]) -> dict[int, Sketch]:
        """Return what ranking needs to know of memories that were found."""
        rows: list[Any] = self._connection.execute(_SKETCHES, (to_json(list(keys)),)).fetchall()
        found = {key: Sketch(*sketch) for key, *sketch in rows}
        for one in found.values():
            if not (isinstance(one.speaker, str | None) and isinstance(one.subject, str | None)):
                raise StoreCorrupt("a row of memories makes no sense: a name is a number")
        return found

    def filter_keys(
        self, keys: Sequence[int], *, scope: Scope, filters: Filters, at: datetime | None = None
    ) -> set[int]:
        """Return which of these memories the scope may see, the filters let through and are not over."""
        condition, parameters = not_expired(where(scope, filters), at)
        sql = f"SELECT m.key FROM json_each(?) k CROSS JOIN memories m ON m.key = k.value WHERE {condition}"
        rows: list[Any] = self._connection.execute(sql, (to_json(list(keys)), *parameters)).fetchall()
        return {key for (key,) in rows}

    def session_neighbors(
        self, keys: Sequence[int], *, reach: int, scope: Scope, filters: Filters
    ) -> list[tuple[int, int, int]]:
        """
        Return (memory, neighbor, distance) for the active memories beside each in its own session.

        The distance is counted in messages; what was read from the same one is no neighbor.
        """
        most = reach * _MEMORIES_A_MESSAGE
        rows: list[Any] = self._connection.execute(
            _SESSION_NEIGHBORS, (most, most, to_json(list(keys)))
        ).fetchall()
        found = [
            (key, neighbor, distance)
            for key, turn, before, after in rows
            for side in (before, after)
            for neighbor, distance in _by_message(turn, from_json(side))
            if distance <= reach
        ]
        passing = self.filter_keys([one[1] for one in found], scope=scope, filters=filters)
        return [one for one in found if one[1] in passing]

    def with_predicates(
        self, predicates: Sequence[str], *, scope: Scope, filters: Filters, limit: int
    ) -> list[Related]:
        """Return the newest memories that tell one of these relations."""
        condition, parameters = where(scope, filters)
        rows: list[Any] = self._connection.execute(
            _RELATED.format(condition=condition), (to_json(list(predicates)), *parameters, limit)
        ).fetchall()
        return [Related(*row) for row in rows]

    def in_period(
        self,
        start: datetime | None,
        end: datetime | None,
        *,
        scope: Scope,
        filters: Filters,
        limit: int,
    ) -> list[int] | None:
        """Return what was said from `start` to before `end`, or is about then; None for more than `limit`."""
        bounds = [(sign, to_microseconds(at)) for sign, at in ((">=", start), ("<", end)) if at is not None]
        condition, parameters = where(scope, filters)
        found: set[int] = set()
        for column, name in _BY_MOMENT.items():
            moments = " AND ".join([f"{column} {sign} ?" for sign, _ in bounds] or ["TRUE"])
            index = f"INDEXED BY {name}" if bounds else ""
            sql = _IN_PERIOD.format(index=index, moments=moments, condition=condition)
            asked = (*(at for _, at in bounds), *parameters, limit + 1)
            rows: list[Any] = self._connection.execute(sql, asked).fetchall()
            found.update(key for (key,) in rows)
            if len(found) > limit:
                return None
        return sorted(found)


def _by_message(turn: int | None, beside: Sequence[tuple[int, int | None]]) -> list[tuple[int, int]]:
    """Return memories on one side, nearest first, with how many messages each is away."""
    found, distance, last = [], 0, turn
    for key, its in beside:
        distance += its is None or its != last
        last = its
        if distance:
            found.append((key, distance))
    return found


# The tables `history` and `audit`: what happened to each memory, and who did what.
#
# Rows are only ever added, in the transaction of the change that they describe.

_HISTORY = (
    "memory_id, at, action, actor, actor_kind, surface, token, old_status, new_status, reason, changes, act"
)


class HistoryTable:
    """What happened to each memory."""

    def __init__(self, connection: apsw.Connection, acts: ActsTable) -> None:
        self._connection = connection
        self._acts = acts

    def add(self, event: HistoryEvent) -> None:
        """Record a change, as part of the act of this write."""
        who = (event.actor.name, event.actor.kind, event.actor.surface, event.actor.token)
        statuses = (event.old_status, event.new_status)
        row = (event.memory_id, to_microseconds(event.at), event.action, *who, *statuses, event.reason)
        act = self._acts.key_for(event.memory_id, event.action, event.actor, event.at)
        sql = f"INSERT INTO history ({_HISTORY}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        self._connection.execute(sql, (*row, to_json(event.changes), act))

    def of(self, memory_id: MemoryId) -> list[HistoryEvent]:
        """Return a memory's changes, oldest first."""
        sql = f"{EVENTS} WHERE h.memory_id = ? ORDER BY h.key"
        return history_events(self._connection.execute(sql, (memory_id,)).fetchall())

    def since(self, memory_ids: Sequence[MemoryId], moment: datetime) -> dict[MemoryId, list[HistoryEvent]]:
        """Return what happened to these memories after a moment, oldest first, where anything did."""
        among = "h.memory_id IN (SELECT value FROM json_each(?))"
        sql = f"{EVENTS} WHERE {among} AND h.at > ? ORDER BY h.key"
        rows = self._connection.execute(sql, (to_json(list(memory_ids)), to_microseconds(moment))).fetchall()
        found: defaultdict[MemoryId, list[HistoryEvent]] = defaultdict(list)
        for event in history_events(rows):
            found[event.memory_id].append(event)
        return dict(found)


# The table `memories`.
#
# Every write takes the next number of the change counter, which is how indexes in this and in other
# processes learn what to read again.

_SELECT = f"SELECT {SELECTED} FROM memories m JOIN scopes s ON s.id = m.scope"
_BEYOND_KEYS = 2**63 - 1
_SELECT_KEYED = f"SELECT {SELECTED}, m.key FROM memories m JOIN scopes s ON s.id = m.scope"
_UNFILED = (
    "{0}lasting IS NULL AND {0}status IN ('active', 'challenged') "
    "AND substr(coalesce({0}extractor, ''), 1, 6) <> 'dream.'"
)
"""As the index `memories_unfiled` has it, or it would not be used."""
_WRITTEN = ("change", "fingerprint", "scope", "checksum", *COLUMNS)
_INSERT = f"INSERT INTO memories ({', '.join(_WRITTEN)}) VALUES ({', '.join('?' * len(_WRITTEN))})"
_SET = ", ".join(f"{name} = ?" for name in COLUMNS)
_UPDATE = f"UPDATE memories SET change = ?, checksum = ?, {_SET} WHERE id = ? RETURNING key"
_ACTIVE_TWINS = (
    "SELECT m.fingerprint, m.id FROM json_each(?) k CROSS JOIN memories m ON m.fingerprint = unhex(k.value) "
    "AND m.scope = ? AND m.status = 'active'"
)
_HAS_TWIN = (
    "SELECT EXISTS (SELECT 1 FROM memories WHERE scope = ? AND fingerprint = ? AND status = 'active') "
    "OR EXISTS (SELECT 1 FROM memories INDEXED BY memories_taken_back "
    "WHERE scope = ? AND fingerprint = ? AND status <> 'active')"
)
_MENTIONED = "SELECT traits, speaker FROM memories WHERE id = ?"
_NEXT_CHANGE = "UPDATE counters SET value = value + ? WHERE name = 'change' RETURNING value"
_BLANK = (
    "DELETE FROM handed_out WHERE memory_id = ?",
    "DELETE FROM memory_traits WHERE memory = (SELECT key FROM memories WHERE id = ?)",
    "DELETE FROM recall_sessions WHERE memory = (SELECT key FROM memories WHERE id = ?)",
    "UPDATE memories SET content = '', fingerprint = randomblob(32), checksum = NULL, "
    "subject = NULL, predicate = NULL, "
    "object = NULL, is_negated = NULL, replaces = NULL, speaker = NULL, session = NULL, verbatim = NULL, "
    "detail = '{}', traits = '{}', statement = NULL, answers = NULL, refers_to = '[]', moments = '[]', "
    "claims = '[]', voice = 'own', force = 'asserted', lasting = NULL, "
    "turns = '[]', category = 'general', private = NULL, enriched = 1 WHERE id = ?",
)
_COUNTS = {
    "status": "SELECT status, count(*) FROM memories GROUP BY 1",
    "layer": "SELECT layer, count(*) FROM memories WHERE status = 'active' GROUP BY 1",
}
_SCOPE_COUNTS = (
    "SELECT s.project, s.squad, s.agent, s.channel, s.user, count(*) FROM memories m "
    "JOIN scopes s ON s.id = m.scope WHERE m.status = 'active' GROUP BY m.scope ORDER BY 6 DESC LIMIT ?"
)


MAX_SEEN = 500
"""Memories of one snapshot that are held: a question reads the same few several times."""


def next_change(connection: apsw.Connection) -> int:
    """Return the next number of the change counter, inside a write."""
    return next_changes(connection, 1)[0]


def next_changes(connection: apsw.Connection, count: int) -> range:
    """Return the next `count` numbers of the change counter, inside a write."""
    last: int = single_value(connection, _NEXT_CHANGE, (count,))
    return range(last - count + 1, last + 1)


def _checksum(memory: Memory) -> int:
    return checksum(memory.content, spans_to_json(memory.private))


class MemoriesTable:
    """Memories by id and by key."""

    def __init__(self, connection: apsw.Connection, *, is_snapshot: bool = False) -> None:
        self._connection = connection
        self._scopes = ScopesTable(connection)
        self._traits = TraitsTable(connection)
        self._seen: dict[int, Memory] | None = {} if is_snapshot else None
        """What was read from a snapshot, where it cannot change."""
        self._unreadable: dict[MemoryId, Scope] | None = None
        """Rows that were left out; None: a row that cannot be read is an error."""

    def skip_unreadable(self) -> Mapping[MemoryId, Scope]:
        """
        From now on leave out rows that cannot be read, and return where each is noted with its scope.

        For `list`, `by_keys`, `rules` and `pinned`: an answer then holds everything that can be read, and its
        maker says what it lacks. Whoever compares what is there with something else must not leave this on.
        """
        if self._unreadable is None:
            self._unreadable = {}
        return self._unreadable

    def _readable(self, rows: Iterable[Any]) -> Iterator[tuple[Any, Memory]]:
        for row in rows:
            try:
                memory = from_row(row)
            except StoreCorrupt:
                if self._unreadable is None:
                    raise
                with suppress(InvalidScope, TypeError):  # of nobody knows which scope: the doctor names it
                    start = len(COLUMNS)
                    scope = scope_from(row[start : start + len(Scope.__struct_fields__)])
                    self._unreadable[f"{row[0]!s:.64}"] = scope
            else:
                yield row, memory

    def add(self, memory: Memory, *, fingerprint: bytes) -> int:
        """Store a new memory and return its key."""
        scope = self._scopes.make(memory.scope)
        change = next_change(self._connection)
        row = (change, fingerprint, scope, _checksum(memory), *to_row(memory))
        self._connection.execute(_INSERT, row)
        key = self._connection.last_insert_rowid()
        self._traits.add(key, memory)
        return key

    def replace(self, memory: Memory) -> int:
        """Store a changed memory under its id and return its key."""
        mentioned = self._connection.execute(_MENTIONED, (memory.id,)).fetchone()
        change = next_change(self._connection)
        changed: list[Any] = self._connection.execute(
            _UPDATE, (change, _checksum(memory), *to_row(memory), memory.id)
        ).fetchall()
        if not changed:
            raise MemoryNotFound(f"no memory has the id {memory.id}")
        key: int = changed[0][0]
        if mentioned != (to_json(memory.traits), memory.provenance.speaker):
            self._traits.put(key, memory)
        return key

    def get(self, memory_id: MemoryId, *, scope: Scope) -> Memory | None:
        """Return a memory that this scope may see."""
        sql = f"{_SELECT} WHERE m.id = ? AND m.scope IN ({VISIBLE})"
        row = self._connection.execute(sql, (memory_id, *scope_columns(scope))).fetchone()
        return None if row is None else from_row(row)

    def by_keys(self, keys: Sequence[int]) -> dict[int, Memory]:
        """Return the memories that exist, by key."""
        sql = f"{_SELECT_KEYED} WHERE m.key IN (SELECT value FROM json_each(?))"
        if self._seen is None or len(self._seen) + len(keys) > MAX_SEEN:
            every = self._connection.execute(sql, (to_json(list(keys)),))
            return {row[-1]: memory for row, memory in self._readable(every)}
        unread = [key for key in keys if key not in self._seen]
        rows = self._connection.execute(sql, (to_json(unread),)) if unread else ()
        self._seen |= {row[-1]: memory for row, memory in self._readable(rows)}
        return {key: self._seen[key] for key in sorted(set(keys)) if key in self._seen}

    def heirs(self, keys: Sequence[int]) -> dict[int, tuple[int, bool]]:
        """Return what stands now in the place of each of these memories that was superseded or merged."""
        rows = self._connection.execute(_HEIRS, (to_json(list(keys)), MAX_SUCCESSORS))
        return {start: (key, bool(is_same)) for start, key, is_same in rows}

    def active_twin(self, fingerprint: bytes, *, scope: Scope) -> Memory | None:
        """Return the active memory of exactly this scope with this fingerprint."""
        sql = f"{_SELECT} WHERE m.scope = ? AND m.fingerprint = ? AND m.status = 'active'"
        row = self._connection.execute(sql, (self._scopes.find(scope), fingerprint)).fetchone()
        return None if row is None else from_row(row)

    def active_twins(self, fingerprints: Sequence[bytes], *, scope: Scope) -> dict[bytes, MemoryId]:
        """Return the active memories of exactly this scope that have one of these fingerprints."""
        wanted = to_json([one.hex() for one in fingerprints])
        rows: list[Any] = self._connection.execute(
            _ACTIVE_TWINS, (wanted, self._scopes.find(scope))
        ).fetchall()
        return dict(rows)

    def twin(self, fingerprint: bytes, *, scope: Scope) -> Memory | None:
        """Return the active memory with a fingerprint, or the newest disputed, or what it was merged into."""
        own = (self._scopes.find(scope), fingerprint)
        if not single_value(self._connection, _HAS_TWIN, (*own, *own)):  # as most have not
            return None
        return (
            self.active_twin(fingerprint, scope=scope)
            or self._challenged_twin(fingerprint, scope=scope)
            or self._keeper_of_twin(fingerprint, scope=scope)
        )

    def _challenged_twin(self, fingerprint: bytes, *, scope: Scope) -> Memory | None:
        sql = (
            f"{_SELECT} WHERE m.key = (SELECT max(t.key) FROM memories t INDEXED BY memories_taken_back "
            "WHERE t.scope = ? AND t.fingerprint = ? AND t.status <> 'active' AND t.status = 'challenged')"
        )
        row = self._connection.execute(sql, (self._scopes.find(scope), fingerprint)).fetchone()
        return None if row is None else from_row(row)

    def _keeper_of_twin(self, fingerprint: bytes, *, scope: Scope) -> Memory | None:
        sql = (
            f"{_SELECT} WHERE m.status = 'active' AND m.id IN (SELECT t.superseded_by FROM memories t "
            "INDEXED BY memories_taken_back WHERE t.scope = ? AND t.fingerprint = ? AND t.status <> 'active' "
            "AND t.status = 'merged') LIMIT 1"
        )
        row = self._connection.execute(sql, (self._scopes.find(scope), fingerprint)).fetchone()
        return None if row is None else from_row(row)

    def erase_words(self, memory_id: MemoryId) -> None:
        """Take every word of a memory out of its row and out of the notes about who was given it."""
        for sql in _BLANK:
            self._connection.execute(sql, (memory_id,))

    def has_active_twin(self, memory_id: MemoryId) -> bool:
        """Return whether another memory of the same scope is active with the same fingerprint."""
        sql = (
            "SELECT 1 FROM memories m JOIN memories o ON o.scope = m.scope AND o.fingerprint = m.fingerprint "
            "WHERE m.id = ? AND o.id <> m.id AND o.status = 'active'"
        )
        return self._connection.execute(sql, (memory_id,)).fetchone() is not None

    def unenriched(self, *, limit: int) -> dict[int, Memory]:
        """Return active memories that nothing was inferred from yet, oldest first, by key."""
        sql = f"{_SELECT_KEYED} WHERE m.enriched = 0 AND m.status = 'active' ORDER BY m.key LIMIT ?"
        return {row[-1]: from_row(row) for row in self._connection.execute(sql, (limit,))}

    def count_unenriched(self) -> int:
        """Return how many those are."""
        sql = "SELECT count(*) FROM memories WHERE enriched = 0 AND status = 'active'"
        total: int = single_value(self._connection, sql)
        return total

    def passes(self, memory_id: MemoryId, *, scope: Scope, filters: Filters) -> bool:
        """Return whether a scope may see a memory and the filters let it through."""
        condition, parameters = where(scope, filters)
        sql = f"SELECT 1 FROM memories m WHERE m.id = ? AND {condition}"
        return self._connection.execute(sql, (memory_id, *parameters)).fetchone() is not None

    def ids_of(self, keys: Sequence[int]) -> dict[int, MemoryId]:
        """Return the ids of the memories with these keys."""
        sql = "SELECT key, id FROM memories WHERE key IN (SELECT value FROM json_each(?))"
        rows: list[Any] = self._connection.execute(sql, (to_json(list(keys)),)).fetchall()
        return dict(rows)

    def mark_enriched(self, key: int) -> None:
        """Note that what can be inferred from a memory has been."""
        self._connection.execute("UPDATE memories SET enriched = 1 WHERE key = ?", (key,))

    def unfiled(self, *, limit: int) -> dict[int, Memory]:
        """Return what holds, was stated by somebody and was never filed by what it says, oldest first."""
        sql = f"{_SELECT_KEYED} WHERE {_UNFILED.format('m.')} ORDER BY m.key LIMIT ?"
        return {row[-1]: from_row(row) for row in self._connection.execute(sql, (limit,))}

    def count_unfiled(self) -> int:
        """Return how many those are."""
        total: int = single_value(
            self._connection, f"SELECT count(*) FROM memories WHERE {_UNFILED.format('')}"
        )
        return total

    def unjudged(self, *, limit: int) -> dict[int, Memory]:
        """Return active memories that wait to be judged against what was known before, oldest first."""
        sql = f"{_SELECT_KEYED} WHERE m.judged = 0 AND m.status = 'active' ORDER BY m.key LIMIT ?"
        return {row[-1]: from_row(row) for row in self._connection.execute(sql, (limit,))}

    def count_unjudged(self) -> int:
        """Return how many those are."""
        sql = "SELECT count(*) FROM memories WHERE judged = 0 AND status = 'active'"
        total: int = single_value(self._connection, sql)
        return total

    def mark_judged(self, key: int, *, is_judged: bool = True) -> None:
        """Note whether a memory has been judged against what was known before it."""
        self._connection.execute("UPDATE memories SET judged = ? WHERE key = ?", (is_judged, key))

    def of_session(self, session: str, *, scope: Scope) -> Sequence[Memory]:
        """
        Return what was stated in a session of exactly this scope and still holds, in the order of telling.

        Nothing confidential is among it: only where it stands is known what it answers.
        """
        sql = (
            "SELECT key FROM memories WHERE session = ? AND scope = ? "
            "AND status = 'active' AND security <> 'confidential' AND voice = 'own' "
            "AND force IN ('asserted', 'rule', 'hedged') "
            "AND coalesce(extractor, '') NOT LIKE 'session-%' AND coalesce(extractor, '') <> 'tool-1' "
            "ORDER BY key"
        )
        rows: Sequence[Any] = self._connection.execute(sql, (session, self._scopes.find(scope))).fetchall()
        found = self.by_keys([key for (key,) in rows])
        return [found[key] for (key,) in rows]

    def set_fingerprint(self, key: int, fingerprint: bytes) -> None:
        """Note by which mark a memory is known, now that what it leans on has changed."""
        self._connection.execute("UPDATE memories SET fingerprint = ? WHERE key = ?", (fingerprint, key))

    def leaning(self, session: str | None, *, scope: Scope) -> dict[int, Memory]:
        """Return the memories of a session of exactly this scope that quote what was said before them."""
        sql = (
            f"{_SELECT_KEYED} WHERE m.session IS ? AND m.scope = ? AND m.status <> 'erased' "
            "AND (m.answers IS NOT NULL OR m.refers_to <> '[]')"
        )
        rows = self._connection.execute(sql, (session, self._scopes.find(scope)))
        return {row[-1]: from_row(row) for row in rows}

    def summaries_of(self, session: str | None, *, scope: Scope) -> Sequence[Memory]:
        """Return the active summaries of a session of exactly this scope, oldest first."""
        sql = (
            f"{_SELECT} WHERE m.session = ? AND m.scope = ? AND m.status = 'active' "
            "AND m.extractor LIKE 'session-%' ORDER BY m.key"
        )
        return [from_row(row) for row in self._connection.execute(sql, (session, self._scopes.find(scope)))]

    def with_predicate(self, predicate: str, *, scope: Scope, limit: int) -> list[int]:
        """Return the keys of the newest active memories of exactly this scope with this relation."""
        sql = (
            "SELECT key FROM memories WHERE scope = ? AND predicate = ? AND status = 'active' "
            "ORDER BY key DESC LIMIT ?"
        )
        rows: list[Any] = self._connection.execute(
            sql, (self._scopes.find(scope), predicate, limit)
        ).fetchall()
        return [key for (key,) in rows]

    def ids_ending_with(self, ending: str, *, scope: Scope) -> list[MemoryId]:
        """Return the ids that end in these eight characters: what people copy from a list."""
        sql = f"SELECT m.id FROM memories m WHERE substr(m.id, -8) = ? AND m.scope IN ({VISIBLE})"
        return [memory_id for (memory_id,) in self._connection.execute(sql, (ending, *scope_columns(scope)))]

    def list(
        self,
        *,
        scope: Scope,
        filters: Filters,
        limit: int,
        before: MemoryId | None,
        alive_at: datetime | None = None,
    ) -> Sequence[Memory]:
        """
        Return memories that this scope may see, newest first, from before the given one.

        With `alive_at`, what has a last day that is over by then counts as gone.
        """
        clause = where_narrowed(self._connection, scope, filters)
        condition, parameters = not_expired(clause, alive_at)
        if before is not None:
            condition += " AND m.key < (SELECT key FROM memories WHERE id = ?)"
            parameters.append(before)
        # The keys first: sorting whole rows of a large scope takes a hundred times as long.
        newest = f"SELECT m.key FROM memories m WHERE {condition} AND m.key < ? ORDER BY m.key DESC LIMIT ?"
        sql = f"{_SELECT_KEYED} WHERE m.key IN ({newest}) ORDER BY m.key DESC"
        found: list[Memory] = []
        end = _BEYOND_KEYS
        while True:
            rows: list[Any] = self._connection.execute(sql, (*parameters, end, limit - len(found))).fetchall()
            readable = [memory for _, memory in self._readable(rows)]
            found += readable
            if len(readable) == len(rows):
                return found
            end = rows[-1][-1]  # a page is short at the end of the list only

    def rules(self, *, scope: Scope, limit: int) -> Sequence[Memory]:
        """Return the active memories that set a rule and that this scope may see, newest first."""
        sql = (
            f"{_SELECT} WHERE m.force = 'rule' AND m.status = 'active' AND m.scope IN ({VISIBLE}) "
            "ORDER BY m.key DESC LIMIT ?"
        )
        rows = self._connection.execute(sql, (*scope_columns(scope), limit))
        return [memory for _, memory in self._readable(rows)]

    def pinned(self, *, scope: Scope, limit: int) -> Sequence[Memory]:
        """Return the pinned and active memories that this scope may see, newest first."""
        sql = (
            f"{_SELECT} WHERE m.pinned AND m.status = 'active' AND m.scope IN ({VISIBLE}) "
            "ORDER BY m.key DESC LIMIT ?"
        )
        rows = self._connection.execute(sql, (*scope_columns(scope), limit))
        return [memory for _, memory in self._readable(rows)]

    def confidential(
        self, *, scope: Scope, filters: Filters, limit: int, alive_at: datetime
    ) -> Sequence[Memory]:
        """Return the memories with a secret that a scope may see and that are not over, newest first."""
        clause = where_narrowed(self._connection, scope, filters)
        condition, parameters = not_expired(clause, alive_at)
        # The keys first, as in `list`.
        newest = (
            f"SELECT m.key FROM memories m WHERE {condition} AND m.security = 'confidential' "
            "ORDER BY m.key DESC LIMIT ?"
        )
        sql = f"{_SELECT} WHERE m.key IN ({newest}) ORDER BY m.key DESC"
        rows = self._connection.execute(sql, (*parameters, limit))
        return [memory for _, memory in self._readable(rows)]

    def keys_passing(self, *, scope: Scope, filters: Filters, limit: int) -> Sequence[int] | None:
        """
        Return the keys of all that pass, in order; None where they are more than the limit.

        None too where every word of the filters is so common that listing its memories would take long.
        """
        if filters.needs_store and not is_selective(self._connection, scope, filters):
            return None
        condition, parameters = where_narrowed(self._connection, scope, filters)
        sql = f"SELECT m.key FROM memories m WHERE {condition} LIMIT ?"
        rows: Sequence[Any] = self._connection.execute(sql, (*parameters, limit + 1)).fetchall()
        return None if len(rows) > limit else sorted(key for (key,) in rows)

    def indexable(self, *, after_key: int, limit: int) -> dict[int, Memory]:
        """Return memories whose status is indexed, in key order, for a rebuild."""
        condition = "m.key > ? AND m.status IN (SELECT value FROM json_each(?))"
        sql = f"{_SELECT_KEYED} WHERE {condition} ORDER BY m.key LIMIT ?"
        rows = self._connection.execute(sql, (after_key, INDEXED_STATUSES, limit))
        return {row[-1]: from_row(row) for row in rows}

    def count(self) -> int:
        """Return how many memories are stored, in any status."""
        total: int = single_value(self._connection, "SELECT count(*) FROM memories")
        return total

    def has_status(self, status: Status, *, scope: Scope) -> bool:
        """Return whether a scope may see a memory of this status."""
        sql = f"SELECT 1 FROM memories m WHERE m.scope IN ({VISIBLE}) AND m.status = ? LIMIT 1"
        return self._connection.execute(sql, (*scope_columns(scope), status)).fetchone() is not None

    def count_by(self, column: Literal["status", "layer"]) -> dict[str, int]:
        """Return counts by `status`, or by `layer` among the active."""
        rows: list[Any] = self._connection.execute(_COUNTS[column]).fetchall()
        return dict(rows)

    def largest_scopes(self, *, limit: int) -> dict[Scope, int]:
        """Return the scopes with the most active memories."""
        rows: list[Any] = self._connection.execute(_SCOPE_COUNTS, (limit,)).fetchall()
        with corrupt_on_error("scopes"):
            return {scope_from(row[:5]): row[5] for row in rows}
