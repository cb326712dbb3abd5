"""
`engram init`: make a store, and say where it is.

Calls `Engram.open` and `status`. A store that is there already is left as it is and said to be there.
Other commands that write also make the store; this one is for those who want to see it done.
"""

from pathlib import Path

from engram.surfaces.cli.options import Shared
from engram.surfaces.cli.output import out, present
from engram.text.counted import memories
from engram.values import StatusReport


def init(shared: Shared) -> None:
    """
    Make a store and say where it is; one that exists is left as it is.

    Example: engram init --store memory.db
    """
    was_there = Path(shared.settings().store_location).expanduser().exists()
    with shared.open_or_create() as engram:
        report = engram.status()

    def show(report: StatusReport) -> None:
        where = f"a store at {report.store}"
        out(f"There is already {where}, with {memories(report.memories)}" if was_there else f"Made {where}")

    present(report, show, as_json=shared.json)
