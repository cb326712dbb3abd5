"""What an import is told and what it reports."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

from msgspec import Struct, field


class ImportKind(StrEnum):
    """What wrote the source."""

    CHATGPT = "chatgpt"
    CLAUDE = "claude"
    CLAUDE_CODE = "claude-code"
    CODEX = "codex"
    OPENCODE = "opencode"
    ENGRAM = "engram"
    MEM0 = "mem0"
    LANGGRAPH = "langgraph"
    AGENTMEMORY = "agentmemory"
    MARKDOWN = "markdown"
    TEXT = "text"
    PDF = "pdf"
    CSV = "csv"
    JSONL = "jsonl"
    CODEBASE = "codebase"


class Refusal(Struct, frozen=True, kw_only=True):
    """One record, or a whole file, that was not taken in: where it stands and the code of the reason."""

    place: str
    """The file and where in it."""
    code: str
    """The code of the error."""


class ImportOrigin(Struct, frozen=True, kw_only=True):
    """Which source a memory was imported from, or the turn that it was read out of."""

    kind: ImportKind
    """Which program wrote the source."""
    place: str
    """The file and where in it; empty once the memory was erased."""
    at: datetime
    """When it was imported."""


class ImportReport(Struct, frozen=True, kw_only=True):
    """What an import did, or would do."""

    dry_run: bool
    """Whether nothing was imported and this only counts."""
    found: int = 0
    """Statements and messages in the source."""
    by_kind: Mapping[str, int] = field(default_factory=dict)
    """How many statements and messages there are of each kind of source."""
    statements: int = 0
    """Statements that went through admission: `added` of them are new, the others were known otherwise."""
    added: int = 0
    """Memories that are new."""
    turns: int = 0
    """Messages that were stored as turns."""
    turns_read: int = 0
    """Turns that were then read, also those that an interrupted import had left."""
    already: int = 0
    """What an earlier import brought, whatever has become of it since."""
    flagged: int = 0
    """Statements that read like instructions to an agent: stored, but kept out of automatic context."""
    by_scope: Mapping[str, int] = field(default_factory=dict)
    """How many statements and messages went to which scope."""
    refused: int = 0
    """Records that could not be imported."""
    by_code: Mapping[str, int] = field(default_factory=dict)
    """How many were refused, by the code of the error."""
    refusals: tuple[Refusal, ...] = ()
    """The first of them."""
    links: int = 0
    """Links between memories that came in with them."""
    updated: int = 0
    """Memories whose file says something else now; the new ones took their place."""
    retired: int = 0
    """Memories whose file, or part of it, is no longer there."""
    clamped: Mapping[str, int] = field(default_factory=dict)
    """What was claimed and cannot be, by what it is: `confidence` above what imports are trusted with, and
    `times` that are over before they begin, still to come, or before 1900; they became the import's."""
    left_out: int = 0
    """Files that are of no kind that can be imported."""
