"""Import and export."""

from __future__ import annotations

import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, nullcontext
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click
from msgspec import Struct
from msgspec.structs import replace

from engramdb.cli.derive import filter_options, taken_filters
from engramdb.cli.errors import engine
from engramdb.cli.memories import elsewhere
from engramdb.cli.options import FROM_STDIN, Shared, command_actor, shared_options
from engramdb.cli.output import counting, dim, one_line, out, present, talk, warning
from engramdb.errors import EmbeddingError, InvalidContent, StoreCorrupt, StoreNotFound
from engramdb.text.normalize import counted, memories
from engramdb.values import (
    BELIEVED,
    GLOBAL,
    ExportedMemory,
    Filters,
    ImportKind,
    ImportReport,
    SecurityTier,
    Status,
)
from engramdb.verbs.errors import ANSWERS, FAILED

if TYPE_CHECKING:
    from engramdb.engine.engram import Engram
    from engramdb.importing.source import SourceFile


CONVERSATIONS = frozenset({ImportKind.CHATGPT, ImportKind.CLAUDE})
"""Exports of one person's conversations, in which that person has no name."""
SHOWN = 20
"""The maximum number of refused records that are shown; `--json` gives up to a hundred."""
_EVER = frozenset(status for status in Status if status.is_indexed)
"""With their history also those that something replaced; what was forgotten only if it is asked for."""


@contextmanager
def opened_for(
    shared: Shared,
    source: Path | SourceFile,
    *,
    kind: ImportKind | None,
    mapping: Mapping[str, str],
    dry_run: bool,
) -> Iterator[Engram]:
    """Yield the store; where there is none, a new one for what comes in, or else one for the moment."""
    with ExitStack() as stack:
        try:
            engram = shared.open_existing()
        except StoreNotFound:
            is_worth_one = not dry_run and has_records(source, kind=kind, mapping=mapping)
            engram = shared.open_or_create() if is_worth_one else _for_the_moment(shared, stack)
        yield stack.enter_context(engram)


def has_records(source: Path | SourceFile, *, kind: ImportKind | None, mapping: Mapping[str, str]) -> bool:
    """Return whether anything in a source can be read, looking no further than the first that can."""
    from engramdb.importing.read import read_source  # noqa: PLC0415
    from engramdb.importing.source import BrokenRecord, SkippedFile  # noqa: PLC0415

    with closing(read_source(source, kind=kind, mapping=mapping)) as found:
        return any(not isinstance(record, BrokenRecord | SkippedFile) for _, record in found)


def _for_the_moment(shared: Shared, stack: ExitStack) -> Engram:
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="engram-"))
    settings = replace(shared.settings(), store=str(Path(folder) / "memory.db"))
    return engine().open(settings=settings, scope=shared.scope, actor=command_actor(), background=False)


@click.argument("path", metavar="PATH", help="A file, a folder or a zip archive, or - for stdin.")
@click.option(
    "--from",
    "kind",
    type=click.Choice([one.value for one in ImportKind]),
    metavar="KIND",
    help=f"What it is, if that is not clear from it: {', '.join(ImportKind)}.",
)
@click.option(
    "--map",
    "columns",
    multiple=True,
    metavar="FIELD=COLUMN",
    help="A column of a table, such as content=text (repeatable).",
)
@click.option("--speaker", metavar="NAME", help="Who speaks as the user, where the source is silent.")
@click.option("--dry-run", is_flag=True, help="Only count what would be imported.")
@shared_options
def import_source(
    shared: Shared,
    path: str,
    *,
    kind: str | None,
    columns: tuple[str, ...],
    speaker: str | None,
    dry_run: bool,
) -> None:
    """
    Import a file, a folder, a zip archive or a pipe, then infer and embed what bulk leaves for later.

    Ctrl-C loses nothing: the same command goes on where it stopped. Records that were refused are named by
    their place, never by their words.
    """
    source_kind = None if kind is None else ImportKind(kind)
    mapping = dict(map(_pair, columns))
    with (
        _source(path) as source,
        opened_for(shared, source, kind=source_kind, mapping=mapping, dry_run=dry_run) as engram,
    ):
        try:
            with counting("importing") as progress:
                report = engram.import_from(
                    source,
                    kind=source_kind,
                    mapping=mapping,
                    speaker=speaker,
                    dry_run=dry_run,
                    progress=progress,
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
        raise click.exceptions.Exit(FAILED)


@contextmanager
def _source(path: str) -> Iterator[Path | SourceFile]:
    """Yield what is to be imported, before a store is made for it; a pipe is read to its end first."""
    if path == FROM_STDIN:
        from engramdb.importing.source import nameless_copy  # noqa: PLC0415

        with nameless_copy(sys.stdin.buffer, "stdin") as piped:
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
                "This is one person's, and everyone asking this store finds it. To keep it apart: --user NAME"
            )
        )
    if speaker is None:
        talk('Memories of it speak of "User". To have them speak of somebody: --speaker NAME')


def _embed(engram: Engram, progress: Callable[[int], None]) -> None:
    """Embed what a model could not while it came in; if it cannot now either, the next process will."""
    try:
        engram.embed_pending(progress=progress)
    except EmbeddingError as exc:
        talk(f"Found by words only for now: {exc.message}")


def _pair(text: str) -> tuple[str, str]:
    field, is_told, column = text.partition("=")
    if not is_told or not column:
        raise click.BadParameter(f"{text!r} is not FIELD=COLUMN")
    return field.strip(), column.strip()


def _show(report: ImportReport) -> None:
    kinds = ", ".join(counted(number, *[f"of {kind}"] * 2) for kind, number in report.by_kind.items())
    out(f"found {counted(report.found, 'record', 'records')}{f' ({kinds})' if kinds else ''}")
    would = "would have " if report.dry_run else ""
    if report.statements:
        known = report.statements - report.added
        otherwise = f", {known:,} known otherwise" if known else ""
        out(f"{would}added {memories(report.added)}{otherwise}")
    if report.updated or report.retired:
        out(f"{would}updated {memories(report.updated)}, retired {memories(report.retired)}")
    if report.links:
        out(f"set {counted(report.links, 'link', 'links')} between them")
    if report.turns or report.turns_read:
        read = "" if report.dry_run else f", {report.turns_read:,} read"
        out(f"{would}stored {counted(report.turns, 'turn', 'turns')}{read}")
    if report.already:
        out(f"{counted(report.already, 'record', 'records')} known from an earlier import, or there twice")
    if report.flagged:
        like = counted(report.flagged, "record reads", "records read")
        out(warning(f"{like} like instructions to an agent: in quarantine, out of automatic context"))
        out(dim("  `engram list --flag quarantined` shows them, `engram release ID` lets one in"))
    if report.clamped:
        named = " and ".join(f"{number:,} {what}" for what, number in report.clamped.items())
        out(f"{named} held to what an import may claim")
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


class ExportDone(Struct, frozen=True, kw_only=True):
    """What an export wrote."""

    path: str
    memories: int
    withheld: int
    """Memories that were left out because they are sensitive."""
    unreadable: tuple[str, ...] = ()
    """The ids of memories that are damaged, and so not in it."""


@click.argument("target", metavar="PATH", default=FROM_STDIN, help="The file to write, or - for stdout.")
@click.option("--history", is_flag=True, help="Also what was replaced, and what happened to each.")
@click.option("--sensitive", is_flag=True, help="Also what is sensitive or confidential, in plain words.")
@click.option("--narrower", is_flag=True, help="Also every scope inside: without any, the whole store.")
@click.option("--force", is_flag=True, help="Write over a file that is there.")
@filter_options
@shared_options
def export(
    shared: Shared,
    target: str,
    *,
    history: bool,
    sensitive: bool,
    narrower: bool,
    force: bool,
    **narrowing: Any,
) -> None:
    """
    Export memories, one to a line.

    A file is written whole or not at all, readable by its owner only, and never over another unless told so.
    What is sensitive stays out unless it is asked for, and the end says how much.
    """
    count: Counter[str] = Counter()
    unreadable: list[str] = []
    withheld: list[str] = []
    filters = _filters(narrowing, history=history)
    with (
        shared.open_existing() as engram,
        counting("exporting") as progress,
        opened(target, force=force) as file,
    ):
        found = engram.export(
            filters=filters,
            tiers=list(SecurityTier) if sensitive else [SecurityTier.CLEARTEXT],
            history=history,
            narrower=narrower,
            note_unreadable=unreadable.append,
            note_withheld=withheld.append,
        )
        with nullcontext() if target == FROM_STDIN else engram.registered_export(target):
            for line in _lines(found, count, progress):
                file.write(line)
        beyond = None if narrower else elsewhere(engram)

    done = ExportDone(
        path=target,
        memories=count["memories"],
        withheld=len(withheld),
        unreadable=tuple(unreadable),
    )
    if target == FROM_STDIN:
        _show_export(done, talk)
    else:
        present(done, lambda value: _show_export(value, out), as_json=shared.json)
    if beyond is not None:
        talk(f"This is what {shared.scope} sees; --narrower takes the scopes inside it along. {beyond}")
    if unreadable:
        raise StoreCorrupt(
            f"everything else is exported; these memories cannot be read: {', '.join(unreadable)}"
        )


def _filters(narrowing: Mapping[str, Any], *, history: bool) -> Filters:
    filters = taken_filters(narrowing)
    if narrowing["status"]:
        return filters
    return replace(filters, statuses=_EVER if history else BELIEVED)


def _lines(
    found: Iterable[ExportedMemory], count: Counter[str], progress: Callable[[int], None]
) -> Iterator[bytes]:
    from engramdb.exporting.export import line_of  # noqa: PLC0415

    for one in found:
        count["memories"] += 1
        yield line_of(one)
        progress(1)


@contextmanager
def opened(path: str, *, force: bool) -> Iterator[IO[bytes]]:
    """Open standard output, or a file that is there when all of it is written and not before."""
    if path == FROM_STDIN:
        yield sys.stdout.buffer
        return
    target = _free(path, force=force)
    try:
        handle, name = tempfile.mkstemp(prefix=".engram-", suffix=".tmp", dir=target.parent)
        temporary = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                yield file
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as exc:
        raise InvalidContent(f"that path cannot be written: {exc.strerror}") from exc


def _free(path: str, *, force: bool) -> Path:
    """Return where to write; raises where something is that is not to be, or cannot be, written over."""
    try:
        target = Path(path).expanduser()
    except RuntimeError as exc:
        raise InvalidContent("there is no home folder of that name", hint="Name a file.") from exc
    is_there = os.path.lexists(target)
    if is_there and not target.is_file():  # putting a file in the place of a device would break the machine
        raise InvalidContent("there is something at that path that is not a file", hint="Choose another.")
    if is_there and not force:
        raise InvalidContent(
            "there is something at that path already", hint="Choose another, or say --force."
        )
    return target


def _show_export(done: ExportDone, write: Callable[[str], None]) -> None:
    write(f"exported {counted(done.memories, 'memory', 'memories')}")
    if done.withheld:
        write(f"left out {done.withheld} that are sensitive; --sensitive writes them too, in plain words")
