"""Notebook sync and watch."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

import click

from engramdb.cli.options import Shared, shared_options
from engramdb.cli.output import counting, dim, one_line, out, present, short, talk, warning, write_json
from engramdb.errors import EngramError, InvalidQuery, StoreBusy
from engramdb.text.normalize import counted
from engramdb.values import NotebookAct, NotebookChange, NotebookReport
from engramdb.verbs.errors import FAILED

if TYPE_CHECKING:
    from engramdb.engine.engram import Engram


SHOWN = 20
"""The maximum number of changes that are shown; `--json` gives up to a thousand."""
EVERY_SECONDS = 1.0
SHORTEST_SECONDS = 0.1
REST = 30
"""A look is followed by a rest of this many times its length, so that a large notebook costs no more."""
_folder = click.argument("folder", metavar="FOLDER", help="The folder of the notebook.")
_delete = click.option("--delete", is_flag=True, help="Forget the memories of files that were deleted.")
_adopt = click.option(
    "--adopt", is_flag=True, help="Use a folder that holds other things; they are left alone."
)

_SAYING = {
    NotebookAct.ADDED: "taken in as a new memory",
    NotebookAct.CORRECTED: "edited, and so corrected",
    NotebookAct.RELABELED: "relabelled",
    NotebookAct.FORGOTTEN: "deleted, and so forgotten",
    NotebookAct.WRITTEN: "written",
    NotebookAct.UPDATED: "brought up to date",
    NotebookAct.REMOVED: "removed",
    NotebookAct.RESTORED: "had been deleted and is back; --delete forgets instead",
    NotebookAct.CONFLICT: "changed on both sides: the file shows the memory, your words are in",
    NotebookAct.PAGE_EDITED: "is made by Engram: it was rebuilt; your edit is in",
    NotebookAct.NOT_TAKEN: "cannot be changed so",
    NotebookAct.REFUSED: "not let in",
    NotebookAct.KNOWN: "says what is known already",
    NotebookAct.DUPLICATE: "has the id of another file: remove the id to make it a memory of its own",
    NotebookAct.UNKNOWN: "has an id that is not known here: remove the id to take it in",
    NotebookAct.UNREADABLE: "cannot be read",
    NotebookAct.OUTSIDE: "was moved out of facts: move it back, or remove its id to be rid of it here",
    NotebookAct.BUSY: "was being changed; the next sync looks again",
}


@_folder
@click.option("--dry-run", is_flag=True, help="Only tell what would be done.")
@_delete
@click.option("--delete-many", is_flag=True, help="Like --delete, also where most files were deleted.")
@_adopt
@shared_options
def sync(shared: Shared, folder: str, *, dry_run: bool, delete: bool, delete_many: bool, adopt: bool) -> None:
    """Sync once; trouble is shown first, by the names of files and never by what is in them."""
    with shared.open_or_create() as engram, counting("syncing") as progress:
        report = engram.notebook_sync(
            folder,
            dry_run=dry_run,
            delete=delete,
            delete_many=delete_many,
            adopt=adopt,
            progress=progress,
        )

    present(report, show_report, as_json=shared.json)
    if any(one.act is NotebookAct.CONFLICT for one in report.changes):
        raise click.exceptions.Exit(FAILED)


def show_report(report: NotebookReport) -> None:
    """Show what was done: a line of numbers, then each file, trouble first."""
    out(f"{counted(report.memories, 'memory', 'memories')} in the notebook{_told(report)}")
    for one in report.changes[:SHOWN]:
        show_change(one)
    hidden = sum(report.counts.values()) - min(len(report.changes), SHOWN)
    if hidden:
        out(f"  and {hidden} more; --json shows up to a thousand")
    if report.withheld:
        left = counted(report.withheld, "memory", "memories")
        out(dim(f"{left} kept out of the notebook: too sensitive for a plain file"))
    if report.open_copies:
        out(warning(f"{counted(len(report.open_copies), 'copy', 'copies')} of your words to look at:"))
        for path in report.open_copies[:SHOWN]:
            out(f"  {one_line(path)}")


def show_change(one: NotebookChange) -> None:
    """Show one file in a line."""
    about = f" ({one_line(one.why)})" if one.why else ""
    copy = f" {one_line(one.copy)}" if one.copy else ""
    told = f"{_SAYING[one.act]}{about}{copy}"
    known = f"{short(one.memory_id)}  " if one.memory_id else f"{'':8}  "
    out(f"  {known}{one_line(one.path)}: {warning(told) if one.is_trouble else told}")


def _told(report: NotebookReport) -> str:
    if report.is_unchanged:
        return ", nothing to do"
    named = [f"{number} {act}" for act, number in report.counts.items()]
    if report.pages_changed:
        named.append(f"{counted(report.pages_changed, 'page', 'pages')} rebuilt")
    return f"; {'would be: ' if report.dry_run else ''}{', '.join(named)}"


@_folder
@click.option(
    "--every",
    type=float,
    default=EVERY_SECONDS,
    metavar="SECONDS",
    help="How often to look at both sides.",
)
@_delete
@_adopt
@shared_options
def watch(shared: Shared, folder: str, *, every: float, delete: bool, adopt: bool) -> None:
    """
    Look at both sides every moment, and sync when one of them has changed.

    The folder is known by names, sizes and times, the store by its newest change, whichever process made it:
    looking costs a few milliseconds and reads no file. A file that is still being written to is left until
    it has been quiet for a moment, so half a sentence is not taken for a correction.
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
            shared.back_up_daily()

        keep_in_step(engram, folder, sync, settled=settled, stop=stop, every_seconds=every)
    talk("Stopped watching.")


def keep_in_step(
    engram: Engram,
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
