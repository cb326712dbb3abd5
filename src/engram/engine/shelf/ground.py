"""
What every verb of the shelf stands on: the opened parts, scope and actor, and the engine around it.

The ground of `writes` and `reads`; opens nothing itself. Everything is in a scope: one document in
exactly its own, a listing also in narrower ones where it looks `within`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from engram.engine.shelf.ready import unsettled
from engram.errors import InvalidScope
from engram.store.contract import Corner

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from engram.engine.assemble import Parts
    from engram.values import Actor, Hit, Scope, Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a shelf tells the rest of the engine."""

    before_write: Callable[[], None]
    heard: Callable[[Turn], None]
    given: Callable[[Sequence[Hit], Scope], None]
    embed_later: Callable[[], None]
    wait: Callable[[float], bool]


class Ground:
    """An opened store, seen from one scope by one actor."""

    def __init__(self, parts: Parts, around: Surroundings, *, scope: Scope, actor: Actor) -> None:
        self._parts = parts
        self._around = around
        self._scope = scope
        self._actor = actor
        self._gate = unsettled(parts.gate)

    def _corner(self, place: tuple[str, ...], scope: Scope | None, *, within: bool) -> Corner:
        return Corner(scope=self._in(scope), now=self._parts.clock.now(), place=place, within=within)

    def _in(self, scope: Scope | None) -> Scope:
        return self._scope if scope is None else scope

    def _inner(self, scope: Scope | None, around: Scope) -> Scope:
        """Return the scope of one document, which must not lie outside the scope of the call."""
        if scope is None:
            return around
        if not scope.sees(around):
            raise InvalidScope(f"scope {scope} is not inside {around}")
        return scope
