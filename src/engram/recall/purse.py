"""
A chat model with a budget: so many calls and tokens, and not one more.

Made by the engine for one `reason` and handed to it in place of the model; calls the model inside. A call is
made only when the most that it can cost still fits; then what it did cost is counted. A text of n bytes never
has more than n/2 tokens in the vocabularies in use (English has n/4.4), so a prompt is never dearer than its
reservation.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from engram.errors import ChatError
from engram.values import ModelCall

if TYPE_CHECKING:
    from engram.providers.chat import ChatModel, Prompt, Reply

LEAST_REPLY_TOKENS = 64
"""A reply that may be no longer than less is not worth asking for."""
FRAME_TOKENS = 32
"""What a server puts around a prompt: roles and separators."""


class BudgetSpent(Exception):
    """A call would not fit into what is left; the message says of what."""


class Purse:
    """A chat model that makes no call which its budget might not cover."""

    def __init__(self, model: ChatModel, *, calls: int, tokens: int) -> None:
        self._model = model
        self._waiting: list[ModelCall] = []
        self.most_calls = calls
        self.most_tokens = tokens
        self.calls_left = calls
        self.tokens_left = tokens

    @property
    def name(self) -> str:
        """The name of the model inside."""
        return self._model.name

    def room(self, prompt: Prompt) -> int:
        """Return how many bytes could be added to a prompt that leaves its reply the tokens that it wants."""
        return 2 * (self.tokens_left - _most_tokens(prompt) - prompt.max_tokens)

    def complete(self, prompt: Prompt) -> Reply:
        """Return the model's reply, cut to what is left; raises `BudgetSpent` before the model is asked."""
        if self.calls_left < 1:
            raise BudgetSpent("calls")
        reserved = _most_tokens(prompt)
        most = min(prompt.max_tokens, self.tokens_left - reserved)
        if most < min(LEAST_REPLY_TOKENS, prompt.max_tokens):
            raise BudgetSpent("tokens")
        self.calls_left -= 1
        try:
            reply = self._model.complete(replace(prompt, max_tokens=most))
        except ChatError as exc:
            self.tokens_left -= reserved
            self._note(prompt, ModelCall(purpose="", model="", input_tokens=reserved, failure=exc.code))
            raise
        self._note(
            prompt,
            ModelCall(
                purpose="",
                model="",
                input_tokens=reply.input_tokens or reserved,
                output_tokens=reply.output_tokens or min(most, len(reply.text.encode()) // 2 + 1),
                milliseconds=reply.milliseconds,
            ),
        )
        last = self._waiting[-1]
        self.tokens_left -= last.input_tokens + last.output_tokens
        return reply

    def take_calls(self) -> tuple[ModelCall, ...]:
        """Return the calls since the last time, for the step of the tree that they belong to."""
        taken, self._waiting = tuple(self._waiting), []
        return taken

    def _note(self, prompt: Prompt, call: ModelCall) -> None:
        self._waiting.append(replace(call, purpose=prompt.name, model=self.name))


def _most_tokens(prompt: Prompt) -> int:
    return len((prompt.system + prompt.user).encode("utf-8", "replace")) // 2 + 1 + FRAME_TOKENS
