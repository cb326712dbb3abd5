"""
What GET requests carry in their address: the scope and the filters.

Declared by the routes as dependencies, so that every route spells them alike. A parameter that may be given
several times narrows to any of its values. What is left out is the server's own scope, and no filter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import Depends, Query

from engram.surfaces.http.bodies import Moment, ScopeBody
from engram.values import Filters, Kind, Layer, MemoryType, Status

if TYPE_CHECKING:
    from engram.values import Scope

Words = Annotated[list[str] | None, Query()]
"""A parameter that may be given several times."""


def _scope(
    project: str | None = None,
    squad: str | None = None,
    agent: str | None = None,
    channel: str | None = None,
    user: str | None = None,
) -> ScopeBody | None:
    """Return the scope that a request names, or none for the server's own."""
    named = {"project": project, "squad": squad, "agent": agent, "channel": channel, "user": user}
    return ScopeBody(**named) if any(name is not None for name in named.values()) else None


def _filters(
    status: Annotated[list[Status] | None, Query()] = None,
    layer: Annotated[list[Layer] | None, Query()] = None,
    type: Annotated[list[MemoryType] | None, Query()] = None,  # noqa: A002 - the word users know
    kind: Annotated[list[Kind] | None, Query()] = None,
    category: Words = None,
    since: Moment | None = None,
    until: Moment | None = None,
    entity: Words = None,
    technology: Words = None,
    path: Words = None,
    language: Words = None,
    sentiment: Words = None,
    speaker: Words = None,
    session: Words = None,
) -> Filters:
    """Return what a memory must be to count; without a status, it must be active."""
    return Filters(
        statuses=frozenset(status or {Status.ACTIVE}),
        layers=frozenset(layer or ()),
        types=frozenset(type or ()),
        kinds=frozenset(kind or ()),
        categories=frozenset(category or ()),
        since=since,
        until=until,
        entities=frozenset(entity or ()),
        technologies=frozenset(technology or ()),
        paths=frozenset(path or ()),
        languages=frozenset(language or ()),
        sentiments=frozenset(sentiment or ()),
        speakers=frozenset(speaker or ()),
        sessions=frozenset(session or ()),
    )


InScope = Annotated[ScopeBody | None, Depends(_scope)]
Narrowed = Annotated[Filters, Depends(_filters)]


def chosen(scope: ScopeBody | None) -> Scope | None:
    """Return the scope named, if any, as the engine says it."""
    return None if scope is None else scope.scope()
