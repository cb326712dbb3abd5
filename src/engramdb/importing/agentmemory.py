"""
Memories of agentmemory: one to a line, or under `memories` and `lessons` of its JSON export.

Older versions of a memory, which that program keeps beside the latest, stay out; so do its raw observations
of tool runs. Strength there runs to ten, importance here to one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from engramdb.importing import record
from engramdb.importing.json_stream import Object, Piece, objects_by_time
from engramdb.importing.record import Broken, Record, Statement

_OWN_FIELDS = frozenset({"sessionIds", "isLatest", "concepts", "strength"})
_LISTS = frozenset({"", "memories", "semanticMemories", "lessons"})
_STRONGEST = 10


def suits(value: Mapping[str, Any]) -> bool:
    """Say whether an object is a memory of that program."""
    has_text = isinstance(value.get("content"), str) or isinstance(value.get("document"), str)
    is_chroma = isinstance(value.get("document"), str) and isinstance(value.get("metadata"), dict)
    return is_chroma or (has_text and not _OWN_FIELDS.isdisjoint(value.keys()))


def read(piece: Piece, _mapping: Mapping[str, str]) -> Iterator[Record]:
    """Yield the memories."""
    for one in objects_by_time(piece, _when):
        if isinstance(one, Broken):
            yield one
        elif one.list_name in _LISTS and one.value.get("isLatest") is not False:
            yield _statement(one)


def _when(value: Mapping[str, Any]) -> datetime | None:
    """Return when a memory was last stated there."""
    about = record.mapping(value.get("metadata"))
    told = (value.get("updatedAt"), value.get("createdAt"), about.get("created_at"))
    return next(filter(None, map(record.moment, told)), None)


def _statement(one: Object) -> Statement | Broken:
    value, about = one.value, record.mapping(one.value.get("metadata"))
    texts = [record.text(value.get(name)) for name in ("content", "document", "fact", "text")]
    content = next((text for text in texts if text is not None), None)
    if content is None:
        return Broken(place=one.place)
    sessions = [record.name(session) for session in record.sequence(value.get("sessionIds"))]
    return Statement(
        content=_with_title(content, record.text(value.get("title"))),
        place=one.place,
        key=record.name(value.get("id")) or "",
        category=record.category(value.get("type") or about.get("category")),
        session=next((f"agentmemory:{name}" for name in sessions if name), None),
        occurred_at=_when(value),
        importance=record.share(record.number(value.get("strength")) / _STRONGEST),
    )


def _with_title(content: str, title: str | None) -> str:
    """Return the content behind its title, where that says something that the content does not begin with."""
    if title is None or content.casefold().startswith(title.strip(" .…").casefold()):
        return content
    return f"{title.strip()}: {content}"
