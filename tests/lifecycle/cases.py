"""
One case for every rule: a memory, the preset and the time after which the rule takes it, and what it becomes.

Used by the tests that look at each rule in a store and by those that foresee what it will do.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from engramdb.policy import PRESETS
from engramdb.values import Kind, Provenance, Status

from .made import BORN, EXTRACTOR, days, keep, open_aging, said, stated

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from engramdb import Engram
    from engramdb.testing import ManualClock
    from engramdb.values import Memory

SESSION = "s1"


@dataclass(frozen=True, kw_only=True)
class Case:
    """A memory, the preset and the days after which a rule takes it, and what it becomes."""

    rule: str
    preset: str
    fields: dict[str, Any]
    days: tuple[float, ...]
    """A sweep after each of these stretches."""
    to: Status
    aging: dict[str, Any] = field(default_factory=dict)
    before: Status = Status.ACTIVE
    """What it was when the rule came."""

    def memory(self) -> Memory:
        """The memory that the rule will take."""
        return stated(**self.fields)

    def rules(self, *, with_it: bool) -> tuple[str, ...]:
        """The preset's rules with or without this one."""
        return tuple(one for one in PRESETS[self.preset].aging.rules if with_it or one != self.rule)


FROM_A_TURN = {"extractor": EXTRACTOR, "importance": 0.1}
CASES = [
    Case(
        rule="forget_after",
        preset="balanced",
        fields={"forget_after": BORN + days(7)},
        days=(7,),
        to=Status.FORGOTTEN,
    ),
    Case(rule="speculative", preset="notebook", fields={"confidence": 0.3}, days=(31,), to=Status.ARCHIVED),
    Case(
        rule="commitment",
        preset="notebook",
        fields={"category": "commitment"},
        days=(91,),
        to=Status.ARCHIVED,
    ),
    Case(rule="unused", preset="notebook", fields={"importance": 0.1}, days=(91,), to=Status.ARCHIVED),
    Case(rule="faded", preset="layered", fields=FROM_A_TURN, days=(91,), to=Status.ARCHIVED),
    Case(rule="weak", preset="cortex", fields=FROM_A_TURN, days=(130,), to=Status.ARCHIVED),
    Case(rule="decayed", preset="beliefs", fields={"confidence": 0.6}, days=(108,), to=Status.PRUNED),
    Case(
        rule="low_value",
        preset="tiered",
        fields={"kind": Kind.EPISODE, "importance": 0.2},
        days=(91,),
        to=Status.ARCHIVED,
    ),
    Case(
        rule="stale_session",
        preset="tiered",
        fields={
            "kind": Kind.EPISODE,
            "extractor": EXTRACTOR,
            "provenance": Provenance(session=SESSION),
        },
        days=(31,),
        to=Status.ARCHIVED,
    ),
    Case(
        rule="old_version",
        preset="tiered",
        fields={"status": Status.SUPERSEDED},
        days=(91,),
        to=Status.ARCHIVED,
        before=Status.SUPERSEDED,
    ),
    Case(rule="evicted", preset="tiered", fields={}, days=(121,), to=Status.ARCHIVED),
    Case(
        rule="crowded_out",
        preset="tiered",
        fields={"importance": 0.4},
        days=(1,),
        to=Status.ARCHIVED,
        aging={"project_most": 2},
    ),
    Case(
        rule="archive_ended",
        preset="cortex",
        fields=FROM_A_TURN,
        days=(130, 91),
        to=Status.PRUNED,
        before=Status.ARCHIVED,
    ),
]


def opened(case: Case, path: Path, clock: ManualClock, *, with_rule: bool = True) -> Engram:
    """A memory under the case's preset with its rule on or off."""
    clock.set(BORN)
    return open_aging(path, clock, case.preset, rules=case.rules(with_it=with_rule), **case.aging)


def live(
    engram: Engram,
    clock: ManualClock,
    case: Case,
    *,
    days: Sequence[float] | None = None,
    pinned: bool = False,
    sweep_last: bool = True,
) -> Memory:
    """Store the memory beside two that matter more, and let time pass, with a sweep after each stretch."""
    memory = case.memory().evolve(pinned=pinned)
    lasting = [stated(content=f"what matters {number}", importance=0.95, pinned=True) for number in range(2)]
    keep(engram, memory, *lasting)
    said(engram, SESSION, "hello", "how are you", "fine", "see you")
    stretches = case.days if days is None else days
    for number, stretch in enumerate(stretches, start=1):
        clock.advance(days=stretch)
        if sweep_last or number < len(stretches):
            engram.age()
    return memory
