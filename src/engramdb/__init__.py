"""
Engram: long-term memory for AI agents.

The public names and nothing else. Begin with `Engram.open("memory.db")`. Names are loaded when they are first
used, so that a command line or a server that needs one of them does not pay for all.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engramdb.lifecycle.drafts import Draft
    from engramdb.engine.engram import Engram
    from engramdb.errors import EngramError
    from engramdb.settings import Settings
    from engramdb.values import (
        Actor,
        Filters,
        Hit,
        Kind,
        Layer,
        Memory,
        MemoryType,
        Mode,
        Recall,
        Scope,
        Source,
        Status,
        Turn,
    )

__version__ = "0.1.0"

_HOMES = {
    "Draft": "engramdb.lifecycle.drafts",
    "Engram": "engramdb.engine.engram",
    "EngramError": "engramdb.errors",
    "Settings": "engramdb.settings",
}

__all__ = [
    "Actor",
    "Draft",
    "Engram",
    "EngramError",
    "Filters",
    "Hit",
    "Kind",
    "Layer",
    "Memory",
    "MemoryType",
    "Mode",
    "Recall",
    "Scope",
    "Settings",
    "Source",
    "Status",
    "Turn",
]


if not TYPE_CHECKING:  # with this in sight a checker would take any name for one that is there

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module 'engramdb' has no attribute {name!r}")
        return getattr(importlib.import_module(_HOMES.get(name, "engramdb.values")), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
