"""The HTTP API on a real server: routes, errors, guards, limits."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from engramdb.http.guard import host_name
from engramdb.http.limits import MAX_BODY_BYTES
from engramdb.http.server import own_names

if TYPE_CHECKING:
    from starlette.testclient import TestClient

    from engramdb import Engram


def remember(client: TestClient, content: str, **options: Any) -> dict[str, Any]:
    """Remember over HTTP and return the memory."""
    answer = client.post("/v1/remember", json={"content": content, **options})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def recalled(client: TestClient, query: str, **options: Any) -> list[str]:
    """Recall over HTTP and return the contents of the hits."""
    answer = client.post("/v1/recall", json={"query": query, **options})
    assert answer.status_code == 200, answer.text
    return [hit["memory"]["content"] for hit in answer.json()["hits"]]


def test_health_tells_the_state_and_no_memory(client: TestClient) -> None:
    """A monitor learns that all is well, and nothing that anybody said."""
    remember(client, "Ada's secret")

    answer = client.get("/health")

    assert answer.json()["status"] == "ok"
    assert set(answer.json()) == {"status", "version", "failing"}
    assert "secret" not in answer.text


def test_health_names_what_fails(client: TestClient, engine: Engram) -> None:
    """A store that does not answer is 503 with the reason."""
    engine.close()

    answer = client.get("/health")

    assert answer.status_code == 503
    assert answer.json()["status"] == "degraded"
    assert answer.json()["failing"][0]["name"] == "store"


def test_the_verbs_work_over_http(client: TestClient) -> None:
    """Remember, recall, get, list, correct, forget and status, with the library's own shapes."""
    old = remember(client, "My editor is vim", category="preference", importance=0.7)

    assert client.get(f"/v1/memories/{old['id'][-8:]}").json() == old
    assert client.get("/v1/memories", params={"category": "preference"}).json() == [old]
    assert recalled(client, "editor") == ["My editor is vim"]

    body = {"id": old["id"], "content": "My editor is Helix", "reason": "switched"}
    new = client.post("/v1/correct", json=body).json()

    assert new["supersedes"] == old["id"]
    assert recalled(client, "editor") == ["My editor is Helix"]

    gone = client.post("/v1/forget", json={"id": new["id"], "reason": "enough"}).json()

    assert gone["status"] == "forgotten"
    assert recalled(client, "editor") == []
    assert client.get("/v1/status").json()["by_status"] == {"forgotten": 1, "superseded": 1}


def test_scopes_do_not_leak_over_http(client: TestClient) -> None:
    """A user's memory is not there for another user, by any route."""
    memory = remember(client, "Ada prefers tea", scope={"user": "ada"})

    assert recalled(client, "tea", scope={"user": "ada"}) == ["Ada prefers tea"]
    assert recalled(client, "tea", scope={"user": "bob"}) == []
    assert client.get("/v1/memories", params={"user": "bob"}).json() == []
    assert client.get(f"/v1/memories/{memory['id']}", params={"user": "bob"}).status_code == 404
    assert client.get(f"/v1/memories/{memory['id']}", params={"user": "ada"}).status_code == 200


def test_a_time_without_a_zone_is_utc_over_http(client: TestClient) -> None:
    """The same rule as on the command line."""
    memory = remember(client, "x", occurred_at="2026-05-08T14:30:00")

    assert memory["occurred_at"] == "2026-05-08T14:30:00Z"


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        ("/v1/remember", {"content": " "}, 422, "E4005"),
        ("/v1/remember", {"content": "x" * 9000}, 413, "E4004"),
        ("/v1/remember", {"content": "x", "importance": 7}, 422, "E4005"),
        ("/v1/remember", {"content": "x", "scope": {"user": ""}}, 422, "E5008"),
        ("/v1/remember", {"content": "x", "imortance": 1}, 422, "E4005"),
        ("/v1/remember", {"content": 7}, 422, "E4005"),
        ("/v1/recall", {"query": ""}, 422, "E2004"),
        ("/v1/recall", {"query": "x", "limit": 0}, 422, "E2004"),
        ("/v1/recall", {"query": "x", "limit": 10**30}, 422, "E2004"),
        ("/v1/recall", [], 422, "E4005"),
        ("/v1/forget", {"id": "nobody"}, 404, "E5005"),
        ("/v1/nothing", {}, 404, "E5000"),
        ("/health", {}, 405, "E5000"),
    ],
)
def test_every_refusal_has_the_same_form(
    client: TestClient, path: str, body: object, status: int, code: str
) -> None:
    """Code, message and hint, with the status of the table."""
    answer = client.post(path, json=body)

    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert set(answer.json()) == {"code", "message", "hint", "request_id"}


@pytest.mark.parametrize("body", [b"", b"{", b'{"query": "\\ud800"}', b"[" * 100_000, b'{"query": NaN}'])
def test_a_body_that_is_no_json_is_refused(client: TestClient, body: bytes) -> None:
    """Broken JSON is the sender's mistake, never a 500."""
    answer = client.post("/v1/recall", content=body, headers={"Content-Type": "application/json"})

    assert answer.status_code in (400, 422)
    assert set(answer.json()) == {"code", "message", "hint", "request_id"}


def test_an_error_of_the_store_keeps_its_code(client: TestClient, engine: Engram) -> None:
    """A full disk is 507, with the hint that nothing was lost."""
    writer = engine._parts.store._writer  # type: ignore[attr-defined]
    writer.pragma("max_page_count", writer.pragma("page_count"))

    answer = client.post("/v1/remember", json={"content": "a long statement " * 400})

    assert (answer.status_code, answer.json()["code"]) == (507, "E1003")
    assert answer.json()["hint"]


class Careless:
    """A part of the engine with a mistake in it that quotes what it was given."""

    def recall(self, query: object, **_options: object) -> NoReturn:
        """Fail in a way that nobody has foreseen."""
        raise RuntimeError(query)


def test_a_mistake_of_ours_is_told_without_memory_text(
    client: TestClient, engine: Engram, caplog: pytest.LogCaptureFixture
) -> None:
    """The answer is general, and the log names class and place but quotes nothing."""
    engine._parts.__dict__["recalls"] = Careless()
    with caplog.at_level(logging.DEBUG):
        answer = client.post("/v1/recall", json={"query": "Ada's secret"})

    assert (answer.status_code, answer.json()["code"]) == (500, "E0000")
    assert "RuntimeError" in caplog.text
    assert "secret" not in answer.text + caplog.text


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "[::2]:80"]
)
def test_a_rebound_name_is_refused(client: TestClient, host: str) -> None:
    """A page that points its own name at loopback reaches nothing."""
    for path in ("/", "/health", "/v1/memories", "/static/page.css"):
        assert client.get(path, headers={"Host": host}).status_code == 403


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1:7070", "[::1]:7070"])
def test_loopback_names_are_ours(client: TestClient, host: str) -> None:
    """However a person writes it, this machine is this machine."""
    assert client.get("/health", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site", "Origin": "http://evil.example"},
    ],
)
def test_a_post_from_another_site_is_refused(client: TestClient, headers: dict[str, str]) -> None:
    """A stranger's page cannot make the browser write or forget."""
    posted = client.post("/v1/remember", json={"content": "planted"}, headers=headers)
    sent = client.post("/remember", data={"content": "planted"}, headers=headers)

    assert (posted.status_code, sent.status_code) == (403, 403)
    assert client.get("/v1/memories").json() == []


def test_our_own_page_may_post(client: TestClient) -> None:
    """The Origin that the browser sends for our page is let through."""
    own = str(client.base_url).rstrip("/")

    answer = client.post("/v1/remember", json={"content": "x"}, headers={"Origin": own})

    assert answer.status_code == 200


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_the_api_takes_json_only(client: TestClient, kind: str) -> None:
    """The content types that a form can send without asking never reach the API."""
    answer = client.post("/v1/remember", content=b'{"content": "x"}', headers={"Content-Type": kind})

    assert (answer.status_code, answer.json()["code"]) == (415, "E4005")


def test_a_body_without_end_is_cut_off(client: TestClient) -> None:
    """Announced or not, a request beyond the limit is refused and not read to its end."""
    headers = {"Content-Type": "application/json"}
    piece = b" " * 100_000

    announced = client.post("/v1/remember", content=b" " * (MAX_BODY_BYTES + 1), headers=headers)
    streamed = client.post("/v1/remember", content=(piece for _ in range(30)), headers=headers)

    assert (announced.status_code, streamed.status_code) == (413, 413)
    assert client.get("/health").status_code == 200


def test_a_memory_as_large_as_allowed_comes_back_whole(client: TestClient) -> None:
    """Eight kilobytes of any script survive the way in and out."""
    text = ("Grüße 東京 🎉 é " * 400).encode()[: 8 * 1024].decode(errors="ignore").strip()

    memory = remember(client, text)

    assert memory["content"] == text
    assert client.get(f"/v1/memories/{memory['id']}").json()["content"] == text


def test_many_may_write_at_once(client: TestClient) -> None:
    """Every post that was answered is there afterwards."""
    texts = [f"statement number {number}" for number in range(40)]

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda text: remember(client, text), texts))

    found = client.get("/v1/memories", params={"limit": 100}).json()
    assert {memory["content"] for memory in found} == set(texts)


def test_the_api_is_described_and_nothing_is_loaded_from_elsewhere(client: TestClient) -> None:
    """/openapi.json is there, for programs, and the framework's own pages, which load from a CDN, are not."""
    paths = client.get("/openapi.json").json()["paths"]

    assert {"/health", "/v1/remember", "/v1/recall", "/v1/memories", "/v1/memories/{id}"} <= set(paths)
    assert "cdn" not in client.get("/docs").text
    assert client.get("/redoc").status_code == 404


def test_every_answer_carries_the_safe_headers(client: TestClient) -> None:
    """Also refusals and errors: nothing is cached, framed, sniffed or scripted."""
    for answer in (
        client.get("/"),
        client.get("/health"),
        client.get("/nothing"),
        client.get("/", headers={"Host": "evil"}),
    ):
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        assert "script-src" not in answer.headers["Content-Security-Policy"]
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize(
    ("host", "name"),
    [("localhost:80", "localhost"), ("[::1]:80", "[::1]"), ("[::1]", "[::1]"), ("A.b", "a.b"), ("", "")],
)
def test_a_port_is_no_part_of_a_name(host: str, name: str) -> None:
    """IPv6 addresses keep their brackets."""
    assert host_name(host) == name


def test_the_bound_address_is_a_name_of_ours() -> None:
    """A server on an address of its own answers to it and to loopback, and to no other name."""
    assert own_names("192.0.2.1") == {"localhost", "127.0.0.1", "[::1]", "192.0.2.1"}
    assert "[2001:db8::1]" in own_names("2001:db8::1")
