"""
What the tests of the surfaces share: a home of their own, the command line, the HTTP application.

Nothing here touches the user's own home or the network. Tests that need a real server start one with
`serving`.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Protocol

import pytest
from click.testing import CliRunner

from engramdb import Engram, Settings
from engramdb.cli.main import app

from .in_process import speaking_to

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from click.testing import Result
    from starlette.testclient import TestClient

    from engramdb.testing import TinyEmbedder


class Command(Protocol):
    """Runs one command line and returns what came of it."""

    def __call__(self, *arguments: str, stdin: str | bytes | None = None) -> Result: ...


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home with the built-in embedder, whatever the environment says."""
    folder = tmp_path / "home"
    monkeypatch.setenv("ENGRAM_HOME", str(folder))
    monkeypatch.setenv("ENGRAM_EMBEDDER", "static")
    for name in ("ENGRAM_STORE", "ENGRAM_KEY", "ENGRAM_POLICY", "ENGRAM_HOST", "ENGRAM_PORT"):
        monkeypatch.delenv(name, raising=False)
    return folder


@pytest.fixture
def engram_command() -> Command:
    """The command `engram`, in this process."""

    def run(*arguments: str, stdin: str | bytes | None = None) -> Result:
        return CliRunner().invoke(app, list(arguments), input=stdin)

    return run


@pytest.fixture
def move_to(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Give a function that moves the reader into a time zone; afterwards they are where they were."""

    def move(zone: str) -> None:
        monkeypatch.setenv("TZ", zone)
        time.tzset()

    yield move
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def engine(tmp_path: Path, embedder: TinyEmbedder) -> Iterator[Engram]:
    """An engine on a fresh store, with an embedder that fails when told to."""
    settings = Settings(home=tmp_path / "served")
    with Engram.open(settings=settings, embedder=embedder, background=False) as opened:
        yield opened


@pytest.fixture
def client(engine: Engram) -> Iterator[TestClient]:
    """A client that speaks to the application without a server between."""
    with speaking_to(engine) as speaking:
        yield speaking
