"""Memories of other stores: exports of Engram itself, mem0, LangGraph and agentmemory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeVar

from engramdb.errors import InvalidScope
from engramdb.exporting.export import FORM, MARK
from engramdb.importing.json_stream import JsonObject, objects_by_time
from engramdb.importing.source import BrokenRecord, Record, SourceFile, SourceLink, SourceStatement
from engramdb.text import fields
from engramdb.values import (
    BELIEVED,
    GLOBAL,
    EdgeType,
    Kind,
    Layer,
    MemoryType,
    Moment,
    Scope,
    SecurityTier,
    Status,
)
from engramdb.values.memory import DREAMT, INJECTION
from engramdb.values.reading import Force, Lasting

# Engram: what one store knows, taken into another. Statements that were held to be true come in, oldest
# first, with their labels, their links to one another, and in the scope that they came from where the import
# leaves that open. What was replaced or forgotten there stays away, and so does what a dream had concluded:
# the next dream concludes it again. They come in as imported, because a file can say anything about who said
# what.

Word = TypeVar("Word", bound=StrEnum)

MAX_TIMES = 16
MAX_LINKS = 200
"""Links read of one memory: far more than a memory has, and far fewer than a file could claim."""


def is_engram(value: Mapping[str, Any]) -> bool:
    """Return whether an object is a line of an export."""
    return value.get(MARK) == FORM and isinstance(value.get("content"), str)


def read_engram(file: SourceFile, _mapping: Mapping[str, str]) -> Iterator[Record]:
    """Yield what was held to be true."""
    for one in objects_by_time(file, _engram_moment):
        if isinstance(one, BrokenRecord):
            yield one
        elif not is_engram(one.value):
            yield BrokenRecord(place=one.place)
        elif _is_believed(one.value):
            yield _engram_statement(one)


def _is_believed(value: Mapping[str, Any]) -> bool:
    is_derived = (fields.text(value.get("extractor")) or "").startswith(DREAMT)
    return not is_derived and (_word(Status, value.get("status")) or Status.ACTIVE) in BELIEVED


def _engram_moment(value: Mapping[str, Any]) -> datetime | None:
    """Return when it was stored there."""
    return fields.moment(value.get("created_at"))


def _engram_statement(one: JsonObject) -> SourceStatement | BrokenRecord:
    value = one.value
    content = fields.text(value.get("content"))
    try:
        scope = _engram_scope(fields.mapping(value.get("scope")))
    except InvalidScope as exc:
        return BrokenRecord(place=one.place, code=exc.code)
    if content is None:
        return BrokenRecord(place=one.place)
    told = fields.mapping(value.get("provenance"))
    return SourceStatement(
        content=content,
        place=one.place,
        key=fields.name(value.get("id")) or "",
        category=fields.category(value.get("category")),
        speaker=fields.name(told.get("speaker")),
        session=fields.name(told.get("session")),
        occurred_at=fields.moment(value.get("occurred_at")) or _engram_moment(value),
        said_at=fields.moment(value.get("said_at")),
        valid_from=fields.moment(value.get("valid_from")),
        valid_to=fields.moment(value.get("valid_to")),
        moments=tuple(_engram_times(fields.sequence(value.get("moments"))[:MAX_TIMES])),
        forget_after=fields.moment(value.get("forget_after")),
        confidence=fields.share(value.get("confidence")),
        importance=fields.share(value.get("importance")),
        layer=_filed(Layer, value, "layer", unfiled=Layer.EPISODIC),
        type=_filed(MemoryType, value, "type", unfiled=MemoryType.FACT),
        kind=_filed(Kind, value, "kind", unfiled=Kind.NOTE),
        force=_word(Force, value.get("force")),
        lasting=_word(Lasting, value.get("lasting")),
        pinned=value.get("pinned") is True,
        flags=(INJECTION,) if INJECTION in fields.sequence(value.get("flags")) else (),
        security=_word(SecurityTier, value.get("security")) or SecurityTier.CLEARTEXT,
        scope=scope,
        links=tuple(_engram_links(fields.sequence(value.get("links"))[:MAX_LINKS])),
    )


def _engram_times(told: list[Any]) -> Iterator[Moment]:
    """Yield the times that say in which words, from when and until when."""
    for one in map(fields.mapping, told):
        words, start, end = (
            fields.text(one.get("words")),
            *(fields.moment(one.get(x)) for x in ("start", "end")),
        )
        if words is not None and start is not None and end is not None and start < end:
            yield Moment(words=words, start=start, end=end, is_relative=one.get("is_relative") is True)


def _engram_links(told: list[Any]) -> Iterator[SourceLink]:
    """Yield the links that say to what, of which type and how strongly."""
    for one in map(fields.mapping, told):
        to, weight, kind = fields.name(one.get("to")), fields.share(one.get("weight")), one.get("type")
        if to is not None and weight is not None and kind in list(EdgeType):
            yield SourceLink(to=to, type=EdgeType(kind), weight=weight)


def _engram_scope(told: Mapping[str, Any]) -> Scope:
    """Return where it was known; a name that cannot be one must not make it everybody's."""
    names = {name: told[name] for name in ("project", "squad", "agent", "channel", "user") if told.get(name)}
    return Scope(**names) if names else GLOBAL


def _word(words: type[Word], value: object) -> Word | None:
    return words(value) if isinstance(value, str) and value in list(words) else None


def _filed(words: type[Word], value: Mapping[str, Any], name: str, *, unfiled: Word) -> Word | None:
    """Return a label that was chosen; a version that did not choose wrote the same one for everything."""
    found = _word(words, value.get(name))
    return None if found is unfiled and "lasting" not in value else found


# mem0: its memories as a list, or under `results` or `memories`, or one to a line. `user_id` and `agent_id`
# become part of the scope, unless the import names a user or an agent itself: a memory of a user stays that
# user's.

_MEM0_PROCEDURE = "procedural_memory"
"""How mem0 marks what tells how to do something."""
_MEM0_OTHER_LISTS = frozenset({"relations", "added_entities", "deleted_entities"})


def is_mem0(value: Mapping[str, Any]) -> bool:
    """Return whether an object is a memory of mem0."""
    return isinstance(value.get("memory"), str) and not value.keys().isdisjoint(
        {"id", "hash", "user_id", "agent_id", "run_id", "metadata", "created_at"}
    )


def read_mem0(file: SourceFile, _mapping: Mapping[str, str]) -> Iterator[Record]:
    """Yield the memories."""
    for one in objects_by_time(file, _updated_at):
        if isinstance(one, BrokenRecord):
            yield one
        elif one.list_name not in _MEM0_OTHER_LISTS:
            yield _mem0_statement(one)


def _updated_at(value: Mapping[str, Any]) -> datetime | None:
    """Return when a memory was last stated there."""
    return fields.moment(value.get("updated_at")) or fields.moment(value.get("created_at"))


def _mem0_statement(one: JsonObject) -> SourceStatement | BrokenRecord:
    value = one.value
    content = fields.text(value.get("memory"))
    if content is None:
        return BrokenRecord(place=one.place)
    about = fields.mapping(value.get("metadata"))
    names = fields.sequence(value.get("categories")) or [about.get("category")]
    session = fields.name(value.get("run_id"))
    is_procedure = (value.get("memory_type") or about.get("memory_type")) == _MEM0_PROCEDURE
    return SourceStatement(
        content=content,
        place=one.place,
        key=fields.name(value.get("id")) or "",
        category=fields.category(names[0]),
        type=MemoryType.PROCEDURE if is_procedure else None,
        speaker=fields.name(value.get("actor_id")),
        session=None if session is None else f"mem0:{session}",
        occurred_at=_updated_at(value),
        user=fields.name(value.get("user_id")),
        agent=fields.name(value.get("agent_id")),
    )


# LangGraph: namespace, key and a value that may hold anything. A value's own text is taken where it has one,
# also where LangMem wraps it; otherwise its fields are put into words. What a namespace means is up to its
# owner, so it becomes the session, and a mapping such as `user=namespace.1` can say more.

_LANGGRAPH_TEXTS = ("content", "text", "memory", "data", "summary")
_LANGGRAPH_MAX_DEPTH = 4


def is_langgraph(value: Mapping[str, Any]) -> bool:
    """Return whether an object is an item of such a store."""
    return {"key", "value"} <= value.keys() and ("namespace" in value or "prefix" in value)


def read_langgraph(file: SourceFile, mapping: Mapping[str, str]) -> Iterator[Record]:
    """Yield the items."""
    for one in objects_by_time(file, _updated_at):
        yield one if isinstance(one, BrokenRecord) else _langgraph_statement(one, mapping)


def _langgraph_statement(one: JsonObject, mapping: Mapping[str, str]) -> SourceStatement | BrokenRecord:
    value = one.value
    path = mapping.get("content")
    content = fields.text(fields.dig(value, path)) if path else in_words(value.get("value"))
    if content is None:
        return BrokenRecord(place=one.place)
    names = [str(part) for part in fields.sequence(value.get("namespace"))]
    namespace = "/".join(names) or str(value.get("namespace") or value.get("prefix") or "").replace(".", "/")
    told = {name: fields.dig(value, path) for name, path in mapping.items()}
    return SourceStatement(
        content=content,
        place=one.place,
        key=f"{namespace}/{fields.name(value.get('key'))}",
        category=fields.category(told.get("category")),
        session=fields.name(told.get("session")) or f"langgraph:{namespace}",
        occurred_at=_updated_at(value),
        user=fields.name(told.get("user")),
        agent=fields.name(told.get("agent")),
    )


def in_words(value: object, *, depth: int = 0) -> str | None:
    """Return what a value says: its text, or else its fields as "name: value"."""
    if isinstance(value, str):
        return fields.text(value)
    inner = fields.mapping(value)
    if depth == _LANGGRAPH_MAX_DEPTH or not inner:
        return None
    for name in _LANGGRAPH_TEXTS:
        found = in_words(inner.get(name), depth=depth + 1)
        if found is not None:
            return found
    plain = {name: str(one) for name, one in inner.items() if isinstance(one, str | int | float)}
    if len(plain) == 1 and isinstance(next(iter(inner.values())), str):
        return fields.text(next(iter(plain.values())))
    return fields.text("; ".join(f"{name.replace('_', ' ')}: {one}" for name, one in plain.items()))


# agentmemory: one memory to a line, or under `memories` and `lessons` of its JSON export. Older versions of a
# memory, which that program keeps beside the latest, stay out; so do its raw observations of tool runs.

_AGENTMEMORY_FIELDS = frozenset({"sessionIds", "isLatest", "concepts", "strength"})
_AGENTMEMORY_LISTS = frozenset({"", "memories", "semanticMemories", "lessons"})
_AGENTMEMORY_MAX_STRENGTH = 10


def is_agentmemory(value: Mapping[str, Any]) -> bool:
    """Return whether an object is a memory of that program."""
    has_text = isinstance(value.get("content"), str) or isinstance(value.get("document"), str)
    is_chroma = isinstance(value.get("document"), str) and isinstance(value.get("metadata"), dict)
    return is_chroma or (has_text and not _AGENTMEMORY_FIELDS.isdisjoint(value.keys()))


def read_agentmemory(file: SourceFile, _mapping: Mapping[str, str]) -> Iterator[Record]:
    """Yield the memories."""
    for one in objects_by_time(file, _agentmemory_moment):
        if isinstance(one, BrokenRecord):
            yield one
        elif one.list_name in _AGENTMEMORY_LISTS and one.value.get("isLatest") is not False:
            yield _agentmemory_statement(one)


def _agentmemory_moment(value: Mapping[str, Any]) -> datetime | None:
    """Return when a memory was last stated there."""
    about = fields.mapping(value.get("metadata"))
    told = (value.get("updatedAt"), value.get("createdAt"), about.get("created_at"))
    return next(filter(None, map(fields.moment, told)), None)


def _agentmemory_statement(one: JsonObject) -> SourceStatement | BrokenRecord:
    value, about = one.value, fields.mapping(one.value.get("metadata"))
    texts = [fields.text(value.get(name)) for name in ("content", "document", "fact", "text")]
    content = next((text for text in texts if text is not None), None)
    if content is None:
        return BrokenRecord(place=one.place)
    sessions = [fields.name(session) for session in fields.sequence(value.get("sessionIds"))]
    return SourceStatement(
        content=_with_title(content, fields.text(value.get("title"))),
        place=one.place,
        key=fields.name(value.get("id")) or "",
        category=fields.category(value.get("type") or about.get("category")),
        session=next((f"agentmemory:{name}" for name in sessions if name), None),
        occurred_at=_agentmemory_moment(value),
        importance=fields.share(fields.number(value.get("strength")) / _AGENTMEMORY_MAX_STRENGTH),
    )


def _with_title(content: str, title: str | None) -> str:
    """Return the content behind its title, where that says something that the content does not begin with."""
    if title is None or content.casefold().startswith(title.strip(" .…").casefold()):
        return content
    return f"{title.strip()}: {content}"
