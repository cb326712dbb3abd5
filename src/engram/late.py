"""
Load late: a package hands out what stands in it when it is first named.

Used in the `__init__` of a package. With `modules_of` it is the door of a room: `from engram import capture`
loads nothing, and `capture.admit` loads that one module at its first use. With `names_of` it stands for the
values that its modules define. After the first use a name is an ordinary attribute and costs nothing. A
module that few verbs take arrays from writes `np = library("numpy")` beside the import for types.
A command uses few rooms, and to make the classes of all takes longer than it runs: docs/lab/0029-start-up.md.
"""

from __future__ import annotations

import gc
import importlib
import sys
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import ModuleType


def modules_of(package: str) -> Callable[[str], ModuleType]:
    """Return the `__getattr__` of a package whose modules are loaded when they are first named."""

    def opened(name: str) -> ModuleType:
        whole = f"{package}.{name}"
        if name.startswith("__") or find_spec(whole) is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return load(whole)

    return opened


def names_of(package: str, nouns: Mapping[str, str]) -> Callable[[str], object]:
    """Return the `__getattr__` of a package whose modules define these names: `{"scope": "GLOBAL Scope"}`."""
    homes = homes_of(nouns)

    def found(name: str) -> object:
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
    with collector_at_rest():
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
