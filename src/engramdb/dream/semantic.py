"""The step `semantic`: lasting knowledge from many sessions, and its fading when unused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from engramdb.dream.ground import is_usable_source, scopes_to_visit, usable_statements
from engramdb.dream.step import Adjust, Dreaming, Proposal
from engramdb.lifecycle.pair_rules import contradicts
from engramdb.policy.dream import KnowledgePolicy
from engramdb.values import Layer, Memory, MemoryType, Scope, Status, TurnId
from engramdb.values.memory import SUMMED_UP
from engramdb.values.population import Population, to_microseconds

MAX_SUMMARIES = 50
"""So many summaries are looked at, the latest; the seed has 20, which is two weeks of work."""
RESTATED_ABOVE = 0.85
"""Statements more alike than this count as one fact, as in capture."""
MIN_IDLE_STRENGTH = 0.1
"""What idle periods leave of the strength of concluded knowledge at the end."""

# How much strength concluded knowledge has lost by lying idle.

_DAY = 86_400_000_000
_SMALLEST = 1e-6
"""A smaller loss is none."""


def faded_strengths(population: Population, policy: KnowledgePolicy, *, now: int) -> dict[int, float]:
    """Return the strength that each memory has left, by key, where that is less than it has now."""
    anchor = np.maximum(np.maximum(population.said, population.confirmed), population.recalled)
    period = policy.idle_days * _DAY
    due = _idle_periods(now - anchor, period) - _idle_periods(population.changed - anchor, period)
    left = population.strength * policy.idle_factor ** np.maximum(due, 0)
    left = np.maximum(left, MIN_IDLE_STRENGTH)
    is_lasting = population.is_in(Layer.SEMANTIC, Layer.PROCEDURAL) & population.has(Status.ACTIVE)
    is_concluded = is_lasting & population.derived  # what somebody stated does not weaken by lying there
    is_due = is_concluded & ~population.pinned & (population.strength - left > _SMALLEST)
    return {int(population.keys[row]): float(left[row]) for row in np.flatnonzero(is_due)}


def _idle_periods(idle: NDArray[np.int64], period: float) -> NDArray[np.float64]:
    whole: NDArray[np.float64] = np.maximum(idle, 0) // period
    return whole


# Turn what was said in many sessions into lasting knowledge, and let conclusions that no one uses fade.
#
# A fact appears in a summary when it was stated, or stated again, in the session that the summary covers.
# The memory that says it best moves to the semantic layer with its own words: nothing that is stored
# already is written again.

_PASSING = frozenset({Layer.WORKING, Layer.EPISODIC})
_AGED_PAGE = 20_000


class FactSessions(Struct, frozen=True):
    """A fact, and the summed-up sessions that it was stated in."""

    memory: Memory
    sessions: frozenset[str]


class SemanticStep:
    """Facts of many sessions become knowledge; idle knowledge loses strength."""

    name = "semantic"

    def propose(self, dreaming: Dreaming) -> Iterator[Proposal]:
        """Yield the facts to move to the semantic layer, then what idle knowledge has lost."""
        for scope in scopes_to_visit(dreaming, changed=True):
            yield from _propose_lasting(dreaming, scope)
        yield from _propose_fading(dreaming)


def _propose_lasting(dreaming: Dreaming, scope: Scope) -> Iterator[Adjust]:
    policy = dreaming.policy.knowledge
    sessions, turns = _summarized_sessions(dreaming, scope)
    if len(sessions) < policy.summaries_least:
        return
    stated = list(_facts_of_sessions(dreaming, scope, sessions, turns))
    for group in _group_similar(stated, dreaming):
        heard = frozenset[str]().union(*(one.sessions for one in group))
        if len(heard) < policy.summaries_least or any(one.memory.layer not in _PASSING for one in group):
            continue
        movable = [one for one in group if not one.memory.layer_held]
        if movable:
            best = min(movable, key=_best_first)
            yield Adjust(
                memory=best.memory,
                changes={"layer": Layer.SEMANTIC},
                reason=f"stated in {len(heard)} sessions that were summed up",
            )


def _summarized_sessions(dreaming: Dreaming, scope: Scope) -> tuple[set[str], dict[TurnId, str]]:
    """Return the latest sessions that have a summary, and the session of each turn that one covers."""
    with dreaming.store.read() as tx:
        made = [one.memory for one in tx.dream_reads.derived_by(SUMMED_UP, scope=scope)]
    found = [one for one in made if is_usable_source(one) and one.provenance.session is not None]
    latest = dict.fromkeys(memory.provenance.session for memory in reversed(found))
    sessions = {one for one in list(latest)[:MAX_SUMMARIES] if one is not None}
    turns = {
        turn: memory.provenance.session
        for memory in found
        if memory.provenance.session in sessions
        for turn in memory.provenance.turns
    }
    return sessions, turns


def _facts_of_sessions(
    dreaming: Dreaming, scope: Scope, sessions: set[str], turns: dict[TurnId, str]
) -> Iterator[FactSessions]:
    """Yield the facts of a scope that were stated in one of these sessions."""
    for _, memory in usable_statements(dreaming, scope):
        if memory.type is not MemoryType.FACT:
            continue
        heard = {turns[turn] for turn in memory.provenance.turns if turn in turns}
        heard |= {memory.provenance.session or ""} & sessions
        if heard:
            yield FactSessions(memory, frozenset(heard))


def _group_similar(stated: Sequence[FactSessions], dreaming: Dreaming) -> list[list[FactSessions]]:
    """Return the facts in groups that say the same; each joins the first group whose first it is like."""
    if not stated:
        return []
    likeness, above = dreaming.likeness, RESTATED_ABOVE
    rows = likeness.vectors([one.memory.told for one in stated])
    firsts = np.empty((len(stated), rows.shape[1]), np.float32)
    groups: list[list[FactSessions]] = []
    for one, row in zip(stated, rows, strict=True):
        near = likeness.similarity(firsts[: len(groups)] @ row)
        fitting = [int(place) for place in np.flatnonzero(near >= above)]
        same = next((place for place in fitting if _says_same(groups[place][0], one, dreaming)), None)
        if same is None:
            firsts[len(groups)] = row
            groups.append([one])
        else:
            groups[same].append(one)
    return groups


def _says_same(one: FactSessions, other: FactSessions, dreaming: Dreaming) -> bool:
    (alike,) = dreaming.likeness.pairwise([one.memory.told], [other.memory.told])
    is_near = alike >= RESTATED_ABOVE
    return is_near and not contradicts(other.memory, one.memory)


def _best_first(one: FactSessions) -> tuple[float, float, str]:
    return -len(one.sessions), -one.memory.confidence, one.memory.id


def _propose_fading(dreaming: Dreaming) -> Iterator[Adjust]:
    policy, now = dreaming.policy.knowledge, to_microseconds(dreaming.now)
    after = 0
    while True:
        with dreaming.store.read() as tx:
            population = tx.ages.page(after_key=after, limit=_AGED_PAGE, owner=dreaming.scope)
            left = faded_strengths(population, policy, now=now)
            memories = tx.memories.by_keys(list(left))
        for key in sorted(memories):
            yield Adjust(
                memory=memories[key], changes={"strength": left[key]}, reason="not used for a whole period"
            )
        if len(population) < _AGED_PAGE:
            return
        after = int(population.keys[-1])
