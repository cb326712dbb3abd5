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

from engramdb.dream.clustering import nearest
from engramdb.dream.gaps import INJECTION, asking, interference
from engramdb.dream.proposals import AddLink, Adjust, Proposal, SideWrite
from engramdb.dream.step import Dreaming
from engramdb.lifecycle.curves import retention
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


def strengthened(memory: Memory, *, stability_most: float) -> dict[str, object]:
    """Return what a replay changes in a memory: nothing where it is as strong as can be."""
    strength = min(MAX_REPLAY_STRENGTH, max(1.0, memory.strength) + REPLAY_STRENGTH)
    stability = min(stability_most, max(memory.stability + REPLAY_STRENGTH, memory.stability * SLOWER_BY))
    wanted = {"strength": max(strength, memory.strength), "stability": max(stability, memory.stability)}
    return {name: value for name, value in wanted.items() if value != getattr(memory, name)}


def readiness(population: Population, retention: Floats) -> Floats:
    """Return how readily each memory is chosen for a replay; 0 for those that need none."""
    is_at_risk = (population.recalls >= REPLAY_RECALLS) & (retention < REPLAY_FADING_BELOW)
    need = np.log1p(population.recalls) * (1 - retention)
    moved: Floats = np.where(population.arousal > REPLAY_AROUSAL, PREFERRED, 1.0)
    chosen: Floats = np.where(is_at_risk, need * moved, 0.0)
    return chosen


def moved_by(memory: Memory, links: int) -> float | None:
    """Return the arousal of a memory that so many new links met in, or None where that is no insight."""
    if links < INSIGHT_LINKS:
        return None
    wanted = min(MAX_INSIGHT_AROUSAL, memory.affect.arousal + INSIGHT_AROUSAL * links)
    return wanted if wanted > memory.affect.arousal else None


def differ_in_a_detail(first: str, second: str) -> bool:
    """
    Say whether two statements that read alike each hold a name or number that the other lacks.

    Those are not two ways to say one thing, and a reader who is given the one may take it for the other.
    """
    one, two = _specifics(first), _specifics(second)
    words = (_words(first), _words(second))
    return bool(one - words[1]) and bool(two - words[0])


def _specifics(text: str) -> set[str]:
    return {found.casefold().rstrip(".:/-") for found in _SPECIFIC.findall(text)}


def _words(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(text)} | _specifics(text)


# Replay memories while nobody is asking: keep what is used and fades, and connect what belongs together.
#
# A step of the dream. A run chooses a few dozen memories and notes them first, so that an interrupted run
# goes
# on with the same ones and a second run soon after finds nobody left to replay. Those that came from others
# go
# first, then what is much used and fading, then what is new; a moving memory is preferred twice as readily.
# Neighbours are looked for in exactly the same scope.

PAGE_ROWS = 20_000
NEIGHBOURS = 8
"""So many of the nearest are compared with each replayed memory."""
REPLAYER = Actor(name="dream.replay", kind=ActorKind.RULE)
REPLAYED = "replay: much used and fading"
INSIGHT = "replay: several new links met in it"
LINKED = "replay: alike and not linked yet"
CONFUSING = 0.45
"""Priority of the question what tells two memories apart."""


class ReplayStep:
    """The step `replay`."""

    name = "replay"

    def propose(self, dreaming: Dreaming) -> Iterator[Proposal]:
        """Yield the choice itself, and then what replaying each of the chosen changes."""
        keys, is_new = _chosen(dreaming)
        if not keys:
            return
        if is_new:
            yield SideWrite(
                what="replay",
                reason="chosen to be replayed",
                write=lambda tx: tx.replays.mark(keys, at=dreaming.now),
            )
        for key in keys:
            yield from _strengthen(dreaming, key)
        met: Counter[str] = Counter()
        for key, near in _neighbours(dreaming, keys).items():
            if dreaming.is_stopped():
                return
            for proposal in _connect(dreaming, key, near):
                if isinstance(proposal, AddLink):
                    met.update((proposal.source.id, proposal.target.id))
                yield proposal
        for key in keys:
            yield from _insight(dreaming, key, met)


def _chosen(dreaming: Dreaming) -> tuple[list[int], bool]:
    """Return who is replayed now, and whether that is news: an interrupted run keeps to its choice."""
    policy = dreaming.policy.insight
    with dreaming.store.read() as tx:
        resting = tx.replays.since(dreaming.now - timedelta(hours=REPLAY_HOURS))
    mine = [key for key, at in resting.items() if at == dreaming.now]
    if mine:
        return mine, False
    room = policy.replay_most - len(resting)
    if room <= 0:
        return [], False
    fading = _fading(dreaming, resting, room)
    with dreaming.store.read() as tx:
        received = tx.replays.received(limit=room)
        since = dreaming.since or dreaming.now - timedelta(hours=REPLAY_HOURS)
        fresh = tx.replays.fresh(since=since, limit=policy.replay_most)
    ordered = dict.fromkeys(key for key in (*received, *fading, *fresh) if key not in resting)
    return sorted(list(ordered)[:room]), True


def _fading(dreaming: Dreaming, resting: Mapping[int, datetime], room: int) -> list[int]:
    """Return the keys of what is much used and fading, who needs it most first."""
    policy, after = dreaming.policy, 0
    best: list[tuple[float, int]] = []
    while not dreaming.is_stopped():
        with dreaming.store.read() as tx:
            page = tx.ages.page(after_key=after, limit=PAGE_ROWS)
        if not len(page):
            break
        after = int(page.keys[-1])
        left = retention(page, policy.aging, to_microseconds(dreaming.now))
        ready = readiness(page, left) * page.has(Status.ACTIVE)
        rows = np.flatnonzero(ready > 0)
        found = [(float(ready[row]), -int(page.keys[row])) for row in rows]
        best = heapq.nlargest(room, [*best, *(one for one in found if -one[1] not in resting)])
    return [-key for _, key in best]


def _strengthen(dreaming: Dreaming, key: int) -> Iterator[Proposal]:
    """Yield the gain in strength of a memory that is at risk, once a replay."""
    policy = dreaming.policy
    with dreaming.store.read() as tx:
        memory = tx.memories.by_keys([key]).get(key)
        if memory is None or not _may_replay(memory) or _happened(dreaming, memory, REPLAYED):
            return
        page = tx.ages.of([key])
    left = retention(page, policy.aging, to_microseconds(dreaming.now))
    if not readiness(page, left).any():
        return
    changes = strengthened(memory, stability_most=policy.aging.stability_most)
    if changes:
        yield Adjust(memory=memory, changes=changes, reason=REPLAYED)


def _neighbours(dreaming: Dreaming, keys: Sequence[int]) -> dict[int, list[int]]:
    """Return who lies nearest to each memory in its own scope; empty while there are no vectors."""
    with dreaming.store.read() as tx:
        memories = tx.memories.by_keys(keys)
        found: dict[int, list[int]] = {}
        for scope in dict.fromkeys(memory.scope for memory in memories.values()):
            asked = [key for key in keys if key in memories and memories[key].scope == scope]
            found |= nearest(tx, dreaming.identity, asked, scope=scope, limit=NEIGHBOURS)
    return {key: found[key] for key in keys if key in found}


def _connect(dreaming: Dreaming, key: int, near: Sequence[int]) -> Iterator[Proposal]:
    """Yield new links of a memory, and questions about what it may be confused with."""
    for pair in _pairs(dreaming, key, near):
        if pair.is_confusing:
            gap = interference(pair.first, pair.second, priority=CONFUSING, now=dreaming.now)
            with dreaming.store.read() as tx:
                is_news = tx.gaps.is_news(gap)
            if is_news:
                yield asking(gap)
        else:
            first, second = sorted((pair.first, pair.second), key=lambda memory: memory.id)
            yield AddLink(
                source=first,
                target=second,
                type=EdgeType.SIMILAR_TO,
                weight=round(pair.similarity, 3),
                reason=LINKED,
            )


def _insight(dreaming: Dreaming, key: int, met: Mapping[str, int]) -> Iterator[Proposal]:
    """Yield what a memory gains in arousal when several new links met in it, once a replay."""
    with dreaming.store.read() as tx:
        memory = tx.memories.by_keys([key]).get(key)
        if memory is None or not _may_replay(memory) or _happened(dreaming, memory, INSIGHT):
            return
        kept = [
            edge
            for edge in tx.edges.of(memory.id)
            if edge.type is EdgeType.SIMILAR_TO and edge.created_at == dreaming.now
        ]
    arousal = moved_by(memory, max(met.get(memory.id, 0), len(kept)))
    if arousal is not None:
        yield SideWrite(
            what="insight",
            about=(memory.id,),
            reason=INSIGHT,
            write=partial(_move, memory, arousal, dreaming.now),
        )


def _move(seen: Memory, arousal: float, now: datetime, tx: Transaction) -> bool:
    """Store how much a memory moves now; an adjustment sets no feelings."""
    memory = tx.memories.get(seen.id, scope=seen.scope)
    if memory is None or not _may_replay(memory) or memory.affect != seen.affect:
        return False
    moved = replace(memory.affect, arousal=arousal)
    return (
        MemoryWriter(tx, REPLAYER, now).update(memory, Action.DREAM, reason=INSIGHT, affect=moved)
        is not memory
    )


def _may_replay(memory: Memory) -> bool:
    return memory.status is Status.ACTIVE and INJECTION not in memory.flags


def _happened(dreaming: Dreaming, memory: Memory, reason: str) -> bool:
    """Say whether this very run has done that to a memory already, before it was interrupted."""
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


def _pairs(dreaming: Dreaming, key: int, near: Sequence[int]) -> list[_Pair]:
    """Return the unlinked memories of the same scope that are alike enough, the most alike first."""
    policy = dreaming.policy.insight
    with dreaming.store.read() as tx:
        memory = tx.memories.by_keys([key]).get(key)
        if memory is None or not _may_replay(memory):
            return []
        links = tx.edges.touching([key])
        linked = {*links.sources.tolist(), *links.targets.tolist()}
        others = tx.memories.by_keys([one for one in near if one not in linked])
    found = [others[one] for one in near if one in others and _may_replay(others[one])]
    alike = dreaming.likeness.pairwise([memory.content] * len(found), [other.content for other in found])
    pairs = [
        _Pair(
            memory,
            other,
            similarity,
            similarity >= policy.interference_above and differ_in_a_detail(memory.content, other.content),
        )
        for other, similarity in zip(found, alike, strict=True)
        if similarity > policy.replay_link_above and not _conflict(dreaming, memory, other)
    ]
    return sorted(pairs, key=lambda pair: (-pair.similarity, pair.second.id))


def _conflict(dreaming: Dreaming, first: Memory, second: Memory) -> bool:
    """Say whether two statements exclude each other, which is for another step to settle."""
    return dreaming.contradict(first, second) or dreaming.contradict(second, first)
