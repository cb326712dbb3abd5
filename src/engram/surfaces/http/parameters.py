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

def _described(kind: Any, meaning: str) -> Any:
    """Return the type of a parameter with its meaning."""
    return Annotated[kind, Query(description=meaning)]


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
