"""
Read fields of JSON and front matter that nobody promised.

Each function returns nothing for what is not what it should be, so that an odd field costs that field and not
the record.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from engramdb.text.normalize import lazy
from engramdb.values.scope import MAX_NAME_CHARACTERS

_SECONDS, _MILLISECONDS, _MICROSECONDS = 1e11, 1e14, 1e17
"""Numbers below these are moments in that unit: all of them begin beyond the year 5000 in the unit before."""
_EARLIEST, _LATEST = 1900, 2200
_SLUG = lazy(r"[a-z][a-z0-9_-]{0,39}")


def text(value: object) -> str | None:
    """Return text that is not empty."""
    return value if isinstance(value, str) and value.strip() else None


def name(value: object) -> str | None:
    """Return a short name, made from a number if need be."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    found = text(value)
    if found is None:
        return None
    # Half a surrogate pair cannot be stored; without the name its owner's records would be everybody's.
    return found.strip()[:MAX_NAME_CHARACTERS].strip().encode("utf-8", "replace").decode("utf-8")


def mapping(value: object) -> Mapping[str, Any]:
    """Return an object, or an empty one."""
    return value if isinstance(value, dict) else {}


def sequence(value: object) -> list[Any]:
    """Return a list, or an empty one."""
    return value if isinstance(value, list) else []


def number(value: object) -> float:
    """Return a number, also one that is written as text; not a number for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return math.nan
    try:
        return float(value)
    except (ValueError, OverflowError):
        return math.nan


def share(value: object) -> float | None:
    """Return a number from 0 to 1."""
    found = number(value)
    return found if 0 <= found <= 1 else None


def category(value: object) -> str | None:
    """Return a category of the form that the write pipeline takes."""
    found = text(value)
    slug = "" if found is None else found.strip().lower().replace(" ", "_")
    return slug if _SLUG.fullmatch(slug) else None


def moment(value: object) -> datetime | None:
    """Return a moment given as ISO 8601 or as a number since 1970; one without a time zone counts as UTC."""
    if isinstance(value, str):
        found = _from_text(value.strip())
    elif isinstance(value, int | float) and not isinstance(value, bool):
        found = _from_number(float(value))
    else:
        return None
    return found if found is not None and _EARLIEST <= found.year <= _LATEST else None


def _from_text(words: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(words)
    except ValueError:
        return (
            _from_number(float(words)) if words.replace(".", "", 1).isdecimal() and len(words) >= 9 else None
        )
    try:
        return (found.replace(tzinfo=UTC) if found.tzinfo is None else found).astimezone(UTC)
    except (OverflowError, ValueError):
        return None


def _from_number(number: float) -> datetime | None:
    for limit, per_second in ((_SECONDS, 1.0), (_MILLISECONDS, 1e3), (_MICROSECONDS, 1e6)):
        if abs(number) < limit:
            try:
                return datetime.fromtimestamp(number / per_second, UTC)
            except (OverflowError, OSError, ValueError):
                return None
    return None


def dig(value: object, path: str) -> object:
    """Return what lies at a dotted path, through objects by name and through lists by number."""
    for step in path.split("."):
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        else:
            return None
    return value
