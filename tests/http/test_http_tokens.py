"""Tokens of the HTTP server: who comes in, how far each token reaches, and how a browser signs in."""

from __future__ import annotations

import hashlib
import json
import stat
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from starlette.testclient import TestClient
from surfaces.serving import add, client_of, opened, serving, tokens_in

from engramdb import Scope
from engramdb.errors import InvalidSettings
from engramdb.http.app import Access, create_app
from engramdb.http.authorization import reaches
from engramdb.http.tokens import NAMED_FILE, OWN_FILE, Caller, NamedTokens, cookie_of
from engramdb.verbs.table import VERBS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import httpx
    from surfaces.fixtures import Command

Operations = list[tuple[str, str, dict[str, Any]]]
ADA = {"user": "ada"}
BOB = {"user": "bob"}

pytestmark = pytest.mark.xdist_group("http-tokens")  # one server for most of them


class Served(NamedTuple):
    """A running server and the tokens that it knows."""

    url: str
    home: Path
    own: str
    ada: str
    reader: str
    shop: str

    def __call__(self, token: str | None = None, **headers: str) -> httpx.Client:
        """Return a client that shows one of them."""
        return client_of(self.url, token, **headers)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with a token of its own and three named ones, and a memory of Ada's and of Bob's."""
    home = tmp_path_factory.mktemp("tokens")
    with opened(home) as engram:
        tokens = tokens_in(home)
        made = {
            "ada": add(tokens.named, "ada", Scope(user="ada")),
            "reader": add(tokens.named, "reader", Scope(user="ada"), read_only=True),
            "shop": add(tokens.named, "shop", Scope(project="shop"), narrower=True),
        }
        engram.remember("Ada keeps bees", scope=Scope(user="ada"))
        engram.remember("Bob keeps a secret", scope=Scope(user="bob"))
        with serving(engram, tokens=tokens) as server:
            yield Served(server.url, home, tokens.own, **made)


@pytest.fixture(scope="module")
def operations(served: Served) -> Operations:
    """Method, address and least body of every described route."""
    with served(served.own) as client:
        described = client.get("/openapi.json").json()
    found = []
    for path, methods in described["paths"].items():
        for method, route in methods.items():
            content = route.get("requestBody", {}).get("content", {}).get("application/json", {})
            body = least(content.get("schema", {}), described)
            found.append((method.upper(), path.replace("{", "").replace("}", ""), body))
    return found


def least(schema: dict[str, Any], described: dict[str, Any]) -> Any:
    """Return the smallest value that a schema takes."""
    if "$ref" in schema:
        return least(described["components"]["schemas"][schema["$ref"].rpartition("/")[2]], described)
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type", "object")
    if kind == "object":
        needed = schema.get("required", ())
        return {name: least(schema["properties"][name], described) for name in needed}
    if kind == "array":
        return [least(schema["items"], described)]
    return {"string": "x", "boolean": True}.get(kind, 1)


@pytest.mark.parametrize("shown", ["", "Bearer", "Bearer wrong", "Basic eDp4", "bearer\twrong"])
def test_only_a_known_token_is_let_in(served: Served, shown: str) -> None:
    """Nothing else opens the door, and the answer does not say how near it was."""
    with served(None, Authorization=shown) as client:
        answer = client.get("/v1/memories")

    assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, "Bearer")
    assert OWN_FILE in answer.json()["hint"]


def test_no_route_is_open_without_a_token(served: Served, operations: Operations) -> None:
    """Whatever is asked for, 401 says how to come in; only the probes answer strangers."""
    open_ones = {"/healthz", "/readyz", "/health"}
    with served() as client:
        answers = {
            path: client.request(method, path, json=body if method == "POST" else None)
            for method, path, body in [*operations, ("GET", "/", {}), ("GET", "/openapi.json", {})]
        }

    refused = {path for path, answer in answers.items() if answer.status_code == 401}
    assert set(answers) - refused == open_ones & set(answers)
    assert all(
        answer.headers["WWW-Authenticate"] == "Bearer" and answer.json()["code"] == "E4006"
        for path, answer in answers.items()
        if path in refused
    )


@pytest.mark.parametrize(("is_local", "status"), [(True, 200), (False, 401)])
def test_the_health_of_a_server_that_others_reach_is_not_theirs_to_see(
    tmp_path: Path, *, is_local: bool, status: int
) -> None:
    """What fails, and why, names files and addresses; on this machine old monitors go on as they were."""
    with opened(tmp_path) as engram:
        app = create_app(engram, access=Access(tokens=tokens_in(tmp_path), is_local=is_local))
        client = TestClient(app, base_url="http://localhost")
        answers = [client.get(path).status_code for path in ("/health", "/healthz", "/readyz")]

    assert answers == [status, 200, 200]


def test_the_servers_own_token_reaches_everything(served: Served) -> None:
    """Its holder is the owner of the store."""
    with served(served.own) as client:
        assert client.get("/v1/status").status_code == 200
        assert client.get("/v1/memories", params=BOB).json()[0]["content"] == "Bob keeps a secret"
        assert client.get("/metrics").status_code == 200


def test_a_request_without_a_scope_works_in_that_of_its_token(served: Served) -> None:
    """A program that knows nothing of scopes stays in the one that its token has."""
    with served(served.ada) as client:
        memory = client.post("/v1/remember", json={"content": "I like tea"}).json()
        found = client.post("/v1/recall", json={"query": "keeps bees secret"}).json()["hits"]
        listed = client.get("/v1/memories").json()

    assert memory["scope"]["user"] == "ada"
    assert "Ada keeps bees" in {hit["memory"]["content"] for hit in found}
    assert not any("Bob" in json.dumps(one) for one in (*found, *listed))


def test_no_route_lets_a_token_out_of_its_scope(served: Served, operations: Operations) -> None:
    """Every route that is there, and every one that will be, is refused with another scope or without any."""
    with served(served.own) as owner, served(served.ada) as client:
        secret = owner.get("/v1/memories", params=BOB).json()[0]
        answers = {}
        for method, path, body in operations:
            if method == "GET" and path != "/v1/events":
                answers[path] = client.get(path.replace("memory_id", secret["id"]), params=BOB)
            elif method == "POST":
                fields = body | {"id": secret["id"]} if "id" in body else body
                answers[path] = client.post(path, json={**fields, "scope": BOB})
        still = owner.get(f"/v1/memories/{secret['id']}", params=BOB).json()

    let_in = {path for path, answer in answers.items() if answer.is_success}
    assert let_in <= {"/health", "/healthz", "/readyz"}
    assert not any(answer.is_server_error for answer in answers.values())
    assert not any("secret" in answer.text for answer in answers.values())
    assert still["content"] == secret["content"]


@pytest.mark.parametrize(
    ("method", "path", "sent"),
    [
        ("GET", "/v1/doctor", {}),
        ("GET", "/metrics", {}),
        ("GET", "/v1/forecast", {"everywhere": "true"}),
        ("POST", "/v1/age", {}),
        ("POST", "/v1/erase", {"user": "ada"}),
        ("POST", "/v1/remember", {"content": "x", "scope": {}}),
        ("POST", "/v1/remember", {"content": "x", "scope": {"user": "ada", "project": "other"}}),
        ("POST", "/v1/remember_many", {"statements": [{"content": "x"}], "scope": BOB}),
        ("POST", "/v1/suspend", {"agent": "other"}),
        ("POST", "/v1/capture/finding", {"statement": "x", "scope": BOB}),
    ],
)
def test_what_reaches_beyond_a_scope_needs_a_token_without_one(
    served: Served, method: str, path: str, sent: dict[str, Any]
) -> None:
    """The whole store, the global scope and other people's are 403, with a code of its own."""
    with served(served.ada) as client:
        options = {"params": sent} if method == "GET" else {"json": sent}
        answer = client.request(method, path, **options)  # type: ignore[arg-type]

    assert (answer.status_code, answer.json()["code"]) == (403, "E4001")


def test_a_token_may_do_in_its_scope_what_others_do_in_theirs(served: Served) -> None:
    """Many statements, an agent's doors and an import land in the token's scope."""
    with served(served.ada) as client:
        many = client.post("/v1/remember_many", json={"statements": [{"content": "I own two kayaks"}]})
        found = client.post("/v1/capture/finding", json={"statement": "The lake is two metres deep"})
        taken = client.post("/v1/import", json={"name": "notes.txt", "text": "I sold one kayak.\n"})

    assert [one["scope"]["user"] for one in many.json()] == ["ada"]
    assert found.json()["scope"]["user"] == "ada"
    assert taken.status_code == 200


def test_a_read_only_token_asks_and_changes_nothing(served: Served, operations: Operations) -> None:
    """Every post is refused except questions; a rehearsal counts as one."""
    with served(served.reader) as client:
        answers = {
            path: client.post(path, json=body) for method, path, body in operations if method == "POST"
        }
        rehearsed = client.post("/v1/erase", json={"id": "x", "dry_run": True})

    asking = {verb.http.path for verb in VERBS.values() if verb.http and not verb.writes} & set(answers)
    assert asking
    assert {path for path, answer in answers.items() if answer.status_code != 403} == asking
    assert rehearsed.status_code == 404


def test_a_project_may_name_its_users_where_its_token_says_so(served: Served) -> None:
    """Names below the token's own may be added; its own may not be changed or left out."""
    with served(served.shop) as client:
        own = client.post("/v1/remember", json={"content": "x", "scope": {"project": "shop", "user": "eve"}})
        other = client.post(
            "/v1/remember", json={"content": "x", "scope": {"project": "bank", "user": "eve"}}
        )
        none = client.post("/v1/remember", json={"content": "x", "scope": {"user": "eve"}})

    assert [answer.status_code for answer in (own, other, none)] == [200, 403, 403]


def test_a_user_never_reaches_into_a_project() -> None:
    """A narrower scope sees the wider ones around it, so only names below may be added."""
    ada = Caller(scope=Scope(user="ada"), may_narrow=True)
    squad = Caller(scope=Scope(squad="blue"), may_narrow=True)

    assert not reaches(ada, Scope(project="shop", user="ada"))
    assert not reaches(squad, Scope(project="shop", squad="blue"))
    assert reaches(squad, Scope(squad="blue", user="eve"))


def test_the_link_signs_a_browser_in_and_leaves_no_token_in_the_address(served: Served) -> None:
    """The cookie is out of reach of scripts and of other sites, and is not the token."""
    with served() as browser:
        link = browser.get("/", params={"token": served.own, "q": "bees"})
        browser.cookies.update(link.cookies)
        page = browser.get("/", headers={"Accept": "text/html"})
        listed = browser.get("/v1/memories", params=ADA)

    cookie = link.headers["Set-Cookie"]
    assert (link.status_code, link.headers["Location"]) == (303, "/?q=bees")
    assert all(word in cookie for word in ("HttpOnly", "SameSite=strict", "Path=/"))
    assert served.own not in cookie
    assert (page.status_code, listed.status_code) == (200, 200)


def test_a_visitor_without_a_token_sees_a_form(served: Served) -> None:
    """The form lets in who has one, and says so to who has not."""
    with served(None, Accept="text/html") as browser:
        shown = browser.get("/")
        wrong = browser.post("/sign-in", data={"token": "nonsense"})
        right = browser.post("/sign-in", data={"token": served.ada})
        browser.cookies.update(right.cookies)
        page = browser.get("/")

    assert (shown.status_code, wrong.status_code, right.status_code) == (401, 401, 303)
    assert 'action="/sign-in"' in shown.text
    assert "not known here" in wrong.text
    assert "Ada keeps bees" in page.text
    assert "Bob" not in page.text


def test_a_cookie_is_not_a_token_and_a_token_is_not_a_cookie(served: Served) -> None:
    """What a browser holds is of no use to a program, and the other way round."""
    port = served.url.rstrip("/").rpartition(":")[2]

    with served(cookie_of(served.own)) as program, served(None, Cookie=f"engram-{port}={served.own}") as page:
        answers = [program.get("/v1/status").status_code, page.get("/v1/status").status_code]

    assert answers == [401, 401]


def test_a_page_of_another_site_cannot_use_the_cookie(served: Served) -> None:
    """Not even where a browser would send it along."""
    port = served.url.rstrip("/").rpartition(":")[2]
    cookie = f"engram-{port}={cookie_of(served.own)}"

    with served(None, Cookie=cookie, Origin="http://evil.example") as page:
        answer = page.post("/v1/remember", json={"content": "planted"})

    assert answer.status_code == 403


def test_a_running_server_knows_of_a_change_at_once(served: Served) -> None:
    """A new token is let in by the next request, and a removed one is not."""
    named = NamedTokens(served.home)

    token = add(named, "brief", Scope(user="ada"))
    with served(token) as client:
        before = client.get("/v1/memories").status_code
        named.revoke("brief", now=datetime.now(UTC))
        after = client.get("/v1/memories").status_code

    assert (before, after) == (200, 401)


def test_the_commands_make_show_and_remove_tokens(engram_command: Command, home: Path) -> None:
    """A token is shown once; its file is its owner's and holds only hashes."""
    made = json.loads(
        engram_command("token", "create", "phone", "--user", "ada", "--read-only", "--json").stdout
    )
    again = engram_command("token", "create", "phone")
    listed = json.loads(engram_command("token", "list", "--json").stdout)
    shown = engram_command("token", "list").stdout
    kept = (home / NAMED_FILE).read_text()
    mode = stat.S_IMODE((home / NAMED_FILE).stat().st_mode)
    removed = engram_command("token", "revoke", "phone")
    gone = engram_command("token", "revoke", "phone")

    assert listed[0] | {"created_at": "", "expires_at": ""} == {
        "id": hashlib.sha256(made["token"].encode()).hexdigest()[:12],
        "name": "phone",
        "kind": "agent",
        "scope": "user=ada",
        "read_only": True,
        "narrower": False,
        "secrets": False,
        "created_at": "",
        "expires_at": "",
        "is_expired": False,
        "last_used_at": None,
    }
    assert "for an agent, user=ada, read only" in shown
    assert made["token"].startswith("engram_")
    assert made["token"] not in kept + shown
    assert mode == 0o600
    assert (again.exit_code, removed.exit_code, gone.exit_code) == (2, 0, 2)


def test_making_and_revoking_a_token_is_audited(
    engram_command: Command, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows say who did it, which token it was and what it may do, and never the token."""
    made = json.loads(engram_command("token", "create", "phone", "--user", "ada", "--json").stdout)["token"]
    engram_command("token", "create", "phone")  # there is one already
    monkeypatch.setenv("ENGRAM_ACTOR", "agent:cursor")
    engram_command("token", "revoke", "phone")
    shown = engram_command("audit", "--json").stdout

    revoked, created = json.loads(shown)
    assert (created["action"], revoked["action"]) == ("create_token", "revoke_token")
    assert (created["actor"]["kind"], created["actor"]["surface"]) == ("person", "cli")
    assert (revoked["actor"]["kind"], revoked["actor"]["name"]) == ("agent", "cursor")
    for row in (created, revoked):
        assert row["target"] == hashlib.sha256(made.encode()).hexdigest()[:12]
        assert row["scope"]["user"] == "ada"
        assert row["detail"]["name"] == "phone"
        assert row["detail"]["kind"] == "agent"
    assert made not in shown


def test_no_token_is_made_that_the_audit_cannot_note(engram_command: Command, home: Path) -> None:
    """A damaged store makes no tokens, and still lets one be revoked."""
    engram_command("token", "create", "old")
    for file in home.glob("memory.db*"):
        file.unlink()
    (home / "memory.db").write_bytes(b"no database at all " * 100)

    refused = engram_command("token", "create", "new")
    revoked = engram_command("token", "revoke", "old")

    assert refused.exit_code != 0
    assert revoked.exit_code == 0
    assert "the audit could not be written" in revoked.stderr
    assert NamedTokens(home).list() == ()


@pytest.mark.parametrize("name", ["", "default", "a b", "../x", "x" * 65, "é"])
def test_a_token_has_a_plain_name(tmp_path: Path, name: str) -> None:
    """It stands in files and lists."""
    with pytest.raises(InvalidSettings):
        add(NamedTokens(tmp_path), name, Scope())


@pytest.mark.parametrize("held", [b"", b"{}", b"[{}]", b"\xff"])
def test_a_broken_file_of_tokens_lets_nobody_in(tmp_path: Path, held: bytes) -> None:
    """It is an error that names the file, and not an empty list."""
    (tmp_path / NAMED_FILE).write_bytes(held)

    with pytest.raises(InvalidSettings, match=NAMED_FILE):
        NamedTokens(tmp_path).list()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--host", "192.0.2.1", "--allow-remote", "--no-token"), "--no-token is for this machine"),
        (("--host", "192.0.2.1", "--no-token"), "--no-token is for this machine"),
        (("--host", "192.0.2.1"), "--allow-remote"),
    ],
)
def test_leaving_this_machine_needs_tokens(
    engram_command: Command, home: Path, options: tuple[str, ...], told: str
) -> None:
    """An address that others can reach is never served without."""
    done = engram_command("serve", "--port", "0", *options)

    assert done.exit_code == 2
    assert told in done.stderr
    assert not (home / OWN_FILE).exists()
