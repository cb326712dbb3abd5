"""
An embedder behind an OpenAI-shaped address: a local server such as Ollama or LM Studio, or a service.

Opened by `models`; calls `POST {url}/embeddings` with the standard library and nothing else.
Neither a text nor the key ever appears in an error, a repr or a log. A busy server is asked once more, then
the failure is the caller's to see: memories are saved without vectors and embedded later.
"""

from __future__ import annotations

import http.client
import json
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np

from engram.errors import DimensionMismatch, EmbedderUnavailable, InvalidSettings
from engram.providers.embedder import EmbedderIdentity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

TIMEOUT_SECONDS: Final = 20.0
BATCH: Final = 32
LONGEST_WAIT_SECONDS: Final = 5.0  # before the one retry, whatever the server asks for
DEFAULT_WAIT_SECONDS: Final = 0.5
LARGEST_REPLY_BYTES: Final = 64 * 1024 * 1024
PROBE: Final = "dimension"


@dataclass(frozen=True, slots=True)
class _Row:
    embedding: list[float]
    index: int | None = None


@dataclass(frozen=True, slots=True)
class _Reply:
    data: list[_Row]


class _Busy(Exception):
    """The server asked to be left alone for a while."""

    def __init__(self, status: int, wait_seconds: float) -> None:
        super().__init__(f"HTTP {status}")
        self.wait_seconds = wait_seconds


@dataclass(slots=True)
class OpenAICompatibleEmbedder:
    """
    Text in, unit vectors out, from a server.

    Without a `dimension` the first need of it costs one call. Safe to share between threads.
    """

    url: str
    model: str
    api_key: str | None = field(default=None, repr=False)
    dimension: int | None = None
    timeout_seconds: float = TIMEOUT_SECONDS
    batch: int = BATCH
    similarity_floor: float = 0.2
    """Between the floors of common models; a guess, since a server does not reveal its own."""
    _learning: threading.Lock = field(default_factory=threading.Lock, repr=False, init=False)

    def __post_init__(self) -> None:
        parts = urllib.parse.urlsplit(self.url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise InvalidSettings("the address of the embedder must begin with http:// or https://")
        if parts.username is not None or parts.query or parts.fragment:
            raise InvalidSettings("the address of the embedder may not hold a user, a query or a fragment")
        if self.api_key and not (self.api_key.isascii() and self.api_key.isprintable()):
            # Checked here because the standard library would quote the whole key in its complaint.
            raise InvalidSettings("the key of the embedder holds characters that no key has")
        if self.batch < 1:
            raise InvalidSettings(f"the batch must be at least 1, not {self.batch}")

    @property
    def identity(self) -> EmbedderIdentity:
        """The model's name is all that a server reveals, so it is name and revision in one."""
        dimension = self.dimension if self.dimension is not None else self._learn_dimension()
        return EmbedderIdentity(f"openai:{self.model}", dimension, self.model)

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row of length one per text."""
        rows = np.empty((len(texts), self.identity.dimension), np.float32)
        for begin in range(0, len(texts), self.batch):
            rows[begin : begin + self.batch] = self._ask(texts[begin : begin + self.batch])
        return rows

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row of length one per question."""
        return self.embed_documents(texts)

    def _learn_dimension(self) -> int:
        with self._learning:
            if self.dimension is None:
                self.dimension = self._ask([PROBE]).shape[1]
            return self.dimension

    def _ask(self, texts: Sequence[str]) -> NDArray[np.float32]:
        request = self._build_request(texts)
        try:
            reply = self._send(request)
        except _Busy as busy:
            time.sleep(busy.wait_seconds)
            try:
                reply = self._send(request)
            except _Busy as still:
                raise self._unavailable(f"answered {still} twice") from still
        return _to_unit_length(self._arrange(self._decode(reply), len(texts)))

    def _build_request(self, texts: Sequence[str]) -> urllib.request.Request:
        # A lone surrogate is not text; servers refuse the whole batch because of one.
        clean = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
        # Servers answer an empty string with an error or with nothing; a space has a vector.
        content: dict[str, Any] = {"model": self.model, "input": [text or " " for text in clean]}
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self.api_key:
            headers["Authorization"] = f"Bearer {self.api_key}"
        address = f"{self.url.rstrip('/')}/embeddings"
        body = json.dumps(content).encode()
        return urllib.request.Request(address, data=body, headers=headers, method="POST")  # noqa: S310

    def _send(self, request: urllib.request.Request) -> bytes:
        try:
            return _read_within(request, self.timeout_seconds)
        except urllib.error.HTTPError as exc:
            status, wait = exc.code, _wait_seconds(exc.headers.get("Retry-After"))
            exc.close()
            if status == http.HTTPStatus.TOO_MANY_REQUESTS or status >= 500:
                raise _Busy(status, wait) from exc
            raise self._unavailable(f"answered HTTP {status}") from exc
        except TimeoutError as exc:
            raise self._unavailable(f"did not answer within {self.timeout_seconds:g} seconds") from exc
        except urllib.error.URLError as exc:
            raise self._unavailable(_explain(exc, self.timeout_seconds)) from exc
        except (OSError, http.client.HTTPException, ValueError) as exc:
            raise self._unavailable(f"broke off: {type(exc).__name__}") from exc

    def _decode(self, reply: bytes) -> list[_Row]:
        try:
            return msgspec.json.decode(reply, type=_Reply).data
        except (msgspec.DecodeError, UnicodeDecodeError) as exc:
            raise self._unavailable("sent something that is not a list of embeddings") from exc

    def _arrange(self, rows: list[_Row], count: int) -> NDArray[np.float32]:
        """Return the rows in the order of the texts; a row without an index stands where it came."""
        if len(rows) != count:
            raise self._unavailable(f"sent {len(rows)} embeddings for {count} texts")
        places = [number if row.index is None else row.index for number, row in enumerate(rows)]
        if sorted(places) != list(range(count)):
            raise self._unavailable("numbered its embeddings wrongly")
        in_order = [
            row.embedding for _, row in sorted(zip(places, rows, strict=True), key=lambda pair: pair[0])
        ]
        self._check_lengths({len(embedding) for embedding in in_order})
        vectors = np.asarray(in_order, np.float32)
        if not np.isfinite(vectors).all() or not np.any(vectors, axis=1).all():
            raise self._unavailable("sent an embedding of zeros or of numbers that are too large")
        return vectors

    def _check_lengths(self, lengths: set[int]) -> None:
        if self.dimension is None and len(lengths) == 1 and 0 not in lengths:
            return
        if lengths != {self.dimension}:
            found = ", ".join(map(str, sorted(lengths)))
            expected = self.dimension or "one length only"
            raise DimensionMismatch(
                f"model {self.model!r} gave vectors of length {found}, expected {expected}",
                hint="Check the model's name and the dimension in the settings.",
            )

    def _unavailable(self, reason: str) -> EmbedderUnavailable:
        host = urllib.parse.urlsplit(self.url).hostname
        return EmbedderUnavailable(
            f"the embedder {self.model!r} at {host} {reason}",
            hint="Check that the server runs and knows the model; what was saved will be embedded later.",
        )


def _read_within(request: urllib.request.Request, timeout_seconds: float) -> bytes:
    """
    Return the body of the reply, all of it within the time.

    The time-out of a socket starts anew with every byte, so a trickling server is timed as a whole.
    """
    deadline = time.monotonic() + timeout_seconds
    parts: list[bytes] = []
    room = LARGEST_REPLY_BYTES
    with _opener(request.host).open(request, timeout=timeout_seconds) as reply:
        while part := reply.read1(65536):
            parts.append(part)
            room -= len(part)
            if time.monotonic() > deadline:
                raise TimeoutError
            if room < 0:
                raise ValueError("the reply is too large")
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


def _wait_seconds(asked: str | None) -> float:
    """Return how long to wait: what the server asks for in seconds, up to our bound."""
    try:
        wait = float(asked) if asked else DEFAULT_WAIT_SECONDS
    except ValueError:
        wait = DEFAULT_WAIT_SECONDS  # the header may also be a date, which a short retry need not honour
    return min(max(wait, 0.0), LONGEST_WAIT_SECONDS)


def _explain(error: urllib.error.URLError, timeout_seconds: float) -> str:
    if isinstance(error.reason, TimeoutError):
        return f"did not answer within {timeout_seconds:g} seconds"
    if isinstance(error.reason, ConnectionRefusedError):
        return "refused the connection"
    return f"cannot be reached: {type(error.reason).__name__}"


def _to_unit_length(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)
