"""A token with a scope, against whoever tries to get out of it by what is said inside a request."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any

import pytest
from starlette.testclient import TestClient
from surfaces.in_process import ADDRESS, opened
from surfaces.serving import add, tokens_in

from engramdb import Engram, Scope
from engramdb.errors import AccessDenied, MemoryNotFound
from engramdb.http.app import Access, create_app
from engramdb.http.authorization import permitted
from engramdb.http.tokens import Caller
from engramdb.values import GLOBAL, Memory
from engramdb.verbs.verb import Request, verb, withdraw

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Clients = Callable[..., TestClient]

pytestmark = pytest.mark.xdist_group("http-confined")  # one store for all of them

ZED = Scope(agent="zed")
SHOP = Scope(project="shop")


@pytest.fixture(scope="module")
def engram(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engram]:
    """A store that knows something of an agent."""
    with opened(tmp_path_factory.mktemp("confined")) as found:
        found.remember("Zed guards the vault", scope=ZED)
        yield found


@pytest.fixture
def client(engram: Engram, tmp_path: Any) -> Clients:
    """Makes the client of a token with these limits, of a server that others reach."""
    tokens = tokens_in(tmp_path)
    app = create_app(engram, access=Access(tokens=tokens, is_local=False))
    numbers = itertools.count()

    def of(scope: Scope, *, narrower: bool = False) -> TestClient:
        shown = add(tokens.named, f"token-{next(numbers)}", scope, narrower=narrower)
        headers = {"Authorization": f"Bearer {shown}"}
        return TestClient(app, base_url=ADDRESS, headers=headers)

    return of


@pytest.mark.parametrize("narrower", [False, True])
def test_no_token_reaches_into_an_agent_above_it(client: Clients, *, narrower: bool) -> None:
    """A user may not name an agent, not even with names below: who stands in that place sees the agent's."""
    ada = client(Scope(user="ada"), narrower=narrower)

    answers = [
        ada.get("/v1/working_memory", params={"agent": "zed"}),
        ada.post("/v1/suspend", json={"agent": "zed"}),
        ada.post("/v1/resume", json={"agent": "zed", "scope": {"user": "ada"}}),
    ]

    assert [answer.status_code for answer in answers] == [403, 403, 403]
    assert not any("vault" in answer.text for answer in answers)


def test_a_token_of_an_agent_may_name_itself(client: Clients) -> None:
    """In full, by the agent alone, or not at all."""
    otto = client(Scope(project="shop", agent="otto"))

    asked: list[dict[str, str]] = [{}, {"agent": "otto"}, {"project": "shop", "agent": "otto"}]
    answers = [otto.get("/v1/working_memory", params=one) for one in asked]
    posted = otto.post("/v1/suspend", json={"agent": "otto", "scope": {"project": "shop"}})

    assert [answer.status_code for answer in (*answers, posted)] == [200] * 4
    assert {answer.json()["scope"]["agent"] for answer in answers} == {"otto"}


def test_a_project_with_names_below_may_name_its_agents(client: Clients) -> None:
    """The place is that of the agent inside the project, whoever has an agent of that name outside."""
    answer = client(SHOP, narrower=True).get("/v1/working_memory", params={"agent": "otto"})

    assert answer.status_code == 200
    assert answer.json()["scope"] | {"user": None} == {
        "project": "shop",
        "squad": None,
        "agent": "otto",
        "channel": None,
        "user": None,
    }


@pytest.mark.parametrize("is_rehearsed", [True, False])
@pytest.mark.parametrize(
    ("scope", "record"),
    [
        (Scope(user="ada"), {"memory": "Planted", "agent_id": "zed"}),
        (SHOP, {"memory": "Planted", "user_id": "bob"}),
    ],
)
def test_a_file_does_not_carry_records_out_of_the_scope(
    client: Clients, engram: Engram, scope: Scope, record: dict[str, str], *, is_rehearsed: bool
) -> None:
    """What a record says of its people is refused by its place where the token does not reach them."""
    body = {"name": "dump.json", "text": json.dumps([record]), "kind": "mem0", "dry_run": is_rehearsed}

    report = client(scope).post("/v1/import", json=body).json()

    assert (report["added"], report["already"], report["by_code"]) == (0, 0, {"E4001": 1})
    for place in (Scope(user="ada", agent="zed"), Scope(project="shop", user="bob")):
        assert "Planted" not in {one.content for one in engram.list(scope=place)}


def test_a_file_names_people_where_the_token_may(client: Clients) -> None:
    """A project with names below takes its users' memories in, and its own as ever."""
    records = [{"memory": "Bob likes figs", "user_id": "bob"}, {"memory": "The shop opens at nine"}]
    body = {"name": "dump.json", "text": json.dumps(records), "kind": "mem0"}

    report = client(SHOP, narrower=True).post("/v1/import", json=body).json()

    assert report["by_scope"] == {"project=shop user=bob": 1, "project=shop": 1}


def test_health_is_told_to_those_who_may_see_the_whole(client: Clients) -> None:
    """A token with a scope is refused; it is not told that a sound store fails."""
    limited = client(Scope(user="ada")).get("/health")

    assert (limited.status_code, limited.json()["code"]) == (403, "E4001")


def test_a_project_erases_its_own_people_and_nobody_elses(engram: Engram, client: Clients) -> None:
    """What a person asked for is done with the project's token, inside the project; elsewhere it stays."""
    inside, outside = Scope(project="shop", user="pia"), Scope(project="club", user="pia")
    own, others = (engram.remember("Pia pays by card", scope=place) for place in (inside, outside))

    narrow = client(SHOP).post("/v1/erase", json={"user": "pia"})
    personal = client(Scope(user="pia"), narrower=True).post("/v1/erase", json={"user": "pia"})
    abroad = client(SHOP, narrower=True).post("/v1/erase", json={"user": "pia", "scope": {"project": "club"}})
    done = client(SHOP, narrower=True).post("/v1/erase", json={"user": "pia"})

    assert [answer.status_code for answer in (narrow, personal, abroad, done)] == [403, 403, 403, 200]
    with pytest.raises(MemoryNotFound):
        engram.get(own.id, scope=inside)
    assert engram.get(others.id, scope=outside).content == "Pia pays by card"


def test_a_verb_that_is_added_changes_nothing_of_what_others_may_do() -> None:
    """One that calls `remember` a look does not let tokens write that may only read."""
    reader = Caller(scope=GLOBAL, is_read_only=True)

    @verb("peek", engine="remember", gives=Memory, writes=False)
    class PeekRequest(Request, frozen=True, kw_only=True):
        """Look, or so it says."""

    try:
        with pytest.raises(AccessDenied):
            permitted("remember", (), {}, takes={"scope"}, who=reader)
    finally:
        withdraw("peek")
    assert PeekRequest.__doc__


@pytest.mark.parametrize("method", ["list", "embed_pending"])
def test_what_takes_no_scope_is_nothing_for_a_token_with_one(method: str) -> None:
    """Whether it was declared or not: there would be nothing to hold it to."""
    with pytest.raises(AccessDenied):
        permitted(method, (), {}, takes=set(), who=Caller(scope=SHOP))
