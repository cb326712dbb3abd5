"""
Memories of agentmemory: one to a line, or under `memories` and `lessons` of its JSON export.

Older versions of a memory, which that program keeps beside the latest, stay out; so do its raw observations
of tool runs. Strength there runs to ten, importance here to one.
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
    about = fields.mapping(value.get("metadata"))
    told = (value.get("updatedAt"), value.get("createdAt"), about.get("created_at"))
    return next(filter(None, map(fields.moment, told)), None)


def _statement(one: Object) -> Statement | Broken:
    value, about = one.value, fields.mapping(one.value.get("metadata"))
    texts = [fields.text(value.get(name)) for name in ("content", "document", "fact", "text")]
    content = next((text for text in texts if text is not None), None)
    if content is None:
        return Broken(place=one.place)
    sessions = [fields.name(session) for session in fields.sequence(value.get("sessionIds"))]
    return Statement(
        content=_with_title(content, fields.text(value.get("title"))),
        place=one.place,
        key=fields.name(value.get("id")) or "",
        category=fields.category(value.get("type") or about.get("category")),
        session=next((f"agentmemory:{name}" for name in sessions if name), None),
        occurred_at=_when(value),
        importance=fields.share(fields.number(value.get("strength")) / _STRONGEST),
    )


def _with_title(content: str, title: str | None) -> str:
    """Return the content behind its title, where that says something that the content does not begin with."""
    if title is None or content.casefold().startswith(title.strip(" .…").casefold()):
        return content
    return f"{title.strip()}: {content}"
