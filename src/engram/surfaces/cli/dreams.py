"""
`engram dreams`: what the latest dreams did.

Calls `Engram.dreams`. One line each, newest first; `--json` has every change. Reports hold ids and reasons,
never a memory's words.
"""

from collections.abc import Sequence

from engram.surfaces.cli.options import Limit, Shared
from engram.surfaces.cli.output import minute, one_line, present, talk
from engram.surfaces.cli.table import show_table
from engram.values import DreamReport, StepOutcome


def dreams(shared: Shared, *, limit: Limit = 10) -> None:
    """
    Show the latest dreams, newest first: when, how long, how much they changed, what failed.

    Example: engram dreams --limit 3
    """
    with shared.open_existing() as engram:
        found = engram.dreams(limit=limit)

    present(found, _show, as_json=shared.json)
    if not found:
        talk("There was no dream yet; `engram dream` begins one.")


def _show(found: Sequence[DreamReport]) -> None:
    if found:
        show_table(
            ["began", "seconds", "changes", "steps", "failed"],
            [_row(report) for report in found],
            numbers={1, 2, 3},
        )


def _row(report: DreamReport) -> list[str]:
    failed = [one_line(step.step) for step in report.steps if step.outcome is StepOutcome.FAILED]
    return [
        minute(report.started_at),
        f"{report.milliseconds / 1000:.1f}",
        str(report.changed),
        str(len(report.steps)),
        ", ".join(failed) or "nothing",
    ]
