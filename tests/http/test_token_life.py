"""The life of a token: made, shown once, used, expired, revoked, refused; and what the audit says of each."""

from __future__ import annotations

import contextlib
import os
import stat
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from surfaces.in_process import client_of, opened
from surfaces.serving import add, serving, tokens_in
from surfaces.serving import client_of as http_client
from surfaces.serving import opened as opened_home

from engramdb import Engram, Scope
from engramdb.errors import InvalidSettings
from engramdb.http.app import Access, create_app
from engramdb.http.tokens import (
    LEFT_SECONDS,
    NAMED_FILE,
    PREFIX,
    USED_FILE,
    NamedTokens,
    RefusedToken,
    Tokens,
)
from engramdb.testing import ManualClock
from engramdb.values import Action, ActorKind, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from starlette.testclient import TestClient

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
ADA = Scope(user="ada")


@pytest.fixture
def clock() -> ManualClock:
    """The time that tokens go by."""
    return ManualClock(NOW)


@pytest.fixture
def tokens(tmp_path: Path, clock: ManualClock) -> Tokens:
    """The tokens of a home, by that time."""
    return Tokens("o" * 40, NamedTokens(tmp_path), clock=clock)


@pytest.fixture
def engram(tmp_path: Path, clock: ManualClock) -> Iterator[Engram]:
    """A store that keeps the same time."""
    with opened(tmp_path / "store", clock) as engram:
        yield engram


@pytest.fixture
def client(engram: Engram, tokens: Tokens) -> TestClient:
    """A client of a server that asks for those tokens."""
    return client_of(create_app(engram, access=Access(tokens=tokens)))


def status(client: TestClient, token: str, path: str = "/v1/memories") -> int:
    """Return what a request with a token is answered."""
    return client.get(path, headers={"Authorization": f"Bearer {token}"}).status_code


def test_a_token_ends_after_ninety_days_unless_told_otherwise(
    client: TestClient, tokens: Tokens, clock: ManualClock, engram: Engram
) -> None:
    """The moment counts, not the process: the same server lets it in, and later does not."""
    usual = tokens.named.add("usual", scope=Scope(), now=NOW)
    brief = tokens.named.add("brief", scope=Scope(), now=NOW, life=timedelta(hours=1))
    lasting = tokens.named.add("lasting", scope=Scope(), now=NOW, life=None)

    found = []
    for days in (0, 1, 89, 90):
        clock.set(NOW + timedelta(days=days))
        found.append([status(client, one) for one in (usual, brief, lasting)])

    assert found == [[200, 200, 200], [200, 401, 200], [200, 401, 200], [401, 401, 200]]
    denied = engram.audit(action=Action.AUTHENTICATE, outcome=Outcome.DENIED)
    assert {(one.actor.name, one.detail["reason"]) for one in denied} == {
        ("usual", "expired"),
        ("brief", "expired"),
    }


def test_a_revoked_token_lets_nobody_in_from_the_next_request_on(
    client: TestClient, tokens: Tokens, engram: Engram
) -> None:
    """The audit still knows whose it was; a new one of the same name is another token."""
    old = tokens.named.add("phone", scope=ADA, now=NOW)
    before = status(client, old)
    tokens.named.revoke("phone", now=NOW)
    after = status(client, old)
    new = tokens.named.add("phone", scope=ADA, now=NOW)

    assert (before, after, status(client, new), status(client, old)) == (200, 401, 200, 401)
    (row,) = engram.audit(action=Action.AUTHENTICATE)
    assert (row.actor.name, row.detail["reason"], row.detail["times"]) == ("phone", "revoked", 2)
    assert row.scope == ADA


def test_a_running_server_forgets_a_token_that_another_process_revokes(tmp_path: Path) -> None:
    """Whoever runs `engram token revoke` writes the file; the server reads it again."""
    with opened_home(tmp_path) as engram:
        tokens = tokens_in(tmp_path)
        token = add(tokens.named, "phone", Scope())
        with serving(engram, tokens=tokens) as server, http_client(server.url, token) as client:
            before = client.get("/v1/memories").status_code
            NamedTokens(tmp_path).revoke("phone", now=datetime.now(UTC))
            after = client.get("/v1/memories").status_code

    assert (before, after) == (200, 401)


def test_only_hashes_are_kept_in_files_of_their_owner_alone(tokens: Tokens, tmp_path: Path) -> None:
    """Neither the token nor its cookie can be read from disk, and a leaked one is recognized by its start."""
    token = tokens.named.add("phone", scope=Scope(), now=NOW)
    tokens.by_token(token)
    files = [tmp_path / NAMED_FILE, tmp_path / USED_FILE]

    assert token.startswith(PREFIX)
    assert len(token) >= 43
    assert all(token.removeprefix(PREFIX) not in one.read_text() for one in files)
    assert {stat.S_IMODE(one.stat().st_mode) for one in files} == {0o600}


def test_the_last_use_is_known_to_the_minute(tokens: Tokens, clock: ManualClock) -> None:
    """Written once a minute at most: a token is shown with every request."""
    token = tokens.named.add("phone", scope=Scope(), now=NOW)
    (grant,) = tokens.named.list()
    seen = [tokens.named.last_used().get(grant.id)]
    for seconds in (0, 30, 90):
        clock.set(NOW + timedelta(seconds=seconds))
        tokens.by_token(token)
        seen.append(tokens.named.last_used().get(grant.id))

    assert seen == [None, "2026-03-01T12:00:00Z", "2026-03-01T12:00:00Z", "2026-03-01T12:01:30Z"]


@pytest.mark.parametrize("life", [timedelta(), timedelta(days=-1)])
def test_no_token_is_made_that_has_expired(tokens: Tokens, life: timedelta) -> None:
    """A time that has passed is a slip of the pen."""
    with pytest.raises(InvalidSettings):
        tokens.named.add("phone", scope=Scope(), now=NOW, life=life)


def test_a_file_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    """Its tokens are agents', expire never, and may not ask for secrets."""
    old = '[{"name": "phone", "digest": "%s", "page_digest": "%s", "created_at": "2026-01-01T00:00:00Z"}]'
    (tmp_path / NAMED_FILE).write_text(old % ("a" * 64, "b" * 64))
    (grant,) = NamedTokens(tmp_path).list()

    assert (grant.kind, grant.expires_at, grant.secrets) == (ActorKind.AGENT, None, False)


def test_an_unknown_token_is_nobodys(tokens: Tokens) -> None:
    """What was never ours names nobody."""
    refused = tokens.by_token("engram_" + "x" * 43)

    assert isinstance(refused, RefusedToken)
    assert (refused.reason, refused.actor.token, refused.scope) == ("unknown", None, None)


def test_a_flood_of_wrong_tokens_leaves_one_row(client: TestClient, engram: Engram) -> None:
    """However many, they are counted in the row of the first."""
    answers = {status(client, f"wrong-{number}") for number in range(300)}
    engram.audit_log.close()
    rows = engram.audit(action=Action.AUTHENTICATE, limit=1000)

    assert answers == {401}
    assert [(one.detail["reason"], one.detail["times"]) for one in rows] == [("unknown", 300)]
    assert "wrong-" not in str(rows)


LEFT_BY_A_KILL = {"tokens.used.json.new": "used", "tokens.json.new": "made"}


@pytest.mark.parametrize("name", LEFT_BY_A_KILL)
@pytest.mark.parametrize("age", [0, 2 * LEFT_SECONDS])
def test_what_a_killed_process_left_does_not_stand_in_the_way(tmp_path: Path, name: str, age: int) -> None:
    """A file half written a moment ago belongs to somebody; an old one to nobody, and is replaced."""
    named, now = NamedTokens(tmp_path), datetime.now(UTC)
    named.add("ada", scope=Scope(), now=now)
    left = tmp_path / name
    left.write_text("[half")
    os.utime(left, (time.time() - age,) * 2)

    with contextlib.suppress(InvalidSettings):
        named.add("bob", scope=Scope(), now=now)
    named.note_use(named.list()[0], now)

    done = {"made": len(named.list()) == 2, "used": bool(named.last_used())}
    assert done[LEFT_BY_A_KILL[name]] is bool(age)
    assert left.exists() is not bool(age)
    assert all(done[one] for one in set(done) - {LEFT_BY_A_KILL[name]})
