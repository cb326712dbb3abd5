"""
Read the moments that a model writes: ISO 8601, a date or a date with a time.

Used by the tools that take a time. A moment without a time zone is UTC, as everything that is stored.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import msgspec

from engram.errors import InvalidQuery

Moment = Annotated[str, msgspec.Meta(max_length=40)]


def moment(name: str, text: str | None) -> datetime | None:
    """Return the moment that an argument names, if it names one."""
    if not text:
        return None
    try:
        found = datetime.fromisoformat(text)
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError) as exc:
        raise InvalidQuery(
            f"{name}={text!r} is not a time", hint="Write 2026-05-08 or 2026-05-08T14:30Z."
        ) from exc
