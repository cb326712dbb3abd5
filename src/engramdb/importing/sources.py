"""Every importer by kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from engramdb.importing import (
    agentmemory,
    chatgpt,
    claude,
    claude_code,
    codex,
    engram_export,
    langgraph,
    markdown,
    mem0,
    opencode,
    pdf,
    table,
    text,
)
from engramdb.importing.json_stream import Piece
from engramdb.importing.record import Record
from engramdb.values import ImportKind

JSON_SUFFIXES = frozenset({".json", ".jsonl", ".ndjson"})


class Importer(Struct, frozen=True, kw_only=True):
    """How files of one kind are read, and how they are known: by the end of their name or by an object."""

    read: Callable[[Piece, Mapping[str, str]], Iterator[Record]]
    suffixes: frozenset[str]
    suits: Callable[[Mapping[str, Any]], bool] | None = None


IMPORTERS: dict[ImportKind, Importer] = {
    ImportKind.ENGRAM: Importer(read=engram_export.read, suffixes=JSON_SUFFIXES, suits=engram_export.suits),
    ImportKind.CHATGPT: Importer(read=chatgpt.read, suffixes=JSON_SUFFIXES, suits=chatgpt.suits),
    ImportKind.CLAUDE: Importer(read=claude.read, suffixes=JSON_SUFFIXES, suits=claude.suits),
    ImportKind.CLAUDE_CODE: Importer(read=claude_code.read, suffixes=JSON_SUFFIXES, suits=claude_code.suits),
    ImportKind.CODEX: Importer(read=codex.read, suffixes=JSON_SUFFIXES, suits=codex.suits),
    ImportKind.OPENCODE: Importer(read=opencode.read, suffixes=JSON_SUFFIXES, suits=opencode.suits),
    ImportKind.LANGGRAPH: Importer(read=langgraph.read, suffixes=JSON_SUFFIXES, suits=langgraph.suits),
    ImportKind.MEM0: Importer(read=mem0.read, suffixes=JSON_SUFFIXES, suits=mem0.suits),
    ImportKind.AGENTMEMORY: Importer(read=agentmemory.read, suffixes=JSON_SUFFIXES, suits=agentmemory.suits),
    ImportKind.JSONL: Importer(read=table.read_json, suffixes=JSON_SUFFIXES, suits=table.suits),
    ImportKind.CSV: Importer(read=table.read_csv, suffixes=frozenset({".csv", ".tsv"})),
    ImportKind.MARKDOWN: Importer(read=markdown.read, suffixes=markdown.SUFFIXES),
    ImportKind.TEXT: Importer(read=text.read, suffixes=text.SUFFIXES),
    ImportKind.PDF: Importer(read=pdf.read, suffixes=frozenset({".pdf"})),
}
"""In the order in which objects are shown to them: the most telling shapes come first."""
