"""
A session of opencode, as `opencode export` writes it: one JSON file with a list of messages.

Reads what the person typed and what the agent answered. Tool runs, thoughts, what the program put into a
message itself, and its summaries of a long conversation stay out. Each message names its session and the
moment, so the rest of the file is not needed. The database that opencode keeps is its own and is not read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engram.portability import fields
from engram.portability.objects import said_in
from engram.portability.record import Message
from engram.values import Role

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from engram.portability.objects import Object
    from engram.portability.pieces import Piece
    from engram.portability.record import Record

_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT}
_NOT_SAID = ("synthetic", "ignored")


def suits(value: Mapping[str, Any]) -> bool:
    """Say whether an object is a message of such an export."""
    about = fields.mapping(value.get("info"))
    return isinstance(value.get("parts"), list) and "sessionID" in about and "role" in about


def read(piece: Piece, _mapping: Mapping[str, str]) -> Iterator[Record]:
    """Return the messages of a session."""
    return said_in(piece, _message)


def _message(one: Object) -> Message | None:
    """Return what a message says, if somebody said it."""
    about = fields.mapping(one.value.get("info"))
    role, content = _ROLES.get(str(about.get("role"))), _said(one.value)
    if role is None or content is None or about.get("summary") is True:
        return None
    session = fields.name(about.get("sessionID"))
    return Message(
        content=content,
        place=one.place,
        role=role,
        key=fields.name(about.get("id")) or "",
        session=None if session is None else f"opencode:{session}",
        occurred_at=fields.moment(fields.mapping(about.get("time")).get("created")),
    )


def _said(value: Mapping[str, Any]) -> str | None:
    parts = [fields.mapping(part) for part in fields.sequence(value.get("parts"))]
    spoken = [part for part in parts if part.get("type") == "text" and not any(map(part.get, _NOT_SAID))]
    texts = [fields.text(part.get("text")) for part in spoken]
    return fields.text("\n".join(text for text in texts if text))
