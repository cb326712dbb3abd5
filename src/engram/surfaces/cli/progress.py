"""
Show on stderr that long work moves.

Used by `models` and `doctor`. On a terminal it is a bar that appears with the first report of progress;
elsewhere a line per step, so that a log stays readable.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from engram.surfaces.cli.output import talk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.progress import Progress


@contextmanager
def counting(label: str, *, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """Yield a function that is told how many more are done."""
    if not sys.stderr.isatty():
        yield lambda _more: None
        return
    bar = _bar()
    task = bar.add_task(label, total=total)

    def report(more: int) -> None:
        bar.start()
        bar.advance(task, more)

    try:
        yield report
    finally:
        bar.stop()


@contextmanager
def steps(*, quietly: bool = False) -> Iterator[Callable[[str, float], None]]:
    """
    Yield a function that is told each step and the share of the work that lies behind it.

    `quietly` leaves the lines out where there is no terminal to draw a bar on.
    """
    if not sys.stderr.isatty():
        yield lambda step, _share: None if quietly else talk(step)
        return
    bar = _bar()
    task = bar.add_task("", total=1.0)

    def report(step: str, share: float) -> None:
        bar.start()
        bar.update(task, description=step, completed=share)

    try:
        yield report
    finally:
        bar.stop()


def _bar() -> Progress:
    from rich.console import Console  # noqa: PLC0415 - heavy, and most commands show no bar
    from rich.progress import Progress  # noqa: PLC0415

    return Progress(console=Console(stderr=True), transient=True)
