"""Imports over HTTP: a child reads them, the server goes on, and no kill leaves a plain copy behind."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from surfaces.in_process import opened
from surfaces.serving import add, client_of, tokens_in

from engramdb import Scope
from engramdb.http.app import Access, create_app
from engramdb.http.tokens import OWN_FILE

if TYPE_CHECKING:
    from collections.abc import Iterator

COMMAND = ("-c", "from engramdb.cli.main import run; run()", "serve", "--port", "0")
WORD = "zanzibarium"
HOSTILE = {"name": "a.md", "text": f"{WORD} " + "[" * 16_000, "kind": "markdown"}
LARGE = {"name": "a.txt", "text": f"The {WORD} opens at nine.\n\n" * 30_000}

needs_proc = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks for the child in /proc")


@contextmanager
def served(home: Path, temporary: Path) -> Iterator[tuple[subprocess.Popen[bytes], httpx.Client]]:
    """Run `engram serve` as a process of its own, with a temp folder of its own."""
    temporary.mkdir(exist_ok=True)
    environment = {**os.environ, "TMPDIR": str(temporary)}
    with subprocess.Popen(
        [sys.executable, *COMMAND], stderr=subprocess.PIPE, cwd=home.parent, env=environment
    ) as process:
        assert process.stderr is not None
        said = process.stderr.readline().decode()
        assert "listens on" in said, said + process.stderr.read().decode()
        process.stderr.readline()
        token = (home / OWN_FILE).read_text(encoding="utf-8").strip()
        try:
            with client_of(said.split()[-1], token) as client:
                yield process, client
        finally:
            process.kill()


def children(process: subprocess.Popen[bytes]) -> list[int]:
    """Return the children of a process that read an import."""
    tasks = Path(f"/proc/{process.pid}/task")
    found = [int(one) for task in tasks.glob("*/children") for one in task.read_text().split()]
    return [one for one in found if b"contained" in Path(f"/proc/{one}/cmdline").read_bytes()]


def waited_for_child(process: subprocess.Popen[bytes]) -> int:
    """Wait until an import is being read, and return the child that reads it."""
    until = time.monotonic() + 20
    while time.monotonic() < until:
        if found := children(process):
            return found[0]
        time.sleep(0.002)
    raise AssertionError("no child was started")


def holders(*folders: Path) -> list[Path]:
    """Return the files below folders that hold the word."""
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    return [path for path in files if WORD.encode() in path.read_bytes().lower()]


@contextmanager
def importing(client: httpx.Client, body: dict[str, str]) -> Iterator[list[Any]]:
    """Send an import from another thread; the list holds its answer when the block has ended."""
    answers: list[Any] = []

    def send() -> None:
        try:
            answers.append(client.post("/v1/import", json=body, timeout=60))
        except httpx.TransportError as exc:
            answers.append(exc)

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield answers
    finally:
        thread.join(60)


@needs_proc
def test_a_killed_child_stores_nothing_and_leaves_nothing(home: Path, tmp_path: Path) -> None:
    """The caller is told, the server goes on, and no word is in the home or the temp folder."""
    with served(home, tmp_path / "temporary") as (process, client):
        with importing(client, LARGE) as answers:
            os.kill(waited_for_child(process), signal.SIGKILL)
        assert answers[0].status_code == 422
        assert answers[0].json()["code"] == "E5017"
        assert holders(home, tmp_path / "temporary") == []
        assert client.get("/v1/memories").json() == []


@needs_proc
def test_a_killed_server_leaves_nothing(home: Path, tmp_path: Path) -> None:
    """Nor does its child, which ends soon."""
    with served(home, tmp_path / "temporary") as (process, client), importing(client, LARGE):
        child = waited_for_child(process)
        process.kill()
        process.wait()

    until = time.monotonic() + 30
    while Path(f"/proc/{child}").exists() and time.monotonic() < until:
        time.sleep(0.02)
    assert not Path(f"/proc/{child}").exists()
    assert holders(home, tmp_path / "temporary") == []


def test_the_server_answers_during_a_hostile_import(home: Path, tmp_path: Path) -> None:
    """Whatever a file does to a parser, other requests do not wait for it."""
    with served(home, tmp_path / "temporary") as (_process, client), importing(client, HOSTILE) as answers:
        slowest = 0.0
        while not answers and slowest < 5:
            begun = time.monotonic()
            assert client.get("/v1/memories").status_code == 200
            slowest = max(slowest, time.monotonic() - begun)

    assert slowest < 5
    assert answers[0].status_code in (200, 422)


@pytest.mark.parametrize("headers", [{}, {"Idempotency-Key": "a"}], ids=["plain", "with a key"])
@pytest.mark.parametrize("path", ["/v1/import", "/v1/remember", "/v1/observe"])
def test_a_token_that_may_only_read_is_refused_before_the_body(
    tmp_path: Path, path: str, headers: dict[str, str]
) -> None:
    """Not a byte of a write is read, also where the request has a key; a dry run of an import is one."""
    tokens = tokens_in(tmp_path)
    token = add(tokens.named, "reader", Scope(user="ada"), read_only=True)
    read: list[str] = []
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        read.append("body")
        return {"type": "http.request", "body": b"{}", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    with opened(tmp_path) as engram:
        app = create_app(engram, access=Access(tokens=tokens))
        given = {"host": "127.0.0.1", "authorization": f"Bearer {token}", "content-type": "application/json"}
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "POST",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "root_path": "",
            "scheme": "http",
            "server": ("127.0.0.1", 80),
            "headers": [(name.lower().encode(), value.encode()) for name, value in (given | headers).items()],
        }
        asyncio.run(app(scope, receive, send))

    assert sent[0]["status"] == 403
    assert read == []
