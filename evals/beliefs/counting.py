"""Count what holds, measure by measure and column by column, and print it beside what is wanted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import Struct, field

from training.report import interval

Share: TypeAlias = tuple[str, float]
"""A sign (`≤` or `≥`) and the share that is wanted."""


class Tally(Struct):
    """What was counted in one column: shares by measure, means, what cannot be asked, and what went wrong."""

    shares: defaultdict[str, list[bool]] = field(default_factory=lambda: defaultdict(list))
    numbers: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    absent: set[str] = field(default_factory=set)
    examples: list[str] = field(default_factory=list)

    def note(self, measure: str, holds: bool, *, held: str = "", missed: str = "") -> None:
        """Count one case, with what to show of it if it holds, and if it does not."""
        self.shares[measure].append(holds)
        example = held if holds else missed
        if example:
            self.examples.append(f"{'' if holds else 'not '}{measure}: {example}")

    def cell(self, measure: str) -> str:
        """Return a measure as it is printed."""
        if measure in self.numbers:
            values = self.numbers[measure]
            return f"{sum(values) / len(values):.2f} (n={len(values)})"
        if measure in self.absent:
            return "absent"
        held = self.shares.get(measure, [])
        return interval(sum(held), len(held))

    def counts(self) -> dict[str, Any]:
        """Return the measures for a results file."""
        found: dict[str, Any] = {name: [sum(held), len(held)] for name, held in self.shares.items()}
        return found | {name: sum(values) / len(values) for name, values in self.numbers.items()}


def print_table(title: str, columns: Mapping[str, Tally], wanted: Mapping[str, Share]) -> None:
    """Print the measures of a suite, a column for each way and baseline; `!` marks what misses its aim."""
    names: dict[str, None] = {}
    for tally in columns.values():
        names |= dict.fromkeys([*tally.shares, *tally.numbers, *tally.absent])
    print(f"\n| {title} | wanted | {' | '.join(columns)} |", "|---" * (len(columns) + 2) + "|", sep="\n")
    for name in names:
        aim = wanted.get(name)
        cells = [
            f"{tally.cell(name)}{' !' if _misses(tally, name, aim) else ''}" for tally in columns.values()
        ]
        shown = f"{aim[0]} {aim[1]:.1%}" if aim else ""
        print(f"| {name} | {shown} | {' | '.join(cells)} |")


def _misses(tally: Tally, name: str, aim: Share | None) -> bool:
    held: Sequence[bool] = tally.shares.get(name, [])
    if aim is None or not held:
        return False
    share = sum(held) / len(held)
    return share > aim[1] if aim[0] == "≤" else share < aim[1]
