"""
Exports of chat programs: `conversations.json` of ChatGPT and of Claude.

What both sides said is read. Attached files, tools, hidden messages and the model's thoughts are no
conversation and stay out; a file can be imported by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from engramdb.importing.json_stream import JsonObject, conversations
from engramdb.importing.source import BrokenRecord, Record, SourceFile, SourceMessage
from engramdb.text import fields
from engramdb.values import Role

# ChatGPT: each conversation is a tree of messages. The branch that the user last saw is read, from the
# present node up to the root; answers that were generated again and prompts that were edited away stay out.

_CHATGPT_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT}
_CHATGPT_SPOKEN = ("text", "multimodal_text")
"""A tuple, not a set: what a file has in that place may be a list, which no set can be asked about."""
_TO_EVERYBODY = (None, "all")


def is_chatgpt(value: Mapping[str, Any]) -> bool:
    """Return whether an object is a conversation of such an export."""
    return isinstance(value.get("mapping"), dict)


def read_chatgpt(file: SourceFile, _mapping: Mapping[str, str]) -> Iterator[Record]:
    """Return the messages of all conversations."""
    return conversations(file, moment=_chatgpt_moment, suits=is_chatgpt, messages=_chatgpt_messages)


def _chatgpt_moment(value: Mapping[str, Any]) -> datetime | None:
    """Return when a conversation began."""
    return fields.moment(value.get("create_time"))


def _chatgpt_messages(conversation: JsonObject) -> Iterator[SourceMessage]:
    value = conversation.value
    number = fields.name(value.get("conversation_id")) or fields.name(value.get("id"))
    session = f"chatgpt:{number or conversation.place}"
    begun = fields.moment(value.get("create_time"))
    for count, (node, message) in enumerate(_current_branch(value), start=1):
        role = _CHATGPT_ROLES.get(str(fields.mapping(message.get("author")).get("role")))
        content = _chatgpt_words(message)
        if role is None or content is None:
            continue
        yield SourceMessage(
            content=content,
            place=f"{conversation.place}, message {count}",
            role=role,
            key=f"{number}/{fields.name(message.get('id')) or node}",
            session=session,
            occurred_at=fields.moment(message.get("create_time")) or begun,
        )


def _current_branch(value: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the messages from the root to the present node, with the names of their nodes."""
    nodes = fields.mapping(value.get("mapping"))
    node = value.get("current_node")
    if not isinstance(node, str) or node not in nodes:
        node = _latest_node(nodes)
    found, seen = [], set()
    while isinstance(node, str) and node in nodes and node not in seen:
        seen.add(node)
        inner = fields.mapping(nodes[node])
        found.append((node, fields.mapping(inner.get("message"))))
        node = inner.get("parent")
    return [(node, message) for node, message in reversed(found) if message]


def _latest_node(nodes: Mapping[str, Any]) -> str | None:
    """Return the node whose message is the latest: where the conversation ended."""

    def said(node: str) -> float:
        message = fields.mapping(fields.mapping(nodes[node]).get("message"))
        moment = fields.moment(message.get("create_time"))
        return 0.0 if moment is None else moment.timestamp()

    return max(nodes, key=said, default=None)


def _chatgpt_words(message: Mapping[str, Any]) -> str | None:
    """Return what was said to the other side, in words; a picture has none."""
    content, about = fields.mapping(message.get("content")), fields.mapping(message.get("metadata"))
    is_hidden = about.get("is_visually_hidden_from_conversation") is True
    if is_hidden or content.get("content_type", "text") not in _CHATGPT_SPOKEN:
        return None
    if message.get("recipient") not in _TO_EVERYBODY:
        return None
    parts = [
        part if isinstance(part, str) else fields.text(fields.mapping(part).get("text"))
        for part in fields.sequence(content.get("parts"))
    ]
    return fields.text("\n".join(part for part in parts if part))


# Claude: each conversation is a list of messages.

_CLAUDE_ROLES = {"human": Role.USER, "user": Role.USER, "assistant": Role.ASSISTANT}


def is_claude(value: Mapping[str, Any]) -> bool:
    """Return whether an object is a conversation of such an export."""
    return isinstance(value.get("chat_messages"), list)


def read_claude(file: SourceFile, _mapping: Mapping[str, str]) -> Iterator[Record]:
    """Return the messages of all conversations."""
    return conversations(file, moment=_claude_moment, suits=is_claude, messages=_claude_messages)


def _claude_moment(value: Mapping[str, Any]) -> datetime | None:
    """Return when a conversation began."""
    return fields.moment(value.get("created_at"))


def _claude_messages(conversation: JsonObject) -> Iterator[SourceMessage | BrokenRecord]:
    number = fields.name(conversation.value.get("uuid"))
    session = f"claude:{number or conversation.place}"
    begun = fields.moment(conversation.value.get("created_at"))
    for count, one in enumerate(conversation.value["chat_messages"], start=1):
        place, message = f"{conversation.place}, message {count}", fields.mapping(one)
        role = _CLAUDE_ROLES.get(str(message.get("sender")))
        if role is None:
            yield BrokenRecord(place=place)
            continue
        content = words_of_blocks(message.get("content")) or fields.text(message.get("text"))
        if content is None:
            continue
        yield SourceMessage(
            content=content,
            place=place,
            role=role,
            key=f"{number}/{fields.name(message.get('uuid')) or count}",
            session=session,
            occurred_at=fields.moment(message.get("created_at")) or begun,
        )


def words_of_blocks(content: object) -> str | None:
    """Return the words of a message whose content is a text or a list of blocks."""
    if isinstance(content, str):
        return fields.text(content)
    blocks = [fields.mapping(block) for block in fields.sequence(content)]
    texts = [fields.text(block.get("text")) for block in blocks if block.get("type", "text") == "text"]
    return fields.text("\n".join(text for text in texts if text))
