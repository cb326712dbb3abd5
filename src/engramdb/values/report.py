"""What `status` and `doctor` return, and the health of each part."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct, field

# How the parts of a store fare, and what its background does.


class PartHealth(Struct, frozen=True, kw_only=True):
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


class SchedulerState(Struct, frozen=True, kw_only=True):
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
    given_up: tuple[str, ...] = ()
    """Jobs that have crashed too often to be tried again in this process."""


class JobState(Struct, frozen=True, kw_only=True):
    """How one job of a background worker fares, in this process."""

    name: str
    runs: int = 0
    failures: int = 0
    """How often in a row it has failed."""
    crashes: int = 0
    """How often in a row it has ended with an unexpected error."""
    error: str | None = None
    """The last failure since it worked: an error code, or the type and place of an unexpected error."""
    is_given_up: bool = False
    """Whether it has crashed too often and is not tried again in this process."""


class WorkerState(Struct, frozen=True, kw_only=True):
    """A background thread of this process."""

    name: str
    is_alive: bool = False
    running: str | None = None
    waiting: int = 0
    jobs: tuple[JobState, ...] = ()


# What `status` and `doctor` answer: the state of the store and its parts.
#
# Built by the engine, shown unchanged by every surface.


class IndexReport(Struct, frozen=True, kw_only=True):
    """A vector index as it is loaded now."""

    kind: str
    rows: int
    size_bytes: int
    is_loaded: bool


class StatusReport(Struct, frozen=True, kw_only=True):
    """A look at the whole."""

    store: str
    encrypted: bool
    format_version: int
    size_bytes: int
    policy: str
    embedder: str
    memories: int
    turns: int
    by_status: Mapping[str, int] = field(default_factory=dict)
    by_layer: Mapping[str, int] = field(default_factory=dict)
    by_scope: Mapping[str, int] = field(default_factory=dict)
    awaiting_embedding: int = 0
    awaiting_enrichment: int = 0
    awaiting_reading: int = 0
    """Turns that nobody has read statements out of yet."""
    chat: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """What the chat model was asked in this process, by purpose: calls, failures, tokens, milliseconds."""
    recalls: Mapping[str, float] = field(default_factory=dict)
    """The answers of this process: how many, how relevant, how quick, and how many poor ones in a row."""
    spent: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """What the chat model was asked so far in every process, by purpose."""
    index: IndexReport | None = None
    """The vector index of this process; None before the first question."""
    disk_free_bytes: int | None = None
    """Room on the disk of the store."""
    entities: int = 0
    last_dream: datetime | None = None
    last_ageing: datetime | None = None
    scheduler: SchedulerState = SchedulerState()
    workers: tuple[WorkerState, ...] = ()
    """The background threads of this process and their jobs."""
    parts: tuple[PartHealth, ...] = ()
    """What this process has used."""
    all_parts: tuple[PartHealth, ...] = ()
    """What any process has ever used, as it fared last."""
    advice: tuple[str, ...] = ()


class Check(Struct, frozen=True, kw_only=True):
    """One thing that `doctor` looked at."""

    name: str
    ok: bool
    found: str
    repaired: bool = False
    did: str = ""
    """What was done to repair it."""


class DoctorReport(Struct, frozen=True, kw_only=True):
    """Everything that `doctor` looked at."""

    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong, or what was wrong has been repaired."""
        return all(check.ok or check.repaired for check in self.checks)


class Backup(Struct, frozen=True, kw_only=True):
    """A copy of the store that was written."""

    path: str
    size_bytes: int
