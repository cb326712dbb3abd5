"""What the real Codex and the real opencode want of an entry: docs/lab/0032-codex-and-opencode.md."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from engramdb import Settings
from engramdb.connect.clients import CLIENTS, PASSED_ON, Machine
from engramdb.connect.entries import is_our_server

if TYPE_CHECKING:
    from surfaces.fixtures import Command

TRUST = '\n[hooks.state."/home/maya/.codex/hooks.json:stop:0:0"]\ntrusted_hash = "sha256:3d8d"\n'


@pytest.fixture(autouse=True)
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person's home, in which no program is installed yet."""
    folder = tmp_path / "person"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    for name in ("CODEX_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    return folder


def hooks_in(path: Path) -> dict[str, Any]:
    """Return the one hook that stands for each event in a file."""
    told = json.loads(path.read_text(encoding="utf-8"))["hooks"]
    return {event: groups[0]["hooks"][0] for event, groups in told.items()}


def test_codex_is_given_hooks_in_a_file_of_their_own(person: Path, engram_command: Command) -> None:
    """They say who calls, and keep within what Codex allows the end of a session."""
    done = engram_command("connect", "codex", "--user", "maya", "--yes")

    hooks = hooks_in(person / ".codex" / "hooks.json")
    assert set(hooks) >= {"SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "SessionEnd"}
    assert all(" --client codex " in one["command"] for one in hooks.values())
    assert (hooks["Stop"]["timeout"], hooks["SessionEnd"]["timeout"]) == (10, 3)
    assert "trust" in done.stderr


def test_without_hooks_codex_has_nothing_to_trust(person: Path, engram_command: Command) -> None:
    """The remark is about hooks."""
    done = engram_command("connect", "codex", "--no-hooks", "--yes")

    assert not (person / ".codex" / "hooks.json").exists()
    assert "trust" not in done.stderr


def test_a_folder_keeps_the_hooks_of_codex_beside_its_server(person: Path, engram_command: Command) -> None:
    """Codex looks for both in the same folder."""
    work = person / "work"
    work.mkdir()

    engram_command("connect", "codex", "--folder", str(work), "--yes")

    assert {path.name for path in (work / ".codex").iterdir()} == {"config.toml", "hooks.json"}


def test_what_codex_wrote_behind_our_entry_stays(person: Path, engram_command: Command) -> None:
    """It notes there which hooks are trusted, and that is not ours to take away."""
    path = person / ".codex" / "config.toml"
    path.parent.mkdir()
    path.write_text('model = "a-model"\n', encoding="utf-8")
    engram_command("connect", "codex", "--yes")
    path.write_text(path.read_text(encoding="utf-8") + TRUST, encoding="utf-8")

    engram_command("connect", "codex", "--remove", "--yes")

    left = tomllib.loads(path.read_text(encoding="utf-8"))
    assert left == {"model": "a-model", **tomllib.loads(TRUST)}
    assert not (person / ".codex" / "hooks.json").exists()


def test_codex_passes_on_what_opens_the_store_by_name_and_never_by_value(
    person: Path, engram_command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of its own environment Codex gives a server only what the entry names."""
    monkeypatch.setenv("ENGRAM_CHAT_KEY", "not-to-be-written")

    engram_command("connect", "codex", "--yes")

    text = (person / ".codex" / "config.toml").read_text(encoding="utf-8")
    named = tomllib.loads(text)["mcp_servers"]["engram"]["env_vars"]
    assert "ENGRAM_KEY" in named
    assert set(named) == set(PASSED_ON) <= {f"ENGRAM_{name.upper()}" for name in Settings.__struct_fields__}
    assert "not-to-be-written" not in text


def test_opencode_has_its_command_in_one_list(person: Path, engram_command: Command) -> None:
    """And a server that somebody has switched off stays so when it is connected anew."""
    engram_command("connect", "opencode", "--user", "maya", "--yes")
    path = person / ".config" / "opencode" / "opencode.json"
    told = json.loads(path.read_text(encoding="utf-8"))
    told["mcp"]["engram"]["enabled"] = False
    path.write_text(json.dumps(told), encoding="utf-8")

    engram_command("connect", "opencode", "--user", "tom", "--yes")

    entry = json.loads(path.read_text(encoding="utf-8"))["mcp"]["engram"]
    assert (entry["type"], entry["enabled"]) == ("local", False)
    assert entry["command"][-3:] == ["mcp", "--user", "tom"]


def test_whoever_writes_comments_for_opencode_keeps_one_file(person: Path, engram_command: Command) -> None:
    """It reads two names; the one that is there is taken."""
    commented = person / ".config" / "opencode" / "opencode.jsonc"
    commented.parent.mkdir(parents=True)
    commented.write_text('{\n  // mine\n  "autoupdate": false\n}\n', encoding="utf-8")

    engram_command("connect", "opencode", "--yes")

    assert "// mine" in commented.read_text(encoding="utf-8")
    assert '"engram"' in commented.read_text(encoding="utf-8")
    assert not commented.with_suffix(".json").exists()


def test_opencode_follows_the_usual_folder_on_every_system() -> None:
    """Also where programs with a window have another one."""
    places = {
        CLIENTS["opencode"].personal(Machine(home=Path("/h"), environment={}, system=system))
        for system in ("linux", "darwin", "win32")
    }

    assert places == {Path("/h/.config/opencode/opencode.json")}


@pytest.mark.parametrize(
    ("entry", "is_ours"),
    [
        ({"command": ["/v/bin/engram", "mcp", "--user", "maya"]}, True),
        ({"command": ["npx", "engram-mcp"]}, False),
        ({"command": ["/v/bin/engram"], "args": 7}, False),
        ({"command": {"engram": "mcp"}}, False),
    ],
)
def test_an_entry_in_one_list_is_known_again(entry: dict[str, Any], is_ours: bool) -> None:
    """By what it runs, as any other."""
    assert is_our_server(entry) is is_ours
