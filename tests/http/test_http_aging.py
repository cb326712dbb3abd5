"""The routes of aging, with the library's own shapes, on a store whose time the test moves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from engramdb import Engram, Settings
from engramdb.policy import PRESETS
from engramdb.values import AgeReport, Forecast

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


@pytest.fixture
def unsure(client: TestClient, clock: ManualClock) -> str:
    """The id of a guess that nobody confirmed for a hundred days."""
    memory: dict[str, Any] = client.post(
        "/v1/remember", json={"content": "Maya may like tea", "confidence": 0.3}
    ).json()
    clock.advance(days=100)
    return str(memory["id"])


def status_of(client: TestClient, memory_id: str) -> str:
    """Return the status of a memory."""
    return str(client.get(f"/v1/memories/{memory_id}").json()["status"])


def test_a_sweep_can_be_tried_made_and_undone(client: TestClient, unsure: str) -> None:
    """`dry_run` only tells; without it the rule takes the memory, and `restore` brings it back."""
    tried = client.post("/v1/age", json={"dry_run": True}).json()
    before = status_of(client, unsure)
    made = client.post("/v1/age", json={}).json()
    after = status_of(client, unsure)
    restored = client.post("/v1/restore", json={"id": unsure, "reason": "she does"}).json()

    assert set(made) == set(AgeReport.__struct_fields__)
    assert tried["by_rule"] == made["by_rule"] == {"speculative": 1}
    assert (before, after, restored["status"]) == ("active", "archived", "active")


def test_a_forecast_is_the_library_s_own_value(client: TestClient, unsure: str) -> None:
    """Of all memories or of one, as far ahead as asked."""
    whole = client.get("/v1/forecast").json()
    one = client.get("/v1/forecast", params={"id": unsure[-8:], "days": 30}).json()

    assert set(whole) == set(one) == set(Forecast.__struct_fields__)
    assert (whole["days"], one["days"]) == (365, 30)
    assert one["soonest"][0]["memory"]["id"] == unsure
    assert one["soonest"][0]["changes"][-1]["what"] == "speculative"


def test_a_forecast_keeps_to_its_scope_over_http(client: TestClient, clock: ManualClock) -> None:
    """Another user's memory is counted by `everywhere` at most, and shown to nobody else."""
    body = {"content": "Ada may like tea", "confidence": 0.3, "scope": {"user": "ada"}}
    memory_id = client.post("/v1/remember", json=body).json()["id"]
    clock.advance(days=100)

    own = client.get("/v1/forecast", params={"user": "ada"})
    other = client.get("/v1/forecast", params={"user": "bob"})
    everywhere = client.get("/v1/forecast", params={"user": "bob", "everywhere": True})

    assert "tea" in own.text
    assert "tea" not in other.text + everywhere.text
    assert (other.json()["population"], everywhere.json()["population"]) == (0, 1)
    assert client.get("/v1/forecast", params={"id": memory_id, "user": "bob"}).status_code == 404


def test_presets_are_compared_over_http(client: TestClient, unsure: str) -> None:
    """Every preset, after as many days as asked, with who left by which rule."""
    usual = client.get("/v1/policies/compare").json()
    asked = client.get("/v1/policies/compare", params={"days": [1, 10]}).json()

    assert set(usual) == set(PRESETS)
    assert {len(counted) for counted in usual.values()} == {3}
    assert {len(counted) for counted in asked.values()} == {2}
    assert asked["balanced"][0]["left"] == {"speculative": 1}


def test_layers_are_chosen_by_hand_over_http(client: TestClient, unsure: str) -> None:
    """One up, one down, or straight into one."""
    up = client.post("/v1/promote", json={"id": unsure}).json()
    down = client.post("/v1/demote", json={"id": unsure, "reason": "not yet"}).json()
    straight = client.post("/v1/promote", json={"id": unsure, "layer": "procedural"}).json()

    assert [one["layer"] for one in (up, down, straight)] == ["semantic", "episodic", "procedural"]
    assert straight["layer_held"]


@pytest.mark.parametrize(
    ("path", "body", "refusal"),
    [
        ("/v1/age", {"dryrun": True}, (422, "E4005")),
        ("/v1/age", {"dry_run": "perhaps"}, (422, "E4005")),
        ("/v1/restore", {"id": "nobody"}, (404, "E5005")),
        ("/v1/restore", {"id": "ID"}, (409, "E5006")),
        ("/v1/promote", {"id": "ID", "layer": "attic"}, (422, "E4005")),
        ("/v1/promote", {"id": "ID", "layer": "episodic"}, (409, "E5006")),
        ("/v1/demote", {"id": "ID", "scope": {"user": ""}}, (422, "E5008")),
    ],
)
def test_what_cannot_be_done_is_refused(
    client: TestClient, unsure: str, path: str, body: dict[str, Any], refusal: tuple[int, str]
) -> None:
    """With the code and the status of the table, and nothing is changed."""
    sent = {name: unsure if value == "ID" else value for name, value in body.items()}

    answer = client.post(path, json=sent)

    assert (answer.status_code, answer.json()["code"]) == refusal
    assert client.get(f"/v1/memories/{unsure}").json()["layer"] == "episodic"


@pytest.mark.parametrize(
    ("path", "params", "code"),
    [
        ("/v1/forecast", {"days": 0}, "E2004"),
        ("/v1/forecast", {"days": "nan"}, "E2004"),
        ("/v1/forecast", {"days": "soon"}, "E4005"),
        ("/v1/policies/compare", {"days": [30, 1e9]}, "E2004"),
    ],
)
def test_a_span_that_is_none_is_refused(
    client: TestClient, path: str, params: dict[str, Any], code: str
) -> None:
    """No time ahead is guessed."""
    answer = client.get(path, params=params)

    assert (answer.status_code, answer.json()["code"]) == (422, code)


def test_aging_by_another_site_s_page_is_refused(client: TestClient, unsure: str) -> None:
    """A stranger's page cannot make the browser let memories go."""
    headers = {"Origin": "http://evil.example"}

    for path, body in (("/v1/age", {}), ("/v1/demote", {"id": unsure})):
        assert client.post(path, json=body, headers=headers).status_code == 403
    assert status_of(client, unsure) == "active"
