"""
The server behind a chat model: where it is, what it refuses, and how its failures are told.

Held by `openai_chat` and `anthropic_chat`, which know the words of their interface; posts by `http_json`.
The time-out is for one whole completion, whatever it takes: retries and plainer requests included.
Servers and models differ in the optional fields that they accept, and say so with a 400: what was refused
once is left out from then on, so a plain server costs one extra request in its life and not one per call.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from engram.errors import ChatUnavailable
from engram.providers.http_json import Deadline, RequestFailed, check_server, host_of, post_json

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

TIMEOUT_SECONDS: Final = 60.0
LARGEST_REPLY_BYTES: Final = 4 * 1024 * 1024
REFUSALS: Final = frozenset({400, 422})


@dataclass(slots=True)
class ChatServer:
    """Sends requests to one model. Safe to share between threads: what is learned is replaced as a whole."""

    url: str
    model: str
    optional: tuple[str, ...]
    """The fields that may be refused; the first is the one to suspect when the server does not say which."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout_seconds: float = TIMEOUT_SECONDS
    refused: frozenset[str] = frozenset()

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
