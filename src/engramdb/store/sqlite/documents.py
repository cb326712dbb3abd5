"""The table of documents stored verbatim."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from engramdb.errors import ContentTooLarge
from engramdb.store.contract.documents import DocumentRange, Pointer
from engramdb.store.sqlite.connection import corrupt_on_error, single_value
from engramdb.store.sqlite.filters import ScopesTable, scope_columns
from engramdb.store.sqlite.rows import (
    from_microseconds,
    optional_from_microseconds,
    scope_from,
    to_json,
    to_microseconds,
)
from engramdb.text.normalize import is_text
from engramdb.values import Document, MemoryId, Scope, Status, TurnId

if TYPE_CHECKING:
    import apsw

MAX_DOCUMENT_BYTES = 16 * 1024 * 1024
"""A message with a picture in it must fit."""

Clause = tuple[str, list[Any]]

_SELECT = (
    "SELECT d.id, d.place, d.key, d.value, d.memory, d.turn, d.created_at, d.updated_at, d.expires_at, "
    "d.lifetime, s.project, s.squad, s.agent, s.channel, s.user "
    "FROM shelf d JOIN scopes s ON s.id = d.scope LEFT JOIN memories m ON m.id = d.memory"
)
_POINTERS = (
    "SELECT d.id, d.scope, d.memory, m.key, m.status FROM shelf d LEFT JOIN memories m ON m.id = d.memory"
)
_IS_SHOWN = "(d.expires_at IS NULL OR d.expires_at > ?) AND coalesce(m.status, '') <> 'forgotten'"
_WITHIN = (
    "d.scope IN (SELECT w.id FROM scopes w WHERE (? = '' OR w.project = ?) AND (? = '' OR w.squad = ?) "
    "AND (? = '' OR w.agent = ?) AND (? = '' OR w.channel = ?) AND (? = '' OR w.user = ?))"
)
_PUT = (
    "INSERT INTO shelf (scope, place, key, value, memory, turn, created_at, updated_at, expires_at, "
    "lifetime) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (scope, place, key) DO UPDATE SET "
    "value = excluded.value, memory = excluded.memory, turn = excluded.turn, "
    "updated_at = excluded.updated_at, expires_at = excluded.expires_at, lifetime = excluded.lifetime"
)
_STATUSES: dict[str | None, Status | None] = {None: None, **{str(one): one for one in Status}}
_AMONG = "d.id IN (SELECT value FROM json_each(?))"
_TOUCH = (
    "UPDATE shelf SET expires_at = ? + lifetime "
    "WHERE lifetime IS NOT NULL AND id IN (SELECT value FROM json_each(?))"
)


class DocumentsTable:
    """Documents by scope, place and key."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._scopes = ScopesTable(connection)

    def get(self, place: tuple[str, ...], key: str, *, scope: Scope, now: datetime) -> Document | None:
        """Return the document under a key of exactly this scope."""
        return self._one(f"{_ONE_DOCUMENT} AND {_IS_SHOWN}", place, key, scope, [to_microseconds(now)])

    def get_any(self, place: tuple[str, ...], key: str, *, scope: Scope) -> Document | None:
        """Return what lies under a key, also where no reader would be given it any more."""
        return self._one(_ONE_DOCUMENT, place, key, scope, [])

    def put(
        self,
        place: tuple[str, ...],
        key: str,
        value: Any,
        *,
        scope: Scope,
        now: datetime,
        memory_id: MemoryId | None = None,
        turn_id: TurnId | None = None,
        lifetime: timedelta | None = None,
    ) -> Document:
        """Put a document in place of what lies under its key, which keeps its number and beginning."""
        moment, length = to_microseconds(now), _lifetime_microseconds(lifetime)
        ends = None if length is None else moment + length
        own = (self._scopes.make(scope), to_path(place), key, to_json_text(value), memory_id, turn_id)
        self._connection.execute(_PUT, (*own, moment, moment, ends, length))
        put = self.get_any(place, key, scope=scope)
        assert put is not None  # noqa: S101 - it was written in this transaction
        return put

    def drop(self, numbers: Sequence[int]) -> int:
        """Delete documents, and return how many there were."""
        sql = "DELETE FROM shelf WHERE id IN (SELECT value FROM json_each(?))"
        self._connection.execute(sql, (to_json(list(numbers)),))
        return self._connection.changes()

    def by_ids(self, numbers: Sequence[int], *, now: datetime) -> dict[int, Document]:
        """Return the documents that are there, by number."""
        sql = f"{_SELECT} WHERE {_AMONG} AND {_IS_SHOWN}"
        found = self._many(sql, [to_json(list(numbers)), to_microseconds(now)])
        return {item.id: item for item in found}

    def iterate(self, document_range: DocumentRange, *, offset: int = 0) -> Generator[Document, None, None]:
        """Yield documents, the first stored first; to be closed before the transaction ends."""
        condition, bound = self._where(document_range)
        sql = f"{_SELECT} WHERE {condition} ORDER BY d.id LIMIT -1 OFFSET ?"
        return self._many(sql, [*bound, offset])

    def latest(self, document_range: DocumentRange, *, limit: int | None) -> Sequence[Document]:
        """Return the documents that were stored last, or all, the last one first."""
        condition, bound = self._where(document_range)
        most = -1 if limit is None else limit
        return list(self._many(f"{_SELECT} WHERE {condition} ORDER BY d.id DESC LIMIT ?", [*bound, most]))

    def pointers(self, document_range: DocumentRange) -> Sequence[Pointer]:
        """Return which memories the documents point to, the first stored first."""
        condition, bound = self._where(document_range)
        sql = f"{_POINTERS} WHERE {condition} ORDER BY d.id"
        rows: list[Any] = self._connection.execute(sql, bound).fetchall()
        with corrupt_on_error("shelf"):
            scopes = {number: self._scopes.get(number) for number in {row[1] for row in rows}}
            return [
                Pointer(number, scopes[scope], memory, key, _STATUSES[status])
                for number, scope, memory, key, status in rows
            ]

    def places(self, document_range: DocumentRange) -> Sequence[tuple[str, ...]]:
        """Return the places that hold a document, in order."""
        condition, bound = self._where(document_range)
        sql = (
            f"SELECT DISTINCT d.place FROM shelf d LEFT JOIN memories m ON m.id = d.memory WHERE {condition}"
        )
        rows: list[Any] = self._connection.execute(sql, bound).fetchall()
        with corrupt_on_error("shelf"):
            return sorted(tuple(json.loads(place)) for (place,) in rows)

    def pointing_to(self, memory_id: MemoryId) -> Sequence[Document]:
        """Return every document that points to a memory."""
        return list(self._many(f"{_SELECT} WHERE d.memory = ? ORDER BY d.id", [memory_id]))

    def key_of(self, memory_id: MemoryId) -> int | None:
        """Return the key of a memory."""
        row: Any = self._connection.execute("SELECT key FROM memories WHERE id = ?", (memory_id,)).fetchone()
        return None if row is None else int(row[0])

    def touch(self, numbers: Sequence[int], *, now: datetime) -> Sequence[Document]:
        """Let the lifetimes of documents begin again, and return those that have one."""
        wanted = to_json(list(numbers))
        self._connection.execute(_TOUCH, (to_microseconds(now), wanted))
        return list(self._many(f"{_SELECT} WHERE {_AMONG} AND d.lifetime IS NOT NULL", [wanted]))

    def expired(self, now: datetime, *, limit: int) -> Sequence[Document]:
        """Return documents whose time is over, the longest expired first."""
        sql = f"{_SELECT} WHERE d.expires_at <= ? ORDER BY d.expires_at LIMIT ?"
        return list(self._many(sql, [to_microseconds(now), limit]))

    def count(self) -> int:
        """Return how many documents there are."""
        return int(single_value(self._connection, "SELECT count(*) FROM shelf"))

    def _one(
        self, sql: str, place: tuple[str, ...], key: str, scope: Scope, more: Iterable[Any]
    ) -> Document | None:
        bound = [self._scopes.find(scope), to_path(place), key, *more]
        return next(iter(list(self._many(sql, bound))), None)

    def _many(self, sql: str, bound: Sequence[Any]) -> Generator[Document, None, None]:
        cursor = self._connection.execute(sql, bound)
        try:
            with corrupt_on_error("shelf"):
                for row in cursor:
                    yield _document(row)
        finally:
            cursor.close()  # a statement left open would keep its reader at an old snapshot

    def _where(self, document_range: DocumentRange) -> Clause:
        """
        Return the condition of a range, over `shelf d`, `scopes s` and `memories
        m`.
        """
        clauses: list[Clause] = [(_IS_SHOWN, [to_microseconds(document_range.now)])]
        if document_range.within:
            clauses.append(
                (_WITHIN, [name for name in scope_columns(document_range.scope) for _ in range(2)])
            )
        else:
            clauses.append(("d.scope = ?", [self._scopes.find(document_range.scope)]))
        if document_range.place:
            path = to_path(document_range.place)
            start = path[:-1]
            # What lies below continues with a comma, and "-" is the next character after it.
            below = [path, f"{start},", f"{start}-"]
            clauses.append(("(d.place = ? OR (d.place >= ? AND d.place < ?))", below))
        if document_range.key is not None:
            clauses.append(("d.key = ?", [document_range.key]))
        return " AND ".join(text for text, _ in clauses), [one for _, bound in clauses for one in bound]


_ONE_DOCUMENT = f"{_SELECT} WHERE d.scope = ? AND d.place = ? AND d.key = ?"


def to_path(place: Sequence[str]) -> str:
    """Return a place as stored."""
    return json.dumps(list(place), ensure_ascii=False, separators=(",", ":"))


def to_json_text(value: Any) -> str:
    """Return a document as stored; half a surrogate pair, which UTF-8 cannot hold, is escaped."""
    written = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    if not is_text(written):
        written = json.dumps(value, separators=(",", ":"), allow_nan=False)
    size = len(written.encode())
    if size > MAX_DOCUMENT_BYTES:
        raise ContentTooLarge(f"a document of {size} bytes is too large; at most {MAX_DOCUMENT_BYTES}")
    return written


def _lifetime_microseconds(lifetime: timedelta | None) -> int | None:
    return None if lifetime is None else lifetime // timedelta(microseconds=1)


def _document(row: Sequence[Any]) -> Document:
    number, place, key, value, memory, turn, created_at, updated_at, expires_at, lifetime = row[:10]
    return Document(
        id=number,
        place=tuple(json.loads(place)),
        key=key,
        value=json.loads(value),
        scope=scope_from(row[10:15]),
        memory_id=memory,
        turn_id=turn,
        created_at=from_microseconds(created_at),
        updated_at=from_microseconds(updated_at),
        expires_at=optional_from_microseconds(expires_at),
        lifetime=None if lifetime is None else timedelta(microseconds=lifetime),
    )
