"""Scope: who a memory belongs to (global ⊃ project ⊃ squad ⊃ agent ⊃ channel and user)."""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Iterator
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import force_setattr

from engramdb.errors import InvalidScope

MAX_NAME_CHARACTERS = 200
Name = Annotated[
    str,
    Meta(extra_json_schema={"minLength": 1, "maxLength": MAX_NAME_CHARACTERS}, extra={"metavar": "NAME"}),
]


class Scope(Struct, frozen=True, kw_only=True):
    """One place in the hierarchy; a part that is not given is not restricted. `Scope()` is global."""

    project: Annotated[Name | None, Meta(description="Scope: the project.")] = None
    squad: Annotated[Name | None, Meta(description="Scope: the squad.")] = None
    agent: Annotated[Name | None, Meta(description="Scope: the agent.")] = None
    channel: Annotated[Name | None, Meta(description="Scope: the channel.")] = None
    user: Annotated[Name | None, Meta(description="Scope: the user.")] = None

    def __post_init__(self) -> None:
        for name, part in zip(self.__struct_fields__, self.parts, strict=True):
            _check_name(name, part)
            if part is not None and not unicodedata.is_normalized("NFC", part):
                # Two spellings that look the same are one name.
                force_setattr(self, name, unicodedata.normalize("NFC", part))

    @property
    def parts(self) -> tuple[str | None, ...]:
        """The five names, widest first."""
        return (self.project, self.squad, self.agent, self.channel, self.user)

    def sees(self, other: Scope) -> bool:
        """Return whether a reader in this scope may see what was stored in the other."""
        pairs = zip(self.parts, other.parts, strict=True)
        return all(theirs is None or theirs == mine for mine, theirs in pairs)

    def visible(self) -> Iterator[Scope]:
        """Yield this scope and every wider one, thirty-two at most."""
        choices = [(None,) if name is None else (None, name) for name in self.parts]
        for project, squad, agent, channel, user in itertools.product(*choices):
            yield Scope(project=project, squad=squad, agent=agent, channel=channel, user=user)

    def __str__(self) -> str:
        pairs = zip(self.__struct_fields__, self.parts, strict=True)
        named = [f"{name}={part}" for name, part in pairs if part]
        return " ".join(named) or "global"


def _check_name(part: str, name: object) -> None:
    if name is None:
        return
    if not isinstance(name, str):
        raise InvalidScope(f"scope {part} must be text, not {type(name).__name__}")
    if not name or name != name.strip() or len(name) > MAX_NAME_CHARACTERS or not name.isprintable():
        raise InvalidScope(
            f"scope {part}={name[:40]!r} is not a usable name",
            hint=f"Use 1 to {MAX_NAME_CHARACTERS} printable characters without spaces at the ends.",
        )


GLOBAL = Scope()
