"""The tables `files` and `erasures`: what was written from the store, and how often words were erased."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from engramdb.store.sqlite.connection import corrupt_on_error, single_value
from engramdb.store.sqlite.rows import from_microseconds, to_microseconds
from engramdb.values.files import FileKind, WrittenFile

if TYPE_CHECKING:
    import apsw

_ADD = (
    "INSERT INTO files (kind, path, given, written_at, actor) VALUES (?, ?, ?, ?, ?) "
    "ON CONFLICT (path) DO UPDATE SET kind = excluded.kind, given = excluded.given, "
    "written_at = excluded.written_at, actor = excluded.actor"
)


class FilesTable:
    """Files by their paths."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def add(self, file: WrittenFile) -> None:
        """Register a file; one that is written again has the latest moment."""
        row = (str(file.kind), file.path, file.given, to_microseconds(file.written_at), file.by)
        self._connection.execute(_ADD, row)

    def list(self) -> Sequence[WrittenFile]:
        """Return every registered file, in the order in which they were first written."""
        sql = "SELECT kind, path, given, written_at, actor FROM files ORDER BY id"
        rows: list[Any] = self._connection.execute(sql).fetchall()
        with corrupt_on_error("files"):
            return [
                WrittenFile(
                    kind=FileKind(kind), path=path, given=given, written_at=from_microseconds(at), by=by
                )
                for kind, path, given, at, by in rows
            ]

    def drop(self, path: str) -> None:
        """Forget a file that is no more."""
        self._connection.execute("DELETE FROM files WHERE path = ?", (path,))

    def erasures(self) -> int:
        """Return a number that grows whenever words of a memory or a turn are erased, in any process."""
        return int(single_value(self._connection, "SELECT number FROM erasures"))
