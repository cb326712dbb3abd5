"""The prompt that asks for a summary of a conversation."""

from __future__ import annotations

import pytest

from engramdb.errors import ChatReplyInvalid
from engramdb.models.chat import CallLog
from engramdb.models.prompts.history import LONGEST_MESSAGE_CHARACTERS, MESSAGES_MOST, fill, summarize_history
from engramdb.testing import ScriptedChat

from .injections import ATTEMPTS


def test_messages_are_quoted_as_records() -> None:
    """No message can begin a line of its own, and a long conversation is bounded."""
    told = [("user", attempt) for attempt in ATTEMPTS] + [("assistant", "x" * 9_000)] * MESSAGES_MOST

    lines = fill(told).user.split("\n")

    assert len(lines) == MESSAGES_MOST + 2
    assert all(line.startswith('{"role"') for line in lines[1:-1])
    assert max(map(len, lines)) < LONGEST_MESSAGE_CHARACTERS + 60


def test_a_reply_is_one_paragraph() -> None:
    """Whatever its lines, without the thinking before it."""
    chat = ScriptedChat(["<think>hm</think>They built a client.\n\nIt has retries."])

    assert (
        summarize_history(chat, [("user", "hello")], log=CallLog()) == "They built a client. It has retries."
    )


def test_a_reply_without_words_is_none() -> None:
    """It is an error, counted as invalid, and the caller goes on without a model."""
    log = CallLog()

    with pytest.raises(ChatReplyInvalid):
        summarize_history(ScriptedChat(["…"]), [("user", "hello")], log=log)

    assert log.total().invalid == 1
