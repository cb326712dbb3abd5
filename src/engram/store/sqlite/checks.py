"""
Look for damage in a file, and for tables that disagree.

Called by `doctor`. The first three checks are about canonical data and cannot be repaired here; the
others are about derived data, which `doctor --fix` rebuilds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import apsw

from engram.errors import StoreCorrupt
from engram.store.sqlite.connection import only
from engram.store.sqlite.rows import SELECTED, from_row, to_json
from engram.text.counted import counted
from engram.text.normal import fingerprint
from engram.values import Check, Status

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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


_BROKEN_VECTORS = (
    "SELECT count(*) FROM vectors v JOIN spaces s ON s.id = v.space JOIN memories m ON m.key = v.memory "
    "WHERE m.status IN (SELECT value FROM json_each(?)) "
    "AND length(v.vector) NOT IN (s.dimension + 4, 4 * s.dimension, (s.dimension + 1) / 2 + 4, "
    "(s.dimension + 3) / 4 + 4, (s.dimension + 7) / 8 + 4)"
)
_MEMORIES = f"SELECT {SELECTED}, m.fingerprint FROM memories m JOIN scopes s ON s.id = m.scope"


_LOST = ("row refers to nothing", "rows refer to nothing")
_AGREEMENTS = (
    ("text index complete", _UNINDEXED, "missing from it", "every memory is in it"),
    ("text index free of the forgotten", _STRAY, "still in it", "what was forgotten is not in it"),
    ("vectors free of the forgotten", _STRAY_VECTORS, "still there", "what was forgotten has none"),
    ("vectors whole", _BROKEN_VECTORS, "stored with a broken one", "none is damaged"),
)
"""What is counted, what it means where there are some, and where there are none."""


def checks(connection: apsw.Connection) -> Iterator[Check]:
    """Yield one result per thing looked at; stops early where the file itself is damaged."""
    found = [text for (text,) in connection.execute("PRAGMA integrity_check(5)") if text != "ok"]
    # `_text_index` speaks for the text index, which can be made anew.
    damage = [text for text in found if "fts5" not in text.lower()]
    yield Check(name="file", ok=not damage, found="; ".join(damage) or "every page and index adds up")
    if damage:
        return
    orphans = len(connection.execute("PRAGMA foreign_key_check").fetchall())
    yield _none("references", orphans, counted(orphans, *_LOST), "nothing refers to what is not there")
    changed = sum(not _is_whole(row) for row in connection.execute(_MEMORIES))
    told = counted(changed, "memory was", "memories were")
    yield _none("memories", changed, f"{told} changed from outside", "each is as it was stored")
    yield _text_index(connection)
    for name, sql, wrong, right in _AGREEMENTS:
        number: int = only(connection, sql, (_INDEXED,))
        yield _none(name, number, f"{counted(number, 'memory is', 'memories are')} {wrong}", right)


def _none(name: str, number: int, wrong: str, right: str) -> Check:
    """Return the check of something of which there should be none."""
    return Check(name=name, ok=not number, found=wrong if number else right)


def _is_whole(row: Sequence[Any]) -> bool:
    """Say whether a memory can be read and is still the statement that it was stored as."""
    try:
        memory = from_row(row)
    except StoreCorrupt:
        return False
    is_gone = memory.status is Status.ERASED
    return is_gone or fingerprint(memory.content, speaker=memory.provenance.speaker) == row[-1]


def _text_index(connection: apsw.Connection) -> Check:
    """Let FTS5 compare its index with the terms that it was given."""
    try:
        connection.execute("INSERT INTO terms (terms, rank) VALUES ('integrity-check', 0)")
    except apsw.CorruptError as exc:
        return Check(name="text index", ok=False, found=str(exc))
    return Check(name="text index", ok=True, found="every word leads to where it stands")
