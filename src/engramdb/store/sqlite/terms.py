"""
The text index: an FTS5 table that is handed ready terms and only splits them at spaces.

The table keeps its own copy of the terms and deletes securely. An index without that copy would be
smaller, but was seen to leave a forgotten memory's words in the file: docs/decisions/0005-text-index.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from engramdb.store import contract
from engramdb.store.contract import ScoredKey
from engramdb.store.sqlite.connection import single_value
from engramdb.store.sqlite.filters import where
from engramdb.values import Filters, Scope

if TYPE_CHECKING:
    import apsw

_HOLDERS = "SELECT rowid AS key, ? AS weight FROM terms WHERE terms MATCH ?"


class TermsTable:
    """Which memories hold which terms."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    @property
    def version(self) -> int:
        """The version of the cutting rules that the index was built with."""
        sql = "SELECT value FROM counters WHERE name = 'terms_version'"
        number: int = single_value(self._connection, sql)
        return number

    def put(self, key: int, terms: Sequence[str]) -> None:
        """Index a memory under these terms in place of any earlier ones."""
        self._connection.execute(
            "INSERT OR REPLACE INTO terms (rowid, words) VALUES (?, ?)", (key, " ".join(terms))
        )

    def remove(self, key: int) -> None:
        """Take a memory out of the index, leaving no trace of its words."""
        self._connection.execute("DELETE FROM terms WHERE rowid = ?", (key,))

    def clear(self, *, version: int) -> None:
        """Empty the index for a rebuild under this version of the cutting rules."""
        # Made again from its own definition: emptying a damaged index would fail on the damage.
        definition: str = single_value(self._connection, "SELECT sql FROM sqlite_schema WHERE name = 'terms'")
        self._connection.execute("DROP TABLE terms")
        self._connection.execute(definition)
        self._connection.execute("INSERT INTO terms (terms, rank) VALUES ('secure-delete', 1)")
        self._connection.execute("UPDATE counters SET value = ? WHERE name = 'terms_version'", (version,))

    def count(self) -> int:
        """Return how many memories are indexed."""
        total: int = single_value(self._connection, "SELECT count(*) FROM terms_docsize")
        return total

    def frequencies(self, terms: Sequence[str]) -> dict[str, int]:
        """Return in how many memories each term stands; 0 for unknown ones."""
        found = dict.fromkeys(terms, 0)
        for term in terms:
            for (documents,) in self._connection.execute(
                "SELECT doc FROM term_counts WHERE term = ?", (term,)
            ):
                found[term] = documents
        return found

    def search(
        self, weights: Mapping[str, float], *, scope: Scope, filters: Filters, limit: int
    ) -> list[ScoredKey]:
        """Return memories with any of the terms, best first by the sum of the weights of those they hold."""
        condition, parameters = where(scope, filters)
        holders = " UNION ALL ".join([_HOLDERS] * len(weights))
        sql = (
            f"SELECT f.key, sum(f.weight) AS score FROM ({holders}) f CROSS JOIN memories m ON m.key = f.key "
            f"WHERE {condition} GROUP BY f.key ORDER BY score DESC, f.key DESC LIMIT ?"
        )
        asked = [value for term, weight in weights.items() for value in (weight, _quote_term(term))]
        rows: list[Any] = self._connection.execute(sql, (*asked, *parameters, limit)).fetchall()
        return [contract.ScoredKey(key, score) for key, score in rows]

    def newest(self, term: str, *, scope: Scope, filters: Filters, limit: int) -> list[ScoredKey]:
        """Return the newest memories with a term that is too common to look through, scored 0."""
        condition, parameters = where(scope, filters)
        # CROSS JOIN keeps the text index outside, which yields the newest first, so the search stops early.
        sql = (
            "SELECT t.rowid FROM terms t CROSS JOIN memories m ON m.key = t.rowid "
            f"WHERE terms MATCH ? AND {condition} ORDER BY t.rowid DESC LIMIT ?"
        )
        rows: list[Any] = self._connection.execute(sql, (_quote_term(term), *parameters, limit)).fetchall()
        return [contract.ScoredKey(key, 0.0) for (key,) in rows]


def _quote_term(term: str) -> str:
    """Return a term as a quoted word, so that nothing in it is an operator."""
    return '"' + term.replace('"', '""') + '"'
