"""
Does a question that names a time find what is of that time?

    python -m evals.periods [--embedder static] [--home FOLDER] [--way observe] [--preset balanced …] [--show]

A year of one person's messages (`period_data/talk.jsonl`, 286) and sixty questions that each want what was
said or happened in a period, written by somebody who knew neither the code nor its rules. Counted is the
share of the first three hits that lie in the period, by when they were said or by the time that they name; of
a period with fewer than three messages, as many as it has. Beside it, every message found by the embedder
alone. `--sealed` is another year by another hand, written after the rules. The write-up is
docs/lab/0050-periods.md.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct

from engramdb import Engram, Settings
from engramdb.models.registry import open_embedder
from engramdb.policy import NAMES
from engramdb.testing import ManualClock
from evals.report import keep, show

OPEN = Path(__file__).parent / "period_data"
SEALED = OPEN / "sealed"
NOW = datetime(2026, 11, 18, 18, tzinfo=UTC)
TOP = 3


class Message(Struct, frozen=True):
    """What was said, and when."""

    at: datetime
    text: str


class Question(Struct, frozen=True):
    """A question, and the time that it asks for: from `start` to before `end`."""

    text: str
    start: datetime
    end: datetime

    def holds(self, moment: datetime) -> bool:
        """Return whether a moment lies in the period."""
        return self.start <= moment < self.end


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def talk(folder: Path = OPEN) -> list[Message]:
    """Return the messages of the year, in their order."""
    found = [Message(_moment(row["at"]), row["text"]) for row in _rows(folder / "talk.jsonl")]
    return sorted(found, key=lambda one: one.at)


def questions(folder: Path = OPEN) -> list[Question]:
    """Return the questions."""
    return [
        Question(row["question"], _moment(row["start"]), _moment(row["end"]))
        for row in _rows(folder / "questions.jsonl")
    ]


class Score(Struct):
    """How many of the hits that count lie in the period, and what was wrong."""

    right: int = 0
    wanted: int = 0
    missed: list[str] = []

    def note(self, question: Question, are_inside: Sequence[bool], said: Sequence[Message]) -> None:
        """Count the first hits of a question."""
        wanted = min(TOP, sum(question.holds(one.at) for one in said))
        right = sum(are_inside[:wanted])
        self.right, self.wanted = self.right + right, self.wanted + wanted
        if right < wanted:
            self.missed.append(f"{right} of {wanted}: {question.text}")


def ask(settings: Settings, way: str, year: Path) -> Score:
    """Live the year, then ask everything."""
    said, score = talk(year), Score()
    clock = ManualClock(said[0].at)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        with Engram.open(path, settings=settings, clock=clock, background=False) as engram:
            for one in said:
                clock.set(one.at)
                (engram.observe if way == "observe" else engram.remember)(one.text)
            engram.flush()
            clock.set(NOW)
            for question in questions(year):
                hits = engram.recall(question.text, limit=TOP).hits
                moments = [(hit.memory.stated_at, hit.memory.when) for hit in hits]
                score.note(question, [any(map(question.holds, each)) for each in moments], said)
    return score


def by_meaning(settings: Settings, year: Path) -> Score:
    """Ask everything of the messages as they are, found by the embedder alone."""
    said, score = talk(year), Score()
    embedder = open_embedder(settings.embedder, settings.home)
    rows = np.stack([embedder.embed_documents([one.text])[0] for one in said])
    for question in questions(year):
        (wanted,) = embedder.embed_queries([question.text])
        best = np.argsort(-(rows @ wanted))[:TOP]
        score.note(question, [question.holds(said[place].at) for place in best], said)
    return score


def main() -> None:
    """Print a row for each preset, and for the messages alone."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--embedder", default="static")
    parser.add_argument("--home", type=Path)
    parser.add_argument("--way", choices=("observe", "remember"), default="observe")
    parser.add_argument("--preset", nargs="*", choices=NAMES, default=["balanced"])
    parser.add_argument("--period-bonus", type=float, help="in place of the policy's")
    parser.add_argument("--show", action="store_true", help="the questions that went wrong")
    parser.add_argument("--sealed", action="store_true", help="the other year: for totals only")
    arguments = parser.parse_args()
    home: Mapping[str, Any] = {"home": arguments.home} if arguments.home else {}
    changed: dict[str, Any] = {}
    if arguments.period_bonus is not None:
        changed = {"overrides": {"recall": {"period_bonus": arguments.period_bonus}}}
    year = SEALED if arguments.sealed else OPEN
    found = {"messages by meaning alone": by_meaning(Settings(embedder=arguments.embedder, **home), year)}
    for preset in arguments.preset:
        settings = Settings(embedder=arguments.embedder, policy=preset, **home, **changed)
        found[preset] = ask(settings, arguments.way, year)
    rows = [
        {"": name, "in the period": one.right / one.wanted, "hits": one.wanted} for name, one in found.items()
    ]
    show(f"The first {TOP} hits of {len(questions(year))} questions about a time, {arguments.embedder}", rows)
    if arguments.show:
        for name, one in found.items():
            print(f"\n{name}", *one.missed, sep="\n  ")
    keep("periods", {"rows": rows})


if __name__ == "__main__":
    main()
