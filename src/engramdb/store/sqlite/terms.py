"""
The text indexes of memories and of turns: FTS5 tables that are handed ready terms and only split at spaces.

Each keeps its own copy of the terms and deletes securely. An index without that copy would be smaller, but
was seen to leave a forgotten memory's words in the file: docs/decisions/0005-text-index.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from engramdb.store import contract
from engramdb.store.contract import ScoredKey, TermStatistics
from engramdb.store.sqlite.connection import single_value, translate_errors
from engramdb.store.sqlite.edges import SPEAKER, fold_trait
from engramdb.store.sqlite.filters import AMONG, VISIBLE, Clause, ScopesTable, scope_columns, where
from engramdb.store.sqlite.rows import to_json, to_microseconds
from engramdb.values import Filters, Scope

if TYPE_CHECKING:
    import apsw

# The text index of memories.
#
# Beside its words a row holds the number of its scope as a term of its own, `=12`, which no text can give,
# and `scope_terms` counts per scope how many memories hold each term. So a word is looked for, and counted,
# among the memories that the asker may see: docs/decisions/0024-scoped-statistics.md.

_PUT = "INSERT OR REPLACE INTO terms (rowid, words) SELECT key, '=' || scope || ? FROM memories WHERE key = ?"
_WORDS = "SELECT words FROM terms WHERE rowid = ?"
_FIND = "SELECT rowid FROM terms WHERE terms MATCH ?"
_CHANGED = (
    "SELECT m.key, t.words FROM (SELECT key FROM memories WHERE change > ? ORDER BY change LIMIT ?) m "
    "LEFT JOIN terms t ON t.rowid = m.key"
)
_HOLDERS = "SELECT rowid AS key, ? AS weight FROM terms WHERE terms MATCH ?"
_COUNT_UP = (
    "INSERT INTO scope_terms (scope, term, memories) SELECT ?, value, 1 FROM json_each(?) WHERE true "
    "ON CONFLICT (scope, term) DO UPDATE SET memories = memories + 1"
)
_COUNT_DOWN = f"UPDATE scope_terms SET memories = memories - 1 WHERE scope = ? AND term {AMONG}"
_DROP_EMPTY = f"DELETE FROM scope_terms WHERE scope = ? AND memories <= 0 AND term {AMONG}"
_STATISTICS = (
    f"SELECT term, sum(memories) FROM scope_terms WHERE scope IN ({VISIBLE}) AND term {AMONG} GROUP BY term"
)
_EVERY_MEMORY = ""
"""The term under which `scope_terms` counts the memories themselves; no text has an empty term."""


class TermsTable:
    """Which memories hold which terms, asked from within a scope."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._scopes = ScopesTable(connection)

    @property
    def version(self) -> int:
        """The version of the cutting rules that the index was built with."""
        sql = "SELECT value FROM counters WHERE name = 'terms_version'"
        number: int = single_value(self._connection, sql)
        return number

    def put(self, key: int, terms: Sequence[str]) -> None:
        """Index a memory under these terms in place of any earlier ones."""
        before = self._words(key)
        self._connection.execute(_PUT, (f" {' '.join(terms)}", key))
        self._recount(before, self._words(key))

    def remove(self, key: int) -> None:
        """Take a memory out of the index, leaving no trace of its words."""
        before = self._words(key)
        self._connection.execute("DELETE FROM terms WHERE rowid = ?", (key,))
        self._recount(before, [])

    def clear(self, *, version: int) -> None:
        """Empty the index for a rebuild under this version of the cutting rules."""
        _make_again(self._connection, "terms", version=version)
        self._connection.execute("DELETE FROM scope_terms")

    def statistics(self, terms: Sequence[str], *, scope: Scope) -> TermStatistics:
        """Return how many memories of those that a scope may see hold each term, and how many there are."""
        asked = to_json([_EVERY_MEMORY, *terms])
        rows: list[Any] = self._connection.execute(_STATISTICS, (*scope_columns(scope), asked)).fetchall()
        counts: dict[str, int] = dict(rows)
        return TermStatistics(counts.get(_EVERY_MEMORY, 0), {term: counts.get(term, 0) for term in terms})

    def search(
        self, weights: Mapping[str, float], *, scope: Scope, filters: Filters, limit: int
    ) -> list[ScoredKey]:
        """Return memories with any of the terms, best first by the sum of the weights of those they hold."""
        condition, parameters = where(scope, filters)
        holders, matches = " UNION ALL ".join([_HOLDERS] * len(weights)), self._matches(list(weights), scope)
        sql = (
            f"SELECT f.key, sum(f.weight) AS score FROM ({holders}) f CROSS JOIN memories m ON m.key = f.key "
            f"WHERE {condition} GROUP BY f.key ORDER BY score DESC, f.key DESC LIMIT ?"
        )
        asked = [
            value
            for weight, match in zip(weights.values(), matches, strict=True)
            for value in (weight, match)
        ]
        rows: list[Any] = self._connection.execute(sql, (*asked, *parameters, limit)).fetchall()
        return [contract.ScoredKey(key, score) for key, score in rows]

    def holders(self, term: str, *, scope: Scope) -> list[int]:
        """Return the keys of all memories with a term that a scope may see, whatever their status."""
        (match,) = self._matches([term], scope)
        rows: list[Any] = self._connection.execute(_FIND, (match,)).fetchall()
        return [key for (key,) in rows]

    def changed_since(self, cursor: int, *, limit: int) -> dict[int, frozenset[str]]:
        """
        Return the terms, by key, of memories that changed after a cursor; none for what left the index.

        The `scope_term` of its scope is one of them.
        """
        rows: list[Any] = self._connection.execute(_CHANGED, (cursor, limit)).fetchall()
        return {key: frozenset((words or "").split(" ")) for key, words in rows}

    def newest(self, term: str, *, scope: Scope, filters: Filters, limit: int) -> list[ScoredKey]:
        """Return the newest memories with a term that is too common to look through, scored 0."""
        condition, parameters = where(scope, filters)
        # CROSS JOIN keeps the text index outside, which yields the newest first, so the search stops early.
        sql = (
            "SELECT t.rowid FROM terms t CROSS JOIN memories m ON m.key = t.rowid "
            f"WHERE terms MATCH ? AND {condition} ORDER BY t.rowid DESC LIMIT ?"
        )
        (match,) = self._matches([term], scope)
        rows: list[Any] = self._connection.execute(sql, (match, *parameters, limit)).fetchall()
        return [contract.ScoredKey(key, 0.0) for (key,) in rows]

    def _words(self, key: int) -> list[str]:
        """Return the stored terms of a memory, after that of its scope; none for one that is not indexed."""
        row = self._connection.execute(_WORDS, (key,)).fetchone()
        return row[0].split() if row is not None else []

    def _recount(self, before: Sequence[str], after: Sequence[str]) -> None:
        """Count the terms of a memory in its scope, given how it was and how it is indexed."""
        scope = int((before or after)[0].removeprefix("=")) if before or after else 0
        old = {_EVERY_MEMORY, *before[1:]} if before else set()
        new = {_EVERY_MEMORY, *after[1:]} if after else set()
        if new - old:
            self._connection.execute(_COUNT_UP, (scope, to_json(sorted(new - old))))
        if old - new:
            gone = to_json(sorted(old - new))
            self._connection.execute(_COUNT_DOWN, (scope, gone))
            self._connection.execute(_DROP_EMPTY, (scope, gone))

    def _matches(self, terms: Sequence[str], scope: Scope) -> list[str]:
        """Return what to ask the index for, for each term: it, in one of the scopes that may be seen."""
        seen = self._scopes.visible(scope)
        if len(seen) == single_value(self._connection, "SELECT count(*) FROM scopes"):
            return [_quote_term(term) for term in terms]  # the same, and faster
        within = " OR ".join(_quote_term(contract.scope_term(number)) for number in seen) or _quote_term("=")
        return [f"{_quote_term(term)} AND ({within})" for term in terms]


def _make_again(connection: apsw.Connection, table: str, *, version: int) -> None:
    """Empty a text index by its own definition: deleting from a damaged one would fail on the damage."""
    definition: str = single_value(connection, "SELECT sql FROM sqlite_schema WHERE name = ?", (table,))
    connection.execute(f"DROP TABLE {table}")
    connection.execute(definition)
    connection.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('secure-delete', 1)")
    connection.execute("UPDATE counters SET value = ? WHERE name = ?", (version, f"{table}_version"))


# The text index of turns.
#
# Beside its words a row holds the number of its scope as a term of its own, `=12`, which no text can give.
# Every search asks for it, so the turns of others are neither found nor counted.

_PUT_TURN = (
    "INSERT OR REPLACE INTO turn_terms (rowid, words) SELECT key, '=' || scope || ? FROM turns WHERE key = ?"
)
_TURN_HOLDERS = "SELECT rowid AS key, ? AS weight FROM turn_terms WHERE turn_terms MATCH ?"
_COUNT_TURNS = "SELECT count(*) FROM (SELECT 1 FROM turn_terms WHERE turn_terms MATCH ? LIMIT ?)"
_NOT_FORGOTTEN = (
    "NOT EXISTS (SELECT 1 FROM memory_turns x JOIN memories m ON m.key = x.memory "
    "WHERE x.turn = t.key AND m.status = 'forgotten')"
)


class TurnTermsTable:
    """Which turns hold which terms, asked from within a scope."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._scopes = ScopesTable(connection)

    @property
    def version(self) -> int:
        """The version of the cutting rules that the index was built with."""
        sql = "SELECT value FROM counters WHERE name = 'turn_terms_version'"
        number: int = single_value(self._connection, sql)
        return number

    def put(self, key: int, terms: Sequence[str]) -> None:
        """Index a turn under these terms in place of any earlier ones."""
        self._connection.execute(_PUT_TURN, (f" {' '.join(terms)}", key))

    def clear(self, *, version: int) -> None:
        """Empty the index for a rebuild under this version of the cutting rules."""
        _make_again(self._connection, "turn_terms", version=version)

    def count(self, *, scope: Scope, at_most: int) -> int:
        """Return how many turns a scope may see, counting no further than `at_most`."""
        return self._count(self._within(scope), at_most) if self._scopes.visible(scope) else 0

    def frequencies(self, terms: Sequence[str], *, scope: Scope, at_most: int) -> dict[str, int]:
        """Return in how many turns that a scope may see each term stands, counting no further than that."""
        if not self._scopes.visible(scope):
            return dict.fromkeys(terms, 0)
        within = self._within(scope)
        return {term: self._count(f"{_quote_term(term)} AND ({within})", at_most) for term in terms}

    def search(
        self,
        weights: Mapping[str, float],
        *,
        scope: Scope,
        filters: Filters,
        heard_by: datetime | None,
        limit: int,
    ) -> list[ScoredKey]:
        """
        Return turns with any of the terms, best first by the sum of the weights of those they hold.

        Of the filters, time, sessions and speakers count. What a forgotten memory was read from is left out.
        """
        condition, parameters = self._where(scope, filters, heard_by)
        holders, within = " UNION ALL ".join([_TURN_HOLDERS] * len(weights)), self._within(scope)
        sql = (
            f"SELECT f.key, sum(f.weight) AS score FROM ({holders}) f CROSS JOIN turns t ON t.key = f.key "
            f"WHERE {condition} GROUP BY f.key ORDER BY score DESC, f.key DESC LIMIT ?"
        )
        asked = [
            value
            for term, weight in weights.items()
            for value in (weight, f"{_quote_term(term)} AND ({within})")
        ]
        rows = self._rows(sql, (*asked, *parameters, limit))
        return [contract.ScoredKey(key, score) for key, score in rows]

    def newest(
        self, term: str, *, scope: Scope, filters: Filters, heard_by: datetime | None, limit: int
    ) -> list[ScoredKey]:
        """Return the newest such turns with a term that is too common to look through, scored 0."""
        condition, parameters = self._where(scope, filters, heard_by)
        sql = (
            "SELECT f.rowid FROM turn_terms f CROSS JOIN turns t ON t.key = f.rowid "
            f"WHERE turn_terms MATCH ? AND {condition} ORDER BY f.rowid DESC LIMIT ?"
        )
        asked = f"{_quote_term(term)} AND ({self._within(scope)})"
        return [contract.ScoredKey(key, 0.0) for (key,) in self._rows(sql, (asked, *parameters, limit))]

    def _rows(self, sql: str, parameters: Sequence[Any]) -> list[Any]:
        """Return what the index finds; a damaged one is told apart from a damaged store."""
        with translate_errors("the index of turns"):
            return self._connection.execute(sql, parameters).fetchall()

    def _within(self, scope: Scope) -> str:
        return " OR ".join(_quote_term(contract.scope_term(one)) for one in self._scopes.visible(scope))

    def _count(self, match: str, at_most: int) -> int:
        number: int = self._rows(_COUNT_TURNS, (match, at_most))[0][0]
        return number

    def _where(self, scope: Scope, filters: Filters, heard_by: datetime | None) -> Clause:
        clauses: list[Clause] = [
            (f"t.scope IN ({VISIBLE})", [*scope_columns(scope)]),
            (_NOT_FORGOTTEN, []),
        ]
        if filters.since is not None:
            clauses.append(("t.occurred_at >= ?", [to_microseconds(filters.since)]))
        if filters.until is not None:
            clauses.append(("t.occurred_at < ?", [to_microseconds(filters.until)]))
        if heard_by is not None:
            clauses.append(("t.created_at <= ?", [to_microseconds(heard_by)]))
        if filters.sessions:
            clauses.append((f"t.session {AMONG}", [to_json(sorted(filters.sessions))]))
        if filters.speakers:
            clauses.append((f"t.speaker {AMONG}", [to_json(self._speakers(scope, filters.speakers))]))
        return " AND ".join(text for text, _ in clauses), [one for _, bound in clauses for one in bound]

    def _speakers(self, scope: Scope, wanted: frozenset[str]) -> list[str]:
        """Return the names, as they were given, of those who spoke in a scope and are meant."""
        sql = f"SELECT DISTINCT speaker FROM turns WHERE scope IN ({VISIBLE}) AND speaker IS NOT NULL"
        folded = {fold_trait(SPEAKER, name) for name in wanted}
        rows = self._connection.execute(sql, scope_columns(scope))
        return [name for (name,) in rows if fold_trait(SPEAKER, name) in folded]


def _quote_term(term: str) -> str:
    """Return a term as a quoted word, so that nothing in it is an operator."""
    return '"' + term.replace('"', '""') + '"'
