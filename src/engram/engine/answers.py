"""
How good the latest answers were: rolling averages for `status`, and a warning when many in a row were poor.

Fed by the engine after every recall; keeps numbers only, never a question or a memory.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING

from engram.late import library

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    from engram.policy import RecallPolicy
    from engram.values import Recall
else:
    np = library("numpy")

KEPT = 200
"""So many answers are averaged."""


class AnswerLog:
    """The quality of the latest answers."""

    def __init__(self, policy: Callable[[], RecallPolicy]) -> None:
        self._policy = policy
        self._lock = threading.Lock()
        self._latest: deque[tuple[float, float, float]] = deque(maxlen=KEPT)
        self._count = 0
        self._poor_in_a_row = 0
        self._levels: dict[str, int] = {}

    def add(self, answer: Recall) -> None:
        """Take in one answer; an empty one from an empty store says nothing about quality."""
        quality = answer.quality
        with self._lock:
            self._count += 1
            self._levels[quality.level] = self._levels.get(quality.level, 0) + 1
            if not quality.candidates:
                return
            self._latest.append((quality.average_relevancy, quality.ndcg, quality.milliseconds))
            is_poor = quality.average_relevancy < self._policy().poor_relevancy
            self._poor_in_a_row = self._poor_in_a_row + 1 if is_poor else 0

    def summary(self) -> dict[str, float]:
        """Return how many answers there were, and the averages of the latest."""
        with self._lock:
            found: dict[str, float] = {"answers": self._count, "poor_in_a_row": self._poor_in_a_row}
            found |= {f"level: {level}": number for level, number in self._levels.items()}
            latest = list(self._latest)
        if latest:
            relevancy, ndcg, milliseconds = np.array(latest).T
            found |= {"average_relevancy": float(relevancy.mean()), "ndcg": float(ndcg.mean())}
            found |= {f"milliseconds_p{p}": float(np.percentile(milliseconds, p)) for p in (50, 95)}
        return found

    @property
    def is_poor(self) -> bool:
        """Whether so many poor answers came in a row that something may be wrong."""
        with self._lock:
            return self._poor_in_a_row > 0 and self._poor_in_a_row >= self._policy().poor_in_a_row
