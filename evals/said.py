"""
What turns add where memories fall short: questions that only a turn answers, and lines that help nobody.

    python -m evals.said [--threshold 0.25] [--embedder static]

The open conversations (evals/conversations) are observed, each in a scope of its own and all in one, and
asked. *Rescued*: the words that answer are in what was only said, and in none of the first five memories.
*Useless lines*: shown although a memory answers. *Strangers*: a scope is asked about the conversation of
another; whatever is shown there is useless.
"""

from __future__ import annotations

import argparse
import itertools
import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from engramdb import Engram, Recall, Scope, Settings
from engramdb.recall import said
from engramdb.testing import ManualClock
from evals.reading import CONVERSATIONS, TOP, observed
from evals.report import holds, show

STRANGERS = 4
"""Questions of other conversations that each conversation is asked."""


def main() -> None:
    """Print one table, a row for each way of dividing the conversations into scopes."""
    parser = argparse.ArgumentParser(prog="python -m evals.said", description=__doc__.split("\n")[1])
    parser.add_argument("--threshold", type=float, default=said.COVERS_FROM)
    parser.add_argument("--embedder", default="static")
    arguments = parser.parse_args()
    said.COVERS_FROM = arguments.threshold
    settings = Settings.load(embedder=arguments.embedder)
    rows = [
        json.loads(line)
        for path in sorted((CONVERSATIONS / "open").glob("*.jsonl"))
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    show("What turns add", [measure(rows, settings, is_shared=one) for one in (False, True)])


def measure(rows: Sequence[dict[str, Any]], settings: Settings, *, is_shared: bool) -> dict[str, Any]:
    """Return the figures of all conversations in one scope, or each in its own."""
    answers, strangers = [], []
    clock = ManualClock()
    with (
        tempfile.TemporaryDirectory() as folder,
        Engram.open(Path(folder) / "memory.db", settings=settings, clock=clock, background=False) as engram,
    ):
        scopes = [Scope(user="all" if is_shared else str(number)) for number in range(len(rows))]
        for row, scope in zip(rows, scopes, strict=True):
            turns = [(number / 1000, turn["by"], turn["text"]) for number, turn in enumerate(row["turns"])]
            observed(engram, clock, turns, scope, "talk")
        for row, scope in zip(rows, scopes, strict=True):
            answers += [(one["words"], engram.recall(one["q"], scope=scope)) for one in row["asks"]]
        for number, scope in enumerate(scopes if not is_shared else []):
            strangers += [engram.recall(one, scope=scope) for one in _others(rows, number)]
        without = engram.status().turns_without_memories
    return {
        "scope": "one for all" if is_shared else "each its own",
        "turns without memories": without,
        **_figures(answers),
        "strangers with lines": float(np.mean([bool(one.said) for one in strangers])) if strangers else None,
    }


def _others(rows: Sequence[dict[str, Any]], number: int) -> Iterator[str]:
    """Yield questions of the conversations that follow, from the beginning again after the last."""
    following = itertools.islice(itertools.cycle(rows), number + 1, number + 1 + STRANGERS)
    return (row["asks"][0]["q"] for row in following if row["asks"])


def _figures(answers: Sequence[tuple[str, Recall]]) -> dict[str, Any]:
    known = [any(holds(hit.memory.content, words) for hit in one.hits[:TOP]) for words, one in answers]
    told = [any(holds(line.excerpt, words) for line in one.said) for words, one in answers]
    lines = [len(one.said) for (_, one), is_known in zip(answers, known, strict=True) if is_known]
    missing = [one for one, is_known in zip(told, known, strict=True) if not is_known]
    spent = [one.quality.stages.get(said.TURNS, 0.0) for _, one in answers]
    return {
        "questions": len(answers),
        "in the first five memories": sum(known),
        "rescued": f"{sum(missing)} of {len(missing)}",
        "useless lines": float(np.mean(lines)) if lines else 0.0,
        "p50 ms": float(np.percentile(spent, 50)),
        "p95 ms": float(np.percentile(spent, 95)),
    }


if __name__ == "__main__":
    main()
