"""Dream reports: what each step of a consolidation run did."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

from msgspec import Struct, field

from engramdb.values.memory import MemoryId


class StepOutcome(StrEnum):
    """How a step ended."""

    DONE = "done"
    SKIPPED = "skipped"
    FAILED = "failed"
    STOPPED = "stopped"


class DreamChange(Struct, frozen=True, kw_only=True):
    """One thing that was changed, or would be: what, to which memories, and why."""

    step: str
    """The step that made the change."""
    action: str
    """What was done."""
    memories: tuple[MemoryId, ...]
    """The memories that it was done to."""
    reason: str
    """Why."""
    made: MemoryId | None = None
    """The memory that came of it, if one did and the run was not a rehearsal."""


class StepReport(Struct, frozen=True, kw_only=True):
    """What one step did; `why` says what was missing or what went wrong."""

    step: str
    """The name of the step."""
    outcome: StepOutcome
    """How it ended."""
    why: str = ""
    """What was missing or went wrong; empty where nothing did."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """How often each action was taken."""
    dropped: int = 0
    """Proposals whose ground had shifted before they were applied."""
    milliseconds: float = 0.0
    """How long it took."""


class DreamReport(Struct, frozen=True, kw_only=True):
    """A whole run, step by step."""

    started_at: datetime
    """When the run began."""
    milliseconds: float = 0.0
    """How long it took."""
    dry_run: bool = False
    """Whether nothing was changed and this only tells."""
    resumed: bool = False
    """Whether it went on where an interrupted run had stopped."""
    finished: bool = True
    """Whether it came to the end; one that was stopped goes on with the next `dream`."""
    steps: tuple[StepReport, ...] = ()
    """What each step did, in their order."""
    changes: tuple[DreamChange, ...] = ()
    """The first thousand changes."""
    longest_write_milliseconds: float = 0.0
    """How long others had to wait for their writes at most."""
    number: int | None = None
    """Its place among the runs, given by the store: `dreams(before=…)` shows earlier ones."""

    @property
    def changed(self) -> int:
        """How many changes were made, or would be."""
        return sum(sum(step.counts.values()) for step in self.steps)
