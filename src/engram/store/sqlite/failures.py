"""
Turn SQLite's complaints into Engram's errors, where they enter.

Wraps the two ways into the store, `atomic` and `read`, and its opening; `readable` wraps what makes values of
rows. The driver's text is shown
only where it names no content: SQLite's messages speak of files and tables, never of rows.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import apsw
import msgspec

from engram import errors

if TYPE_CHECKING:
    from collections.abc import Iterator

_ERRORS: tuple[tuple[type[apsw.Error], type[errors.EngramError]], ...] = (
    (apsw.BusyError, errors.StoreBusy),
    (apsw.LockedError, errors.StoreBusy),
    (apsw.FullError, errors.DiskFull),
    (apsw.ReadOnlyError, errors.StoreReadOnly),
    (apsw.PermissionsError, errors.StoreReadOnly),
    (apsw.CorruptError, errors.StoreCorrupt),
    (apsw.NotADBError, errors.NotAnEngramStore),
    (apsw.CantOpenError, errors.StoreUnreadable),
    (apsw.ConnectionClosedError, errors.StoreClosed),
)


NOT_A_VALUE = (ValueError, TypeError, KeyError, OverflowError, msgspec.DecodeError, errors.InvalidScope)
"""What our own values and parsers raise when a column holds what Engram never wrote there."""


@contextmanager
def readable(table: str) -> Iterator[None]:
    """Raise `StoreCorrupt` where a row of the table cannot be made into a value."""
    try:
        yield
    except NOT_A_VALUE as exc:
        raise errors.StoreCorrupt(f"a row of {table} makes no sense: {type(exc).__name__}") from exc


@contextmanager
def translated(location: str) -> Iterator[None]:
    """Raise the matching Engram error for whatever the driver raises inside the block."""
    try:
        yield
    except apsw.Error as exc:
        for theirs, ours in _ERRORS:
            if isinstance(exc, theirs):
                raise ours(f"{location}: {exc}") from exc
        raise errors.StorageError(f"{location}: {type(exc).__name__}: {exc}") from exc
    except UnicodeDecodeError as exc:
        raise errors.StoreCorrupt(f"{location}: a text in it is not UTF-8") from exc
    except UnicodeEncodeError as exc:
        raise errors.InvalidContent(
            "a text holds half a surrogate pair", hint="Decode the text properly first."
        ) from exc
