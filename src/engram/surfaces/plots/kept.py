"""
What each preset would keep of a store, day by day: one line each, named at its end.

Drawn by `engram policy compare --plot`. Presets that keep the same would hide one another, so the first line
is the widest and each next one thinner: lines that coincide show as stripes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from matplotlib.ticker import MaxNLocator

from engram.surfaces.plots.canvas import BLUE, GREEN, ORANGE, PURPLE, RED, SKY, day_axis, sheet, spread

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes

    from engram.values import Census

COLOURS: Final = (BLUE, ORANGE, GREEN, RED, PURPLE, SKY)
WIDEST_LINE: Final = 5.0
LABEL_SHARE: Final = 0.05
"""How much of the height a label needs."""


def plot_kept(compared: Mapping[str, Sequence[Census]], days: Sequence[float], path: Path) -> None:
    """Draw how many memories each preset keeps after so many days each into a file."""
    whole = max((_population(counted[0]) for counted in compared.values()), default=0)
    with sheet(path, height_inches=4.6) as figure:
        axes = figure.subplots()
        for place, counted in enumerate(compared.values()):
            kept = [_population(counted[0]), *(one.kept for one in counted)]
            width = WIDEST_LINE * (1 - place / (len(compared) + 1))
            axes.plot([0.0, *days], kept, color=COLOURS[place % len(COLOURS)], linewidth=width)
        axes.set_title(f"What each policy would keep of {whole} memories, if nothing happens")
        axes.set_xlabel("days from now")
        axes.set_ylabel("memories kept")
        day_axis(axes, days[-1])
        axes.set_ylim(0, max(whole, 1) * 1.02)
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
        _name_lines(axes, {name: counted[-1].kept for name, counted in compared.items()}, top=max(whole, 1))


def _name_lines(axes: Axes, ends: Mapping[str, int], *, top: float) -> None:
    """Write the name of each line, and how many are left, beside its end."""
    at = axes.get_yaxis_transform()
    heights = spread(list(ends.values()), apart=LABEL_SHARE * top, top=top)
    for place, ((name, kept), height) in enumerate(zip(ends.items(), heights, strict=True)):
        colour = COLOURS[place % len(COLOURS)]
        axes.plot(1.03, height, "s", color=colour, markersize=7, transform=at, clip_on=False)
        axes.text(1.05, height, f"{name}  {kept}", transform=at, va="center")


def _population(one: Census) -> int:
    """Return how many there were at the start: those that are kept and those that left."""
    return one.kept + sum(one.left.values())
