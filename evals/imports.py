"""
How fast imports are: memories and turns a second, by kind of source, and how much memory a large file takes.

    python -m evals.imports [--rows 10000] [--megabytes 200]

Sources are made up with a seed, so that two runs compare; `remember_many` is the same without a source.
Wall and processor time of one process without background threads, on a fresh store; no chat model. The large
file is only parsed: what it takes in memory is the question there.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import resource
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from engramdb import Engram, Settings
from engramdb.importing.read import read_source
from engramdb.lifecycle.drafts import Draft
from evals.made_up import Sentences
from evals.report import keep, show

if TYPE_CHECKING:
    from collections.abc import Callable

NAMES = ("Maya", "Tom", "Priya", "Jonas", "Aiko", "Lena", "Omar", "Ruth", "Felix", "Nadia", "Ivo", "Carla")
THINGS = ("tea", "pizza", "Rust", "Postgres", "chess", "hiking", "jazz", "ramen", "Helix", "pottery", "Kafka")
PLACES = ("Berlin", "Lisbon", "Oslo", "Kyoto", "Austin", "Leeds", "Porto", "Ghent", "Turin", "Malmö")
FORMS = (
    "{name} prefers {thing} over {other} since the trip to {place} in {year}",
    "{name} met the {thing} team in {place} and agreed on ticket {number}",
    "The {thing} service in {place} was moved to host {number} by {name}",
    "{name} keeps {number} notes about {thing} and {other}",
)


def varied(seed: int) -> Callable[[], str]:
    """Return a maker of sentences whose words have natural frequencies, as the eval of speed has them."""
    return Sentences(seed).next


def alike(seed: int) -> Callable[[], str]:
    """Return a maker of sentences of four forms, which are hard to tell apart: the worst case of settling."""
    rng = random.Random(seed)
    return lambda: sentence(rng)


def sentence(rng: random.Random) -> str:
    """Return a made-up statement."""
    return rng.choice(FORMS).format(
        name=rng.choice(NAMES),
        thing=rng.choice(THINGS),
        other=rng.choice(THINGS),
        place=rng.choice(PLACES),
        year=rng.randrange(1990, 2026),
        number=rng.randrange(100_000),
    )


def mem0(folder: Path, rows: int, make: Callable[[], str]) -> Path:
    """Write a dump of mem0."""
    path = folder / "mem0.json"
    memories = [{"id": str(number), "memory": make(), "user_id": "u"} for number in range(rows)]
    path.write_text(json.dumps({"results": memories}))
    return path


def table(folder: Path, rows: int, make: Callable[[], str]) -> Path:
    """Write a CSV file."""
    path = folder / "rows.csv"
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["text", "date"])
        writer.writerows([make(), f"2024-03-{number % 28 + 1:02}"] for number in range(rows))
    return path


def notes(folder: Path, rows: int, make: Callable[[], str]) -> Path:
    """Write a folder of notes, twenty statements to each."""
    vault = folder / "vault"
    vault.mkdir()
    for number in range(rows // 20):
        points = "\n".join(f"- {make()}" for _ in range(20))
        (vault / f"note {number}.md").write_text(f"---\ntags: [fact]\n---\n# Log\n\n{points}\n")
    return vault


def chats(folder: Path, rows: int, make: Callable[[], str]) -> Path:
    """Write a ChatGPT export, forty messages to a conversation."""
    path = folder / "conversations.json"
    path.write_text(json.dumps([conversation(number, 40, make) for number in range(rows // 40)]))
    return path


def conversation(number: int, length: int, make: Callable[[], str]) -> dict[str, Any]:
    """Return one conversation as such an export has it."""
    nodes: dict[str, Any] = {"root": {"id": "root", "message": None, "parent": None, "children": ["0"]}}
    for place in range(length):
        role = "assistant" if place % 2 else "user"
        said = f"Good to know, thanks for telling me about message {place}." if place % 2 else make()
        nodes[str(place)] = {
            "id": str(place),
            "parent": str(place - 1) if place else "root",
            "message": {
                "id": f"{number}-{place}",
                "author": {"role": role},
                "create_time": 1_700_000_000 + number * 1000 + place,
                "content": {"content_type": "text", "parts": [said]},
            },
        }
    return {"conversation_id": str(number), "mapping": nodes, "current_node": str(length - 1)}


def measured(name: str, path: Path, folder: Path) -> list[dict[str, Any]]:
    """Import a source twice into a fresh store, and return how fast either was."""
    settings = replace(Settings(), store=str(folder / f"{name}.db"), embedder="static")
    rows = []
    with Engram.open(settings=settings, background=False) as engram:
        for what in ("first", "again"):
            wall, busy = time.perf_counter(), time.process_time()
            report = engram.import_from(path, mapping={"content": "text"} if path.suffix == ".csv" else None)
            wall, busy = time.perf_counter() - wall, time.process_time() - busy
            rows.append(
                {
                    "source": f"{name}, {what}",
                    "records": report.found,
                    "memories": engram.status().memories,
                    "per second": round(report.found / wall),
                    "per CPU second": round(report.found / busy),
                }
            )
    return rows


def straight(folder: Path, rows: int) -> dict[str, Any]:
    """Store as many statements without importing them: what the write pipeline alone takes."""
    settings, make = replace(Settings(), store=str(folder / "straight.db"), embedder="static"), varied(7)
    drafts = [Draft(content=make()) for _ in range(rows)]
    with Engram.open(settings=settings, background=False) as engram:
        wall, busy = time.perf_counter(), time.process_time()
        count = sum(1 for _ in engram.remember_stream(drafts))
        wall, busy = time.perf_counter() - wall, time.process_time() - busy
        stored = engram.status().memories
    return {
        "source": "remember_many",
        "records": count,
        "memories": stored,
        "per second": round(count / wall),
        "per CPU second": round(count / busy),
    }


def large(folder: Path, megabytes: int, make: Callable[[], str]) -> dict[str, Any]:
    """Parse a large export without storing it, and return how fast and how much more memory it took."""
    path = folder / "conversations.json"
    one = json.dumps(conversation(1, 400, make))
    with path.open("w") as stream:
        stream.write("[" + one)
        while stream.tell() < megabytes * 1_000_000:
            stream.write("," + one)
        stream.write("]")
    before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    records = sum(1 for _ in read_source(path))
    busy = time.process_time() - began
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    size = path.stat().st_size / 1e6
    return {
        "megabytes": size,
        "records": records,
        "MB per CPU second": size / busy,
        "resident MB more": grown,
    }


def main() -> None:
    """Measure every kind and keep the numbers."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--megabytes", type=int, default=200)
    told = parser.parse_args()
    makers: dict[str, tuple[Callable[[Path, int, Callable[[], str]], Path], Callable[[], str], int]] = {
        "mem0": (mem0, varied(7), told.rows),
        "csv": (table, varied(7), told.rows),
        "markdown": (notes, varied(7), told.rows),
        "mem0, all alike": (mem0, alike(7), told.rows // 4),
        "chatgpt": (chats, alike(7), told.rows // 4),
    }
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        parsed = large(folder, told.megabytes, alike(1))
        rows.append(straight(folder, told.rows))
        for kind, (make, words, count) in makers.items():
            rows += measured(kind, make(folder, count, words), folder)
    show("Imports", rows)
    show("A large file, parsed only", [parsed])
    keep("imports", {"rows": rows, "large": parsed})


if __name__ == "__main__":
    main()
