"""The plugin that `engram connect opencode` writes, run by Node with the events that opencode sends."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from engramdb import Engram, Scope, Settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from surfaces.fixtures import Command

NODE = shutil.which("node")
PATIENCE_SECONDS = 60
DRIVER = """
import { pathToFileURL } from "node:url"
import { readFileSync } from "node:fs"
const plugin = await import(pathToFileURL(process.argv[1]).href)
const names = Object.keys(plugin)
const hooks = await plugin[names[0]]({ directory: "/w/shop", client: {}, project: {}, worktree: "/w/shop" })
const given = []
for (const [name, input, output] of JSON.parse(readFileSync(0, "utf8"))) {
  if (name === "wait") await new Promise((done) => setTimeout(done, input))
  else await hooks[name](input, output)
  given.push(output)
}
console.log(JSON.stringify({ names, given }))
"""
needs_node = pytest.mark.skipif(NODE is None, reason="Node is not installed")


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person's home, in which no program is installed yet."""
    folder = tmp_path / "person"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return folder


@pytest.fixture
def plugin(person: Path, engram_command: Command) -> Path:
    """The plugin as it is written, in a form that Node takes for a module."""
    done = engram_command("connect", "opencode", "--user", "maya", "--yes")
    assert done.exit_code == 0
    written = person / ".config" / "opencode" / "plugins" / "engram.js"
    return Path(shutil.copy(written, written.with_suffix(".mjs")))


def run(plugin: Path, *calls: tuple[str, Any, Any]) -> Any:
    """Let opencode load the plugin and call its hooks, and return what became of the outputs."""
    done = subprocess.run(
        [str(NODE), "--input-type=module", "-e", DRIVER, str(plugin)],
        input=json.dumps(calls),
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "ENGRAM_HOOK_TIMEOUT_SECONDS": "25"},
        timeout=PATIENCE_SECONDS,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def prompt(text: str, number: int, session: str = "ses_1") -> tuple[str, Any, Any]:
    """Return the call for a prompt."""
    parts = [{"id": f"prt_{number:03}", "type": "text", "text": text, "sessionID": session}]
    return "chat.message", {"sessionID": session}, {"message": {"id": f"msg_{number:03}"}, "parts": parts}


def event(kind: str, **properties: object) -> tuple[str, Any, Any]:
    """Return the call for an event."""
    return "event", {"event": {"type": kind, "properties": properties}}, None


def reply(text: str, number: int, session: str = "ses_1", **more: object) -> list[tuple[str, Any, Any]]:
    """Return the calls for a reply that grows, and the silence after it."""
    info = {"id": f"msg_{number:03}", "sessionID": session, "role": "assistant", **more}
    part = {"id": f"prt_{number:03}", "sessionID": session, "messageID": info["id"], "type": "text"}
    return [
        event("message.updated", info=info),
        event("message.part.updated", part={**part, "text": text[:4]}),
        event("message.part.updated", part={**part, "text": text}),
        event("session.idle", sessionID=session),
    ]


def ran(command: str, output: str, number: int, *, exit_code: int) -> list[tuple[str, Any, Any]]:
    """Return the calls for a command, whose arguments are told beforehand only."""
    about = {"tool": "bash", "sessionID": "ses_1", "callID": f"call_{number}"}
    came = {"title": command, "output": output, "metadata": {"exit": exit_code, "output": output}}
    return [
        ("tool.execute.before", about, {"args": {"command": command}}),
        ("tool.execute.after", about, came),
        ("wait", 2500, None),  # so that the two are not stored at the same time
    ]


def until(home: Path, is_so: Callable[[Engram], Any]) -> Any:
    """Return the first answer of the store that is not empty: what the agent does not wait for takes time."""
    begun = time.monotonic()
    while time.monotonic() - begun < PATIENCE_SECONDS:
        if (home / "memory.db").exists():
            with Engram.open(home / "memory.db", scope=Scope(user="maya"), background=False) as engram:
                if found := is_so(engram):
                    return found
        time.sleep(0.1)
    pytest.fail("it did not become so")


@needs_node
def test_a_session_of_opencode_is_kept_and_a_prompt_is_given_what_fits(home: Path, plugin: Path) -> None:
    """Each message once, by the name that an export has for it; helpers and what was put in stay out."""
    with Engram.open(settings=Settings(home=home), scope=Scope(user="maya"), background=False) as engram:
        engram.remember("I use the Helix editor", category="preference")

    done = run(
        plugin,
        event("session.created", info={"id": "ses_2", "parentID": "ses_1"}),
        prompt("to a helper", 1, session="ses_2"),
        prompt("which editor do I use, Helix?", 2),
        *reply("Helix it is.", 3),
        event("session.idle", sessionID="ses_1"),
    )
    said = until(home, lambda engram: len(turns := engram.turns(session="opencode:ses_1")) > 1 and turns)
    parts = done["given"][2]["parts"]
    exported = [
        {"info": {"id": turn_id, "sessionID": "ses_1", "role": turn.role}, "parts": [_text(turn.content)]}
        for turn_id, turn in zip(("msg_002", "msg_003"), said, strict=True)
    ]
    (plugin.parent / "export.json").write_text(json.dumps({"messages": exported}))
    imported = until(home, lambda engram: engram.import_from(plugin.parent / "export.json"))

    assert done["names"] == ["EngramMemory"]
    assert [turn.content for turn in said] == ["which editor do I use, Helix?", "Helix it is."]
    assert [part["id"] for part in parts] == ["prt_002", "prt_0020"]
    assert (parts[1]["synthetic"], parts[1]["messageID"], "Helix" in parts[1]["text"]) == (
        True,
        "msg_002",
        True,
    )
    assert len(done["given"][1]["parts"]) == 1
    assert (imported.turns, imported.already) == (0, 2)


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


@needs_node
def test_commands_of_opencode_teach(home: Path, plugin: Path) -> None:
    """It tells the exit code, so that what failed and then worked is known."""
    run(
        plugin,
        *ran("pytest tests", "no module named shop", 1, exit_code=4),
        *ran("uv run pytest tests", "12 passed", 2, exit_code=0),
    )

    (lesson,) = until(
        home, lambda engram: [one.content for one in engram.list() if one.extractor == "command-1"]
    )
    assert lesson == "`uv run pytest tests` worked after `pytest tests` failed: no module named shop"


@needs_node
def test_opencode_goes_on_where_engram_is_gone(plugin: Path) -> None:
    """A command that is not there, or says nonsense, costs the memories and nothing else."""
    broken = plugin.read_text(encoding="utf-8")
    for command in ('["/no/such/python"]', '["echo", "nonsense"]'):
        start = broken.index("const [COMMAND, OPTIONS] = [")
        end = broken.index("\n", start)
        plugin.write_text(f"{broken[:start]}const [COMMAND, OPTIONS] = [{command}, []]{broken[end:]}")

        done = run(plugin, prompt("hello there", 1), *reply("Hi.", 2))

        assert len(done["given"][0]["parts"]) == 1


def test_what_was_written_is_taken_out_and_a_stranger_is_left_alone(
    person: Path, engram_command: Command
) -> None:
    """The plugin is a file of its own; one of that name that is not ours is neither replaced nor deleted."""
    path = person / ".config" / "opencode" / "plugins" / "engram.js"
    engram_command("connect", "opencode", "--yes")
    listed = engram_command("connect", "--list")
    again = engram_command("connect", "opencode", "--yes")
    engram_command("connect", "opencode", "--remove", "--yes")
    is_gone = not path.exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("export const Mine = async () => ({})\n")
    refused = engram_command("connect", "opencode", "--yes")
    removed = engram_command("connect", "opencode", "--remove", "--yes")

    assert "engram.js" in listed.stdout
    assert "as it should be" in again.stderr
    assert is_gone
    assert (refused.exit_code, removed.exit_code) == (1, 0)
    assert path.read_text() == "export const Mine = async () => ({})\n"
