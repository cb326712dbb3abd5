"""
The HTTP application without a server, for tests of what it says and not of how it is served.

A request goes straight into the application, through every layer of it, in a hundredth of the time that a
server takes to start. Used by the tests of routes, pages of lists, ETags and the description.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from starlette.testclient import TestClient

from engramdb import Engram, Settings
from engramdb.http.app import create_app
from engramdb.testing import TinyEmbedder
from engramdb.values import GLOBAL, Scope

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from starlette.applications import Starlette

    from engramdb.clock import Clock

ADDRESS = "http://127.0.0.1:7070"


@contextmanager
def opened(home: Path, clock: Clock | None = None, *, scope: Scope = GLOBAL) -> Iterator[Engram]:
    """Open a fresh store without background work."""
    with Engram.open(
        settings=Settings(home=home), clock=clock, scope=scope, embedder=TinyEmbedder(), background=False
    ) as engram:
        yield engram


def client_of(app: Starlette) -> TestClient:
    """Return a client that speaks to the application; what it does not foresee is answered, not raised."""
    return TestClient(app, base_url=ADDRESS, raise_server_exceptions=False, follow_redirects=False)


class Standing:
    """Stands for a thing that changes: everything about it is that of the present one."""

    def __init__(self, present: Callable[[], Any]) -> None:
        self._present = present

    def __getattr__(self, name: str) -> Any:
        return getattr(self._present(), name)


_PRESENT: list[Engram] = []


@cache
def _app() -> Starlette:
    """Build an application around whichever engine is present: that takes longer than most tests."""
    engine = Standing(lambda: _PRESENT[-1])
    engine.replies = Standing(lambda: _PRESENT[-1].replies)  # type: ignore[attr-defined] # taken when it is built
    return create_app(cast("Engram", engine))


@contextmanager
def speaking_to(engine: Engram) -> Iterator[TestClient]:
    """Make an engine the one that the shared application works with, and return a client."""
    _PRESENT.append(engine)
    try:
        yield client_of(_app())
    finally:
        _PRESENT.remove(engine)


@contextmanager
def talking(home: Path, clock: Clock | None = None) -> Iterator[tuple[Engram, TestClient]]:
    """Open a fresh store and a client of an application around it."""
    with opened(home, clock) as engram:
        yield engram, client_of(create_app(engram))


def post(client: TestClient, verb: str, **body: Any) -> Any:
    """Post a body that must be taken, and return the answer."""
    answer = client.post(f"/v1/{verb}", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def read(client: TestClient, path: str, **parameters: Any) -> Any:
    """Get what must be there, and return it."""
    answer = client.get(f"/v1/{path}", params=parameters)
    assert answer.status_code == 200, answer.text
    return answer.json()
