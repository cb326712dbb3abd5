"""
A chat model behind an OpenAI-shaped address: Ollama, LM Studio, llama.cpp, vLLM, or a service.

Opened by `chat_models`; calls `POST {url}/chat/completions` through `chat_http` and nothing else.
A schema is sent where there is one and left out for servers that refuse it, since prompts describe their form
in words too. Neither a prompt, a reply nor the key ever appears in an error, a repr or a log.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import msgspec

from engram.providers.chat import Reply
from engram.providers.chat_http import TIMEOUT_SECONDS, open_server

if TYPE_CHECKING:
    from engram.providers.chat import Prompt

OPTIONAL: Final = ("response_format", "temperature", "max_tokens")


@dataclass(frozen=True, slots=True)
class _Message:
    content: str | None = None
    refusal: str | None = None


@dataclass(frozen=True, slots=True)
class _Choice:
    message: _Message
    finish_reason: str | None = None


@dataclass(frozen=True, slots=True)
class _Tokens:
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class _Completion:
    choices: list[_Choice]
    usage: _Tokens | None = None


# Made once, at import: threads that meet a type together for the first time can crash msgspec.
_read_completion = msgspec.json.Decoder(_Completion).decode


class OpenAIChat:
    """Prompts in, replies out, from a server. Safe to share between threads."""

    def __init__(
        self, url: str, model: str, api_key: str | None = None, *, timeout_seconds: float = TIMEOUT_SECONDS
    ) -> None:
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._server = open_server(
            url, model, OPTIONAL, key=api_key, headers=headers, timeout_seconds=timeout_seconds
        )

    def __repr__(self) -> str:
        return f"OpenAIChat({self._server.url!r}, {self._server.model!r})"

    @property
    def name(self) -> str:
        """The model's name, with the interface that it is asked through."""
        return f"openai:{self._server.model}"

    def complete(self, prompt: Prompt) -> Reply:
        """Return the reply; a refusal is a reply like any other, and its text the model's excuse."""
        begin = time.perf_counter()
        sent = self._server.send("chat/completions", lambda refused: self._request(prompt, refused))
        completion = self._decode(sent)
        first = completion.choices[0]
        tokens = completion.usage or _Tokens()
        return Reply(
            text=first.message.content or first.message.refusal or "",
            input_tokens=tokens.prompt_tokens or 0,
            output_tokens=tokens.completion_tokens or 0,
            milliseconds=(time.perf_counter() - begin) * 1000,
            is_cut_off=first.finish_reason == "length",
        )

    def _request(self, prompt: Prompt, refused: frozenset[str]) -> dict[str, Any]:
        content: dict[str, Any] = {
            "model": self._server.model,
            "messages": [
                {"role": "system", "content": prompt.system},
                {"role": "user", "content": prompt.user},
            ],
        }
        if "temperature" not in refused:
            content["temperature"] = prompt.temperature
        # Reasoning models of the service know the limit by another name; most local servers only by this one.
        content["max_completion_tokens" if "max_tokens" in refused else "max_tokens"] = prompt.max_tokens
        if prompt.schema is not None and "response_format" not in refused:
            form = {"name": prompt.name, "strict": True, "schema": prompt.schema}
            content["response_format"] = {"type": "json_schema", "json_schema": form}
        return content

    def _decode(self, sent: bytes) -> _Completion:
        try:
            completion = _read_completion(sent)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as exc:
            raise self._server.unavailable("sent something that is not a completion") from exc
        if not completion.choices:
            raise self._server.unavailable("sent a completion without a choice")
        return completion
