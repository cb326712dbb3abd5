"""
Fill one section of memories within its allowance: choose the levels, write each line once, count it.

Called by `build` for every section that holds memories. Levels are chosen from stored counts; the lines are
then counted as they are written, and where a stored count was too small the memory takes a shorter level.
What does not fit at any level is left out and said to be.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from engram.context.detail import LEVELS, choose
from engram.context.isolation import one_line
from engram.context.lines import TAGS, TITLES, day_line, line, section_text, stored_tokens, text_of
from engram.values import Breadth, DetailLevel, Fate, Held, Loss, Section

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import date

    from engram.context.detail import Wish
    from engram.context.measure import Measure
    from engram.policy import ContextPolicy
    from engram.values import Memory, SectionName, Summary

NO_ROOM = "no room"
SAMPLES = 8
"""So many memories tell how the counter differs from the counts that are stored."""
FAILURES_MOST = 5
"""After so many memories in a row that do not fit, no further one is tried."""
WIDER_SHARE = 0.15
"""So much of a section's room goes to summaries of many memories, where not all fit by themselves."""
LEAST_LEFT = 4
"""Fewer tokens than this hold nothing."""


@dataclass(slots=True)
class _Page:
    """A section while it is being written."""

    name: SectionName
    room: int
    measure: Measure
    used: int = 0
    days: set[date] = field(default_factory=set)
    lines: dict[int, tuple[Memory, str]] = field(default_factory=dict)
    tags: dict[int, str] = field(default_factory=dict)
    levels: dict[int, DetailLevel] = field(default_factory=dict)
    wider: list[str] = field(default_factory=list)

    def write(self, place: int, memory: Memory, level: DetailLevel) -> bool:
        """Write a memory at a level if it fits, and say whether it does."""
        written = line(memory, level)
        if level is DetailLevel.TAG:
            cost = self.measure.of(f"; {written}" if self.tags else f"{TAGS}{written}\n")
        else:
            day = memory.when.date()
            above = "" if day in self.days else f"{day_line(day)}\n"
            cost = self.measure.of(f"{above}{written}\n")
        if self.used + cost > self.room:
            return False
        self.used += cost
        self.levels[place] = level
        if level is DetailLevel.TAG:
            self.tags[place] = written
        else:
            self.days.add(memory.when.date())
            self.lines[place] = (memory, written)
        return True


def fill(
    name: SectionName,
    wishes: Sequence[Wish],
    allowance: int,
    *,
    measure: Measure,
    policy: ContextPolicy,
    wider: Callable[[Breadth], Sequence[Summary]] | None = None,
) -> tuple[Section | None, list[Loss]]:
    """
    Return the section, None where nothing fits, and what was left out or shortened.

    Where memories would stay out altogether, `wider` is asked for summaries of many of them.
    """
    page = _Page(name, allowance, measure, used=measure.of(f"{TITLES[name]}\n"))
    fitted = _fitted(measure, wishes)
    levels = choose(wishes, allowance - page.used, measure=fitted, policy=policy)
    if wider is not None and None in levels:
        _write_wider(page, wider)
        levels = choose(wishes, allowance - page.used, measure=fitted, policy=policy)
    for place, (wish, level) in enumerate(zip(wishes, levels, strict=True)):
        if level is not None:
            _write_best(page, place, wish.memory, level)
    _use_the_rest(page, wishes)
    losses = _losses(page, wishes)
    if not page.levels and not page.wider:
        return None, losses
    text = section_text(name, page.lines.values(), list(page.tags.values()), page.wider)
    holds = tuple(Held(memory_id=wishes[place].memory.id, level=page.levels[place]) for place in page.levels)
    return Section(name=name, text=text, tokens=page.used, allowance=allowance, holds=holds), losses


def fill_lines(
    name: SectionName, lines: Sequence[str], allowance: int, *, measure: Measure
) -> Section | None:
    """Return a section of plain lines, as many as fit in their order; None where none does."""
    used = measure.of(f"{TITLES[name]}\n")
    kept = []
    for one in lines:
        used += measure.of(f"{one}\n")
        if used > allowance:
            break
        kept.append(one)
    if not kept:
        return None
    text = "\n".join([TITLES[name], *kept])
    return Section(name=name, text=text, tokens=measure.of(f"{text}\n"), allowance=allowance)


def _write_wider(page: _Page, wider: Callable[[Breadth], Sequence[Summary]]) -> None:
    """Write summaries of many memories, of the narrowest breadth of which any fits into their part."""
    room = page.used + round((page.room - page.used) * WIDER_SHARE)
    for breadth in Breadth:
        for one in wider(breadth):
            written = f"- summary of {one.members} memories: {one_line(one.text)}"
            cost = page.measure.of(f"{written}\n")
            if page.used + cost <= room:
                page.used += cost
                page.wider.append(written)
        if page.wider:
            return


def _write_best(page: _Page, place: int, memory: Memory, level: DetailLevel) -> None:
    """Write a memory at the level, or at the first shorter one that fits."""
    before = None
    for shorter in LEVELS[LEVELS.index(level) :]:
        words = text_of(memory, shorter)
        if words != before and page.write(place, memory, shorter):
            return
        before = words


def _use_the_rest(page: _Page, wishes: Sequence[Wish]) -> None:
    """Give the room that is left, because stored counts were too large, to those that stayed out."""
    failures = 0
    for place, wish in enumerate(wishes):
        if page.room - page.used < LEAST_LEFT or failures == FAILURES_MOST:
            return
        if place not in page.levels:
            _write_best(page, place, wish.memory, DetailLevel.KEY_FACT)
            failures = 0 if place in page.levels else failures + 1


def _fitted(measure: Measure, wishes: Sequence[Wish]) -> Measure:
    """Return the measure with what the counter makes of the stored counts of a few of these memories."""
    some = [one.memory for one in wishes[:: max(1, len(wishes) // SAMPLES)]]
    return measure.fitted([(one.content, stored_tokens(one, DetailLevel.FULL)) for one in some])


def _losses(page: _Page, wishes: Sequence[Wish]) -> list[Loss]:
    dropped = len(wishes) - len(page.levels)
    degraded = sum(level is not DetailLevel.FULL for level in page.levels.values())
    found = []
    if dropped:
        found.append(Loss(section=page.name, fate=Fate.DROPPED, count=dropped, reason=NO_ROOM))
    if degraded:
        found.append(Loss(section=page.name, fate=Fate.DEGRADED, count=degraded, reason=NO_ROOM))
    return found
