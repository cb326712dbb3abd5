"""
What every memory is, as columns in memory: enough to say which may be seen, without asking the store.

Kept by the vector index, row for row beside its vectors, and fed from the store's changes. A filter is
an exact mask over rows, and says the same as the store's WHERE clause; a test holds the two together.
Memories come in the order of their last change, whatever their keys: rows are numbered as they come, and
a table says which row a key has. Keys are small and ever-growing, so the table is an array.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from engramdb.errors import StoreCorrupt
from engramdb.index.backend import BackendSnapshot
from engramdb.store.contract import Changes
from engramdb.values import Filters, Kind, Layer, MemoryType, Status
from engramdb.values.population import to_microseconds

_STATUSES = {status.value: number for number, status in enumerate(Status)}
_LAYERS = {layer.value: number for number, layer in enumerate(Layer)}
_TYPES = {one.value: number for number, one in enumerate(MemoryType)}
_KINDS = {kind.value: number for number, kind in enumerate(Kind)}
_MARKS = [[*_STATUSES], [*_LAYERS], [*_TYPES], [*_KINDS]]
_FIRST_CAPACITY = 1024
_LAYOUT = {
    "keys": "<i8",
    "when": "<i8",
    "scopes": "<i4",
    "categories": "<u4",
    "statuses": "u1",
    "layers": "u1",
    "types": "u1",
    "kinds": "u1",
    "has_vector": "?",
}
_ROW_BYTES = sum(np.dtype(one).itemsize for one in _LAYOUT.values())


class RosterColumns(Struct):
    """Some rows of the roster."""

    keys: NDArray[np.int64]
    scopes: NDArray[np.int32]
    when: NDArray[np.int64]
    statuses: NDArray[np.uint8]
    layers: NDArray[np.uint8]
    types: NDArray[np.uint8]
    kinds: NDArray[np.uint8]
    categories: NDArray[np.uint32]
    has_vector: NDArray[np.bool_]


NOWHERE = -1
"""The row of a key that has none."""


class _RosterHead(Struct, frozen=True):
    """What the numbers in a snapshot's rows stand for."""

    marks: list[list[str]]
    categories: list[str]


# Made once, at import: threads that meet a type together for the first time can crash msgspec.
_read_head = msgspec.json.Decoder(_RosterHead).decode


class Categories:
    """Numbers for category names, given out in the order they are met."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def numbers(self, names: Sequence[str]) -> NDArray[np.uint32]:
        """Return a number for each name."""
        for name in dict.fromkeys(names):
            self._numbers.setdefault(name, len(self._numbers))
        return np.fromiter(map(self._numbers.__getitem__, names), np.uint32, len(names))

    def names(self) -> list[str]:
        """Return the names in the order of their numbers."""
        return list(self._numbers)

    def known(self, names: Iterable[str]) -> list[int]:
        """Return the numbers of the names that were ever met."""
        return [self._numbers[name] for name in names if name in self._numbers]


class Roster:
    """All memories of a store, one row each."""

    def __init__(self) -> None:
        self._categories = Categories()
        self._columns = _empty_columns(_FIRST_CAPACITY)
        self._row_of_key = np.full(_FIRST_CAPACITY, NOWHERE, np.int32)
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def columns(self) -> RosterColumns:
        """Return the rows of this moment; later changes of a row show, later rows do not."""
        return _first_rows(self._columns, self._length)

    def apply(self, changes: Changes) -> NDArray[np.intp]:
        """Add changed and new memories and return the row of each."""
        fresh = self._encode(changes)
        rows = self.rows_of(fresh.keys)
        is_new = rows == NOWHERE
        length = self._length + int(np.count_nonzero(is_new))
        rows[is_new] = np.arange(self._length, length)
        self._grow(length, highest_key=int(fresh.keys.max(initial=0)))
        self._row_of_key[fresh.keys] = rows
        for name in _LAYOUT:
            getattr(self._columns, name)[rows] = getattr(fresh, name)
        self._length = length
        return rows

    def rows_of(self, keys: NDArray[np.int64]) -> NDArray[np.intp]:
        """Return the row of each key, `NOWHERE` for those that have none."""
        known = self._row_of_key
        rows = known[np.minimum(keys, len(known) - 1)].astype(np.intp)
        rows[keys >= len(known)] = NOWHERE
        return rows

    def _encode(self, changes: Changes) -> RosterColumns:
        """Return changed memories as columns with numbers for names."""
        return RosterColumns(
            keys=changes.keys,
            scopes=changes.scopes,
            when=changes.when,
            statuses=_enum_numbers(changes.statuses, _STATUSES),
            layers=_enum_numbers(changes.layers, _LAYERS),
            types=_enum_numbers(changes.types, _TYPES),
            kinds=_enum_numbers(changes.kinds, _KINDS),
            categories=self._categories.numbers(changes.categories),
            has_vector=changes.has_vector,
        )

    def mask(self, columns: RosterColumns, *, scopes: Sequence[int], filters: Filters) -> NDArray[np.bool_]:
        """Return which rows have a vector, lie in one of the scopes and pass the filters."""
        return columns.has_vector & self.passing(columns, scopes=scopes, filters=filters)

    def passing(
        self, columns: RosterColumns, *, scopes: Sequence[int], filters: Filters
    ) -> NDArray[np.bool_]:
        """Return which rows lie in one of the scopes and pass the filters."""
        allowed = _is_one_of(columns.scopes, scopes)
        allowed &= _is_one_of(columns.statuses, [_STATUSES[status] for status in filters.statuses])
        if filters.layers:
            allowed &= _is_one_of(columns.layers, [_LAYERS[layer] for layer in filters.layers])
        if filters.types:
            allowed &= _is_one_of(columns.types, [_TYPES[one] for one in filters.types])
        if filters.kinds:
            allowed &= _is_one_of(columns.kinds, [_KINDS[kind] for kind in filters.kinds])
        if filters.categories:
            allowed &= _is_one_of(columns.categories, self._categories.known(filters.categories))
        if filters.since is not None:
            allowed &= columns.when >= to_microseconds(filters.since)
        if filters.until is not None:
            allowed &= columns.when < to_microseconds(filters.until)
        return allowed

    def visible(self, columns: RosterColumns, *, scopes: Sequence[int]) -> NDArray[np.bool_]:
        """Return which rows that should have a vector lie in one of the scopes."""
        indexed = [number for name, number in _STATUSES.items() if Status(name).is_indexed]
        return _is_one_of(columns.scopes, scopes) & _is_one_of(columns.statuses, indexed)

    def waiting(self, columns: RosterColumns, *, scopes: Sequence[int] | None = None) -> NDArray[np.int64]:
        """Return the keys, in these scopes or any, that should have a vector and have none yet."""
        without = ~columns.has_vector
        if not without.any():
            return np.empty(0, np.int64)
        indexed = [number for name, number in _STATUSES.items() if Status(name).is_indexed]
        without &= _is_one_of(columns.statuses, indexed)
        if scopes is not None:
            without &= _is_one_of(columns.scopes, scopes)
        return columns.keys[without]

    def snapshot(self) -> BackendSnapshot:
        """Return the meaning of the numbers, and the columns of each row."""
        head = _RosterHead(marks=_MARKS, categories=self._categories.names())
        columns = self.columns()
        rows = [
            np.ascontiguousarray(getattr(columns, name), dtype)[:, None].view(np.uint8)
            for name, dtype in _LAYOUT.items()
        ]
        return BackendSnapshot(msgspec.json.encode(head), np.concatenate(rows, axis=1))

    @classmethod
    def restore(cls, snapshot: BackendSnapshot) -> Roster:
        """Return the roster that a snapshot was taken of; raises `StoreCorrupt` if it cannot be read."""
        try:
            head = _read_head(snapshot.head)
        except msgspec.MsgspecError as exc:
            raise StoreCorrupt("a snapshot of the vector index cannot be read") from exc
        if head.marks != _MARKS or snapshot.rows.shape[1] != _ROW_BYTES:
            raise StoreCorrupt("a snapshot of the vector index was taken by another version of Engram")
        roster, length = cls(), len(snapshot.rows)
        roster._categories.numbers(head.categories)
        columns, start = {}, 0
        for name, dtype in _LAYOUT.items():
            stop = start + np.dtype(dtype).itemsize
            columns[name] = np.ascontiguousarray(snapshot.rows[:, start:stop]).view(dtype).reshape(length)
            start = stop
        roster._columns = RosterColumns(**columns)
        roster._row_of_key = np.full(int(columns["keys"].max(initial=0)) + 1, NOWHERE, np.int32)
        roster._row_of_key[columns["keys"]] = np.arange(length)
        roster._length = length
        return roster

    def _grow(self, length: int, *, highest_key: int) -> None:
        capacity = len(self._columns.keys)
        if length > capacity:
            larger = _empty_columns(max(2 * capacity, length))
            for name in _LAYOUT:
                getattr(larger, name)[: self._length] = getattr(self._columns, name)[: self._length]
            self._columns = larger
        known = self._row_of_key
        if highest_key >= len(known):
            self._row_of_key = np.full(max(2 * len(known), highest_key + 1), NOWHERE, np.int32)
            self._row_of_key[: len(known)] = known


def chosen_rows(columns: RosterColumns, rows: NDArray[np.intp]) -> RosterColumns:
    """Return some rows of the roster."""
    return RosterColumns(**{name: getattr(columns, name)[rows] for name in _LAYOUT})


def _empty_columns(capacity: int) -> RosterColumns:
    return RosterColumns(**{name: np.zeros(capacity, dtype) for name, dtype in _LAYOUT.items()})


def _first_rows(columns: RosterColumns, length: int) -> RosterColumns:
    return RosterColumns(**{name: getattr(columns, name)[:length] for name in _LAYOUT})


def _enum_numbers(names: Sequence[str], known: dict[str, int]) -> NDArray[np.uint8]:
    try:
        return np.fromiter(map(known.__getitem__, names), np.uint8, len(names))
    except KeyError as exc:
        raise StoreCorrupt(f"a memory has the unknown mark {exc}") from exc


def _is_one_of(column: NDArray[np.generic], numbers: Sequence[int]) -> NDArray[np.bool_]:
    """Return where the column holds one of a few numbers; comparing one by one beats `np.isin` here."""
    found = np.zeros(len(column), np.bool_)
    for number in numbers:
        found |= column == number
    return found
