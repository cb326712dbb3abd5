"""
A ChatGPT export: `conversations.json`, each conversation a tree of messages.

Reads the branch that the user last saw, from the present node up to the root; answers that were generated
anew and prompts that were edited away stay out. Messages of tools, hidden ones and the model's thoughts are
no conversation either.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from engramdb.importing import record
from engramdb.importing.json_stream import Object, Piece, conversations
from engramdb.importing.record import Message, Record
from engramdb.values import Role

_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT}
_SPOKEN = ("text", "multimodal_text")
"""A tuple, not a set: what a file has in that place may be a list, which no set can be asked about."""
_TO_EVERYBODY = (None, "all")


def suits(value: Mapping[str, Any]) -> bool:
    """Say whether an object is a conversation of such an export."""
    return isinstance(value.get("mapping"), dict)


def read(piece: Piece, _mapping: Mapping[str, str]) -> Iterator[Record]:
    """Return the messages of all conversations."""
    return conversations(piece, moment=_when, suits=suits, messages=_messages)


def _when(value: Mapping[str, Any]) -> datetime | None:
    """Return when a conversation began."""
    return record.moment(value.get("create_time"))


def _messages(conversation: Object) -> Iterator[Message]:
    value = conversation.value
    number = record.name(value.get("conversation_id")) or record.name(value.get("id"))
    session = f"chatgpt:{number or conversation.place}"
    begun = record.moment(value.get("create_time"))
    for count, (node, message) in enumerate(_branch(value), start=1):
        role = _ROLES.get(str(record.mapping(message.get("author")).get("role")))
        content = _spoken(message)
        if role is None or content is None:
            continue
        yield Message(
            content=content,
            place=f"{conversation.place}, message {count}",
            role=role,
            key=f"{number}/{record.name(message.get('id')) or node}",
            session=session,
            occurred_at=record.moment(message.get("create_time")) or begun,
        )


def _branch(value: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the messages from the root to the present node, with the names of their nodes."""
    nodes = record.mapping(value.get("mapping"))
    node = value.get("current_node")
    if not isinstance(node, str) or node not in nodes:
        node = _latest(nodes)
    found, seen = [], set()
    while isinstance(node, str) and node in nodes and node not in seen:
        seen.add(node)
        inner = record.mapping(nodes[node])
        found.append((node, record.mapping(inner.get("message"))))
        node = inner.get("parent")
    return [(node, message) for node, message in reversed(found) if message]


def _latest(nodes: Mapping[str, Any]) -> str | None:
    """Return the node whose message is the latest: where the conversation ended."""

    def said(node: str) -> float:
        message = record.mapping(record.mapping(nodes[node]).get("message"))
        moment = record.moment(message.get("create_time"))
        return 0.0 if moment is None else moment.timestamp()

    return max(nodes, key=said, default=None)


def _spoken(message: Mapping[str, Any]) -> str | None:
    """Return what was said to the other side, in words; a picture has none."""
    content, about = record.mapping(message.get("content")), record.mapping(message.get("metadata"))
    is_hidden = about.get("is_visually_hidden_from_conversation") is True
    if is_hidden or content.get("content_type", "text") not in _SPOKEN:
        return None
    if message.get("recipient") not in _TO_EVERYBODY:
        return None
    parts = [
        part if isinstance(part, str) else record.text(record.mapping(part).get("text"))
        for part in record.sequence(content.get("parts"))
    ]
    return record.text("\n".join(part for part in parts if part))
