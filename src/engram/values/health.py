"""
How the parts of a store fare, and what its background does.

Kept by the engine while it runs, and part of what `status` answers in `report`. It stands apart from the
reports because every process keeps it, and few are asked for one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class PartHealth:
    """One part: when it last worked, when it last failed, and why."""

    name: str
    last_success: datetime | None = None
    last_failure: datetime | None = None
    failure: str | None = None
    failures: int = 0

    @property
    def is_failing(self) -> bool:
        """Whether its last attempt failed."""
        if self.last_failure is None:
            return False
        return self.last_success is None or self.last_failure >= self.last_success


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerState:
    """What the background does for a store, in this process."""

    is_on: bool = False
    running: str | None = None
    running_since: datetime | None = None
    is_stalled: bool = False
    """Whether the job under way has taken longer than any should."""
    last_job: str | None = None
    last_run: datetime | None = None
    waiting_for: str = ""
    """Why a job that is due has not begun; empty where none is due."""
    woken_by: str = ""
    """What last gave it reason to look."""
