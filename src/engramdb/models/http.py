"""Models behind a server: JSON over HTTP with a deadline, limits, one retry and errors that keep secrets."""

from __future__ import annotations

import json
import math
import os
import queue
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from functools import cache
from typing import Any, Final
from urllib.parse import urlsplit

from msgspec import Struct

from engramdb.errors import ChatUnavailable, InvalidSettings, MissingExtra

try:
    import httpx
except ImportError as exc:
    raise MissingExtra("a model behind a server needs httpx", hint="pip install 'engramdb[chat]'") from exc

MAX_WAIT_SECONDS: Final = 5.0  # before the one retry, whatever the server asks for
DEFAULT_WAIT_SECONDS: Final = 0.5
CHAT_TIMEOUT_SECONDS: Final = 60.0
MAX_REPLY_BYTES: Final = 64 * 1024 * 1024
MAX_COMPLETION_BYTES: Final = 4 * 1024 * 1024
MAX_COMPLAINT_BYTES: Final = 64 * 1024
_REFUSALS: Final = frozenset({400, 422})


class RequestFailed(Exception):
    """
    There is no usable answer; `reason` continues a sentence that begins with the server's name.

    `complaint` holds the server's own words, which may quote the request: to be searched, never shown.
    """

    def __init__(self, reason: str, *, status: int | None = None, complaint: bytes = b"") -> None:
        super().__init__(reason)
        self.reason = reason
        self.status = status
        self.complaint = complaint


class _Busy(Exception):
    """The server asked to be left alone for a while."""

    def __init__(self, status: int, wait: float) -> None:
        super().__init__(f"HTTP {status}")
        self.status = status
        self.wait = wait


class Deadline(Struct, frozen=True):
    """How long something may take as a whole, and the moment when that is over."""

    seconds: float
    ends_at: float

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        """Return the deadline that many seconds from now."""
        return cls(seconds, time.monotonic() + seconds)

    @property
    def left_seconds(self) -> float:
        """What remains; above 0 always, since a socket takes 0 for "do not wait at all"."""
        return max(self.ends_at - time.monotonic(), 0.001)

    def missed(self) -> RequestFailed:
        """Return the failure of having come too late."""
        return RequestFailed(f"did not answer within {self.seconds:g} seconds")


def check_server(url: str, key: str | None, *, whose: str) -> None:
    """Raise unless the address is one to post to and the key could be a key; neither is shown."""
    try:
        parts = urlsplit(url)
        is_web = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_web = False
    if not is_web:
        raise InvalidSettings(f"the address of the {whose} must begin with http:// or https://")
    if parts.username is not None or parts.query or parts.fragment:
        raise InvalidSettings(f"the address of the {whose} may not hold a user, a query or a fragment")
    if key and not (key.isascii() and key.isprintable()):
        # Checked here because a library may quote the whole key in its complaint.
        raise InvalidSettings(f"the key of the {whose} holds characters that no key has")


def host_of(url: str) -> str:
    """Return the server's name, the part of an address that a message may show."""
    return urlsplit(url).hostname or "?"


def post_json(
    address: str,
    content: object,
    *,
    headers: Mapping[str, str],
    deadline: Deadline,
    max_bytes: int = MAX_REPLY_BYTES,
) -> bytes:
    """Return the body of the reply; a server that is busy is asked once more, if there is time."""
    # A lone surrogate is not text, and servers refuse the whole request because of one: it becomes "?".
    body = json.dumps(content, ensure_ascii=False).encode("utf-8", "replace")
    ours = {"Content-Type": "application/json", "Accept": "application/json"}
    ours["Accept-Encoding"] = "identity"  # without compression the limit on bytes is a limit on memory
    request = httpx.Request("POST", address, content=body, headers={**ours, **headers})
    try:
        return _send(request, deadline, max_bytes)
    except _Busy as busy:
        if busy.wait >= deadline.left_seconds:
            raise RequestFailed(f"answered {busy}, with no time left to wait", status=busy.status) from busy
        time.sleep(busy.wait)
    try:
        return _send(request, deadline, max_bytes)
    except _Busy as busy:
        raise RequestFailed(f"answered {busy} twice", status=busy.status) from busy


def wait_seconds(asked: str | None) -> float:
    """Return how long to wait: what the server asks for in seconds, up to our bound."""
    try:
        wait = float(asked or "nan")
    except ValueError:
        wait = math.nan  # the header may also be a date, which a short retry need not honour
    wait = DEFAULT_WAIT_SECONDS if math.isnan(wait) else wait
    return min(max(wait, 0.0), MAX_WAIT_SECONDS)


def _send(request: httpx.Request, deadline: Deadline, max_bytes: int) -> bytes:
    """
    Return the reply if it is there in time, whatever the network does.

    A time-out of httpx starts again with every byte and does not cover the look-up of a name, so the exchange
    runs in a thread that is left behind when the time is over; its own time-outs then end it.
    """
    answered: queue.SimpleQueue[bytes | RequestFailed | _Busy] = queue.SimpleQueue()

    def run() -> None:
        outcome: bytes | RequestFailed | _Busy = RequestFailed("broke off")
        try:
            outcome = _exchange(request, deadline, max_bytes)
        finally:
            answered.put(outcome)

    try:
        threading.Thread(target=run, name="engram-http", daemon=True).start()
    except RuntimeError as exc:
        raise RequestFailed("cannot be asked while the program ends") from exc
    try:
        outcome = answered.get(timeout=deadline.left_seconds)
    except queue.Empty as exc:
        raise deadline.missed() from exc
    if isinstance(outcome, bytes):
        return outcome
    raise outcome


def _exchange(request: httpx.Request, deadline: Deadline, max_bytes: int) -> bytes | RequestFailed | _Busy:
    """Return the reply or what went wrong; raises nothing, because it has a thread to itself."""
    request.extensions = {"timeout": httpx.Timeout(deadline.left_seconds).as_dict()}
    try:
        reply = _client_for(request.url).send(request, stream=True)
        with closing(reply):
            if not reply.is_success:
                return _explain_status(reply, deadline)
            return _read(reply, deadline, max_bytes)
    except RequestFailed as exc:
        return exc
    except httpx.TimeoutException:
        return deadline.missed()
    except httpx.ConnectError as exc:
        is_refused = "refused" in str(exc)
        return RequestFailed("refused the connection" if is_refused else f"cannot be reached: {exc}")
    except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as exc:
        return RequestFailed(f"broke off: {type(exc).__name__}")


def _client_for(url: httpx.URL) -> httpx.Client:
    is_local = url.host in {"localhost", "::1"} or url.host.startswith("127.")
    return _client(os.getpid(), is_local=is_local, is_secure=url.scheme == "https")


@cache
def _client(_process: int, *, is_local: bool, is_secure: bool) -> httpx.Client:
    """
    Return what sends requests and keeps connections open; one for each process, since a fork shares sockets.

    This machine is never reached through a proxy. A redirect is an error: following one would hand the key
    and the texts to another server. Certificates are those that the system trusts; loading them takes 20 ms,
    which plain HTTP does without.
    """
    tls = ssl.create_default_context() if is_secure else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return httpx.Client(trust_env=not is_local, verify=tls, follow_redirects=False)


def _read(reply: httpx.Response, deadline: Deadline, max_bytes: int) -> bytes:
    content = bytearray()
    for part in reply.iter_raw():
        content += part
        if time.monotonic() > deadline.ends_at:
            raise deadline.missed()
        if len(content) > max_bytes:
            raise RequestFailed(f"sent more than {max_bytes} bytes")
    return bytes(content)


def _explain_status(reply: httpx.Response, deadline: Deadline) -> RequestFailed | _Busy:
    status = reply.status_code
    if status == httpx.codes.TOO_MANY_REQUESTS or status >= httpx.codes.INTERNAL_SERVER_ERROR:
        return _Busy(status, wait_seconds(reply.headers.get("Retry-After")))
    complaint = b""
    with suppress(RequestFailed, httpx.HTTPError, OSError):
        complaint = _read(reply, deadline, MAX_COMPLAINT_BYTES)
    return RequestFailed(f"answered HTTP {status}", status=status, complaint=complaint)


class ChatServer:
    """
    Sends requests to one chat model. Safe to share between threads: what is learned is replaced as a whole.

    The time-out is for one whole completion: retries and plainer requests included. Servers and models differ
    in the optional fields that they accept, and say so with a 400: what was refused once is left out
    afterwards. `optional` are those fields; the first is to suspect when the server does not say which.
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        optional: tuple[str, ...],
        headers: Mapping[str, str] | None = None,
        timeout_seconds: float = CHAT_TIMEOUT_SECONDS,
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
            max_bytes=MAX_COMPLETION_BYTES,
        )

    def _blame(self, failure: RequestFailed, sent: set[str]) -> str | None:
        """Return the optional field that the server seems to have refused, if that may be what is wrong."""
        if failure.status not in _REFUSALS:
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
