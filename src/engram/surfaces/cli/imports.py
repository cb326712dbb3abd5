"""
`engram import`: take in what another program knows, from a file, a folder, a zip archive or a pipe.

Calls `Engram.import_from`, and then infers and embeds what bulk leaves for later. Ctrl-C loses nothing: the
same command goes on where it stopped. Records that did not come in are named by their
place, never by their words.
"""

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engram.errors import EmbeddingError, InvalidContent
from engram.surfaces.cli.import_into import opened_for
from engram.surfaces.cli.options import FROM_STDIN, Shared, among
from engram.surfaces.cli.output import counted, dim, one_line, out, present, talk, warning
from engram.surfaces.cli.progress import counting
from engram.surfaces.errors import ANSWERS, FAILED
from engram.text.counted import memories
from engram.values import GLOBAL, ImportKind, ImportReport

if TYPE_CHECKING:
    from engram.engine.engram import Engram

CONVERSATIONS = frozenset({ImportKind.CHATGPT, ImportKind.CLAUDE})
"""Exports of one person's conversations, in which that person has no name."""
SHOWN = 20
"""So many refused records are shown; `--json` gives up to a hundred."""


def import_source(
    shared: Shared,
    path: Annotated[
        str, typer.Argument(metavar="PATH", help="A file, a folder or a zip archive, or - for stdin.")
    ],
    *,
    kind: Annotated[
        ImportKind | None,
        typer.Option("--from", metavar="KIND", help=among("What it is, if not told", ImportKind)),
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option("--map", metavar="FIELD=COLUMN", help="A column of a table, such as content=text."),
    ] = None,
    speaker: Annotated[
        str | None, typer.Option(metavar="NAME", help="Who speaks as the user, where the source is silent.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count what would come in.")] = False,
) -> None:
    """
    Take in what another program knows; twice adds nothing.

    Example: engram import ~/Downloads/chatgpt-export.zip --user ann --speaker Ann --dry-run

    Example: engram export | engram import - --store other.db
    """
    mapping = dict(map(_pair, columns or ()))
    with (
        _source(path) as source,
        opened_for(shared, source, kind=kind, mapping=mapping, dry_run=dry_run) as engram,
    ):
        try:
            with counting("importing") as progress:
                report = engram.import_from(
                    source, kind=kind, mapping=mapping, speaker=speaker, dry_run=dry_run, progress=progress
                )
            if not dry_run:
                with counting("looking closer") as progress:
                    engram.enrich(progress=progress)
                with counting("embedding") as progress:
                    _embed(engram, progress)
        except KeyboardInterrupt:
            kept = "What came in is kept, and the same command goes on from here."
            talk(f"Stopped. {'Nothing was written.' if dry_run else kept}")
            raise

    present(report, _show, as_json=shared.json)
    _warn(report, shared, speaker)
    if not report.found:
        talk("Nothing came in.")
        raise typer.Exit(FAILED)


@contextmanager
def _source(path: str) -> Iterator[Path]:
    """Yield what is to be imported, before a store is made for it; a pipe is read to its end first."""
    if path == FROM_STDIN:
        with tempfile.TemporaryDirectory(prefix="engram-") as folder:
            piped = Path(folder) / "stdin"
            with piped.open("wb") as file:
                shutil.copyfileobj(sys.stdin.buffer, file)
            yield piped
        return
    source = Path(path).expanduser()
    if not source.exists():
        raise InvalidContent(f"there is no file or folder at {path}", hint="Check the path.")
    yield source


def _warn(report: ImportReport, shared: Shared, speaker: str | None) -> None:
    """Say where one person's conversations become everybody's, or speak of nobody by name."""
    if not report.by_kind.keys() & CONVERSATIONS:
        return
    if shared.scope == GLOBAL:
        talk(
            warning(
                "This is one person's, and whoever asks this store finds it. To keep it apart: --user NAME"
            )
        )
    if speaker is None:
        talk('Memories of it speak of "User". To have them speak of somebody: --speaker NAME')


def _embed(engram: "Engram", progress: Callable[[int], None]) -> None:
    """Embed what a model could not while it came in; if it cannot now either, the next process will."""
    try:
        engram.embed_pending(progress=progress)
    except EmbeddingError as exc:
        talk(f"Found by words only for now: {exc.message}")


def _pair(text: str) -> tuple[str, str]:
    field, is_told, column = text.partition("=")
    if not is_told or not column:
        raise typer.BadParameter(f"{text!r} is not FIELD=COLUMN")
    return field.strip(), column.strip()


def _show(report: ImportReport) -> None:
    kinds = ", ".join(counted(number, *[f"of {kind}"] * 2) for kind, number in report.by_kind.items())
    out(f"found {counted(report.found, 'record', 'records')}{f' ({kinds})' if kinds else ''}")
    would = "would have " if report.dry_run else ""
    if report.statements:
        known = report.statements - report.added
        otherwise = f", {known:,} known otherwise" if known else ""
        out(f"{would}added {memories(report.added)}{otherwise}")
    if report.links:
        out(f"set {counted(report.links, 'link', 'links')} between them")
    if report.turns or report.turns_read:
        read = "" if report.dry_run else f", {report.turns_read:,} read"
        out(f"{would}stored {counted(report.turns, 'turn', 'turns')}{read}")
    if report.already:
        out(f"{counted(report.already, 'record', 'records')} known from an earlier import, or there twice")
    if report.flagged:
        like = counted(report.flagged, "record reads", "records read")
        out(warning(f"{like} like instructions to an agent: kept out of automatic context"))
    if len(report.by_scope) > 1:
        for scope, number in report.by_scope.items():
            out(f"  {number:>8,}  in {one_line(scope)}")
    if report.left_out:
        out(f"{counted(report.left_out, 'file', 'files')} of other kinds left out")
    _show_refused(report)


def _show_refused(report: ImportReport) -> None:
    if not report.refused:
        return
    codes = ", ".join(f"{code} {number:,}×" for code, number in report.by_code.items())
    refused = counted(report.refused, "record", "records")
    out(warning(f"{refused} could not be taken in ({codes}):"))
    for one in report.refusals[:SHOWN]:
        out(f"  {one.code}  {one_line(one.place)}")
    if report.refused > SHOWN:
        out(f"  and {report.refused - SHOWN:,} more")
    meanings = {kind.code: kind.__doc__ for kind in ANSWERS}
    for code in report.by_code:
        out(dim(f"  {code} means: {meanings.get(code)}"))
