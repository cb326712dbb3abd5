"""
What GET requests carry in their address: the scope, the filters, and what each route asks for besides.

Parsed by FastAPI, turned into the engine's values here, and unknown anywhere else. One class per route,
because a parameter that the route does not know must be an error that names it, as in a body.
A list is given by repeating its parameter, and narrows to any of its values.
"""

from __future__ import annotations

from pydantic import Field

from engram.errors import InvalidQuery
from engram.surfaces.http.bodies import Moment, ScopeBody
from engram.values import Filters, Kind, Layer, MemoryType, Scope, Status


class ScopeParameters(ScopeBody):
    """The scope that a request names, by its parts; the server's own where it names none."""

    def chosen_scope(self) -> Scope | None:
        """Return the scope named, if any."""
        named = {name: getattr(self, name) for name in ScopeBody.model_fields}
        return Scope(**named) if any(part is not None for part in named.values()) else None


class ListParameters(ScopeParameters):
    """Which memories to list."""

    limit: int = 50
    """How many at most."""
    before: str | None = None
    """The id of the last one shown; the page after it follows."""
    status: frozenset[Status] = frozenset({Status.ACTIVE})
    """What became of it."""
    layer: frozenset[Layer] = frozenset()
    """How long it is meant to live."""
    type: frozenset[MemoryType] = frozenset()
    """What it holds."""
    kind: frozenset[Kind] = frozenset()
    """Whether it happened once, or holds until replaced."""
    category: frozenset[str] = frozenset()
    """Such as `preference`."""
    since: Moment | None = None
    """From this moment on."""
    until: Moment | None = None
    """Before this moment."""
    entity: frozenset[str] = frozenset()
    """Speaks of this person or thing, by name or id."""
    technology: frozenset[str] = frozenset()
    """Speaks of this technology, in any spelling."""
    path: frozenset[str] = frozenset()
    """Names this file, or one below it."""
    language: frozenset[str] = frozenset()
    """A programming language."""
    sentiment: frozenset[str] = frozenset()
    """Of `positive`, `negative` and `neutral`."""
    speaker: frozenset[str] = frozenset()
    """Who said it."""
    session: frozenset[str] = frozenset()
    """The conversation that it was said in."""

    def filters(self) -> Filters:
        """Return the same as the engine says it."""
        return Filters(
            statuses=self.status,
            layers=self.layer,
            types=self.type,
            kinds=self.kind,
            categories=self.category,
            since=self.since,
            until=self.until,
            entities=self.entity,
            technologies=self.technology,
            paths=self.path,
            languages=self.language,
            sentiments=self.sentiment,
            speakers=self.speaker,
            sessions=self.session,
        )


class TimelineParameters(ScopeParameters):
    """Which topic's story to tell."""

    topic: str
    """What it is about."""
    limit: int = 50
    """How many memories about it are looked at."""


class EntityParameters(ScopeParameters):
    """How much of an entity to show."""

    limit: int = 20
    """How many memories of each layer at most."""


class ForecastParameters(ScopeParameters):
    """What to look ahead for, and how far."""

    memory_id: str | None = Field(None, alias="id")
    """One memory, by its id or its last 8 characters."""
    days: float = 365
    """How many days ahead."""
    everywhere: bool = False
    """Whether to count all scopes; shows numbers and no memory."""

    def check(self) -> None:
        """Refuse to count everything and to show one memory at once."""
        if self.memory_id is not None and self.everywhere:
            raise InvalidQuery("everywhere counts all memories and shows none", hint="Leave out the id.")


class CompareParameters(ScopeParameters):
    """After how many days to compare the presets."""

    days: tuple[float, ...] = (30, 90, 365)
    """After so many days each."""
    everywhere: bool = False
    """Whether to count all scopes."""
