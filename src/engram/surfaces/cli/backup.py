"""
`engram backup`: write a whole copy of the store while others use it.

Calls `Engram.backup`. A plain `cp` of a store that is open leaves out what was written last.
"""

from typing import Annotated

import typer

from engram.surfaces.cli.options import Shared
from engram.surfaces.cli.output import out, present
from engram.values import Backup


def backup(
    shared: Shared,
    path: Annotated[str, typer.Argument(metavar="PATH", help="The file to write; nothing may be there.")],
) -> None:
    """
    Write a whole copy of the store, while others go on using it.

    To go back, stop what uses the store, remove its -wal and -shm, and put the copy in its place.

    Example: engram backup ~/memory-$(date +%F).db
    """
    with shared.open_existing() as engram:
        done = engram.backup(path)

    present(done, _show, as_json=shared.json)


def _show(done: Backup) -> None:
    out(f"copied {done.size_bytes / 1e6:.1f} MB to {done.path}")
