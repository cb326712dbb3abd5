"""
`engram age`: let the whole store age once.

Calls `Engram.age`. A sweep that is interrupted goes on where it stopped the next time. It concerns the whole
store whatever the scope, so it shows ids and rules and never the words of a memory.
"""

from typing import Annotated

import typer

from engram.surfaces.cli.options import Shared
from engram.surfaces.cli.output import counted, minute, one_line, out, present, short, talk, warning
from engram.surfaces.cli.progress import counting
from engram.surfaces.cli.table import show_table
from engram.text.counted import memories
from engram.values import AgeReport, Moved, Tier

SHOWN = 10
"""So many moves are shown; `--json` gives them all."""


def age(
    shared: Shared,
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell what would be done.")] = False,
) -> None:
    """
    Let the whole store age once: layers change, and what is due by a rule leaves.

    Example: engram age --dry-run
    """
    with shared.open_existing() as engram:
        total = engram.status().memories
        try:
            with counting("ageing", total=total) as progress:
                report = engram.age(dry_run=dry_run, progress=progress)
        except KeyboardInterrupt:
            talk("Stopped. The next `engram age` goes on from here.")
            raise

    present(report, _show, as_json=shared.json)
    if dry_run and report.changed and not shared.json:
        talk("Nothing was changed; without --dry-run it would be.")


def _show(report: AgeReport) -> None:
    living = sum(report.by_tier.values())
    gone = f", {living} of them living," if living != report.looked_at else ""
    out(f"looked at {memories(report.looked_at)}{gone} under the policy {report.policy}")
    if report.resumed:
        out(f"went on with the sweep that began at {minute(report.started_at)} and was interrupted")
    if not report.finished:
        out(warning("stopped before the end; the next `engram age` goes on from here"))
    _show_counts(report)
    _show_moves(report)
    for failure in report.failures:
        out(warning(f"failed: {one_line(failure)}"))
    out()
    longest = f"; the longest write held the store for {report.longest_write_milliseconds:.1f} ms"
    out(f"took {report.milliseconds / 1000:.2f} s{'' if report.dry_run else longest}")


def _show_counts(report: AgeReport) -> None:
    out()
    show_table(
        ["tier", "memories"],
        [[tier, str(report.by_tier.get(tier, 0))] for tier in Tier],
        numbers={1},
    )
    if report.requantised:
        out(counted(report.requantised, "vector was", "vectors were") + " stored in another precision")
    out()
    if not report.by_rule:
        out("no rule would change a memory" if report.dry_run else "no rule changed a memory")
        return
    counts = sorted(report.by_rule.items(), key=lambda pair: -pair[1])
    show_table(["rule", "memories"], [[rule, str(number)] for rule, number in counts], numbers={1})


def _show_moves(report: AgeReport) -> None:
    if not report.moves:
        return
    out()
    becomes = "would become" if report.dry_run else "became"
    show_table(
        ["memory", becomes, "by the rule"],
        [[short(one.memory_id), _new_state(one), one.rule] for one in report.moves[:SHOWN]],
    )
    if report.changed > SHOWN:
        out(f"and {report.changed - SHOWN} more; --json shows up to a thousand")


def _new_state(moved: Moved) -> str:
    return str(moved.status or moved.layer or "")
