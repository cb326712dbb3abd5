"""
Engram: long-term memory for AI agents.

The public names and nothing else. Begin with `Engram.open("memory.db")`.
"""

from engram.capture.draft import Draft
from engram.engine.engram import Engram
from engram.errors import EngramError
from engram.settings import Settings
from engram.values import (
    Actor,
    Filters,
    Hit,
    Kind,
    Layer,
    Memory,
    MemoryType,
    Recall,
    Scope,
    Source,
    Status,
    Turn,
)

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
    "Recall",
    "Scope",
    "Settings",
    "Source",
    "Status",
    "Turn",
]
__version__ = "0.1.0"
