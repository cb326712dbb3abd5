"""Show dreams: what one did, the latest of them, what was taken apart again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import click

from engramdb.cli.derive import Run, runs, shows
from engramdb.cli.output import dim, minute, one_line, out, short, show_table, steps, talk, warning
from engramdb.text.dates import readable
from engramdb.text.normalize import counted
from engramdb.values import DreamReport, Memory, StepOutcome, StepReport

TROUBLED = frozenset({StepOutcome.FAILED, StepOutcome.STOPPED})
SHOWN = 20
"""The maximum number of changes that are shown; `--json` gives up to a thousand."""


@runs(
    "dream",
    click.Option(
        ["--verbose", "-v"],
        is_flag=True,
        help="Show every step, also those that found nothing to do.",
    ),
)
def dream(run: Run) -> None:
    """Dream once; it concerns the whole store, so it shows ids and reasons and never a memory's words."""
    is_verbose = run.extra["verbose"]
    with run.open() as engram:
        try:
            with steps(quietly=not is_verbose) as progress:
                report: DreamReport = run.call(engram, progress=progress)
        except KeyboardInterrupt:
            talk("Stopped. The next `engram dream` goes on from here.")
            raise

    run.present(report, show_every_step if is_verbose else show_dream)
    if report.dry_run and report.changed and not run.shared.json:
        talk("Nothing was changed; without --dry-run it would be.")


@shows("unmerge")
def show_unmerged(memories: Sequence[Memory]) -> None:
    """Show what was brought back."""
    for memory in memories:
        out(f"brought back {short(memory.id)}  {one_line(readable(memory))}")


def show_dream(report: DreamReport) -> None:
    """Show what the dream did; a step that was skipped or found nothing is passed over."""
    _show_steps(report, [step for step in report.steps if step.counts or step.dropped])
    for step in report.steps:
        if step.outcome in TROUBLED:
            out(warning(_ended(step)))
    _show_end(report)


def show_every_step(report: DreamReport) -> None:
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
        show_table(header, [_step_row(step) for step in shown], numbers={2, 3, 4})
    rest = len(report.steps) - len(shown)
    if rest:
        out(dim(f"{counted(rest, 'step', 'steps')} found nothing to do; --verbose shows all"))


def _show_end(report: DreamReport) -> None:
    _show_changes(report)
    out()
    longest = f"; the longest write held the store for {report.longest_write_milliseconds:.1f} ms"
    out(f"took {report.milliseconds / 1000:.2f} s{'' if report.dry_run else longest}")


def _step_row(step: StepReport) -> list[str]:
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


@runs("dreams")
def dreams(run: Run) -> None:
    """Show the latest dreams, and how the list goes on."""
    found: Sequence[DreamReport] = run.answer()
    run.present(found, show_dreams)
    if not found:
        is_first = run.asked.before is None
        talk("There was no dream yet; `engram dream` begins one." if is_first else "No earlier dream.")
    elif len(found) == run.asked.limit and not run.shared.json:
        talk(f"There may be more; add --before {found[-1].number}")


def show_dreams(found: Sequence[DreamReport]) -> None:
    """Show dreams, a row for each."""
    if found:
        show_table(
            ["number", "began", "seconds", "changes", "steps", "failed"],
            [_dream_row(report) for report in found],
            numbers={0, 2, 3, 4},
        )


def _dream_row(report: DreamReport) -> list[str]:
    failed = [one_line(step.step) for step in report.steps if step.outcome is StepOutcome.FAILED]
    return [
        str(report.number),
        minute(report.started_at),
        f"{report.milliseconds / 1000:.1f}",
        str(report.changed),
        str(len(report.steps)),
        ", ".join(failed) or "nothing",
    ]
