"""Chat models: the protocol, usage accounting and HTTP transport."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any, Final, Generic, Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from engramdb.errors import ChatError, ChatReplyInvalid, ChatUnavailable
from engramdb.models.http import Deadline, RequestFailed, check_server, host_of, post_json

# What the calls of chat models have cost, and how they ended.


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


# What a chat model is: a prompt in, a reply out; and how one is asked for a typed value.
#
# Implemented by the `…_chat` files beside this one; `ask` is called by whoever holds a question from
# `prompts`.
# A reply is parsed once into a value. One that cannot be is asked for again with the reason, then it is an
# error with the reply attached, not in its message, because it may quote memories. Every call is counted.

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

ATTEMPTS = 2
"""The first reply, and one more that was told what was wrong; then the caller goes on without a model."""

ASK_AGAIN = "Your last reply could not be used: {reason}. Reply again, only in the form that was asked for."


class Prompt(Struct, frozen=True, kw_only=True):
    """What is sent; `schema` helps servers that can hold a model to a form, the text must do without."""

    system: str
    user: str
    name: str = "reply"
    """What the form is called, where a server wants a name for it."""
    schema: Mapping[str, Any] | None = None
    max_tokens: int = 1024
    temperature: float = 0.0


class Reply(Struct, frozen=True, kw_only=True):
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

    def complete(self, prompt: Prompt) -> Reply:
        """Return the reply."""
        ...


class BadReply(Exception):
    """A reply cannot be read; `reason` is told to the model and shown, so it never quotes the reply."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Question(Struct, Generic[T_co], frozen=True, kw_only=True):
    """A prompt that knows what it is for and how its reply is read; `parse` raises `BadReply`."""

    purpose: str
    version: int
    prompt: Prompt
    parse: Callable[[str], T_co]
    attempts: int = ATTEMPTS


class Answer(Struct, Generic[T_co], frozen=True, kw_only=True):
    """The value that a reply held, and who gave it to which version of the question."""

    value: T_co
    model: str
    version: int
    attempts: int


def ask(model: ChatModel, question: Question[T], *, log: CallLog) -> Answer[T]:
    """
    Return the value that the model's reply holds.

    Raises `ChatUnavailable` from the model, and `ChatReplyInvalid` when no attempt gave a readable reply.
    """
    prompt, reason, reply = question.prompt, "", Reply(text="")
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
            return Answer(value=value, model=model.name, version=question.version, attempts=attempt)
    raise ChatReplyInvalid(
        f"{model.name} gave no usable reply for {question.purpose!r}: {reason}", reply=reply.text
    )


def _complete(model: ChatModel, prompt: Prompt, purpose: str, log: CallLog) -> Reply:
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


# The server behind a chat model: where it is, what it refuses, and how its failures are told.
#
# Held by `openai_chat` and `anthropic_chat`, which know the words of their interface; posts by `http_json`.
# The time-out is for one whole completion, whatever it takes: retries and plainer requests included.
# Servers and models differ in the optional fields that they accept, and say so with a 400: what was refused
# once is left out from then on, so a plain server costs one extra request in its life and not one per call.

TIMEOUT_SECONDS: Final = 60.0
LARGEST_REPLY_BYTES: Final = 4 * 1024 * 1024
REFUSALS: Final = frozenset({400, 422})


class ChatServer:
    """
    Sends requests to one model. Safe to share between threads: what is learned is replaced as a whole.

    `optional` are the fields that may be refused; the first is the one to suspect when the server does
    not say which.
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        optional: tuple[str, ...],
        headers: Mapping[str, str] | None = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
    ) -> None:
        self.url = url
        self.model = model
        self.optional = optional
        self.headers = headers or {}
        self.timeout_seconds = timeout_seconds
        self.refused: frozenset[str] = frozenset()

    def send(self, path: str, build: Callable[[frozenset[str]], dict[str, Any]]) -> bytes:
        """Return the reply to the request that `build` makes of the fields refused so far."""
        deadline = Deadline.after(self.timeout_seconds)
        refused = self.refused
        while True:
            content = build(refused)
            try:
                reply = self._post(path, content, deadline)
            except RequestFailed as exc:
                blamed = self._blame(exc, set(content))
                if blamed is None:
                    raise self.unavailable(exc.reason) from exc
                refused |= {blamed}
            else:
                self.refused = refused  # only now: a request that is bad in itself teaches nothing
                return reply

    def unavailable(self, reason: str) -> ChatUnavailable:
        """Return the error that says what this server did."""
        return ChatUnavailable(f"the chat model {self.model!r} at {host_of(self.url)} {reason}")

    def _post(self, path: str, content: dict[str, Any], deadline: Deadline) -> bytes:
        return post_json(
            f"{self.url.rstrip('/')}/{path}",
            content,
            headers=self.headers,
            deadline=deadline,
            largest_bytes=LARGEST_REPLY_BYTES,
        )

    def _blame(self, failure: RequestFailed, sent: set[str]) -> str | None:
        """Return the optional field that the server seems to have refused, if that may be what is wrong."""
        if failure.status not in REFUSALS:
            return None
        suspects = [name for name in self.optional if name in sent]
        named = [name for name in suspects if name.encode() in failure.complaint]
        return next(iter(named or [name for name in suspects if name == self.optional[0]]), None)


def open_server(
    url: str, model: str, optional: tuple[str, ...], *, key: str | None, **options: Any
) -> ChatServer:
    """Return the server after a look at its address and key; nothing is sent."""
    check_server(url, key, whose="chat model")
    return ChatServer(url=url, model=model, optional=optional, **options)
