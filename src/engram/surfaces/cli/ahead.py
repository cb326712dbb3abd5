"""
Say how far ahead a moment lies, in words.

Used where a forecast is shown. Below two days it counts hours, because "in 0 days" tells nobody anything.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

_HOURS_BELOW = timedelta(days=2)
_NOTHING = timedelta(minutes=30)


def ahead(moment: datetime, now: datetime) -> str:
    """Return `in 12 days`, `in 5 hours`, or `at once`."""
    span = moment - now
    return "at once" if span < _NOTHING else f"in {_length(span)}"


def in_days(moment: datetime, now: datetime) -> str:
    """Return `now` or `12 days`, for the head of a column."""
    span = moment - now
    return "now" if span < _NOTHING else _length(span)


def shifted(moment: datetime, other: datetime) -> str:
    """Return how much later or sooner another moment is."""
    span = other - moment
    if abs(span) < _NOTHING:
        return "the same"
    return f"{_length(abs(span))} {'later' if span > timedelta() else 'sooner'}"


def _length(span: timedelta) -> str:
    number, unit = (
        (span / timedelta(hours=1), "hour") if span < _HOURS_BELOW else (span / timedelta(days=1), "day")
    )
    return f"{number:.0f} {unit}{'' if round(number) == 1 else 's'}"
