"""
Whose memories are meant: mem0's `user_id`, `agent_id` and `run_id` as a scope.

Used by `memory`. A call must name one of them, as an argument or in its filters, or it would read
everybody's. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from engram.errors import InvalidContent, InvalidScope

if TYPE_CHECKING:
    from engram import Scope

_PARTS = {"user_id": "user", "agent_id": "agent", "run_id": "channel"}


def scope_of(around: Scope, filters: Mapping[str, Any] | None = None, **given: str | None) -> Scope:
    """Return the scope of a user, an agent and a run inside another; raises where none is named."""
    ids = {name: _id(name, one, filters or {}) for name, one in given.items()}
    named = {_PARTS[name]: one for name, one in ids.items() if one is not None and one != "*"}
    if not named:
        raise InvalidScope(
            "none of user_id, agent_id and run_id is given", hint="Name whose memories are meant."
        )
    for part, name in named.items():
        if getattr(around, part) not in (None, name):
            raise InvalidScope(f"{part}={name[:40]!r} is not the {part} of the scope")
    return replace(around, **named)


def _id(name: str, given: object, filters: Mapping[str, Any]) -> str | None:
    """Return an id as mem0 takes it: as an argument, or among the filters, also under an AND."""
    if given is not None:
        return str(given)
    wanted = filters.get(name)
    if wanted is not None and not isinstance(wanted, str):
        raise InvalidContent(f"{name} in filters must be text")
    parts = filters.get("AND")
    inner = parts if wanted is None and isinstance(parts, list) else []
    found = (_id(name, None, one) for one in inner if isinstance(one, Mapping))
    return wanted or next((one for one in found if one is not None), None)
