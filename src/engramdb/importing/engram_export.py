"""
An export of Engram: what one store knows, taken into another.

Statements that were held to be true come in, oldest first, with their labels, their links to one another, and
in the scope that they came from where the import leaves that open. What was replaced or forgotten there stays
away, and so does what a dream had concluded: the next dream concludes it again, and can then also take it
back. They come in as imported, because a file can say anything about who said what.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeVar

from engramdb.errors import InvalidScope
from engramdb.exporting.export import FORM, MARK
from engramdb.importing import record
from engramdb.importing.json_stream import Object, Piece, objects_by_time
from engramdb.importing.record import Broken, Link, Record, Statement
from engramdb.values import BELIEVED, GLOBAL, EdgeType, Kind, Layer, MemoryType, Scope, Status
from engramdb.values.memory import DREAMT

Word = TypeVar("Word", bound=StrEnum)

MOST_LINKS = 200
"""So many links of one memory are read: far more than a memory has, and far fewer than a file could claim."""


def suits(value: Mapping[str, Any]) -> bool:
    """Say whether an object is a line of an export."""
    return value.get(MARK) == FORM and isinstance(value.get("content"), str)


def read(piece: Piece, _mapping: Mapping[str, str]) -> Iterator[Record]:
    """Yield what was held to be true."""
    for one in objects_by_time(piece, _when):
        if isinstance(one, Broken):
            yield one
        elif not suits(one.value):
            yield Broken(place=one.place)
        elif _is_wanted(one.value):
            yield _statement(one)


def _is_wanted(value: Mapping[str, Any]) -> bool:
    is_derived = (record.text(value.get("extractor")) or "").startswith(DREAMT)
    return not is_derived and _word(Status, value.get("status"), Status.ACTIVE) in BELIEVED


def _when(value: Mapping[str, Any]) -> datetime | None:
    """Return when it was stored there."""
    return record.moment(value.get("created_at"))


def _statement(one: Object) -> Statement | Broken:
    value = one.value
    content = record.text(value.get("content"))
    try:
        scope = _scope(record.mapping(value.get("scope")))
    except InvalidScope as exc:
        return Broken(place=one.place, code=exc.code)
    if content is None:
        return Broken(place=one.place)
    told = record.mapping(value.get("provenance"))
    return Statement(
        content=content,
        place=one.place,
        key=record.name(value.get("id")) or "",
        category=record.category(value.get("category")),
        speaker=record.name(told.get("speaker")),
        session=record.name(told.get("session")),
        occurred_at=record.moment(value.get("occurred_at")) or _when(value),
        forget_after=record.moment(value.get("forget_after")),
        confidence=record.share(value.get("confidence")),
        importance=record.share(value.get("importance")),
        layer=_word(Layer, value.get("layer"), Layer.EPISODIC),
        type=_word(MemoryType, value.get("type"), MemoryType.FACT),
        kind=_word(Kind, value.get("kind"), Kind.NOTE),
        pinned=value.get("pinned") is True,
        scope=scope,
        links=tuple(_links(record.sequence(value.get("links"))[:MOST_LINKS])),
    )


def _links(told: list[Any]) -> Iterator[Link]:
    """Yield the links that say to what, of which type and how strongly."""
    for one in map(record.mapping, told):
        to, weight, kind = record.name(one.get("to")), record.share(one.get("weight")), one.get("type")
        if to is not None and weight is not None and kind in list(EdgeType):
            yield Link(to=to, type=EdgeType(kind), weight=weight)


def _scope(told: Mapping[str, Any]) -> Scope:
    """Return where it was known; a name that cannot be one must not make it everybody's."""
    names = {name: told[name] for name in ("project", "squad", "agent", "channel", "user") if told.get(name)}
    return Scope(**names) if names else GLOBAL


def _word(words: type[Word], value: object, otherwise: Word) -> Word:
    return words(value) if isinstance(value, str) and value in list(words) else otherwise
