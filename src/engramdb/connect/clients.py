"""
Which program keeps its configuration where, and under which names.

Used by `plan`. The paths are those of each program's own documentation; a variable that moves them is
followed. A program that has no configuration for a folder says so. Four of them were run with what is
written here: docs/lab/0031 and 0032.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from engramdb.connect.entries import OwnEntries
from engramdb.connect.parts import (
    CombinedPart,
    ConfigPart,
    HookEntries,
    JsonServer,
    PluginFile,
    TomlServer,
)
from engramdb.errors import InvalidSettings
from engramdb.hooks.events import CLAUDE_CODE, CODEX, OPENCODE, PROGRAMS

MAC, WINDOWS = "darwin", "win32"
PASSED_ON: Final = tuple(
    f"ENGRAM_{name}"
    for name in ("KEY", "POLICY", "EMBEDDER", "EMBEDDER_URL", "EMBEDDER_KEY", "CHAT", "CHAT_URL", "CHAT_KEY")
)
"""Variables that a server needs to open the same store in the same way; Codex gives it only those named."""


class Machine(Struct, frozen=True, kw_only=True):
    """Where things are here: the person's home, the environment, the system."""

    home: Path
    environment: Mapping[str, str]
    system: str

    def named(self, variable: str, default: Path) -> Path:
        """Return the folder that a variable names, or the usual one."""
        return Path(self.environment[variable]) if self.environment.get(variable) else default

    @property
    def programs(self) -> Path:
        """Where programs with a window keep their settings."""
        if self.system == MAC:
            return self.home / "Library" / "Application Support"
        if self.system == WINDOWS:
            return self.named("APPDATA", self.home / "AppData" / "Roaming")
        return self.named("XDG_CONFIG_HOME", self.home / ".config")

    @property
    def dotted(self) -> Path:
        """Where programs of a terminal keep theirs: as above, but for the Mac."""
        return self.home / ".config" if self.system == MAC else self.programs


class Client(Struct, frozen=True, kw_only=True):
    """A program that can be connected."""

    title: str
    key: str
    """Under which name its file lists servers."""
    personal: Callable[[Machine], Path]
    in_folder: str | None
    """Its file in a project's folder."""
    more: Mapping[str, Any]
    """What its entries hold beside command, arguments and environment."""
    is_toml: bool = False
    shaped: Callable[[dict[str, Any]], dict[str, Any]] = dict
    """Puts command, arguments and environment as its entries have them."""
    remark: str = ""
    """What a person has to know when the hooks have been written."""
    variable_as: str | None = None
    """How an entry refers to a variable that holds a key, where the program passes none on by itself."""


def _opencode_file(settings: Path) -> Path:
    """Return the file of opencode; it reads both, and one of them may hold comments."""
    plain, commented = (settings / "opencode" / f"opencode.{end}" for end in ("json", "jsonc"))
    return commented if commented.is_file() and not plain.is_file() else plain


def _in_one_list(entry: dict[str, Any]) -> dict[str, Any]:
    """Return an entry with command and arguments in one list, and a longer word for the environment."""
    call = {"command": [entry["command"], *entry["args"]]}
    return {**call, "environment": entry["env"]} if "env" in entry else call


CLIENTS: Final[dict[str, Client]] = {
    "claude-code": Client(
        title="Claude Code",
        key="mcpServers",
        personal=lambda here: here.named("CLAUDE_CONFIG_DIR", here.home) / ".claude.json",
        in_folder=".mcp.json",
        # so that `claude -p` waits for the server, and its tools need not be searched for
        more={"type": "stdio", "alwaysLoad": True},
    ),
    "codex": Client(
        title="Codex",
        key="mcp_servers",
        personal=lambda here: here.named("CODEX_HOME", here.home / ".codex") / "config.toml",
        in_folder=".codex/config.toml",
        more={},
        is_toml=True,
        shaped=lambda entry: {**entry, "env_vars": list(PASSED_ON)},
        remark="It asks whether you trust the new hooks, and runs none of them before you do.",
    ),
    "cursor": Client(
        title="Cursor",
        key="mcpServers",
        personal=lambda here: here.home / ".cursor" / "mcp.json",
        in_folder=".cursor/mcp.json",
        more={},
    ),
    "vscode": Client(
        title="VS Code",
        key="servers",
        personal=lambda here: here.programs / "Code" / "User" / "mcp.json",
        in_folder=".vscode/mcp.json",
        more={"type": "stdio"},
    ),
    "windsurf": Client(
        title="Windsurf",
        key="mcpServers",
        personal=lambda here: here.home / ".codeium" / "windsurf" / "mcp_config.json",
        in_folder=None,
        more={},
    ),
    "zed": Client(
        title="Zed",
        key="context_servers",
        personal=lambda here: here.dotted / ("Zed" if here.system == WINDOWS else "zed") / "settings.json",
        in_folder=".zed/settings.json",
        more={"source": "custom"},
    ),
    "claude-desktop": Client(
        title="Claude Desktop",
        key="mcpServers",
        personal=lambda here: here.programs / "Claude" / "claude_desktop_config.json",
        in_folder=None,
        more={},
    ),
    "gemini": Client(
        title="Gemini CLI",
        key="mcpServers",
        personal=lambda here: here.home / ".gemini" / "settings.json",
        in_folder=".gemini/settings.json",
        more={},
        variable_as="${}",
    ),
    "opencode": Client(
        title="opencode",
        key="mcp",
        personal=lambda here: _opencode_file(here.named("XDG_CONFIG_HOME", here.home / ".config")),
        in_folder="opencode.json",
        more={"type": "local"},
        shaped=_in_one_list,
    ),
}


def parts_of(
    name: str, own: OwnEntries, machine: Machine, *, folder: Path | None, server: str, with_hooks: bool
) -> dict[Path, ConfigPart]:
    """Return what of ours stands in which file of a program."""
    client = CLIENTS[name]
    if folder is not None and client.in_folder is None:
        raise InvalidSettings(
            f"{client.title} has no configuration for a folder",
            hint="Leave out --folder to connect it as yours.",
        )
    path = client.personal(machine) if folder is None else folder / str(client.in_folder)
    entry = {**client.more, **client.shaped(own.server(variable_as=client.variable_as))}
    form = TomlServer if client.is_toml else JsonServer
    ours: ConfigPart = form(key=client.key, name=server, entry=entry)
    if not with_hooks or name not in PROGRAMS:
        return {path: ours}
    if name == OPENCODE.name:
        return {path: ours, _opencode_plugin(machine, folder): PluginFile.of(own, OPENCODE)}
    hooks = HookEntries.of(own, PROGRAMS[name])
    settings = _HOOK_FILES[name](machine, folder) if name in _HOOK_FILES else path
    return {path: CombinedPart((ours, hooks))} if settings == path else {path: ours, settings: hooks}


def _claude_settings(machine: Machine, folder: Path | None) -> Path:
    """Return the file of hooks; in a folder the personal one, for the commands are of this machine."""
    if folder is not None:
        return folder / ".claude" / "settings.local.json"
    return machine.named("CLAUDE_CONFIG_DIR", machine.home / ".claude") / "settings.json"


def _codex_hooks(machine: Machine, folder: Path | None) -> Path:
    """Return the file of hooks; they may stand in the other one too, but not in both without a complaint."""
    settings = CLIENTS[CODEX.name].personal(machine).parent if folder is None else folder / ".codex"
    return settings / "hooks.json"


def _opencode_plugin(machine: Machine, folder: Path | None) -> Path:
    """Return the file of our plugin, which opencode loads because of where it lies."""
    dotted = machine.named("XDG_CONFIG_HOME", machine.home / ".config") / "opencode"
    return (dotted if folder is None else folder / ".opencode") / "plugins" / "engram.js"


_HOOK_FILES: Final = {CLAUDE_CODE.name: _claude_settings, CODEX.name: _codex_hooks}
"""Where programs keep hooks that have a file of their own for them."""
