"""
Times in the file: whole microseconds since 1970, UTC.

Used by every table. Integers sort, subtract and filter in SQL, and every tool can read them.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def to_microseconds(moment: datetime) -> int:
    """Return the moment as stored; it must know its time zone."""
    return (moment - _EPOCH) // _MICROSECOND


def from_microseconds(number: int) -> datetime:
    """Return the stored moment, in UTC."""
    return _EPOCH + timedelta(microseconds=number)


def optional_to_microseconds(moment: datetime | None) -> int | None:
    """Return the moment as stored, or None."""
    return None if moment is None else to_microseconds(moment)


def optional_from_microseconds(number: int | None) -> datetime | None:
    """Return the stored moment, or None."""
    return None if number is None else from_microseconds(number)
