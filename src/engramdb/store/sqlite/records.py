"""Tables of imports, idempotent replies, the change feed and the health of parts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from engramdb.store.contract.capture import FeedEntry, FeedPage, Imported
from engramdb.store.contract.documents import StoredReply
from engramdb.store.contract.whole import PartTally
from engramdb.store.sqlite.connection import corrupt_on_error, single_value
from engramdb.store.sqlite.filters import VISIBLE, ScopesTable, scope_columns
from engramdb.store.sqlite.rows import (
    from_json,
    from_microseconds,
    optional_from_microseconds,
    optional_to_microseconds,
    to_json,
    to_microseconds,
)
from engramdb.values import Action, ImportKind, ImportOrigin, Kind, MemoryId, Scope, Status, TurnId

if TYPE_CHECKING:
    import apsw


# The table `imports`: which records of which sources were taken in.

_ADD = (
    "INSERT OR IGNORE INTO imports (mark, kind, place, memory, turn, at, live) VALUES (?, ?, ?, ?, ?, ?, ?)"
)
_FROM_FILES = "SELECT 1 FROM imports WHERE turn IN (SELECT value FROM json_each(?)) AND NOT live LIMIT 1"
_KNOWN = "SELECT mark FROM imports WHERE mark IN (SELECT unhex(value) FROM json_each(?))"
_MEMORIES_OF_MARKS = (
    "SELECT mark, memory FROM imports WHERE mark IN (SELECT unhex(value) FROM json_each(?)) "
    "AND memory IS NOT NULL"
)
_LATEST_BY_PLACE = (
    "SELECT i.place, i.memory FROM imports i JOIN memories m ON m.id = i.memory "
    "WHERE i.kind = ? AND m.scope = ? AND substr(i.place, 1, length(?)) = ? ORDER BY i.at, m.key"
)
_OF_MEMORY = "SELECT kind, place, at FROM imports WHERE memory = ? ORDER BY at LIMIT 1"
_OF_TURN = (
    "SELECT kind, place, at FROM imports WHERE turn IN "
    "(SELECT t.value FROM memories m, json_each(m.turns) t WHERE m.id = ?) ORDER BY at LIMIT 1"
)


class ImportsTable:
    """Records by their marks."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def known_marks(self, marks: Sequence[bytes]) -> set[bytes]:
        """Return those of the marks that an import has left before."""
        wanted = to_json([mark.hex() for mark in marks])
        rows: list[Any] = self._connection.execute(_KNOWN, (wanted,)).fetchall()
        return {mark for (mark,) in rows}

    def memories_of(self, marks: Sequence[bytes]) -> dict[bytes, MemoryId]:
        """Return the memories that the records of these marks became, as far as they became one."""
        wanted = to_json([mark.hex() for mark in marks])
        rows: list[Any] = self._connection.execute(_MEMORIES_OF_MARKS, (wanted,)).fetchall()
        return dict(rows)

    def latest_by_place(self, kind: ImportKind, *, scope: Scope, under: str) -> dict[str, MemoryId]:
        """Return the memory that each place below a name became last, of exactly this scope."""
        known = ScopesTable(self._connection).find(scope)
        rows: list[Any] = self._connection.execute(
            _LATEST_BY_PLACE, (str(kind), known, under, under)
        ).fetchall()
        return dict(rows)

    def add(self, records: Sequence[Imported], *, at: datetime) -> None:
        """Note records that were taken in; a mark that is there already stays as it is."""
        moment = to_microseconds(at)
        rows = [
            (one.mark, str(one.kind), one.place, one.memory_id, one.turn_id, moment, one.is_live)
            for one in records
        ]
        self._connection.executemany(_ADD, rows)

    def are_from_files(self, turn_ids: Sequence[TurnId]) -> bool:
        """Return whether one of the turns was read from a file, and not heard as it was said."""
        return bool(self._connection.execute(_FROM_FILES, (to_json(list(turn_ids)),)).fetchall())

    def origin(self, memory_id: MemoryId) -> ImportOrigin | None:
        """Return where a memory, or the first turn that it rests on, was imported from."""
        row: Any = self._connection.execute(_OF_MEMORY, (memory_id,)).fetchone()
        row = row or self._connection.execute(_OF_TURN, (memory_id,)).fetchone()
        with corrupt_on_error("imports"):
            return row and ImportOrigin(kind=ImportKind(row[0]), place=row[1], at=from_microseconds(row[2]))

    def count(self) -> int:
        """Return how many records were ever taken in."""
        return int(single_value(self._connection, "SELECT count(*) FROM imports"))


# The tables `replies` and `reply_subjects`: answers by the caller's key, and the ids that each names.

_GET = "SELECT request, status, headers, body, at FROM replies WHERE caller = ? AND key = ?"
_BEGIN = "INSERT OR REPLACE INTO replies (caller, key, request, at) VALUES (?, ?, ?, ?)"
_FINISH = "UPDATE replies SET status = ?, headers = ?, body = ? WHERE caller = ? AND key = ?"
_NAME = "INSERT OR IGNORE INTO reply_subjects (subject, caller, key) VALUES (?, ?, ?)"
_DROP = "DELETE FROM replies WHERE caller = ? AND key = ?"
_ERASE = (
    "UPDATE replies SET request = X'', status = 410, headers = NULL, body = NULL "
    "WHERE caller = ?1 AND key = ?2 AND EXISTS (SELECT 1 FROM reply_subjects s JOIN memories m "
    "ON m.id = s.subject WHERE s.caller = ?1 AND s.key = ?2 AND m.status = 'erased')"
)
_EXPIRE = "DELETE FROM replies WHERE at < ?"


class RepliesTable:
    """Answers by caller and key."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def get(self, caller: str, key: str) -> StoredReply | None:
        """Return what is known of a key."""
        row: Any = self._connection.execute(_GET, (caller, key)).fetchone()
        if row is None:
            return None
        request, status, headers, body, at = row
        told = from_json(headers) if headers else {}
        return StoredReply(request=request, status=status, headers=told, body=body, at=from_microseconds(at))

    def begin(self, caller: str, key: str, *, request: bytes, at: datetime) -> None:
        """Note that a request is under way; one that was under way before starts over."""
        self._connection.execute(_BEGIN, (caller, key, request, to_microseconds(at)))

    def finish(
        self,
        caller: str,
        key: str,
        *,
        status: int,
        headers: Mapping[str, str],
        body: bytes,
        subjects: Collection[str],
    ) -> None:
        """Keep an answer, and the ids of what it names; empty where a memory was erased meanwhile."""
        self._connection.execute(_FINISH, (status, to_json(dict(headers)), body, caller, key))
        if self._connection.changes():  # the key may have expired while a long request was under way
            self._connection.executemany(_NAME, [(one, caller, key) for one in subjects])
            self._connection.execute(_ERASE, (caller, key))

    def drop(self, caller: str, key: str) -> None:
        """Forget a key: its request may be sent again."""
        self._connection.execute(_DROP, (caller, key))

    def expire(self, *, before: datetime) -> None:
        """Forget the keys that were begun before a moment."""
        self._connection.execute(_EXPIRE, (to_microseconds(before),))


# The table `history` read as a feed: what changed after a row, for those who may see it.

_LATEST = "SELECT coalesce(max(key), 0) FROM history"
_NEXT = "SELECT key FROM history WHERE key > ? ORDER BY key LIMIT ?"
_SEEN = (
    "SELECT h.key, h.memory_id, h.action, m.kind, h.new_status, h.at "
    "FROM history h JOIN memories m ON m.id = h.memory_id "
    f"WHERE h.key > ? AND h.key <= ? AND m.scope IN ({VISIBLE}) ORDER BY h.key"
)


class FeedTable:
    """Changes in the order in which they were made."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def latest(self) -> int:
        """Return the place after which nothing has happened yet."""
        return int(single_value(self._connection, _LATEST))

    def after(self, cursor: int, *, scope: Scope, limit: int) -> FeedPage:
        """Return what happened after a place to the memories that a scope sees."""
        keys: list[Any] = self._connection.execute(_NEXT, (cursor, limit)).fetchall()
        if not keys:
            return FeedPage(cursor=cursor)
        last = int(keys[-1][0])
        rows: list[Any] = self._connection.execute(_SEEN, (cursor, last, *scope_columns(scope))).fetchall()
        with corrupt_on_error("history"):
            entries = tuple(_entry(row) for row in rows)
        return FeedPage(entries=entries, cursor=last)


def _entry(row: Any) -> FeedEntry:
    key, memory, action, kind, status, at = row
    return FeedEntry(
        cursor=key,
        memory_id=memory,
        action=Action(action),
        kind=Kind(kind),
        status=Status(status) if status else None,
        at=from_microseconds(at),
    )


# The table `parts`: how each part of the engine has fared, across processes.

_COLUMNS = (
    "name, last_success, last_failure, failure, failures, calls, input_tokens, output_tokens, milliseconds"
)
_LATER = "nullif(max(coalesce(parts.{0}, 0), coalesce(excluded.{0}, 0)), 0)"
_ADD_TALLY = (
    f"INSERT INTO parts ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET "
    "failure = CASE WHEN coalesce(excluded.last_failure, 0) >= coalesce(parts.last_failure, 1) "
    "THEN excluded.failure ELSE parts.failure END, "
    f"last_success = {_LATER.format('last_success')}, last_failure = {_LATER.format('last_failure')}, "
    + ", ".join(
        f"{name} = parts.{name} + excluded.{name}"
        for name in ("failures", "calls", "input_tokens", "output_tokens", "milliseconds")
    )
)


class PartsTable:
    """Parts by name."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def add(self, tally: PartTally) -> None:
        """Add what happened since the last time; an older moment does not replace a later one."""
        moments = (optional_to_microseconds(one) for one in (tally.last_success, tally.last_failure))
        numbers = (tally.failures, tally.calls, tally.input_tokens, tally.output_tokens, tally.milliseconds)
        self._connection.execute(_ADD_TALLY, (tally.name, *moments, tally.failure, *numbers))

    def list(self) -> Sequence[PartTally]:
        """Return every part that was ever noted, by name."""
        rows: Any = self._connection.execute(f"SELECT {_COLUMNS} FROM parts ORDER BY name")
        return [_tally(*row) for row in rows]


def _tally(
    name: str, success: int | None, failed: int | None, failure: str | None, *numbers: Any
) -> PartTally:
    failures, calls, input_tokens, output_tokens, milliseconds = numbers
    return PartTally(
        name=name,
        last_success=optional_from_microseconds(success),
        last_failure=optional_from_microseconds(failed),
        failure=failure,
        failures=failures,
        calls=calls,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        milliseconds=milliseconds,
    )
