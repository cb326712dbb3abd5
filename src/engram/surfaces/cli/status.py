"""
`engram status`: a look at the whole.

Calls `Engram.status`. What fails is part of the result; advice is talk and goes to stderr.
It shows the whole store, whatever the scope, because counts hold no memory text.
"""

from engram.surfaces.cli.options import Shared
from engram.surfaces.cli.output import present, talk
from engram.surfaces.cli.show import show_status


def status(shared: Shared) -> None:
    """
    Show counts, sizes, what waits and what fails.

    Example: engram status --store memory.db
    """
    with shared.open_existing() as engram:
        report = engram.status()

    present(report, show_status, as_json=shared.json)
    for advice in report.advice:
        talk(advice)
