"""A transaction hands out every table, each made when it is first asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from engramdb.store.sqlite.connection import connect
from engramdb.store.sqlite.store import Tables

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def tables(tmp_path: Path) -> Iterator[Tables]:
    """The tables of a file."""
    connection = connect(
        tmp_path / "m.db", key=b"", is_durable=False, busy_timeout_seconds=1, is_reader=False
    )
    yield Tables(connection)
    connection.close()


@pytest.mark.parametrize("name", Tables.__annotations__)
def test_every_table_is_what_its_type_says(tables: Tables, name: str) -> None:
    """Its class is that of the annotation, and a second look gives the same table."""
    table = getattr(tables, name)

    assert type(table).__name__ == Tables.__annotations__[name]
    assert getattr(tables, name) is table


def test_there_are_no_other_tables(tables: Tables) -> None:
    """A misspelt name is an error that says so."""
    with pytest.raises(AttributeError, match="memmories"):
        tables.memmories  # noqa: B018
