"""Pages of other sites use the API only where the server was told to let them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from surfaces.in_process import client_of, opened
from surfaces.serving import tokens_in

from engramdb.errors import InvalidSettings
from engramdb.http.app import Access, create_app
from engramdb.http.server import checked_origin

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from starlette.testclient import TestClient

APP = "https://app.example.com"
STRANGER = "https://evil.example"


def from_page(origin: str) -> dict[str, str]:
    """Return the headers that a browser adds to what a page of another site sends."""
    return {"Origin": origin, "Sec-Fetch-Site": "cross-site"}


def preflight(origin: str) -> dict[str, str]:
    """Return the headers by which a browser asks whether a page may send a POST with a token."""
    wanted = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
    return from_page(origin) | wanted


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    """A client of a server that lets one site use it, and asks for a token."""
    with opened(tmp_path / "shared") as engram:
        tokens = tokens_in(tmp_path)
        client = client_of(create_app(engram, access=Access(tokens=tokens, origins=[APP])))
        client.headers["Authorization"] = f"Bearer {tokens.own}"
        yield client


def test_the_page_of_a_site_that_is_let_in_reads_and_writes(client: TestClient) -> None:
    """Also what the browser asks before, which carries no token; ETags and links can be read."""
    asked = client.options("/v1/remember", headers=preflight(APP) | {"Authorization": ""})
    written = client.post("/v1/remember", json={"content": "I like tea"}, headers=from_page(APP))
    read = client.get("/v1/memories", headers=from_page(APP))

    assert (asked.status_code, written.status_code, read.status_code) == (200, 200, 200)
    assert {one.headers["Access-Control-Allow-Origin"] for one in (asked, written, read)} == {APP}
    assert "ETag" in read.headers["Access-Control-Expose-Headers"]
    assert "Access-Control-Allow-Credentials" not in read.headers


def test_such_a_page_still_needs_a_token_and_is_told_so(client: TestClient) -> None:
    """The refusal can be read by the page as well."""
    refused = client.get("/v1/memories", headers=from_page(APP) | {"Authorization": ""})

    assert refused.status_code == 401
    assert refused.headers["Access-Control-Allow-Origin"] == APP


def test_other_sites_and_the_forms_of_the_page_stay_closed(client: TestClient) -> None:
    """Letting one site in lets in no other, and nobody fills in our forms from elsewhere."""
    asked = client.options("/v1/remember", headers=preflight(STRANGER))
    written = client.post("/v1/remember", json={"content": "x"}, headers=from_page(STRANGER))
    form = client.post("/remember", data={"content": "x"}, headers=from_page(APP))

    assert (asked.status_code, written.status_code, form.status_code) == (400, 403, 403)
    assert "Access-Control-Allow-Origin" not in written.headers


def test_nothing_is_let_in_by_default(tmp_path: Path) -> None:
    """A server that was told nothing answers no browser's question."""
    with opened(tmp_path / "closed") as engram:
        client = client_of(create_app(engram))
        asked = client.options("/v1/remember", headers=preflight(APP))
        read = client.get("/v1/memories", headers=from_page(APP))

    assert asked.status_code == 405
    assert "Access-Control-Allow-Origin" not in read.headers


@pytest.mark.parametrize("origin", ["*", "null", "app.example.com", "https://a.example/path", "file://x", ""])
def test_only_an_origin_can_be_let_in(origin: str) -> None:
    """Not everybody at once, and nothing that no browser would send."""
    with pytest.raises(InvalidSettings):
        checked_origin(origin)
