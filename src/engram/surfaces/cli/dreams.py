"""
`engram dreams`: what the latest dreams did.

Calls `Engram.dreams`. One line each, newest first; `--json` has every change. Reports hold ids and reasons,
never a memory's words. Pages follow one another by `--before` and the last number shown.
"""

from collections.abc import Sequence

from engram.surfaces.cli.options import BeforeNumber, Limit, Shared
from engram.surfaces.cli.output import minute, one_line, present, talk
from engram.surfaces.cli.table import show_table
from engram.values import DreamReport, StepOutcome


def dreams(shared: Shared, *, limit: Limit = 10, before: BeforeNumber = None) -> None:
    """
    Show the latest dreams, newest first: when, how long, how much they changed, what failed.

    Example: engram dreams --limit 3
    """
    with shared.open_existing() as engram:
        found = engram.dreams(limit=limit, before=before)

    present(found, _show, as_json=shared.json)
    if not found:
        talk("There was no dream yet; `engram dream` begins one." if before is None else "No earlier dream.")
    elif len(found) == limit and not shared.json:
        talk(f"There may be more; add --before {found[-1].number}")


def _show(found: Sequence[DreamReport]) -> None:
    if found:
        show_table(
            ["number", "began", "seconds", "changes", "steps", "failed"],
            [_row(report) for report in found],
            numbers={0, 2, 3, 4},
        )


def _row(report: DreamReport) -> list[str]:
    failed = [one_line(step.step) for step in report.steps if step.outcome is StepOutcome.FAILED]
    return [
        str(report.number),
        minute(report.started_at),
        f"{report.milliseconds / 1000:.1f}",
        str(report.changed),
        str(len(report.steps)),
        ", ".join(failed) or "nothing",
    ]
