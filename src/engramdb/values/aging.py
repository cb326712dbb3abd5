"""Aging: tiers, importance, forecasts and the report of a sweep."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

from msgspec import Struct, field

from engramdb.values.memory import Layer, Memory, MemoryId, Source, Status
from engramdb.values.reading import Lasting

LAYERS = tuple(Layer)
STATUSES = tuple(Status)
SOURCES = tuple(Source)
LASTINGS = tuple(Lasting)
NEVER = 2**63 - 1
"""A moment that does not come, in microseconds: no date to forget after."""
UNREAD = -1
"""Stands for the `lasting` of what nobody has read for that."""
MAX_RECENT = 20
"""How many recalls are remembered one by one."""


class Tier(StrEnum):
    """How much of a memory is left, in a word; `cold` and above is kept in reach."""

    HOT = "hot"
    WARM = "warm"
    COLD = "cold"
    EVICTABLE = "evictable"


class Importance(Struct, frozen=True, kw_only=True):
    """How much a memory matters now, and what each of the nine factors adds or takes."""

    value: float
    """From 0 to 1."""
    factors: Mapping[str, float]
    """What each factor adds or takes, by name."""


class ForecastChange(Struct, frozen=True, kw_only=True):
    """One thing that will happen to a memory if no one recalls, confirms or changes it."""

    at: datetime
    """When it will happen."""
    what: str
    """A tier or a layer that it enters, or the rule by which it leaves."""
    kind: str
    """`tier`, `layer` or `leaves`."""
    status: Status | None = None
    """What it will be, where it leaves."""


class Outlook(Struct, frozen=True, kw_only=True):
    """One memory's future: what is left of it, what will happen, what one more recall would change."""

    memory: Memory
    """The memory."""
    retention: float
    """How much of it is left now, from 0 to 1."""
    tier: Tier
    """The same in a word."""
    importance: Importance
    """How much it matters now."""
    changes: tuple[ForecastChange, ...] = ()
    """What will happen to it, soonest first."""
    after_recall: tuple[ForecastChange, ...] = ()
    """The same, had it been recalled now."""

    @property
    def leaves(self) -> ForecastChange | None:
        """When and by which rule it leaves, if it does."""
        return next((change for change in self.changes if change.kind == "leaves"), None)


class Census(Struct, frozen=True, kw_only=True):
    """How many memories of a store there are in each tier at one moment, and how many have left by then."""

    at: datetime
    """The moment."""
    tiers: Mapping[str, int]
    """How many memories there are, by tier."""
    left: Mapping[str, int] = field(default_factory=dict)
    """By rule."""

    @property
    def remaining(self) -> int:
        """How many are still there."""
        return sum(self.tiers.values())


class Forecast(Struct, frozen=True, kw_only=True):
    """What will become of a store: the population by day, and the memories that change first."""

    made_at: datetime
    """When it was made."""
    days: float
    """How many days it looks ahead."""
    policy: str
    """The policy that it follows."""
    population: int
    """How many memories there are now."""
    census: tuple[Census, ...]
    """How many there will be, day by day."""
    soonest: tuple[Outlook, ...] = ()
    """The memories that change first."""


class AgeMove(Struct, frozen=True, kw_only=True):
    """One move of a sweep: which memory, from where to where, by which rule."""

    memory_id: MemoryId
    """The memory."""
    rule: str
    """The rule that moved it."""
    layer: Layer | None = None
    """The layer that it moved to, where it did."""
    status: Status | None = None
    """The status that it has now, where that changed."""


class AgeReport(Struct, frozen=True, kw_only=True):
    """What one sweep found and did; with `dry_run` nothing was changed."""

    started_at: datetime
    """When the sweep began."""
    policy: str
    """The policy that it followed."""
    dry_run: bool
    """Whether nothing was changed and this only tells."""
    looked_at: int
    """How many memories it looked at."""
    by_rule: Mapping[str, int]
    """How many moved or left, by rule."""
    by_tier: Mapping[str, int]
    """How many memories there are in each tier."""
    moves: tuple[AgeMove, ...] = ()
    """The first thousand of them."""
    asked: int = 0
    """About how many memories somebody is now asked whether they still hold, before they may leave."""
    requantized: int = 0
    """How many vectors were stored in another precision."""
    resumed: bool = False
    """Whether it went on where an interrupted one had stopped; tiers are then counted from there on."""
    finished: bool = True
    """Whether it came to the end; one that was stopped goes on with the next `age`."""
    milliseconds: float = 0.0
    """How long it took."""
    longest_write_milliseconds: float = 0.0
    """How long others had to wait for their writes at most."""
    failures: tuple[str, ...] = ()
    """What could not be done, and why."""

    @property
    def changed(self) -> int:
        """How many memories moved or left."""
        return sum(self.by_rule.values())
