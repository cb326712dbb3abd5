"""
Session logs of Claude Code: one JSONL file for each session, a line for each message.

Reads what the person typed, also while the agent was at work, and what the agent answered. Tool calls and
their results, thoughts, the talk of sub-agents, summaries and what the program itself put into the
conversation stay out. A session that was resumed repeats its messages under the same ids, and is therefore
read once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from engramdb.importing import record
from engramdb.importing.claude import spoken
from engramdb.importing.json_stream import Object, Piece, said_in
from engramdb.importing.record import Message, Record
from engramdb.values import Role

_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT}
_KINDS = ("user", "assistant", "summary", "system", "file-history-snapshot", "queue-operation")
"""A tuple, not a set: what a file has in that place may be a list, which no set can be asked about."""
_NOT_SAID = ("isMeta", "isSidechain", "isCompactSummary", "isApiErrorMessage")
_PERSON = "human"
_PUT_IN = ("<command-", "<local-command-", "<system-reminder>", "<bash-", "Caveat: The messages below")
"""How messages begin that the program wrote in the person's name."""


def suits(value: Mapping[str, Any]) -> bool:
    """Say whether an object is a line of such a log."""
    is_message = "sessionId" in value and isinstance(value.get("message"), dict)
    is_summary = value.get("type") == "summary" and "leafUuid" in value
    return value.get("type") in _KINDS and (is_message or is_summary)


def read(piece: Piece, _mapping: Mapping[str, str]) -> Iterator[Record]:
    """Return the messages of a session."""
    return said_in(piece, message)


def message(line: Object) -> Message | None:
    """Return what a line says, if somebody said it."""
    value = line.value
    role = _ROLES.get(str(value.get("type"))) or (Role.USER if _is_typed_meanwhile(value) else None)
    if role is None or any(value.get(mark) for mark in _NOT_SAID):
        return None
    held = record.mapping(value.get("message")).get("content") or _attached(value).get("prompt")
    content = spoken(held)
    if content is None or content.lstrip().startswith(_PUT_IN):
        return None
    session = record.name(value.get("sessionId"))
    return Message(
        content=content,
        place=line.place,
        role=role,
        key=record.name(value.get("uuid")) or "",
        session=None if session is None else f"claude-code:{session}",
        occurred_at=record.moment(value.get("timestamp")),
    )


def _is_typed_meanwhile(value: Mapping[str, Any]) -> bool:
    """Say whether a person typed this at a working agent, which gets it beside the result of a tool."""
    attached = _attached(value)
    by = record.mapping(attached.get("origin")).get("kind", _PERSON)
    is_prompt = attached.get("type") == "queued_command" and attached.get("commandMode") == "prompt"
    return is_prompt and by == _PERSON


def _attached(value: Mapping[str, Any]) -> Mapping[str, Any]:
    return record.mapping(value.get("attachment"))
