"""
The text index: an FTS5 table that is handed ready terms and only splits them at spaces.

The table keeps its own copy of the terms and deletes securely. An index without that copy would be
smaller, but was seen to leave a forgotten memory's words in the file: docs/decisions/0005-text-index.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.store.contract import Found
from engram.store.sqlite.connection import only
from engram.store.sqlite.filters import where

if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

    from engram.values import Filters, Scope

# CROSS JOIN keeps the text index outside, which yields rows in rank order, so the search stops at the limit.
_SEARCH = (
    "SELECT t.rowid, t.rank FROM terms t CROSS JOIN memories m ON m.key = t.rowid WHERE terms MATCH ? AND "
)


class TermsTable:
    """Which memories hold which terms."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    @property
    def version(self) -> int:
        """The version of the cutting rules that the index was built with."""
        sql = "SELECT value FROM counters WHERE name = 'terms_version'"
        number: int = only(self._connection, sql)
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
        self._connection.execute("DELETE FROM terms")
        self._connection.execute("UPDATE counters SET value = ? WHERE name = 'terms_version'", (version,))

    def count(self) -> int:
        """Return how many memories are indexed."""
        total: int = only(self._connection, "SELECT count(*) FROM terms_docsize")
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

    def search(self, terms: Sequence[str], *, scope: Scope, filters: Filters, limit: int) -> list[Found]:
        """Return memories with any of the terms, best first by BM25."""
        condition, parameters = where(scope, filters)
        sql = f"{_SEARCH} {condition} ORDER BY t.rank LIMIT ?"
        rows = self._connection.execute(sql, (_any_of(terms), *parameters, limit))
        return [Found(key, -rank) for key, rank in rows]

    def newest(self, term: str, *, scope: Scope, filters: Filters, limit: int) -> list[Found]:
        """Return the newest memories with a term that is too common to rank by."""
        condition, parameters = where(scope, filters)
        sql = f"{_SEARCH.replace('t.rank', '1')} {condition} ORDER BY t.rowid DESC LIMIT ?"
        rows = self._connection.execute(sql, (_any_of([term]), *parameters, limit))
        return [Found(key, 0.0) for key, _ in rows]


def _any_of(terms: Sequence[str]) -> str:
    """Return a query in which every term is a quoted word, so that nothing in it is an operator."""
    return " OR ".join('"' + term.replace('"', '""') + '"' for term in terms)
