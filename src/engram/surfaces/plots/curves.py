"""
How memories fade under every preset: one small panel each, three memories in each.

Drawn by `engram policy plot`; needs no store. The three are born in the same moment with what the preset
gives an ordinary statement: one that a person stated, one that was read out of a turn, and one that was
recalled once a week for five weeks. A line ends with a dot where a rule lets the memory go.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from matplotlib.lines import Line2D

from engram.policy import PRESETS
from engram.surfaces.plots.canvas import BLUE, GREEN, GREY, INK, PALE, RED, day_axis, share_axis, sheet
from engram.surfaces.plots.trace import trace
from engram.values import Memory

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from matplotlib.axes import Axes

    from engram.policy import AgingPolicy, Policy
    from engram.surfaces.plots.trace import Trace

DAYS: Final = 365
COLUMNS: Final = 3
BORN: Final = datetime(2026, 1, 1, tzinfo=UTC)
"""Any moment would do: only the days since count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One of the memories that are compared, and how its line looks."""

    label: str
    colour: str
    dashes: str
    extractor: str | None = None
    recalls: tuple[float, ...] = field(default=())

    def trace(self, preset: Policy) -> Trace:
        """Return how it fades under a preset."""
        memory = Memory(
            id="",
            content="",
            created_at=BORN,
            updated_at=BORN,
            confidence=preset.capture.default_confidence,
            importance=preset.capture.default_importance,
            extractor=self.extractor,
        )
        return trace(memory, preset.aging, start=BORN, days=DAYS, recalls=self.recalls)


EXAMPLES: Final = (
    Example(
        label="recalled weekly, five times",
        colour=GREEN,
        dashes="-",
        recalls=(7.0, 14.0, 21.0, 28.0, 35.0),
    ),
    Example(label="stated by a person", colour=BLUE, dashes="-"),
    Example(label="read out of talk", colour=RED, dashes="--", extractor="heuristic"),
)


def plot_curves(path: Path) -> None:
    """Draw the retention curves of every preset into a file."""
    with sheet(path, height_inches=5.8) as figure:
        rows = -(-len(PRESETS) // COLUMNS)
        panels = figure.subplots(rows, COLUMNS, sharex=True, sharey=True, squeeze=False)
        for axes, preset in zip(panels.flat, PRESETS.values(), strict=False):
            lines = _panel(axes, preset)
        for axes in panels[-1]:
            axes.set_xlabel("days since it was stored")
        for axes, preset in zip(panels[:, -1], list(PRESETS.values())[COLUMNS - 1 :: COLUMNS], strict=True):
            name_tiers(axes, preset.aging)
        for axes in panels[:, 0]:
            axes.set_ylabel("retention")
        labels = [*(example.label for example in EXAMPLES), "a rule lets it go"]
        figure.legend([*lines, _dot()], labels, loc="outside upper left", ncols=len(labels))


def shade_tiers(axes: Axes, policy: AgingPolicy) -> None:
    """Shade every other tier behind the lines."""
    axes.axhspan(policy.warm, policy.hot, color=PALE, alpha=0.6, linewidth=0, zorder=0)
    axes.axhspan(0, policy.cold, color=PALE, alpha=0.6, linewidth=0, zorder=0)


def name_tiers(axes: Axes, policy: AgingPolicy) -> None:
    """Name the tiers to the right of a panel."""
    middles = {
        "hot": (policy.hot + 1) / 2,
        "warm": (policy.warm + policy.hot) / 2,
        "cold": (policy.cold + policy.warm) / 2,
        "evictable": policy.cold / 2,
    }
    for tier, middle in middles.items():
        place = axes.get_yaxis_transform()
        axes.text(1.03, middle, tier, transform=place, color=GREY, fontsize=9, va="center")


def draw_trace(axes: Axes, found: Trace, *, colour: str, dashes: str) -> Line2D:
    """Draw one line up to where a rule lets the memory go, with a dot there."""
    here = found.days <= found.leaves_at
    (line,) = axes.plot(
        found.days[here], found.retention[here], color=colour, linestyle=dashes, linewidth=1.8
    )
    if found.rule is not None:
        axes.plot(found.leaves_at, found.last, "o", color=colour, markersize=5, clip_on=False)
    return line


def name_rule(axes: Axes, found: Trace, *, offset: tuple[int, int] = (4, 5)) -> None:
    """Write beside a line's end which rule it was."""
    axes.annotate(
        found.rule or "",
        (found.leaves_at, found.last),
        xytext=offset,
        textcoords="offset points",
        horizontalalignment="left" if offset[0] > 0 else "right",
        fontsize=9,
    )


def _name_rules(axes: Axes, traces: Sequence[Trace], *, apart_days: float) -> None:
    """Write beside the dots which rule it was, once where several lines end by the same one together."""
    ended = [found for found in traces if found.rule is not None]
    for found in ended:
        follows = [other.leaves_at - found.leaves_at for other in ended if other.rule == found.rule]
        if not any(0 < ahead < apart_days for ahead in follows):
            name_rule(axes, found)


def _panel(axes: Axes, preset: Policy) -> list[Line2D]:
    """Draw one preset, and return its lines for the legend."""
    axes.set_title(preset.name)
    by = "by dates alone" if preset.aging.curve == "none" else f"curve {preset.aging.curve}"
    axes.set_title(by, loc="right", color=GREY, fontsize=9, fontweight="normal")
    day_axis(axes, DAYS)
    share_axis(axes)
    shade_tiers(axes, preset.aging)
    traces = [example.trace(preset) for example in EXAMPLES]
    _name_rules(axes, traces, apart_days=DAYS / 4)
    return [
        draw_trace(axes, found, colour=example.colour, dashes=example.dashes)
        for example, found in zip(EXAMPLES, traces, strict=True)
    ]


def _dot() -> Line2D:
    return Line2D([], [], linestyle="none", marker="o", color=INK, markersize=5)
