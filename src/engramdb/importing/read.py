"""
Read any source as records: find its files, tell their kinds, hand each to its importer.

Called by the engine. The kind is told from the content where nobody names it, file by file, so a folder may
hold several. What cannot be read is reported by its place and does not stop the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

from msgspec import Struct

from engramdb.errors import ContentTooLarge, InvalidContent
from engramdb.importing import chat_exports, memory_exports, session_logs, table, text_files
from engramdb.importing.codebase import read_codebase
from engramdb.importing.json_stream import first_objects
from engramdb.importing.source import (
    UNREADABLE_FILE,
    BrokenRecord,
    Record,
    SkippedFile,
    SourceFile,
    source_files,
)
from engramdb.text import fields
from engramdb.values import ImportKind

KindedRecord: TypeAlias = tuple[ImportKind | None, Record | SkippedFile]

JSON_SUFFIXES = frozenset({".json", ".jsonl", ".ndjson"})


class Importer(Struct, frozen=True, kw_only=True):
    """How files of one kind are read, and how they are known: by the end of their name or by an object."""

    read: Callable[[SourceFile, Mapping[str, str]], Iterator[Record]]
    suffixes: frozenset[str]
    suits: Callable[[Mapping[str, Any]], bool] | None = None


IMPORTERS: dict[ImportKind, Importer] = {
    ImportKind.ENGRAM: Importer(
        read=memory_exports.read_engram, suffixes=JSON_SUFFIXES, suits=memory_exports.is_engram
    ),
    ImportKind.CHATGPT: Importer(
        read=chat_exports.read_chatgpt, suffixes=JSON_SUFFIXES, suits=chat_exports.is_chatgpt
    ),
    ImportKind.CLAUDE: Importer(
        read=chat_exports.read_claude, suffixes=JSON_SUFFIXES, suits=chat_exports.is_claude
    ),
    ImportKind.CLAUDE_CODE: Importer(
        read=session_logs.read_claude_code, suffixes=JSON_SUFFIXES, suits=session_logs.is_claude_code
    ),
    ImportKind.CODEX: Importer(
        read=session_logs.read_codex, suffixes=JSON_SUFFIXES, suits=session_logs.is_codex
    ),
    ImportKind.OPENCODE: Importer(
        read=session_logs.read_opencode, suffixes=JSON_SUFFIXES, suits=session_logs.is_opencode
    ),
    ImportKind.LANGGRAPH: Importer(
        read=memory_exports.read_langgraph, suffixes=JSON_SUFFIXES, suits=memory_exports.is_langgraph
    ),
    ImportKind.MEM0: Importer(
        read=memory_exports.read_mem0, suffixes=JSON_SUFFIXES, suits=memory_exports.is_mem0
    ),
    ImportKind.AGENTMEMORY: Importer(
        read=memory_exports.read_agentmemory, suffixes=JSON_SUFFIXES, suits=memory_exports.is_agentmemory
    ),
    ImportKind.JSONL: Importer(read=table.read_json, suffixes=JSON_SUFFIXES, suits=table.suits),
    ImportKind.CSV: Importer(read=table.read_csv, suffixes=frozenset({".csv", ".tsv"})),
    ImportKind.MARKDOWN: Importer(read=text_files.read_markdown, suffixes=text_files.MARKDOWN_SUFFIXES),
    ImportKind.TEXT: Importer(read=text_files.read_text, suffixes=text_files.TEXT_SUFFIXES),
    ImportKind.PDF: Importer(read=text_files.read_pdf, suffixes=frozenset({".pdf"})),
}
"""In the order in which objects are shown to them: the most telling shapes come first."""

_SAMPLE_OBJECTS = 8
_DOCUMENTS = frozenset({ImportKind.MARKDOWN, ImportKind.TEXT, ImportKind.PDF})
_LOGS = frozenset({ImportKind.CLAUDE_CODE, ImportKind.CODEX})
_TABLES = frozenset({ImportKind.CSV, ImportKind.JSONL})
"""Too common to be taken from a folder because of a column's name: by kind or with a mapping only."""
_EXPORTS = frozenset({ImportKind.CHATGPT, ImportKind.CLAUDE})


def read_source(
    path: Path | SourceFile, *, kind: ImportKind | None = None, mapping: Mapping[str, str] | None = None
) -> Generator[KindedRecord]:
    """
    Yield every record of a source with the kind of its file; raises where there is nothing to read.

    A kind that is given is believed for a single file, and chooses the files that it fits from many.
    """
    given = mapping or {}
    table.check(given)
    if kind is ImportKind.CODEBASE and isinstance(path, SourceFile):
        raise InvalidContent("a codebase is a folder, not a text", hint="Use `engram import` on its root.")
    if kind is ImportKind.CODEBASE and isinstance(path, Path):
        yield from ((kind, record) for record in read_codebase(path))
        return
    with source_files(path) as found:
        first = next(found, None)
        second = next(found, None)
        every = chain((one for one in (first, second) if one is not None), found)
        if second is None and isinstance(first, SourceFile):
            yield from _only(first, kind, given)
        elif kind is not None:
            yield from _chosen(every, kind, given)
        else:
            yield from _sorted(every, given)


def kind_of(file: SourceFile, *, has_mapping: bool = False) -> ImportKind | None:
    """Return the kind of a file by its first objects or by its name; None for what is none of ours."""
    for kind in (ImportKind.MARKDOWN, ImportKind.TEXT, ImportKind.PDF):
        if file.suffix in IMPORTERS[kind].suffixes:
            return kind
    if file.suffix in IMPORTERS[ImportKind.CSV].suffixes:
        return ImportKind.CSV if has_mapping or _has_usual_column(file) else None
    if file.suffix in JSON_SUFFIXES or _begins_like_json(file):
        return _kind_of_objects(file, has_mapping=has_mapping)
    return ImportKind.PDF if _begins_with(file, b"%PDF-") else None


def _only(file: SourceFile, kind: ImportKind | None, mapping: Mapping[str, str]) -> Iterator[KindedRecord]:
    """Yield the records of the one file that there is; a file of no kind is refused and not passed over."""
    told = kind or kind_of(file, has_mapping=bool(mapping))
    if told is None:
        raise InvalidContent(
            f"{file.name} is of no kind that can be imported",
            hint=f"Say which it is with --from: {', '.join(ImportKind)}. A table needs a --map, too.",
        )
    yield from _records(file, told, mapping)


def _chosen(
    found: Iterable[SourceFile | BrokenRecord], kind: ImportKind, mapping: Mapping[str, str]
) -> Iterator[KindedRecord]:
    fitting: list[SourceFile] = []
    for file in found:
        if isinstance(file, BrokenRecord):
            yield None, file
        elif _fits(file, IMPORTERS[kind], kind, has_mapping=bool(mapping)):
            fitting.append(file)
        else:
            yield None, SkippedFile(place=file.name)
    for file, _ in _by_time([(file, kind) for file in fitting]):
        yield from _records(file, kind, mapping)


def _fits(file: SourceFile, importer: Importer, kind: ImportKind, *, has_mapping: bool) -> bool:
    """Return whether a file among many is of the kind that was asked for: many kinds end in `.json`."""
    if file.suffix not in importer.suffixes:
        return False
    return importer.suits is None or has_mapping or kind_of(file) is kind


def _sorted(found: Iterable[SourceFile | BrokenRecord], mapping: Mapping[str, str]) -> Iterator[KindedRecord]:
    """Yield the records of files whose kinds nobody named; beside a chat export, documents are its litter."""
    known: list[tuple[SourceFile, ImportKind]] = []
    for file in found:
        told = None if isinstance(file, BrokenRecord) else kind_of(file, has_mapping=bool(mapping))
        if isinstance(file, BrokenRecord):
            yield None, file
        elif told is None:
            yield None, SkippedFile(place=file.name)
        else:
            known.append((file, told))
    is_export = any(told in _EXPORTS for _, told in known)
    for file, told in _by_time(known):
        if (is_export and told in _DOCUMENTS) or (told in _TABLES and not mapping):
            yield None, SkippedFile(place=file.name)
        else:
            yield from _records(file, told, mapping)


def _by_time(known: list[tuple[SourceFile, ImportKind]]) -> list[tuple[SourceFile, ImportKind]]:
    """Return session logs in the order in which the sessions began, behind everything else in its own."""

    def began(one: tuple[SourceFile, ImportKind]) -> tuple[bool, float]:
        file, kind = one
        if kind not in _LOGS:
            return False, 0.0
        sample = first_objects(file, limit=_SAMPLE_OBJECTS)
        moments = filter(None, (fields.moment(line.value.get("timestamp")) for line in sample))
        return True, min((moment.timestamp() for moment in moments), default=0.0)

    return sorted(known, key=began)


def _records(file: SourceFile, kind: ImportKind, mapping: Mapping[str, str]) -> Iterator[KindedRecord]:
    try:
        for record in IMPORTERS[kind].read(file, mapping):
            yield kind, record
    except (InvalidContent, ContentTooLarge) as exc:
        yield kind, BrokenRecord(place=file.name, code=exc.code)
    except UNREADABLE_FILE:
        yield kind, BrokenRecord(place=file.name)


def _kind_of_objects(file: SourceFile, *, has_mapping: bool) -> ImportKind | None:
    """Return the kind that the first objects suit; a log may begin with lines that say little."""
    sample = [one.value for one in first_objects(file, limit=_SAMPLE_OBJECTS)]
    for kind, importer in IMPORTERS.items():
        if importer.suits is not None and any(map(importer.suits, sample)):
            return kind
    return ImportKind.JSONL if has_mapping and sample else None


def _has_usual_column(file: SourceFile) -> bool:
    return not set(table.header(file)).isdisjoint(table.USUAL["content"])


def _begins_like_json(file: SourceFile) -> bool:
    return not file.suffix and _begins_with(file, b"{", b"[")


def _begins_with(file: SourceFile, *openings: bytes) -> bool:
    try:
        with file.open() as stream:
            return stream.read(64).lstrip().startswith(openings)
    except UNREADABLE_FILE:
        return False
