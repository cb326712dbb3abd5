"""Commands of the dream: dream, gaps, confidence, domains."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Annotated

import typer

from engramdb.cli.memories import show_stored
from engramdb.cli.options import BeforeNumber, Limit, MemoryId, Reason, Shared, Text, among, given_text
from engramdb.cli.output import (
    bold,
    dim,
    minute,
    one_line,
    out,
    present,
    short,
    show_rows,
    show_table,
    talk,
    visible,
    warning,
)
from engramdb.cli.output import steps as showing_steps
from engramdb.text.normalize import counted, memories
from engramdb.values import (
    Breadth,
    Confidence,
    Domain,
    DreamReport,
    Gap,
    Memory,
    StepOutcome,
    StepReport,
    Summary,
)

# `engram dream` and `engram unmerge`: consolidate the whole store once, and take apart what was merged.
#
# Calls `Engram.dream`. A dream that is interrupted goes on where it stopped the next time. It concerns the
# whole store whatever the scope, so it shows ids and reasons and never the words of a memory.

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


# `engram dreams`: what the latest dreams did.


def dreams(shared: Shared, *, limit: Limit = 10, before: BeforeNumber = None) -> None:
    """
    Show the latest dreams, newest first: when, how long, how much they changed, what failed.

    Example: engram dreams --limit 3
    """
    with shared.open_existing() as engram:
        found = engram.dreams(limit=limit, before=before)

    present(found, _show_dreams, as_json=shared.json)
    if not found:
        talk("There was no dream yet; `engram dream` begins one." if before is None else "No earlier dream.")
    elif len(found) == limit and not shared.json:
        talk(f"There may be more; add --before {found[-1].number}")


def _show_dreams(found: Sequence[DreamReport]) -> None:
    if found:
        show_table(
            ["number", "began", "seconds", "changes", "steps", "failed"],
            [_row_dreams(report) for report in found],
            numbers={0, 2, 3, 4},
        )


def _row_dreams(report: DreamReport) -> list[str]:
    failed = [one_line(step.step) for step in report.steps if step.outcome is StepOutcome.FAILED]
    return [
        str(report.number),
        minute(report.started_at),
        f"{report.milliseconds / 1000:.1f}",
        str(report.changed),
        str(len(report.steps)),
        ", ".join(failed) or "nothing",
    ]


# `engram gaps`, `engram answer-gap` and `engram close-gap`: what should be known and is not.

GapId = Annotated[str, typer.Argument(metavar="GAP", help="The question's id, as `engram gaps` shows it.")]


def gaps(
    shared: Shared,
    *,
    limit: Limit = 20,
    after: Annotated[str | None, typer.Option(metavar="GAP", help="Only those that follow this one.")] = None,
) -> None:
    """
    Show open questions, the weightiest first: missing facts, contradictions, beliefs grown old.

    Example: engram gaps --limit 5
    """
    with shared.open_existing() as engram:
        found = engram.gaps(limit=limit, after=after)

    present(found, _show_gaps, as_json=shared.json)
    if not found:
        talk("No question is open; `engram dream` looks for some." if after is None else "No other is open.")
    elif len(found) == limit and not shared.json:
        talk(f"There may be more; add --after {found[-1].id}")


def answer_gap(shared: Shared, gap: GapId, text: Text) -> None:
    """
    Answer an open question: the answer is remembered, and the question is closed.

    Example: engram answer-gap 4f1c77ab0d52 "Ada's birthday is on 10 December"
    """
    content = given_text(text)
    with shared.open_existing() as engram:
        memory = engram.answer_gap(gap, content)

    present(memory, show_stored, as_json=shared.json)


def close_gap(shared: Shared, gap: GapId, *, reason: Reason = "") -> None:
    """
    Settle a question without an answer; it is not asked again.

    Example: engram close-gap 4f1c77ab0d52 --reason "nobody needs to know"
    """
    with shared.open_existing() as engram:
        closed = engram.close_gap(gap, reason=reason)

    present(closed, _show_closed, as_json=shared.json)


def _show_gaps(found: Sequence[Gap]) -> None:
    if found:
        show_table(
            ["id", "weight", "kind", "question"],
            [[gap.id, f"{gap.priority:.2f}", str(gap.kind), one_line(gap.question)] for gap in found],
            numbers={1},
        )


def _show_closed(gap: Gap) -> None:
    out(f"{bold('closed')} {gap.id}  {one_line(gap.question)}")


# `engram domains` and `engram summaries`: the fields of knowledge, and what they come to in short.
#
# Call `Engram.domains` and `Engram.summaries`. Both are what the last dream found; before the first there are
# none, and a line says so.

NONE_YET = "There are none yet; `engram dream` finds them."


def domains(shared: Shared) -> None:
    """
    Show the fields of knowledge, the best known first, and how well each is known.

    Example: engram domains --project shop
    """
    with shared.open_existing() as engram:
        found = engram.domains()

    present(found, _show_domains, as_json=shared.json)
    if not found:
        talk(NONE_YET)


def summaries(
    shared: Shared,
    question: Annotated[
        str | None, typer.Argument(metavar="QUESTION", help="What fits this first, or - for stdin.")
    ] = None,
    *,
    breadth: Annotated[
        Breadth, typer.Option(metavar="NAME", help=among("How much one summary speaks of", Breadth))
    ] = Breadth.DOMAIN,
    limit: Limit = 5,
) -> None:
    """
    Show what is known in short: by cluster, by domain or all of it.

    Example: engram summaries "the deployment" --breadth cluster
    """
    asked = None if question is None else given_text(question)
    with shared.open_existing() as engram:
        found = engram.summaries(asked, breadth=breadth, limit=limit)

    present(found, _show_summaries, as_json=shared.json)
    if not found:
        talk(NONE_YET)


def _show_domains(found: Sequence[Domain]) -> None:
    if found:
        show_table(
            ["confidence", "depth", "fresh", "unsure", "memories", "gaps", "latest", "domain"],
            [_domain_row(one) for one in found],
            numbers={0, 1, 2, 3, 4, 5},
        )


def _domain_row(one: Domain) -> list[str]:
    numbers = (one.confidence, one.depth, one.freshness, one.uncertainty)
    latest = minute(one.latest_at) if one.latest_at else ""
    return [
        *(f"{number:.2f}" for number in numbers),
        str(one.members),
        str(one.gaps),
        latest,
        one_line(one.title),
    ]


def _show_summaries(found: Sequence[Summary]) -> None:
    for one in found:
        out(f"{bold(one_line(one.title))}  {dim(f'{one.breadth}, {memories(one.members)}')}")
        out(visible(one.text))
        out()


# `engram confidence`: whether a question can be answered from memory at all.


def confidence(
    shared: Shared,
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="A question, or - for stdin.")],
) -> None:
    """
    Say how well a question is covered: confident, uncertain or unknown, and why.

    Example: engram confidence "when is Ada's birthday?"
    """
    asked = given_text(question)
    with shared.open_existing() as engram:
        found = engram.confidence(asked)

    present(found, _show_confidence, as_json=shared.json)
    for missing in found.missing:
        talk(warning(f"this rests on less: {one_line(missing)}"))


def _show_confidence(found: Confidence) -> None:
    out(f"{bold(found.certainty)}: {one_line(found.reason)}")
    show_rows(
        {
            "confidence": f"{found.confidence:.2f}",
            "best memory": f"fits by {found.evidence:.2f}",
            "supporting": memories(found.supporting),
            "open questions": str(found.gaps) if found.gaps else None,
            "domain": one_line(found.domain.title) if found.domain else None,
        }
    )
