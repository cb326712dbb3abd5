"""JSON over HTTP to a model server: retries, limits, errors."""

from __future__ import annotations

import http.client
import json
import math
import queue
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from engramdb.errors import InvalidSettings

LONGEST_WAIT_SECONDS: Final = 5.0  # before the one retry, whatever the server asks for
DEFAULT_WAIT_SECONDS: Final = 0.5
LARGEST_REPLY_BYTES: Final = 64 * 1024 * 1024
LARGEST_COMPLAINT_BYTES: Final = 64 * 1024


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
        parts = urllib.parse.urlsplit(url)
        is_web = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_web = False
    if not is_web:
        raise InvalidSettings(f"the address of the {whose} must begin with http:// or https://")
    if parts.username is not None or parts.query or parts.fragment:
        raise InvalidSettings(f"the address of the {whose} may not hold a user, a query or a fragment")
    if key and not (key.isascii() and key.isprintable()):
        # Checked here because the standard library would quote the whole key in its complaint.
        raise InvalidSettings(f"the key of the {whose} holds characters that no key has")


def host_of(url: str) -> str:
    """Return the server's name, the part of an address that a message may show."""
    return urllib.parse.urlsplit(url).hostname or "?"


def post_json(
    address: str,
    content: object,
    *,
    headers: Mapping[str, str],
    deadline: Deadline,
    largest_bytes: int = LARGEST_REPLY_BYTES,
) -> bytes:
    """Return the body of the reply; a server that is busy is asked once more, if there is time."""
    # A lone surrogate is not text, and servers refuse the whole request because of one: it becomes "?".
    body = json.dumps(content, ensure_ascii=False).encode("utf-8", "replace")
    headers = {"Content-Type": "application/json", "Accept": "application/json", **headers}
    request = urllib.request.Request(address, data=body, headers=headers, method="POST")  # noqa: S310
    try:
        return _send(request, deadline, largest_bytes)
    except _Busy as busy:
        if busy.wait >= deadline.left_seconds:
            raise RequestFailed(f"answered {busy}, with no time left to wait", status=busy.status) from busy
        time.sleep(busy.wait)
    try:
        return _send(request, deadline, largest_bytes)
    except _Busy as busy:
        raise RequestFailed(f"answered {busy} twice", status=busy.status) from busy


def wait_seconds(asked: str | None) -> float:
    """Return how long to wait: what the server asks for in seconds, up to our bound."""
    try:
        wait = float(asked or "nan")
    except ValueError:
        wait = math.nan  # the header may also be a date, which a short retry need not honour
    wait = DEFAULT_WAIT_SECONDS if math.isnan(wait) else wait
    return min(max(wait, 0.0), LONGEST_WAIT_SECONDS)


def _send(request: urllib.request.Request, deadline: Deadline, largest_bytes: int) -> bytes:
    """
    Return the reply if it is there in time, whatever the network does.

    A socket's time-out starts anew with every byte and does not cover the look-up of a name, so the exchange
    runs in a thread that is left behind when the time is over; its own time-outs then end it.
    """
    answered: queue.SimpleQueue[bytes | RequestFailed | _Busy] = queue.SimpleQueue()

    def run() -> None:
        outcome: bytes | RequestFailed | _Busy = RequestFailed("broke off")
        try:
            outcome = _exchange(request, deadline, largest_bytes)
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


def _exchange(
    request: urllib.request.Request, deadline: Deadline, largest_bytes: int
) -> bytes | RequestFailed | _Busy:
    """Return the reply or what went wrong; raises nothing, because it has a thread to itself."""
    try:
        return _read(request, deadline, largest_bytes)
    except RequestFailed as exc:
        return exc
    except urllib.error.HTTPError as exc:
        with exc:
            return _explain_status(exc)
    except TimeoutError:
        return deadline.missed()
    except urllib.error.URLError as exc:
        return deadline.missed() if isinstance(exc.reason, TimeoutError) else _explain(exc)
    except (OSError, http.client.HTTPException, ValueError) as exc:
        return RequestFailed(f"broke off: {type(exc).__name__}")


def _read(request: urllib.request.Request, deadline: Deadline, largest_bytes: int) -> bytes:
    parts: list[bytes] = []
    room = largest_bytes
    with _opener(request.host).open(request, timeout=deadline.left_seconds) as reply:
        while part := reply.read1(65536):
            parts.append(part)
            room -= len(part)
            if time.monotonic() > deadline.ends_at:
                raise TimeoutError
            if room < 0:
                raise RequestFailed(f"sent more than {largest_bytes} bytes")
        if reply.length:  # `read1`, unlike `read`, takes a cut connection for the end
            raise RequestFailed("broke off: the reply is shorter than it said")
    return b"".join(parts)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect is an error: following one would hand the key and the texts to another server."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _opener(host: str) -> urllib.request.OpenerDirector:
    """Return what sends the request; this machine is never reached through a proxy."""
    name = urllib.parse.urlsplit(f"//{host}").hostname or ""
    is_local = name in {"localhost", "::1"} or name.startswith("127.")
    proxies = [urllib.request.ProxyHandler({})] if is_local else []
    return urllib.request.build_opener(_NoRedirect, *proxies)


def _explain_status(error: urllib.error.HTTPError) -> RequestFailed | _Busy:
    status = error.code
    if status == http.HTTPStatus.TOO_MANY_REQUESTS or status >= http.HTTPStatus.INTERNAL_SERVER_ERROR:
        return _Busy(status, wait_seconds(error.headers.get("Retry-After")))
    try:
        complaint = error.read(LARGEST_COMPLAINT_BYTES)
    except (OSError, http.client.HTTPException, ValueError):
        complaint = b""
    return RequestFailed(f"answered HTTP {status}", status=status, complaint=complaint)


def _explain(error: urllib.error.URLError) -> RequestFailed:
    if isinstance(error.reason, ConnectionRefusedError):
        return RequestFailed("refused the connection")
    return RequestFailed(f"cannot be reached: {type(error.reason).__name__}")
