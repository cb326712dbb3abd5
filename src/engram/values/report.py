"""
What `status` and `doctor` answer: the state of the store and its parts.

Built by the engine, shown unchanged by every surface.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from engram.values.health import PartHealth, SchedulerState

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexReport:
    """A vector index as it is loaded now."""

    kind: str
    rows: int
    size_bytes: int
    is_loaded: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusReport:
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
    parts: tuple[PartHealth, ...] = ()
    """What this process has used."""
    all_parts: tuple[PartHealth, ...] = ()
    """What any process has ever used, as it fared last."""
    advice: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that `doctor` looked at."""

    name: str
    ok: bool
    found: str
    repaired: bool = False
    did: str = ""
    """What was done to repair it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorReport:
    """Everything that `doctor` looked at."""

    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong, or what was wrong has been repaired."""
        return all(check.ok or check.repaired for check in self.checks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Backup:
    """A copy of the store that was written."""

    path: str
    size_bytes: int
