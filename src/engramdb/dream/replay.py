"""The step `replay`: strengthen what is used and fades."""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from engramdb.dream.clustering import nearest_in_scope
from engramdb.dream.gaps import ask_question
from engramdb.dream.step import AddLink, Adjust, Dreaming, Proposal, SideWrite
from engramdb.lifecycle.curves import retention
from engramdb.lifecycle.pair_rules import exclude_each_other
from engramdb.lifecycle.questions import interference_question
from engramdb.lifecycle.transitions import MemoryWriter
from engramdb.store.contract import Transaction
from engramdb.values import Action, Actor, ActorKind, EdgeType, Memory, Status
from engramdb.values.population import Population, to_microseconds

REPLAY_RECALLS = 3
"""What was recalled so often is worth keeping"""
REPLAY_FADING_BELOW = 0.7
"""and needs replaying once its retention has fallen below this."""
REPLAY_HOURS = 24.0
"""A memory rests so long between two replays."""
REPLAY_STRENGTH = 0.2
"""What a replay adds to strength, and at least to stability,"""
MAX_REPLAY_STRENGTH = 2.0
"""and up to where."""
REPLAY_AROUSAL = 0.6
"""A memory that moved more than this is chosen twice as readily."""
INSIGHT_LINKS = 3
"""So many new links at once are an insight."""
INSIGHT_AROUSAL = 0.1
"""What each of them adds to the arousal of the memory that they met in,"""
MAX_INSIGHT_AROUSAL = 0.8
"""and up to where."""

# What a replay does to a memory, in numbers.

Floats = NDArray[np.float64]

SLOWER_BY = 4 / 3
"""Times as long: a rate of three quarters is a quarter slower."""
PREFERRED = 2.0
"""How many times as readily a moving memory is chosen."""

_SPECIFIC = re.compile(r"(?<![.!?]\s)(?<!\A)\b[A-Z][\w'’-]+|\b[A-Z]{2,}\w*|\b\w*\d[\w.:/-]*")
_WORD = re.compile(r"\w+")


def strengthening_changes(memory: Memory, *, max_stability: float) -> dict[str, object]:
    """Return what a replay changes in a memory: nothing where it is as strong as can be."""
    strength = min(MAX_REPLAY_STRENGTH, max(1.0, memory.strength) + REPLAY_STRENGTH)
    stability = min(max_stability, max(memory.stability + REPLAY_STRENGTH, memory.stability * SLOWER_BY))
    wanted = {"strength": max(strength, memory.strength), "stability": max(stability, memory.stability)}
    return {name: value for name, value in wanted.items() if value != getattr(memory, name)}


def replay_priority(population: Population, retention: Floats) -> Floats:
    """Return how readily each memory is chosen for a replay; 0 for those that need none."""
    is_at_risk = (population.recalls >= REPLAY_RECALLS) & (retention < REPLAY_FADING_BELOW)
    need = np.log1p(population.recalls) * (1 - retention)
    moved: Floats = np.where(population.arousal > REPLAY_AROUSAL, PREFERRED, 1.0)
    chosen: Floats = np.where(is_at_risk, need * moved, 0.0)
    return chosen


def arousal_after_insight(memory: Memory, links: int) -> float | None:
    """Return the arousal of a memory with this number of new links, or None where that is no insight."""
    if links < INSIGHT_LINKS:
        return None
    wanted = min(MAX_INSIGHT_AROUSAL, memory.affect.arousal + INSIGHT_AROUSAL * links)
    return wanted if wanted > memory.affect.arousal else None


def differ_in_a_detail(first: str, second: str) -> bool:
    """
    Return whether two statements that read alike each hold a name or number that the other lacks.

    Those are not two ways to say one thing, and a reader who is given the one may take it for the other.
    """
    one, two = _names_and_numbers(first), _names_and_numbers(second)
    words = (_word_set(first), _word_set(second))
    return bool(one - words[1]) and bool(two - words[0])


def _names_and_numbers(text: str) -> set[str]:
    return {found.casefold().rstrip(".:/-") for found in _SPECIFIC.findall(text)}


def _word_set(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(text)} | _names_and_numbers(text)


# Replay memories while no one is asking: keep what is used and fades, and connect what belongs together.
#
# A run chooses a few dozen memories and notes them first, so that an interrupted run goes on with the same
# ones and a second run soon after finds nothing left to replay. Those that came from others go first, then
# what is much used and fading, then what was never replayed, the newest first, however old it is; a moving
# memory is preferred twice as readily. Neighbors are looked for in exactly the same scope.

PAGE_ROWS = 20_000
NEIGHBORS = 8
"""How many of the nearest are compared with each replayed memory."""
REPLAY_ACTOR = Actor(name="dream.replay", kind=ActorKind.RULE)
REPLAY_REASON = "replay: much used and fading"
INSIGHT_REASON = "replay: several new links met in it"
LINK_REASON = "replay: alike and not linked yet"
CONFUSION_PRIORITY = 0.45
"""Priority of the question what tells two memories apart."""


class ReplayStep:
    """The step `replay`."""

    name = "replay"

    def propose(self, dreaming: Dreaming) -> Iterator[Proposal]:
        """Yield the choice itself, and then what replaying each of the chosen changes."""
        keys, is_new = _choose_memories(dreaming)
        if not keys:
            return
        if is_new:
            yield SideWrite(
                what="replay",
                reason="chosen to be replayed",
                write=lambda tx: tx.replays.mark(keys, at=dreaming.now),
            )
        for key in keys:
            yield from _propose_strengthening(dreaming, key)
        met: Counter[str] = Counter()
        for key, near in _nearest_neighbors(dreaming, keys).items():
            if dreaming.is_stopped():
                return
            for proposal in _propose_connections(dreaming, key, near):
                if isinstance(proposal, AddLink):
                    met.update((proposal.source.id, proposal.target.id))
                yield proposal
        for key in keys:
            yield from _propose_insight(dreaming, key, met)


def _choose_memories(dreaming: Dreaming) -> tuple[list[int], bool]:
    """Return the memories to replay, and whether the choice is new: an interrupted run keeps its own."""
    policy = dreaming.policy.insight
    with dreaming.store.read() as tx:
        resting = tx.replays.since(dreaming.now - timedelta(hours=REPLAY_HOURS), scope=dreaming.scope)
    mine = [key for key, at in resting.items() if at == dreaming.now]
    if mine:
        return mine, False
    room = policy.replay_most - len(resting)
    if room <= 0:
        return [], False
    fading = _fading_memories(dreaming, resting, room)
    with dreaming.store.read() as tx:
        received = tx.replays.received_unreplayed(limit=room, scope=dreaming.scope)
        waiting = tx.replays.unreplayed(limit=policy.replay_most, scope=dreaming.scope)
    ordered = dict.fromkeys(key for key in (*received, *fading, *waiting) if key not in resting)
    return sorted(list(ordered)[:room]), True


def _fading_memories(dreaming: Dreaming, resting: Mapping[int, datetime], room: int) -> list[int]:
    """Return the keys of memories that are much used and fading, the neediest first."""
    policy, after = dreaming.policy, 0
    best: list[tuple[float, int]] = []
    while not dreaming.is_stopped():
        with dreaming.store.read() as tx:
            page = tx.ages.page(after_key=after, limit=PAGE_ROWS, owner=dreaming.scope)
        if not len(page):
            break
        after = int(page.keys[-1])
        left = retention(page, policy.aging, to_microseconds(dreaming.now))
        ready = replay_priority(page, left) * page.has(Status.ACTIVE)
        rows = np.flatnonzero(ready > 0)
        found = [(float(ready[row]), -int(page.keys[row])) for row in rows]
        best = heapq.nlargest(room, [*best, *(one for one in found if -one[1] not in resting)])
    return [-key for _, key in best]


def _propose_strengthening(dreaming: Dreaming, key: int) -> Iterator[Proposal]:
    """Yield the gain in strength of a memory that is at risk, once a replay."""
    policy = dreaming.policy
    with dreaming.store.read() as tx:
        memory = tx.memories.by_keys([key]).get(key)
        if (
            memory is None
            or not _is_replayable(memory)
            or _was_done_in_this_run(dreaming, memory, REPLAY_REASON)
        ):
            return
        page = tx.ages.of([key])
    left = retention(page, policy.aging, to_microseconds(dreaming.now))
    if not replay_priority(page, left).any():
        return
    changes = strengthening_changes(memory, max_stability=policy.aging.stability_most)
    if changes:
        yield Adjust(memory=memory, changes=changes, reason=REPLAY_REASON)


def _nearest_neighbors(dreaming: Dreaming, keys: Sequence[int]) -> dict[int, list[int]]:
    """Return the nearest neighbors of each memory in its own scope; empty while there are no vectors."""
    with dreaming.store.read() as tx:
        memories = tx.memories.by_keys(keys)
        found: dict[int, list[int]] = {}
        for scope in dict.fromkeys(memory.scope for memory in memories.values()):
            asked = [key for key in keys if key in memories and memories[key].scope == scope]
            found |= nearest_in_scope(tx, dreaming.identity, asked, scope=scope, limit=NEIGHBORS)
    return {key: found[key] for key in keys if key in found}


def _propose_connections(dreaming: Dreaming, key: int, near: Sequence[int]) -> Iterator[Proposal]:
    """Yield new links of a memory, and questions about what it may be confused with."""
    for pair in _similar_pairs(dreaming, key, near):
        if pair.is_confusing:
            gap = interference_question(
                pair.first, pair.second, priority=CONFUSION_PRIORITY, now=dreaming.now
            )
            with dreaming.store.read() as tx:
                is_news = tx.gaps.is_news(gap)
            if is_news:
                yield ask_question(gap)
        else:
            first, second = sorted((pair.first, pair.second), key=lambda memory: memory.id)
            yield AddLink(
                source=first,
                target=second,
                type=EdgeType.SIMILAR_TO,
                weight=round(pair.similarity, 3),
                reason=LINK_REASON,
            )


def _propose_insight(dreaming: Dreaming, key: int, met: Mapping[str, int]) -> Iterator[Proposal]:
    """Yield what a memory gains in arousal when several new links met in it, once a replay."""
    with dreaming.store.read() as tx:
        memory = tx.memories.by_keys([key]).get(key)
        if (
            memory is None
            or not _is_replayable(memory)
            or _was_done_in_this_run(dreaming, memory, INSIGHT_REASON)
        ):
            return
        kept = [
            edge
            for edge in tx.edges.of(memory.id)
            if edge.type is EdgeType.SIMILAR_TO and edge.created_at == dreaming.now
        ]
    arousal = arousal_after_insight(memory, max(met.get(memory.id, 0), len(kept)))
    if arousal is not None:
        yield SideWrite(
            what="insight",
            about=(memory.id,),
            reason=INSIGHT_REASON,
            write=partial(_store_arousal, memory, arousal, dreaming.now),
        )


def _store_arousal(seen: Memory, arousal: float, now: datetime, tx: Transaction) -> bool:
    """Store how much a memory moves now; an adjustment sets no feelings."""
    memory = tx.memories.get(seen.id, scope=seen.scope)
    if memory is None or not _is_replayable(memory) or memory.affect != seen.affect:
        return False
    moved = replace(memory.affect, arousal=arousal)
    return (
        MemoryWriter(tx, REPLAY_ACTOR, now).update(memory, Action.DREAM, reason=INSIGHT_REASON, affect=moved)
        is not memory
    )


def _is_replayable(memory: Memory) -> bool:
    return memory.status is Status.ACTIVE and not memory.is_suspicious


def _was_done_in_this_run(dreaming: Dreaming, memory: Memory, reason: str) -> bool:
    """Return whether this very run has done that to a memory already, before it was interrupted."""
    before = dreaming.now - timedelta(microseconds=1)
    with dreaming.store.read() as tx:
        events = tx.history.since([memory.id], before).get(memory.id, [])
    return any(event.reason == reason for event in events)


class _Pair(Struct, frozen=True):
    """Two memories that read alike and are not linked."""

    first: Memory
    second: Memory
    similarity: float
    is_confusing: bool


def _similar_pairs(dreaming: Dreaming, key: int, near: Sequence[int]) -> list[_Pair]:
    """Return the unlinked memories of the same scope that are alike enough, the most alike first."""
    policy = dreaming.policy.insight
    with dreaming.store.read() as tx:
        memory = tx.memories.by_keys([key]).get(key)
        if memory is None or not _is_replayable(memory):
            return []
        links = tx.edges.touching([key])
        linked = {*links.sources.tolist(), *links.targets.tolist()}
        others = tx.memories.by_keys([one for one in near if one not in linked])
    found = [others[one] for one in near if one in others and _is_replayable(others[one])]
    alike = dreaming.likeness.pairwise([memory.told] * len(found), [other.told for other in found])
    pairs = [
        _Pair(
            memory,
            other,
            similarity,
            similarity >= policy.interference_above and differ_in_a_detail(memory.told, other.told),
        )
        for other, similarity in zip(found, alike, strict=True)
        if similarity > policy.replay_link_above and not exclude_each_other(memory, other)
    ]
    return sorted(pairs, key=lambda pair: (-pair.similarity, pair.second.id))
