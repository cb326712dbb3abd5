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
    status: list[Status] = [Status.ACTIVE]
    layer: list[Layer] = []
    type: list[MemoryType] = []
    kind: list[Kind] = []
    category: list[str] = []
    """Such as `preference`."""
    since: Moment | None = None
    """From this moment on."""
    until: Moment | None = None
    """Before this moment."""
    entity: list[str] = []
    """Speaks of this person or thing, by name or id."""
    technology: list[str] = []
    """Speaks of this technology, in any spelling."""
    path: list[str] = []
    """Names this file, or one below it."""
    language: list[str] = []
    """A programming language."""
    sentiment: list[str] = []
    """Of `positive`, `negative` and `neutral`."""
    speaker: list[str] = []
    """Who said it."""
    session: list[str] = []
    """The conversation that it was said in."""

    def filters(self) -> Filters:
        """Return the same as the engine says it."""
        return Filters(
            statuses=frozenset(self.status),
            layers=frozenset(self.layer),
            types=frozenset(self.type),
            kinds=frozenset(self.kind),
            categories=frozenset(self.category),
            since=self.since,
            until=self.until,
            entities=frozenset(self.entity),
            technologies=frozenset(self.technology),
            paths=frozenset(self.path),
            languages=frozenset(self.language),
            sentiments=frozenset(self.sentiment),
            speakers=frozenset(self.speaker),
            sessions=frozenset(self.session),
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

    days: list[float] = [30, 90, 365]
    """After so many days each."""
    everywhere: bool = False
    """Whether to count all scopes."""
