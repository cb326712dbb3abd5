"""
Look for damage in a file, and for tables that disagree.

Called by `doctor`. The first two checks are about canonical data and cannot be repaired here; the
others are about derived data, which `doctor --fix` rebuilds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import apsw

from engram.store.sqlite.rows import to_json
from engram.values import Check, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

_INDEXED = to_json([status for status in Status if status.is_indexed])
_UNINDEXED = (
    "SELECT count(*) FROM memories m WHERE m.status IN (SELECT value FROM json_each(?)) "
    "AND NOT EXISTS (SELECT 1 FROM terms_docsize d WHERE d.id = m.key)"
)
_STRAY = (
    "SELECT count(*) FROM terms_docsize d LEFT JOIN memories m ON m.key = d.id "
    "WHERE m.key IS NULL OR m.status NOT IN (SELECT value FROM json_each(?))"
)
_STRAY_VECTORS = (
    "SELECT count(*) FROM vectors v LEFT JOIN memories m ON m.key = v.memory "
    "WHERE m.key IS NULL OR m.status NOT IN (SELECT value FROM json_each(?))"
)


def checks(connection: apsw.Connection) -> Iterator[Check]:
    """Yield one result per thing looked at; stops early where the file itself is damaged."""
    damage = [text for (text,) in connection.execute("PRAGMA integrity_check(5)") if text != "ok"]
    yield Check(name="file", ok=not damage, found="; ".join(damage) or "every page and index adds up")
    if damage:
        return
    orphans = connection.execute("PRAGMA foreign_key_check").fetchall()
    yield Check(name="references", ok=not orphans, found=f"{len(orphans)} rows refer to nothing")
    yield _text_index(connection)
    for name, sql in (
        ("text index complete", _UNINDEXED),
        ("text index free of the forgotten", _STRAY),
        ("vectors free of the forgotten", _STRAY_VECTORS),
    ):
        (wrong,) = connection.execute(sql, (_INDEXED,)).fetchall()[0]
        yield Check(name=name, ok=wrong == 0, found=f"{wrong} memories are not as they should be")


def _text_index(connection: apsw.Connection) -> Check:
    """Let FTS5 compare its index with the terms that it was given."""
    try:
        connection.execute("INSERT INTO terms (terms, rank) VALUES ('integrity-check', 0)")
    except apsw.CorruptError as exc:
        return Check(name="text index", ok=False, found=str(exc))
    return Check(name="text index", ok=True, found="agrees with the terms it was given")
