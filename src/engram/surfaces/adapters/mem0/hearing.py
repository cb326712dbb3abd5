"""
Hear messages, and return what is known because of them.

Used by `memory` for `add` with inference. The messages are turns of a session, read at once. What they
state may be known already, from another door or an earlier session: then the memory is the old one,
strengthened, and only the audit tells that these messages spoke of it.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from engram.errors import MemoryNotFound
from engram.values import Action, Filters, Status
from engram.values.query import MAX_LIMIT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engram import Engram, Memory, Scope

LATEST_EVENTS = 500
"""So far back the audit is looked through for what was strengthened; one reading writes far less."""


def hear(
    engram: Engram, said: Sequence[tuple[str, str]], *, session: str | None, scope: Scope
) -> list[Memory]:
    """Keep who said what as turns, and return the statements in them, oldest memory first."""
    session = session or f"mem0-{uuid.uuid4().hex}"
    turns = {engram.observe(content, role=role, session=session, scope=scope).id for role, content in said}
    if not turns:
        return []
    engram.flush(session=session, scope=scope)
    filters = Filters(sessions=frozenset({session}))
    stated = {one.id: one for one in engram.list(filters=filters, limit=MAX_LIMIT, scope=scope)}
    stated |= {one.id: one for one in _strengthened(engram, scope) if one.status is Status.ACTIVE}
    spoken_of = [one for one in stated.values() if one.scope == scope and turns & set(one.provenance.turns)]
    return sorted(spoken_of, key=lambda one: one.id)


def _strengthened(engram: Engram, scope: Scope) -> Iterator[Memory]:
    """Yield what was lately stated again, as far as this scope may see it."""
    events = [one for one in engram.audit(limit=LATEST_EVENTS) if one.action is Action.REINFORCE]
    for target in dict.fromkeys(event.target for event in events if event.target is not None):
        try:
            yield engram.get(target, scope=scope)
        except MemoryNotFound:  # somebody else's
            continue
