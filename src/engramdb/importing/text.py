"""
A plain text: each paragraph is a statement, a long one as many as it takes.

Reads files of 64 MB at most, in UTF-8 or UTF-16; anything else is refused and not guessed at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from engramdb.importing.json_stream import Piece
from engramdb.importing.record import Record, Statement, paragraphs, passages, unwrapped

SUFFIXES = frozenset({".txt", ".text", ".rst", ".org"})


def read(piece: Piece, _mapping: Mapping[str, str]) -> Iterator[Record]:
    """Yield the paragraphs of a text."""
    for line, paragraph in paragraphs(piece.text()):
        for content in passages(unwrapped(paragraph)):
            yield Statement(content=content, place=f"{piece.name}: line {line}")
