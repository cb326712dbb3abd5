"""Where a log names a kind, a file may hold anything: it is then no such log, and nobody stumbles."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from engramdb import Engram
from engramdb.importing.session_logs import is_claude_code, is_codex
from engramdb.testing import TinyEmbedder

if TYPE_CHECKING:
    from pathlib import Path

LINES: list[dict[str, Any]] = [
    {"type": ["response_item"], "payload": {"type": ["message"], "content": [{"type": ["text"]}]}},
    {"type": {"a": 1}, "message": {"role": "user", "content": "hello"}, "uuid": "1", "sessionId": "s"},
]


@pytest.mark.parametrize("line", LINES)
def test_a_list_or_an_object_is_no_kind_of_line(line: dict[str, Any]) -> None:
    """The question whether a line belongs to a log has an answer for every line."""
    assert not is_codex(line)
    assert not is_claude_code(line)


def test_a_log_with_odd_parts_is_read_to_its_end(tmp_path: Path, store_path: Path) -> None:
    """What cannot be understood is passed over, and what follows is taken in."""
    first = {"type": "session_meta", "payload": {"id": "s"}}
    odd = {"type": "response_item", "payload": {"type": "message", "role": "user", "content": [{"type": []}]}}
    said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "I like tea"}]}
    lines = [first, odd, {"type": "response_item", "payload": said}]
    source = tmp_path / "rollout.jsonl"
    source.write_text("\n".join(json.dumps(line) for line in lines))

    with Engram.open(store_path, embedder=TinyEmbedder(), background=False) as engram:
        report = engram.import_from(source)

    assert report.turns == 1
