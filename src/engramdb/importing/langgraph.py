"""
Items of a LangGraph store: namespace, key and a value that may hold anything.

A value's own text is taken where it has one, also where LangMem wraps it; otherwise its fields are put into
words. What a namespace means is up to whoever chose it, so it is kept as the session, and a mapping such as
`user=namespace.1` can say more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from engramdb.importing import record
from engramdb.importing.json_stream import Object, Piece, objects_by_time
from engramdb.importing.record import Broken, Record, Statement

_TEXTS = ("content", "text", "memory", "data", "summary")
_DEEPEST = 4


def suits(value: Mapping[str, Any]) -> bool:
    """Say whether an object is an item of such a store."""
    return {"key", "value"} <= value.keys() and ("namespace" in value or "prefix" in value)


def read(piece: Piece, mapping: Mapping[str, str]) -> Iterator[Record]:
    """Yield the items."""
    for one in objects_by_time(piece, _when):
        yield one if isinstance(one, Broken) else _statement(one, mapping)


def _when(value: Mapping[str, Any]) -> datetime | None:
    """Return when a memory was last stated there."""
    return record.moment(value.get("updated_at")) or record.moment(value.get("created_at"))


def _statement(one: Object, mapping: Mapping[str, str]) -> Statement | Broken:
    value = one.value
    path = mapping.get("content")
    content = record.text(record.dig(value, path)) if path else in_words(value.get("value"))
    if content is None:
        return Broken(place=one.place)
    names = [str(part) for part in record.sequence(value.get("namespace"))]
    namespace = "/".join(names) or str(value.get("namespace") or value.get("prefix") or "").replace(".", "/")
    told = {name: record.dig(value, path) for name, path in mapping.items()}
    return Statement(
        content=content,
        place=one.place,
        key=f"{namespace}/{record.name(value.get('key'))}",
        category=record.category(told.get("category")),
        session=record.name(told.get("session")) or f"langgraph:{namespace}",
        occurred_at=_when(value),
        user=record.name(told.get("user")),
        agent=record.name(told.get("agent")),
    )


def in_words(value: object, *, depth: int = 0) -> str | None:
    """Return what a value says: its text, or else its fields as "name: value"."""
    if isinstance(value, str):
        return record.text(value)
    inner = record.mapping(value)
    if depth == _DEEPEST or not inner:
        return None
    for name in _TEXTS:
        found = in_words(inner.get(name), depth=depth + 1)
        if found is not None:
            return found
    plain = {name: str(one) for name, one in inner.items() if isinstance(one, str | int | float)}
    if len(plain) == 1 and isinstance(next(iter(inner.values())), str):
        return record.text(next(iter(plain.values())))
    return record.text("; ".join(f"{name.replace('_', ' ')}: {one}" for name, one in plain.items()))
