"""The page /docs tells people what the description tells programs, and loads nothing from elsewhere."""

from __future__ import annotations

import html
import json
import re
import shlex
from typing import TYPE_CHECKING, Any

import pytest
from surfaces.in_process import ADDRESS, talking

from engramdb.http.docs import Operation, curl, operations, things

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.testclient import TestClient


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A client of an empty store."""
    with talking(tmp_path_factory.mktemp("documented")) as (_, client):
        yield client


@pytest.fixture(scope="module")
def described(client: TestClient) -> dict[str, Any]:
    """What programs read."""
    found: dict[str, Any] = client.get("/openapi.json").json()
    return found


@pytest.fixture(scope="module")
def page(client: TestClient) -> str:
    """What people read."""
    answer = client.get("/docs")
    assert answer.status_code == 200
    assert answer.headers["Content-Type"].startswith("text/html")
    return answer.text


def test_every_route_is_on_the_page(page: str, described: dict[str, Any]) -> None:
    """With its method, its path and a line to copy."""
    for one in operations(described):
        assert f'id="{one.name}"' in page
        assert f"<code>{html.escape(one.path)}</code>" in page
        assert html.escape(curl(one, ADDRESS), quote=False) in html.unescape(page).replace("&amp;", "&")


def test_every_link_leads_to_a_place_on_the_page(page: str) -> None:
    """And no two places have the same name."""
    places = re.findall(r'id="([^"]+)"', page)
    targets = set(re.findall(r'href="#([^"]+)"', page))

    assert len(set(places)) == len(places)
    assert targets <= set(places)
    assert {"Memory", "Error", "remember"} <= targets


def test_nothing_is_loaded_from_elsewhere_and_nothing_runs(page: str) -> None:
    """Style sheets and icon are our own, and there are no scripts."""
    loaded = re.findall(r'(?:src|href)="(?!#)([^"]+)"', page)

    assert all(one.startswith("/") for one in loaded)
    assert "<script" not in page
    assert "style=" not in page


def test_what_the_page_loads_is_there(client: TestClient, page: str) -> None:
    """Its style sheets among them."""
    for path in set(re.findall(r'<link[^>]+href="([^"]+)"', page)):
        assert client.get(path).status_code == 200


def test_objects_tell_their_fields(described: dict[str, Any]) -> None:
    """A memory its content, a status its words."""
    found = {one.name: one for one in things(described)}

    assert {"id", "content", "pinned"} <= {row.name for row in found["Memory"].rows}
    assert "forgotten" in found["Status"].words


def sent(client: TestClient, operation: Operation) -> int:
    """Send the example of a route as the line on the page would, and return the status."""
    words = shlex.split(curl(operation, ADDRESS))
    address = words[1].removeprefix(ADDRESS)
    if "-d" not in words:
        return client.get(address).status_code
    body = json.loads(words[words.index("-d") + 1])
    return client.post(address, json=body).status_code


def test_the_lines_to_copy_are_understood(client: TestClient, described: dict[str, Any]) -> None:
    """Whoever copies one is answered, or told that the example's memory, turn or question is not there."""
    endless, unanswered = {"/v1/events"}, {"answer", "close_gap", "forget_turn"}

    refused = {
        one.name: status
        for one in operations(described)
        if one.path not in endless
        and one.name not in unanswered
        and (status := sent(client, one)) not in (200, 404)
    }

    assert refused == {}


def test_the_page_calls_the_server_as_the_visitor_did(client: TestClient) -> None:
    """A line that is copied reaches this server."""
    page = client.get("/docs", headers={"Host": "localhost:9999"}).text

    assert "curl http://localhost:9999/v1/remember" in page
