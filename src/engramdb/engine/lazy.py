"""
Attributes that are built when they are first asked for.

`functools.cached_property` would do, but from Python 3.12 on two threads that ask at once may be given two
different objects: two vector indexes, of which one is kept up to date. Here the second thread waits for the
first, and an attribute that could not be built is tried again by the next caller.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

Part = TypeVar("Part")


class lazy_property(Generic[Part]):  # noqa: N801 - used as a decorator, like `property`
    """Turns a method into an attribute that is built once."""

    def __init__(self, build: Callable[[Any], Part]) -> None:
        self._build = build
        self.__doc__ = build.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, holder: None, owner: type) -> Self: ...
    @overload
    def __get__(self, holder: object, owner: type) -> Part: ...
    def __get__(self, holder: object, owner: type) -> Self | Part:
        if holder is None:
            return self
        held = vars(holder)
        # A lock of this holder, so that no other store waits, and of this process: one that was forked while
        # a thread of its parent was building would wait forever. Parts ask for one another in one direction
        # only, so two threads never wait for each other.
        with held.setdefault(f"{self._name}, built by {os.getpid()}", threading.RLock()):
            if self._name not in held:
                held[self._name] = self._build(holder)
            part: Part = held[self._name]
            return part


def is_built(holder: object, name: str) -> bool:
    """Return whether a lazy attribute was asked for yet: what was never built need not be closed."""
    return name in vars(holder)
