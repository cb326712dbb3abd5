"""Make damaged derived tables again: they cannot be emptied, so they are taken out of the layout."""

from __future__ import annotations

from collections.abc import Collection

import apsw

from engramdb.errors import StoreCorrupt
from engramdb.store.sqlite.checks import DERIVED_TABLES, owner_of

_LAYOUT = "SELECT name, tbl_name, sql FROM sqlite_schema WHERE type IN ('table', 'index') ORDER BY rowid"


def remake_tables(connection: apsw.Connection, tables: Collection[str]) -> None:
    """Put empty tables in the place of damaged ones, and rewrite the file without their pages."""
    for table in tables:
        if table not in DERIVED_TABLES:
            raise StoreCorrupt(
                f"the table {table} cannot be made again", hint="Run `engram doctor --salvage`."
            )
    rows = [row for row in connection.execute(_LAYOUT).fetchall() if owner_of(str(row[1])) in tables]
    connection.execute("BEGIN IMMEDIATE")
    try:
        connection.pragma("writable_schema", "on")
        for name, _, _ in rows:
            connection.execute("DELETE FROM sqlite_schema WHERE name = ?", (name,))
        connection.pragma("writable_schema", "reset")  # and reads the layout again
        for _, owner, sql in rows:
            if sql is not None and owner in tables:  # the parts of a text index come with it
                connection.execute(str(sql))
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        connection.pragma("writable_schema", "reset")
        raise
    connection.execute("VACUUM")
