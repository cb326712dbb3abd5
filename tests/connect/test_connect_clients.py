"""`engram connect` writes exactly our entries, after showing them, and takes them out to the byte."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from engramdb.connect.clients import CLIENTS, MAC, WINDOWS, Machine, parts_of
from engramdb.connect.entries import OwnEntries
from engramdb.connect.parts import CannotEdit, JsonServer
from engramdb.connect.plan import FileAction, carry_out, to_connect

if TYPE_CHECKING:
    from surfaces.fixtures import Command

COMMENTED = '// mine\n{\n\t"editor.fontSize": 13, // small\n\t"a": [1, 2,],\n}\n'
STARTS = {name: "[tui]\ntheme = 'dark' # mine\n" if name == "codex" else COMMENTED for name in CLIENTS}


@pytest.fixture(autouse=True)
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person's home, in which no program is installed yet."""
    folder = tmp_path / "person"
    (folder / "work").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(folder))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(folder / "work")
    return folder


def files(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def file_of(client: str, person: Path) -> Path:
    """Return where a program keeps its servers for this person."""
    return CLIENTS[client].personal(Machine(home=person, environment={}, system="linux"))


def servers_in(client: str, path: Path) -> Any:
    """Return the servers in a program's file."""
    text = path.read_text(encoding="utf-8")
    return (tomllib.loads(text) if CLIENTS[client].is_toml else json.loads(text))[CLIENTS[client].key]


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_is_connected_once_and_disconnected_to_the_byte(
    client: str, person: Path, engram_command: Command
) -> None:
    """Shown first, written on a yes, the same the second time, and gone without a trace."""
    path = file_of(client, person)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(STARTS[client], encoding="utf-8")
    before = files(person)

    shown = engram_command("connect", client, "--user", "maya")
    looked = files(person)
    engram_command("connect", client, "--user", "maya", "--yes")
    connected = files(person)
    again = engram_command("connect", client, "--user", "maya", "--yes")
    listed = engram_command("connect", "--list", "--json")
    removed = engram_command("connect", client, "--remove", "--yes")

    assert (shown.exit_code, again.exit_code, removed.exit_code) == (0, 0, 0)
    assert "engram" in shown.stdout
    assert looked == before
    assert "as it should be" in again.stderr
    assert connected[str(path.relative_to(person)) + ".before-engram"] == STARTS[client].encode()
    assert str(path) in {one["path"] for one in json.loads(listed.stdout)}
    assert files(person) == before


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_that_was_never_configured_is_given_a_file(
    client: str, person: Path, engram_command: Command
) -> None:
    """The entry names command and store by whole paths, and the scope; taking it out leaves nothing."""
    path = file_of(client, person)

    engram_command("connect", client, "--store", "my.db", "--user", "maya", "--yes")
    entry = servers_in(client, path)["engram"]
    engram_command("connect", client, "--remove", "--yes")

    command = entry["command"] if client == "opencode" else [entry["command"], *entry["args"]]
    assert Path(command[0]).is_absolute()
    assert command[-5:] == ["mcp", "--store", str(person / "work" / "my.db"), "--user", "maya"]
    given = entry["environment" if client == "opencode" else "env"]
    assert given == {"ENGRAM_HOME": os.environ["ENGRAM_HOME"]}
    assert files(person) == {}


def test_the_written_commands_are_ours_from_anywhere(
    person: Path, engram_command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another project's module in the folder or program on the PATH never answers in our place."""
    trap = person / "trap"
    for name in ("engram", "engramdb"):
        (trap / name).mkdir(parents=True)
        (trap / name / "__init__.py").write_text("raise SystemExit(66)", encoding="utf-8")
    strangers = person / "bin"
    strangers.mkdir()
    for name in ("engram", "engramdb", "python", "python3"):
        (strangers / name).write_text("#!/bin/sh\nexit 67\n", encoding="utf-8")
        (strangers / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(strangers))
    engram_command("connect", "claude-code", "--yes")
    entry = json.loads((person / ".claude.json").read_text())["mcpServers"]["engram"]
    hooks = json.loads((person / ".claude" / "settings.json").read_text())["hooks"]

    served = subprocess.run(
        [entry["command"], *entry["args"], "--help"], cwd=trap, capture_output=True, check=False
    )
    hooked = subprocess.run(
        shlex.split(hooks["SessionStart"][0]["hooks"][0]["command"]),
        cwd=trap,
        input=b"{}",
        capture_output=True,
        check=False,
    )

    assert served.returncode == 0
    assert (hooked.returncode, hooked.stdout, hooked.stderr) == (0, b"", b"")
    assert hooks["PostToolUse"][0]["matcher"] == "Bash|Task|Agent"


EARLIER = {
    "bare name": ("engram",),
    "script": ("/opt/venv/bin/engram",),
    "module": ("/opt/venv/bin/python", "-P", "-m", "engram"),
}
"""The commands that versions before the package was called `engramdb` wrote."""


@pytest.mark.parametrize("command", EARLIER.values(), ids=EARLIER)
@pytest.mark.parametrize("client", CLIENTS)
def test_entries_of_an_earlier_version_are_recognized_and_mended(
    client: str, command: tuple[str, ...], person: Path, engram_command: Command
) -> None:
    """Connecting again puts today's command in their place; connecting for the third time changes nothing."""
    old = OwnEntries(command=command, python="/opt/venv/bin/python", options=("--user", "maya"))
    machine = Machine(home=person, environment={}, system="linux")
    parts = parts_of(client, old, machine, folder=None, server="engram", with_hooks=True)
    for path, part in parts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(part.put("").replace("-m engramdb", "-m engram"), encoding="utf-8")
    before = files(person)

    listed = engram_command("connect", "--list", "--json")
    mended = engram_command("connect", client, "--user", "maya", "--yes")
    after = files(person)
    again = engram_command("connect", client, "--user", "maya", "--yes")
    removed = engram_command("connect", client, "--remove", "--yes")

    assert {one["path"] for one in json.loads(listed.stdout)} == {str(path) for path in parts}
    assert (mended.exit_code, again.exit_code, removed.exit_code) == (0, 0, 0)
    assert "as it should be" in again.stderr
    assert set(after) == set(before)
    for name, content in after.items():
        assert b"engramdb" in content
        assert b"/opt/venv" not in content
        assert content.count(b" hook ") == before[name].count(b" hook ")
    assert files(person) == {}


def test_hooks_of_an_earlier_version_still_answer() -> None:
    """`python -m engram hook`, as it stands in agents' settings; as a package that name is not ours."""
    hooked = subprocess.run(
        [sys.executable, "-P", "-m", "engram", "hook", "SessionStart"],
        input=b'{"session_id": "s1", "source": "startup"}',
        capture_output=True,
        check=False,
    )
    imported = subprocess.run(
        [sys.executable, "-c", "import engram"], capture_output=True, text=True, check=False
    )

    assert (hooked.returncode, hooked.stderr) == (0, b"")
    assert "engramdb" in imported.stderr


def test_what_others_changed_in_between_stays(person: Path, engram_command: Command) -> None:
    """Only our entry is taken out of a file that its program has written since."""
    path = file_of("cursor", person)
    path.parent.mkdir(parents=True)
    path.write_text('{\n  "mcpServers": {}\n}\n', encoding="utf-8")
    engram_command("connect", "cursor", "--yes")
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('{\n  "mcp', '{\n  "theme": "dark",\n  "mcp'), encoding="utf-8")

    engram_command("connect", "cursor", "--remove", "--yes")

    assert json.loads(path.read_text(encoding="utf-8")) == {"theme": "dark", "mcpServers": {}}


def test_a_server_of_our_name_that_is_not_ours_is_left_alone(person: Path, engram_command: Command) -> None:
    """It is neither replaced nor removed; the person is told what to paste, and may choose another name."""
    path = file_of("cursor", person)
    path.parent.mkdir(parents=True)
    path.write_text(
        '{"mcpServers": {"engram": {"command": "npx", "args": ["engram-mcp"]}}}', encoding="utf-8"
    )
    before = files(person)

    refused = engram_command("connect", "cursor", "--yes")
    engram_command("connect", "cursor", "--remove", "--yes")
    unchanged = files(person)
    named = engram_command("connect", "cursor", "--yes", "--name", "engram-notes")

    assert refused.exit_code == 1
    assert '"mcp"' in refused.stdout
    assert unchanged == before
    assert named.exit_code == 0
    assert set(servers_in("cursor", path)) == {"engram", "engram-notes"}


def test_a_file_that_cannot_be_read_is_left_alone(person: Path, engram_command: Command) -> None:
    """Broken JSON may be somebody's only copy: the snippet to paste is printed, the file not touched."""
    path = file_of("zed", person)
    path.parent.mkdir(parents=True)
    path.write_bytes(b'{"theme": \xff oops')

    refused = engram_command("connect", "zed", "--yes")

    assert refused.exit_code == 1
    assert "context_servers" in refused.stdout
    assert path.read_bytes() == b'{"theme": \xff oops'


def test_a_linked_file_stays_a_link(person: Path, engram_command: Command) -> None:
    """Whoever keeps configuration in a repository finds the change there."""
    kept = person / "dotfiles.json"
    kept.write_text("{}\n", encoding="utf-8")
    kept.chmod(0o640)
    path = file_of("gemini", person)
    path.parent.mkdir(parents=True)
    path.symlink_to(kept)

    engram_command("connect", "gemini", "--yes")

    assert path.is_symlink()
    assert "engram" in kept.read_text(encoding="utf-8")
    assert kept.stat().st_mode & 0o777 == 0o640


def test_a_link_that_led_nowhere_leads_nowhere_again(person: Path, engram_command: Command) -> None:
    """What we made is taken out where it lies, and the link of somebody's dotfiles stays."""
    kept = person / "dotfiles.json"
    path = file_of("gemini", person)
    path.parent.mkdir(parents=True)
    path.symlink_to(kept)

    engram_command("connect", "gemini", "--yes")
    was_made = kept.exists()
    engram_command("connect", "gemini", "--remove", "--yes")

    assert was_made
    assert path.is_symlink()
    assert not kept.exists()


def test_a_file_that_its_owner_has_locked_is_left_alone(person: Path, engram_command: Command) -> None:
    """Programs that manage configuration make it read-only; what to paste is printed instead."""
    path = file_of("cursor", person)
    path.parent.mkdir(parents=True)
    path.write_text("{}\n", encoding="utf-8")
    path.chmod(0o444)

    refused = engram_command("connect", "cursor", "--yes")

    assert refused.exit_code == 1
    assert "mcpServers" in refused.stdout
    assert "read-only" in refused.stderr
    assert files(path.parent) == {"mcp.json": b"{}\n"}


def test_who_said_yes_is_not_told_to_say_yes(person: Path, engram_command: Command) -> None:
    """Where writing fails, the reason is all there is to say."""
    path = file_of("cursor", person)
    path.parent.mkdir(parents=True)
    path.symlink_to(person / "no" / "folder.json")

    failed = engram_command("connect", "cursor", "--yes")

    assert failed.exit_code == 1
    assert "cannot be written" in failed.stderr
    assert "--yes" not in failed.stderr


def test_half_a_connection_is_a_failure(person: Path, engram_command: Command) -> None:
    """Where one of two files could not be written, the exit code says so."""
    (person / ".claude").mkdir()
    (person / ".claude" / "settings.json").symlink_to(person / "no" / "folder.json")

    half = engram_command("connect", "claude-code", "--yes")

    assert half.exit_code == 1
    assert (person / ".claude.json").exists()
    assert "cannot be written" in half.stderr


def test_a_file_that_changed_while_we_asked_is_not_overwritten(person: Path) -> None:
    """Between the question and the yes a program may have written its file."""
    path = person / "mcp.json"
    path.write_text("{}", encoding="utf-8")
    change = to_connect(path, JsonServer(key="servers", name="engram", entry={"command": "engram"}))
    path.write_text('{"a": 1}', encoding="utf-8")

    with pytest.raises(CannotEdit):
        carry_out(change)

    assert change.action is FileAction.CHANGE
    assert path.read_text(encoding="utf-8") == '{"a": 1}'


def test_a_folder_is_connected_for_itself(person: Path, engram_command: Command) -> None:
    """A project's own files are written; a program without such files says so."""
    done = engram_command("connect", "claude-code", "--folder", ".", "--project", "harvest", "--yes")
    refused = engram_command("connect", "windsurf", "--folder", ".")

    assert done.exit_code == 0
    assert set(files(person)) == {"work/.mcp.json", "work/.claude/settings.local.json"}
    assert refused.exit_code == 2


def test_what_is_said_to_undo_a_connection_undoes_it(person: Path, engram_command: Command) -> None:
    """The command that is shown names the same folder and the same server."""
    before = set(files(person))
    told = engram_command("connect", "claude-code", "--folder", ".", "--name", "notes", "--yes").stderr

    undo = shlex.split(told.partition("To undo: ")[2].splitlines()[0])
    engram_command(*undo[1:], "--yes")

    assert undo[0] == "engram"
    assert set(files(person)) == before


def test_without_hooks_only_the_server_is_written(person: Path, engram_command: Command) -> None:
    """`--no-hooks` is for whoever wants the tools and nothing kept by itself."""
    engram_command("connect", "claude-code", "--no-hooks", "--yes")

    assert set(files(person)) == {".claude.json"}


@pytest.mark.parametrize("system", ["linux", MAC, WINDOWS])
def test_every_system_has_its_places(system: str) -> None:
    """Each program's file lies below the person's home, whatever the system."""
    machine = Machine(home=Path("/home/maya"), environment={}, system=system)

    assert all(Path("/home/maya") in one.personal(machine).parents for one in CLIENTS.values())


def test_an_unknown_client_is_named_with_those_that_there_are(engram_command: Command) -> None:
    """A slip of the pen is one line and a list."""
    done = engram_command("connect", "clod-code")

    assert done.exit_code == 2
    assert "claude-code" in done.stderr
