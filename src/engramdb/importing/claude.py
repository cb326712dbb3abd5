"""
A Claude export: `conversations.json`, each conversation a list of messages.

Reads what both sides said. Attached files and what tools returned are no conversation and stay out; a file
can be imported by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from engramdb.importing import record
from engramdb.importing.json_stream import Object, Piece, conversations
from engramdb.importing.record import Broken, Message, Record
from engramdb.values import Role

_ROLES = {"human": Role.USER, "user": Role.USER, "assistant": Role.ASSISTANT}


def suits(value: Mapping[str, Any]) -> bool:
    """Say whether an object is a conversation of such an export."""
    return isinstance(value.get("chat_messages"), list)


def read(piece: Piece, _mapping: Mapping[str, str]) -> Iterator[Record]:
    """Return the messages of all conversations."""
    return conversations(piece, moment=_when, suits=suits, messages=_messages)


def _when(value: Mapping[str, Any]) -> datetime | None:
    """Return when a conversation began."""
    return record.moment(value.get("created_at"))


def _messages(conversation: Object) -> Iterator[Message | Broken]:
    number = record.name(conversation.value.get("uuid"))
    session = f"claude:{number or conversation.place}"
    begun = record.moment(conversation.value.get("created_at"))
    for count, one in enumerate(conversation.value["chat_messages"], start=1):
        place, message = f"{conversation.place}, message {count}", record.mapping(one)
        role = _ROLES.get(str(message.get("sender")))
        if role is None:
            yield Broken(place=place)
            continue
        content = spoken(message.get("content")) or record.text(message.get("text"))
        if content is None:
            continue
        yield Message(
            content=content,
            place=place,
            role=role,
            key=f"{number}/{record.name(message.get('uuid')) or count}",
            session=session,
            occurred_at=record.moment(message.get("created_at")) or begun,
        )


def spoken(content: object) -> str | None:
    """Return the words of a message whose content is a text or a list of blocks."""
    if isinstance(content, str):
        return record.text(content)
    blocks = [record.mapping(block) for block in record.sequence(content)]
    texts = [record.text(block.get("text")) for block in blocks if block.get("type", "text") == "text"]
    return record.text("\n".join(text for text in texts if text))
