"""Requests that no sensible client sends are answered in our form, and never with a server error."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from surfaces.in_process import read, talking

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.testclient import TestClient

JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A client of a store with one memory; whatever is sent here is refused or harmless."""
    with talking(tmp_path_factory.mktemp("odd")) as (engram, client):
        engram.remember("Ada Lovelace drinks tea")
        yield client


def in_our_form(answer: Any) -> bool:
    """Return whether a refusal has code, message and hint."""
    return {"code", "message", "hint"} <= set(answer.json())


@pytest.mark.parametrize(
    "path", ["/", "/docs", "/openapi.json", "/health", "/v1/memories", "/v1/status", "/static/page.css"]
)
def test_head_says_what_get_would(client: TestClient, path: str) -> None:
    """The same status and headers, and no body."""
    whole, head = client.get(path), client.head(path)

    assert (head.status_code, head.content) == (200, b"")
    for name in ("Content-Type", "Content-Length", "Cache-Control", "Content-Security-Policy"):
        assert head.headers[name] == whole.headers[name]
    assert head.headers.get("ETag") == whole.headers.get("ETag")


def test_head_of_a_stream_ends(client: TestClient) -> None:
    """Its headers are known at once, and nobody waits for its end."""
    head = client.head("/v1/events")

    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["Content-Type"].startswith("text/event-stream")


def test_head_of_what_is_not_there(client: TestClient) -> None:
    """Is refused as GET is, and of what can only be posted to, too."""
    assert client.head("/v1/memories/nobody").status_code == 404
    assert client.head("/nothing").status_code == 404
    assert client.head("/v1/recall").status_code == 405


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v1/nothing", 404),
        ("GET", "/v2/memories", 404),
        ("GET", "/v1/recall", 405),
        ("POST", "/v1/memories", 405),
        ("DELETE", "/v1/memories/x", 405),
        ("PUT", "/v1/remember", 405),
        ("PATCH", "/health", 405),
        ("OPTIONS", "/v1/recall", 405),
    ],
)
def test_what_does_not_exist_is_refused_in_our_form(
    client: TestClient, method: str, path: str, status: int
) -> None:
    """With the methods that do, where there are any."""
    answer = client.request(method, path, headers=JSON)

    assert answer.status_code == status
    assert in_our_form(answer)
    assert ("Allow" in answer.headers) is (status == 405)


@pytest.mark.parametrize("verb", ["remember", "recall", "forget", "age", "flush", "dream"])
def test_a_post_without_a_body_says_what_is_missing(client: TestClient, verb: str) -> None:
    """Rather than doing something with nothing."""
    empty = client.post(f"/v1/{verb}", headers=JSON)
    bare = client.post(f"/v1/{verb}")

    assert (empty.status_code, bare.status_code) == (422, 415)
    assert "body" in empty.json()["message"]
    assert "application/json" in bare.json()["hint"]


@pytest.mark.parametrize(
    "body",
    [
        b"null",
        b"[]",
        b'"text"',
        b"7",
        b'{"query": "x"} trailing',
        b'{"query": "x", "limit": 1e400}',
        b'{"query": "x", "limit": NaN}',
        b'{"query": "x", "limit": 99999999999999999999999999}',
        b'{"query": "x", "limit": 1.5}',
        b'{"query": "\\ud800"}',
        b'{"query": "x", "session": "\\udfff"}',
        b'{"query": "x", "filters": {"speakers": ["\\ud800"]}}',
        b'{"query": "x", "scope": {"user": "\\u0000"}}',
        b'{"query": "x", "as_of": "0001-01-01T00:00:00+14:00"}',
        b'{"query": "x", "as_of": "9999-12-31T23:59:59-14:00"}',
        b'{"query": "x", "as_of": 1e300}',
        b"\xff\xfe",
        b'{"query": "\xff"}',
        b"{" * 5000,
    ],
)
def test_a_strange_body_is_the_sender_s_mistake(client: TestClient, body: bytes) -> None:
    """Told in our form, with 4xx."""
    answer = client.post("/v1/recall", content=body, headers=JSON)

    assert answer.status_code in (400, 422), answer.text
    assert in_our_form(answer)


@pytest.mark.parametrize(
    "text", ["\x00", "a\x00b", "\x1b[31m", "\u202e", "👩‍👩‍👧‍👦", "a" * 7000, "\n\n\t", "\ufeff"]
)
@pytest.mark.parametrize(
    ("verb", "field"),
    [("recall", "query"), ("remember", "content"), ("observe", "content"), ("context", "message")],
)
def test_strange_texts_break_nothing(client: TestClient, verb: str, field: str, text: str) -> None:
    """Control characters, marks of direction, emoji, nothing at all: taken or refused, never a crash."""
    answer = client.post(f"/v1/{verb}", json={field: text, "session": "odd", "scope": {"user": "odd"}})

    assert answer.status_code in (200, 413, 422), answer.text


@pytest.mark.parametrize(
    "text", ["%00", "a%00b", "%ED%A0%80", "%FF", "%F0%9F%91%A9", "..%2F..", "a" * 5000, "%25"]
)
@pytest.mark.parametrize(
    "path",
    [
        "/v1/memories/{}",
        "/v1/memories/{}/history",
        "/v1/entities/{}",
        "/v1/timeline?topic={}",
        "/v1/confidence?query={}",
        "/v1/memories?session={}",
        "/v1/memories?user={}",
        "/v1/memories?before={}",
        "/v1/turns?session={}",
        "/v1/summaries?query={}",
    ],
)
def test_strange_addresses_break_nothing(client: TestClient, path: str, text: str) -> None:
    """Half characters, zeros, paths, megabytes: answered or refused, never a crash."""
    answer = client.get(path.format(text))

    assert answer.status_code in (200, 404, 413, 422), answer.text
    assert answer.status_code == 200 or in_our_form(answer)


@pytest.mark.parametrize(
    "path",
    [
        "/v1/memories?user=ada&user=bob",
        "/v1/memories?limit=1&limit=2",
        "/v1/timeline?topic=a&topic=b",
        "/v1/forecast?id=a&id=b",
        "/v1/turns?session=a&session=b",
        "/v1/status?user=ada&user=bob",
        "/v1/doctor?fix=true",
        "/health?deep=yes",
    ],
)
def test_what_means_one_thing_is_given_once(client: TestClient, path: str) -> None:
    """Of two users, none is chosen in silence; and what is not known is not passed over."""
    answer = client.get(path)

    assert (answer.status_code, answer.json()["code"]) == (422, "E2004")


@pytest.mark.parametrize("path", ["/v1/memories", "/v1/status", "/v1/dreams", "/v1/forecast"])
def test_a_parameter_that_is_not_known_is_not_passed_over(client: TestClient, path: str) -> None:
    """Where others are taken: a misspelled scope must not become the whole store."""
    answer = client.get(f"{path}?usr=ada")

    assert (answer.status_code, answer.json()["code"]) == (422, "E4005")


@pytest.mark.parametrize("days", ["nan", "inf", "-1", "1e308", "0"])
def test_numbers_that_are_none_are_refused(client: TestClient, days: str) -> None:
    """In every place that takes days."""
    for path in (f"/v1/forecast?days={days}", f"/v1/policies/compare?days=1&days={days}"):
        answer = client.get(path)
        assert answer.status_code == 422, (path, answer.text)


@pytest.mark.parametrize(
    "body",
    [
        {"message": "x", "budget": 10**30},
        {"message": "x", "reserve": -1},
        {"message": "x", "history": [{"role": "king", "content": "x"}]},
        {"message": "x", "history": [{"role": "user"}]},
        {"message": "x", "working": [{"text": "x", "activation": 7}]},
        {"message": "x", "fixed": ["x" * 1_900_000]},
    ],
)
def test_a_prompt_that_cannot_be_is_refused(client: TestClient, body: dict[str, Any]) -> None:
    """Sizes, roles and shapes are checked before any work."""
    answer = client.post("/v1/context", content=json.dumps(body), headers=JSON)

    assert answer.status_code in (413, 422)
    assert in_our_form(answer)


def test_a_body_that_breaks_off_is_told_where(client: TestClient) -> None:
    """By the place, and never by the words around it."""
    answer = client.post("/v1/recall", content=b'{"query": "tea', headers=JSON)

    assert answer.status_code == 422
    assert answer.json()["message"] == "the body is not JSON, from character 10 on"


def test_nothing_of_this_has_touched_the_memory(client: TestClient) -> None:
    """Last of all and in any order: it is as it was."""
    assert [one["content"] for one in read(client, "memories")] == ["Ada Lovelace drinks tea"]


@pytest.mark.parametrize(
    "body",
    [
        r'{"query": "tea", "\ud800": 1}',
        r'{"query": "tea", "scope": {"\udfff": 1}}',
        '{"query": "tea", "limit": ' + "9" * 5000 + "}",
        "[" * 100_000,
        '{"query": "tea", "limit": NaN}',
    ],
    ids=["half a name", "half a name inside", "digits", "brackets", "not a number"],
)
@pytest.mark.parametrize("verb", ["recall", "remember", "remember_many"])
def test_no_body_is_a_mistake_of_the_server(client: TestClient, verb: str, body: str) -> None:
    """Names that cannot be written, numbers without end and towers of brackets are the caller's mistakes."""
    answer = client.post(f"/v1/{verb}", content=body.encode(), headers=JSON)

    assert answer.status_code in (400, 422)
    assert in_our_form(answer)


@pytest.mark.parametrize("value", ["my PIN's 1234", 'my "PIN" 1234', "PIN 1234"])
def test_a_refusal_names_the_field_and_never_its_value(client: TestClient, value: str) -> None:
    """What was meant for a memory stands in no error, in whichever quotes."""
    answer = client.post("/v1/remember", json={"content": "x", "layer": value})

    assert answer.status_code in (400, 422)
    assert "layer" in answer.json()["message"]
    assert "1234" not in answer.text
