"""Run the suites that were asked for, or all of them."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from engramdb import Settings
from engramdb.policy import NAMES
from evals.beliefs import doubles, grid, groups, pairs, stories
from evals.beliefs.counting import Share, Tally, print_table
from evals.beliefs.telling import WAYS
from evals.report import keep

Columns: TypeAlias = dict[str, dict[str, Tally]]
Measure: TypeAlias = Callable[[str, Sequence[str], Settings, int], Columns]

SUITES: dict[str, Measure] = {
    "pairs": pairs.measure,
    "stories": stories.measure_stories,
    "traps": stories.measure_traps,
    "groups": groups.measure,
    "doubles": doubles.measure,
    "grid": grid.measure,
}
WANTED: Mapping[str, Mapping[str, Share]] = {
    "harmless": pairs.HARMLESS_WANTED,
    "conflict": pairs.CONFLICT_WANTED,
    "stories": stories.STORIES_WANTED,
    "premises": stories.PREMISES_WANTED,
    "traps": stories.TRAPS_WANTED,
    "groups": groups.WANTED,
    "doubles": doubles.WANTED,
    "grid": grid.WANTED,
}


def main() -> None:
    """Print a table for each suite and keep the numbers as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m evals.beliefs")
    parser.add_argument("suites", nargs="*", default=list(SUITES), metavar="SUITE", help=", ".join(SUITES))
    parser.add_argument("--sealed", action="store_true", help="the half that is for the end: totals only")
    parser.add_argument("--way", choices=sorted(WAYS), action="append", help="all by default")
    parser.add_argument("--home", type=Path, help="where the model pack is installed")
    parser.add_argument("--embedder", default="static")
    parser.add_argument("--reader", default="rules", help="what judges pairs beside the rules: rules, pack")
    parser.add_argument("--policy", choices=NAMES, default="balanced")
    parser.add_argument("--limit", type=int, default=1000, help="at most so many lines of each set")
    parser.add_argument("--show", action="store_true", help="what went wrong, of the open half")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    if arguments.sealed and arguments.show:
        parser.error("what is sealed is not shown")
    unknown = set(arguments.suites) - set(SUITES)
    if unknown:
        parser.error(f"no suite is called {sorted(unknown)[0]}; there are {', '.join(SUITES)}")
    settings = Settings.load(
        home=arguments.home,
        embedder=arguments.embedder,
        reader=arguments.reader,
        policy=arguments.policy,
        durability="relaxed",  # the store is thrown away; waiting for the disk would take half of the time
    )
    half = "sealed" if arguments.sealed else "open"
    found: dict[str, dict[str, object]] = {}
    for suite in arguments.suites:
        begun = time.perf_counter()
        print(f"{suite}:", file=sys.stderr)
        for name, columns in SUITES[suite](
            half, arguments.way or list(WAYS), settings, arguments.limit
        ).items():
            print_table(f"{name}, {half}", columns, WANTED.get(name, {}))
            found[name] = {column: tally.counts() for column, tally in columns.items()}
            if arguments.show:
                _show(columns)
        print(f"  {time.perf_counter() - begun:.0f} s", file=sys.stderr)
    told = {"half": half, "reader": arguments.reader, "policy": arguments.policy, "suites": found}
    print(f"\nWritten to {keep('beliefs', told, path=arguments.json)}")


def _show(columns: Mapping[str, Tally]) -> None:
    for column, tally in columns.items():
        print(*(f"  [{column}] {example}" for example in tally.examples), sep="\n")


if __name__ == "__main__":
    main()
