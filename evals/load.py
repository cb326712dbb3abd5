"""
Load: clients over HTTP and MCP, a dream, an import and a notebook watch together on one store.

python -m evals.load [--minutes 10] [--clients 8] [--json]

Four processes share one file: `engram serve`, `engram mcp --http`, `engram watch` and `engram import`, again
and again with new files; the dream is asked for over HTTP. Half of what the clients do is writing. Reported:
errors shown, how long writes and reads took, and what each server holds: resident memory, threads, files.
Errors count whatever a caller would see, also "come again" (503).
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import msgspec
import psutil
from msgspec import Struct

WRITES = frozenset({"observe", "remember"})
VERBS = ("observe", "remember", "recall", "observe", "context", "remember", "list", "recall")
IMPORTED_LINES = 300
"""Messages of each file that is imported."""
PAUSE_SECONDS = 0.05
"""Between two requests of a client: an agent thinks, too."""
SAMPLE_SECONDS = 5.0
COMPUTED = 100_000
"""Numbers that the baseline adds up: one or two milliseconds on a machine that does nothing else."""
TIMEOUT_SECONDS = 120.0
_PEOPLE = ("Ana", "Bela", "Chidi", "Dara", "Emeka", "Fumiko", "Goran", "Hana")
_PLACES = ("Lisbon", "Tallinn", "Osaka", "Quito", "Bergen", "Accra", "Leeds", "Split")
_THINGS = ("the staging database", "my bicycle", "the quarterly report", "our garden", "the new laptop")
_TEMPLATES = (
    "{who} moved to {place} last week and works on {thing} now, ticket {number}.",
    "I told {who} that {thing} is kept in {place}, shelf {number}.",
    "Please remember that {who} prefers {place} over everything else since day {number}.",
    "We decided to sell {thing} for {number} euros, and {who} agreed in {place}.",
)


class Sample(Struct, frozen=True):
    """What the servers held at one moment."""

    second: float
    megabytes: dict[str, float]
    threads: dict[str, int]
    files: dict[str, int]
    processor_seconds: dict[str, float]
    """What each has been given so far: little of it on a machine that does much else."""


class Report(Struct, frozen=True):
    """What a run showed."""

    minutes: float
    requests: int
    errors: dict[str, int]
    seconds: dict[str, dict[str, float]]
    dreams: int
    imports: int
    samples: list[Sample]

    @property
    def growth(self) -> dict[str, tuple[float, float, float]]:
        """Resident memory of each server in megabytes: after warming up, at the end, and at most."""
        warm = self.samples[min(len(self.samples) - 1, max(1, len(self.samples) // 5))]
        return {
            name: (
                warm.megabytes[name],
                self.samples[-1].megabytes[name],
                max(one.megabytes[name] for one in self.samples),
            )
            for name in warm.megabytes
        }


class Book:
    """Takes note of every request, from every thread."""

    def __init__(self) -> None:
        self.took: defaultdict[str, list[float]] = defaultdict(list)
        self.errors: Counter[str] = Counter()
        self.done: Counter[str] = Counter()
        self._lock = threading.Lock()

    def time(self, kind: str, ask: Callable[[], str | None]) -> None:
        """Time a request; what it returns is the error that a user would see."""
        start = time.perf_counter()
        try:
            error = ask()
        except httpx.HTTPError as exc:
            error = type(exc).__name__
        with self._lock:
            self.took[kind].append(time.perf_counter() - start)
            if error is not None:
                self.errors[f"{kind}: {error}"] += 1

    def count(self, what: str) -> None:
        """Count something that was carried through."""
        with self._lock:
            self.done[what] += 1


class Talker:
    """Says something new each time, and asks for what somebody said."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._numbers = itertools.count(seed * 1_000_000)

    def sentence(self) -> str:
        """Return a sentence that nobody said before."""
        choose = self._random.choice
        return choose(_TEMPLATES).format(
            who=choose(_PEOPLE), place=choose(_PLACES), thing=choose(_THINGS), number=next(self._numbers)
        )

    def question(self) -> str:
        """Return a question."""
        return f"What do you know about {self._random.choice(_PEOPLE)} and {self._random.choice(_PLACES)}?"

    def request(self, verb: str) -> dict[str, Any]:
        """Return what a verb is asked for."""
        match verb:
            case "observe":
                return {"content": self.sentence(), "role": "user"}
            case "remember":
                return {"content": self.sentence()}
            case "recall":
                return {"query": self.question(), "limit": 5}
            case "context":
                return {"message": self.question()}
            case _:
                return {"limit": 20}


def over_http(client: httpx.Client, verb: str, asked: dict[str, Any]) -> str | None:
    """Ask the API; returns the error, if any."""
    if verb == "list":
        answer = client.get("/v1/memories", params=asked)
    else:
        answer = client.post(f"/v1/{verb}", json=asked)
    return None if answer.status_code == 200 else f"HTTP {answer.status_code}"


class McpClient:
    """A client of the older protocol, which is what most agents speak."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._client = httpx.Client(
            headers={"Accept": "application/json, text/event-stream"},
            timeout=TIMEOUT_SECONDS,
            trust_env=False,
        )
        self._ids = itertools.count(1)
        hello = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "load", "version": "1"},
        }
        answer = self._client.post(url, json=self._message("initialize", hello))
        answer.raise_for_status()
        self._client.headers["mcp-session-id"] = answer.headers["mcp-session-id"]
        self._client.post(url, json={"jsonrpc": "2.0", "method": "notifications/initialized"})

    def call(self, verb: str, asked: dict[str, Any]) -> str | None:
        """Call a tool; returns the error, if any."""
        wanted = {"name": verb, "arguments": asked}
        answer = self._client.post(self._url, json=self._message("tools/call", wanted))
        if answer.status_code != 200:
            return f"MCP {answer.status_code}"
        told = next(
            line[5:] for line in answer.text.splitlines() if line.startswith("data:") and line[5:].strip()
        )
        reply = json.loads(told)
        if "error" in reply:
            return f"MCP {reply['error'].get('code')}"
        if not reply["result"].get("isError"):
            return None
        return f"MCP tool: {reply['result']['content'][0]['text'][:80]}"

    def close(self) -> None:
        """Let the connection go."""
        self._client.close()

    def _message(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": params}


@contextmanager
def started(*words: str, home: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run a command of ours until the block ends; yields it and the address that it says it listens on."""
    env = {**os.environ, "ENGRAM_HOME": str(home)}
    command = [sys.executable, "-m", "engramdb", *words]
    # What it says later goes to a file: a pipe that nobody reads would stop it.
    with (home / f"{words[0]}.log").open("w+") as log:
        process = subprocess.Popen(command, env=env, stderr=log, stdout=log, text=True)
        try:
            yield process, _address(process, home / f"{words[0]}.log") if words[0] != "watch" else ""
        finally:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(30)
            if process.poll() is None:
                process.kill()


def _address(process: subprocess.Popen[str], log: Path) -> str:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and process.poll() is None:
        for line in log.read_text().splitlines():
            if "listens on " in line:
                return line.partition("listens on ")[2].split()[0]
        time.sleep(0.1)
    raise RuntimeError(f"a server did not start: {log.read_text()[-500:]}")


def run(minutes: float, *, clients: int = 8) -> Report:
    """Load a fresh store for some minutes."""
    book, stop, samples = Book(), threading.Event(), list[Sample]()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        home = Path(folder)
        serve, url = stack.enter_context(started("serve", "--port", "0", "--no-token", home=home))
        mcp, mcp_url = stack.enter_context(
            started("mcp", "--tools", "all", "--http", "127.0.0.1:0", "--no-token", home=home)
        )
        watch, _ = stack.enter_context(started("watch", str(home / "notes"), home=home))
        watched = {"serve": serve.pid, "mcp": mcp.pid, "watch": watch.pid}
        threads = [
            threading.Thread(target=_client, args=(number, url, mcp_url, book, stop))
            for number in range(clients)
        ]
        threads += [
            threading.Thread(target=_dreamer, args=(url, book, stop)),
            threading.Thread(target=_importer, args=(home, book, stop)),
            threading.Thread(target=_machine, args=(home, book, stop)),
            threading.Thread(target=_sampler, args=(watched, samples, stop)),
        ]
        for thread in threads:
            thread.start()
        stop.wait(minutes * 60)
        stop.set()
        for thread in threads:
            thread.join()
        for name, process in (("serve", serve), ("mcp", mcp), ("watch", watch)):
            if process.poll() is not None:
                book.errors[f"{name} ended with {process.poll()}"] += 1
    return Report(
        minutes=minutes,
        requests=len(book.took["read"]) + len(book.took["write"]),
        errors=dict(book.errors),
        seconds={kind: _spread(took) for kind, took in sorted(book.took.items())},
        dreams=book.done["dream"],
        imports=book.done["import"],
        samples=samples,
    )


def _client(number: int, url: str, mcp_url: str, book: Book, stop: threading.Event) -> None:
    """Do one thing after another until it is over; every third client speaks MCP."""
    talker = Talker(number + 1)
    with ExitStack() as stack:
        client = stack.enter_context(httpx.Client(base_url=url, timeout=TIMEOUT_SECONDS, trust_env=False))
        mcp = McpClient(mcp_url) if number % 3 == 2 else None
        if mcp is not None:
            stack.callback(mcp.close)
        for turn in itertools.count(number):
            if stop.wait(PAUSE_SECONDS):
                return
            verb = VERBS[turn % len(VERBS)]
            asked = talker.request(verb)
            kind = "write" if verb in WRITES else "read"
            book.time(
                kind,
                lambda verb=verb, asked=asked: (  # type: ignore[misc]
                    mcp.call(verb, asked) if mcp else over_http(client, verb, asked)
                ),
            )


def _dreamer(url: str, book: Book, stop: threading.Event) -> None:
    with httpx.Client(base_url=url, timeout=None, trust_env=False) as client:  # noqa: S113 - a dream takes long
        while not stop.wait(2):
            answer = client.post("/v1/dream", json={})
            book.count("dream")
            if answer.status_code != 200:
                book.errors[f"dream: HTTP {answer.status_code}"] += 1


def _importer(home: Path, book: Book, stop: threading.Event) -> None:
    talker, path = Talker(1_000), home / "said.jsonl"
    while not stop.wait(2):
        lines = [json.dumps({"content": talker.sentence()}) for _ in range(IMPORTED_LINES)]
        path.write_text("\n".join(lines))
        command = [sys.executable, "-m", "engramdb", "import", str(path), "--json"]
        done = subprocess.run(
            command, env={**os.environ, "ENGRAM_HOME": str(home)}, capture_output=True, text=True, check=False
        )
        book.count("import")
        if done.returncode:
            book.errors[f"import: {done.stderr.strip()[-120:]}"] += 1


def _machine(home: Path, book: Book, stop: threading.Event) -> None:
    """Time what needs no engine, beside it: a little computing, and a line that is written to the disk."""
    while not stop.wait(0.2):
        book.time("compute", _compute)
        book.time("fsync", lambda: _write_through(home / "baseline"))


def _compute() -> None:
    sum(range(COMPUTED))


def _write_through(path: Path) -> None:
    with path.open("a") as file:
        file.write("one line\n")
        file.flush()
        os.fsync(file.fileno())


def _sampler(watched: dict[str, int], samples: list[Sample], stop: threading.Event) -> None:
    start = time.monotonic()
    while True:
        with suppress(psutil.Error):
            found = {name: psutil.Process(pid) for name, pid in watched.items()}
            samples.append(
                Sample(
                    round(time.monotonic() - start, 1),
                    {name: round(one.memory_info().rss / 1e6, 1) for name, one in found.items()},
                    {name: one.num_threads() for name, one in found.items()},
                    {name: one.num_fds() for name, one in found.items()},
                    {name: round(sum(one.cpu_times()[:2]), 1) for name, one in found.items()},
                )
            )
        if stop.wait(SAMPLE_SECONDS):
            return


def _spread(took: list[float]) -> dict[str, float]:
    ordered = sorted(took)
    return {
        "count": len(ordered),
        "p50": round(statistics.median(ordered), 4),
        "p99": round(ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))], 4),
        "max": round(ordered[-1], 4),
    }


def _show(report: Report) -> None:
    print(f"{report.requests} requests in {report.minutes:g} minutes, {report.dreams} dreams, ", end="")
    print(f"{report.imports} imports of {IMPORTED_LINES}; errors: {report.errors or 'none'}")
    for kind, spread in report.seconds.items():
        print(f"{kind:6}", "  ".join(f"{name} {value:g}" for name, value in spread.items()), "(s)")
    for name, (warm, last, most) in report.growth.items():
        final = report.samples[-1]
        print(
            f"{name:6} resident {warm:g} MB after a fifth, {last:g} MB at the end, {most:g} MB at most; "
            f"{final.threads[name]} threads, {final.files[name]} open files, "
            f"{final.processor_seconds[name]:g} s of processor time in {final.second:g} s"
        )


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    report = run(given.minutes, clients=given.clients)
    if given.json:
        print(msgspec.json.encode(report).decode())
    else:
        _show(report)


if __name__ == "__main__":
    main()
