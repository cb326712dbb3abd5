"""
Rows of a CSV file, or objects of any JSON or JSONL file, by a mapping from our fields to their columns.

Without a mapping the usual names are tried. Rows with a role become messages of a conversation, others
statements. A path with dots reaches into objects: `content=payload.text`.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from typing import Any

from engramdb.errors import InvalidQuery
from engramdb.importing.json_stream import JsonObject, objects
from engramdb.importing.source import (
    UNREADABLE_FILE,
    BrokenRecord,
    Record,
    SourceFile,
    SourceMessage,
    SourceStatement,
)
from engramdb.text import fields
from engramdb.values import Role

USUAL = {
    "content": ("content", "memory", "text", "statement", "fact", "note", "message", "body"),
    "role": ("role", "sender"),
    "speaker": ("speaker", "author"),
    "session": ("session", "session_id", "conversation_id", "thread_id"),
    "occurred_at": ("occurred_at", "created_at", "timestamp", "date", "time"),
    "category": ("category",),
    "importance": ("importance",),
    "confidence": ("confidence",),
    "user": ("user_id",),
    "agent": ("agent_id",),
    "key": ("id", "uuid"),
}
"""Our fields, and the names that other programs have for them, the likeliest first."""
_ROLES = {
    **{role.value: role for role in Role},
    "human": Role.USER,
    "ai": Role.ASSISTANT,
    "bot": Role.ASSISTANT,
    "model": Role.ASSISTANT,
}
_SAMPLE_CHARACTERS = 8192
_DELIMITERS = ",;\t|"


def suits(value: Mapping[str, Any]) -> bool:
    """Return whether an object has a field that is usually the text."""
    return any(fields.text(value.get(name)) for name in USUAL["content"])


def check(mapping: Mapping[str, str]) -> None:
    """Raise for a field that does not exist: a misspelt one would be lost without a word."""
    unknown = [name for name in mapping if name not in USUAL]
    if unknown:
        raise InvalidQuery(f"no field is called {unknown[0]!r}", hint=f"Map to one of {', '.join(USUAL)}.")


def read_json(file: SourceFile, mapping: Mapping[str, str]) -> Iterator[Record]:
    """Yield the objects of a JSON or JSONL file as records."""
    for one in objects(file):
        yield one if isinstance(one, BrokenRecord) else _record(one, mapping)


def read_csv(file: SourceFile, mapping: Mapping[str, str]) -> Iterator[Record]:
    """Yield the rows of a CSV file as records; the first row names the columns."""
    try:
        with file.open() as stream:
            is_wide = stream.read(2) in (b"\xff\xfe", b"\xfe\xff")
        # What is not UTF-8 is kept as halves of surrogate pairs: admission refuses those rows only.
        encoding, errors = ("utf-16", "replace") if is_wide else ("utf-8-sig", "surrogateescape")
        with file.open() as stream:
            lines = io.TextIOWrapper(stream, encoding, errors, newline="")
            yield from _rows(file.name, lines, mapping)
    except UNREADABLE_FILE:
        yield BrokenRecord(place=file.name)


def header(file: SourceFile) -> list[str]:
    """Return the names of the columns of a CSV file, empty where there are none to be read."""
    try:
        with file.open() as stream:
            sample = stream.read(_SAMPLE_CHARACTERS).decode("utf-8-sig", "ignore")
        return next(csv.reader(io.StringIO(sample), delimiter=_delimiter(sample)), [])
    except (*UNREADABLE_FILE, csv.Error):
        return []


def _rows(file: str, stream: io.TextIOWrapper, mapping: Mapping[str, str]) -> Iterator[Record]:
    first = stream.readline(_SAMPLE_CHARACTERS)
    columns = next(csv.reader([first], delimiter=_delimiter(first)), [])
    rows = csv.reader(stream, delimiter=_delimiter(first))
    number = 1
    while True:
        number += 1
        place = f"{file}: row {number}"
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error:
            yield BrokenRecord(place=place)
            continue
        if row:
            named = dict(zip(columns, row, strict=False))
            yield _record(JsonObject(place, named), mapping)


def _delimiter(first_line: str) -> str:
    line = first_line.partition("\n")[0]
    return max(_DELIMITERS, key=line.count)


def _record(one: JsonObject, mapping: Mapping[str, str]) -> Record:
    told = {name: _told(one.value, name, mapping) for name in USUAL}
    content = fields.text(told["content"])
    if content is None:
        return BrokenRecord(place=one.place)
    whose: dict[str, Any] = {
        name: fields.name(told[name]) for name in ("speaker", "session", "user", "agent")
    }
    key, moment = fields.name(told["key"]) or "", fields.moment(told["occurred_at"])
    role = _ROLES.get(str(told["role"]).strip().lower())
    if role is not None:
        return SourceMessage(
            content=content, place=one.place, role=role, key=key, occurred_at=moment, **whose
        )
    return SourceStatement(
        content=content,
        place=one.place,
        key=key,
        category=fields.category(told["category"]),
        confidence=fields.share(told["confidence"]),
        importance=fields.share(told["importance"]),
        occurred_at=moment,
        **whose,
    )


def _told(value: Mapping[str, Any], name: str, mapping: Mapping[str, str]) -> object:
    """Return what a record tells for one of our fields: by the mapping, or else by a usual name."""
    if name in mapping:
        column = mapping[name]
        return value[column] if column in value else fields.dig(value, column)
    return next((value[usual] for usual in USUAL[name] if value.get(usual) not in (None, "")), None)
