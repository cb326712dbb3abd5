"""Server-sent events: live changes of a scope, and the progress of long work."""

from __future__ import annotations

import json
import threading
import time
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from surfaces.serving import add, client_of, opened, serving, tokens_in

from engramdb import Engram, Scope
from engramdb.http.app import Monitoring
from engramdb.http.events import Streams

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import httpx

pytestmark = pytest.mark.xdist_group("http-events")  # one server for most of them

ADA, BOB = Scope(user="ada"), Scope(user="bob")


class Event(NamedTuple):
    """One event as a browser would see it."""

    name: str
    id: str
    data: dict[str, Any]


class Followed(NamedTuple):
    """A server that is followed, and the store behind it."""

    client: httpx.Client
    engram: Engram
    home: Path


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Followed]:
    """A server and its store."""
    home = tmp_path_factory.mktemp("events")
    with opened(home) as engram, serving(engram) as server, client_of(server.url) as client:
        yield Followed(client, engram, home)


@contextmanager
def following(client: httpx.Client, *, after: str | None = None, **scope: str) -> Iterator[Iterator[Event]]:
    """Follow a stream from its beginning, which has been reached when the block begins."""
    headers = {} if after is None else {"Last-Event-ID": after}
    with client.stream("GET", "/v1/events", params=scope, headers=headers) as response:
        assert response.status_code == 200, response.read()
        lines = response.iter_lines()
        if after is None:
            assert next(lines).startswith(":")
        yield events(lines)


def events(lines: Iterator[str]) -> Iterator[Event]:
    """Yield the events of a stream."""
    fields: dict[str, str] = {}
    for line in lines:
        if line and not line.startswith(":"):
            name, _, value = line.partition(": ")
            fields[name] = value
        elif not line:
            if "data" in fields:
                yield Event(fields["event"], fields.get("id", ""), json.loads(fields["data"]))
            fields = {}


def test_a_change_is_told_without_its_words(followed: Followed) -> None:
    """Id, action, kind and status arrive within moments; the statement does not."""
    with following(followed.client) as stream:
        memory = followed.engram.remember("The codeword is zanzibarium")
        told = next(stream)

    assert told.name == "change"
    assert told.data["id"] == memory.id
    assert told.data["action"] == "remember"
    assert (told.data["kind"], told.data["status"]) == ("note", "active")
    assert "zanzibarium" not in json.dumps(told.data)


def test_a_follower_sees_its_own_scope_only(followed: Followed) -> None:
    """Other people's changes are passed over, not shown without their words."""
    with following(followed.client, user="ada") as stream:
        followed.engram.remember("Bob's", scope=BOB)
        own = followed.engram.remember("Ada's", scope=ADA)
        told = next(stream)

    assert told.data["id"] == own.id


def test_a_token_follows_the_scope_it_has(tmp_path: Path) -> None:
    """Without naming one; to name another is refused, and a token that is removed hears no more."""
    with opened(tmp_path) as engram:
        tokens = tokens_in(tmp_path)
        ada = add(tokens.named, "ada", ADA)
        with serving(engram, tokens=tokens) as server, client_of(server.url, ada) as client:
            other = client.get("/v1/events", params={"user": "bob"})
            with following(client) as stream:
                engram.remember("Bob's", scope=BOB)
                own = engram.remember("Ada's", scope=ADA)
                told = next(stream)
                tokens.named.revoke("ada", now=datetime.now(UTC))
                engram.remember("Ada's, when the token is gone", scope=ADA)
                rest = list(stream)

    assert other.status_code == 403
    assert told.data["id"] == own.id
    assert rest == []


def test_changes_of_other_processes_are_told(followed: Followed) -> None:
    """Whoever has the file open: the store is asked, not this process."""
    with following(followed.client) as stream, opened(followed.home) as other:
        memory = other.remember("Written beside the server")
        told = next(stream)

    assert told.data["id"] == memory.id


def test_a_stream_goes_on_where_it_was_cut_off(followed: Followed) -> None:
    """`Last-Event-ID` gives what happened meanwhile, in order and once."""
    with following(followed.client) as stream:
        followed.engram.remember("first")
        seen = next(stream)
    missed = [followed.engram.remember(text) for text in ("The second", "A third one")]

    with following(followed.client, after=seen.id) as stream:
        told = [next(stream), next(stream)]

    assert [one.data["id"] for one in told] == [memory.id for memory in missed]


@pytest.mark.parametrize("place", ["x", "-1", "1.5", "9" * 30, "１"])
def test_a_place_that_is_none_is_refused(followed: Followed, place: str) -> None:
    """422 and not a stream that never tells anything."""
    answer = followed.client.get("/v1/events", headers={b"Last-Event-ID": place.encode()})

    assert (answer.status_code, answer.json()["code"]) == (422, "E2004")


def test_a_place_beyond_the_end_is_the_end(followed: Followed) -> None:
    """A store that was put back from a copy has a shorter history than its followers remember."""
    with following(followed.client, after="999999") as stream:
        memory = followed.engram.remember("first")
        told = next(stream)

    assert told.data["id"] == memory.id


def test_streams_cannot_pile_up(tmp_path: Path) -> None:
    """One too many is sent away, and gets its place when another leaves."""
    monitoring = Monitoring(streams=Streams(max_open=2))
    with (
        opened(tmp_path) as engram,
        serving(engram, monitoring=monitoring) as server,
        client_of(server.url) as client,
    ):
        with following(client), following(client):
            refused = client.get("/v1/events")
            others = client.get("/v1/memories")
        is_let_in = _comes_in(client)

    assert (refused.status_code, refused.json()["code"]) == (503, "E5012")
    assert refused.headers["Retry-After"]
    assert others.status_code == 200
    assert is_let_in


def _comes_in(client: httpx.Client) -> bool:
    """Return whether a stream is let in soon."""
    for _ in range(50):
        with client.stream("GET", "/v1/events") as response:
            if response.status_code == 200:
                return True
        time.sleep(0.1)
    return False


def test_streams_end_with_the_server(tmp_path: Path) -> None:
    """A server with followers stops at once, and the followers see an orderly end."""
    ended = threading.Event()
    with opened(tmp_path) as engram:
        with serving(engram) as server:
            client = client_of(server.url)
            is_following = threading.Event()

            def follow() -> None:
                with following(client) as stream:
                    is_following.set()
                    assert list(stream) == []
                    ended.set()

            thread = threading.Thread(target=follow)
            thread.start()
            assert is_following.wait(30)
            start = time.monotonic()
        took = time.monotonic() - start
        thread.join()
        client.close()

    assert ended.is_set()
    assert took < 5


def post_and_listen(client: httpx.Client, path: str, body: object, **headers: str) -> list[Event]:
    """Post as somebody who wants to be told."""
    with client.stream(
        "POST", path, json=body, headers={"Accept": "text/event-stream", **headers}
    ) as response:
        assert response.headers["Content-Type"].startswith("text/event-stream")
        return list(events(response.iter_lines()))


def test_long_work_tells_how_far_it_is_and_then_its_answer(followed: Followed) -> None:
    """The last event is what the same request answers without the header."""
    for number in range(5):
        followed.engram.remember(f"statement {number}")
    count = followed.engram.status().by_status["active"]
    plain = followed.client.post("/v1/age", json={"dry_run": True}).json()

    aged = post_and_listen(followed.client, "/v1/age", {"dry_run": True})
    dreamt = post_and_listen(followed.client, "/v1/dream", {"dry_run": True})

    assert (aged[-1].name, set(aged[-1].data)) == ("result", set(plain))
    assert [one.data["done"] for one in aged[:-1]] == [count]
    assert dreamt[-1].name == "result"
    assert all("step" in one.data for one in dreamt[:-1])


def test_a_refusal_is_an_event_too(followed: Followed) -> None:
    """In the form of every error."""
    told = post_and_listen(followed.client, "/v1/remember", {"content": " "})

    assert [(one.name, one.data["code"]) for one in told] == [("error", "E4005")]


def test_a_told_write_may_be_sent_again(followed: Followed) -> None:
    """A key works with and without the stream, and keeps the answer, not the stream."""
    key = {"Idempotency-Key": "k1"}

    told = post_and_listen(followed.client, "/v1/remember", {"content": "I like tea"}, **key)
    again = followed.client.post("/v1/remember", json={"content": "I like tea"}, headers=key)

    assert again.headers["Idempotency-Replayed"] == "true"
    assert again.json() == told[-1].data
