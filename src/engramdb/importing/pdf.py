"""
A PDF: the text of each page, cut into passages.

Needs the extra `pdf` (pypdf), loaded when the first such file is met. Pages without text, such as scans, give
nothing; a page that pypdf cannot read is named and the others go on.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from typing import Any

from engramdb.errors import MissingExtra
from engramdb.importing import record
from engramdb.importing.json_stream import Piece
from engramdb.importing.record import Broken, Record, Statement, paragraphs, passages, unwrapped

MOST_PAGES = 5_000
_ODD = (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError, ArithmeticError)
"""What pypdf lets through of its own mistakes on malformed files, besides its own errors."""


def read(piece: Piece, _mapping: Mapping[str, str]) -> Iterator[Record]:
    """Yield the passages of all pages."""
    content = piece.whole()
    try:
        import pypdf  # noqa: PLC0415 - an extra
        from pypdf.errors import DependencyError, PyPdfError  # noqa: PLC0415
    except ImportError as exc:
        raise MissingExtra(
            "reading a PDF needs pypdf", hint="Install it: pip install 'engramdb[pdf]'."
        ) from exc
    failures = (PyPdfError, DependencyError, NotImplementedError, OSError, *_ODD)
    try:
        reader = pypdf.PdfReader(io.BytesIO(content))
        count = min(len(reader.pages), MOST_PAGES)
        made_at = record.moment(_made(reader))
    except failures:
        yield Broken(place=piece.name)
        return
    for number in range(1, count + 1):
        place = f"{piece.name}: page {number}"
        try:
            text = reader.pages[number - 1].extract_text()
        except failures:
            yield Broken(place=place)
            continue
        for _, paragraph in paragraphs(text):
            for passage in passages(unwrapped(paragraph)):
                yield Statement(content=passage, place=place, occurred_at=made_at)


def _made(reader: Any) -> str | None:
    """Return when the document was made, if it says so."""
    about = reader.metadata
    moment = None if about is None else about.creation_date
    return None if moment is None else moment.isoformat()
