"""The embedder behind a server: real HTTP on loopback, well-behaved and not."""

from __future__ import annotations

import json
import socket
import threading
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from engramdb.errors import DimensionMismatch, EmbedderUnavailable, EngramError, InvalidSettings
from engramdb.models import http as http_json
from engramdb.models.openai import OpenAICompatibleEmbedder

from .chat_server import Answer, raw_server, serving

if TYPE_CHECKING:
    from .chat_server import Script

KEY = "sk-very-secret"
TEXT = "the patient's name is Ada"


def asking(server: Script, **options: Any) -> OpenAICompatibleEmbedder:
    """Return an embedder that asks this server."""
    return OpenAICompatibleEmbedder(server.url, "test-model", api_key=KEY, **options)


def rows(*vectors: list[float], order: list[int] | None = None) -> Answer:
    """Return an OpenAI-shaped answer, with the rows in another order if wanted."""
    places = order or list(range(len(vectors)))
    found = [{"object": "embedding", "index": place, "embedding": vectors[place]} for place in places]
    usage = {"prompt_tokens": 5, "total_tokens": 5}
    content = {"object": "list", "data": found, "model": "test-model", "usage": usage}
    return Answer(json.dumps(content).encode())


def test_the_request_has_the_shape_that_servers_expect() -> None:
    """The path, the model, the texts and the key travel as the OpenAI interface has them."""
    with serving(rows([3.0, 4.0], [0.0, 2.0])) as server:
        vectors = asking(server, dimension=2).embed_documents(["one", "two"])

    seen = server.requests[0]
    assert (server.paths[0], server.headers[0]["authorization"]) == ("/v1/embeddings", f"Bearer {KEY}")
    assert (seen["model"], seen["input"]) == ("test-model", ["one", "two"])
    assert np.allclose(vectors, [[0.6, 0.8], [0.0, 1.0]])


def test_rows_follow_their_index_and_not_their_place() -> None:
    """A server that works in parallel may answer out of order."""
    with serving(rows([1.0, 0.0], [0.0, 1.0], order=[1, 0])) as server:
        vectors = asking(server, dimension=2).embed_documents(["one", "two"])

    assert vectors.tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_rows_without_an_index_are_taken_in_order() -> None:
    """Some local servers leave the index out."""
    body = json.dumps({"data": [{"embedding": [1, 0]}, {"embedding": [0, 1]}]}).encode()
    with serving(Answer(body)) as server:
        vectors = asking(server, dimension=2).embed_queries(["one", "two"])

    assert vectors.tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_the_dimension_is_learned_by_one_call() -> None:
    """Without a dimension in the settings the first need of it asks the server, once."""
    with serving(rows([1.0, 2.0, 2.0])) as server:
        embedder = asking(server)
        found = [embedder.identity.dimension for _ in range(3)]

    assert found == [3, 3, 3]
    assert len(server.requests) == 1


def test_a_known_dimension_needs_no_call() -> None:
    """The identity of a configured embedder is known while its server sleeps."""
    embedder = OpenAICompatibleEmbedder("http://127.0.0.1:9", "test-model", dimension=3)

    assert embedder.identity.dimension == 3
    assert embedder.identity.name == "openai:test-model"


def test_many_texts_go_in_batches() -> None:
    """No request carries more texts than the batch allows."""
    with serving(rows([1.0], [1.0]), rows([1.0])) as server:
        vectors = asking(server, dimension=1, batch=2).embed_documents(["a", "b", "c"])

    assert [len(seen["input"]) for seen in server.requests] == [2, 1]
    assert vectors.shape == (3, 1)


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_server_is_asked_once_more(status: int) -> None:
    """One hiccup is not a failure."""
    busy = Answer(b"", status, {"Retry-After": "0"})
    with serving(busy, rows([1.0])) as server:
        vectors = asking(server, dimension=1).embed_documents(["a"])

    assert vectors.tolist() == [[1.0]]
    assert len(server.requests) == 2


def test_a_server_that_stays_busy_is_unavailable() -> None:
    """There is one retry and no more."""
    busy = Answer(b"", 429, {"Retry-After": "0"})
    with serving(busy) as server, pytest.raises(EmbedderUnavailable, match="429"):
        asking(server, dimension=1).embed_documents(["a"])

    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("asked", "waited"),
    [
        ("0", 0.0),
        ("3", 3.0),
        ("86400", 5.0),
        ("-1", 0.0),
        ("Fri, 31 Dec 1999 23:59:59 GMT", 0.5),
        (None, 0.5),
    ],
)
def test_waiting_is_bounded_whatever_the_server_asks(asked: str | None, waited: float) -> None:
    """A server cannot park an agent for a day."""
    assert http_json.wait_seconds(asked) == waited


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (Answer(b"{not json"), EmbedderUnavailable),
        (Answer(b"\xff\xfe"), EmbedderUnavailable),
        (Answer(b"[]"), EmbedderUnavailable),
        (Answer(b'{"data": "none"}'), EmbedderUnavailable),
        (Answer(b'{"data": [{"embedding": "AAAA"}]}'), EmbedderUnavailable),
        (Answer(b'{"data": [{"embedding": [1e999]}]}'), EmbedderUnavailable),
        (Answer(b'{"error": "model not found"}'), EmbedderUnavailable),
        (Answer(b'{"error": "model not found"}', 404), EmbedderUnavailable),
        (Answer(b"", 401), EmbedderUnavailable),
        (Answer(b"", 302, {"Location": "http://127.0.0.1:9/"}), EmbedderUnavailable),
        (rows(), EmbedderUnavailable),
        (rows([1.0], [1.0]), EmbedderUnavailable),
        (rows([0.0]), EmbedderUnavailable),
        (Answer(b'{"data": [{"embedding": [1], "index": 7}]}'), EmbedderUnavailable),
        (rows([1.0, 2.0]), DimensionMismatch),
        (rows([]), DimensionMismatch),
    ],
)
def test_a_bad_answer_is_an_error_that_keeps_secrets(answer: Answer, error: type[EngramError]) -> None:
    """Whatever is wrong is said with its type, without the text, the key or the server's own words."""
    with serving(answer) as server, pytest.raises(error) as caught:
        asking(server, dimension=1).embed_documents([TEXT])

    shown = f"{caught.value!r} {caught.value} {caught.value.hint}"
    assert not any(secret in shown for secret in (KEY, TEXT, "not found"))


def test_two_rows_of_different_lengths_are_refused() -> None:
    """Even without a known dimension one answer has one length."""
    with serving(rows([1.0], [1.0, 2.0])) as server, pytest.raises(DimensionMismatch):
        asking(server)._ask(["a", "b"])


def test_a_silent_server_is_given_up_in_time() -> None:
    """The time-out holds while waiting for the first byte."""
    silent = Answer(b"", hangs=True)
    with serving(silent) as server, pytest.raises(EmbedderUnavailable, match=r"within 0\.1 seconds"):
        asking(server, dimension=1, timeout_seconds=0.1).embed_documents(["a"])


def test_a_trickling_server_is_given_up_in_time() -> None:
    """The time-out is for the whole answer, not for each byte of it."""
    given_up = threading.Event()

    def trickle(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        while not given_up.wait(0.05):
            connection.sendall(b" ")

    with raw_server(trickle) as url:
        begin = time.monotonic()
        with pytest.raises(EmbedderUnavailable, match="within"):
            OpenAICompatibleEmbedder(url, "m", dimension=1, timeout_seconds=0.3).embed_documents(["a"])
        spent = time.monotonic() - begin
        given_up.set()

    assert spent < 5


def test_a_server_that_hangs_up_is_unavailable() -> None:
    """A connection cut half-way is a failure and not a short answer."""

    def hang_up(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{")

    with raw_server(hang_up) as url, pytest.raises(EmbedderUnavailable):
        OpenAICompatibleEmbedder(url, "m", dimension=1).embed_documents(["a"])


def test_a_server_that_speaks_something_else_is_unavailable() -> None:
    """The port may belong to another program."""

    def greet(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(b"220 mail ready\r\n")

    with raw_server(greet) as url, pytest.raises(EmbedderUnavailable):
        OpenAICompatibleEmbedder(url, "m", dimension=1).embed_documents(["a"])


def test_a_refused_connection_says_so() -> None:
    """The commonest mistake, a server that was not started, is named."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{probe.getsockname()[1]}/v1"

    with pytest.raises(EmbedderUnavailable, match="refused"):
        OpenAICompatibleEmbedder(url, "m", dimension=1).embed_documents(["a"])


def test_an_empty_text_and_half_a_character_are_sent_as_text() -> None:
    """Servers refuse both, and with them the whole batch."""
    with serving(rows([1.0], [1.0])) as server:
        asking(server, dimension=1).embed_documents(["", "a\ud800b"])

    assert server.requests[0]["input"] == [" ", "a?b"]


def test_the_key_is_not_shown() -> None:
    """Printing the embedder gives nothing away."""
    assert KEY not in repr(OpenAICompatibleEmbedder("http://localhost", "m", api_key=KEY))


@pytest.mark.parametrize("url", ["", "localhost:11434", "file:///etc/passwd", "http://", "http://u:p@h"])
def test_only_web_addresses_are_accepted(url: str) -> None:
    """A file or a bare host is refused when the embedder is opened, not when it is used."""
    with pytest.raises(InvalidSettings):
        OpenAICompatibleEmbedder(url, "m")


@pytest.mark.parametrize("key", ["sk-secret\n", "sk-sécret"])
def test_a_malformed_key_is_refused_without_being_shown(key: str) -> None:
    """A key pasted with its line break is the user's mistake, and still a key."""
    with pytest.raises(InvalidSettings) as caught:
        OpenAICompatibleEmbedder("http://localhost", "m", api_key=key)

    assert "cret" not in str(caught.value)
