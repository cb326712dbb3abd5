"""
The one configuration value: where the store is, which models and which policy.

Loaded once, by a surface or by `Engram.open`, and handed down. Strongest first: argument, environment,
file, default. A name or value that is unknown or malformed is an error that names it. Everything works
with no settings at all.
"""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args

from msgspec import Struct, field
from msgspec.structs import force_setattr

from engramdb import policy as policies
from engramdb.errors import InvalidSettings
from engramdb.policy import Policy

FILE_NAME = "engram.toml"
PREFIX = "ENGRAM_"
NO_SETTINGS = frozenset({"ENGRAM_ACTOR", "ENGRAM_TRACEBACK"})
"""Variables with our prefix that the command line reads itself."""
DURABILITIES = ("full", "relaxed")
READERS = ("auto", "rules", "pack", "chat")
SECRETS_FOR_AGENTS = ("asked", "never")
DateOrder = Literal["auto", "day-first", "month-first"]
"""How a date in digits is read where both of its first numbers can be a month."""
KEY_BYTES = 32
MODEL_FIELDS: dict[str, type] = {
    "context": int,
    "output": int,
    "tools": bool,
    "vision": bool,
    "thinking": bool,
    "tokenizer": str,
    "vendor": str,
}
"""What an entry about a chat model may say."""
_ABOVE_ZERO = (
    *("readers", "max_waiting_writers", "busy_timeout_seconds"),
    *("embedder_timeout_seconds", "chat_timeout_seconds"),
    *("dream_minutes", "dream_idle_minutes"),
    "hook_timeout_seconds",
)


class Settings(Struct, frozen=True, kw_only=True):
    """What a user has an opinion about."""

    home: Path = field(default_factory=lambda: Path("~/.engram").expanduser())
    """Folder for model packs, the settings file and the default store."""
    store: str = ""
    """Path of the store; empty means `memory.db` in the home folder."""
    key: str = ""
    """Key of an encrypted store: 64 hexadecimal digits. Better given by the environment than by the file."""
    policy: str = "balanced"
    """Name of the preset."""
    embedder: str = "auto"
    """`auto`, `static`, `e5-small`, or `openai:MODEL` behind an OpenAI-compatible endpoint (extra `chat`)."""
    embedder_url: str = ""
    """Address of that endpoint, such as `http://localhost:11434/v1`."""
    embedder_key: str = ""
    """Key of that endpoint, where it wants one."""
    embedder_timeout_seconds: float = 10.0
    """How long one embedding call may take."""
    chat: str = ""
    """Chat model that reads turns and judges conflicts: `openai:MODEL`, `anthropic:MODEL` (extra `chat`)."""
    chat_url: str = ""
    """Address of an OpenAI-compatible chat endpoint, such as `http://localhost:11434/v1`."""
    chat_key: str = ""
    """Key of the chat model, where it wants one."""
    chat_timeout_seconds: float = 30.0
    """How long one question to the chat model may take."""
    reader: str = "auto"
    """What judges statements beside the rules: `auto` (the chat model, if any), `rules`, `pack` or `chat`."""
    answering_milliseconds: int = 200
    """How long the model pack may read what `recall` found, to put first what answers; 0: not at all."""
    date_order: DateOrder = "auto"
    """How 04/05/2026 is read: `day-first` (so does `auto`) or `month-first`. Dots and ISO dates need none."""
    dream_in_background: bool = False
    """Whether a store that the library opens dreams and ages by itself; `serve` and `mcp` always do so."""
    dream_minutes: float = 10.0
    """How often it dreams where something is new."""
    dream_idle_minutes: float = 2.0
    """After so long without reads and writes it dreams at once."""
    dream_roots: str = ""
    """
    Folders where a dream may check what is said of files, `:` between them (`;` on Windows), or none.

    `project=FOLDER` is for the memories of that project alone.
    """
    durability: str = "full"
    """`full`: a write that returned survives a power cut. `relaxed`: it survives a crash of the process."""
    backups: bool = True
    """Whether the store is copied once a day to a folder beside it; three copies are kept."""
    readers: int = 4
    """How many reads may run at once."""
    max_waiting_writers: int = 256
    """How many threads may wait to write before the next is refused."""
    busy_timeout_seconds: float = 30.0
    """How long a write may wait for other writers before it is refused."""
    vector_memory_megabytes: int = 128
    """How much of the vectors may stay in memory; above it they are read from the store when needed."""
    hook_timeout_seconds: float = 3.0
    """How long a hook may keep an agent waiting; after that it goes on without memory."""
    audited_searches: int = 100_000
    """How many searches the audit keeps, the latest; writes and denials are kept for good."""
    searches_per_minute: int = 300
    """How often a token made for an agent may ask within a minute; 0: as often as it likes."""
    host: str = "127.0.0.1"
    """Address that `engram serve` listens on."""
    port: int = 7070
    """Port that `engram serve` listens on."""
    telemetry: str = ""
    """Where `engram serve` sends OpenTelemetry spans: the name of an installed exporter, or nowhere."""
    secrets_for_agents: str = "asked"
    """Whether an agent on this machine is told a secret that it asks for by name: `asked` or `never`."""
    overrides: Mapping[str, Any] = field(default_factory=dict)
    """Single policy fields by part, from the `[policy.…]` tables of the file."""
    models: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """What chat models can hold and do, by name, from the `[models.…]` tables of the file."""

    def __post_init__(self) -> None:
        force_setattr(self, "home", Path(self.home).expanduser())
        if self.durability not in DURABILITIES:
            raise InvalidSettings(f"durability={self.durability!r} must be one of {', '.join(DURABILITIES)}")
        if self.reader not in READERS:
            raise InvalidSettings(f"reader={self.reader!r} must be one of {', '.join(READERS)}")
        if self.secrets_for_agents not in SECRETS_FOR_AGENTS:
            rules = ", ".join(SECRETS_FOR_AGENTS)
            raise InvalidSettings(f"secrets_for_agents={self.secrets_for_agents!r} must be one of {rules}")
        if self.date_order not in get_args(DateOrder):
            orders = ", ".join(get_args(DateOrder))
            raise InvalidSettings(f"date_order={self.date_order!r} must be one of {orders}")
        if self.reader == "chat" and not self.chat:
            raise InvalidSettings("reader='chat' needs a chat model", hint="Name one in the setting `chat`.")
        _check_key(self.key)
        for name in _ABOVE_ZERO:
            if not 0 < getattr(self, name) < math.inf:
                raise InvalidSettings(f"{name}={getattr(self, name)} must be above 0 and finite")
        if self.vector_memory_megabytes < 0:
            raise InvalidSettings(f"vector_memory_megabytes={self.vector_memory_megabytes} is below 0")
        for name in ("audited_searches", "searches_per_minute"):
            if getattr(self, name) < 0:
                raise InvalidSettings(f"{name}={getattr(self, name)} is below 0")
        if not 0 <= self.port <= 65535:
            raise InvalidSettings(f"port={self.port} is outside 0 to 65535")
        check_models(self.models)
        if self.overrides or self.policy not in policies.NAMES:
            self.chosen_policy()  # which says what is wrong

    @property
    def store_location(self) -> str:
        """Where the store is, with the default filled in."""
        return self.store or str(self.home / "memory.db")

    def chosen_policy(self) -> Policy:
        """Return the preset with the file's overrides."""
        return policies.choose(self.policy, self.overrides)

    def __repr__(self) -> str:
        shown = ", ".join(
            f"{name}={getattr(self, name)!r}" for name in self.__struct_fields__ if not name.endswith("key")
        )
        return f"Settings({shown})"

    @classmethod
    def load(cls, *, environment: Mapping[str, str] | None = None, **arguments: Any) -> Settings:
        """Return the settings from arguments (those that are not None), environment, file and defaults."""
        environment = os.environ if environment is None else environment
        named = {name: value for name, value in arguments.items() if value is not None}
        from_environment = _from_environment(environment)
        home = named.get("home") or from_environment.get("home") or cls().home
        merged = {**_from_file(Path(home).expanduser() / FILE_NAME), **from_environment, **named}
        return cls(**merged)


def setting_fields() -> dict[str, Any]:
    """Return the fields that a file or the environment may set, with their defaults."""
    pairs = zip(Settings.__struct_fields__, Settings.__struct_defaults__, strict=True)
    return {name: default for name, default in pairs if name not in ("overrides", "models")}


def check_models(models: Mapping[str, Any]) -> None:
    """Refuse an entry about a model that has an unknown field or a value of the wrong type."""
    for name, entry in models.items():
        if not isinstance(entry, dict):
            raise InvalidSettings(f"models.{name}={entry!r} must be a table")
        for key, value in entry.items():
            kind = MODEL_FIELDS.get(key)
            if kind is None:
                raise InvalidSettings(f"models.{name}.{key}: a model has only {', '.join(MODEL_FIELDS)}")
            if kind is int and isinstance(value, int) and value < 1:
                raise InvalidSettings(f"models.{name}.{key}={value} must be above 0")
            if type(value) is not kind:
                raise InvalidSettings(f"models.{name}.{key}={value!r} must be {kind.__name__}")
        if entry.get("output", 1) > entry.get("context", math.inf):
            raise InvalidSettings(f"models.{name}: output={entry['output']} is above its context")


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    known = {*NO_SETTINGS, *(PREFIX + name.upper() for name in setting_fields())}
    unknown = sorted(name for name in environment if name.startswith(PREFIX) and name not in known)
    if unknown:
        raise InvalidSettings(f"there is no setting {unknown[0]}")
    found = {}
    for name in setting_fields():
        text = environment.get(PREFIX + name.upper())
        if text:
            found[name] = _parse(PREFIX + name.upper(), name, text)
    return found


def _from_file(path: Path) -> dict[str, Any]:
    try:
        written = path.read_text(encoding="utf-8")
        content = tomllib.loads(written)
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as exc:
        raise InvalidSettings(f"{path}: {exc}") from exc
    known = set(setting_fields()) - {"home"}
    found: dict[str, Any] = {}
    for name, value in content.items():
        if name == "policy" and isinstance(value, dict):
            found |= _policy_table(value)
        elif name == "models" and isinstance(value, dict):
            found["models"] = value
        elif name in known and not isinstance(value, dict):
            found[name] = _parse(f"{path}: {name}", name, value)
        else:
            raise InvalidSettings(f"{path}: there is no setting {name!r}")
    return found


def _policy_table(table: dict[str, Any]) -> dict[str, Any]:
    """Split `[policy]` into the preset's name, if it is there, and the overrides by room."""
    sections = {name: value for name, value in table.items() if name != "name"}
    return {"overrides": sections, **({"policy": table["name"]} if "name" in table else {})}


def _parse(where: str, name: str, value: object) -> Any:
    """Return the value in the type of the setting's default."""
    default = Path() if name == "home" else setting_fields()[name]
    try:
        if isinstance(default, bool):
            return _truth(value)
        if isinstance(default, (int, float)):
            if isinstance(value, bool) or (isinstance(value, float) and isinstance(default, int)):
                raise TypeError(value)
            number: Any = value
            return type(default)(number)
        if not isinstance(value, str):
            raise TypeError(value)
        return Path(value) if isinstance(default, Path) else value
    except (TypeError, ValueError, KeyError) as exc:
        raise InvalidSettings(f"{where}={value!r} must be {type(default).__name__}") from exc


def _truth(value: object) -> bool:
    """Return a yes or no, which the environment can only say in words."""
    if isinstance(value, bool):
        return value
    return {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}[str(value).lower()]


def _check_key(key: str) -> None:
    try:
        is_whole = key == "" or len(bytes.fromhex(key)) == KEY_BYTES
    except ValueError:
        is_whole = False
    if not is_whole:
        raise InvalidSettings(
            f"the store's key has {len(key)} characters and is not {2 * KEY_BYTES} hexadecimal digits",
            hint='Make one with: python -c "import secrets; print(secrets.token_hex(32))"',
        )


def child_environment() -> dict[str, str]:
    """Return the environment for a process that reads a stranger's text: without the store's key."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
    return {**kept, "PYTHONDONTWRITEBYTECODE": "1"}


def forbid_telemetry() -> None:
    """Tell libraries of others to report nothing about this machine; called before they are loaded."""
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
