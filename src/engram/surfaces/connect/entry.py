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

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

NAME: Final = "engram"
HOOK_SECONDS: Final = 10
"""When Claude Code ends a hook by force; our own limit comes long before."""
MATCHERS: Final = {events.TOOL_USED: "Bash"}
"""Of tools, only the shell has outcomes that are kept; others start no process at all."""
_SERVES = ("mcp",)
_HOOK = re.compile(r"""(?:^|[\\/\s"'])engram(?:\.exe)?["']?\s+hook(?:\s|$)""")


@dataclass(frozen=True, slots=True, kw_only=True)
class Own:
    """What our entries are to say: which command, which store, whose memories."""

    command: tuple[str, ...]
    python: str
    options: tuple[str, ...] = ()
    """Store and scope, as the command line takes them."""
    home: str | None = None

    def server(self) -> dict[str, Any]:
        """Return the MCP server: a command, its arguments and its environment."""
        first, *rest = self.command
        entry: dict[str, Any] = {"command": first, "args": [*rest, "mcp", *self.options]}
        return {**entry, "env": {"ENGRAM_HOME": self.home}} if self.home else entry

    def hook(self, event: str) -> dict[str, Any]:
        """Return the group of hooks for an event of Claude Code."""
        place = ("--home", self.home) if self.home else ()
        # -P: the folder that the agent works in must not be one that modules are loaded from
        words = [self.python, "-P", "-m", NAME, "hook", event, *self.options, *place]
        call = {"type": "command", "command": _joined(words), "timeout": HOOK_SECONDS}
        matcher = {"matcher": MATCHERS[event]} if event in MATCHERS else {}
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
    )


def is_our_server(entry: object) -> bool:
    """Say whether a server entry runs Engram."""
    if not isinstance(entry, dict) or not isinstance(entry.get("command"), str):
        return False
    arguments = entry.get("args", [])
    words = [entry["command"], *(arguments if isinstance(arguments, list) else [])]
    return _runs_engram([str(word) for word in words])


def is_our_hook(entry: object) -> bool:
    """Say whether one hook runs Engram."""
    return (
        isinstance(entry, dict)
        and isinstance(entry.get("command"), str)
        and bool(_HOOK.search(entry["command"]))
    )


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
