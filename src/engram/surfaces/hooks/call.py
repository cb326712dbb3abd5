"""
What the command line tells a hook: which event, which store, whose memories.

Parsed here without typer, whose import alone would take a third of the time that a hook has; `engram hook`
goes the long way and makes the same. Unknown words are let pass: an older hook must not stop a newer agent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from engram.surfaces.hooks.program import CLAUDE_CODE
from engram.surfaces.hooks.project import chosen

if TYPE_CHECKING:
    from collections.abc import Sequence

OPTIONS: Final = ("store", "home", "client", "project", "squad", "agent", "channel", "user")
SCOPE: Final = OPTIONS[3:]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of `engram hook`."""

    event: str = ""
    store: str | None = None
    home: str | None = None
    client: str = CLAUDE_CODE.name
    """The program that calls, as `engram connect` names it."""
    project: str | None = None
    squad: str | None = None
    agent: str | None = None
    channel: str | None = None
    user: str | None = None

    def scope_in(self, folder: str) -> dict[str, str | None]:
        """Return the parts of the scope by name, for an agent that works in this folder."""
        named = {name: getattr(self, name) for name in SCOPE}
        return {**named, "project": chosen(self.project, folder)}


def parse_arguments(words: Sequence[str]) -> Call:
    """Return the call that these words make: `EVENT --store PATH --user NAME`."""
    given: dict[str, str] = {}
    rest = iter(words)
    for word in rest:
        name, has_value, value = word.removeprefix("--").partition("=")
        if word.startswith("--") and name in OPTIONS:
            given[name] = value if has_value else next(rest, "")
        elif not word.startswith("-"):
            given.setdefault("event", word)
    return Call(**{name: value for name, value in given.items() if value})
