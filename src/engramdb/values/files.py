"""
The one list of every kind of file that Engram writes, and what an erasure does with each.

A kind that is `registered` has a row in the store for each file; the others are found beside the store or in
the home folder. A test looks for code that writes files and for kinds without a case.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Final

from msgspec import Struct


class FileKind(StrEnum):
    """What a file is to us."""

    STORE = "store"
    BACKUP = "backup"
    SALVAGE = "salvage"
    """The store that rows were saved into, or the one that they were saved from."""
    EXPORT = "export"
    NOTEBOOK = "notebook"
    HOOK_STATE = "hook-state"
    PLOT = "plot"
    TOKENS = "tokens"
    CLIENT_CONFIG = "client-config"
    MODEL_PACK = "model-pack"
    SAMPLE = "sample"


class FileRule(Struct, frozen=True, kw_only=True):
    """What a kind of file holds, and what an erasure does with it."""

    holds_text: bool
    """Whether words of memories may stand in it."""
    registered: bool = False
    """Whether each file has a row in the store, because it may be anywhere."""
    on_erase: str
    """What an erasure does with it."""


FILE_RULES: Final[dict[FileKind, FileRule]] = {
    FileKind.STORE: FileRule(holds_text=True, on_erase="rewritten with its -wal and -shm"),
    FileKind.BACKUP: FileRule(
        holds_text=True, registered=True, on_erase="opened, erased from in the same way, and rewritten"
    ),
    FileKind.SALVAGE: FileRule(
        holds_text=True, registered=True, on_erase="opened, erased from in the same way, and rewritten"
    ),
    FileKind.EXPORT: FileRule(
        holds_text=True, registered=True, on_erase="rewritten without the lines that hold it"
    ),
    FileKind.NOTEBOOK: FileRule(
        holds_text=True, registered=True, on_erase="its notes, copies and pages that hold it are removed"
    ),
    FileKind.HOOK_STATE: FileRule(
        holds_text=False, on_erase="digests of what sessions were given are removed"
    ),
    FileKind.PLOT: FileRule(holds_text=False, on_erase="left: it shows numbers, no words"),
    FileKind.TOKENS: FileRule(holds_text=False, on_erase="left: it holds hashes of tokens"),
    FileKind.CLIENT_CONFIG: FileRule(holds_text=False, on_erase="left: it holds the settings of a client"),
    FileKind.MODEL_PACK: FileRule(holds_text=False, on_erase="left: it holds a model"),
    FileKind.SAMPLE: FileRule(holds_text=False, on_erase="left: it holds made-up memories, for a moment"),
}


class WrittenFile(Struct, frozen=True, kw_only=True):
    """A file, or the folder of a notebook, that was written from a store."""

    kind: FileKind
    path: str
    """Where it was written, links resolved."""
    given: str
    """The path as it was given."""
    written_at: datetime
    """When it was last written."""
    by: str = ""
    """Who had it written."""


class FileOutcome(StrEnum):
    """What an erasure did with a file."""

    CLEANED = "cleaned"
    """Nothing of it is left in the file; other things are."""
    REWRITTEN = "rewritten"
    """Written again without it."""
    REMOVED = "removed"
    """The file is gone."""
    NAMED = "named"
    """Not touched: `why` says what to do about it."""


class ErasedFile(Struct, frozen=True, kw_only=True):
    """One file that we wrote, and what became of it."""

    kind: FileKind
    """What the file is to us."""
    path: str
    """Where it is, or was; empty for a caller who is limited to a scope."""
    outcome: FileOutcome
    """What was done with it, or would be."""
    why: str = ""
    """Why it was not touched and what to do about it, or what else there is to know."""
