"""
What GET requests carry in their address: the scope, the filters, and what each route asks for besides.

Parsed by FastAPI, turned into the engine's values here, and unknown anywhere else. One class per route,
because a parameter that the route does not know must be an error that names it, as in a body.
A list is given by repeating its parameter, and narrows to any of its values; anything else is given once.
"""

from __future__ import annotations

from typing import get_origin

from pydantic import Field

from engram.errors import InvalidQuery
from engram.surfaces.http.bodies.shared import Body, Limit, Moment, ScopeBody
from engram.values import Breadth, Filters, Kind, Layer, MemoryType, Scope, Status


class Nothing(Body):
    """No parameters at all."""


class ScopeParameters(ScopeBody):
    """The scope that a request names, by its parts; the server's own where it names none."""

    def chosen_scope(self) -> Scope | None:
        """Return the scope named, if any."""
        named = {name: getattr(self, name) for name in ScopeBody.model_fields}
        return Scope(**named) if any(part is not None for part in named.values()) else None


def repeatable(parameters: type[Body]) -> frozenset[str]:
    """Return which of the parameters may be given several times."""
    return frozenset(
        one.alias or name
        for name, one in parameters.model_fields.items()
        if get_origin(one.annotation) in (frozenset, tuple)
    )


class ListParameters(ScopeParameters):
    """Which memories to list."""

    limit: Limit = 50
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


class PageParameters(ScopeParameters):
    """How much of what belongs to a memory to show."""

    limit: Limit = 100
    """How many at most."""
    after: str | None = None
    """The cursor of a page, as the `Link` of the page before it gives it."""


class TurnParameters(ScopeParameters):
    """Which turns to show."""

    session: str | None = None
    """The conversation; all of them where left out."""
    limit: Limit = 50
    """How many at most."""
    before: str | None = None
    """The id of the earliest turn shown, or its last 8 characters; those before it follow."""


class TimelineParameters(ScopeParameters):
    """Which topic's story to tell."""

    topic: str = Field(examples=["editor"])
    """What it is about."""
    limit: Limit = 50
    """How many memories about it are looked at."""
    entries: Limit = 200
    """How many changes are told at most."""
    after: str | None = None
    """The cursor of a page, as the `Link` of the page before it gives it."""


class EntityParameters(ScopeParameters):
    """How much of an entity to show."""

    limit: Limit = 20
    """How many memories of each layer at most."""


class QuestionParameters(ScopeParameters):
    """Which question to judge."""

    query: str = Field(examples=["when is Ada's birthday?"])
    """The question."""


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


class GapParameters(ScopeParameters):
    """Which open questions to show."""

    limit: Limit = 20
    """How many at most."""
    after: str | None = None
    """The id of the last one shown; lighter ones follow."""


class RecordParameters(Body):
    """Which records of the whole store to show."""

    limit: Limit = 50
    """How many at most."""
    before: str | None = None
    """The `number` of the last one shown; earlier ones follow."""


class SummaryParameters(ScopeParameters):
    """Which summaries to show."""

    query: str | None = None
    """What fits this comes first."""
    breadth: Breadth = Breadth.DOMAIN
    """How much one summary speaks of."""
    limit: Limit = 5
    """How many at most."""
