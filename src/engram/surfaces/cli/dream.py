"""
`engram dream` and `engram unmerge`: consolidate the whole store once, and take apart what was merged.

Calls `Engram.dream`. A dream that is interrupted goes on where it stopped the next time. It concerns the
whole store whatever the scope, so it shows ids and reasons and never the words of a memory.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Annotated

import typer

from engram.surfaces.cli.options import MemoryId, Reason, Shared
from engram.surfaces.cli.output import counted, dim, minute, one_line, out, present, short, talk, warning
from engram.surfaces.cli.progress import steps as showing_steps
from engram.surfaces.cli.table import show_table
from engram.values import DreamReport, Memory, StepOutcome, StepReport

TROUBLED = frozenset({StepOutcome.FAILED, StepOutcome.STOPPED})
SHOWN = 20
"""So many changes are shown; `--json` gives up to a thousand."""


def dream(
    shared: Shared,
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell what would be done.")] = False,
    steps: Annotated[
        list[str] | None, typer.Option("--steps", metavar="NAME", help="Only this step, one each time.")
    ] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show every step, also those that found nothing to do.")
    ] = False,
) -> None:
    """
    Consolidate the whole store once: merge, settle contradictions, conclude, connect, ask.

    Example: engram dream --dry-run
    """
    with shared.open_existing() as engram:
        try:
            with showing_steps(quietly=not verbose) as progress:
                report = engram.dream(dry_run=dry_run, steps=steps or None, progress=progress)
        except KeyboardInterrupt:
            talk("Stopped. The next `engram dream` goes on from here.")
            raise

    present(report, _show_all if verbose else _show, as_json=shared.json)
    if dry_run and report.changed and not shared.json:
        talk("Nothing was changed; without --dry-run it would be.")


def unmerge(shared: Shared, memory_id: MemoryId, *, reason: Reason = "") -> None:
    """
    Take apart what a dream merged into a memory, or the memory from what it was merged into.

    Example: engram unmerge 3f2a9c1b --reason "two different cups"
    """
    with shared.open_existing() as engram:
        back = engram.unmerge(memory_id, reason=reason)

    present(back, _show_back, as_json=shared.json)


def _show_back(memories: Sequence[Memory]) -> None:
    for memory in memories:
        out(f"brought back {short(memory.id)}  {one_line(memory.content)}")


def _show(report: DreamReport) -> None:
    """Show what the dream did; a step that was skipped or found nothing is passed over."""
    _show_steps(report, [step for step in report.steps if step.counts or step.dropped])
    for step in report.steps:
        if step.outcome in TROUBLED:
            out(warning(_ended(step)))
    _show_end(report)


def _show_all(report: DreamReport) -> None:
    """Show every step, and why those did not run that did not."""
    _show_steps(report, report.steps)
    for step in report.steps:
        if step.outcome is not StepOutcome.DONE:
            out(warning(_ended(step)) if step.outcome in TROUBLED else _ended(step))
    _show_end(report)


def _ended(step: StepReport) -> str:
    return f"{step.step} was {step.outcome}: {one_line(step.why)}"


def _show_steps(report: DreamReport, shown: Sequence[StepReport]) -> None:
    if report.resumed:
        out(f"went on with the dream that began at {minute(report.started_at)} and was interrupted")
    if shown:
        header = ["step", "ended", "changes", "dropped", "ms"]
        show_table(header, [_row(step) for step in shown], numbers={2, 3, 4})
    rest = len(report.steps) - len(shown)
    if rest:
        out(dim(f"{counted(rest, 'step', 'steps')} found nothing to do; --verbose shows all"))


def _show_end(report: DreamReport) -> None:
    _show_changes(report)
    out()
    longest = f"; the longest write held the store for {report.longest_write_milliseconds:.1f} ms"
    out(f"took {report.milliseconds / 1000:.2f} s{'' if report.dry_run else longest}")


def _row(step: StepReport) -> list[str]:
    number = str(sum(step.counts.values()))
    return [step.step, str(step.outcome), number, str(step.dropped), f"{step.milliseconds:.0f}"]


def _show_changes(report: DreamReport) -> None:
    out()
    if not report.changes:
        out("nothing would change" if report.dry_run else "nothing changed")
        return
    same = Counter(
        (one.step, one.action, _few([short(id_) for id_ in one.memories]), one_line(one.reason))
        for one in report.changes[:SHOWN]
    )
    show_table(
        ["step", "would do" if report.dry_run else "did", "memories", "because"],
        [
            [step, action if number == 1 else f"{action} {number}×", ids, reason]
            for (step, action, ids, reason), number in same.items()
        ],
    )
    if report.changed > SHOWN:
        out(f"and {report.changed - SHOWN} more; --json shows up to a thousand")


def _few(names: list[str]) -> str:
    return " ".join(names[:3]) + (f" +{len(names) - 3}" if len(names) > 3 else "")
