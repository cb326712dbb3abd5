"""
`engram list`: show memories, newest first.

Calls `Engram.list`. Pages follow one another by `--before` and the last id shown.
Only active memories are listed unless another status is asked for.
"""

from typing import Annotated

import typer

from engram.surfaces.cli.elsewhere import elsewhere
from engram.surfaces.cli.options import Limit, Narrowing, Shared
from engram.surfaces.cli.output import present, short, talk
from engram.surfaces.cli.show import show_lines


def list_memories(
    narrowing: Narrowing,
    shared: Shared,
    *,
    limit: Limit = 50,
    before: Annotated[str | None, typer.Option(metavar="ID", help="Only those older than this one.")] = None,
) -> None:
    """
    Show memories, newest first.

    Example: engram list --limit 20 --category preference
    """
    with shared.open_existing() as engram:
        memories = engram.list(limit=limit, before=before, filters=narrowing.filters)
        beyond = None if memories else elsewhere(engram)

    present(memories, show_lines, as_json=shared.json)
    if not memories:
        talk("There are no such memories.")
        if beyond is not None:
            talk(beyond)
    elif len(memories) == limit and not shared.json:
        talk(f"There may be more: engram list --before {short(memories[-1].id)}")
