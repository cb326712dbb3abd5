"""
Choose who leaves where being due is not enough: the lowest of a sweep, and what is too much for a project.

Held by the sweep, which shows it every page once and then asks for the losers. Looks at the whole store
before it chooses, so the size of a page changes nothing. Keeps four numbers for each memory that is due.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from engram.aging.rules import LIVING, PASSING, RULES
from engram.aging.verdict import STAYS, choose_crowded, choose_evicted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from engram.aging.rules import Rule
    from engram.aging.verdict import Verdicts
    from engram.policy import AgingPolicy

EVICTED, CROWDED_OUT = "evicted", "crowded_out"


class Contest:
    """Who is due for the rules that choose, of the whole store."""

    def __init__(self, policy: AgingPolicy, *, already: Mapping[str, int]) -> None:
        self._policy = policy
        self._evict_most = max(0, policy.evict_most - already.get(EVICTED, 0))
        self._due: dict[str, list[NDArray[np.float64]]] = {EVICTED: [], CROWDED_OUT: []}
        self._totals: Counter[int] = Counter()

    @property
    def is_needed(self) -> bool:
        """Whether the policy has such a rule at all."""
        return any(name in self._policy.rules for name in self._due)

    def enter(self, verdicts: Verdicts) -> None:
        """Take in one page."""
        population = verdicts.measured.population
        scores = {EVICTED: verdicts.measured.retention, CROWDED_OUT: population.importance}
        is_passing = population.is_in(*PASSING)
        for name, due in verdicts.due.items():
            columns = (population.keys, scores[name], population.projects, is_passing)
            self._due[name].append(np.stack([column[due] for column in columns]))
        is_here = is_passing & population.has(*LIVING) & (verdicts.leaving == STAYS)
        for project, number in zip(*np.unique(population.projects[is_here], return_counts=True), strict=True):
            self._totals[int(project)] += int(number)

    def losers(self) -> Iterator[tuple[Rule, list[int]]]:
        """Yield each rule with the keys of those that leave by it."""
        gone: set[int] = set()
        if EVICTED in self._policy.rules:
            keys, scores, projects, is_passing = self._columns(EVICTED)
            places = choose_evicted(scores, keys, most=self._evict_most)
            gone = set(keys[places].tolist())
            self._totals.subtract(projects[places][is_passing[places]].tolist())
            yield RULES[EVICTED], sorted(gone)
        if CROWDED_OUT in self._policy.rules:
            keys, scores, projects, _ = self._columns(CROWDED_OUT)
            is_left = ~np.isin(keys, list(gone))
            places = choose_crowded(
                scores[is_left],
                keys[is_left],
                projects[is_left],
                totals=self._totals,
                most=self._policy.project_most,
            )
            yield RULES[CROWDED_OUT], sorted(keys[is_left][places].tolist())

    def _columns(
        self, name: str
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64], NDArray[np.bool_]]:
        pages = self._due[name]
        keys, scores, projects, is_passing = np.concatenate(pages, axis=1) if pages else np.empty((4, 0))
        return keys.astype(np.int64), scores, projects.astype(np.int64), is_passing.astype(np.bool_)
