"""
The desk that a window is built on: what was asked, what it is built from, and what has been laid out so far.

Filled by `build` step by step; holds no decisions. What a section would cost is noted once, from the counts
that are stored with the memories.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from engram.context.detail import full_tokens
from engram.context.history import History
from engram.values import DetailLevel

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from engram.context.detail import Wish
    from engram.context.exchanges import Said
    from engram.context.history import Summarise
    from engram.context.measure import Measure
    from engram.context.standing import StandingMemories
    from engram.policy import ContextPolicy
    from engram.store.contract import Store
    from engram.values import (
        Breadth,
        Gap,
        Loss,
        MemoryId,
        Missing,
        Recall,
        Scope,
        Section,
        SectionName,
        Summary,
        WorkingLine,
    )

TITLE_TOKENS = 15
"""What the title of a section takes, and a little more."""
SPARE = 1.2
"""Stored counts may be too small: so much more is asked for, and what is not used goes on to others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a window is built for."""

    message: str
    scope: Scope
    now: datetime
    budget: int
    session: str | None = None
    fixed: str = ""
    fixed_tokens: int = 0
    history: Sequence[Said] = ()
    working: Sequence[WorkingLine] = ()
    agents: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """What a window is built from."""

    store: Store
    standing: StandingMemories
    recall: Callable[[int], Recall]
    """Answers with so many memories for the message."""
    measure: Measure
    policy: ContextPolicy
    summarise: Summarise | None = None
    wider: Callable[[Breadth], Sequence[Summary]] | None = None
    gaps: Callable[[], Sequence[Gap]] | None = None
    questions_left: int = 0


@dataclass(slots=True)
class Desk:
    """A window while it is being built."""

    asked: Asked
    sources: Sources
    needs: dict[SectionName, int] = field(default_factory=dict)
    wishes: dict[SectionName, Sequence[Wish]] = field(default_factory=dict)
    lines: dict[SectionName, list[str]] = field(default_factory=dict)
    sections: dict[SectionName, Section] = field(default_factory=dict)
    history: History = field(default_factory=lambda: History(None))
    answer: Recall | None = None
    losses: list[Loss] = field(default_factory=list)
    missing: list[Missing] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)

    @property
    def measure(self) -> Measure:
        return self.sources.measure

    def want(self, name: SectionName, wishes: Sequence[Wish]) -> None:
        """Note which memories a section would like to show, and what they would cost."""
        wishes = [one for one in wishes if not one.memory.is_over(self.asked.now)]
        self.wishes[name] = wishes
        if wishes:
            self.needs[name] = math.ceil(full_tokens(wishes, self.measure) * SPARE) + TITLE_TOKENS

    def want_lines(self, name: SectionName, lines: list[str]) -> None:
        """Note which lines a section would like to show, and what they would cost."""
        self.lines[name] = lines
        if lines:
            self.needs[name] = sum(self.measure.of(f"{line}\n") for line in lines) + TITLE_TOKENS

    @property
    def shown(self) -> set[MemoryId]:
        """The memories that are in the window already, by more than a tag."""
        held = (one for section in self.sections.values() for one in section.holds)
        return {one.memory_id for one in held if one.level is not DetailLevel.TAG}
