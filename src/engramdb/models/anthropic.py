"""Anthropic chat models."""

from __future__ import annotations

import json
import time
from typing import Any, Final

import msgspec
from msgspec import Struct, field

from engramdb.models.chat import ChatPrompt, ChatReply
from engramdb.models.http import CHAT_TIMEOUT_SECONDS, open_server

INTERFACE_VERSION: Final = "2023-06-01"
SERVICE_URL: Final = "https://api.anthropic.com/v1"
OPTIONAL: Final = ("tools", "temperature")


class _Block(Struct, frozen=True):
    type: str
    text: str | None = None
    input: dict[str, Any] | None = None


class _AnthropicTokens(Struct, frozen=True):
    input_tokens: int | None = None
    output_tokens: int | None = None


class _AnthropicMessage(Struct, frozen=True):
    content: list[_Block]
    stop_reason: str | None = None
    usage: _AnthropicTokens = field(default_factory=_AnthropicTokens)


# Made once, at import: threads that meet a type together for the first time can crash msgspec.
_read_message = msgspec.json.Decoder(_AnthropicMessage).decode


class AnthropicChat:
    """Prompts in, replies out, from a server. Safe to share between threads."""

    def __init__(
        self,
        model: str,
        api_key: str | None = None,
        *,
        url: str = SERVICE_URL,
        timeout_seconds: float = CHAT_TIMEOUT_SECONDS,
    ) -> None:
        headers = {"anthropic-version": INTERFACE_VERSION}
        if api_key:
            headers["x-api-key"] = api_key
        self._server = open_server(
            url, model, OPTIONAL, key=api_key, headers=headers, timeout_seconds=timeout_seconds
        )

    def __repr__(self) -> str:
        return f"AnthropicChat({self._server.model!r}, url={self._server.url!r})"

    @property
    def name(self) -> str:
        """The model's name, with the interface that it is asked through."""
        return f"anthropic:{self._server.model}"

    def complete(self, prompt: ChatPrompt) -> ChatReply:
        """Return the reply; the input of the tool is given back as the JSON that it is."""
        begin = time.perf_counter()
        sent = self._server.send("messages", lambda refused: self._request(prompt, refused))
        message = self._decode(sent)
        return ChatReply(
            text=_text_of(message.content),
            input_tokens=message.usage.input_tokens or 0,
            output_tokens=message.usage.output_tokens or 0,
            milliseconds=(time.perf_counter() - begin) * 1000,
            is_cut_off=message.stop_reason == "max_tokens",
        )

    def _request(self, prompt: ChatPrompt, refused: frozenset[str]) -> dict[str, Any]:
        content: dict[str, Any] = {
            "model": self._server.model,
            "max_tokens": prompt.max_tokens,
            "system": prompt.system,
            "messages": [{"role": "user", "content": prompt.user}],
        }
        if "temperature" not in refused:
            content["temperature"] = prompt.temperature
        if prompt.schema is not None and "tools" not in refused:
            form = {"name": prompt.name, "description": "Give the reply.", "input_schema": prompt.schema}
            content["tools"] = [form]
            content["tool_choice"] = {"type": "tool", "name": prompt.name}
        return content

    def _decode(self, sent: bytes) -> _AnthropicMessage:
        try:
            return _read_message(sent)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as exc:
            raise self._server.unavailable("sent something that is not a message") from exc


def _text_of(blocks: list[_Block]) -> str:
    used = [block.input for block in blocks if block.type == "tool_use" and block.input is not None]
    if used:
        return json.dumps(used[0], ensure_ascii=False)
    return "".join(block.text or "" for block in blocks if block.type == "text")
