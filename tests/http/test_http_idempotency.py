"""Idempotency keys: a write that is sent again is answered, and not carried out again."""

from __future__ import annotations

import threading
import uuid
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from surfaces.serving import Held, add, client_of, held, opened, serving, tokens_in

from engramdb import Engram, Scope
from engramdb.engine.idempotency import ReplyStore
from engramdb.testing import ManualClock, TinyEmbedder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import httpx
    import numpy as np
    from numpy.typing import NDArray

KEY = "Idempotency-Key"
REPLAYED = "Idempotency-Replayed"
ENOUGH_PAGES = 1 << 30

pytestmark = pytest.mark.xdist_group("http-once")  # one server for most of them


def remember(client: httpx.Client, content: str, key: str, **options: Any) -> httpx.Response:
    """Send one write under a key."""
    return client.post("/v1/remember", json={"content": content, **options}, headers={KEY: key})


def contents(client: httpx.Client, **scope: str) -> list[tuple[str, int]]:
    """Return what is stored, and how often each was confirmed."""
    found = client.get("/v1/memories", params={"limit": 100, **scope}).json()
    return sorted((one["content"], one["reinforcements"]) for one in found)


class Brittle(TinyEmbedder):
    """An embedder with a mistake that comes and goes."""

    is_broken = False

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed, or fail in a way that nobody has foreseen."""
        if self.is_broken:
            raise RuntimeError
        return super().embed_documents(texts)


class Kept(NamedTuple):
    """A server, the clock of its store, and the user whose scope the test has to itself."""

    client: httpx.Client
    engram: Engram
    clock: ManualClock
    embedder: Brittle
    user: str

    def key(self, name: str) -> str:
        """Return a key of this test's own."""
        return f"{self.user}-{name}"

    def remember(self, content: str, name: str) -> httpx.Response:
        """Send one write under a key."""
        return remember(self.client, content, self.key(name), scope={"user": self.user})

    def contents(self) -> list[tuple[str, int]]:
        """Return what this test has stored, and how often each was confirmed."""
        return contents(self.client, user=self.user)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kept]:
    """A server whose store has a clock that the tests move."""
    clock, embedder, home = ManualClock(), Brittle(), tmp_path_factory.mktemp("once")
    with (
        opened(home, clock=clock, embedder=embedder) as engram,
        serving(engram) as served,
        client_of(served.url) as client,
    ):
        yield Kept(client, engram, clock, embedder, "")


@pytest.fixture
def kept(server: Kept) -> Kept:
    """The server, for a user whom no other test knows."""
    return server._replace(user=f"user-{uuid.uuid4().hex}")


def test_the_same_request_has_the_same_answer_and_is_carried_out_once(kept: Kept) -> None:
    """Body, status and ETag are those of the first time, and the memory was not confirmed by the second."""
    first = kept.remember("I like tea", "k1")
    second = kept.remember("I like tea", "k1")

    assert (second.status_code, second.content) == (first.status_code, first.content)
    assert second.headers.get("ETag") == first.headers.get("ETag")
    assert (first.headers.get(REPLAYED), second.headers[REPLAYED]) == (None, "true")
    assert kept.contents() == [("I like tea", 0)]


def test_a_key_stands_for_one_request(kept: Kept) -> None:
    """Another body or another route under the same key is an error, and is not carried out."""
    kept.remember("I like tea", "k1")

    body = kept.remember("I like coffee", "k1")
    route = kept.client.post("/v1/observe", json={"content": "I like tea"}, headers={KEY: kept.key("k1")})

    assert [(one.status_code, one.json()["code"]) for one in (body, route)] == [(422, "E5010")] * 2
    assert kept.contents() == [("I like tea", 0)]


def test_a_refusal_is_remembered_and_a_failure_is_not(kept: Kept) -> None:
    """What is wrong stays wrong; what failed may be tried again under the same key."""
    wrong = [kept.remember(" ", "k1") for _ in range(2)]

    told = "I like tea, and this is why: " + "it is warm. " * 400
    writer = kept.engram._parts.store._writer  # type: ignore[attr-defined]
    writer.execute("VACUUM")  # what other tests have deleted would leave room
    writer.pragma("max_page_count", writer.pragma("page_count"))
    failed = kept.remember(told, "k2")
    writer.pragma("max_page_count", ENOUGH_PAGES)
    retried = kept.remember(told, "k2")

    assert [one.status_code for one in wrong] == [422, 422]
    assert wrong[1].headers[REPLAYED] == "true"
    assert (failed.status_code, retried.status_code) == (507, 200)
    assert REPLAYED not in retried.headers


@pytest.mark.parametrize("key", ["", "a key", "k" * 256, "\x01"])
def test_a_key_is_short_and_visible(kept: Kept, key: str) -> None:
    """Anything else is refused before anything is done."""
    answer = remember(kept.client, "I like tea", key, scope={"user": kept.user})

    assert (answer.status_code, answer.json()["code"]) == (422, "E4005")
    assert kept.contents() == []


def test_a_question_is_asked_anew_whatever_its_key(kept: Kept) -> None:
    """An answer that was kept would show what has been forgotten since."""
    memory = kept.remember("I like tea", "k1").json()
    place = {"scope": {"user": kept.user}}
    asked = {"json": {"query": "tea", **place}, "headers": {KEY: kept.key("k2")}}

    before = kept.client.post("/v1/recall", **asked).json()["hits"]  # type: ignore[arg-type]
    kept.client.post("/v1/forget", json={"id": memory["id"], **place})
    after = kept.client.post("/v1/recall", **asked).json()["hits"]  # type: ignore[arg-type]

    assert (len(before), len(after)) == (1, 0)


def test_a_key_is_forgotten_after_a_day(kept: Kept) -> None:
    """The same request is then a new one, and confirms what is known."""
    kept.remember("I like tea", "k1")

    kept.clock.advance(hours=23)
    within = kept.remember("I like tea", "k1")
    kept.clock.advance(hours=2)
    later = kept.remember("I like tea", "k1")

    assert (within.headers.get(REPLAYED), later.headers.get(REPLAYED)) == ("true", None)
    assert later.json()["reinforcements"] == 1


def cut_off(kept: Kept, name: str) -> None:
    """Leave a key as a process leaves it that is killed between a write and its answer, a moment ago."""
    store = kept.engram._parts.store
    with store.read() as tx:
        known = tx.replies.get("", kept.key(name))
    assert known is not None
    kept.engram.replies.drop("", kept.key(name))
    ReplyStore(store, kept.clock).begin("", kept.key(name), request=known.request)
    kept.clock.advance(seconds=6)


def test_a_request_under_way_in_another_process_is_not_carried_out_here(kept: Kept) -> None:
    """Nobody can tell it from one that was cut off just now: it is told to come again, and soon may."""
    first = kept.remember("I like tea", "k1")
    cut_off(kept, "k1")
    kept.clock.advance(seconds=-5)

    early = kept.remember("I like tea", "k1")
    other = kept.remember("I like coffee", "k1")
    kept.clock.advance(seconds=5)
    late = kept.remember("I like tea", "k1")

    assert (early.status_code, early.json()["code"], early.headers["Retry-After"]) == (409, "E5011", "1")
    assert (other.status_code, other.json()["code"]) == (422, "E5010")
    assert (late.status_code, late.json()["id"]) == (200, first.json()["id"])


def test_a_request_cut_off_by_a_crash_is_carried_out_and_adds_nothing_twice(kept: Kept) -> None:
    """The write was durable and its answer was not: the write pipeline recognises the statement."""
    kept.client.post("/v1/remember", json={"content": "I like tea", "scope": {"user": kept.user}})
    started = kept.remember("I like tea", "k1")
    cut_off(kept, "k1")

    again = kept.remember("I like tea", "k1")

    assert again.status_code == 200
    assert again.headers.get(REPLAYED) is None
    assert again.json()["id"] == started.json()["id"]
    assert [content for content, _ in kept.contents()] == ["I like tea"]


def test_a_message_cut_off_by_a_crash_is_kept_once(kept: Kept) -> None:
    """It was durable and its answer was not; the same words said again later are another message."""
    body = {"content": "Shall we go?", "session": kept.user}
    sent = {"json": body, "headers": {KEY: kept.key("k1")}}
    first = kept.client.post("/v1/observe", **sent)  # type: ignore[arg-type]
    cut_off(kept, "k1")

    again = kept.client.post("/v1/observe", **sent)  # type: ignore[arg-type]
    later = kept.client.post("/v1/observe", json=body, headers={KEY: kept.key("k2")})

    assert again.json() == first.json()
    assert later.json()["id"] != first.json()["id"]
    assert len(kept.engram.turns(session=kept.user)) == 2


def test_an_answer_goes_with_what_it_tells_of(kept: Kept) -> None:
    """After an erasure the key is known and its words are gone; sending it again brings nothing back."""
    memory = kept.remember("The codeword is zanzibarium", "k1").json()
    kept.client.post("/v1/erase", json={"id": memory["id"], "scope": {"user": kept.user}})

    again = kept.remember("The codeword is zanzibarium", "k1")

    assert (again.status_code, again.json()["code"]) == (410, "E5013")
    assert kept.contents() == []
    with kept.engram._parts.store.read() as tx:
        left = tx.replies.get("", kept.key("k1"))
    assert left is not None
    assert (left.body, left.request, dict(left.headers)) == (None, b"", {})


def test_a_key_survives_a_restart(tmp_path: Path) -> None:
    """The answer is in the store, and another process finds it there."""
    answers = []
    for _ in range(2):
        with opened(tmp_path) as engram, serving(engram) as server, client_of(server.url) as client:
            answers.append(remember(client, "I like tea", "k1"))
            stored = contents(client)

    assert answers[1].headers[REPLAYED] == "true"
    assert answers[1].content == answers[0].content
    assert stored == [("I like tea", 0)]


def test_a_key_belongs_to_its_caller(tmp_path: Path) -> None:
    """Two tokens may use the same key, and neither sees the other's answer."""
    with opened(tmp_path) as engram:
        tokens = tokens_in(tmp_path)
        ada = add(tokens.named, "ada", Scope(user="ada"))
        bob = add(tokens.named, "bob", Scope(user="bob"))
        with (
            serving(engram, tokens=tokens) as server,
            client_of(server.url, ada) as first,
            client_of(server.url, bob) as second,
        ):
            answers = [remember(first, "I like tea", "k1"), remember(second, "I like tea", "k1")]

    assert [one.headers.get(REPLAYED) for one in answers] == [None, None]
    assert [one.json()["scope"]["user"] for one in answers] == ["ada", "bob"]


def test_two_at_once_are_not_both_carried_out(tmp_path: Path) -> None:
    """The second is told to come again, and is then answered like the first."""
    answers: list[httpx.Response] = []
    with held(tmp_path) as (embedder, engram), serving(engram) as server, client_of(server.url) as client:
        first = threading.Thread(target=lambda: answers.append(remember(client, "I like tea", "k1")))
        first.start()
        assert embedder.has_begun.wait(30)

        second = remember(client, "I like tea", "k1")
        embedder.may_go.set()
        first.join()
        third = remember(client, "I like tea", "k1")

    assert (second.status_code, second.json()["code"], second.headers["Retry-After"]) == (409, "E5011", "1")
    assert third.headers[REPLAYED] == "true"
    assert third.content == answers[0].content


class Signs(ReplyStore):
    """Answers of a process whose signs of life are often and can be waited for."""

    renew_seconds = 0.02
    is_alive = True

    def __init__(self, engram: Engram) -> None:
        super().__init__(engram._parts.store, engram._parts.clock)
        self.given = threading.Semaphore(0)

    def renew(self, caller: str, key: str) -> bool:
        """Give a sign, and count it."""
        is_held = not self.is_alive or super().renew(caller, key)
        self.given.release()
        return is_held

    def wait(self) -> None:
        """Wait for a sign that is given from now on; the next to be counted may be on its way already."""
        while self.given.acquire(blocking=False):
            pass
        assert self.given.acquire(timeout=30)
        assert self.given.acquire(timeout=30)


@pytest.mark.parametrize(("is_alive", "told"), [(True, 409), (False, 200)])
def test_a_long_request_is_left_to_the_server_that_is_alive(
    tmp_path: Path, is_alive: bool, told: int
) -> None:
    """Its key is held for as long as it takes, and then the other server gives its answer as well."""
    clock, embedder = ManualClock(), Held()
    with (
        opened(tmp_path, clock=clock, embedder=embedder) as engram,
        opened(tmp_path, clock=clock) as beside,
    ):
        signs = engram._parts.replies = Signs(engram)
        signs.is_alive = is_alive
        with (
            serving(engram) as server,
            serving(beside) as second,
            client_of(server.url) as client,
            client_of(second.url) as other,
        ):
            answers: list[httpx.Response] = []
            first = threading.Thread(target=lambda: answers.append(remember(client, "I like tea", "k1")))
            first.start()
            assert embedder.has_begun.wait(30)
            clock.advance(seconds=4)
            signs.wait()
            clock.advance(seconds=4)
            early = remember(other, "I like tea", "k1")
            embedder.may_go.set()
            first.join()
            late = remember(other, "I like tea", "k1")

    assert early.status_code == told
    assert late.headers[REPLAYED] == "true"
    assert late.content == answers[0].content or not is_alive
