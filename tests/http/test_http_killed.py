"""The real server, killed in the middle of writes: what it acknowledged is there, and retries are safe."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import httpx
from surfaces.serving import client_of

from engramdb import Engram
from engramdb.http.tokens import OWN_FILE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ENOUGH = 40
"""Writes that must have been acknowledged before the server is killed."""
COMMAND = ("-c", "from engramdb.cli.main import run; run()", "serve", "--port", "0")


class Writes:
    """What clients sent, and what of it was acknowledged."""

    def __init__(self) -> None:
        self.sent: set[str] = set()
        self.acknowledged: set[str] = set()
        self.is_enough = threading.Event()

    def write(self, client: httpx.Client, name: str) -> None:
        """Write until the server is gone; every write has its own text as its key."""
        for number in range(10_000):
            text = f"Client-{name}-counted-{number}-sheep"
            self.sent.add(text)
            try:
                answer = send(client, text)
            except httpx.TransportError:
                return
            if answer.status_code == 200:
                self.acknowledged.add(text)
            if len(self.acknowledged) >= ENOUGH:
                self.is_enough.set()


def send(client: httpx.Client, text: str) -> httpx.Response:
    """Send one write under its key."""
    return client.post("/v1/remember", json={"content": text}, headers={"Idempotency-Key": text})


def send_again(client: httpx.Client, text: str) -> httpx.Response:
    """Send one write until it is not told to come again: one that was cut off may still be under way."""
    while (answer := send(client, text)).status_code == httpx.codes.CONFLICT:
        time.sleep(float(answer.headers["Retry-After"]))
    return answer


@contextmanager
def served(home: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """Run `engram serve` as a process of its own."""
    with subprocess.Popen([sys.executable, *COMMAND], stderr=subprocess.PIPE, cwd=home.parent) as process:
        assert process.stderr is not None
        said = process.stderr.readline().decode()
        assert "listens on" in said, said + process.stderr.read().decode()
        url = said.split()[-1]
        process.stderr.readline()
        try:
            yield process, url
        finally:
            process.kill()


def test_a_killed_server_loses_nothing_and_retries_add_nothing_twice(home: Path) -> None:
    """Kill -9 amid writes of four clients; then all of them send everything again, under the same keys."""
    writes = Writes()
    with served(home) as (process, url):
        token = (home / OWN_FILE).read_text().strip()
        clients = [client_of(url, token) for _ in range(4)]
        threads = [
            threading.Thread(target=writes.write, args=(client, name))
            for client, name in zip(clients, ("Ada", "Bo", "Cy", "Di"), strict=True)
        ]
        for thread in threads:
            thread.start()
        assert writes.is_enough.wait(60)
        process.send_signal(signal.SIGKILL)
        for thread in threads:
            thread.join(30)

    with Engram.open(must_exist=True, background=False) as engram:
        kept = {memory.content for memory in engram.list(limit=1000)}
        is_sound = engram.doctor().ok
    assert writes.acknowledged <= kept <= writes.sent
    assert is_sound

    with served(home) as (_, url), client_of(url, token) as client:
        answers = {text: send_again(client, text) for text in sorted(writes.sent)}
        listed = client.get("/v1/memories", params={"limit": 1000}).json()

    assert all(answer.status_code == 200 for answer in answers.values())
    assert all("Idempotency-Replayed" in answers[text].headers for text in writes.acknowledged)
    assert sorted(one["content"] for one in listed) == sorted(writes.sent)
