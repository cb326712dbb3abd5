"""
An export of Engram: what one store knows, taken into another.

Statements that were held to be true come in, oldest first, with their labels, their links to one another, and
in the scope that they came from where the import leaves that open. What was replaced or forgotten there stays
away, and so does what a dream had concluded: the next dream concludes it again, and can then also take it
back. They come in as imported, because a file can say anything about who said what.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from engram.errors import InvalidScope
from engram.portability import fields
from engram.portability.export import FORM, MARK
from engram.portability.objects import Object, objects_by_time
from engram.portability.record import Broken, Link, Statement
from engram.values import BELIEVED, GLOBAL, EdgeType, Kind, Layer, MemoryType, Scope, Status
from engram.values.memory import DREAMT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime
    from enum import StrEnum

    from engram.portability.pieces import Piece
    from engram.portability.record import Record

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
    is_derived = (fields.text(value.get("extractor")) or "").startswith(DREAMT)
    return not is_derived and _word(Status, value.get("status"), Status.ACTIVE) in BELIEVED


def _when(value: Mapping[str, Any]) -> datetime | None:
    """Return when it was stored there."""
    return fields.moment(value.get("created_at"))


def _statement(one: Object) -> Statement | Broken:
    value = one.value
    content = fields.text(value.get("content"))
    try:
        scope = _scope(fields.mapping(value.get("scope")))
    except InvalidScope as exc:
        return Broken(place=one.place, code=exc.code)
    if content is None:
        return Broken(place=one.place)
    told = fields.mapping(value.get("provenance"))
    return Statement(
        content=content,
        place=one.place,
        key=fields.name(value.get("id")) or "",
        category=fields.category(value.get("category")),
        speaker=fields.name(told.get("speaker")),
        session=fields.name(told.get("session")),
        occurred_at=fields.moment(value.get("occurred_at")) or _when(value),
        forget_after=fields.moment(value.get("forget_after")),
        confidence=fields.share(value.get("confidence")),
        importance=fields.share(value.get("importance")),
        layer=_word(Layer, value.get("layer"), Layer.EPISODIC),
        type=_word(MemoryType, value.get("type"), MemoryType.FACT),
        kind=_word(Kind, value.get("kind"), Kind.NOTE),
        pinned=value.get("pinned") is True,
        scope=scope,
        links=tuple(_links(fields.sequence(value.get("links"))[:MOST_LINKS])),
    )


def _links(told: list[Any]) -> Iterator[Link]:
    """Yield the links that say to what, of which type and how strongly."""
    for one in map(fields.mapping, told):
        to, weight, kind = fields.name(one.get("to")), fields.share(one.get("weight")), one.get("type")
        if to is not None and weight is not None and kind in list(EdgeType):
            yield Link(to=to, type=EdgeType(kind), weight=weight)


def _scope(told: Mapping[str, Any]) -> Scope:
    """Return where it was known; a name that cannot be one must not make it everybody's."""
    names = {name: told[name] for name in ("project", "squad", "agent", "channel", "user") if told.get(name)}
    return Scope(**names) if names else GLOBAL


def _word(words: type[Word], value: object, otherwise: Word) -> Word:
    return words(value) if isinstance(value, str) and value in list(words) else otherwise
