"""
Read moments as people type them: ISO 8601, or a duration from now.

Used by the options that take a time. A time of day without a zone is the reader's own, as `output.minute`
shows it; a bare day is that day in UTC, as days without an hour are stored, so it finds them everywhere.
Units stop at weeks, because a month has no fixed length and "m" could also be a minute.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta

import typer

_DURATION = re.compile(r"(\d{1,6})([hdw])")
_UNITS = {"h": "hours", "d": "days", "w": "weeks"}


def moment(text: str) -> datetime:
    """Return the moment that an ISO 8601 text names."""
    try:
        found = datetime.fromisoformat(text)
        if _is_day(text):
            return found.replace(tzinfo=UTC)
        return _by_own_clock(found) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError, OSError) as exc:
        raise typer.BadParameter(f"{text!r} is not a time such as 2026-05-08 or 2026-05-08T14:30Z") from exc


def _by_own_clock(found: datetime) -> datetime:
    """
    Return the moment at which the reader's clock shows this; the first of two in autumn.

    An hour that spring leaves out follows the one before it. `astimezone` would put it earlier than that, so
    that 02:30 came before 01:45.
    """
    whole = found.replace(microsecond=0).timestamp()
    return datetime.fromtimestamp(whole, UTC) + timedelta(microseconds=found.microsecond)


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def moment_or_duration(text: str) -> datetime:
    """Return the moment named, or the one that lies a duration such as 30d, 12h or 8w ahead."""
    duration = _DURATION.fullmatch(text)
    if duration is None:
        return moment(text)
    number, unit = duration.groups()
    try:
        return datetime.now(UTC) + timedelta(**{_UNITS[unit]: int(number)})
    except OverflowError as exc:
        raise typer.BadParameter(f"{text!r} lies beyond the year 9999") from exc
