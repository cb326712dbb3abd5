"""
Findability by words across languages and code: our terms against FTS5's own tokenizers.

    python -m evals.languages [--json FILE]

Each of some fifty memories is asked for by a short question in its own language, by words alone. A memory
counts as found when it is among the first three. Also measured: the size of the index and the time to build
it over twenty thousand sentences. The write-up is docs/lab/0004-terms.md.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw

from engramdb import Engram, Settings
from engramdb.testing import TinyEmbedder
from engramdb.text.terms import terms
from evals.made_up import Sentences
from evals.report import keep, show

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

BULK = 20_000
FOUND_AMONG = 3
TOKENIZERS = {
    "unicode61": "unicode61",
    "porter unicode61": "porter unicode61",
    "trigram": "trigram",
}


def cases() -> list[dict[str, str]]:
    """Return the labelled memories and questions."""
    read: list[dict[str, str]] = json.loads((Path(__file__).parent / "languages.json").read_text("utf-8"))
    return read


def found_by_tokenizer(tokenizer: str) -> list[bool]:
    """Return which memories plain FTS5 with this tokenizer finds, asked for any of the words."""
    connection = apsw.Connection(":memory:")
    connection.execute(f"CREATE VIRTUAL TABLE f USING fts5 (body, tokenize = '{tokenizer}')")
    for number, case in enumerate(cases()):
        connection.execute("INSERT INTO f (rowid, body) VALUES (?, ?)", (number, case["memory"]))
    found = []
    for number, case in enumerate(cases()):
        words = " OR ".join('"' + word.replace('"', '""') + '"' for word in case["question"].split())
        sql = "SELECT rowid FROM f WHERE f MATCH ? ORDER BY rank LIMIT ?"
        rows = connection.execute(sql, (words, FOUND_AMONG)).fetchall()
        found.append((number,) in rows)
    return found


def found_by_engram(folder: Path) -> list[bool]:
    """Return which memories our own recall finds by words alone."""
    embedder = TinyEmbedder()
    embedder.failure = "left out of this measurement"
    with Engram.open(
        folder / "languages.db", settings=Settings(), embedder=embedder, background=False
    ) as engram:
        stored = [engram.remember(case["memory"]) for case in cases()]
        answers = [engram.recall(case["question"], limit=FOUND_AMONG) for case in cases()]
    return [
        any(hit.memory.id == memory.id for hit in answer.hits)
        for memory, answer in zip(stored, answers, strict=True)
    ]


def cost(tokenizer: str, cut: Callable[[str], str], folder: Path) -> dict[str, float]:
    """Return megabytes and seconds of an index over many sentences."""
    path = folder / f"{abs(hash(tokenizer))}.db"
    sentences = Sentences(1)
    bodies = [sentences.next() for _ in range(BULK)]
    connection = apsw.Connection(str(path))
    started = time.process_time()
    with connection:
        connection.execute(f'CREATE VIRTUAL TABLE f USING fts5 (body, tokenize = "{tokenizer}")')
        connection.executemany("INSERT INTO f (body) VALUES (?)", ((cut(body),) for body in bodies))
    seconds = time.process_time() - started
    connection.close()
    return {"MB": path.stat().st_size / 1e6, "seconds": seconds}


def measure(folder: Path) -> list[dict[str, Any]]:
    """Return a row per tokenizer."""
    rows = []
    for name, tokenizer in TOKENIZERS.items():
        rows.append(_row(name, found_by_tokenizer(tokenizer)) | cost(tokenizer, str, folder))
    ours = cost("ascii tokenchars '!#$%&*+-./:<=>?@^_|~'", lambda body: " ".join(terms(body)), folder)
    rows.append(_row("engram's terms", found_by_engram(folder)) | ours)
    return rows


def _row(name: str, found: Sequence[bool]) -> dict[str, Any]:
    spaceless = {"Chinese", "Japanese", "Thai"}
    groups: dict[str, list[bool]] = {"no spaces": [], "code": [], "other": []}
    for case, hit in zip(cases(), found, strict=True):
        language = case["language"]
        group = "no spaces" if language in spaceless else "code" if language == "code" else "other"
        groups[group].append(hit)
    shares = {group: f"{sum(hits)}/{len(hits)}" for group, hits in groups.items()}
    return {"": name, "found": f"{sum(found)}/{len(found)}", **shares}


def main() -> None:
    """Measure, print the table and keep the JSON."""
    parser = argparse.ArgumentParser(prog="python -m evals.languages", description=__doc__.split("\n")[1])
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = measure(Path(folder))
    show(f"Found among the first {FOUND_AMONG}, by words alone", rows)
    print(f"\nWritten to {keep('languages', {'rows': rows}, path=arguments.json)}")


if __name__ == "__main__":
    main()
