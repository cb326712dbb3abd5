"""
The way of a stranger, on an empty home: install, connect a client, remember, recall, look at it again.

Installing is what set this environment up. The client is the official one, started with exactly what
`engram connect` wrote, from a folder that has nothing to do with it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from mcp import StdioServerParameters
from surfaces.mcp_talk import environment, talking

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.xdist_group("mcp-stdio")


def engram(home: Path, *arguments: str) -> str:
    """Run the command in the stranger's home and return what it printed."""
    done = subprocess.run(
        [sys.executable, "-m", "engramdb", *arguments],
        env=environment(home),
        cwd=home,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout


def test_a_stranger_gets_from_nothing_to_a_remembering_client(tmp_path: Path) -> None:
    """Three commands and a client; what the client remembered is on the command line, and the other way."""
    engram(tmp_path, "connect", "cursor", "--user", "maya", "--yes")
    written = json.loads((tmp_path / ".cursor" / "mcp.json").read_text(encoding="utf-8"))
    entry = written["mcpServers"]["engram"]
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    server = StdioServerParameters(
        command=entry["command"],
        args=entry["args"],
        env={**environment(tmp_path), **entry.get("env", {})},
        cwd=str(elsewhere),
    )

    with talking(server) as talk:
        talk.values("remember", content="Maya is allergic to peanuts", from_user=True)
        asked = talk.told("recall", query="what should Maya not eat?")
    engram(tmp_path, "remember", "Maya lives in Porto", "--user", "maya")
    with talking(server) as talk:
        asked_again = talk.told("recall", query="where does Maya live?")

    assert "peanuts" in asked
    assert "Porto" in asked_again
    found = json.loads(engram(tmp_path, "recall", "Maya's allergies", "--user", "maya", "--json"))
    assert found["hits"][0]["memory"]["content"] == "Maya is allergic to peanuts"
    assert json.loads(engram(tmp_path, "recall", "Maya's allergies", "--user", "tom", "--json"))["hits"] == []


def test_a_stranger_who_leaves_takes_everything_along(tmp_path: Path) -> None:
    """Taking the connection away leaves no trace in the client's files."""
    engram(tmp_path, "connect", "cursor", "--yes")

    engram(tmp_path, "connect", "cursor", "--remove", "--yes")

    assert not (tmp_path / ".cursor" / "mcp.json").exists()
