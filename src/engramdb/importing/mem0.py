"""
A dump of mem0: its memories as a list, or under `results` or `memories`, or one to a line.

A memory of a user stays that user's: `user_id` and `agent_id` become part of the scope, unless the import
names a user or an agent itself, so that nobody's memories are poured into everybody's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from engramdb.importing import record
from engramdb.importing.json_stream import Object, Piece, objects_by_time
from engramdb.importing.record import Broken, Record, Statement

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
    return record.moment(value.get("updated_at")) or record.moment(value.get("created_at"))


def _statement(one: Object) -> Statement | Broken:
    value = one.value
    content = record.text(value.get("memory"))
    if content is None:
        return Broken(place=one.place)
    about = record.mapping(value.get("metadata"))
    names = record.sequence(value.get("categories")) or [about.get("category")]
    session = record.name(value.get("run_id"))
    return Statement(
        content=content,
        place=one.place,
        key=record.name(value.get("id")) or "",
        category=record.category(names[0]),
        speaker=record.name(value.get("actor_id")),
        session=None if session is None else f"mem0:{session}",
        occurred_at=_when(value),
        user=record.name(value.get("user_id")),
        agent=record.name(value.get("agent_id")),
    )
