"""
Sessions of coding agents: the logs of Claude Code and Codex, and exports of opencode.

What the person typed and what the agent answered is read. Tool runs, thoughts, the talk with helpers,
summaries and what the program put into the conversation stay out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from engramdb.importing.chat_exports import words_of_blocks
from engramdb.importing.json_stream import JsonObject, messages_in, objects
from engramdb.importing.source import BrokenRecord, Record, SourceFile, SourceMessage
from engramdb.text import fields
from engramdb.values import Role

_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT}

# Claude Code: one JSONL file for each session, a line for each message, also for what was typed while the
# agent was at work. A session that was resumed repeats its messages under the same ids, and is therefore read
# once.

_CLAUDE_CODE_KINDS = ("user", "assistant", "summary", "system", "file-history-snapshot", "queue-operation")
"""A tuple, not a set: what a file has in that place may be a list, which no set can be asked about."""
_CLAUDE_CODE_NOT_SAID = ("isMeta", "isSidechain", "isCompactSummary", "isApiErrorMessage")
_PERSON = "human"
_CLAUDE_CODE_PUT_IN = (
    "<command-",
    "<local-command-",
    "<system-reminder>",
    "<bash-",
    "Caveat: The messages below",
)
"""How messages begin that the program wrote in the person's name."""


def is_claude_code(value: Mapping[str, Any]) -> bool:
    """Return whether an object is a line of such a log."""
    is_message = "sessionId" in value and isinstance(value.get("message"), dict)
    is_summary = value.get("type") == "summary" and "leafUuid" in value
    return value.get("type") in _CLAUDE_CODE_KINDS and (is_message or is_summary)


def read_claude_code(file: SourceFile, _mapping: Mapping[str, str]) -> Iterator[Record]:
    """Return the messages of a session."""
    return messages_in(file, claude_code_message)


def claude_code_message(line: JsonObject) -> SourceMessage | None:
    """Return what a line says, if somebody said it."""
    value = line.value
    role = _ROLES.get(str(value.get("type"))) or (Role.USER if _is_typed_meanwhile(value) else None)
    if role is None or any(value.get(mark) for mark in _CLAUDE_CODE_NOT_SAID):
        return None
    held = fields.mapping(value.get("message")).get("content") or _attached(value).get("prompt")
    content = words_of_blocks(held)
    if content is None or content.lstrip().startswith(_CLAUDE_CODE_PUT_IN):
        return None
    session = fields.name(value.get("sessionId"))
    return SourceMessage(
        content=content,
        place=line.place,
        role=role,
        key=fields.name(value.get("uuid")) or "",
        session=None if session is None else f"claude-code:{session}",
        occurred_at=fields.moment(value.get("timestamp")),
    )


def _is_typed_meanwhile(value: Mapping[str, Any]) -> bool:
    """Return whether a person typed this at a working agent, which gets it beside the result of a tool."""
    attached = _attached(value)
    by = fields.mapping(attached.get("origin")).get("kind", _PERSON)
    is_prompt = attached.get("type") == "queued_command" and attached.get("commandMode") == "prompt"
    return is_prompt and by == _PERSON


def _attached(value: Mapping[str, Any]) -> Mapping[str, Any]:
    return fields.mapping(value.get("attachment"))


# Codex: one `rollout-….jsonl` for each session, a line for each thing that happened, in the form of today
# (`response_item` around a message) and in the older one (the message itself). Events repeat each message and
# stay out. Whose words a part of a message is, newer logs tell themselves; for older ones its beginning does.

_CODEX_TEXTS = ("input_text", "output_text", "text")
_CODEX_KINDS = ("session_meta", "response_item", "event_msg", "turn_context", "compacted")
"""A tuple, not a set: what a file has in that place may be a list, which no set can be asked about."""
_CODEX_PUT_IN = (
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


class _CodexSession(Struct, frozen=True, kw_only=True):
    """Which session a line belongs to."""

    name: str
    began: datetime | None = None
    is_of_helper: bool = False
    """Whether an agent speaks to a helper of its own there, in the place of a person."""


def is_codex(value: Mapping[str, Any]) -> bool:
    """Return whether an object is a line of such a log."""
    is_wrapped = value.get("type") in _CODEX_KINDS and isinstance(value.get("payload"), dict)
    is_first = {"id", "timestamp", "instructions"} <= value.keys()
    return is_wrapped or is_first


def read_codex(file: SourceFile, _mapping: Mapping[str, str]) -> Iterator[Record]:
    """Yield the messages of a session."""
    session = _CodexSession(name=file.name.rpartition("/")[2].removesuffix(".jsonl"))
    for one in objects(file):
        if isinstance(one, BrokenRecord):
            yield one
        elif (head := _codex_head(one.value)) is not None:
            session = _codex_session(head, session)
        elif not session.is_of_helper and (said := codex_message(one, session=session.name)) is not None:
            yield said if said.occurred_at else replace(said, occurred_at=session.began)


def codex_message(line: JsonObject, *, session: str) -> SourceMessage | None:
    """Return what a line says, if somebody said it."""
    value = line.value
    body = _codex_body(value)
    role, content = _ROLES.get(str(body.get("role"))), _codex_words(body)
    if role is None or content is None or value.get("type") == "event_msg":
        return None
    return SourceMessage(
        content=content,
        place=line.place,
        role=role,
        key=f"{session}/{fields.name(body.get('id')) or line.place.rpartition(' ')[2]}",
        session=f"codex:{session}",
        occurred_at=fields.moment(value.get("timestamp")),
    )


def _codex_body(value: Mapping[str, Any]) -> Mapping[str, Any]:
    return fields.mapping(value.get("payload")) or value


def _codex_head(value: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return what a line says about the session, if that is what it is for."""
    body = _codex_body(value)
    is_head = value.get("type") == "session_meta" or (is_codex(value) and body is value)
    return body if is_head else None


def _codex_session(head: Mapping[str, Any], before: _CodexSession) -> _CodexSession:
    return _CodexSession(
        name=fields.name(head.get("id")) or before.name,
        began=fields.moment(head.get("timestamp")),
        is_of_helper=head.get("thread_source") == "subagent"
        or "subagent" in fields.mapping(head.get("source")),
    )


def _codex_words(body: Mapping[str, Any]) -> str | None:
    """Return the words of a message without the parts that the program put in."""
    if body.get("type") != "message":
        return None
    kinds = fields.sequence(fields.mapping(body.get(_ABOUT_PARTS)).get("content_item_kinds"))
    parts = [fields.mapping(part) for part in fields.sequence(body.get("content"))]
    kinds += [_UNKNOWN] * (len(parts) - len(kinds))
    texts = [
        fields.text(part.get("text"))
        for part, kind in zip(parts, kinds, strict=False)
        if part.get("type") in _CODEX_TEXTS and not _is_put_in(kind, body.get("role"))
    ]
    return fields.text("\n".join(text for text in texts if text and not text.startswith(_CODEX_PUT_IN)))


def _is_put_in(kind: object, role: object) -> bool:
    """Return whether a log tells that a part of a person's message was not typed."""
    return role == "user" and isinstance(kind, str) and kind != _UNKNOWN and not kind.startswith(_TYPED)


# opencode: `opencode export` writes one JSON file with a list of messages. Each message names its session and
# the moment, so the rest of the file is not needed. The database that opencode keeps is its own and is not
# read.

_OPENCODE_NOT_SAID = ("synthetic", "ignored")


def is_opencode(value: Mapping[str, Any]) -> bool:
    """Return whether an object is a message of such an export."""
    about = fields.mapping(value.get("info"))
    return isinstance(value.get("parts"), list) and "sessionID" in about and "role" in about


def read_opencode(file: SourceFile, _mapping: Mapping[str, str]) -> Iterator[Record]:
    """Return the messages of a session."""
    return messages_in(file, _opencode_message)


def _opencode_message(one: JsonObject) -> SourceMessage | None:
    """Return what a message says, if somebody said it."""
    about = fields.mapping(one.value.get("info"))
    role, content = _ROLES.get(str(about.get("role"))), _opencode_words(one.value)
    if role is None or content is None or about.get("summary") is True:
        return None
    session = fields.name(about.get("sessionID"))
    return SourceMessage(
        content=content,
        place=one.place,
        role=role,
        key=fields.name(about.get("id")) or "",
        session=None if session is None else f"opencode:{session}",
        occurred_at=fields.moment(fields.mapping(about.get("time")).get("created")),
    )


def _opencode_words(value: Mapping[str, Any]) -> str | None:
    parts = [fields.mapping(part) for part in fields.sequence(value.get("parts"))]
    spoken = [
        part for part in parts if part.get("type") == "text" and not any(map(part.get, _OPENCODE_NOT_SAID))
    ]
    texts = [fields.text(part.get("text")) for part in spoken]
    return fields.text("\n".join(text for text in texts if text))
