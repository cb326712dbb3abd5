"""
How long a window takes to build, with and without remembered counts of tokens.

    python -m evals.windows [--memories 3000] [--questions 8]

Made-up memories and a conversation of 200 messages, the same for every run; no chat model, static embedder.
Each window is built twice: *anew*, with every count forgotten before it, and *again*, as in a conversation
that goes on. Processor time of one process without background threads. An exact tokenizer is fast and its
counts are not remembered, so for it the two columns are one.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from statistics import median
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from engramdb import Draft, Engram, Settings
from engramdb.text import tokens
from evals.report import keep, show
from evals.speed import Sentences

if TYPE_CHECKING:
    from collections.abc import Sequence

MODELS = ("gpt-5", "claude-opus-4-6", "mistral-large")
BUDGETS = (2_000, 8_000, 32_000)
MESSAGES = 200


def measured(
    engram: Engram, questions: Sequence[str], said: Sequence[dict[str, str]]
) -> list[dict[str, Any]]:
    """Return what a window costs by model and budget."""
    rows = []
    for model in MODELS:
        for budget in BUDGETS:
            anew: list[float] = []
            again: list[float] = []
            shown = 0
            for question in questions:
                tokens.forget_counts()
                for spent in (anew, again):
                    began = time.process_time()
                    window = engram.context(question, model=model, budget=budget, history=said)
                    spent.append(1000 * (time.process_time() - began))
                shown += len(window.holds)
            rows.append(
                {
                    "model": model,
                    "budget": budget,
                    "memories shown": round(shown / len(questions)),
                    "ms anew": round(median(anew), 1),
                    "ms again": round(median(again), 1),
                }
            )
    return rows


def main() -> None:
    """Fill a store, build the windows and keep the numbers."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--memories", type=int, default=3000)
    parser.add_argument("--questions", type=int, default=8)
    told = parser.parse_args()
    make = Sentences(11).next
    said = [
        {"role": "assistant" if place % 2 else "user", "content": " ".join(make() for _ in range(8))}
        for place in range(MESSAGES)
    ]
    with tempfile.TemporaryDirectory() as name:
        settings = replace(Settings(), store=f"{name}/memory.db", embedder="static")
        with Engram.open(settings=settings, background=False) as engram:
            stored = engram.remember_many(Draft(content=make()) for _ in range(told.memories))
            engram.enrich()
            questions = [" ".join(memory.content.split()[:5]) for memory in stored[: told.questions]]
            engram.context(questions[0], budget=BUDGETS[0], history=said)  # loads what is loaded once
            rows = measured(engram, questions, said)
    show("Windows", rows)
    keep("windows", {"rows": rows})


if __name__ == "__main__":
    main()
