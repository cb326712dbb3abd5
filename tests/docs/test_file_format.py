"""The file-format page names every table and column that a store has."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import apsw
import pytest

from engramdb.store.sqlite.store import SqliteStore
from engramdb.testing import ManualClock

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = Path(__file__).parents[2] / "docs/reference/file-format.md"


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[apsw.Connection]:
    """Open a fresh store with a plain SQLite connection, as another tool would."""
    path = tmp_path / "memory.db"
    SqliteStore.open(str(path), now=ManualClock().now()).close()
    opened = apsw.Connection(str(path))
    yield opened
    opened.close()


def test_every_table_has_a_section_that_names_its_columns(connection: apsw.Connection) -> None:
    """A reader of the page can make sense of every column in the file."""
    page = PAGE.read_text(encoding="utf-8")
    tables = connection.execute("SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table'")
    names = {name for (name,) in tables.fetchall() if not str(name).startswith("sqlite_")}
    missing = []

    for table in sorted(str(name) for name in names):
        section = re.search(rf"^## {table}\n(.*?)(?=^## |\Z)", page, re.DOTALL | re.MULTILINE)
        documented = set(re.findall(r"`(\w+)`", section.group(1))) if section else set()
        columns = connection.execute("SELECT name FROM pragma_table_xinfo(?)", (table,)).fetchall()
        missing += [f"{table}.{column}" for (column,) in columns if column not in documented]

    assert missing == []


def test_the_page_names_the_format_that_files_have(connection: apsw.Connection) -> None:
    """The stated format version and application id are the ones in the header."""
    page = PAGE.read_text(encoding="utf-8")

    version = connection.pragma("user_version")
    application = connection.pragma("application_id")

    assert f"format version, now {version}" in page
    assert f"0x{application:X}".lower() in page.lower()
