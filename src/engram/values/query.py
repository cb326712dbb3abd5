"""
Query: a question with its scope, and the filters that narrow it.

Built by the engine from a caller's arguments; carried unchanged through `recall` and the indexes.
There is no query without a scope.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from engram.errors import InvalidQuery
from engram.values.scope import GLOBAL, Scope
from engram.values.status import Status

if TYPE_CHECKING:
    from datetime import datetime

    from engram.values.memory import Kind, Layer, MemoryType

MAX_LIMIT = 1000
MAX_QUERY_CHARACTERS = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """What a memory must be to count; an empty part lets everything through, statuses excepted."""

    statuses: frozenset[Status] = frozenset({Status.ACTIVE})
    layers: frozenset[Layer] = frozenset()
    types: frozenset[MemoryType] = frozenset()
    kinds: frozenset[Kind] = frozenset()
    categories: frozenset[str] = frozenset()
    since: datetime | None = None
    until: datetime | None = None
    """`since` is included and `until` is not; both look at `Memory.when`."""

    def __post_init__(self) -> None:
        for name, moment in (("since", self.since), ("until", self.until)):
            if moment is not None and moment.tzinfo is None:
                raise InvalidQuery(f"{name} has no time zone", hint="Give one, such as datetime.UTC.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One question, ready to be asked."""

    text: str
    scope: Scope = GLOBAL
    filters: Filters = Filters()
    limit: int = 10

    def __post_init__(self) -> None:
        if not self.text.strip():
            raise InvalidQuery("the query is empty", hint="Ask for something, or use `list`.")
        if any("\ud800" <= character <= "\udfff" for character in self.text):
            raise InvalidQuery(
                "the query holds half a surrogate pair", hint="Decode the text properly first."
            )
        if len(self.text) > MAX_QUERY_CHARACTERS:
            raise InvalidQuery(f"the query has {len(self.text)} characters, at most {MAX_QUERY_CHARACTERS}")
        if not 1 <= self.limit <= MAX_LIMIT:
            raise InvalidQuery(f"limit={self.limit} is outside 1 to {MAX_LIMIT}")
