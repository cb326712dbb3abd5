"""
Our own entries in other programs' files: what they say, and how to know them again.

Used by `clients` and `hook_entries`. A command is absolute, so that it works from any folder and for programs
that were not started by a shell. An entry is ours when it runs `engram`, whatever it is called; one of our
name that runs something else is somebody else's, and is left alone. Keys of stores are never written.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Final

from engram.surfaces.hooks import event as events
from engram.surfaces.hooks.program import CLAUDE_CODE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.surfaces.hooks.program import Program

NAME: Final = "engram"
SECRETS: Final = ("ENGRAM_KEY", "ENGRAM_EMBEDDER_KEY", "ENGRAM_CHAT_KEY")
_SERVES = ("mcp",)
_HOOK = re.compile(r"""(?:^|[\\/\s"'])engram(?:\.exe)?["']?\s+hook\s+(?:["']?[A-Z]|--)""")
"""With an event or an option behind it: others may say "engram hook" in a message of theirs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Own:
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
        given = {"ENGRAM_HOME": self.home} if self.home else {}
        referred = {name: variable_as.format(name) for name in self.secrets} if variable_as else {}
        return {**entry, "env": {**given, **referred}} if given or referred else entry

    def hook(self, event: str, program: Program = CLAUDE_CODE) -> dict[str, Any]:
        """Return the group of hooks for an event that the program calls so."""
        place = ("--home", self.home) if self.home else ()
        client = () if program is CLAUDE_CODE else ("--client", program.name)
        # -P: the folder that the agent works in must not be one that modules are loaded from
        words = [self.python, "-P", "-m", NAME, "hook", event, *client, *self.options, *place]
        named = {"name": NAME} if program.is_named else {}
        is_end = program.events[event] == events.SESSION_END
        timeout = program.end_timeout if is_end and program.end_timeout else program.timeout
        call = {**named, "type": "command", "command": _joined(words), "timeout": timeout}
        # of tools, only the shell has outcomes that are kept; others start no process at all
        matcher = {"matcher": program.shell_tool} if program.events[event] == events.TOOL_USED else {}
        return {**matcher, "hooks": [call]}


def own(*, store: str | None, scope: Mapping[str, str | None], environment: Mapping[str, str]) -> Own:
    """Return our entries for a store and a scope; what the environment names now is written out."""
    place = store or environment.get("ENGRAM_STORE")
    home = environment.get("ENGRAM_HOME")
    options = ["--store", _absolute(place)] if place else []
    for name, value in scope.items():
        options += [f"--{name}", value] if value else []
    return Own(
        command=_command(),
        python=sys.executable,
        options=tuple(options),
        home=_absolute(home) if home else None,
        secrets=tuple(name for name in SECRETS if environment.get(name)),
    )


def is_our_server(entry: object) -> bool:
    """Say whether a server entry runs Engram."""
    if not isinstance(entry, dict):
        return False
    # opencode has command and arguments in one list
    words = [word for name in ("command", "args") for word in _listed(entry.get(name))]
    return _runs_engram([str(word) for word in words])


def is_our_hook(entry: object) -> bool:
    """Say whether one hook runs Engram."""
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
        if stem == NAME and words[place + 1] in _SERVES:
            return True
    return False


def _command() -> tuple[str, ...]:
    """Return the script `engram` of this installation, or the way without a script."""
    script = Path(sysconfig.get_path("scripts")) / (f"{NAME}.exe" if os.name == "nt" else NAME)
    return (str(script),) if script.is_file() else (sys.executable, "-P", "-m", NAME)


def _absolute(place: str) -> str:
    return place if "://" in place else os.path.abspath(os.path.expanduser(place))  # noqa: PTH100, PTH111


def _joined(words: Sequence[str]) -> str:
    return subprocess.list2cmdline(words) if os.name == "nt" else shlex.join(words)
