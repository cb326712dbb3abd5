"""
How much is left of one memory, moment by moment: the numbers behind the curves.

Called by the pictures; calls `aging` and draws nothing. A memory may be recalled on the way, and its line
ends where a rule of the policy would let it go.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

import numpy as np

from engram.aging.curves import retention
from engram.aging.forecast import DAY, foresee
from engram.aging.population import NEVER, population_of, recalled_at, to_microseconds

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from numpy.typing import NDArray

    from engram.policy import AgingPolicy
    from engram.values import Memory

    Floats = NDArray[np.float64]

POINTS_A_DAY = 2
MOST_POINTS = 300
"""Of one stretch; a screen shows no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """What is left of a memory, by days from the start, and when a rule lets it go, if one does."""

    days: Floats
    retention: Floats
    leaves_at: float = math.inf
    rule: str | None = None

    @property
    def last(self) -> float:
        """What is left when it leaves, or at the end."""
        return float(np.interp(self.leaves_at, self.days, self.retention))


def trace(
    memory: Memory,
    policy: AgingPolicy,
    *,
    start: datetime,
    days: float,
    recalls: Sequence[float] = (),
) -> Trace:
    """
    Return how a memory fades from `start` on when it is recalled on these days and otherwise left alone.

    What has left is not recalled any more; its line goes on as if it were still there.
    """
    lines, leaves_at, rule = [], math.inf, None
    for state, begin, end in _stretches(memory, policy, start=start, days=days, recalls=recalls):
        leaves_at, rule = _leaves(state, policy, start=start, begin=begin, end=end)
        lines.append(_line(state, policy, start=start, begin=begin, end=end if rule is None else days))
        if rule is not None:
            break
    all_days, left = (np.concatenate(column) for column in zip(*lines, strict=True))
    return Trace(days=all_days, retention=left, leaves_at=leaves_at, rule=rule)


def _stretches(
    memory: Memory, policy: AgingPolicy, *, start: datetime, days: float, recalls: Sequence[float]
) -> Iterator[tuple[Memory, float, float]]:
    """Yield the memory as it is between one recall and the next, with the days of both."""
    if not recalls or recalls[0] > 0:
        yield memory, 0.0, recalls[0] if recalls else days
    for begin, end in itertools.pairwise([*recalls, days]):
        memory = recalled_at(
            memory,
            start + timedelta(days=begin),
            is_new_session=True,
            stability_per_recall=policy.stability_per_recall,
            stability_most=policy.stability_most,
        )
        yield memory, begin, end


def _leaves(
    memory: Memory, policy: AgingPolicy, *, start: datetime, begin: float, end: float
) -> tuple[float, str | None]:
    """Return the day of a stretch on which a memory leaves, and the rule; never and none if it stays."""
    origin = to_microseconds(start)
    future = foresee(
        population_of([memory]), policy, origin + int(begin * DAY), until=origin + int(end * DAY)
    )
    rule = future.rule(0)
    if rule is None or future.leaves_at[0] == NEVER:
        return math.inf, None
    return (int(future.leaves_at[0]) - origin) / DAY, rule.name


def _line(
    memory: Memory, policy: AgingPolicy, *, start: datetime, begin: float, end: float
) -> tuple[Floats, Floats]:
    days = np.linspace(begin, end, 2 + min(MOST_POINTS, int((end - begin) * POINTS_A_DAY)))
    moments = to_microseconds(start) + (days * DAY).astype(np.int64)
    return days, retention(population_of([memory] * len(days)), policy, moments)
