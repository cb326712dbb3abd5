"""
`engram bench`: how fast this machine remembers and recalls, with the embedder that is set.

Fills a store of its own with made-up statements, asks it questions, and is gone without a trace. It measures
speed only: how good the answers are takes labelled questions, and `evals/` has them.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec import Struct
from msgspec.structs import replace

from engramdb.cli.options import Shared, shared_options
from engramdb.cli.output import counting, present, show_rows

if TYPE_CHECKING:
    from engramdb.engine.engram import Engram

SINGLE = 50
"""The number of statements stored one by one, and of questions asked."""
WHO = ("Ada", "Ben", "Chloe", "Dmitri", "Esther", "Farid", "Greta", "Hugo")
DOES = ("plays", "repairs", "collects", "teaches", "paints", "sells", "studies", "photographs")
WHAT = ("the cello", "old clocks", "stamps", "algebra", "boats", "honey", "glaciers", "owls", "maps", "trams")


class Bench(Struct, frozen=True, kw_only=True):
    """What was measured, in wall time."""

    embedder: str
    memories: int
    bulk_per_second: float
    """Statements stored some hundreds at a time."""
    remember_ms: tuple[float, float]
    """One statement, durable: the median and the 95th percentile."""
    recall_ms: tuple[float, float]
    """One question, the same."""
    size_bytes: int


@click.option(
    "--memories",
    type=click.IntRange(min=1),
    default=1000,
    metavar="N",
    help="How many to fill the store with.",
)
@shared_options
def bench(shared: Shared, *, memories: int) -> None:
    """Measure a store that is gone afterwards."""
    from engramdb.engine.engram import Engram  # noqa: PLC0415

    with tempfile.TemporaryDirectory(prefix="engram-bench-") as folder:
        settings = replace(shared.settings(), store=str(Path(folder) / "bench.db"), chat="")
        with Engram.open(settings=settings, background=False) as engram:
            measured = _measured(engram, memories)

    present(measured, _show, as_json=shared.json)


def _measured(engram: Engram, memories: int) -> Bench:
    from engramdb.lifecycle.drafts import Draft  # noqa: PLC0415

    begun = time.perf_counter()
    with counting("remembering", total=memories) as progress:
        drafts = (Draft(content=statement(number)) for number in range(memories))
        stored = sum(1 for _ in engram.remember_stream(drafts, progress=progress))
    bulk = stored / (time.perf_counter() - begun)
    remembered = _timed(engram.remember, (statement(memories + number) for number in range(SINGLE)))
    recalled = _timed(engram.recall, (question(number) for number in range(SINGLE)))
    report = engram.status()
    return Bench(
        embedder=report.embedder,
        memories=report.memories,
        bulk_per_second=bulk,
        remember_ms=remembered,
        recall_ms=recalled,
        size_bytes=report.size_bytes,
    )


def statement(number: int) -> str:
    """Return a made-up statement; no two are the same."""
    who, does = WHO[number % len(WHO)], DOES[number // len(WHO) % len(DOES)]
    what = WHAT[number // (len(WHO) * len(DOES)) % len(WHAT)]
    return f"{who} {does} {what} in room {number}"


def question(number: int) -> str:
    """Return a question about some of the statements."""
    return f"who {DOES[number % len(DOES)]} {WHAT[number % len(WHAT)]}?"


def _timed(do: Callable[[str], object], texts: Iterable[str]) -> tuple[float, float]:
    """Return the median and the 95th percentile of what a call takes, in milliseconds."""
    spent = []
    for text in texts:
        begun = time.perf_counter()
        do(text)
        spent.append((time.perf_counter() - begun) * 1000)
    spent.sort()
    return spent[len(spent) // 2], spent[int(len(spent) * 0.95)]


def _show(measured: Bench) -> None:
    show_rows(
        {
            "embedder": measured.embedder,
            "memories": f"{measured.memories}, {measured.size_bytes / 1_000_000:.1f} MB",
            "in bulk": f"{measured.bulk_per_second:.0f} a second",
            "remember": _both(measured.remember_ms),
            "recall": _both(measured.recall_ms),
        }
    )


def _both(milliseconds: tuple[float, float]) -> str:
    middle, slow = milliseconds
    return f"{middle:.1f} ms, 95th percentile {slow:.1f} ms"
