"""
Save every row that can still be read from a damaged file into a new one, and tell what is lost.

Tables are walked from both ends; around what cannot be read the range is halved until single rows are left.
The indexes of a table name rows that the walk did not meet, and with them the ids of what is lost.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import apsw
from msgspec.structs import replace

from engramdb.errors import InvalidContent, StoreCorrupt, StoreNotFound
from engramdb.store.sqlite.checks import (
    DERIVED_TABLES,
    UNREADABLE,
    changed_turns,
    is_intact_memory,
    owner_of,
)
from engramdb.store.sqlite.connection import connect, single_value, translate_errors
from engramdb.store.sqlite.mending import Mender, drop_unreadable
from engramdb.store.sqlite.migrations import FORMAT_VERSION, migrate
from engramdb.store.sqlite.read_only import beside, quoted_uri
from engramdb.store.sqlite.rows import (
    SELECTED,
    checksum,
    from_row,
    spans_from_json,
    spans_to_json,
    to_json,
)
from engramdb.text.identity import fingerprint_of
from engramdb.values.privacy import PiiSpan
from engramdb.values.report import NOT_IN_LAYOUT, SalvagedTable, SalvageReport

MAX_PROBES = 20_000
"""How often one table is asked for part of a damaged range before the rest of it is given up."""
MAX_NAMED = 1000
"""How many ids of lost rows are told, per table."""
_BACKUPS = "`engram restore-backup --list` shows the copies that were made of it."
_HEADER_BYTES = 100
_PAGE_BYTES = 4096
_COPIED_AGAIN = frozenset({"vectors", "memory_turns"})
"""Derived, but dear to make again, or made by what reads turns: copied where they can be read."""
_ESSENTIAL = ("memories", "turns", "history", "scopes")
"""Without any of these there is nothing to save."""
_DECLARED = (
    "SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' "
    "AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
)
_MEMORIES = (
    f"SELECT {SELECTED}, m.checksum, m.fingerprint, m.id FROM memories m JOIN scopes s ON s.id = m.scope"
)


def salvage(
    source: Path, target: Path, *, key: bytes, now: datetime, opened: apsw.Connection | None = None
) -> SalvageReport:
    """
    Write what can be read of a file to a path where nothing is.

    A file that this process has open is read through a connection that is `opened`: opening it a second time
    would end the locks on it.
    """
    if os.path.lexists(target):
        raise InvalidContent("there is something at that path already", hint="Choose another.")
    if not source.is_file():
        raise StoreNotFound(f"there is no store at {source}")
    if not source.stat().st_size:
        raise StoreCorrupt(f"{source} is empty: there is nothing to save in it", hint=_BACKUPS)
    if not target.parent.is_dir():
        raise StoreNotFound(f"the folder {target.parent} does not exist", hint="Create it first.")
    with (
        translate_errors(str(source)),
        tempfile.TemporaryDirectory(prefix=".engram-salvage-", dir=target.parent) as folder,
    ):
        unfinished = Path(folder) / "salvaged.db"
        if opened is None:
            damaged, layout = _open_damaged(source, Path(folder), key, now)
            with closing(damaged):
                found = _save(damaged, unfinished, key=key, layout=layout, now=now)
        else:
            found = _save(opened, unfinished, key=key, layout=FORMAT_VERSION, now=now)
        unfinished.replace(target)
    return replace(found, path=str(target), read_from=str(source))


def _save(damaged: apsw.Connection, target: Path, *, key: bytes, layout: int, now: datetime) -> SalvageReport:
    with closing(_make_store(target, key, layout, now)) as new:
        mended: set[str] = set()
        tables = tuple(_copy_tables(damaged, new, now, mended))
        dropped = _drop_orphans(new)
        migrate(new, str(target), now=now)
        unreadable = drop_unreadable(new)
        for table, number in _drop_orphans(new).items():
            dropped[table] = dropped.get(table, 0) + number
        changed = _accept_changed(new)
        notes = tuple(_notes_on_scopes(new))
    return SalvageReport(
        path="",
        read_from="",
        tables=_with_dropped(tables, dropped, unreadable),
        changed=changed,
        mended=tuple(sorted(mended.difference(*unreadable.values()))),
        notes=notes,
    )


def _open_damaged(source: Path, folder: Path, key: bytes, now: datetime) -> tuple[apsw.Connection, int]:
    """Return a connection to the file, or to a copy with a mended header, and the version of its layout."""
    try:
        damaged, layout = _connect(source, key)
        if not (lacking := _lacking(damaged, folder, layout, now)):
            return damaged, layout
        damaged.close()
    except UNREADABLE as exc:
        if key:
            raise StoreCorrupt(f"{source}: the layout cannot be read: {exc}") from exc
        lacking = {}
    copy = folder / "damaged.db"
    shutil.copyfile(source, copy)
    if beside(source, "-wal").exists():
        shutil.copyfile(beside(source, "-wal"), beside(copy, "-wal"))
    if lacking:
        _mend_layout(copy, key, lacking)
        return _connect(copy, key)
    _mend_header(copy, folder, now)
    try:
        return _connect(copy, key)
    except UNREADABLE as exc:
        raise StoreCorrupt(
            f"{source}: the page with its layout cannot be read, so nothing can be saved",
            hint=_BACKUPS,
        ) from exc


def _connect(path: Path, key: bytes) -> tuple[apsw.Connection, int]:
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    connection = apsw.Connection(quoted_uri(path), flags=flags)
    try:
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        if key:
            connection.pragma("key", f"raw:{key.hex()}")
        connection.pragma("locking_mode", "exclusive")
        connection.pragma("cell_size_check", "on")
        connection.pragma("writable_schema", "on")  # what can be read of the layout counts, the rest is lost
        version = int(single_value(connection, "PRAGMA user_version"))
        if not any(connection.execute(f"PRAGMA table_info({table})").fetchall() for table in _ESSENTIAL):
            raise apsw.CorruptError("none of the tables of a store is in the layout")
    except BaseException:
        connection.close()
        raise
    return connection, version if 0 < version <= FORMAT_VERSION else FORMAT_VERSION


def _lacking(damaged: apsw.Connection, folder: Path, layout: int, now: datetime) -> dict[str, str]:
    """Return the tables of a store that the file does not show, and how they are declared."""
    with closing(_make_store(folder / "whole.db", b"", layout, now)) as whole:
        declared = {str(name): str(sql) for name, sql in whole.execute(_DECLARED).fetchall()}
    shown = {str(row[1]) for row in damaged.execute("PRAGMA table_list").fetchall()}
    return {name: sql for name, sql in declared.items() if name not in shown}


def _mend_layout(path: Path, key: bytes, lacking: Mapping[str, str]) -> None:
    """Declare tables of a copy anew whose declaration cannot be read: where they begin is still known."""
    connection = apsw.Connection(str(path))
    with closing(connection), suppress(*UNREADABLE):
        if key:
            connection.pragma("key", f"raw:{key.hex()}")
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
        connection.pragma("writable_schema", "on")
        for name, sql in lacking.items():
            declare = (
                "UPDATE sqlite_schema SET sql = ?1, name = ?2, tbl_name = ?2, type = 'table' "
                "WHERE rootpage > 0 AND ?2 IN (name, tbl_name) AND type <> 'index' AND sql LIKE 'CREATE%'"
            )
            connection.execute(declare, (sql, name))


def _mend_header(path: Path, folder: Path, now: datetime) -> None:
    """Put the header of a fresh store before the pages: it is nearly the same in every store."""
    fresh = folder / "fresh.db"
    _make_store(fresh, b"", FORMAT_VERSION, now).close()
    header = bytearray(fresh.read_bytes()[:_HEADER_BYTES])
    pages = path.stat().st_size // _PAGE_BYTES
    header[28:32] = pages.to_bytes(4)  # size of the file
    header[32:40] = bytes(8)  # no free pages: those that are free are found by nobody
    header[92:96] = header[24:28]  # the size is valid for this change counter
    with path.open("r+b") as file:
        file.write(header)


def _make_store(path: Path, key: bytes, layout: int, now: datetime) -> apsw.Connection:
    """Return a connection to an empty store of a layout, into which rows come in any order."""
    new = connect(path, key=key, is_durable=False, busy_timeout_seconds=1)
    new.pragma("journal_mode", "wal")
    migrate(new, str(path), now=now, until=layout)
    new.pragma("foreign_keys", "off")
    return new


def _copy_tables(
    damaged: apsw.Connection, new: apsw.Connection, now: datetime, mended: set[str]
) -> Iterator[SalvagedTable]:
    listed = "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
    for (name,) in new.execute(listed).fetchall():
        table = str(name)
        is_derived = owner_of(table) in DERIVED_TABLES and table not in _COPIED_AGAIN
        if not is_derived and not table.startswith("sqlite_") and table != "migrations":
            new.execute("BEGIN")
            described = new.execute(f"PRAGMA table_info({table})").fetchall()
            mender = Mender(table, described, now)
            yield _copy_table(damaged, new, table, mender)
            mended |= mender.mended
            new.execute("COMMIT")


def _copy_table(damaged: apsw.Connection, new: apsw.Connection, table: str, mender: Mender) -> SalvagedTable:
    columns = [str(row[1]) for row in new.execute(f"PRAGMA table_info({table})").fetchall()]
    insert = f"INSERT OR REPLACE INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"
    walk = _Walk(damaged, table, columns)
    senseless = 0
    for rowid, row in walk.rows():
        try:
            new.execute(insert, mender.mend(row))
        except (apsw.ConstraintError, apsw.MismatchError, UnicodeEncodeError) as exc:
            if not walk.reject(rowid, exc):
                senseless += 1
    rows = int(single_value(new, f"SELECT count(*) FROM {table}"))
    lost = max(len(walk.missing), 1 if walk.is_damaged and not walk.is_counted else 0)
    ids = tuple(sorted(walk.ids.get(rowid, str(rowid)) for rowid in walk.missing))
    return SalvagedTable(name=table, rows=rows, lost=lost + senseless, ids=ids[:MAX_NAMED], why=walk.why)


class _Walk:
    """Every row of one table that can be read, each once, and what is known of the others."""

    def __init__(self, connection: apsw.Connection, table: str, columns: Sequence[str]) -> None:
        self._connection = connection
        self._table = table
        self._columns = ", ".join(columns)
        self._has_id = "id" in columns
        self._seen: set[int] = set()
        self._rejected: set[int] = set()
        self._probes = 0
        self.ids: dict[int, str] = {}
        """Ids by row number, as far as an index tells."""
        self.why = ""
        self.is_counted = False
        """Whether an index names every row."""

    @property
    def is_damaged(self) -> bool:
        """Whether some of the table could not be read."""
        return bool(self.why)

    @property
    def missing(self) -> set[int]:
        """Rows that an index names and that cannot be read."""
        return self.ids.keys() - self._seen if self.is_damaged else set()

    def rows(self) -> Iterator[tuple[int | None, Sequence[Any]]]:
        """Yield the rows with their numbers."""
        try:
            self._connection.execute(f"SELECT rowid FROM {self._table} LIMIT 1").fetchall()
        except apsw.SQLError:  # the table has no row numbers, or was never made
            yield from self._from_both_ends()
            return
        except UNREADABLE as exc:
            self.why = str(exc)
        yield from self._range(-(2**63), 2**63 - 1)
        if self.is_damaged:
            for name in self._ask_indexes():
                yield from self._covered(name)
            for rowid in sorted(self.ids.keys() - self._seen):
                yield from self._part(rowid, rowid)

    def _range(self, low: int, high: int) -> Iterator[tuple[int, Sequence[Any]]]:
        """Yield what can be read of a range: forward, backward, then by halves of what is between."""
        last = low - 1
        for rowid, *row in self._read(low, high, "ASC"):
            last = int(rowid)
            yield from self._new(last, row)
        if self._is_whole:
            return
        first = high + 1
        for rowid, *row in self._read(last + 1, high, "DESC"):
            first = int(rowid)
            yield from self._new(first, row)
        if not self._is_whole:
            yield from self._part(last + 1, min(first - 1, self._largest()))

    def _part(self, low: int, high: int) -> Iterator[tuple[int, Sequence[Any]]]:
        """Yield what can be read of a range by halving it where it cannot be read as a whole."""
        waiting = [(low, high)]
        while waiting and self._probes < MAX_PROBES:
            low, high = waiting.pop()
            if low > high:
                continue
            self._probes += 1
            found = list(self._read(low, high, "ASC"))
            for rowid, *row in found:
                yield from self._new(int(rowid), row)
            if not self._is_whole and low == high:
                yield from self._lenient(low)
            elif not self._is_whole:
                middle = (low + high) // 2
                waiting += [(middle + 1, high), (low, middle)]

    def _read(self, low: int, high: int, order: str) -> Iterator[Sequence[Any]]:
        self._is_whole = False
        sql = f"SELECT rowid, {self._columns} FROM {self._table} NOT INDEXED WHERE rowid BETWEEN ? AND ? "
        with self._guarded():
            yield from self._connection.execute(sql + f"ORDER BY rowid {order}", (low, high))
            self._is_whole = True

    def _lenient(self, rowid: int) -> Iterator[tuple[int, Sequence[Any]]]:
        """Yield one row whose texts are not all UTF-8, with a mark for what cannot be read."""
        names = self._columns.split(", ")
        asked = ", ".join(
            f"iif(typeof({one}) = 'text', CAST({one} AS BLOB), {one}), typeof({one})" for one in names
        )
        sql = f"SELECT {asked} FROM {self._table} NOT INDEXED WHERE rowid = ?"
        with self._guarded():
            for row in self._connection.execute(sql, (rowid,)).fetchall():
                pairs = zip(row[::2], row[1::2], strict=True)
                texts = [
                    one.decode(errors="replace") if isinstance(one, bytes) and kind == "text" else one
                    for one, kind in pairs
                ]
                yield from self._new(rowid, texts)

    def _new(self, rowid: int, row: Sequence[Any]) -> Iterable[tuple[int, Sequence[Any]]]:
        if rowid in self._seen:
            return ()
        self._seen.add(rowid)
        return ((rowid, row),)

    def reject(self, rowid: int | None, exc: Exception) -> bool:
        """Note that a row is none of this table; return whether it is looked for once more by its number."""
        self.why = self.why or f"a row makes no sense: {type(exc).__name__}"
        if rowid is None or rowid in self._rejected:
            return False
        self._rejected.add(rowid)
        self._seen.discard(rowid)
        self.ids.setdefault(rowid, str(rowid))
        return True

    def _largest(self) -> int:
        """Return the largest row number that there can be, as far as anybody knows."""
        known = [max(self._seen, default=0) + 4096]
        with self._guarded():
            rows = self._connection.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (self._table,))
            known += [int(seq) for (seq,) in rows]
        return max(known)

    def _from_both_ends(self) -> Iterator[tuple[None, Sequence[Any]]]:
        """Yield the rows of a table without row numbers; those met twice are the caller's to ignore."""
        keys = [str(r[1]) for r in self._connection.execute(f"PRAGMA table_info({self._table})") if r[5]]
        if not keys:
            self.why = NOT_IN_LAYOUT
            return
        for order in ("ASC", "DESC"):
            self._is_whole = False
            by = ", ".join(f"{key} {order}" for key in keys)
            with self._guarded():
                sql = f"SELECT {self._columns} FROM {self._table} ORDER BY {by}"
                yield from ((None, row) for row in self._connection.execute(sql))
                self._is_whole = True
            if self._is_whole:
                return

    def _covered(self, index: str) -> Iterator[tuple[int, Sequence[Any]]]:
        """Yield rows that an index holds as a whole."""
        sql = f'SELECT rowid, {self._columns} FROM {self._table} INDEXED BY "{index}"'
        with self._guarded():
            for rowid, *row in self._connection.execute(sql):
                yield from self._new(int(str(rowid)), row)

    def _ask_indexes(self) -> list[str]:
        """
        Note which rows the indexes of the table know of, with their ids where one has them.

        Returns the indexes that hold every column.
        """
        covering: list[str] = []
        with self._guarded():
            described = self._connection.execute(f"PRAGMA table_info({self._table})").fetchall()
            numbered = {str(row[1]) for row in described if row[5]}
            listed = self._connection.execute(f"PRAGMA index_list({self._table})").fetchall()
            for name in [str(row[1]) for row in listed if not row[4]]:
                columns = [r[2] for r in self._connection.execute(f"PRAGMA index_info('{name}')")]
                if set(self._columns.split(", ")) <= {*map(str, columns), *numbered}:
                    covering.append(name)
                what = "id" if self._has_id and "id" in columns else "NULL"
                for order in ("ASC", "DESC"):
                    self._ask_index(name, what, str(columns[0]), order)
        return covering

    def _ask_index(self, name: str, what: str, first: str, order: str) -> None:
        sql = f'SELECT rowid, {what} FROM {self._table} INDEXED BY "{name}" ORDER BY {first} {order}'
        with self._guarded():
            for rowid, one in self._connection.execute(sql):
                if one is not None or rowid not in self.ids:
                    self.ids[int(rowid)] = str(rowid if one is None else one)
            self.is_counted = True

    def _guarded(self) -> suppress:
        return _Noted(self)


class _Noted(suppress):
    """Notes what could not be read, and goes on."""

    def __init__(self, walk: _Walk) -> None:
        super().__init__(*UNREADABLE)
        self._walk = walk

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        is_noted = bool(super().__exit__(kind, error, trace))
        if is_noted and error is not None:
            self._walk.why = self._walk.why or str(error) or type(error).__name__
        return is_noted


def _notes_on_scopes(new: apsw.Connection) -> Iterator[str]:
    """Yield where to find what stood in a scope that is lost."""
    sql = "SELECT project FROM scopes WHERE project = 'salvaged-' || id ORDER BY id"
    for (project,) in new.execute(sql).fetchall():
        yield f"the name of a scope is lost: what stood in it is in the project {project} now"


def _drop_orphans(new: apsw.Connection) -> dict[str, int]:
    """Remove rows that refer to what is lost; a scope that is lost gets a name, so that its rows are seen."""
    dropped: dict[str, int] = {}
    for _ in range(10):  # what refers to what referred to what is lost
        broken = new.execute("PRAGMA foreign_key_check").fetchall()
        if not broken:
            break
        new.execute("BEGIN")
        for table, rowid, number in {row[:2] + row[3:] for row in broken if row[2] == "scopes"}:
            _name_scope(new, str(table), rowid, number)
        broken = [row for row in broken if row[2] == "scopes" or not _forget_reference(new, row)]
        for table, rowid in {row[:2] for row in broken if row[2] != "scopes" and row[1] is not None}:
            dropped[str(table)] = dropped.get(str(table), 0) + 1
            new.execute(f"DELETE FROM {table} WHERE rowid = ?", (rowid,))
        for table, column, parent, key in _keys_without_rowid(new, broken):
            gone = f"{column} IS NOT NULL AND {column} NOT IN (SELECT {key} FROM {parent})"
            dropped[table] = dropped.get(table, 0) + int(
                single_value(new, f"SELECT count(*) FROM {table} WHERE {gone}")
            )
            new.execute(f"DELETE FROM {table} WHERE {gone}")
        new.execute("COMMIT")
    return dropped


def _forget_reference(new: apsw.Connection, broken: Sequence[Any]) -> bool:
    """Let a row that can do without it refer to nothing; return whether it can."""
    table, rowid, _, number = broken
    key = next(row for row in new.execute(f"PRAGMA foreign_key_list({table})") if row[0] == number)
    columns = new.execute(f"PRAGMA table_info({table})").fetchall()
    if rowid is None or any(row[3] or row[5] for row in columns if row[1] == key[3]):
        return False
    new.execute(f"UPDATE {table} SET {key[3]} = NULL WHERE rowid = ?", (rowid,))
    return True


def _name_scope(new: apsw.Connection, table: str, rowid: Any, number: Any) -> None:
    """Make the scope that a row stands in."""
    key = next(r for r in new.execute(f"PRAGMA foreign_key_list({table})") if r[0] == number)
    where = "" if rowid is None else f"WHERE rowid = {rowid}"
    for (scope,) in new.execute(f"SELECT DISTINCT {key[3]} FROM {table} {where}").fetchall():
        if scope is not None:
            row = (scope, f"salvaged-{scope}")
            new.execute(
                "INSERT OR IGNORE INTO scopes (id, project, squad, agent, channel, user) "
                "VALUES (?, ?, '', '', '', '')",
                row,
            )


def _keys_without_rowid(new: apsw.Connection, broken: Sequence[Any]) -> Iterator[tuple[str, str, str, str]]:
    """Yield the references of tables without row numbers that lead nowhere."""
    for table, number in {(str(row[0]), row[3]) for row in broken if row[1] is None}:
        for one in new.execute(f"PRAGMA foreign_key_list({table})").fetchall():
            if one[0] == number and one[2] != "scopes":
                yield table, str(one[3]), str(one[2]), str(one[4] or "rowid")


def _accept_changed(new: apsw.Connection) -> tuple[str, ...]:
    """
    Return the ids of memories and turns that no longer say what they were stored with.

    The report tells them. From now on they count as what they say, or the new store could not be backed up.
    """
    changed = [row for row in new.execute(_MEMORIES).fetchall() if not is_intact_memory(row[:-1])]
    for row in changed:
        memory = from_row(row)
        private = _anywhere(spans_to_json(memory.private))
        mark = (fingerprint_of(memory), private, checksum(memory.content, private), row[-1])
        new.execute("UPDATE memories SET fingerprint = ?, private = ?, checksum = ? WHERE id = ?", mark)
    turns = list(changed_turns(new))
    for turn_id, words, stored in turns:
        private = _anywhere(stored)
        sql = "UPDATE turns SET private = ?, checksum = ? WHERE id = ?"
        new.execute(sql, (private, checksum(words, private), turn_id))
    return (*(str(row[-1]) for row in changed), *(one[0] for one in turns))


def _anywhere(private: str | None) -> str | None:
    """Return the findings of a text that was changed: what was found in it may stand anywhere."""
    kinds = {one.kind for one in spans_from_json(private) or ()}
    return to_json([PiiSpan(0, 0, kind) for kind in sorted(kinds)]) if kinds else None


def _with_dropped(
    tables: Sequence[SalvagedTable], dropped: dict[str, int], unreadable: dict[str, list[str]]
) -> tuple[SalvagedTable, ...]:
    return tuple(_less(one, dropped.get(one.name, 0), unreadable.get(one.name, [])) for one in tables)


def _less(table: SalvagedTable, orphans: int, unreadable: Sequence[str]) -> SalvagedTable:
    """Return what was saved of a table after rows were dropped from the new store."""
    gone = orphans + len(unreadable)
    why = "makes no sense" if unreadable else "refers to what is lost" if orphans else ""
    return replace(
        table,
        rows=table.rows - gone,
        lost=table.lost + gone,
        ids=(*table.ids, *unreadable)[:MAX_NAMED],
        why=table.why or why,
    )
