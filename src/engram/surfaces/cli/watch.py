"""
`engram watch`: keep a notebook in step for as long as it runs.

Looks at both sides every moment and calls `Engram.notebook_sync` when one of them has changed: the folder by
names, sizes and times, the store by its newest change, whichever process made it. Looking costs a few
milliseconds and reads no file. A file that is still being written to is left until it has been quiet for a
moment, so half a sentence is not taken for a correction.
"""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from engram.errors import EngramError, InvalidQuery, StoreBusy
from engram.surfaces.cli.notebook import Adopt, Delete, Folder, show_change, show_report
from engram.surfaces.cli.options import Shared
from engram.surfaces.cli.output import one_line, talk, write_json
from engram.values import NotebookReport

if TYPE_CHECKING:
    from engram.engine.engram import Engram

EVERY_SECONDS = 1.0
SHORTEST_SECONDS = 0.1
REST = 30
"""A look is followed by a rest of so many times its length, so that a large notebook costs no more."""


def watch(
    shared: Shared,
    folder: Folder,
    *,
    every: Annotated[
        float, typer.Option("--every", metavar="SECONDS", help="How often to look at both sides.")
    ] = EVERY_SECONDS,
    delete: Delete = False,
    adopt: Adopt = False,
) -> None:
    """
    Keep a folder of Markdown notes in step with memories, until Ctrl-C.

    Example: engram watch ~/notes/memory
    """
    if not every >= SHORTEST_SECONDS:
        raise InvalidQuery(f"--every {every} is too often", hint=f"At least {SHORTEST_SECONDS} seconds.")
    with shared.open_or_create() as engram, _until_asked_to_stop() as stop:
        settled = engram.notebook_mark(folder)
        report = engram.notebook_sync(folder, delete=delete, adopt=adopt)
        _show(report, as_json=shared.json, is_first=True)
        talk("Watching; Ctrl-C ends it.")

        def sync() -> None:
            _show(engram.notebook_sync(folder, delete=delete), as_json=shared.json)

        keep_in_step(engram, folder, sync, settled=settled, stop=stop, every_seconds=every)
    talk("Stopped watching.")


def keep_in_step(
    engram: "Engram",
    folder: str,
    sync: Callable[[], None],
    *,
    settled: str,
    stop: threading.Event,
    every_seconds: float,
) -> None:
    """
    Sync whenever something has changed and has then been quiet for one look, until told to stop.

    What counts as settled is how things were before the sync: what changes while it works, by itself or by
    others, is looked at once more, and a sync that changes nothing ends that.
    """
    seen, trouble, took = settled, "", 0.0
    while not stop.wait(max(every_seconds, REST * took)):
        start = time.perf_counter()
        try:
            now = engram.notebook_mark(folder)
            took = time.perf_counter() - start
            if now != settled and now == seen:
                sync()
                settled, trouble = now, ""
            seen = now
        except EngramError as exc:  # a full disk, a busy store, too much deleted: tried again, less often
            took = time.perf_counter() - start
            if str(exc) != trouble and not isinstance(exc, StoreBusy):
                talk(f"engram: {exc.code} {one_line(str(exc))}")
            trouble = str(exc)


@contextmanager
def _until_asked_to_stop() -> Iterator[threading.Event]:
    """Yield an event that Ctrl-C and a polite kill set: the sync under way is then finished."""
    stop = threading.Event()

    def ask(_number: int, _frame: FrameType | None) -> None:
        stop.set()

    before = {one: signal.signal(one, ask) for one in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def _show(report: NotebookReport, *, as_json: bool, is_first: bool = False) -> None:
    """Show a report: the first one whole, of later ones what they did, if they did anything."""
    if report.is_unchanged and not is_first:
        return
    if as_json:
        write_json(report)
    elif is_first:
        show_report(report)
    else:
        for one in report.changes:
            show_change(one)
