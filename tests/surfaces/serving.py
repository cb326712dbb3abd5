"""
A real server on a free port of loopback, run in a thread of the test.

Used by the tests of the HTTP server's own business: tokens, keys, events, metrics, pressure. Whatever was
started is stopped, and its thread joined, when the block ends.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import httpx

from engramdb import Engram, Settings
from engramdb.http.server import Server, bind
from engramdb.http.tokens import OWN_FILE, NamedTokens, Tokens, stored_token
from engramdb.testing import TinyEmbedder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from engramdb import Scope


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


def add(named: NamedTokens, name: str, scope: Scope, **options: Any) -> str:
    """Make a token as `engram token create` does, one that does not expire."""
    return named.add(name, scope=scope, now=datetime(2026, 1, 1, tzinfo=UTC), life=None, **options)


class Held(TinyEmbedder):
    """An embedder that waits until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.has_begun, self.may_go = threading.Event(), threading.Event()

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed when told to."""
        self.has_begun.set()
        assert self.may_go.wait(30)
        return super().embed_documents(texts)


@contextmanager
def held(home: Path) -> Iterator[tuple[Held, Engram]]:
    """An engine whose writes wait."""
    embedder = Held()
    with Engram.open(settings=Settings(home=home), embedder=embedder, background=False) as engram:
        yield embedder, engram
