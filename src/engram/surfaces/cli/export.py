"""
`engram export`: write what is known as JSON, one memory to a line.

Calls `Engram.export`. A file is written whole or not at all, readable by its owner only, and never over
another unless told so. What is sensitive stays out unless it is asked for, and the end says how much.
"""

import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated

import typer

from engram.errors import InvalidContent
from engram.surfaces.cli.elsewhere import elsewhere
from engram.surfaces.cli.options import FROM_STDIN, Narrowing, Shared
from engram.surfaces.cli.output import counted, out, present, talk
from engram.surfaces.cli.progress import counting
from engram.values import BELIEVED, Filters, SecurityTier, Status

if TYPE_CHECKING:
    from engram.values import Exported

_EVER = frozenset(status for status in Status if status.is_indexed)
"""With their history also those that something replaced; what was forgotten only if it is asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportDone:
    """What an export wrote."""

    path: str
    memories: int
    withheld: int
    """Memories that were left out because they are sensitive."""


def export(
    shared: Shared,
    narrowing: Narrowing,
    target: Annotated[
        str, typer.Argument(metavar="PATH", help="The file to write, or - for standard output.")
    ] = FROM_STDIN,
    *,
    history: Annotated[
        bool, typer.Option("--history", help="Also what was replaced, and what happened to each.")
    ] = False,
    sensitive: Annotated[
        bool, typer.Option("--sensitive", help="Also what is sensitive or confidential, in plain words.")
    ] = False,
    narrower: Annotated[
        bool,
        typer.Option("--narrower", help="Also every scope inside: without any, the whole store."),
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
) -> None:
    """
    Write what is known as JSON, one memory to a line; `engram import` takes it back.

    Example: engram export memories.jsonl --history

    Example: engram export --category preference | jq .content
    """
    count: Counter[str] = Counter()
    filters = _filters(narrowing, history=history)
    with (
        shared.open_existing() as engram,
        counting("exporting") as progress,
        opened(target, force=force) as file,
    ):
        found = engram.export(filters=filters, tiers=list(SecurityTier), history=history, narrower=narrower)
        for line in _lines(found, count, progress, sensitive=sensitive):
            file.write(line)
        beyond = None if narrower else elsewhere(engram)

    done = ExportDone(path=target, memories=count["memories"], withheld=count["withheld"])
    if target == FROM_STDIN:
        _show(done, talk)
    else:
        present(done, lambda value: _show(value, out), as_json=shared.json)
    if beyond is not None:
        talk(f"This is what {shared.scope} sees; --narrower takes the scopes inside it along. {beyond}")


def _filters(narrowing: Narrowing, *, history: bool) -> Filters:
    if narrowing.status is not None:
        return narrowing.filters
    return replace(narrowing.filters, statuses=_EVER if history else BELIEVED)


def _lines(
    found: "Iterable[Exported]",
    count: Counter[str],
    progress: Callable[[int], None],
    *,
    sensitive: bool,
) -> Iterator[bytes]:
    from engram.portability.export import discreet, line_of  # noqa: PLC0415 - not needed for --help
    from engram.text.pii import is_withheld  # noqa: PLC0415

    for one in found:
        if not sensitive and is_withheld(one.memory.content, one.memory.security):
            count["withheld"] += 1
        else:
            count["memories"] += 1
            yield line_of(one if sensitive else discreet(one))
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


def _show(done: ExportDone, write: Callable[[str], None]) -> None:
    write(f"exported {counted(done.memories, 'memory', 'memories')}")
    if done.withheld:
        write(f"left out {done.withheld} that are sensitive; --sensitive writes them too, in plain words")
