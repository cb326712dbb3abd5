"""
Read any source as records: find its files, tell their kinds, hand each to its importer.

Called by the engine. The kind is told from the content where nobody names it, file by file, so a folder may
hold several. What cannot be read is reported by its place and does not stop the rest.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import TypeAlias

from engramdb.errors import ContentTooLarge, InvalidContent
from engramdb.importing import record as fields
from engramdb.importing import table
from engramdb.importing.json_stream import UNREADABLE_FILE, Piece, first_objects, pieces
from engramdb.importing.record import Broken, LeftOut, Record
from engramdb.importing.sources import IMPORTERS, JSON_SUFFIXES, Importer
from engramdb.values import ImportKind

Kinded: TypeAlias = tuple[ImportKind | None, Record | LeftOut]

_SAMPLE_OBJECTS = 8
_DOCUMENTS = frozenset({ImportKind.MARKDOWN, ImportKind.TEXT, ImportKind.PDF})
_LOGS = frozenset({ImportKind.CLAUDE_CODE, ImportKind.CODEX})
_TABLES = frozenset({ImportKind.CSV, ImportKind.JSONL})
"""Too common to be taken from a folder because of a column's name: by kind or with a mapping only."""
_EXPORTS = frozenset({ImportKind.CHATGPT, ImportKind.CLAUDE})


def read_source(
    path: Path, *, kind: ImportKind | None = None, mapping: Mapping[str, str] | None = None
) -> Generator[Kinded]:
    """
    Yield every record of a source with the kind of its file; raises where there is nothing to read.

    A kind that is given is believed for a single file, and chooses the files that it fits from many.
    """
    given = mapping or {}
    table.check(given)
    with pieces(path) as found:
        first = next(found, None)
        second = next(found, None)
        every = chain((one for one in (first, second) if one is not None), found)
        if second is None and isinstance(first, Piece):
            yield from _only(first, kind, given)
        elif kind is not None:
            yield from _chosen(every, kind, given)
        else:
            yield from _sorted(every, given)


def kind_of(piece: Piece, *, has_mapping: bool = False) -> ImportKind | None:
    """Return the kind of a file by its first objects or by its name; None for what is none of ours."""
    for kind in (ImportKind.MARKDOWN, ImportKind.TEXT, ImportKind.PDF):
        if piece.suffix in IMPORTERS[kind].suffixes:
            return kind
    if piece.suffix in IMPORTERS[ImportKind.CSV].suffixes:
        return ImportKind.CSV if has_mapping or _has_usual_column(piece) else None
    if piece.suffix in JSON_SUFFIXES or _begins_like_json(piece):
        return _kind_of_objects(piece, has_mapping=has_mapping)
    return ImportKind.PDF if _begins_with(piece, b"%PDF-") else None


def _only(piece: Piece, kind: ImportKind | None, mapping: Mapping[str, str]) -> Iterator[Kinded]:
    """Yield the records of the one file that there is; a file of no kind is refused and not passed over."""
    told = kind or kind_of(piece, has_mapping=bool(mapping))
    if told is None:
        raise InvalidContent(
            f"{piece.name} is of no kind that can be imported",
            hint=f"Say which it is with --from: {', '.join(ImportKind)}. A table needs a --map, too.",
        )
    yield from _records(piece, told, mapping)


def _chosen(
    found: Iterable[Piece | Broken], kind: ImportKind, mapping: Mapping[str, str]
) -> Iterator[Kinded]:
    fitting: list[Piece] = []
    for piece in found:
        if isinstance(piece, Broken):
            yield None, piece
        elif _fits(piece, IMPORTERS[kind], kind, has_mapping=bool(mapping)):
            fitting.append(piece)
        else:
            yield None, LeftOut(place=piece.name)
    for piece, _ in _by_time([(piece, kind) for piece in fitting]):
        yield from _records(piece, kind, mapping)


def _fits(piece: Piece, importer: Importer, kind: ImportKind, *, has_mapping: bool) -> bool:
    """Say whether a file among many is of the kind that was asked for: many kinds end in `.json`."""
    if piece.suffix not in importer.suffixes:
        return False
    return importer.suits is None or has_mapping or kind_of(piece) is kind


def _sorted(found: Iterable[Piece | Broken], mapping: Mapping[str, str]) -> Iterator[Kinded]:
    """Yield the records of files whose kinds nobody named; beside a chat export, documents are its litter."""
    known: list[tuple[Piece, ImportKind]] = []
    for piece in found:
        told = None if isinstance(piece, Broken) else kind_of(piece, has_mapping=bool(mapping))
        if isinstance(piece, Broken):
            yield None, piece
        elif told is None:
            yield None, LeftOut(place=piece.name)
        else:
            known.append((piece, told))
    is_export = any(told in _EXPORTS for _, told in known)
    for piece, told in _by_time(known):
        if (is_export and told in _DOCUMENTS) or (told in _TABLES and not mapping):
            yield None, LeftOut(place=piece.name)
        else:
            yield from _records(piece, told, mapping)


def _by_time(known: list[tuple[Piece, ImportKind]]) -> list[tuple[Piece, ImportKind]]:
    """Return session logs in the order in which the sessions began, behind everything else in its own."""

    def began(one: tuple[Piece, ImportKind]) -> tuple[bool, float]:
        piece, kind = one
        if kind not in _LOGS:
            return False, 0.0
        sample = first_objects(piece, limit=_SAMPLE_OBJECTS)
        moments = filter(None, (fields.moment(line.value.get("timestamp")) for line in sample))
        return True, min((moment.timestamp() for moment in moments), default=0.0)

    return sorted(known, key=began)


def _records(piece: Piece, kind: ImportKind, mapping: Mapping[str, str]) -> Iterator[Kinded]:
    try:
        for record in IMPORTERS[kind].read(piece, mapping):
            yield kind, record
    except (InvalidContent, ContentTooLarge) as exc:
        yield kind, Broken(place=piece.name, code=exc.code)
    except UNREADABLE_FILE:
        yield kind, Broken(place=piece.name)


def _kind_of_objects(piece: Piece, *, has_mapping: bool) -> ImportKind | None:
    """Return the kind that the first objects suit; a log may begin with lines that say little."""
    sample = [one.value for one in first_objects(piece, limit=_SAMPLE_OBJECTS)]
    for kind, importer in IMPORTERS.items():
        if importer.suits is not None and any(map(importer.suits, sample)):
            return kind
    return ImportKind.JSONL if has_mapping and sample else None


def _has_usual_column(piece: Piece) -> bool:
    return not set(table.header(piece)).isdisjoint(table.USUAL["content"])


def _begins_like_json(piece: Piece) -> bool:
    return not piece.suffix and _begins_with(piece, b"{", b"[")


def _begins_with(piece: Piece, *openings: bytes) -> bool:
    try:
        with piece.open() as stream:
            return stream.read(64).lstrip().startswith(openings)
    except UNREADABLE_FILE:
        return False
