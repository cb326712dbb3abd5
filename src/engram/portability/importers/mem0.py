"""
A dump of mem0: its memories as a list, or under `results` or `memories`, or one to a line.

A memory of a user stays that user's: `user_id` and `agent_id` become part of the scope, unless the import
names a user or an agent itself, so that nobody's memories are poured into everybody's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engram.portability import fields
from engram.portability.objects import Object, objects_by_time
from engram.portability.record import Broken, Statement

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from engram.portability.pieces import Piece
    from engram.portability.record import Record

_OTHER_LISTS = frozenset({"relations", "added_entities", "deleted_entities"})


def suits(value: Mapping[str, Any]) -> bool:
    """Say whether an object is a memory of mem0."""
    return isinstance(value.get("memory"), str) and not value.keys().isdisjoint(
        {"id", "hash", "user_id", "agent_id", "run_id", "metadata", "created_at"}
    )


def read(piece: Piece, _mapping: Mapping[str, str]) -> Iterator[Record]:
    """Yield the memories."""
    for one in objects_by_time(piece, _when):
        if isinstance(one, Broken):
            yield one
        elif one.list_name not in _OTHER_LISTS:
            yield _statement(one)


def _when(value: Mapping[str, Any]) -> datetime | None:
    """Return when a memory was last stated there."""
    return fields.moment(value.get("updated_at")) or fields.moment(value.get("created_at"))


def _statement(one: Object) -> Statement | Broken:
    value = one.value
    content = fields.text(value.get("memory"))
    if content is None:
        return Broken(place=one.place)
    about = fields.mapping(value.get("metadata"))
    names = fields.sequence(value.get("categories")) or [about.get("category")]
    session = fields.name(value.get("run_id"))
    return Statement(
        content=content,
        place=one.place,
        key=fields.name(value.get("id")) or "",
        category=fields.category(names[0]),
        speaker=fields.name(value.get("actor_id")),
        session=None if session is None else f"mem0:{session}",
        occurred_at=_when(value),
        user=fields.name(value.get("user_id")),
        agent=fields.name(value.get("agent_id")),
    )
