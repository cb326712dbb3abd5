"""
The tool `dream`: consolidate the store.

Calls `Engram.dream`. The report speaks of memories by id and of counts; a rehearsal changes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from engram.context.isolation import one_line
from engram.surfaces.mcp.tool import Answer, Arguments, Tool, Visit

if TYPE_CHECKING:
    from engram.values.dream import DreamReport, StepReport


class Night(Arguments, frozen=True):
    """Whether to do it, or only to tell."""

    dry_run: Annotated[bool, Meta(description="True only tells what would change")] = False


def dream(visit: Visit, asked: Night) -> Answer:
    """
    Consolidate the memory: merge duplicates, settle contradictions, draw conclusions, connect. Call it
    when the user asks or the work is done, not in the middle of a conversation: it may take a while.
    """
    report = visit.engram.dream(dry_run=asked.dry_run)
    done = "would make" if report.dry_run else "made"
    heading = f"The dream {done} {report.changed} changes{'' if report.finished else ' and was interrupted'}."
    return Answer("\n".join([heading, *(_line(step) for step in report.steps)]), _values(report))


def _line(step: StepReport) -> str:
    counted = ", ".join(f"{action} {count}" for action, count in step.counts.items())
    why = one_line(step.why)
    return f"{step.step}: {step.outcome}" + "".join(f"; {part}" for part in (counted, why) if part)


def _values(report: DreamReport) -> dict[str, object]:
    return {
        "changed": report.changed,
        "dry_run": report.dry_run,
        "finished": report.finished,
        "steps": [
            {"step": step.step, "outcome": step.outcome, "why": step.why, "counts": dict(step.counts)}
            for step in report.steps
        ],
    }


TOOL = Tool(takes=Night, does=dream, destroys=True)
