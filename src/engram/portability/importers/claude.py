"""
A Claude export: `conversations.json`, each conversation a list of messages.

Reads what both sides said. Attached files and what tools returned are no conversation and stay out; a file
can be imported by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engram.portability import fields
from engram.portability.objects import Object, conversations
from engram.portability.record import Broken, Message
from engram.values import Role

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from engram.portability.pieces import Piece
    from engram.portability.record import Record

_ROLES = {"human": Role.USER, "user": Role.USER, "assistant": Role.ASSISTANT}


def suits(value: Mapping[str, Any]) -> bool:
    """Say whether an object is a conversation of such an export."""
    return isinstance(value.get("chat_messages"), list)


def read(piece: Piece, _mapping: Mapping[str, str]) -> Iterator[Record]:
    """Return the messages of all conversations."""
    return conversations(piece, moment=_when, suits=suits, messages=_messages)


def _when(value: Mapping[str, Any]) -> datetime | None:
    """Return when a conversation began."""
    return fields.moment(value.get("created_at"))


def _messages(conversation: Object) -> Iterator[Message | Broken]:
    number = fields.name(conversation.value.get("uuid"))
    session = f"claude:{number or conversation.place}"
    begun = fields.moment(conversation.value.get("created_at"))
    for count, one in enumerate(conversation.value["chat_messages"], start=1):
        place, message = f"{conversation.place}, message {count}", fields.mapping(one)
        role = _ROLES.get(str(message.get("sender")))
        if role is None:
            yield Broken(place=place)
            continue
        content = spoken(message.get("content")) or fields.text(message.get("text"))
        if content is None:
            continue
        yield Message(
            content=content,
            place=place,
            role=role,
            key=f"{number}/{fields.name(message.get('uuid')) or count}",
            session=session,
            occurred_at=fields.moment(message.get("created_at")) or begun,
        )


def spoken(content: object) -> str | None:
    """Return the words of a message whose content is a text or a list of blocks."""
    if isinstance(content, str):
        return fields.text(content)
    blocks = [fields.mapping(block) for block in fields.sequence(content)]
    texts = [fields.text(block.get("text")) for block in blocks if block.get("type", "text") == "text"]
    return fields.text("\n".join(text for text in texts if text))
