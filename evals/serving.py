"""
What the server's own business costs: requests with and without what stands around the routes, writes a
second.

python -m evals.serving [--requests 300]

A real server in a thread of this process, on loopback, with the built-in embedder on a fresh store. The
two applications take turns, so that a busy machine slows both; times are medians, and processor time is
that of the whole process, client included.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import uvicorn
from starlette.applications import Starlette

from engramdb import Engram, Settings
from engramdb.http.app import Access, create_app
from engramdb.http.routes import verb_routes
from engramdb.http.server import bind
from engramdb.http.tokens import NamedTokens, Tokens, stored_token
from evals.made_up import Sentences

if TYPE_CHECKING:
    from collections.abc import Iterator

Send = Callable[[httpx.Client], httpx.Response]


@contextmanager
def served(app: Starlette) -> Iterator[str]:
    """Serve an application on a free port."""
    with bind("127.0.0.1", 0) as listener:
        server = uvicorn.Server(uvicorn.Config(app, access_log=False, log_level="warning", ws="none"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        while not server.started:
            time.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


def bare(engram: Engram) -> Starlette:
    """Return the routes with nothing around them."""
    return Starlette(routes=verb_routes(engram))


def compare(clients: dict[str, httpx.Client], send: Send, *, requests: int) -> dict[str, tuple[float, float]]:
    """Return median milliseconds and processor milliseconds of each, asked in turns."""
    took: dict[str, list[float]] = {name: [] for name in clients}
    worked: dict[str, float] = dict.fromkeys(clients, 0.0)
    for _ in range(requests):
        for name, client in clients.items():
            start, before = time.perf_counter(), time.process_time()
            send(client).raise_for_status()
            took[name].append(time.perf_counter() - start)
            worked[name] += time.process_time() - before
    return {
        name: (statistics.median(times) * 1000, worked[name] / requests * 1000)
        for name, times in took.items()
    }


def writes_a_second(clients: list[httpx.Client], texts: Sentences, *, requests: int, keyed: bool) -> float:
    """Return how many writes a second so many clients get done, all of them acknowledged."""
    bodies = [texts.next() for _ in range(requests)]

    def send(number: int) -> None:
        headers = {"Idempotency-Key": f"{id(bodies)}-{number}"} if keyed else {}
        body = {"content": bodies[number]}
        clients[number % len(clients)].post("/v1/remember", json=body, headers=headers).raise_for_status()

    start = time.perf_counter()
    with ThreadPoolExecutor(len(clients)) as pool:
        list(pool.map(send, range(requests)))
    return requests / (time.perf_counter() - start)


def main() -> None:
    """Measure, and print what was found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--requests", type=int, default=300)
    requests = parser.parse_args().requests
    texts = Sentences(7)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        tokens = Tokens(stored_token(home / "http.token"), NamedTokens(home))
        settings = Settings(home=home, embedder="static")
        with (
            Engram.open(settings=settings, background=False) as engram,
            served(bare(engram)) as without,
            served(create_app(engram, access=Access(tokens=tokens))) as whole,
        ):
            shown = {"Authorization": f"Bearer {tokens.own}"}

            def client(url: str) -> httpx.Client:
                return httpx.Client(base_url=url, headers=shown, timeout=60, trust_env=False)

            pair = {"bare": client(without), "whole": client(whole)}
            engram.remember("I like tea")
            sends: dict[str, Send] = {
                "list one": lambda one: one.get("/v1/memories", params={"limit": 1}),
                "remember": lambda one: one.post("/v1/remember", json={"content": texts.next()}),
                "recall": lambda one: one.post("/v1/recall", json={"query": texts.next()}),
            }
            for name, send in sends.items():
                found = compare(pair, send, requests=requests)
                ratio = found["whole"][1] / found["bare"][1]
                print(f"{name:10} {found['bare']} {found['whole']} CPU ratio {ratio:.2f}")
            for number in (1, 8):
                for keyed in (False, True):
                    clients = [client(whole) for _ in range(number)]
                    rate = writes_a_second(clients, texts, requests=requests, keyed=keyed)
                    print(f"{number} clients, {'with' if keyed else 'without'} keys: {rate:.0f} writes/s")


if __name__ == "__main__":
    main()
