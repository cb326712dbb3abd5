"""What `status` and `doctor` return, and the health of each part."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct, field

from engramdb.values.scope import Scope

# How the parts of a store fare, and what its background does.


class PartHealth(Struct, frozen=True, kw_only=True):
    """One part: when it last worked, when it last failed, and why."""

    name: str
    """What the part is called."""
    last_success: datetime | None = None
    """When it last worked."""
    last_failure: datetime | None = None
    """When it last failed."""
    failure: str | None = None
    """Code and message of its last error."""
    failures: int = 0
    """How often it has failed."""

    @property
    def is_failing(self) -> bool:
        """Whether its last attempt failed."""
        if self.last_failure is None:
            return False
        return self.last_success is None or self.last_failure >= self.last_success


class BreakerState(Struct, frozen=True, kw_only=True):
    """The circuit breaker of a part that failed too often or too slowly, in this process."""

    part: str
    """What the part is called."""
    state: str = "closed"
    """`closed` while it works, `open` while it is left alone, `half-open` while its next call probes it."""
    failures: int = 0
    """How often in a row it has failed."""
    retry_seconds: float = 0.0
    """In how many seconds it is tried again."""
    reason: str | None = None
    """Code and message of its last failure."""


class SchedulerState(Struct, frozen=True, kw_only=True):
    """What the background does for a store, in this process."""

    is_on: bool = False
    """Whether there is background work."""
    running: str | None = None
    """The job that runs now."""
    running_since: datetime | None = None
    """Since when it runs."""
    is_stalled: bool = False
    """Whether the job under way has taken longer than any should."""
    last_job: str | None = None
    """The job that ran last."""
    last_run: datetime | None = None
    """When it ran."""
    waiting_for: str = ""
    """Why a job that is due has not begun; empty where none is due."""
    woken_by: str = ""
    """What last gave it reason to look."""
    given_up: tuple[str, ...] = ()
    """Jobs that have crashed too often to be tried again in this process."""


class JobState(Struct, frozen=True, kw_only=True):
    """How one job of a background worker fares, in this process."""

    name: str
    """What the job is called."""
    runs: int = 0
    """How often it has run."""
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
    """What the thread is called."""
    is_alive: bool = False
    """Whether it runs."""
    running: str | None = None
    """The job that it works on now."""
    waiting: int = 0
    """How many jobs wait for it."""
    restarts: int = 0
    """How often the thread has died and was started again."""
    jobs: tuple[JobState, ...] = ()
    """How each of its jobs fares."""


# What `status` and `doctor` answer: the state of the store and its parts.
#
# Built by the engine, shown unchanged by every surface.


class IndexReport(Struct, frozen=True, kw_only=True):
    """A vector index as it is loaded now."""

    kind: str
    """The kind of index."""
    rows: int
    """How many vectors it holds."""
    size_bytes: int
    """How much memory it takes."""
    is_loaded: bool
    """Whether it is ready to be searched."""


class StatusReport(Struct, frozen=True, kw_only=True):
    """A look at the whole."""

    store: str
    """Where the store is."""
    encrypted: bool
    """Whether it is encrypted."""
    format_version: int
    """The version of its format."""
    size_bytes: int
    """How large it is."""
    policy: str
    """The policy in use."""
    embedder: str
    """The embedder in use."""
    memories: int
    """How many memories there are."""
    turns: int
    """How many turns there are."""
    by_status: Mapping[str, int] = field(default_factory=dict)
    """How many memories there are of each status."""
    by_layer: Mapping[str, int] = field(default_factory=dict)
    """How many memories there are in each layer."""
    by_scope: Mapping[str, int] = field(default_factory=dict)
    """How many memories there are in each scope."""
    awaiting_embedding: int = 0
    """Memories that have no vector yet."""
    awaiting_enrichment: int = 0
    """Memories whose words were not looked at yet for people, topics and the like."""
    awaiting_judgment: int = 0
    """Memories that the judge has not compared yet with what was known before them."""
    reader: str = ""
    """What reads sentences, by name and version: the rules, a network or heads, a chat model."""
    judge: str = ""
    """What compares pairs of statements, by name and version."""
    awaiting_reading: int = 0
    """Turns that no one has read yet."""
    turns_without_memories: int = 0
    """Turns that were read and left no memory; recall still finds what was said in them."""
    chat: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """What the chat model was asked in this process, by purpose: calls, failures, tokens, milliseconds."""
    recalls: Mapping[str, float] = field(default_factory=dict)
    """The answers of this process: how many, how relevant, how quick, and how many poor ones in a row."""
    spent: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """What the chat model was asked so far in every process, by purpose."""
    index: IndexReport | None = None
    """The vector index of this process; None before the first question."""
    read_only: str | None = None
    """Why the store can be read and not written now; None where it can be written."""
    disk_free_bytes: int | None = None
    """Room on the disk of the store."""
    entities: int = 0
    """How many people and things are known."""
    last_dream: datetime | None = None
    """When the last dream ended."""
    last_aging: datetime | None = None
    """When the last sweep of aging ended."""
    scheduler: SchedulerState = SchedulerState()
    """What the background does."""
    workers: tuple[WorkerState, ...] = ()
    """The background threads of this process and their jobs."""
    parts: tuple[PartHealth, ...] = ()
    """What this process has used."""
    all_parts: tuple[PartHealth, ...] = ()
    """What any process has ever used, as it fared last."""
    breakers: tuple[BreakerState, ...] = ()
    """Parts that are left alone for a while because they kept failing."""
    advice: tuple[str, ...] = ()
    """What to do, where something should be done."""
    scope: Scope | None = None
    """Whose view this is: counts of what the scope sees, and nothing of the store; None for the whole."""


class Check(Struct, frozen=True, kw_only=True):
    """One thing that `doctor` looked at."""

    name: str
    """What was looked at."""
    ok: bool
    """Whether all was well."""
    found: str
    """What was found, in words."""
    repaired: bool = False
    """Whether what was wrong was repaired."""
    did: str = ""
    """What was done to repair it."""
    waits: bool = False
    """Whether it is no fault but work still to be done, by a background or by `doctor --fix`."""


NOT_IN_LAYOUT = "the table is not in the layout"
"""Why nothing was saved of a table that the file no longer names: how many rows it had, nobody knows."""


class SalvagedTable(Struct, frozen=True, kw_only=True):
    """What was saved of one table of a damaged store."""

    name: str
    """The table."""
    rows: int
    """How many rows were saved."""
    lost: int = 0
    """How many rows are lost, at least."""
    ids: tuple[str, ...] = ()
    """The ids of lost rows, where an index still names them."""
    why: str = ""
    """What could not be read; empty where all was."""


class SalvageReport(Struct, frozen=True, kw_only=True):
    """What was saved of a damaged store into a new one."""

    path: str
    """The new store."""
    read_from: str
    """The damaged store, which was left as it is."""
    tables: tuple[SalvagedTable, ...] = ()
    """What was saved, table by table."""
    changed: tuple[str, ...] = ()
    """Memories and turns that were saved and do not say what they were stored with."""
    mended: tuple[str, ...] = ()
    """Memories and turns that were saved with a default in place of something that made no sense."""
    notes: tuple[str, ...] = ()
    """What could not be done with the new store, and what else there is to know."""

    @property
    def lost(self) -> int:
        """How many rows are lost, at least."""
        return sum(table.lost for table in self.tables)


CANONICAL_CHECKS = frozenset({"file", "references", "memories", "turns"})
"""The checks of what cannot be made again from anything else."""


class DoctorReport(Struct, frozen=True, kw_only=True):
    """Everything that `doctor` looked at."""

    checks: tuple[Check, ...]
    """What was looked at, in order."""
    salvaged: SalvageReport | None = None
    """What was saved into a new store, where that was asked for."""

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong, or what was wrong has been repaired."""
        return all(check.ok or check.repaired for check in self.checks)

    @property
    def is_damaged(self) -> bool:
        """Whether something is wrong that cannot be made again from anything else."""
        return any(not check.ok and check.name in CANONICAL_CHECKS for check in self.checks)


class Backup(Struct, frozen=True, kw_only=True):
    """A copy of the store that was written."""

    path: str
    size_bytes: int
    made_at: datetime | None = None
    """When it was made."""


class RestoredBackup(Struct, frozen=True, kw_only=True):
    """A backup that was put in the place of a store."""

    store: str
    """The store."""
    backup: str
    """The backup, which stays."""
    aside: str | None = None
    """Where what was in its place is kept."""
