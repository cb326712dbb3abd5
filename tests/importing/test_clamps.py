"""What a file claims is held to what can be: how sure it is, and when it was; the same for every importer."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from engramdb import Engram
from engramdb.importing.clamps import EARLIEST, MAX_CONFIDENCE
from engramdb.importing.read import IMPORTERS
from engramdb.values import ImportKind, SecurityTier

from . import sources

if TYPE_CHECKING:
    from pathlib import Path

    from engramdb.testing import ManualClock

SAID = "The crane of the harbor was sold to Maya"
IMPOSSIBLE = ("2040-05-01T10:00:00+00:00", "0001-01-01T00:00:00+00:00", "9999-12-31T23:59:59-12:00")


TIMES = ("time", "timestamp", "date", "created", "updated", "created_at", "updated_at", "create_time")
MADE: dict[ImportKind, Any] = {
    ImportKind.ENGRAM: {"engram": 1, "id": "a", "content": SAID, "occurred_at": "", "said_at": ""},
    ImportKind.JSONL: {"content": SAID, "occurred_at": ""},
    ImportKind.MEM0: sources.mem0_dump(),
    ImportKind.LANGGRAPH: sources.langgraph_items(),
    ImportKind.AGENTMEMORY: sources.agentmemory_lines(),
    ImportKind.CHATGPT: [sources.chatgpt_conversation()],
    ImportKind.CLAUDE: [sources.claude_conversation()],
    ImportKind.CLAUDE_CODE: sources.claude_code_lines(),
    ImportKind.CODEX: sources.codex_lines(),
    ImportKind.OPENCODE: sources.opencode_session(),
}
WRITTEN = {
    ImportKind.CSV: "content,confidence,occurred_at\n{said},1.0,{at}\n",
    ImportKind.MARKDOWN: "---\ndate: {at}\nconfidence: 1.0\n---\n\n{said}\n",
    ImportKind.TEXT: "{said}",
}
LINES = {ImportKind.AGENTMEMORY, ImportKind.CLAUDE_CODE, ImportKind.CODEX}


def forged(value: Any, at: str) -> Any:
    """Return a document in which everything is certain, and of an impossible moment."""
    if isinstance(value, list):
        return [forged(one, at) for one in value]
    if not isinstance(value, dict):
        return value
    found = {name: forged(one, at) for name, one in value.items()}
    for name, one in found.items():
        if name.endswith(TIMES) or name in ("createdAt", "updatedAt", "occurred_at", "said_at"):
            if isinstance(one, str):
                found[name] = at
            elif isinstance(one, int | float):
                found[name] = one + 86_400 * 5000 * (1000 if one > 1e11 else 1)
    return {**found, "confidence": 1.0} if "content" in found or "memory" in found else found


def source(kind: ImportKind, at: str) -> str:
    """Return a source of a kind that claims all it can."""
    if kind in WRITTEN:
        return WRITTEN[kind].format(said=SAID, at=at)
    document = forged(MADE[kind], at)
    return sources.as_lines(document) if kind in LINES else json.dumps(document)


SUFFIXES = {
    ImportKind.CSV: "csv",
    ImportKind.MARKDOWN: "md",
    ImportKind.TEXT: "txt",
    ImportKind.ENGRAM: "jsonl",
    ImportKind.JSONL: "jsonl",
    **dict.fromkeys(LINES, "jsonl"),
}
KINDS = [kind for kind in IMPORTERS if kind is not ImportKind.PDF]  # its reader is that of texts


@pytest.mark.parametrize("at", IMPOSSIBLE)
@pytest.mark.parametrize("kind", KINDS)
def test_no_importer_brings_certainty_or_an_impossible_time(
    engram: Engram, clock: ManualClock, tmp_path: Path, kind: ImportKind, at: str
) -> None:
    """Every kind of source: nothing arrives with more than imports are trusted with, nor from another age."""
    path = tmp_path / f"source.{SUFFIXES.get(kind, 'json')}"
    path.write_text(source(kind, at), encoding="utf-8")

    report = engram.import_from(path, kind=kind)

    assert report.found, report
    now = clock.now()
    memories = [one.memory for one in engram.export(tiers=list(SecurityTier), narrower=True)]
    for memory in memories:
        assert memory.confidence <= MAX_CONFIDENCE or memory.provenance.turns
        told = (memory.occurred_at, memory.said_at, memory.valid_from, memory.created_at)
        assert all(
            datetime(1900, 1, 1, tzinfo=UTC) <= one <= now + timedelta(days=366) for one in told if one
        )
    for turn in engram.turns():
        assert EARLIEST <= turn.occurred_at <= now + timedelta(days=1)
    assert memories or engram.turns()


@pytest.mark.parametrize("dry_run", [True, False])
def test_what_was_changed_is_told(engram: Engram, tmp_path: Path, dry_run: bool) -> None:
    """By how many, of what; a dry run tells the same."""
    told = [
        {"engram": 1, "id": "a", "content": SAID, "confidence": 1.0, "said_at": IMPOSSIBLE[0]},
        {"engram": 1, "id": "b", "content": "The pier is closed", "confidence": 0.4},
        {
            "engram": 1,
            "id": "c",
            "content": "The lease of the shed runs",
            "valid_from": "2026-01-01T00:00:00+00:00",
            "valid_to": "2025-01-01T00:00:00+00:00",
        },
    ]
    (tmp_path / "export.jsonl").write_text("\n".join(map(json.dumps, told)), encoding="utf-8")

    report = engram.import_from(tmp_path / "export.jsonl", dry_run=dry_run)

    assert report.clamped == {"confidence": 1, "times": 2}
    if not dry_run:
        by_words = {one.content: one for one in engram.list()}
        assert by_words["The pier is closed"].confidence == pytest.approx(0.4)
        assert by_words["The lease of the shed runs"].valid_to is None


def test_an_import_with_clamped_times_adds_nothing_twice(
    engram: Engram, clock: ManualClock, tmp_path: Path
) -> None:
    """A record is known by what it said, and not by the moment that it was given here."""
    (tmp_path / "s.jsonl").write_text(source(ImportKind.CLAUDE_CODE, IMPOSSIBLE[0]), encoding="utf-8")
    first = engram.import_from(tmp_path / "s.jsonl")
    clock.advance(days=3)

    again = engram.import_from(tmp_path / "s.jsonl")

    assert first.clamped["times"]
    assert (again.already, again.turns) == (first.found, 0)


def test_what_can_be_is_left_alone(engram: Engram, clock: ManualClock, tmp_path: Path) -> None:
    """Years ago, in a month, and until a year from now are ordinary moments."""
    ahead = (clock.now() + timedelta(days=30)).isoformat()
    line = {
        "engram": 1,
        "id": "a",
        "content": "The new lease begins soon",
        "said_at": "1994-05-01T00:00:00+00:00",
        "valid_from": ahead,
        "valid_to": "2040-01-01T00:00:00+00:00",
    }
    (tmp_path / "export.jsonl").write_text(json.dumps(line), encoding="utf-8")

    report = engram.import_from(tmp_path / "export.jsonl")

    assert report.clamped == {}
    (memory,) = engram.list()
    assert memory.said_at == datetime(1994, 5, 1, tzinfo=UTC)
