"""
Draw curves, forecasts and populations.

Figures are made without pyplot, so there is no window, no global state and no display needed. The same
numbers give the same bytes: the user's own matplotlib settings are set aside, and the file holds neither the
date nor random names. Colors are those of Okabe and Ito, which color-blind people can tell apart; lines also
differ by their dashes.
"""

from __future__ import annotations

import io
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

import matplotlib.style
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from msgspec import Struct, field
from numpy.typing import NDArray

from engramdb.errors import SystemError_
from engramdb.lifecycle.curves import recalled_at, retention
from engramdb.lifecycle.forecast import DAY, foresee
from engramdb.policy import PRESETS
from engramdb.values import Census, Forecast, Memory, Tier
from engramdb.values.aging import NEVER
from engramdb.values.population import population_of, to_microseconds

if TYPE_CHECKING:
    from engramdb.policy import AgingPolicy, Policy


WIDTH_INCHES: Final = 9.0
DOTS_PER_INCH: Final = 200
"""A picture of nine inches is meant for some 900 points of a screen, and stays sharp on fine ones."""

BLUE, ORANGE, GREEN, RED, SKY, PURPLE = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7"
GREY, PALE, INK = "#8C8C8C", "#ECECEC", "#333333"

_LOOK: Final = {
    "font.size": 10,
    "text.color": INK,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.titlesize": 11,
    "axes.titlepad": 8,
    "figure.constrained_layout.h_pad": 0.1,
    "figure.constrained_layout.w_pad": 0.1,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
    "legend.columnspacing": 1.4,
    "legend.handlelength": 1.8,
    "svg.hashsalt": "engram",  # names inside the file are hashes of this, and random without it
    "svg.fonttype": "none",  # letters stay letters: small, searchable, readable to a screen reader
}
_NO_DATE: Final = {"svg": {"Date": None}, "png": {"Software": None}}


@contextmanager
def sheet(path: Path, *, height_inches: float) -> Iterator[Figure]:
    """Yield a figure to draw on, and write it when the block ends; the file's ending says the form."""
    with matplotlib.style.context(["default", _LOOK]):
        figure = Figure(figsize=(WIDTH_INCHES, height_inches), layout="constrained")
        yield figure
        form = path.suffix.lower().removeprefix(".")
        drawn = io.BytesIO()
        figure.savefig(drawn, format=form, dpi=DOTS_PER_INCH, metadata=_NO_DATE[form])
    try:
        path.write_bytes(drawn.getvalue())
    except OSError as exc:
        raise SystemError_(f"cannot write {path}: {exc.strerror}", hint="Choose another place.") from exc


def share_axis(axes: Axes) -> None:
    """Make the upright axis one of shares, from nothing to all."""
    axes.set_ylim(0, 1.02)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "25 %", "50 %", "75 %", "100 %"])


def day_axis(axes: Axes, days: float) -> None:
    """Make the lying axis one of days, with a mark at every quarter."""
    quarters = [days * step / 4 for step in range(5)]
    axes.set_xlim(0, days)
    axes.set_xticks(quarters, [f"{day:.0f}" if days >= 8 else f"{day:g}" for day in quarters])


def spread(heights: Sequence[float], *, apart: float, top: float) -> list[float]:
    """Return places for labels beside these heights, in their order, so that none covers another."""
    order = sorted(range(len(heights)), key=lambda place: heights[place])
    placed = list(heights)
    for lower, upper in itertools.pairwise(order):
        placed[upper] = max(placed[upper], placed[lower] + apart)
    ceiling = top
    for place in reversed(order):
        placed[place] = min(placed[place], ceiling)
        ceiling = placed[place] - apart
    return placed


PRESET_COLORS: Final = (BLUE, ORANGE, GREEN, RED, PURPLE, SKY)
WIDEST_LINE: Final = 5.0
LABEL_SHARE: Final = 0.05
"""How much of the height a label needs."""


def plot_kept(compared: Mapping[str, Sequence[Census]], days: Sequence[float], path: Path) -> None:
    """Draw how many memories each preset keeps after so many days each into a file."""
    whole = max((_population(counted[0]) for counted in compared.values()), default=0)
    with sheet(path, height_inches=4.6) as figure:
        axes = figure.subplots()
        for place, counted in enumerate(compared.values()):
            kept = [_population(counted[0]), *(one.remaining for one in counted)]
            width = WIDEST_LINE * (1 - place / (len(compared) + 1))
            axes.plot([0.0, *days], kept, color=PRESET_COLORS[place % len(PRESET_COLORS)], linewidth=width)
        axes.set_title(f"What each policy would keep of {whole} memories, if nothing happens")
        axes.set_xlabel("days from now")
        axes.set_ylabel("memories kept")
        day_axis(axes, days[-1])
        axes.set_ylim(0, max(whole, 1) * 1.02)
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
        _name_lines(
            axes, {name: counted[-1].remaining for name, counted in compared.items()}, top=max(whole, 1)
        )


def _name_lines(axes: Axes, ends: Mapping[str, int], *, top: float) -> None:
    """Write the name of each line, and how many are left, beside its end."""
    at = axes.get_yaxis_transform()
    heights = spread(list(ends.values()), apart=LABEL_SHARE * top, top=top)
    for place, ((name, kept), height) in enumerate(zip(ends.items(), heights, strict=True)):
        color = PRESET_COLORS[place % len(PRESET_COLORS)]
        axes.plot(1.03, height, "s", color=color, markersize=7, transform=at, clip_on=False)
        axes.text(1.05, height, f"{name}  {kept}", transform=at, va="center")


def _population(one: Census) -> int:
    """Return how many there were at the start: those that are kept and those that left."""
    return one.remaining + sum(one.left.values())


TIER_COLORS: Final = {Tier.HOT: RED, Tier.WARM: ORANGE, Tier.COLD: SKY, Tier.EVICTABLE: GREY}


def plot_population(forecast: Forecast, path: Path) -> None:
    """Draw the population by tier over time into a file."""
    with sheet(path, height_inches=4.6) as figure:
        axes = figure.subplots()
        days = [(one.at - forecast.made_at).total_seconds() / 86_400 for one in forecast.census]
        bands = [[one.tiers[tier] for one in forecast.census] for tier in TIER_COLORS]
        gone = [_left(one) for one in forecast.census]
        areas = axes.stackplot(days, *bands, gone, colors=[*TIER_COLORS.values(), PALE], linewidth=0)
        axes.set_title(
            f"{forecast.population} memories under the policy {forecast.policy}, if nothing happens"
        )
        axes.set_xlabel("days from now")
        axes.set_ylabel("memories")
        day_axis(axes, forecast.days)
        axes.set_ylim(0, max(forecast.population, 1))
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
        labels = [*TIER_COLORS, "has left"]
        axes.legend(areas[::-1], labels[::-1], loc="upper left", bbox_to_anchor=(1.01, 1.0))


def _left(one: Census) -> int:
    return sum(one.left.values())


Floats = NDArray[np.float64]

POINTS_A_DAY = 2
MAX_POINTS = 300
"""Of one stretch; a screen shows no more."""


class Trace(Struct, frozen=True, kw_only=True):
    """What is left of a memory, by days from the start, and when a rule lets it go, if one does."""

    days: Floats
    retention: Floats
    leaves_at: float = math.inf
    rule: str | None = None

    @property
    def last(self) -> float:
        """What is left when it leaves, or at the end."""
        return float(np.interp(self.leaves_at, self.days, self.retention))


def trace(
    memory: Memory,
    policy: AgingPolicy,
    *,
    start: datetime,
    days: float,
    recalls: Sequence[float] = (),
) -> Trace:
    """
    Return how a memory fades from `start` on when it is recalled on these days and otherwise left alone.

    What has left is not recalled any more; its line goes on as if it were still there.
    """
    lines, leaves_at, rule = [], math.inf, None
    for state, begin, end in _stretches(memory, policy, start=start, days=days, recalls=recalls):
        leaves_at, rule = _leaves(state, policy, start=start, begin=begin, end=end)
        lines.append(_line(state, policy, start=start, begin=begin, end=end if rule is None else days))
        if rule is not None:
            break
    all_days, left = (np.concatenate(column) for column in zip(*lines, strict=True))
    return Trace(days=all_days, retention=left, leaves_at=leaves_at, rule=rule)


def _stretches(
    memory: Memory, policy: AgingPolicy, *, start: datetime, days: float, recalls: Sequence[float]
) -> Iterator[tuple[Memory, float, float]]:
    """Yield the memory as it is between one recall and the next, with the days of both."""
    if not recalls or recalls[0] > 0:
        yield memory, 0.0, recalls[0] if recalls else days
    for begin, end in itertools.pairwise([*recalls, days]):
        memory = recalled_at(memory, policy, start + timedelta(days=begin), is_new_session=True)
        yield memory, begin, end


def _leaves(
    memory: Memory, policy: AgingPolicy, *, start: datetime, begin: float, end: float
) -> tuple[float, str | None]:
    """Return the day of a stretch on which a memory leaves, and the rule; never and none if it stays."""
    origin = to_microseconds(start)
    future = foresee(
        population_of([memory]), policy, origin + int(begin * DAY), until=origin + int(end * DAY)
    )
    rule = future.rule(0)
    if rule is None or future.leaves_at[0] == NEVER:
        return math.inf, None
    return (int(future.leaves_at[0]) - origin) / DAY, rule.name


def _line(
    memory: Memory, policy: AgingPolicy, *, start: datetime, begin: float, end: float
) -> tuple[Floats, Floats]:
    days = np.linspace(begin, end, 2 + min(MAX_POINTS, int((end - begin) * POINTS_A_DAY)))
    moments = to_microseconds(start) + (days * DAY).astype(np.int64)
    return days, retention(population_of([memory] * len(days)), policy, moments)


DAYS: Final = 365
COLUMNS: Final = 3
BORN: Final = datetime(2026, 1, 1, tzinfo=UTC)
"""Any moment would do: only the days since count."""


class Example(Struct, frozen=True, kw_only=True):
    """One of the memories that are compared, and how its line looks."""

    label: str
    color: str
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
        color=GREEN,
        dashes="-",
        recalls=(7.0, 14.0, 21.0, 28.0, 35.0),
    ),
    Example(label="stated by a person", color=BLUE, dashes="-"),
    Example(label="heard in talk", color=RED, dashes="--", extractor="sentences"),
)


def plot_curves(path: Path) -> None:
    """
    Draw the retention curves of every preset into a file: a panel for each, three memories in it.

    All three are born in the same moment with what the preset gives an ordinary statement. A line ends with a
    dot where a rule lets the memory go.
    """
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


def draw_trace(axes: Axes, found: Trace, *, color: str, dashes: str) -> Line2D:
    """Draw one line up to where a rule lets the memory go, with a dot there."""
    here = found.days <= found.leaves_at
    (line,) = axes.plot(found.days[here], found.retention[here], color=color, linestyle=dashes, linewidth=1.8)
    if found.rule is not None:
        axes.plot(found.leaves_at, found.last, "o", color=color, markersize=5, clip_on=False)
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
        draw_trace(axes, found, color=example.color, dashes=example.dashes)
        for example, found in zip(EXAMPLES, traces, strict=True)
    ]


def _dot() -> Line2D:
    return Line2D([], [], linestyle="none", marker="o", color=INK, markersize=5)


def plot_outlook(memory: Memory, policy: Policy, path: Path, *, now: datetime, days: float) -> None:
    """Draw how one memory fades into a file; what lies after it has left is only hinted at."""
    recalled = trace(memory, policy.aging, start=now, days=days, recalls=(0.0,))
    alone = trace(memory, policy.aging, start=now, days=days)
    with sheet(path, height_inches=4.2) as figure:
        axes = figure.subplots()
        lines = []
        for found, color, dashes in ((recalled, GREEN, "--"), (alone, BLUE, "-")):
            axes.plot(found.days, found.retention, color=color, linestyle=dashes, alpha=0.3, linewidth=1)
            lines.append(draw_trace(axes, found, color=color, dashes=dashes))
        axes.set_title(f"Memory …{memory.id[-8:]} under the policy {policy.name}")
        axes.set_xlabel("days from now")
        axes.set_ylabel("retention")
        day_axis(axes, days)
        share_axis(axes)
        shade_tiers(axes, policy.aging)
        name_tiers(axes, policy.aging)
        for found, offset in ((alone, (-5, -13)), (recalled, (4, 6))):
            if found.rule is not None:
                name_rule(axes, found, offset=offset)
        axes.legend(lines, ["recalled once more, now", "if nothing happens"], loc="upper right")
