"""
Does a question about people find what answers it: relations, two hops, everything about one, who said it?

    python -m evals.people [--embedder static] [--home FOLDER] [--half open] [--without FIELD …] [--show]

Twelve group chats of some thirty messages (`people_data`), written by somebody who knew neither the code nor
its rules, with fourteen questions each: relations told in passing while the person named says other things,
one person among several alike, answers that are tied to the question only through another message, everything
about somebody, and what somebody said. Told is how often an answer is first and among the first five; of two
hops, the message with the final answer; of everything, the share of all that is about them among the first
ten. Beside it, every message with its speaker found by the embedder alone. `--without` switches a field of
the policy off; without `--home` no model pack reads along. The write-up is docs/lab/0056-answers.md.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct

from engramdb import Engram, Settings
from engramdb.models.registry import open_embedder
from engramdb.policy import NAMES
from evals.report import keep, show

DATA = Path(__file__).parent / "people_data"
KINDS = ("relation", "person", "two_hop", "everything", "speaker")
LIMIT = 10
Answer = Callable[[str], list[int]]
"""A question in, the places of the messages that were found out, best first."""


class Found(Struct, frozen=True):
    """How one question was answered."""

    kind: str
    first: float
    five: float
    ten: float
    question: str


def chats(half: str) -> list[dict[str, Any]]:
    """Return the chats of one half."""
    lines = (DATA / f"{half}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def score(question: dict[str, Any], places: Sequence[int]) -> Found:
    """Return how well the messages that were found answer a question."""
    kind, answers = question["kind"], question["answers"]
    wanted = set(answers[-1:]) if kind == "two_hop" else set(answers)

    def share(cut: int) -> float:
        found = wanted & set(places[:cut])
        return len(found) / len(wanted) if kind == "everything" else float(bool(found))

    return Found(kind, share(1), share(5), share(LIMIT), question["q"])


def ask(rows: Sequence[dict[str, Any]], settings: Settings) -> list[Found]:
    """Tell each chat to a store of its own, and ask its questions."""
    found = []
    for row in rows:
        with (
            tempfile.TemporaryDirectory() as folder,
            Engram.open(Path(folder) / "memory.db", settings=settings, background=False) as engram,
        ):
            place_of: dict[str, int] = {}
            for place, turn in enumerate(row["turns"]):
                speaker = None if turn["by"] == "user" else turn["by"]
                place_of[engram.observe(turn["text"], speaker=speaker, session=row["id"]).id] = place
            engram.flush()
            engram.enrich()
            for question in row["questions"]:
                hits = engram.recall(question["q"], limit=LIMIT).hits
                places = [place_of[turn] for hit in hits for turn in hit.memory.provenance.turns[:1]]
                found.append(score(question, places))
    return found


def by_meaning(rows: Sequence[dict[str, Any]], settings: Settings) -> list[Found]:
    """Ask every question of the messages as they are, by the embedder alone."""
    embedder, found = open_embedder(settings.embedder, settings.home), []
    for row in rows:
        said = [f"{turn['by']}: {turn['text']}" for turn in row["turns"]]
        vectors = np.stack([embedder.embed_documents([one])[0] for one in said])
        for question in row["questions"]:
            order = np.argsort(-(vectors @ embedder.embed_queries([question["q"]])[0]))
            found.append(score(question, order[:LIMIT].tolist()))
    return found


def line(name: str, found: Sequence[Found]) -> dict[str, Any]:
    """Return one row of the table."""
    row: dict[str, Any] = {"": name}
    for kind in KINDS:
        of_kind = [one for one in found if one.kind == kind]
        if kind == "everything":
            row["everything @10"] = float(np.mean([one.ten for one in of_kind]))
        else:
            row[f"{kind} @1"] = float(np.mean([one.first for one in of_kind]))
            row[f"{kind} @5"] = float(np.mean([one.five for one in of_kind]))
    return row


def main() -> None:
    """Print a row for each preset, and for the embedder alone."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--embedder", default="static")
    parser.add_argument(
        "--home", type=Path, help="folder with the model pack, which reads along if it is there"
    )
    parser.add_argument("--half", choices=("open", "sealed"), default="open")
    parser.add_argument("--preset", nargs="*", choices=NAMES, default=["balanced"])
    parser.add_argument("--without", nargs="*", default=[], help="fields of the policy to switch off")
    parser.add_argument("--show", action="store_true", help="the questions that were missed")
    arguments = parser.parse_args()
    rows = chats(arguments.half)
    with tempfile.TemporaryDirectory() as empty:
        _measure(arguments, rows, arguments.home or Path(empty))


def _measure(arguments: argparse.Namespace, rows: Sequence[dict[str, Any]], home: Path) -> None:
    plain = Settings(home=home, embedder=arguments.embedder)
    table, asked = [line("messages by meaning alone", by_meaning(rows, plain))], {}
    for preset in arguments.preset:
        chosen = Settings(
            home=home,
            embedder=arguments.embedder,
            policy=preset,
            overrides={"recall": dict.fromkeys(arguments.without, 0.0)},
        )
        asked[preset] = ask(rows, chosen)
        table.append(line(preset, asked[preset]))
    show(f"{14 * len(rows)} questions about people, {arguments.half}, {arguments.embedder}", table)
    if arguments.show:
        for name, found in asked.items():
            missed = [f"{one.kind}: {one.question}" for one in found if one.five == 0]
            print(f"\n{name}", *missed, sep="\n  ")
    keep("people", {"rows": table})


if __name__ == "__main__":
    main()
