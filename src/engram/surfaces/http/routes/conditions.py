"""
Change one memory only if it is still as the caller has seen it: `If-Match`.

Used by the routes that change one memory. A look compares the memory with the header, and what was looked at
goes along with the verb, whose own write makes sure that it still is so: nobody comes between, neither
another caller nor another process. Without the header nobody looks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypedDict

from fastapi import Header

from engram.errors import MemoryChanged
from engram.surfaces.http import tags

if TYPE_CHECKING:
    from engram.engine.engram import Engram
    from engram.values import Memory, Scope

IfMatch = Annotated[
    str | None,
    Header(description="An ETag of the memory: change it only if it still states what it stated then."),
]
IfNoneMatch = Annotated[
    str | None, Header(description="An ETag: answer 304 and nothing else if it still is the one.")
]


class Meant(TypedDict):
    """Which memory a verb is to change, and as what the caller has seen it, where that counts."""

    memory_id: str
    if_still: Memory | None


def meant(engram: Engram, memory_id: str, if_match: str | None, scope: Scope | None) -> Meant:
    """Return what a verb is told of the memory to change; raises `MemoryChanged` where it has changed."""
    if if_match is None:
        return Meant(memory_id=memory_id, if_still=None)
    seen = engram.get(memory_id, scope=scope)
    if tags.is_any(if_match):
        return Meant(memory_id=seen.id, if_still=None)
    if not tags.is_stated_in(tags.memory_tag(seen, b""), if_match):
        raise MemoryChanged(
            f"memory {seen.id} is not as `If-Match` says", hint="GET it again, and decide anew with its ETag."
        )
    return Meant(memory_id=seen.id, if_still=seen)
