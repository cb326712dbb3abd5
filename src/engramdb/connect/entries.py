"""
Our own entries in other programs' files: what they say, and how to recognize them.

A command is absolute: it works from any folder, for programs that no shell started, and another project's
`engram` on the PATH never answers in its place. An entry is ours when it runs Engram, whatever it is called
and under the name of any version; one of our name that runs something else is left alone. Keys of stores are
never written.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any, Final

from msgspec import Struct

from engramdb.hooks import events
from engramdb.hooks.events import CLAUDE_CODE, AgentProgram

NAME: Final = "engram"
"""What the server and hooks are called in other programs' files."""
PACKAGE: Final = "engramdb"
_PROGRAMS: Final = (PACKAGE, "engram")
"""The names that the program has had: entries of earlier versions are recognized, and mended."""
SECRETS: Final = ("ENGRAM_KEY", "ENGRAM_EMBEDDER_KEY", "ENGRAM_CHAT_KEY")
_SERVES = ("mcp",)
_HOOK = re.compile(r"""(?:^|[\\/\s"'])engram(?:db)?(?:\.exe)?["']?\s+hook\s+(?:["']?[A-Z]|--)""")
"""Followed by an event or an option: others may write "engram hook" in a message of theirs."""


class OwnEntries(Struct, frozen=True, kw_only=True):
    """What our entries are to say: which command, which store, whose memories."""

    command: tuple[str, ...]
    python: str
    options: tuple[str, ...] = ()
    """Store and scope, as the command line takes them."""
    home: str | None = None
    secrets: tuple[str, ...] = ()
    """Variables of the environment that hold keys; entries may name them, and never hold what they hold."""

    def server(self, *, variable_as: str | None = None) -> dict[str, Any]:
        """
        Return the MCP server: a command, its arguments and its environment.

        `variable_as` is how an entry refers to a variable, for a program that passes no keys on by itself.
        """
        first, *rest = self.command
        entry: dict[str, Any] = {"command": first, "args": [*rest, "mcp", *self.options]}
        home = {"ENGRAM_HOME": self.home} if self.home else {}
        referred = {name: variable_as.format(name) for name in self.secrets} if variable_as else {}
        return {**entry, "env": {**home, **referred}} if home or referred else entry

    def hook_words(self, program: AgentProgram) -> tuple[list[str], list[str]]:
        """Return the words of `engram hook` before the event, and those behind it."""
        place = ("--home", self.home) if self.home else ()
        client = () if program is CLAUDE_CODE else ("--client", program.name)
        # -P: the folder that the agent works in must not be one that modules are loaded from
        return [self.python, "-P", "-m", PACKAGE, "hook"], [*client, *self.options, *place]

    def hook(self, event: str, program: AgentProgram = CLAUDE_CODE) -> dict[str, Any]:
        """Return the group of hooks for an event that the program calls so."""
        command, options = self.hook_words(program)
        named = {"name": NAME} if program.is_named else {}
        is_end = program.events[event] == events.SESSION_END
        timeout = program.end_timeout if is_end and program.end_timeout else program.timeout
        call = {
            **named,
            "type": "command",
            "command": _joined([*command, event, *options]),
            "timeout": timeout,
        }
        matcher = {"matcher": program.matcher} if program.events[event] == events.TOOL_USED else {}
        return {**matcher, "hooks": [call]}


def own_entries(
    *, store: str | None, scope: Mapping[str, str | None], environment: Mapping[str, str]
) -> OwnEntries:
    """Return our entries for a store and a scope; what the environment names now is written out."""
    place = store or environment.get("ENGRAM_STORE")
    home = environment.get("ENGRAM_HOME")
    options = ["--store", _absolute(place)] if place else []
    for name, value in scope.items():
        options += [f"--{name}", value] if value else []
    return OwnEntries(
        command=_command(),
        python=sys.executable,
        options=tuple(options),
        home=_absolute(home) if home else None,
        secrets=tuple(name for name in SECRETS if environment.get(name)),
    )


def is_our_server(entry: object) -> bool:
    """Return whether a server entry runs Engram."""
    if not isinstance(entry, dict):
        return False
    # opencode has command and arguments in one list
    words = [word for name in ("command", "args") for word in _listed(entry.get(name))]
    return _runs_engram([str(word) for word in words])


def is_our_hook(entry: object) -> bool:
    """Return whether one hook runs Engram."""
    return (
        isinstance(entry, dict)
        and isinstance(entry.get("command"), str)
        and bool(_HOOK.search(entry["command"]))
    )


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else [value] if isinstance(value, str) else []


def _runs_engram(words: Sequence[str]) -> bool:
    for place, word in enumerate(words[:-1]):
        stem = PurePath(word.replace("\\", "/")).name.lower().removesuffix(".exe")
        if stem in _PROGRAMS and words[place + 1] in _SERVES:
            return True
    return False


def _command() -> tuple[str, ...]:
    """
    Return the script `engramdb` of this installation, or the way without a script.

    Never the script `engram`: another project's package may have put its own in the same folder.
    """
    script = Path(sysconfig.get_path("scripts")) / (f"{PACKAGE}.exe" if os.name == "nt" else PACKAGE)
    return (str(script),) if script.is_file() else (sys.executable, "-P", "-m", PACKAGE)


def _absolute(place: str) -> str:
    return place if "://" in place else os.path.abspath(os.path.expanduser(place))  # noqa: PTH100, PTH111


def _joined(words: Sequence[str]) -> str:
    return subprocess.list2cmdline(words) if os.name == "nt" else shlex.join(words)
