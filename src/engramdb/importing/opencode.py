"""
A session of opencode, as `opencode export` writes it: one JSON file with a list of messages.

Reads what the person typed and what the agent answered. Tool runs, thoughts, what the program put into a
message itself, and its summaries of a long conversation stay out. Each message names its session and the
moment, so the rest of the file is not needed. The database that opencode keeps is its own and is not read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from engramdb.importing import record
from engramdb.importing.json_stream import Object, Piece, said_in
from engramdb.importing.record import Message, Record
from engramdb.values import Role

_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT}
_NOT_SAID = ("synthetic", "ignored")


def suits(value: Mapping[str, Any]) -> bool:
    """Say whether an object is a message of such an export."""
    about = record.mapping(value.get("info"))
    return isinstance(value.get("parts"), list) and "sessionID" in about and "role" in about


def read(piece: Piece, _mapping: Mapping[str, str]) -> Iterator[Record]:
    """Return the messages of a session."""
    return said_in(piece, _message)


def _message(one: Object) -> Message | None:
    """Return what a message says, if somebody said it."""
    about = record.mapping(one.value.get("info"))
    role, content = _ROLES.get(str(about.get("role"))), _said(one.value)
    if role is None or content is None or about.get("summary") is True:
        return None
    session = record.name(about.get("sessionID"))
    return Message(
        content=content,
        place=one.place,
        role=role,
        key=record.name(about.get("id")) or "",
        session=None if session is None else f"opencode:{session}",
        occurred_at=record.moment(record.mapping(about.get("time")).get("created")),
    )


def _said(value: Mapping[str, Any]) -> str | None:
    parts = [record.mapping(part) for part in record.sequence(value.get("parts"))]
    spoken = [part for part in parts if part.get("type") == "text" and not any(map(part.get, _NOT_SAID))]
    texts = [record.text(part.get("text")) for part in spoken]
    return record.text("\n".join(text for text in texts if text))
