"""
Session logs of Codex: one `rollout-….jsonl` for each session, a line for each thing that happened.

Reads what the person typed and what the agent answered, in the form of today (`response_item` around a
message) and in the older one (the message itself). Tool calls, reasoning and what the program put into the
conversation stay out, and so do the events that repeat each message.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engram.portability import fields
from engram.portability.objects import objects
from engram.portability.record import Broken, Message
from engram.values import Role

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from engram.portability.pieces import Piece
    from engram.portability.record import Record

_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT}
_TEXTS = frozenset({"input_text", "output_text", "text"})
_KINDS = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})
_PUT_IN = ("<environment_context>", "<user_instructions>", "# AGENTS.md instructions", "<turn_aborted>")
"""How messages begin that the program wrote in the person's name."""


def suits(value: Mapping[str, Any]) -> bool:
    """Say whether an object is a line of such a log."""
    is_wrapped = value.get("type") in _KINDS and isinstance(value.get("payload"), dict)
    is_first = {"id", "timestamp", "instructions"} <= value.keys()
    return is_wrapped or is_first


def read(piece: Piece, _mapping: Mapping[str, str]) -> Iterator[Record]:
    """Yield the messages of a session."""
    session, began = piece.name.rpartition("/")[2].removesuffix(".jsonl"), None
    for one in objects(piece):
        if isinstance(one, Broken):
            yield one
            continue
        body = fields.mapping(one.value.get("payload")) or one.value
        if one.value.get("type") == "session_meta" or (suits(one.value) and body is one.value):
            session = fields.name(body.get("id")) or session
            began = fields.moment(body.get("timestamp"))
            continue
        role, content = _ROLES.get(str(body.get("role"))), _said(body)
        if role is None or content is None or one.value.get("type") == "event_msg":
            continue
        yield Message(
            content=content,
            place=one.place,
            role=role,
            key=f"{session}/{one.place.rpartition(' ')[2]}",
            session=f"codex:{session}",
            occurred_at=fields.moment(one.value.get("timestamp")) or began,
        )


def _said(body: Mapping[str, Any]) -> str | None:
    if body.get("type") != "message":
        return None
    blocks = [fields.mapping(block) for block in fields.sequence(body.get("content"))]
    texts = [fields.text(block.get("text")) for block in blocks if block.get("type") in _TEXTS]
    return fields.text("\n".join(text for text in texts if text and not text.startswith(_PUT_IN)))
