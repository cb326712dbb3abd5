"""
`engram import`: take in what another program knows, from a file, a folder or a zip archive.

Calls `Engram.import_from`, and then infers and embeds what bulk leaves for later. Ctrl-C loses nothing: the
same command goes on where it stopped. Records that did not come in are named by their
place, never by their words.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from engram.errors import EmbeddingError
from engram.surfaces.cli.options import Shared, among
from engram.surfaces.cli.output import one_line, out, present, talk, warning
from engram.surfaces.cli.progress import counting
from engram.surfaces.errors import FAILED
from engram.values import ImportKind, ImportReport

if TYPE_CHECKING:
    from engram.engine.engram import Engram

SHOWN = 20
"""So many refused records are shown; `--json` gives up to a hundred."""


def import_source(
    shared: Shared,
    path: Annotated[str, typer.Argument(metavar="PATH", help="A file, a folder or a zip archive.")],
    *,
    kind: Annotated[
        ImportKind | None,
        typer.Option("--from", metavar="KIND", help=among("What it is, if not told", ImportKind)),
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option("--map", metavar="FIELD=COLUMN", help="A column of a table, such as content=text."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count what would come in.")] = False,
) -> None:
    """
    Take in what another program knows; twice adds nothing.

    Example: engram import ~/Downloads/chatgpt-export.zip --dry-run
    """
    mapping = dict(map(_pair, columns or ()))
    with shared.open_or_create() as engram:
        try:
            with counting("importing") as progress:
                report = engram.import_from(
                    path, kind=kind, mapping=mapping, dry_run=dry_run, progress=progress
                )
            if not dry_run:
                with counting("looking closer") as progress:
                    engram.enrich(progress=progress)
                with counting("embedding") as progress:
                    _embed(engram, progress)
        except KeyboardInterrupt:
            talk("Stopped. The same command goes on from here.")
            raise

    present(report, _show, as_json=shared.json)
    if report.refused and not report.found:
        raise typer.Exit(FAILED)


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
    kinds = ", ".join(f"{number:,} of {kind}" for kind, number in report.by_kind.items())
    out(f"found {report.found:,} records{f' ({kinds})' if kinds else ''}")
    would = "would be " if report.dry_run else ""
    if report.statements:
        known = report.statements - report.added
        out(f"{would}added {report.added:,} memories" + (f", {known:,} known otherwise" if known else ""))
    if report.turns or report.turns_read:
        read = "" if report.dry_run else f", {report.turns_read:,} read"
        out(f"{would}stored {report.turns:,} turns{read}")
    if report.already:
        out(f"{report.already:,} came with an earlier import or stand there twice")
    if report.flagged:
        out(warning(f"{report.flagged:,} read like instructions to an agent: kept out of automatic context"))
    if len(report.by_scope) > 1:
        for scope, number in report.by_scope.items():
            out(f"  {number:>8,}  in {one_line(scope)}")
    if report.left_out:
        out(f"{report.left_out:,} files of other kinds left out")
    _show_refused(report)


def _show_refused(report: ImportReport) -> None:
    if not report.refused:
        return
    codes = ", ".join(f"{code} {number:,}×" for code, number in report.by_code.items())
    out(warning(f"{report.refused:,} could not be taken in ({codes}):"))
    for one in report.refusals[:SHOWN]:
        out(f"  {one.code}  {one_line(one.place)}")
    if report.refused > SHOWN:
        out(f"  and {report.refused - SHOWN:,} more")
