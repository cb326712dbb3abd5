"""
The sheet that pictures are drawn on: colours, fonts, size, and the file.

Used by every picture. Figures are made without pyplot, so there is no window, no global state and no
display needed. The same numbers give the same bytes: the user's own matplotlib settings are set aside, and
the file holds neither the date nor random names. Colours are those of Okabe and Ito, which people who see
colours differently can tell apart; lines also differ by their dashes.
"""

from __future__ import annotations

import io
import itertools
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import matplotlib.style
from matplotlib.figure import Figure

from engram.errors import SystemError_

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes

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
