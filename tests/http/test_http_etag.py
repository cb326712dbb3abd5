"""ETags: an unchanged answer is 304, and a memory that has changed is not changed blindly."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from interrupted import Interrupted
from surfaces.in_process import client_of, post, talking

from engramdb import Engram
from engramdb.http.app import create_app
from engramdb.http.etags import is_among, is_stated_in

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from conftest import RunChild
    from starlette.testclient import TestClient


OTHER = "Tea is green"
"""Another memory, by its own words."""


@pytest.fixture
def talk(tmp_path: Path) -> Iterator[tuple[Engram, TestClient]]:
    """An engine and a client of it."""
    with talking(tmp_path / "served") as pair:
        yield pair


@pytest.fixture(scope="module")
def still(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A client of a store with one memory that nobody changes."""
    with talking(tmp_path_factory.mktemp("still")) as (engram, client):
        engram.remember("My editor is vim")
        yield client


@pytest.fixture
def client(talk: tuple[Engram, TestClient]) -> TestClient:
    """The client alone."""
    return talk[1]


@pytest.fixture
def engram(talk: tuple[Engram, TestClient]) -> Engram:
    """The engine alone."""
    return talk[0]


@pytest.mark.parametrize(
    "path",
    [
        "/v1/memories/{id}",
        "/v1/memories",
        "/v1/memories/{id}/history",
        "/v1/memories/{id}/links",
        "/v1/turns",
        "/v1/audit",
        "/v1/gaps",
        "/v1/dreams",
        "/v1/domains",
        "/v1/summaries",
        "/v1/timeline?topic=editor",
    ],
)
def test_what_is_known_already_is_not_sent_again(still: TestClient, path: str) -> None:
    """304 without a body for the same ETag, also among others and as a weak one; 200 for any other."""
    (memory,) = still.get("/v1/memories").json()
    asked = path.format(id=memory["id"])
    tag = still.get(asked).headers["ETag"]

    known = [still.get(asked, headers={"If-None-Match": value}) for value in (tag, f'"x", W/{tag}', "*")]
    other = still.get(asked, headers={"If-None-Match": '"x"'})

    assert [(one.status_code, one.content) for one in known] == [(304, b"")] * 3
    assert {one.headers["ETag"] for one in known} == {tag}
    assert (other.status_code, other.headers["ETag"]) == (200, tag)


def test_a_change_has_another_tag(client: TestClient, engram: Engram) -> None:
    """Of the memory and of the list; a recall changes the answer and so its tag."""
    memory = post(client, "remember", content="My editor is vim")
    paths = (f"/v1/memories/{memory['id']}", "/v1/memories")
    tags = [[client.get(path).headers["ETag"] for path in paths]]

    post(client, "recall", query="editor")
    engram.get(memory["id"])
    tags.append([client.get(path).headers["ETag"] for path in paths])
    engram.pin(memory["id"])
    tags.append([client.get(path).headers["ETag"] for path in paths])

    assert all(len(set(of_one)) == 3 for of_one in zip(*tags, strict=True))


def test_an_answer_to_a_write_has_the_tag_of_what_is_stored(client: TestClient) -> None:
    """So that the next change needs no look in between."""
    stored = client.post("/v1/remember", json={"content": "My editor is vim"})

    seen = client.get(f"/v1/memories/{stored.json()['id']}")

    assert stored.headers["ETag"] == seen.headers["ETag"]


@pytest.mark.parametrize(
    ("verb", "options"),
    [
        ("correct", {"content": "My editor is Helix"}),
        ("forget", {}),
        ("pin", {}),
        ("promote", {}),
        ("set_status", {"status": "archived"}),
        ("feedback", {"helpful": True}),
        ("relate", {"other": OTHER}),
        ("unrelate", {"other": OTHER}),
        ("erase", {}),
    ],
)
def test_a_memory_that_has_changed_is_left_alone(
    client: TestClient, engram: Engram, verb: str, options: dict[str, Any]
) -> None:
    """412 with an old tag, and nothing happens; with the new one it does."""
    stored = client.post("/v1/remember", json={"content": "My editor is vim"})
    memory_id, old = stored.json()["id"], stored.headers["ETag"]
    engram.remember(OTHER)
    engram.demote(memory_id)
    before = engram.get(memory_id)
    body = {"id": memory_id[-8:], **options}

    refused = client.post(f"/v1/{verb}", json=body, headers={"If-Match": old})
    unchanged = engram.get(memory_id)
    new = client.get(f"/v1/memories/{memory_id}").headers["ETag"]
    done = client.post(f"/v1/{verb}", json=body, headers={"If-Match": new})

    assert (refused.status_code, refused.json()["code"]) == (412, "E5014")
    assert unchanged == before
    assert done.status_code == 200, done.text


def test_being_recalled_is_no_change_that_matters(client: TestClient, engram: Engram) -> None:
    """Whoever read a memory may still correct it after others have recalled it and found it helpful."""
    stored = client.post("/v1/remember", json={"content": "My editor is vim"})
    memory_id = stored.json()["id"]
    post(client, "recall", query="editor", session="s1")
    post(client, "feedback", id=memory_id, helpful=True)

    body = {"id": memory_id, "content": "My editor is Helix"}
    done = client.post("/v1/correct", json=body, headers={"If-Match": stored.headers["ETag"]})

    assert done.status_code == 200
    assert engram.get(memory_id).access.count == 1


def test_of_two_with_the_same_tag_one_succeeds(client: TestClient, engram: Engram) -> None:
    """However close together they come."""
    stored = client.post("/v1/remember", json={"content": "My editor is vim"})
    headers = {"If-Match": stored.headers["ETag"]}
    bodies = [{"id": stored.json()["id"], "content": f"My editor is number {number}"} for number in range(8)]

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda body: client.post("/v1/correct", json=body, headers=headers), bodies))

    statuses = sorted(answer.status_code for answer in answers)
    assert statuses == [200, *[412] * 7]
    assert len(engram.list()) == 1


def test_verbs_of_two_kinds_do_not_pass_each_other(client: TestClient) -> None:
    """A pin and a correction with the same tag: one of them, whichever came first."""
    stored = client.post("/v1/remember", json={"content": "My editor is vim"})
    headers, one = {"If-Match": stored.headers["ETag"]}, {"id": stored.json()["id"]}
    sent = [("pin", one), ("correct", {**one, "content": "My editor is Helix"}), ("forget", one)] * 2

    with ThreadPoolExecutor(6) as pool:
        answers = list(
            pool.map(lambda pair: client.post(f"/v1/{pair[0]}", json=pair[1], headers=headers), sent)
        )

    assert sorted(answer.status_code for answer in answers) == [200, *[412] * 5]


def test_another_process_cannot_come_between(own_home: Path, child: RunChild) -> None:
    """A command changes the memory after its tag was compared: the request gets 412 and writes nothing."""
    embedder, said = Interrupted(), []
    command = """
        import sys
        from engramdb.cli.main import run
        sys.argv = ["engram", "pin", *sys.argv[1:]]
        run()
    """
    with Engram.open(embedder=embedder, background=False) as engram, client_of(create_app(engram)) as client:
        stored = client.post("/v1/remember", json={"content": "My editor is vim"})
        memory_id = stored.json()["id"]
        embedder.meanwhile = lambda: said.append(child(command, memory_id))

        body = {"id": memory_id, "content": "My editor is Helix"}
        refused = client.post("/v1/correct", json=body, headers={"If-Match": stored.headers["ETag"]})
        left = engram.list()

    assert len(said) == 1
    assert (refused.status_code, refused.json()["code"]) == (412, "E5014")
    assert [(one.content, one.pinned) for one in left] == [("My editor is vim", True)]


def test_two_servers_of_one_store_let_one_of_their_callers_win(tmp_path: Path) -> None:
    """Each server has its own process in life; what they share is the file."""
    with (
        talking(tmp_path / "served") as (_, first),
        talking(tmp_path / "served") as (engram, second),
        ThreadPoolExecutor(6) as pool,
    ):
        for number in range(4):
            stored = first.post("/v1/remember", json={"content": f"Parcel {number} is on shelf {number}"})
            headers = {"If-Match": stored.headers["ETag"]}
            sent = [
                (client, {"id": stored.json()["id"], "content": f"Parcel {number} is with {name}"})
                for client in (first, second)
                for name in ("Ada", "Bo", "Cy")
            ]

            answers = pool.map(
                lambda pair, headers=headers: pair[0].post("/v1/correct", json=pair[1], headers=headers), sent
            )

            assert sorted(one.status_code for one in answers) == [200, *[412] * 5]
        assert len(engram.list()) == 4


def test_a_condition_on_a_whole_person_is_refused(client: TestClient) -> None:
    """`If-Match` names the state of one memory; passing it over would erase what it was to protect."""
    answer = client.post("/v1/erase", json={"user": "ann"}, headers={"If-Match": "*"})

    assert (answer.status_code, answer.json()["code"]) == (422, "E2004")


def test_any_state_will_do_if_it_is_there(client: TestClient) -> None:
    """`If-Match: *` changes what exists and is 404 for what does not."""
    memory = post(client, "remember", content="My editor is vim")

    there = client.post("/v1/pin", json={"id": memory["id"]}, headers={"If-Match": "*"})
    absent = client.post("/v1/pin", json={"id": "nobody"}, headers={"If-Match": "*"})

    assert (there.status_code, absent.status_code) == (200, 404)


@pytest.mark.parametrize(
    ("header", "is_known", "is_stated"),
    [
        ('"a.b"', True, True),
        ('W/"a.b"', True, True),
        ('"x", "a.b"', True, True),
        ("*", True, True),
        ('"a.c"', False, True),
        ('"c.b"', False, False),
        ("", False, False),
        (",,", False, False),
        ("a.b", False, False),
    ],
)
def test_headers_are_read_as_they_are_written(header: str, is_known: bool, is_stated: bool) -> None:
    """Lists, weak ones and stars; what is no tag names nothing."""
    assert is_among('"a.b"', header) is is_known
    assert is_stated_in('"a.b"', header) is is_stated
