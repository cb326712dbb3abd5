"""Caches of what was computed from texts; erasing clears all of them at once."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from functools import lru_cache
from typing import Any, ParamSpec, TypeVar, cast

Params = ParamSpec("Params")
Value = TypeVar("Value")

_FUNCTIONS: list[Any] = []
_TABLES: weakref.WeakValueDictionary[int, ErasableTable[Any]] = weakref.WeakValueDictionary()
_tables_lock = threading.Lock()


def cached(max_entries: int) -> Callable[[Callable[Params, Value]], Callable[Params, Value]]:
    """Cache the results of a function for its `max_entries` most recent arguments."""

    def decorate(function: Callable[Params, Value]) -> Callable[Params, Value]:
        caching = lru_cache(maxsize=max_entries)(function)
        _FUNCTIONS.append(caching)
        return cast("Callable[Params, Value]", caching)

    return decorate


class ErasableTable(dict[str, Value]):
    """What one object has computed, by text; the object itself limits its size."""

    def __init__(self) -> None:
        super().__init__()
        with _tables_lock:
            _TABLES[id(self)] = self


def clear_caches() -> None:
    """Empty every cache, in all threads; the next caller computes its value again."""
    for function in _FUNCTIONS:
        function.cache_clear()
    with _tables_lock:
        tables = list(_TABLES.values())
    for table in tables:
        table.clear()
