"""Lists over HTTP come page by page, and following `Link` meets everything once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from surfaces.in_process import talking

from engramdb.errors import InvalidQuery
from engramdb.http import routes as paging
from engramdb.store.contract import DreamRun
from engramdb.testing import ManualClock
from engramdb.values import Action, AuditEvent, DreamReport, Gap, GapKind, Role, Turn, new_id

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from starlette.testclient import TestClient

    from engramdb import Engram
    from engramdb.store.contract import Transaction

COUNT = 7


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A client of a store with some of everything; nothing is changed afterwards."""
    clock = ManualClock()
    with talking(tmp_path_factory.mktemp("paged"), clock) as (engram, client):
        first = engram.remember("Tea number 0 is green", speaker="Ada")
        for number in range(1, COUNT):
            clock.advance(minutes=1)
            engram.remember(f"Tea number {number} is green", speaker="Ada & Söhne")
            engram.observe(f"turn number {number}", session="s1")
            engram.feedback(first.id, helpful=True)
        for _ in range(3):
            clock.advance(minutes=1)
            engram.dream(steps=["gaps"])
        with engram._parts.store.atomic() as tx:
            for number in range(COUNT):
                gap = Gap(
                    id=f"gap{number}",
                    kind=GapKind.MISSING_FIELD,
                    question=f"Is {number} so?",
                    found_at=clock.now(),
                )
                tx.gaps.put(gap)
        yield client


MANY = 1_105
"""More than is ever given at once."""


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Engram, TestClient]]:
    """An engine whose records are longer than any page, and a client of it."""
    clock = ManualClock()
    with talking(tmp_path_factory.mktemp("long"), clock) as (engram, client):
        with engram._parts.store.atomic() as tx:
            for number in range(MANY):
                lengthen(tx, number, clock.now())
        yield engram, client


def lengthen(tx: Transaction, number: int, now: datetime) -> None:
    """Make every record longer by one; everything happens at the same moment."""
    tx.turns.add(
        Turn(id=new_id(now), content=f"turn {number}", role=Role.USER, occurred_at=now, created_at=now)
    )
    tx.gaps.put(Gap(id=f"gap{number}", kind=GapKind.MISSING_FIELD, question=f"Is {number} so?", found_at=now))
    run = DreamRun(started_at=now, policy="balanced", steps=(), report=DreamReport(started_at=now))
    tx.dreams.put(run)
    tx.audit.add(AuditEvent(at=now, action=Action.PIN, target=str(number)))


def next_of(answer: Any) -> str | None:
    """Return where the next page is."""
    found: str | None = answer.links.get("next", {}).get("url")
    return found


def pages(client: TestClient, path: str) -> list[list[Any]]:
    """Return every page, following the links."""
    answer = client.get(path)
    found = [answer]
    while (following := next_of(answer)) is not None:
        answer = client.get(following)
        found.append(answer)
    assert all(one.status_code == 200 for one in found), found[-1].text
    return [one.json() for one in found]


@pytest.mark.parametrize(
    "path", ["/v1/memories?", "/v1/turns?session=s1&", "/v1/audit?", "/v1/dreams?", "/v1/gaps?"]
)
@pytest.mark.parametrize("limit", [1, 2, 1000])
def test_following_the_links_meets_everything_once(client: TestClient, path: str, limit: int) -> None:
    """In the same order as in one piece; turns are in order within each page, the latest page first."""
    whole = client.get(f"{path}limit=1000").json()

    cut = pages(client, f"{path}limit={limit}")

    parts = cut[::-1] if path.startswith("/v1/turns") else cut
    assert [entry for part in parts for entry in part] == whole
    assert len(whole) >= 3
    assert [len(part) for part in cut[:-1]] == [limit] * ((len(whole) - 1) // limit)


@pytest.mark.parametrize("path", ["turns", "gaps", "dreams", "audit"])
def test_a_long_record_is_reached_to_its_end(long: tuple[Engram, TestClient], path: str) -> None:
    """Beyond the thousand that one answer may hold, each entry once, whatever comes in meanwhile."""
    engram, client = long
    answer = client.get(f"/v1/{path}", params={"limit": 400})
    first = answer.json()
    with engram._parts.store.atomic() as tx:
        lengthen(tx, MANY + len(path), ManualClock().now())

    following = pages(client, next_of(answer) or "")

    names = [str(one.get("number") or one["id"]) for part in (first, *following) for one in part]
    assert len(names) == len(set(names))
    assert len(names) >= MANY
    assert [len(part) for part in following[:-1]] == [400] * (len(following) - 1)


def test_a_history_is_paged(client: TestClient) -> None:
    """Oldest first, as it happened."""
    oldest = client.get("/v1/memories").json()[-1]["id"]
    whole = client.get(f"/v1/memories/{oldest}/history").json()

    cut = pages(client, f"/v1/memories/{oldest}/history?limit=2")

    assert [event for part in cut for event in part] == whole
    assert len(whole) == COUNT


def test_a_timeline_is_paged(client: TestClient) -> None:
    """By its entries; topic and busiest times are on every page."""
    whole = client.get("/v1/timeline", params={"topic": "green tea"}).json()

    cut: list[Any] = pages(client, "/v1/timeline?topic=green%20tea&entries=2")

    assert [entry for part in cut for entry in part["entries"]] == whole["entries"]
    assert {part["topic"] for part in cut} == {"green tea"}
    assert len(cut) > 1


def test_the_link_keeps_what_was_asked(client: TestClient) -> None:
    """Filters with any letters, several of them, and the limit."""
    asked: dict[str, Any] = {"speaker": ["Ada & Söhne", "Ada"], "limit": 2, "category": "fact"}

    answer = client.get("/v1/memories", params=asked)
    following = next_of(answer)

    assert following is not None
    assert following.startswith("/v1/memories?speaker=Ada+%26+S%C3%B6hne&speaker=Ada&limit=2&category=fact")
    assert len(client.get(following).json()) == 2


def test_the_last_page_has_no_link(client: TestClient) -> None:
    """Also where it is just full."""
    assert next_of(client.get("/v1/memories", params={"limit": COUNT})) is None
    assert next_of(client.get("/v1/memories", params={"limit": COUNT - 1})) is not None
    assert next_of(client.get("/v1/memories", params={"speaker": "nobody"})) is None


@pytest.mark.parametrize(
    "path",
    [
        "/v1/audit?before=nonsense",
        "/v1/dreams?before=yesterday",
        "/v1/audit?before=0",
        "/v1/audit?before=9223372036854775808",
        "/v1/dreams?before=-1",
        "/v1/dreams?before=%C2%B2",
        "/v1/audit?limit=0",
        "/v1/gaps?limit=-1",
        "/v1/dreams?limit=1001",
        "/v1/turns?limit=1000000000000000000000000000000",
        "/v1/summaries?limit=0",
        "/v1/timeline?topic=x&entries=0",
    ],
)
def test_a_cursor_or_limit_that_is_none_is_refused(client: TestClient, path: str) -> None:
    """Rather than beginning again without a word."""
    answer = client.get(path)

    assert (answer.status_code, answer.json()["code"]) == (422, "E2004")


@pytest.mark.parametrize(
    "path", ["/v1/memories?before=nobody", "/v1/turns?before=nobody", "/v1/gaps?after=none"]
)
def test_a_cursor_that_names_nothing_is_told_as_any_id_that_does(client: TestClient, path: str) -> None:
    """Whichever kind of id it is."""
    answer = client.get(path)

    assert (answer.status_code, answer.json()["code"]) == (404, "E5005")


def test_a_cursor_of_a_memory_that_is_none_is_refused(client: TestClient) -> None:
    """As any other id that is not there."""
    assert client.get("/v1/memories", params={"before": "nobody"}).status_code == 404


def test_what_comes_in_meanwhile_hides_nothing() -> None:
    """A cursor names an entry and not a place: new ones in front do not shift what follows."""
    old = [{"n": number} for number in (3, 2, 2, 1)]
    first = paging.page(old, paging.fingerprints(old), limit=2, behind=None)

    grown = [{"n": 5}, {"n": 4}, *old]
    second = paging.page(grown, paging.fingerprints(grown), limit=2, behind=first.following)

    assert [*first.entries, *second.entries] == old


@given(st.lists(st.integers(0, 3), max_size=12), st.integers(1, 5))
@settings(max_examples=40, deadline=None)
def test_pages_lose_and_repeat_nothing(entries: list[int], limit: int) -> None:
    """Whatever the list, equal entries included."""
    names, found, behind = paging.fingerprints(entries), list[int](), None

    while True:
        cut = paging.page(entries, names, limit=limit, behind=behind)
        found += cut.entries
        if (behind := cut.following) is None:
            break

    assert found == entries
    assert len(set(names)) == len(names)


def test_a_cursor_is_not_quoted_at_length() -> None:
    """A cursor that is gone is told in a few characters."""
    with pytest.raises(InvalidQuery) as refused:
        paging.page([1], ["a"], limit=1, behind="x" * 500)

    assert len(str(refused.value)) < 200
