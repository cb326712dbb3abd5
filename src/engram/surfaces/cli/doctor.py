"""
`engram doctor`: examine the store, and mend what can be made anew.

Calls `Engram.doctor`. Ends with 1 when something is wrong and was not repaired, so that scripts can ask.
Without `--fix` nothing is changed.
"""

from typing import Annotated

import typer

from engram.surfaces.cli.options import Shared
from engram.surfaces.cli.output import present, talk
from engram.surfaces.cli.progress import counting
from engram.surfaces.cli.show import show_doctor
from engram.surfaces.errors import FAILED


def doctor(
    shared: Shared,
    *,
    fix: Annotated[bool, typer.Option("--fix", help="Rebuild what is derived and wrong.")] = False,
) -> None:
    """
    Examine the store and its parts; with --fix, rebuild what is derived and wrong.

    Example: engram doctor --fix
    """
    with shared.open_existing() as engram, counting("mending") as progress:
        report = engram.doctor(fix=fix, progress=progress)

    present(report, show_doctor, as_json=shared.json)
    if report.ok:
        talk("Everything is in order.")
    else:
        talk("Something is wrong." if fix else "Something is wrong; `engram doctor --fix` mends what it can.")
        raise typer.Exit(FAILED)
