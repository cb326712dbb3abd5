"""
Session logs of Codex: one `rollout-….jsonl` for each session, a line for each thing that happened.

Reads what the person typed and what the agent answered, in the form of today (`response_item` around a
message) and in the older one (the message itself). Tool calls, reasoning, the talk with helpers and what the
program put into the conversation stay out, and so do the events that repeat each message. Whose words a part
of a message is, newer logs tell themselves; for older ones the beginning of the part does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from engramdb.importing import record
from engramdb.importing.json_stream import Object, Piece, objects
from engramdb.importing.record import Broken, Message, Record
from engramdb.values import Role

_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT}
_TEXTS = ("input_text", "output_text", "text")
_KINDS = ("session_meta", "response_item", "event_msg", "turn_context", "compacted")
"""A tuple, not a set: what a file has in that place may be a list, which no set can be asked about."""
_PUT_IN = (
    "<environment_context>",
    "<user_instructions>",
    "# AGENTS.md instructions",
    "<turn_aborted>",
    "<user_shell_command>",
    "<subagent_notification>",
    "<recommended_plugins>",
    "<skill>",
)
"""How parts begin that the program wrote in the person's name."""
_ABOUT_PARTS = "internal_chat_message_metadata_passthrough"
_UNKNOWN, _TYPED = "unknown", "user."


class _Session(Struct, frozen=True, kw_only=True):
    """Which session a line belongs to."""

    name: str
    began: datetime | None = None
    is_of_helper: bool = False
    """Whether an agent speaks to a helper of its own there, in the place of a person."""


def suits(value: Mapping[str, Any]) -> bool:
    """Say whether an object is a line of such a log."""
    is_wrapped = value.get("type") in _KINDS and isinstance(value.get("payload"), dict)
    is_first = {"id", "timestamp", "instructions"} <= value.keys()
    return is_wrapped or is_first


def read(piece: Piece, _mapping: Mapping[str, str]) -> Iterator[Record]:
    """Yield the messages of a session."""
    session = _Session(name=piece.name.rpartition("/")[2].removesuffix(".jsonl"))
    for one in objects(piece):
        if isinstance(one, Broken):
            yield one
        elif (head := _head(one.value)) is not None:
            session = _session(head, session)
        elif not session.is_of_helper and (said := message(one, session=session.name)) is not None:
            yield said if said.occurred_at else replace(said, occurred_at=session.began)


def message(line: Object, *, session: str) -> Message | None:
    """Return what a line says, if somebody said it."""
    value = line.value
    body = _body(value)
    role, content = _ROLES.get(str(body.get("role"))), _said(body)
    if role is None or content is None or value.get("type") == "event_msg":
        return None
    return Message(
        content=content,
        place=line.place,
        role=role,
        key=f"{session}/{record.name(body.get('id')) or line.place.rpartition(' ')[2]}",
        session=f"codex:{session}",
        occurred_at=record.moment(value.get("timestamp")),
    )


def _body(value: Mapping[str, Any]) -> Mapping[str, Any]:
    return record.mapping(value.get("payload")) or value


def _head(value: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return what a line says about the session, if that is what it is for."""
    body = _body(value)
    is_head = value.get("type") == "session_meta" or (suits(value) and body is value)
    return body if is_head else None


def _session(head: Mapping[str, Any], before: _Session) -> _Session:
    return _Session(
        name=record.name(head.get("id")) or before.name,
        began=record.moment(head.get("timestamp")),
        is_of_helper=head.get("thread_source") == "subagent"
        or "subagent" in record.mapping(head.get("source")),
    )


def _said(body: Mapping[str, Any]) -> str | None:
    """Return the words of a message without the parts that the program put in."""
    if body.get("type") != "message":
        return None
    kinds = record.sequence(record.mapping(body.get(_ABOUT_PARTS)).get("content_item_kinds"))
    parts = [record.mapping(part) for part in record.sequence(body.get("content"))]
    kinds += [_UNKNOWN] * (len(parts) - len(kinds))
    texts = [
        record.text(part.get("text"))
        for part, kind in zip(parts, kinds, strict=False)
        if part.get("type") in _TEXTS and not _is_put_in(kind, body.get("role"))
    ]
    return record.text("\n".join(text for text in texts if text and not text.startswith(_PUT_IN)))


def _is_put_in(kind: object, role: object) -> bool:
    """Say whether a log tells that a part of a person's message was not typed."""
    return role == "user" and isinstance(kind, str) and kind != _UNKNOWN and not kind.startswith(_TYPED)
