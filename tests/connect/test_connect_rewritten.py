"""
Connections that a program, or we ourselves, have written again since: docs/lab/0031-real-clients.md.

Claude Code and Gemini CLI write their own files, reindented and with their own servers added or ours removed.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from engramdb.connect.clients import CLIENTS

from .test_connect_clients import file_of, files, person

if TYPE_CHECKING:
    from pathlib import Path

    from surfaces.fixtures import Command

__all__ = ["person"]
THEIRS = {"hooks": {"BeforeAgent": [{"hooks": [{"type": "command", "command": "true"}]}]}}


def rewritten(path: Path, change: Any) -> None:
    """Write a file as its program does after a change: the same values, in its own indentation."""
    whole = json.loads(path.read_text(encoding="utf-8"))
    change(whole)
    path.write_text(json.dumps(whole, indent=4), encoding="utf-8")


def gemini(person: Path) -> Path:
    """Return the file of Gemini CLI with a hook of somebody else in it."""
    path = file_of("gemini", person)
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(THEIRS), encoding="utf-8")
    return path


@pytest.mark.parametrize("client", CLIENTS)
def test_a_connection_that_was_changed_leaves_nothing_either(
    client: str, person: Path, engram_command: Command
) -> None:
    """There was no file before us; the one of our first connection is not what there was."""
    engram_command("connect", client, "--user", "maya", "--yes")
    engram_command("connect", client, "--user", "anna", "--yes")
    connected = files(person)

    engram_command("connect", client, "--remove", "--yes")

    assert not [name for name in connected if name.endswith(".before-engram")]
    assert files(person) == {}


def test_a_program_may_keep_servers_and_hooks_in_one_file(person: Path, engram_command: Command) -> None:
    """Gemini CLI counts in milliseconds and names its hooks, so that one word switches them off."""
    path = gemini(person)
    before = path.read_bytes()

    engram_command("connect", "gemini", "--no-hooks", "--yes")
    listed = [json.loads(engram_command("connect", "--list", "--json").stdout)[0]["state"]]
    engram_command("connect", "gemini", "--user", "maya", "--yes")
    listed.append(json.loads(engram_command("connect", "--list", "--json").stdout)[0]["state"])
    whole = json.loads(path.read_text(encoding="utf-8"))
    engram_command("connect", "gemini", "--remove", "--yes")

    assert listed == ["server", "server, hooks"]
    assert whole["mcpServers"]["engram"]["args"][-3:] == ["mcp", "--user", "maya"]
    assert whole["hooks"]["AfterTool"][0]["matcher"] == "run_shell_command"
    hook = whole["hooks"]["BeforeAgent"][1]["hooks"][0]
    assert (hook["name"], hook["timeout"]) == ("engram", 10_000)
    assert hook["command"].split(" hook ")[1].startswith("BeforeAgent --client gemini --user maya")
    assert path.read_bytes() == before


def test_a_program_that_wrote_its_file_keeps_what_it_wrote(person: Path, engram_command: Command) -> None:
    """Our entries are taken out of the file as it is now, wherever they stand in it."""
    path = gemini(person)
    engram_command("connect", "gemini", "--yes")
    rewritten(path, lambda whole: whole["mcpServers"].update(other={"command": "/bin/cat", "args": []}))

    engram_command("connect", "gemini", "--remove", "--yes")

    left = {"mcpServers": {"other": {"command": "/bin/cat", "args": []}}}
    assert json.loads(path.read_text(encoding="utf-8")) == {**THEIRS, **left}


def test_what_a_program_has_removed_does_not_come_back(person: Path, engram_command: Command) -> None:
    """`gemini mcp remove engram` leaves the hooks, and those are all that is left to take out."""
    path = gemini(person)
    engram_command("connect", "gemini", "--yes")
    rewritten(path, lambda whole: whole["mcpServers"].pop("engram"))

    done = engram_command("connect", "gemini", "--remove", "--yes")

    assert done.exit_code == 0
    assert json.loads(path.read_text(encoding="utf-8")) == {**THEIRS, "mcpServers": {}}


def test_a_program_that_passes_no_secrets_on_is_told_which_it_may(
    person: Path, engram_command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Gemini CLI keeps what is called a key from servers; the entry names the variable, never its value."""
    secret = "ab" * 32
    for name in ("ENGRAM_KEY", "ENGRAM_CHAT_KEY"):
        monkeypatch.setenv(name, secret)

    for client in CLIENTS:
        engram_command("connect", client, "--yes")

    entry = json.loads(file_of("gemini", person).read_text(encoding="utf-8"))["mcpServers"]["engram"]
    named = {name: held for name, held in entry["env"].items() if name != "ENGRAM_HOME"}
    assert named == {"ENGRAM_KEY": "$ENGRAM_KEY", "ENGRAM_CHAT_KEY": "$ENGRAM_CHAT_KEY"}
    assert not [name for name, text in files(person).items() if secret.encode() in text]
