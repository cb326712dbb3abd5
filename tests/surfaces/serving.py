"""
A real server on a free port of loopback, run in a thread of the test.

Used by the tests of the HTTP server's own business: tokens, keys, events, metrics, pressure. Whatever was
started is stopped, and its thread joined, when the block ends.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import httpx

from engramdb import Engram, Settings
from engramdb.http.server import Server, bind
from engramdb.http.tokens import OWN_FILE, NamedTokens, Tokens, stored_token
from engramdb.testing import TinyEmbedder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def serving(engram: Engram, **options: Any) -> Iterator[Server]:
    """Serve an engine while the block runs."""
    with bind("127.0.0.1", 0) as listener:
        server, is_ready = Server(engram, listener, host="127.0.0.1", **options), threading.Event()
        thread = threading.Thread(target=server.run, kwargs={"ready": lambda _url: is_ready.set()})
        thread.start()
        try:
            assert is_ready.wait(30)
            yield server
        finally:
            server.stop()
            thread.join()


def client_of(url: str, token: str | None = None, **headers: str) -> httpx.Client:
    """Return a client that shows a token, if any."""
    shown = {"Authorization": f"Bearer {token}"} if token else {}
    return httpx.Client(base_url=url, headers={**shown, **headers}, timeout=30, trust_env=False)


def opened(home: Path, **options: Any) -> Engram:
    """Open a memory in a home of its own, with an embedder that costs nothing."""
    options = {"embedder": TinyEmbedder(), "background": False, **options}
    return Engram.open(settings=Settings(home=home), **options)


def tokens_in(home: Path) -> Tokens:
    """Return the tokens of a home."""
    return Tokens(stored_token(home / OWN_FILE), NamedTokens(home))
