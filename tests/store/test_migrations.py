"""A file is laid out once, whoever opens it, and a failed step leaves it as it was."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

import apsw
import pytest

from engramdb.errors import NotAnEngramStore
from engramdb.store.sqlite.migrations import APPLICATION_ID, FORMAT_VERSION, MIGRATIONS, migrate, version_of
from engramdb.store.sqlite.store import SqliteStore

if TYPE_CHECKING:
    from pathlib import Path

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Interrupted:
    """A connection that lets another process act once, before its first question about the tables."""

    def __init__(self, connection: apsw.Connection, act: Any) -> None:
        self._connection = connection
        self._act = act

    def pragma(self, *arguments: object) -> object:
        """Ask the connection inside."""
        return cast("Any", self._connection).pragma(*arguments)

    def execute(self, *arguments: object) -> object:
        """Let the other act, then ask the connection inside."""
        act, self._act = self._act, lambda: None
        act()
        return cast("Any", self._connection).execute(*arguments)


def test_a_new_file_says_what_it_is(store_path: Path) -> None:
    """The header names the program and the format, and each step has left its record."""
    SqliteStore.open(str(store_path), now=NOW).close()

    connection = apsw.Connection(str(store_path))
    records = connection.execute("SELECT number, name FROM migrations").fetchall()

    assert connection.pragma("application_id") == APPLICATION_ID
    assert connection.pragma("user_version") == FORMAT_VERSION
    assert connection.pragma("journal_mode") == "wal"
    assert [number for number, _ in records] == list(range(1, len(MIGRATIONS) + 1))
    connection.close()


def test_every_table_is_strict(store_path: Path) -> None:
    """No column holds another type than it says, so any tool can read the file."""
    SqliteStore.open(str(store_path), now=NOW).close()

    connection = apsw.Connection(str(store_path))
    tables = connection.execute("SELECT name, type, strict FROM pragma_table_list WHERE schema = 'main'")
    lax = [name for name, kind, strict in tables if kind == "table" and not strict]
    connection.close()

    assert lax == ["sqlite_schema"] or set(lax) <= {"sqlite_schema", "sqlite_sequence"}


def test_opening_again_changes_nothing(store_path: Path) -> None:
    """A file that is up to date is not written by opening it."""
    SqliteStore.open(str(store_path), now=NOW).close()
    before = store_path.read_bytes()

    SqliteStore.open(str(store_path), now=NOW).close()

    assert store_path.read_bytes() == before


def test_another_process_may_lay_the_file_out_at_any_moment(store_path: Path) -> None:
    """A file that becomes a store between two looks at it is a store, not another program's database."""
    connection = apsw.Connection(str(store_path))
    other = apsw.Connection(str(store_path))

    interrupted = Interrupted(connection, lambda: migrate(other, "other", now=NOW))
    version = version_of(cast("apsw.Connection", interrupted), str(store_path))

    assert version in (0, FORMAT_VERSION)
    connection.close()
    other.close()


@pytest.mark.parametrize("mark", ["CREATE TABLE t (x)", "PRAGMA user_version = 7"])
def test_a_file_with_anything_of_someone_elses_is_not_ours(store_path: Path, mark: str) -> None:
    """A table or a version number of another program is enough to leave the file alone."""
    connection = apsw.Connection(str(store_path))
    connection.execute(mark)

    with pytest.raises(NotAnEngramStore):
        version_of(connection, str(store_path))

    connection.close()


def test_a_step_that_fails_leaves_the_file_as_it_was(store_path: Path) -> None:
    """A killed or failing migration is undone as a whole: the next opening starts over."""
    connection = apsw.Connection(str(store_path))
    connection.set_authorizer(lambda *what: apsw.SQLITE_DENY if "vectors" in what else apsw.SQLITE_OK)

    with pytest.raises(apsw.Error):
        migrate(connection, str(store_path), now=NOW)
    connection.close()
    SqliteStore.open(str(store_path), now=NOW).close()

    again = apsw.Connection(str(store_path))
    assert again.pragma("user_version") == FORMAT_VERSION
    again.close()
