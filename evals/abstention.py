"""
Does an answer know that it is none, and does what answers come first?

    python -m evals.abstention [--embedder static] [--home FOLDER] [--half first] [--milliseconds 200]

Twenty stores of twenty memories (`abstention_data`), written by somebody who knew neither the code nor its
rules: ten lives and ten projects. Of each ten questions are asked that it answers, mostly in other words, ten
about the same people and things that it does not answer, and five about something else. Told is how well
`quality.answerable` parts the first from the others (area under the curve), what share is called not known at
the default, and where the right memory stands. Beside it, every memory found by the embedder alone. What was
chosen was chosen on the first half; `--half sealed` are ten stores by another hand, written after that, for
totals only. The write-ups are docs/lab/0051-answers.md and docs/lab/0056-answers.md.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct

from engramdb import Engram, Settings
from engramdb.models.registry import open_embedder
from engramdb.policy import NAMES
from evals.report import keep, show

DATA = Path(__file__).parent / "abstention_data"
HALVES = ("first", "second", "sealed")
KINDS = ("answerable", "near", "far")


class Asked(Struct, frozen=True):
    """A question that was asked: of which kind, how likely it was answered, and which hits are right."""

    kind: str
    answerable: float
    is_known: bool
    best: float
    right: tuple[bool, ...]


def stores(half: str | None) -> list[dict[str, Any]]:
    """Return the stores, or every other one of them: lives and projects alike; or those of another hand."""
    name = "sealed" if half == "sealed" else "stores"
    rows = [json.loads(line) for line in (DATA / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
    return rows if half not in ("first", "second") else rows[0 if half == "first" else 1 :: 2]


def questions(row: dict[str, Any]) -> list[tuple[str, str, set[str]]]:
    """Return each question of a store, its kind, and the memories that answer it."""
    known = [
        ("answerable", one["question"], {row["memories"][place] for place in one["answers"]})
        for one in row["answerable"]
    ]
    return known + [(kind, text, set[str]()) for kind in ("near", "far") for text in row[kind]]


def ask(rows: Sequence[dict[str, Any]], settings: Settings) -> list[Asked]:
    """Ask every question of its store."""
    found = []
    for row in rows:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "memory.db"
            with Engram.open(path, settings=settings, background=False) as engram:
                for memory in row["memories"]:
                    engram.remember(memory)
                for kind, text, answers in questions(row):
                    answer = engram.recall(text, limit=5)
                    best = max((hit.trust.relevance for hit in answer.hits), default=0.0)
                    right = tuple(hit.memory.content in answers for hit in answer.hits)
                    likely = answer.quality.answerable or 0.0
                    found.append(Asked(kind, likely, answer.quality.is_known, best, right))
    return found


def by_meaning(rows: Sequence[dict[str, Any]], settings: Settings) -> list[Asked]:
    """Ask every question of the memories as they are, by the embedder alone."""
    embedder, found = open_embedder(settings.embedder, settings.home), []
    for row in rows:
        vectors = np.stack([embedder.embed_documents([one])[0] for one in row["memories"]])
        for kind, text, answers in questions(row):
            cosines = vectors @ embedder.embed_queries([text])[0]
            order = np.argsort(-cosines)[:5]
            best = float(cosines[order[0]])
            right = tuple(row["memories"][place] in answers for place in order)
            found.append(Asked(kind, best, True, best, right))
    return found


def area(found: Sequence[Asked], against: str) -> float:
    """Return the chance that an answerable question is held to be likelier than one of another kind."""
    right = np.array([one.answerable for one in found if one.kind == "answerable"])
    wrong = np.array([one.answerable for one in found if one.kind == against])
    above, equal = right[:, None] > wrong, right[:, None] == wrong
    return float((above + 0.5 * equal).mean())


def line(name: str, found: Sequence[Asked]) -> dict[str, Any]:
    """Return one row of the table."""
    answerable = [one for one in found if one.kind == "answerable"]
    unknown = {
        kind: float(np.mean([not one.is_known for one in found if one.kind == kind])) for kind in KINDS
    }
    return {
        "": name,
        "AUC near": area(found, "near"),
        "AUC far": area(found, "far"),
        **{f"{kind}: not known": share for kind, share in unknown.items()},
        "right first": float(np.mean([one.right[:1] == (True,) for one in answerable])),
        "right in five": float(np.mean([any(one.right) for one in answerable])),
    }


def main() -> None:
    """Print a row for each preset, and for the embedder alone."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--embedder", default="static")
    parser.add_argument("--home", type=Path, default=Settings.load().home)
    parser.add_argument("--half", choices=HALVES)
    parser.add_argument("--preset", nargs="*", choices=NAMES, default=["balanced"])
    parser.add_argument("--milliseconds", type=int, default=200, help="for the judge to read; 0 turns it off")
    arguments = parser.parse_args()
    rows = stores(arguments.half)
    settings = Settings(
        home=arguments.home, embedder=arguments.embedder, answering_milliseconds=arguments.milliseconds
    )
    table = [line("memories by meaning alone", by_meaning(rows, settings))]
    for preset in arguments.preset:
        chosen = Settings(
            home=arguments.home,
            embedder=arguments.embedder,
            policy=preset,
            answering_milliseconds=arguments.milliseconds,
        )
        table.append(line(preset, ask(rows, chosen)))
    show(f"{25 * len(rows)} questions to {len(rows)} stores, {arguments.embedder}", table)
    keep("abstention", {"rows": table})


if __name__ == "__main__":
    main()
