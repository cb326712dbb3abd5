"""
Look for damage in a file, and for tables that disagree.

Every look is guarded: what cannot be read is a finding and stops no other look. Damage is told table by
table. What is derived is remade by `doctor --fix`; what is canonical is saved by `doctor --salvage`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import Any

import apsw

from engramdb.errors import StoreCorrupt
from engramdb.store.sqlite.connection import single_value
from engramdb.store.sqlite.rows import INDEXED_STATUSES, SELECTED, checksum, from_row, spans_to_json
from engramdb.text.identity import fingerprint_of
from engramdb.text.normalize import counted
from engramdb.values import Check, Status

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
    "AND (length(v.vector) NOT IN (s.dimension + 4, 4 * s.dimension, (s.dimension + 1) / 2 + 4, "
    "(s.dimension + 3) / 4 + 4, (s.dimension + 7) / 8 + 4) "
    "OR hex(substr(v.vector, 4, 1)) IN ('7F', 'FF'))"  # its scale, or first number, is endless or none
)
_MAX_NAMED = 20
"""Damaged memories that are named by their ids."""
_MEMORIES = f"SELECT {SELECTED}, m.checksum, m.fingerprint FROM memories m JOIN scopes s ON s.id = m.scope"
_TURNS = "SELECT id, content, private, checksum FROM turns WHERE checksum IS NOT NULL"


_UNINDEXED_TURNS = (
    "SELECT count(*) FROM turns t WHERE NOT EXISTS (SELECT 1 FROM turn_terms_docsize d WHERE d.id = t.key)"
)
_UNLINKED_TURNS = (
    "SELECT count(*) FROM (SELECT turn, memory FROM turns_read EXCEPT SELECT turn, memory FROM memory_turns)"
)
_MISCOUNTED = (
    "WITH indexed AS (SELECT m.scope, count(*) AS memories FROM terms_docsize d "
    "JOIN memories m ON m.key = d.id WHERE m.status IN (SELECT value FROM json_each(?)) GROUP BY m.scope), "
    "counted AS (SELECT scope, memories FROM scope_terms WHERE term = '') "
    "SELECT coalesce(sum(abs(coalesce(i.memories, 0) - coalesce(c.memories, 0))), 0) "
    "FROM indexed i FULL JOIN counted c ON c.scope = i.scope"
)
TEXT_INDEXES = {"terms": "text index", "turn_terms": "turn index"}
"""The FTS5 tables, and what their checks are called."""
_ORPHAN_WORDS = ("row refers to nothing", "rows refer to nothing")
_AGREEMENTS = (
    ("text index complete", _UNINDEXED, "missing from it", "every memory is in it"),
    ("text index free of the forgotten", _STRAY, "still in it", "what was forgotten is not in it"),
    ("text index counted", _MISCOUNTED, "counted wrongly", "every scope counts its own words"),
    ("vectors free of the forgotten", _STRAY_VECTORS, "still there", "what was forgotten has none"),
    ("vectors whole", _BROKEN_VECTORS, "stored with a broken one", "none is damaged"),
)
"""What is counted, what it means where there are some, and where there are none."""
_TURN_AGREEMENTS = (
    ("turn index complete", _UNINDEXED_TURNS, "missing from it", "every turn is in it"),
    (
        "turns linked",
        _UNLINKED_TURNS,
        "not linked to what was read out of them",
        "each is linked to what it left",
    ),
)
"""The same of turns."""


UNREADABLE = (apsw.Error, UnicodeDecodeError)
"""What SQLite raises where a page or a text makes no sense."""
DERIVED_TABLES = (
    *TEXT_INDEXES,
    "vectors",
    "vector_snapshots",
    "memory_traits",
    "memory_turns",
    "scope_terms",
)
"""What can be made again from the other tables."""
_TABLES = "SELECT name FROM sqlite_schema WHERE type = 'table'"
_MEMORY_WORDS, _TURN_WORDS = ("memory is", "memories are"), ("turn is", "turns are")
_MAX_MESSAGES = 5
_NOT_LOOKED_AT = "not looked at: that takes a store that can be written"


def run_checks(connection: apsw.Connection, *, is_writable: bool = True) -> Iterator[Check]:
    """Yield one result per thing looked at; what is damaged is told table by table."""
    damaged = damaged_tables(connection)
    canonical = {table: why for table, why in damaged.items() if owner_of(table) not in DERIVED_TABLES}
    told = "; ".join(f"{table or 'layout'}: {why}" for table, why in canonical.items())
    yield Check(name="file", ok=not canonical, found=told or "every page and index adds up")
    for owner in dict.fromkeys(owner_of(table) for table in damaged if table not in canonical):
        why = next(why for table, why in damaged.items() if owner_of(table) == owner)
        yield Check(name=f"table {owner}", ok=False, found=f"damaged, and can be made again: {why}")
    yield _guarded("references", lambda: _check_references(connection, damaged))
    yield _guarded("memories", lambda: check_memories(connection))
    yield _guarded("turns", lambda: check_turns(connection))
    for table, name in TEXT_INDEXES.items():
        if is_writable:
            yield _guarded(name, partial(_check_text_index, connection, table, name))
        else:
            yield Check(name=name, ok=True, found=_NOT_LOOKED_AT)
    for name, sql, wrong, right in _AGREEMENTS:
        yield _guarded(name, partial(_count, connection, _MEMORY_WORDS, (name, sql, wrong, right)))
    for name, sql, wrong, right in _TURN_AGREEMENTS:
        yield _guarded(name, partial(_count, connection, _TURN_WORDS, (name, sql, wrong, right)))


def damaged_tables(connection: apsw.Connection) -> dict[str, str]:
    """Return what is wrong, by table; under an empty name what belongs to no table."""
    whole = _integrity(connection, "")
    if not whole:
        return {}
    try:
        tables = [
            name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
        ]
    except UNREADABLE as exc:
        return {"": str(exc)}
    found = {table: why for table in tables if (why := _integrity(connection, table))}
    return found or {"": whole}


def owner_of(table: str) -> str:
    """Return the text index that a table belongs to, or the table itself."""
    return next((index for index in TEXT_INDEXES if table.startswith(f"{index}_")), table)


def _integrity(connection: apsw.Connection, table: str) -> str:
    """Return what SQLite has to say against the file, or against one table and its indexes."""
    what = f"('{table}')" if table else f"({_MAX_MESSAGES})"
    try:
        rows = connection.execute(f"PRAGMA integrity_check{what}").fetchall()
    except UNREADABLE as exc:
        return str(exc) or type(exc).__name__
    # `_check_text_index` speaks for what the text index says against itself, which can be made again.
    texts = [str(text) for (text,) in rows]
    wrong = [text for text in texts if text != "ok" and "fts5" not in text.lower()]
    return "; ".join(wrong[:_MAX_MESSAGES])


def _guarded(name: str, look: Callable[[], Check]) -> Check:
    """Return what a look found; one that ends in an error has found damage."""
    try:
        return look()
    except UNREADABLE as exc:
        return Check(name=name, ok=False, found=f"cannot be read: {exc}")


def _count(
    connection: apsw.Connection, words: tuple[str, str], agreement: tuple[str, str, str, str]
) -> Check:
    name, sql, wrong, right = agreement
    number: int = single_value(connection, sql, (INDEXED_STATUSES,) if "?" in sql else ())
    return _expect_none(name, number, f"{counted(number, *words)} {wrong}", right)


def _check_references(connection: apsw.Connection, damaged: Collection[str]) -> Check:
    """Count rows that refer to nothing, in the tables that are whole."""
    tables = [str(name) for (name,) in connection.execute(_TABLES).fetchall() if name not in damaged]
    orphans = sum(len(connection.execute(f"PRAGMA foreign_key_check({one})").fetchall()) for one in tables)
    return _expect_none(
        "references", orphans, counted(orphans, *_ORPHAN_WORDS), "nothing refers to what is not there"
    )


def check_memories(connection: apsw.Connection) -> Check:
    """Compare every memory with the mark of what it was stored as."""
    changed = [f"{row[0]!s:.64}" for row in connection.execute(_MEMORIES) if not is_intact_memory(row)]
    return _expect_unchanged("memories", changed, counted(len(changed), "memory was", "memories were"))


def check_turns(connection: apsw.Connection) -> Check:
    """Compare the words of every turn with their checksum."""
    changed = [turn_id for turn_id, _, _ in changed_turns(connection)]
    return _expect_unchanged("turns", changed, counted(len(changed), "turn was", "turns were"))


def changed_turns(connection: apsw.Connection) -> Iterator[tuple[str, str, str | None]]:
    """Yield id, words and findings of the turns that no longer say what was said."""
    for turn_id, words, private, stored in connection.execute(_TURNS):
        if not _fits(words, private, stored):
            yield f"{turn_id!s:.64}", words, private


def _fits(words: Any, private: Any, stored: Any) -> bool:
    is_text = isinstance(words, str) and isinstance(private, str | None)
    return is_text and checksum(words, private) == stored


def _expect_unchanged(name: str, changed: Sequence[str], told: str) -> Check:
    named = ", ".join(changed[:_MAX_NAMED])
    more = ", …" if len(changed) > _MAX_NAMED else ""
    wrong = f"{told} changed from outside: {named}{more}"
    return _expect_none(name, len(changed), wrong, "each is as it was stored")


def _expect_none(name: str, number: int, wrong: str, right: str) -> Check:
    """Return the check of something of which there should be none."""
    return Check(name=name, ok=not number, found=wrong if number else right)


def is_intact_memory(row: Sequence[Any]) -> bool:
    """Return whether a memory can be read and is still the statement that it was stored as."""
    try:
        memory = from_row(row)
    except StoreCorrupt:
        return False
    if memory.status is Status.ERASED:
        return True
    stored, mark = row[-2:]
    is_same = stored is None or checksum(memory.content, spans_to_json(memory.private)) == stored
    return bool(is_same and fingerprint_of(memory) == mark)


def _check_text_index(connection: apsw.Connection, table: str, name: str) -> Check:
    """Let FTS5 compare an index with the terms that it was given."""
    try:
        connection.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('integrity-check', 0)")
    except apsw.CorruptError as exc:
        return Check(name=name, ok=False, found=str(exc))
    return Check(name=name, ok=True, found="every word leads to where it stands")
