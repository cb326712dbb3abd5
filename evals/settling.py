"""
What becomes of an older statement when a newer one comes in, through `remember`, as users do it.

    python -m evals.settling [--data training/held_out] [--pairs 800] [--readers rules pack]

Each pair of the labelled text has a scope of its own in one store. Wanted: a conflict retires the older
one, a repetition strengthens it, and anything else leaves both. Shares come with Wilson's 95 % interval.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from engramdb import Engram, Scope, Settings, Status
from engramdb.errors import SecurityError
from engramdb.testing import ManualClock
from training.examples import load
from training.report import interval
from training.tasks import HARMLESS, TASKS, Example

FOLDER = Path(__file__).parents[1] / "training" / "held_out"
DAYS_APART = 1


def settle_all(examples: Sequence[Example], reader: str) -> dict[str, list[str]]:
    """Return what became of each pair: `retired`, `repeated`, `both` or `refused`, by its relation."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    clock, settings = ManualClock(), Settings.load(reader=reader)
    with (
        tempfile.TemporaryDirectory() as folder,
        Engram.open(Path(folder) / "memory.db", settings=settings, clock=clock, background=False) as engram,
    ):
        for number, one in enumerate(examples):
            relation = TASKS["relation"][one.labels["relation"][0]]
            found[relation].append(_settle(engram, clock, one, Scope(user=f"pair {number}")))
    return found


def _settle(engram: Engram, clock: ManualClock, example: Example, scope: Scope) -> str:
    texts = [text.split(": ", 1)[1] for text in (example.first, example.second)]
    try:
        old = engram.remember(texts[0], scope=scope)
        clock.advance(days=DAYS_APART)
        new = engram.remember(texts[1], scope=scope)
    except SecurityError:
        return "refused"
    if new.id == old.id:
        return "repeated"
    return "both" if engram.get(old.id, scope=scope).status is Status.ACTIVE else "retired"


def main() -> None:
    """Print one table, a column for each reader."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=FOLDER)
    parser.add_argument("--pairs", type=int, default=800)
    parser.add_argument("--readers", nargs="*", default=["rules", "pack"])
    arguments = parser.parse_args()
    examples = [
        one for one in load(arguments.data) if one.kind == "pair" and len(one.labels["relation"]) == 1
    ]
    random.Random(7).shuffle(examples)
    columns = {name: settle_all(examples[: arguments.pairs], name) for name in arguments.readers}
    print(f"| | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|", sep="\n")
    for title, relations, wanted in (
        ("conflicts that retire the older statement", ["conflict"], "retired"),
        ("harmless pairs that retire it", list(HARMLESS), "retired"),
        ("repetitions that strengthen it", ["same"], "repeated"),
        ("repetitions that retire it", ["same"], "retired"),
        ("harmless pairs taken for a repetition", list(HARMLESS), "repeated"),
        ("conflicts taken for a repetition", ["conflict"], "repeated"),
    ):
        cells = []
        for found in columns.values():
            outcomes = [one for relation in relations for one in found[relation]]
            cells.append(interval(outcomes.count(wanted), len(outcomes)))
        print(f"| {title} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
