"""Caches of what was computed from texts; erasing clears all of them at once."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from functools import lru_cache
from typing import Any, ParamSpec, TypeVar, cast

Given = ParamSpec("Given")
Found = TypeVar("Found")

_FUNCTIONS: list[Any] = []
_TABLES: weakref.WeakValueDictionary[int, Table[Any]] = weakref.WeakValueDictionary()
_registering = threading.Lock()


def kept(most: int) -> Callable[[Callable[Given, Found]], Callable[Given, Found]]:
    """Keep the answers of a function for the `most` recent of what it was asked."""

    def keeping(function: Callable[Given, Found]) -> Callable[Given, Found]:
        asked = lru_cache(maxsize=most)(function)
        _FUNCTIONS.append(asked)
        return cast("Callable[Given, Found]", asked)

    return keeping


class Table(dict[str, Found]):
    """What one object has worked out, by the text; the object sees to it that it does not grow too large."""

    def __init__(self) -> None:
        super().__init__()
        with _registering:
            _TABLES[id(self)] = self


def let_go() -> None:
    """Forget everything that is kept, in all threads; whoever needs it next works it out again."""
    for function in _FUNCTIONS:
        function.cache_clear()
    with _registering:
        tables = list(_TABLES.values())
    for table in tables:
        table.clear()
