"""
What becomes of a store: its memories by tier, stacked, day by day.

Drawn by `engram forecast --plot` from a Forecast alone. What has left stays in the picture, pale and on top,
so that the height is always the whole and nobody reads a loss as a smaller scale.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from matplotlib.ticker import MaxNLocator

from engram.surfaces.plots.canvas import GREY, ORANGE, PALE, RED, SKY, day_axis, sheet
from engram.values import Tier

if TYPE_CHECKING:
    from pathlib import Path

    from engram.values import Census, Forecast

COLOURS: Final = {Tier.HOT: RED, Tier.WARM: ORANGE, Tier.COLD: SKY, Tier.EVICTABLE: GREY}


def plot_population(forecast: Forecast, path: Path) -> None:
    """Draw the population by tier over time into a file."""
    with sheet(path, height_inches=4.6) as figure:
        axes = figure.subplots()
        days = [(one.at - forecast.made_at).total_seconds() / 86_400 for one in forecast.census]
        bands = [[one.tiers[tier] for one in forecast.census] for tier in COLOURS]
        gone = [_left(one) for one in forecast.census]
        areas = axes.stackplot(days, *bands, gone, colors=[*COLOURS.values(), PALE], linewidth=0)
        axes.set_title(
            f"{forecast.population} memories under the policy {forecast.policy}, if nothing happens"
        )
        axes.set_xlabel("days from now")
        axes.set_ylabel("memories")
        day_axis(axes, forecast.days)
        axes.set_ylim(0, max(forecast.population, 1))
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
        labels = [*COLOURS, "has left"]
        axes.legend(areas[::-1], labels[::-1], loc="upper left", bbox_to_anchor=(1.01, 1.0))


def _left(one: Census) -> int:
    return sum(one.left.values())
