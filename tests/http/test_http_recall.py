"""The routes that answer, with the library's own shapes, on a store whose time the test moves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from speaking import say

from engramdb import Engram, Settings
from engramdb.values import EntityProfile, Recall, Timeline

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from starlette.testclient import TestClient

    from engramdb.testing import ManualClock, TinyEmbedder


@pytest.fixture
def engine(tmp_path: Path, clock: ManualClock, embedder: TinyEmbedder) -> Iterator[Engram]:
    """An engine on a fresh store that keeps the test's time."""
    settings = Settings(home=tmp_path / "served")
    with Engram.open(settings=settings, clock=clock, embedder=embedder, background=False) as opened:
        yield opened


def asked(client: TestClient, query: str, **options: Any) -> dict[str, Any]:
    """Recall over HTTP and return the answer."""
    answer = client.post("/v1/recall", json={"query": query, **options})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def contents(answer: dict[str, Any]) -> list[str]:
    """Return what the hits say, best first."""
    return [hit["memory"]["content"] for hit in answer["hits"]]


def test_an_answer_is_the_library_s_own_value(client: TestClient, engine: Engram) -> None:
    """With `explain` it also holds what was left out; without, it does not."""
    engine.remember("Helix is my editor")
    engine.remember("Vim was my editor once")

    plain = asked(client, "editor", limit=1)
    explained = asked(client, "editor", limit=1, explain=True)

    assert set(plain) == set(Recall.__struct_fields__)
    assert (len(plain["also_considered"]), len(explained["also_considered"])) == (0, 1)
    assert {"intent", "level", "period", "stages", "strategy", "text_weight"} <= set(plain["quality"])


def test_the_past_answers_as_it_was_over_http(client: TestClient, engine: Engram, clock: ManualClock) -> None:
    """A moment with or without a time zone; without one it is UTC."""
    old = engine.remember("My editor is vim")
    then = clock.now()
    clock.advance(days=30)
    engine.correct(old.id, "My editor is Helix")

    assert contents(asked(client, "editor")) == ["My editor is Helix"]
    for moment in (then.isoformat(), then.replace(tzinfo=None).isoformat()):
        assert contents(asked(client, "editor", as_of=moment)) == ["My editor is vim"]


def test_a_recall_belongs_to_its_session_over_http(client: TestClient, engine: Engram) -> None:
    """Two conversations are two sessions in the memory's log."""
    memory = engine.remember("Helix is my editor")

    asked(client, "editor", session="s1")
    asked(client, "editor", session="s2", strategy="mmr")

    assert engine.get(memory.id).access.sessions == 2


def test_filters_and_modes_narrow_over_http(client: TestClient, engine: Engram) -> None:
    """In the body of a question and in the address of a list, by the same words."""
    engine.remember("Ada deploys with Kubernetes", speaker="Ada", type="procedure")  # type: ignore[arg-type]
    engine.remember("Ben deploys by hand", speaker="Ben")

    by_filter = asked(client, "deploys", filters={"speakers": ["Ada"], "technologies": ["k8s"]})
    by_mode = asked(client, "deploys", mode="facts_only")
    listed = client.get("/v1/memories", params={"speaker": "Ada", "technology": ["k8s", "rust"]}).json()

    assert contents(by_filter) == [listed[0]["content"]] == ["Ada deploys with Kubernetes"]
    assert contents(by_mode) == ["Ben deploys by hand"]


def test_lists_are_narrowed_by_everything(client: TestClient, engine: Engram) -> None:
    """Every parameter of the address reaches the engine."""
    engine.remember("Tea is nice")

    for name, fitting, other in (
        ("layer", "semantic", "episodic"),
        ("type", "fact", "narrative"),
        ("kind", "note", "episode"),
        ("category", "fact", "decision"),
        ("status", "active", "archived"),
        ("since", "2020-01-01T00:00:00Z", "2040-01-01T00:00:00Z"),
        ("until", "2040-01-01T00:00:00Z", "2020-01-01T00:00:00Z"),
    ):
        assert len(client.get("/v1/memories", params={name: fitting}).json()) == 1, name
        assert client.get("/v1/memories", params={name: other}).json() == [], name
    for name in ("entity", "path", "language", "session"):
        assert client.get("/v1/memories", params={name: "nothing like it"}).json() == [], name


def test_a_timeline_is_told_over_http(client: TestClient, engine: Engram, clock: ManualClock) -> None:
    """Oldest first, and to its own scope only."""
    old = engine.remember("My editor is vim")
    clock.advance(days=1)
    engine.correct(old.id, "My editor is Helix", reason="switched")

    told = client.get("/v1/timeline", params={"topic": "editor"}).json()

    assert set(told) == set(Timeline.__struct_fields__)
    assert [entry["change"] for entry in told["entries"]] == ["addition", "correction"]
    assert told["entries"][1]["replaced"]["id"] == old.id


def test_answers_keep_to_their_scope(client: TestClient, engine: Engram) -> None:
    """Timeline, entity and feedback know nothing of another user's memories."""
    body = {"content": "Priya Raman lives in Leeds", "scope": {"user": "ada"}}
    memory_id = client.post("/v1/remember", json=body).json()["id"]
    feedback = {"id": memory_id, "helpful": True}

    for user, status in (("ada", 200), ("bob", 404)):
        told = client.get("/v1/timeline", params={"topic": "Priya Raman", "user": user})
        assert ("Leeds" in told.text) is (user == "ada")
        profile = client.get("/v1/entities/Priya Raman", params={"user": user})
        assert profile.status_code == status
        sent = client.post("/v1/feedback", json={**feedback, "scope": {"user": user}})
        assert sent.status_code == status


def test_an_entity_is_found_by_any_name(client: TestClient, engine: Engram) -> None:
    """Also by one with a slash, which is no part of the address."""
    engine.remember("Priya Raman edits src/app.py")

    person = client.get("/v1/entities/Priya%20Raman").json()
    file = client.get("/v1/entities/src%2Fapp.py")

    assert set(person) == set(EntityProfile.__struct_fields__)
    assert person["entity"]["type"] == "person"
    assert file.json()["entity"]["name"] == "src/app.py"


def test_feedback_over_http_shapes_the_next_answer(client: TestClient, engine: Engram) -> None:
    """What was of no help is left out for that question and no other."""
    memory = engine.remember("Helix is my editor")

    body = {"id": memory.id[-8:], "helpful": False, "query": "which editor?"}
    told = client.post("/v1/feedback", json=body).json()

    assert (told["helped"], told["unhelpful"]) == (0, 1)
    assert contents(asked(client, "which editor?")) == []
    assert contents(asked(client, "Helix")) == ["Helix is my editor"]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"as_of": "yesterday"}, "E4005"),
        ({"strategy": "mrr"}, "E2004"),
        ({"mode": "facts"}, "E4005"),
        ({"mode": "facts_only", "filters": {"types": ["procedure"]}}, "E2004"),
        ({"filters": {"sentiments": ["merry"]}}, "E2004"),
        ({"filters": {"paths": [""]}}, "E2004"),
        ({"filters": {"colours": ["red"]}}, "E4005"),
        ({"explian": True}, "E4005"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused(
    client: TestClient, body: dict[str, Any], code: str
) -> None:
    """Nothing is guessed, and nothing is ignored."""
    answer = client.post("/v1/recall", json={"query": "x", **body})

    assert (answer.status_code, answer.json()["code"]) == (422, code)


@pytest.mark.parametrize(
    ("path", "refusal"),
    [
        ("/v1/timeline", (422, "E4005")),
        ("/v1/timeline?topic=%20", (422, "E2004")),
        ("/v1/timeline?topic=x&limit=0", (422, "E2004")),
        ("/v1/entities/nobody", (404, "E5005")),
        ("/v1/memories?sentiment=merry", (422, "E2004")),
        ("/v1/memories?since=soon", (422, "E4005")),
        ("/v1/forecast?id=nobody&everywhere=true", (422, "E2004")),
    ],
)
def test_an_address_that_makes_no_sense_is_refused(
    client: TestClient, path: str, refusal: tuple[int, str]
) -> None:
    """With the code and the status of the table."""
    answer = client.get(path)

    assert (answer.status_code, answer.json()["code"]) == refusal


@pytest.mark.parametrize(
    "body", [{}, {"helpful": "perhaps"}, {"helpful": None}, {"helpful": True, "query": 7}]
)
def test_feedback_says_one_of_two_things_over_http(
    client: TestClient, engine: Engram, body: dict[str, Any]
) -> None:
    """Silence is neither."""
    memory = engine.remember("Helix is my editor")

    answer = client.post("/v1/feedback", json={"id": memory.id, **body})

    assert answer.status_code == 422
    assert (engine.get(memory.id).helped, engine.get(memory.id).unhelpful) == (0, 0)


def test_feedback_by_another_site_s_page_is_refused(client: TestClient, engine: Engram) -> None:
    """A stranger's page cannot hide a memory from its owner."""
    memory = engine.remember("Helix is my editor")
    headers = {"Origin": "http://evil.example"}
    form = {"id": memory.id, "q": "which editor?", "helpful": "no"}

    sent = client.post("/v1/feedback", json={"id": memory.id, "helpful": False}, headers=headers)
    posted = client.post("/feedback", data=form, headers=headers)

    assert (sent.status_code, posted.status_code) == (403, 403)
    assert engine.get(memory.id).unhelpful == 0


@pytest.mark.parametrize(
    "path",
    [
        "/v1/memories",
        "/v1/memories/x",
        "/v1/timeline?topic=x",
        "/v1/entities/x",
        "/v1/forecast",
        "/v1/policies/compare",
    ],
)
def test_a_misspelt_parameter_is_named(client: TestClient, path: str) -> None:
    """A filter or a scope that nobody knows is never silently ignored."""
    answer = client.get(f"{path}{'&' if '?' in path else '?'}usr=ada")

    assert (answer.status_code, answer.json()["code"]) == (422, "E4005")
    assert "query.usr" in answer.json()["message"]


def test_what_was_only_said_stands_beside_the_hits(client: TestClient, engine: Engram) -> None:
    """In a list of its own, unless the caller leaves turns out; the status counts such turns."""
    turn = say(engine, "The spare key is under the blue flowerpot.")
    with engine._parts.store.atomic() as tx:
        tx.turns.settle([turn.id], now=turn.created_at)

    found, left_out = (asked(client, "where is the spare key?", turns=turns) for turns in (True, False))

    assert [one["turn_id"] for one in found["said"]] == [turn.id]
    assert (found["hits"], left_out["said"]) == ([], [])
    assert client.get("/v1/status").json()["turns_without_memories"] == 1
    assert "engram_turns_without_memories 1.0" in client.get("/metrics").text
    assert "Said, not kept as a memory" in client.get("/", params={"q": "where is the spare key?"}).text
