"""A memory as a row and back; times as microseconds since 1970, UTC."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from operator import attrgetter
from typing import Any, Final, get_origin, get_type_hints
from zlib import crc32

import msgspec
from msgspec import UNSET, Struct, UnsetType

from engramdb.erasable_cache import cached
from engramdb.errors import StoreCorrupt
from engramdb.store.sqlite.connection import NOT_A_VALUE
from engramdb.values import Actor, ActorKind, Memory, Scope, Status, Surface
from engramdb.values.privacy import PiiSpan
from engramdb.values.reading import Lasting

# Times in the file: whole microseconds since 1970, UTC.

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def to_microseconds(moment: datetime) -> int:
    """Return the moment as stored; it must know its time zone."""
    return (moment - _EPOCH) // _MICROSECOND


def from_microseconds(number: int) -> datetime:
    """Return the stored moment, in UTC."""
    return _EPOCH + timedelta(microseconds=number)


def optional_to_microseconds(moment: datetime | None) -> int | None:
    """Return the moment as stored, or None."""
    return None if moment is None else to_microseconds(moment)


def optional_from_microseconds(number: int | None) -> datetime | None:
    """Return the stored moment, or None."""
    return None if number is None else from_microseconds(number)


# A memory as a row, and back: the columns are the fields of `Memory`.
#
# A field that is added there needs a column of its name, by a migration, and nothing here.


class Column(Struct, frozen=True, kw_only=True):
    """One column, the field that it holds, and how one becomes the other; None where they are the same."""

    name: str
    field: str
    part: str = ""
    """The field of the value in `field`, where each of its fields is a column."""
    write: Callable[[Any], Any] | None = None
    read: Callable[[Any], Any] | None = None


SPREAD = {"provenance": "", "affect": "", "access": "access_"}
"""The fields whose own fields are columns, each with this before its name."""
APART = frozenset({"scope"})
"""Held by columns of another table."""


def _columns() -> Iterator[Column]:
    for field, kind in get_type_hints(Memory).items():
        if field in SPREAD:
            for part, inner in get_type_hints(kind).items():
                write, read = _codec(inner)
                yield Column(name=SPREAD[field] + part, field=field, part=part, write=write, read=read)
        elif field not in APART:
            write, read = _codec(kind)
            yield Column(name=field, field=field, write=write, read=read)


Codec = tuple[Callable[[Any], Any] | None, Callable[[Any], Any] | None]


def _codec(kind: Any) -> Codec:
    """Return how a type is written and read: moments as numbers, words as they are, the rest as JSON."""
    if kind in _CODECS:
        return _CODECS[kind]
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return None, kind
    if isinstance(kind, type) and issubclass(kind, Struct):
        return to_json, msgspec.json.Decoder(kind).decode
    if get_origin(kind) is tuple:
        decode = msgspec.json.Decoder(kind).decode
        return to_json, lambda text: () if text == "[]" else decode(text)  # most lists are empty
    return None, None


def _optional_int(value: bool | None) -> int | None:
    return None if value is None else int(value)


def _optional_bool(value: int | None) -> bool | None:
    return None if value is None else bool(value)


def spans_to_json(spans: tuple[PiiSpan, ...] | UnsetType) -> str | None:
    """Return where private words stand as JSON; None where nobody has looked."""
    return to_json(spans) if isinstance(spans, tuple) else None


def spans_from_json(text: str | None) -> tuple[PiiSpan, ...] | UnsetType:
    """Return where private words stand; unset where nobody has looked."""
    if text is None or text == "[]":
        return UNSET if text is None else ()
    return _decode_spans(text)


def _moments_to_json(moments: Sequence[datetime]) -> str:
    return to_json([to_microseconds(moment) for moment in moments])


def _moments_from_json(text: str) -> tuple[datetime, ...]:
    return () if text == "[]" else tuple([from_microseconds(number) for number in _decode(text)])


def to_json(value: Any) -> str:
    """Return the value as JSON text."""
    return _encode(value).decode()


def from_json(text: str) -> Any:
    """Return the value of a JSON text."""
    return _decode(text)


_encode = msgspec.json.encode
_decode = msgspec.json.decode
_decode_spans = msgspec.json.Decoder(tuple[PiiSpan, ...]).decode
_CODECS: Final[dict[Any, Codec]] = {
    datetime: (to_microseconds, from_microseconds),
    datetime | None: (optional_to_microseconds, optional_from_microseconds),
    tuple[datetime, ...]: (_moments_to_json, _moments_from_json),
    bool: (int, bool),
    bool | None: (_optional_int, _optional_bool),
    tuple[PiiSpan, ...] | UnsetType: (spans_to_json, spans_from_json),
    Lasting | None: (None, lambda word: None if word is None else Lasting(word)),
}
_MAPPED: Final = tuple(_columns())
COLUMNS: Final = [one.name for one in _MAPPED]
"""The columns that hold the memory itself; `key`, `change`, `fingerprint` and `scope` are apart."""
DECODERS: Final = {one.name: one.read for one in _MAPPED if one.read is not None}
"""How a column is read, where it is not taken as it is."""
SELECTED: Final = (
    ", ".join(f"m.{name}" for name in COLUMNS)
    + ", "
    + ", ".join(f"s.{name}" for name in Scope.__struct_fields__)
)
"""What to select, from `memories m JOIN scopes s`, for `from_row`."""
_VALUES: Final = attrgetter(*(f"{one.field}.{one.part}" if one.part else one.field for one in _MAPPED))
_WRITES: Final = [(place, one.write) for place, one in enumerate(_MAPPED) if one.write is not None]
_READS: Final = [(place, one.read) for place, one in enumerate(_MAPPED) if one.read is not None]
_TEXTS: Final = [
    place
    for place, one in enumerate(_MAPPED)
    if one.name in {"id", "content", "category", "subject", "predicate", "object", "speaker", "session"}
]
"""Columns whose words are read as they are: of a damaged row they may be numbers."""
_WHOLE: Final = [(one.field, place) for place, one in enumerate(_MAPPED) if not one.part]
_PARTS: Final[list[tuple[str, Any, list[tuple[str, int]]]]] = [
    (
        field,
        get_type_hints(Memory)[field],
        [(one.part, place) for place, one in enumerate(_MAPPED) if one.field == field],
    )
    for field in SPREAD
]


def checksum(words: str, private: str | None) -> int:
    """
    Return what a row is compared with when damage is looked for, since SQLite checks no page.

    It covers the words, and as stored where the private ones among them stand.
    """
    return crc32((private or "").encode(), crc32(words.encode("utf-8", "surrogatepass")))


def to_row(memory: Memory) -> tuple[Any, ...]:
    """Return the values of `COLUMNS`."""
    values = list(_VALUES(memory))
    for place, write in _WRITES:
        values[place] = write(values[place])
    return tuple(values)


def from_row(row: Sequence[Any]) -> Memory:
    """Return the memory from the columns of `SELECTED`; raises `StoreCorrupt` where they make no sense."""
    try:
        return _memory(row)
    except NOT_A_VALUE as exc:
        raise StoreCorrupt(f"memory {row[0]!s:.64} makes no sense: {type(exc).__name__}") from exc


def _memory(row: Sequence[Any]) -> Memory:
    got = list(row)
    for place in _TEXTS:
        if not isinstance(got[place], str | None):
            raise TypeError(COLUMNS[place])
    for place, read in _READS:
        got[place] = read(got[place])
    fields = {field: got[place] for field, place in _WHOLE}
    for field, kind, parts in _PARTS:
        fields[field] = kind(**{part: got[place] for part, place in parts})
    start = len(COLUMNS)
    return Memory(scope=scope_from(row[start : start + len(Scope.__struct_fields__)]), **fields)


def scope_from(names: Sequence[str]) -> Scope:
    """Return the scope from its five columns, in which an empty text stands for none."""
    return _scope(*names)


@cached(64)  # an answer holds a thousand memories of few scopes
def _scope(project: str, squad: str, agent: str, channel: str, user: str) -> Scope:
    return Scope(
        project=project or None,
        squad=squad or None,
        agent=agent or None,
        channel=channel or None,
        user=user or None,
    )


def actor_from(name: str, kind: str, surface: str | None, token: str | None) -> Actor:
    """Return who did something from its four columns."""
    way = None if surface is None else Surface(surface)
    return Actor(name=name, kind=ActorKind(kind), surface=way, token=token)


INDEXED_STATUSES = to_json([status for status in Status if status.is_indexed])
"""Statuses of memories that the text and vector indexes hold, as a JSON list to bind."""
