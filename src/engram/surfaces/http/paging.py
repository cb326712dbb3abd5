"""
Give a long list page by page, and the address of the page that follows.

Used by the routes whose lists grow. A cursor names the last entry shown and not a position, so entries that
come in meanwhile neither repeat nor hide others. Lists of a whole scope or store the engine pages itself, and
`shown` only tells whether more follows; what belongs to one memory or topic is cut here, by `page`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Generic, TypeVar
from urllib.parse import urlencode

import msgspec

from engram.errors import InvalidQuery
from engram.values.query import MAX_LIMIT, check_limit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from starlette.requests import Request

One = TypeVar("One")
_CURSOR_BYTES = 9
_DIGITS = 19
"""Of the largest number that a store gives."""


@dataclass(frozen=True, slots=True)
class Page(Generic[One]):
    """Some entries of a list, and the cursor of those that follow, if any do."""

    entries: Sequence[One]
    following: str | None


def checked(limit: int) -> int:
    """Return the limit; raises as the engine does where it is none."""
    check_limit(limit)
    return limit


def ahead(limit: int) -> int:
    """Return how many entries to ask for: with one more than is shown, it is known whether a page follows."""
    return min(checked(limit) + 1, MAX_LIMIT)


def shown(found: Sequence[One], cursor: Callable[[One], object], *, limit: int) -> Page[One]:
    """
    Return so many of the entries that the engine gave, and the cursor of those that follow.

    At the largest limit nothing could be asked for beyond it, so a full page may be followed by an empty one.
    """
    entries = found[:limit]
    is_more = len(found) > limit or len(entries) == MAX_LIMIT
    return Page(entries, str(cursor(entries[-1])) if is_more else None)


def number(cursor: str | None) -> int | None:
    """Return a cursor that is a number; raises as the engine does where it is none."""
    if cursor is not None and not (cursor.isascii() and cursor.isdigit() and len(cursor) <= _DIGITS):
        raise InvalidQuery(f"no entry has the cursor {cursor[:40]!r}", hint="Begin again without a cursor.")
    return None if cursor is None else int(cursor)


def page(entries: Sequence[One], names: Sequence[str], *, limit: int, behind: str | None) -> Page[One]:
    """Return so many entries behind the one that a cursor names, or the first; `names` are the cursors."""
    start = 0 if behind is None else _place(names, behind)
    end = start + checked(limit)
    return Page(entries[start:end], names[end - 1] if end < len(entries) else None)


def numbers(entries: Sequence[object]) -> list[str]:
    """Return cursors for a list that only grows at its end."""
    return [str(number) for number, _ in enumerate(entries, start=1)]


def fingerprints(entries: Sequence[object]) -> list[str]:
    """Return cursors for a list that grows at its beginning; equal entries are counted from the end on."""
    seen: Counter[str] = Counter()
    names = []
    for one in reversed(entries):
        written = blake2b(msgspec.json.encode(one), digest_size=_CURSOR_BYTES).hexdigest()
        names.append(f"{written}.{seen[written]}")
        seen[written] += 1
    return names[::-1]


def address(request: Request, **cursor: str | None) -> str | None:
    """Return the address of the same request with another cursor; None where no page follows."""
    ((name, value),) = cursor.items()
    if value is None:
        return None
    kept = [pair for pair in request.query_params.multi_items() if pair[0] != name]
    return f"{request.url.path}?{urlencode([*kept, (name, value)])}"


def _place(names: Sequence[str], behind: str) -> int:
    if behind not in names:
        raise InvalidQuery(
            f"no entry has the cursor {behind[:40]!r} any more", hint="Begin again without a cursor."
        )
    return names.index(behind) + 1
