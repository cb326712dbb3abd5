"""
`engram demo`: the whole story in a minute, on a sample life.

Tells `story` on a store of its own, which is gone afterwards unless `--keep` names a place. It opens none of
your stores, downloads nothing and asks no model; the year passes on a clock of its own.
"""

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engram.errors import InvalidSettings
from engram.surfaces.cli.output import bold, dim, indented, one_line, out, talk, write_json

if TYPE_CHECKING:
    from engram.surfaces.cli.story import Chapter

_UNDER = " " * 4


def demo(
    *,
    keep: Annotated[
        str | None, typer.Option(metavar="PATH", help="Keep the store of the story at this place.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """
    Tell the whole story on a sample life: observe, recall, contradict, age a year, dream, forget.

    Example: engram demo --keep story.db
    """
    begun = time.monotonic()
    told: list[Chapter] = []
    with _place(keep) as file:
        for chapter in _lived(file):
            told.append(chapter)
            if not json:
                _show(len(told), chapter)
    if json:
        write_json(told)
    talk(f"That was a year in {time.monotonic() - begun:.1f} seconds, on this machine alone.")
    if keep is not None:
        talk(f'The store is at {file}. Ask it: engram recall "who leads Falcon?" --store {file}')


def _lived(file: Path) -> "Iterator[Chapter]":
    """Yield the chapters as they are lived, ending today."""
    from engram.engine.engram import Engram  # noqa: PLC0415 - heavy
    from engram.settings import Settings  # noqa: PLC0415 - not needed for --help
    from engram.surfaces.cli.story import LIFE_DAYS, StoryClock, chapters  # noqa: PLC0415

    clock = StoryClock(datetime.now(UTC) - timedelta(days=LIFE_DAYS))
    settings = Settings(home=file.parent, store=str(file), embedder="static")
    with Engram.open(settings=settings, clock=clock, background=False) as engram:
        yield from chapters(engram, clock, file)


@contextmanager
def _place(keep: str | None) -> Iterator[Path]:
    """Yield where the story's store goes: to the named place, or to one that is gone afterwards."""
    if keep is not None:
        file = Path(keep).expanduser().absolute()
        if file.exists():
            raise InvalidSettings(f"{file} is there already", hint="Name a file that is not there yet.")
        yield file
        return
    with tempfile.TemporaryDirectory(prefix="engram-demo-") as folder:
        yield Path(folder) / "story.db"


def _show(number: int, chapter: "Chapter") -> None:
    out(f"{bold(f'{number}. {chapter.verb}')}  {chapter.told}  {dim(f'{chapter.on:%d %B %Y}')}")
    for line in chapter.lines:
        inner = _UNDER + "  " * (len(line) - len(line.lstrip()))
        out(indented(inner, one_line(line), indent=inner + "  "))
    out()
