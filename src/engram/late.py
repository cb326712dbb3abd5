"""
Load late: a package hands out what stands in it when it is first named.

Used in the `__init__` of a package. With `modules_of` it is the door of a room: `from engram import capture`
loads nothing, and `capture.admit` loads that one module at its first use. With `names_of` it stands for the
values that its modules define. After the first use a name is an ordinary attribute and costs nothing. A
module that few verbs take arrays from writes `np = library("numpy")` beside the import for types.
A command uses few rooms, and to make the classes of all takes longer than it runs: docs/lab/0029-start-up.md.
A `fork` waits for loading under way: a child would wait for ever for a module that only its parent loads.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
import threading
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import ModuleType

FORK_PATIENCE_SECONDS = 10.0
"""How long a fork waits for other threads; loading that itself waits for the forking thread never ends."""


def modules_of(package: str) -> Callable[[str], ModuleType]:
    """Return the `__getattr__` of a package whose modules are loaded when they are first named."""

    def opened(name: str) -> ModuleType:
        whole = f"{package}.{name}"
        if name.startswith("__") or find_spec(whole) is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return load(whole)

    return opened


def names_of(package: str, nouns: Mapping[str, str]) -> Callable[[str], object]:
    """
    Return the `__getattr__` of a package whose modules define these names: `{"scope": "GLOBAL Scope"}`.

    It hands out the modules too, whether or not somebody has loaded them, and `__all__` for a star.
    """
    homes = homes_of(nouns)

    def found(name: str) -> object:
        if name == "__all__":
            return sorted(homes)
        if name in nouns:
            return load(f"{package}.{name}")
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value: object = getattr(load(f"{package}.{homes[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return found


def homes_of(nouns: Mapping[str, str]) -> dict[str, str]:
    """Return the module of each name."""
    return {noun: module for module, named in nouns.items() for noun in named.split()}


def library(name: str) -> ModuleType:
    """Return what stands for a library of others, loaded when something of it is first used."""
    return cast("ModuleType", _Library(name))


class _Library:
    """Stands for a library; what was used of it once is found here at once."""

    def __init__(self, name: str) -> None:
        self._library = name

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        value: object = getattr(load(self._library), name)
        setattr(self, name, value)
        return value


def load(name: str) -> ModuleType:
    """Return a module, loaded if need be."""
    if name in sys.modules:
        return importlib.import_module(name)  # which waits for a thread that is loading it now
    with _UNDER_WAY.noted(), collector_at_rest():
        return importlib.import_module(name)


@contextmanager
def collector_at_rest() -> Iterator[None]:
    """Keep the collector of garbage from looking through what is loaded in the block: all of it stays."""
    is_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if is_enabled:
            gc.enable()


class _UnderWay:
    """The threads that load something now, so that a fork can wait for them."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._threads: list[int] = []

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Keep a fork by another thread waiting for as long as the block takes."""
        me = threading.get_ident()
        with self._changed:
            self._threads.append(me)
        try:
            yield
        finally:
            with self._changed:
                self._threads.remove(me)
                self._changed.notify_all()

    def before_fork(self) -> None:
        """Wait for the others, and let nobody begin until the fork is over."""
        me = threading.get_ident()
        self._changed.acquire()
        self._changed.wait_for(lambda: all(thread == me for thread in self._threads), FORK_PATIENCE_SECONDS)

    def after_fork(self) -> None:
        """Let the others go on."""
        self._changed.release()

    def after_fork_in_child(self) -> None:
        """Forget the threads that are not here."""
        me = threading.get_ident()
        self._threads[:] = [thread for thread in self._threads if thread == me]
        self._changed = threading.Condition()  # threads that wait on the old one are not here either


_UNDER_WAY = _UnderWay()
if hasattr(os, "register_at_fork"):  # which Windows has not
    os.register_at_fork(
        before=_UNDER_WAY.before_fork,
        after_in_parent=_UNDER_WAY.after_fork,
        after_in_child=_UNDER_WAY.after_fork_in_child,
    )
