"""Scopes and filters as SQL."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from engramdb.store.contract.memories import ScopeTally
from engramdb.store.sqlite.connection import single_value
from engramdb.store.sqlite.edges import LANGUAGE, PATH, SENTIMENT, SPEAKER, TECHNOLOGY, fold_path, fold_trait
from engramdb.store.sqlite.rows import to_json, to_microseconds
from engramdb.text.names import fold_name
from engramdb.values import EntityType, Filters, Scope, Status

if TYPE_CHECKING:
    import apsw


# The table `scopes`, and the SQL that keeps every read inside one.

VISIBLE = (
    "SELECT id FROM scopes WHERE project IN ('', ?) AND squad IN ('', ?) AND agent IN ('', ?) "
    "AND channel IN ('', ?) AND user IN ('', ?)"
)
"""The numbers of the scopes that a reader may see; takes `names(scope)`."""

_EXACT = "SELECT id FROM scopes WHERE project = ? AND squad = ? AND agent = ? AND channel = ? AND user = ?"


def scope_columns(scope: Scope) -> tuple[str, ...]:
    """Return the five columns of a scope, in which an empty text stands for none."""
    return tuple(name or "" for name in scope.parts)


_SEEN_MEMORIES = "FROM memories WHERE scope IN (SELECT value FROM json_each(?))"
_SEEN_TURNS = "SELECT count(*) FROM turns t WHERE t.scope IN (SELECT value FROM json_each(?))"
_TALLIES = {
    "turns": _SEEN_TURNS,
    "unread_turns": f"{_SEEN_TURNS} AND t.extracted_at IS NULL",
    "turns_without_memories": f"{_SEEN_TURNS} AND t.extracted_at IS NOT NULL "
    "AND NOT EXISTS (SELECT 1 FROM memory_turns x WHERE x.turn = t.key)",
    "entities": "SELECT count(*) FROM entities WHERE scope IN (SELECT value FROM json_each(?))",
    "unenriched": f"SELECT count(*) {_SEEN_MEMORIES} AND enriched = 0 AND status = 'active'",
    "unjudged": f"SELECT count(*) {_SEEN_MEMORIES} AND judged = 0 AND status = 'active'",
}


class ScopesTable:
    """Scopes by number."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._known: dict[Scope, int] = {}

    def visible(self, scope: Scope) -> list[int]:
        """Return the numbers of the stored scopes that a reader in this scope may see."""
        return [number for (number,) in self._connection.execute(VISIBLE, scope_columns(scope))]

    def find(self, scope: Scope) -> int | None:
        """Return the number of exactly this scope, if anything was stored in it."""
        if scope not in self._known:
            row = self._connection.execute(_EXACT, scope_columns(scope)).fetchone()
            if row is None:
                return None
            self._known[scope] = row[0]
        return self._known[scope]

    def owner(self, scope: Scope | None) -> int | None:
        """Return the number of exactly this scope for a condition: None for all, one that none has if new."""
        found = None if scope is None else self.find(scope)
        return -1 if scope is not None and found is None else found

    def get(self, number: int) -> Scope:
        """Return the scope with this number."""
        sql = "SELECT project, squad, agent, channel, user FROM scopes WHERE id = ?"
        rows: list[Any] = self._connection.execute(sql, (number,)).fetchall()
        project, squad, agent, channel, user = (name or None for name in rows[0])
        return Scope(project=project, squad=squad, agent=agent, channel=channel, user=user)

    def tally(self, scope: Scope) -> ScopeTally:
        """Return how much a scope may see: memories, turns, names, and what of it waits."""
        seen = to_json(self.visible(scope))
        by_scope = self._counts("scope", f"{_SEEN_MEMORIES} AND status = 'active'", seen)
        return ScopeTally(
            by_status=self._counts("status", _SEEN_MEMORIES, seen),
            by_layer=self._counts("layer", f"{_SEEN_MEMORIES} AND status = 'active'", seen),
            by_scope={self.get(number): count for number, count in by_scope.items()},
            **{name: single_value(self._connection, sql, (seen,)) for name, sql in _TALLIES.items()},
        )

    def _counts(self, column: str, among: str, seen: str) -> dict[Any, int]:
        sql = f"SELECT {column}, count(*) {among} GROUP BY 1 ORDER BY 1"
        rows: list[Any] = self._connection.execute(sql, (seen,)).fetchall()
        return dict(rows)

    def make(self, scope: Scope) -> int:
        """Return the number of this scope, made if need be."""
        found = self.find(scope)
        if found is not None:
            return found
        columns = "(project, squad, agent, channel, user)"
        self._connection.execute(f"INSERT INTO scopes {columns} VALUES (?, ?, ?, ?, ?)", scope_columns(scope))
        return self._connection.last_insert_rowid()


# A scope and filters as a WHERE clause over `memories m`, in two forms that let the same memories through.
#
# `where` looks at one memory after the other, for those that an index has found already; `where_narrowed`
# starts from the few that have a rare word, for those that have the whole store before them. Every value is
# bound; only fixed fragments are joined. Which form pays where: docs/lab/0017-entities-in-recall.md.

Bound = list[str | int]
Clause = tuple[str, Bound]
"""A condition and its parameters."""

FEW_MEMORIES = 20_000
"""Up to this many memories with a word are listed, in a few milliseconds; more are checked one by one."""

INDEXED = to_json([status for status in Status if status.is_indexed])
AMONG = "IN (SELECT value FROM json_each(?))"
IS_LIVE_NAME = (
    "EXISTS (SELECT 1 FROM entity_mentions u JOIN memories o ON o.key = u.memory "
    f"WHERE u.entity = n.entity AND u.folded = n.folded AND o.status {AMONG})"
)
"""Whether a name in `entity_names n` is used by a memory that may be found; takes `INDEXED`."""

_TRAIT = f"SELECT t.memory FROM memory_traits t WHERE t.kind = ? AND t.value {AMONG}"
_PATH = "SELECT t.memory FROM memory_traits t WHERE t.kind = ? AND ({})"
_IS_BELOW = "t.value = ? OR (t.value > ? AND t.value < ?)"
_SESSION = f"SELECT o.key FROM memories o WHERE o.session {AMONG}"
_FLAGGED = f"SELECT o.key FROM memories o JOIN json_each(o.flags) f WHERE o.flags <> '[]' AND f.value {AMONG}"
_SPEAKING = (
    f"SELECT x.memory FROM entity_mentions x WHERE x.entity IN (SELECT n.entity FROM entity_names n "
    f"WHERE n.scope IN ({VISIBLE}) AND n.folded {AMONG} AND {IS_LIVE_NAME} "
    f"UNION SELECT e.key FROM entities e WHERE e.id {AMONG} AND e.scope IN ({VISIBLE}) "
    "UNION SELECT min(n.entity) FROM json_each(?) w JOIN entity_names n "
    "ON n.folded > w.value || ' ' AND n.folded < w.value || '!' JOIN entities e ON e.key = n.entity "
    f"WHERE e.type = 'person' AND n.scope IN ({VISIBLE}) AND {IS_LIVE_NAME} "
    "GROUP BY w.value HAVING count(DISTINCT n.entity) = 1)"
)
"""By name, by id, or by the first name of the only person who has it: Marta is Marta Silva."""

_NOT_OVER = (
    "(m.forget_after IS NULL OR m.pinned OR m.status NOT IN ('active', 'challenged') OR m.forget_after > ?)"
)


class KeysQuery(NamedTuple):
    """Who passes one part of the filters: a query for the keys, its column and its parameters."""

    keys: str
    column: str
    parameters: Bound

    def one_by_one(self) -> Clause:
        """Return the part as a question about each memory."""
        return f"EXISTS ({self.keys} AND {self.column} = m.key)", self.parameters

    def as_condition(self) -> Clause:
        """Return the part as a list that a memory must be on."""
        return f"m.key IN ({self.keys})", self.parameters

    def are_few(self, connection: apsw.Connection) -> bool:
        """Return whether they are worth listing."""
        counted = f"SELECT count(*) FROM ({self.keys} LIMIT {FEW_MEMORIES + 1})"
        number: int = single_value(connection, counted, self.parameters)
        return number <= FEW_MEMORIES


def where(scope: Scope, filters: Filters) -> Clause:
    """Return the condition and its parameters, for memories that come one after the other."""
    return _joined_clauses(scope, filters, [part.one_by_one() for part in _word_holders(scope, filters)])


def where_narrowed(connection: apsw.Connection, scope: Scope, filters: Filters) -> Clause:
    """Return the condition and its parameters, for finding the memories that pass among all."""
    parts = [
        part.as_condition() if part.are_few(connection) else part.one_by_one()
        for part in _word_holders(scope, filters)
    ]
    return _joined_clauses(scope, filters, parts)


def is_selective(connection: apsw.Connection, scope: Scope, filters: Filters) -> bool:
    """Return whether some word of the filters is so rare that few memories can pass."""
    return any(part.are_few(connection) for part in _word_holders(scope, filters))


def not_expired(clause: Clause, at: datetime | None) -> Clause:
    """Return the condition with what has a last day that is over left out, where a moment is given."""
    condition, parameters = clause
    if at is None:
        return clause
    return f"{condition} AND {_NOT_OVER}", [*parameters, to_microseconds(at)]


def name_folds(wanted: Iterable[str]) -> set[str]:
    """Return every form in which these names may be stored: the type of the thing is not known."""
    return {fold_name(name, kind) for name in wanted for kind in EntityType}


def _joined_clauses(scope: Scope, filters: Filters, in_words: Iterable[Clause]) -> Clause:
    visible: Clause = (f"m.scope IN ({VISIBLE})", [*scope_columns(scope)])
    clauses = [visible, *_column_clauses(filters), *_time_clauses(filters), *in_words]
    return " AND ".join(text for text, _ in clauses), [one for _, bound in clauses for one in bound]


def _column_clauses(filters: Filters) -> Iterator[Clause]:
    yield f"m.status {AMONG}", [to_json(sorted(filters.statuses))]
    sets = {
        "layer": filters.layers,
        "type": filters.types,
        "kind": filters.kinds,
        "category": filters.categories,
    }
    for column, allowed in sets.items():
        if allowed:
            yield f"m.{column} {AMONG}", [to_json(sorted(allowed))]


def _time_clauses(filters: Filters) -> Iterator[Clause]:
    if filters.since is not None:
        yield "m.when_at >= ?", [to_microseconds(filters.since)]
    if filters.until is not None:
        yield "m.when_at < ?", [to_microseconds(filters.until)]


def _word_holders(scope: Scope, filters: Filters) -> Iterator[KeysQuery]:
    """Yield who passes each part that is about words."""
    sets = {
        TECHNOLOGY: filters.technologies,
        LANGUAGE: filters.languages,
        SENTIMENT: filters.sentiments,
        SPEAKER: filters.speakers,
    }
    for kind, words in sets.items():
        if words:
            folded = to_json(sorted({fold_trait(kind, word) for word in words}))
            yield KeysQuery(_TRAIT, "t.memory", [kind, folded])
    if filters.paths:
        paths = sorted({fold_path(path) for path in filters.paths})
        any_of = _PATH.format(" OR ".join([_IS_BELOW] * len(paths)))
        yield KeysQuery(any_of, "t.memory", [PATH, *(end for path in paths for end in _path_bounds(path))])
    if filters.sessions:
        yield KeysQuery(_SESSION, "o.key", [to_json(sorted(filters.sessions))])
    if filters.flags:
        yield KeysQuery(_FLAGGED, "o.key", [to_json(sorted(filters.flags))])
    if filters.entities:
        place, folds = scope_columns(scope), to_json(sorted(name_folds(filters.entities)))
        by_name = [*place, folds, INDEXED, to_json(sorted(filters.entities)), *place]
        yield KeysQuery(_SPEAKING, "x.memory", [*by_name, folds, *place, INDEXED])


def _path_bounds(path: str) -> tuple[str, str, str]:
    """Return a path, and between what everything below it lies: `0` comes next after the slash."""
    folder = path.rstrip("/")
    return path, f"{folder}/", f"{folder}0"
