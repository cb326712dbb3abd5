"""
Change one memory only if it is still as the caller has seen it: `If-Match`.

Used by the routes that change one memory. Two callers with the same ETag cannot both succeed: they are let
in one after the other, and the second finds a memory that has changed. Without `If-Match` nobody waits.
The engine takes no version to compare, so a write that comes past this server, or without the header, can
fall between the look and the change; that is the time of one read.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Annotated, Final

from fastapi import Header

from engram.errors import SystemError_
from engram.surfaces.http import tags
from engram.surfaces.http.replies import refuse, reply_memory

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.responses import Response

    from engram.engine.engram import Engram
    from engram.surfaces.http.bodies.shared import OneMemory
    from engram.values import Memory

IfMatch = Annotated[
    str | None,
    Header(description="An ETag of the memory: change it only if it still states what it stated then."),
]
IfNoneMatch = Annotated[
    str | None, Header(description="An ETag: answer 304 and nothing else if it still is the one.")
]
_DOORS: Final = 64
"""So many memories may be changed at once with a condition."""


class Conditions:
    """The doors through which conditional changes go, one at a time for each memory."""

    def __init__(self, engram: Engram) -> None:
        self._engram = engram
        self._doors = [threading.Lock() for _ in range(_DOORS)]

    def change(self, body: OneMemory, if_match: str | None, make: Callable[[str], Memory]) -> Response:
        """Make a change to the memory that is meant, if the condition holds, and answer with what came."""
        if if_match is None:
            return reply_memory(make(body.id))
        scope = body.chosen_scope()
        target = self._engram.get(body.id, scope=scope).id
        with self._doors[hash(target) % _DOORS]:
            now = self._engram.get(target, scope=scope)
            if not tags.is_stated_in(tags.memory_tag(now, b""), if_match):
                return refuse(412, _changed(target))
            return reply_memory(make(target))


def _changed(target: str) -> SystemError_:
    return SystemError_(
        f"memory {target} is not as `If-Match` says", hint="GET it again, and decide anew with its ETag."
    )
