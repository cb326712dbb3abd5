"""
What every memory is, as columns in memory: enough to say which may be seen, without asking the store.

Kept by the vector index, row for row beside its codes, and fed from the store's changes. A filter is an
exact mask over rows, and says the same as the store's WHERE clause; a test holds the two together.
Keys only ever grow, so rows are sorted by key and a new memory is always appended.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np

from engram.errors import StoreCorrupt
from engram.values import Kind, Layer, MemoryType, Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from engram.store.contract import Changes
    from engram.values import Filters

_STATUSES = {status.value: number for number, status in enumerate(Status)}
_LAYERS = {layer.value: number for number, layer in enumerate(Layer)}
_TYPES = {one.value: number for number, one in enumerate(MemoryType)}
_KINDS = {kind.value: number for number, kind in enumerate(Kind)}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_FIRST_CAPACITY = 1024


@dataclass(slots=True)
class Columns:
    """Some rows of the roster."""

    keys: NDArray[np.int64]
    scopes: NDArray[np.int32]
    when: NDArray[np.int64]
    statuses: NDArray[np.uint8]
    layers: NDArray[np.uint8]
    types: NDArray[np.uint8]
    kinds: NDArray[np.uint8]
    categories: NDArray[np.uint16]
    has_vector: NDArray[np.bool_]

    NAMES = ("keys", "scopes", "when", "statuses", "layers", "types", "kinds", "categories", "has_vector")


class Categories:
    """Numbers for category names, given out in the order they are met."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def numbers(self, names: Sequence[str]) -> NDArray[np.uint16]:
        """Return a number for each name."""
        known = self._numbers
        return np.array([known.setdefault(name, len(known)) for name in names], np.uint16)

    def known(self, names: Iterable[str]) -> list[int]:
        """Return the numbers of the names that were ever met."""
        return [self._numbers[name] for name in names if name in self._numbers]


class Roster:
    """All memories of a store, one row each."""

    def __init__(self) -> None:
        self._categories = Categories()
        self._columns = _empty(_FIRST_CAPACITY)
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def columns(self) -> Columns:
        """Return the rows of this moment; later changes of a row show, later rows do not."""
        return _slice(self._columns, self._length)

    def apply(self, changes: Changes) -> NDArray[np.intp]:
        """Take in changed and new memories and return the row of each."""
        fresh = self.encode(changes)
        highest = self._columns.keys[self._length - 1] if self._length else 0
        is_new = fresh.keys > highest
        new_keys = np.sort(fresh.keys[is_new])
        self._grow(len(new_keys))
        self._columns.keys[self._length : self._length + len(new_keys)] = new_keys
        length = self._length + len(new_keys)
        rows = np.searchsorted(self._columns.keys[:length], fresh.keys)
        for name in Columns.NAMES:
            getattr(self._columns, name)[rows] = getattr(fresh, name)
        self._length = length
        return rows

    def encode(self, changes: Changes) -> Columns:
        """Return changed memories as columns with numbers for names."""
        return Columns(
            keys=changes.keys,
            scopes=changes.scopes,
            when=changes.when,
            statuses=_numbers(changes.statuses, _STATUSES),
            layers=_numbers(changes.layers, _LAYERS),
            types=_numbers(changes.types, _TYPES),
            kinds=_numbers(changes.kinds, _KINDS),
            categories=self._categories.numbers(changes.categories),
            has_vector=changes.has_vector,
        )

    def mask(self, columns: Columns, *, scopes: Sequence[int], filters: Filters) -> NDArray[np.bool_]:
        """Return which rows have a vector, lie in one of the scopes and pass the filters."""
        allowed = columns.has_vector & _among(columns.scopes, scopes)
        allowed &= _among(columns.statuses, [_STATUSES[status] for status in filters.statuses])
        if filters.layers:
            allowed &= _among(columns.layers, [_LAYERS[layer] for layer in filters.layers])
        if filters.types:
            allowed &= _among(columns.types, [_TYPES[one] for one in filters.types])
        if filters.kinds:
            allowed &= _among(columns.kinds, [_KINDS[kind] for kind in filters.kinds])
        if filters.categories:
            allowed &= _among(columns.categories, self._categories.known(filters.categories))
        if filters.since is not None:
            allowed &= columns.when >= (filters.since - _EPOCH) // _MICROSECOND
        if filters.until is not None:
            allowed &= columns.when < (filters.until - _EPOCH) // _MICROSECOND
        return allowed

    def count_waiting(self, columns: Columns, *, scopes: Sequence[int]) -> int:
        """Return how many rows in these scopes should have a vector and have none yet."""
        without = ~columns.has_vector
        if not without.any():
            return 0
        indexed = [number for name, number in _STATUSES.items() if Status(name).is_indexed]
        without &= _among(columns.statuses, indexed) & _among(columns.scopes, scopes)
        return int(np.count_nonzero(without))

    def _grow(self, more: int) -> None:
        capacity = len(self._columns.keys)
        if self._length + more <= capacity:
            return
        larger = _empty(max(2 * capacity, self._length + more))
        for name in Columns.NAMES:
            getattr(larger, name)[: self._length] = getattr(self._columns, name)[: self._length]
        self._columns = larger


def _empty(capacity: int) -> Columns:
    return Columns(
        keys=np.zeros(capacity, np.int64),
        scopes=np.zeros(capacity, np.int32),
        when=np.zeros(capacity, np.int64),
        statuses=np.zeros(capacity, np.uint8),
        layers=np.zeros(capacity, np.uint8),
        types=np.zeros(capacity, np.uint8),
        kinds=np.zeros(capacity, np.uint8),
        categories=np.zeros(capacity, np.uint16),
        has_vector=np.zeros(capacity, np.bool_),
    )


def _slice(columns: Columns, length: int) -> Columns:
    return Columns(**{name: getattr(columns, name)[:length] for name in Columns.NAMES})


def _numbers(names: Sequence[str], known: dict[str, int]) -> NDArray[np.uint8]:
    try:
        return np.array([known[name] for name in names], np.uint8)
    except KeyError as exc:
        raise StoreCorrupt(f"a memory has the unknown mark {exc}") from exc


def _among(column: NDArray[np.generic], numbers: Sequence[int]) -> NDArray[np.bool_]:
    """Return where the column holds one of a few numbers; comparing one by one beats `np.isin` here."""
    found = np.zeros(len(column), np.bool_)
    for number in numbers:
        found |= column == number
    return found
