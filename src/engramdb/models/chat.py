"""
Chat models: what one is, how one is asked for a typed value, and what the calls have cost.

A reply is parsed once into a value. One that cannot be is asked for again with the reason, then it is an
error with the reply attached, not in its message, because it may quote memories. Every call is counted.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any, Generic, Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from engramdb.errors import ChatError, ChatReplyInvalid, ChatUnavailable
from engramdb.health import CHAT, Health
from engramdb.models.guard import ForeignGuard, Unusable


class Usage(Struct, frozen=True, kw_only=True):
    """What the calls for one purpose, or for all, have cost and how they ended."""

    calls: int = 0
    failures: int = 0
    """Calls that brought no reply."""
    invalid: int = 0
    """Replies that could not be read."""
    dropped: int = 0
    """Parts of readable replies that were left out: malformed, or said by nobody."""
    input_tokens: int = 0
    output_tokens: int = 0
    milliseconds: float = 0.0
    last_error: str | None = None

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            calls=self.calls + other.calls,
            failures=self.failures + other.failures,
            invalid=self.invalid + other.invalid,
            dropped=self.dropped + other.dropped,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            milliseconds=self.milliseconds + other.milliseconds,
            last_error=other.last_error or self.last_error,
        )


class CallLog:
    """Counts the calls of all threads by purpose; `status` shows it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._purposes: dict[str, Usage] = defaultdict(Usage)
        self._last_error: str | None = None

    def note(self, purpose: str, happened: Usage) -> None:
        """Add what happened to what is known of the purpose."""
        with self._lock:
            self._purposes[purpose] += happened
            self._last_error = happened.last_error or self._last_error

    def by_purpose(self) -> dict[str, Usage]:
        """Return the counts of every purpose that has been asked for."""
        with self._lock:
            return dict(self._purposes)

    def total(self) -> Usage:
        """Return the counts of all purposes together, with the error that came last of all."""
        with self._lock:
            return replace(sum(self._purposes.values(), Usage()), last_error=self._last_error)


T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

ATTEMPTS = 2
"""The first reply, and one more that was told what was wrong; then the caller goes on without a model."""

ASK_AGAIN = "Your last reply could not be used: {reason}. Reply again, only in the form that was asked for."


class ChatPrompt(Struct, frozen=True, kw_only=True):
    """What is sent; `schema` helps servers that can hold a model to a form, the text must do without."""

    system: str
    user: str
    name: str = "reply"
    """What the form is called, where a server wants a name for it."""
    schema: Mapping[str, Any] | None = None
    max_tokens: int = 1024
    temperature: float = 0.0


class ChatReply(Struct, frozen=True, kw_only=True):
    """What came back, and what it cost; a server that does not count tokens leaves them at 0."""

    text: str
    input_tokens: int = 0
    output_tokens: int = 0
    milliseconds: float = 0.0
    is_cut_off: bool = False
    """Whether the model ran out of tokens before it had finished."""


class ChatModel(Protocol):
    """
    A prompt in, a reply out.

    Raises `ChatUnavailable` when it cannot answer now; what it answers is the caller's to judge.
    """

    @property
    def name(self) -> str:
        """What history and `status` call it, such as `openai:llama3.2`."""
        ...

    def complete(self, prompt: ChatPrompt) -> ChatReply:
        """Return the reply."""
        ...


class GuardedChat:
    """
    A chat model behind the guard.

    Our own clients keep to their deadline by themselves; any other model is held to `timeout_seconds`.
    """

    def __init__(
        self, model: ChatModel, guard: ForeignGuard, *, timeout_seconds: float | None = None
    ) -> None:
        self._model = model
        self._guard = guard
        self._timeout_seconds = timeout_seconds
        self.name = model.name

    def complete(self, prompt: ChatPrompt) -> ChatReply:
        """Return the reply; raises `ChatUnavailable`, at once while the model is left alone."""
        return self._guard.call(
            CHAT,
            lambda: self._model.complete(prompt),
            failure=ChatUnavailable,
            check=_checked_reply,
            timeout_seconds=self._timeout_seconds,
            texts=(prompt.system, prompt.user),
        )


def _checked_reply(reply: ChatReply) -> ChatReply:
    if not isinstance(reply, ChatReply) or not isinstance(reply.text, str):
        raise Unusable("returned no text")
    return reply


def note_invalid_reply(health: Health, error: ChatError) -> None:
    """Note a reply that could not be used; that a model could not be asked is noted where it is asked."""
    if isinstance(error, ChatReplyInvalid):
        health.failed(CHAT, error)


class BadReply(Exception):
    """A reply cannot be read; `reason` is told to the model and shown, so it never quotes the reply."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class ChatQuestion(Struct, Generic[T_co], frozen=True, kw_only=True):
    """A prompt that knows what it is for and how its reply is read; `parse` raises `BadReply`."""

    purpose: str
    version: int
    prompt: ChatPrompt
    parse: Callable[[str], T_co]
    attempts: int = ATTEMPTS


class ChatAnswer(Struct, Generic[T_co], frozen=True, kw_only=True):
    """The value that a reply held, and who gave it to which version of the question."""

    value: T_co
    model: str
    version: int
    attempts: int


def ask(model: ChatModel, question: ChatQuestion[T], *, log: CallLog) -> ChatAnswer[T]:
    """
    Return the value that the model's reply holds.

    Raises `ChatUnavailable` from the model, and `ChatReplyInvalid` when no attempt gave a readable reply.
    """
    prompt, reason, reply = question.prompt, "", ChatReply(text="")
    for attempt in range(1, question.attempts + 1):
        reply = _complete(model, prompt, question.purpose, log)
        try:
            value = question.parse(reply.text)
        except BadReply as bad:
            reason = f"it was cut off, {bad.reason}" if reply.is_cut_off else bad.reason
            log.note(question.purpose, Usage(invalid=1, last_error=f"{ChatReplyInvalid.code} {reason}"))
            again = ASK_AGAIN.format(reason=reason)
            prompt = replace(question.prompt, user=f"{question.prompt.user}\n\n{again}")
        else:
            return ChatAnswer(value=value, model=model.name, version=question.version, attempts=attempt)
    raise ChatReplyInvalid(
        f"{model.name} gave no usable reply for {question.purpose!r}: {reason}", reply=reply.text
    )


def _complete(model: ChatModel, prompt: ChatPrompt, purpose: str, log: CallLog) -> ChatReply:
    begin = time.perf_counter()
    try:
        reply = model.complete(prompt)
    except ChatError as exc:
        spent = (time.perf_counter() - begin) * 1000
        failure = f"{exc.code} {exc.message}"
        log.note(purpose, Usage(calls=1, failures=1, milliseconds=spent, last_error=failure))
        raise
    log.note(
        purpose,
        Usage(
            calls=1,
            input_tokens=reply.input_tokens,
            output_tokens=reply.output_tokens,
            milliseconds=reply.milliseconds,
        ),
    )
    return reply
