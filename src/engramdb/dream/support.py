"""
What a judge holds to be the same becomes support of one statement: the part of `merge` that asks a judge.

Vectors name candidates, what two statements name rules most of them out, and the judge decides, asked both
ways. A small network errs too often for one word of it to put a memory out of sight, so the wordings bear
witness: there must be three of them, whoever joins must be the same as the best wording, as most of the
others, and as whichever statement sounds most alike. Each run has a share of time, the newest memories come
first, and the store knows which are done, so a large store is compared over several dreams.
docs/lab/0049-support.md.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from engramdb.dream.clustering import nearest_in_scope, unit_vectors
from engramdb.dream.step import Dreaming, Merge, SaveProgress
from engramdb.lifecycle.merging import may_stand_for
from engramdb.lifecycle.neighbors import JudgesPairs, as_utterance
from engramdb.lifecycle.pair_rules import exclude_each_other, may_be_same, may_settle, understood
from engramdb.store.contract import Transaction
from engramdb.text.guarded import is_guarded
from engramdb.text.specifics import specifics_of
from engramdb.values import BELIEVED, EdgeType, Memory, MemoryId, Scope, SecurityTier, Status

NEIGHBORS = 8
"""How many of the nearest a memory is compared with: 65 ms of a pack's time."""
COMPARED_SHARE = 0.4
"""How far from unrelated to equal a cosine must lie for two to be compared: 95 % of paraphrases do."""
JUDGING_SECONDS = 12.0
"""What the judge may take of one dream: some hundreds of memories that have lookalikes."""
MAX_COMPARED = 5_000
"""Memories that one dream looks at; most have nothing near them that may be the same."""
BATCH = 64
"""Memories whose neighbors are looked up together, and whose being done is noted together."""
WITNESSES = 3
"""Wordings that must agree where the judge is not certain."""
AGREEING = 0.5
"""The share of the other wordings that a member must be the same as."""
MAX_VOTERS = 4
"""Wordings that are merged already and asked besides, the latest."""
_FRAGMENT_SIGNS = frozenset("?:=()[]{}|/")
_PLAIN_WORDS = 16


def propose_support(dreaming: Dreaming) -> Iterator[Merge | SaveProgress]:
    """Yield a merge for each group that the judge holds to be one statement, as long as its time lasts."""
    judge = dreaming.judge
    if judge is None or dreaming.identity is None:
        return
    with dreaming.store.read() as tx:
        waiting = tx.dreams.uncompared(judge.name, limit=MAX_COMPARED)
    heard = Hearing(judge, until=time.monotonic() + JUDGING_SECONDS)
    for scope, keys in _batches(waiting):
        done: list[int] = []
        yield from _compare_batch(dreaming, scope, keys, heard, done)
        if done:
            yield SaveProgress(write=partial(_mark_compared, keys=done, judge=judge.name))
        if len(done) < len(keys) or dreaming.is_stopped():
            return


def _mark_compared(tx: Transaction, *, keys: Sequence[int], judge: str) -> None:
    tx.dreams.mark_compared(keys, judge)


def _batches(waiting: Sequence[tuple[int, Scope]]) -> Iterator[tuple[Scope, list[int]]]:
    """Yield the memories in batches of one scope, the scope with the newest first."""
    scopes: defaultdict[Scope, list[int]] = defaultdict(list)
    for key, scope in waiting:
        scopes[scope].append(key)
    for scope, keys in scopes.items():
        for begin in range(0, len(keys), BATCH):
            yield scope, keys[begin : begin + BATCH]


# What the judge says, each pair asked once.


class Hearing(Struct):
    """What the judge has said in this run, and until when it may be asked."""

    judge: JudgesPairs
    until: float
    said: dict[frozenset[MemoryId], bool] = field(default_factory=dict)
    certain: set[frozenset[MemoryId]] = field(default_factory=set)
    """Pairs that need no other witness."""
    gone: set[MemoryId] = field(default_factory=set)
    """What was merged in this run."""

    @property
    def is_over(self) -> bool:
        """Whether the time is up."""
        return time.monotonic() >= self.until

    def same_as(self, memory: Memory, others: Sequence[Memory]) -> list[Memory]:
        """Return those that the judge holds to be the same, from either side; fewer where time runs out."""
        asked = [one for one in others if _pair(memory, one) not in self.said]
        if asked:
            self._ask(memory, asked)
        return [one for one in others if self.said.get(_pair(memory, one))]

    def is_certain(self, memory: Memory, others: Sequence[Memory]) -> bool:
        """Return whether the judge needs no other witness that each of these is the same."""
        return all(_pair(memory, one) in self.certain for one in others)

    def _ask(self, memory: Memory, others: Sequence[Memory]) -> None:
        left = self.until - time.monotonic()
        said = self.judge.relate(as_utterance(memory), [as_utterance(one) for one in others], seconds=left)
        if len(said) < len(others):  # out of time, or the judge fails: what is half known decides nothing
            self.until = 0.0
        for one, judgment in zip(others, said, strict=False):
            is_same = judgment is not None and judgment.is_same
            if judgment is not None and is_same and not judgment.is_mutual:
                is_same = self._confirm(one, memory)
            self.said[_pair(memory, one)] = is_same
            if judgment is not None and is_same and judgment.is_certain:
                self.certain.add(_pair(memory, one))

    def _confirm(self, memory: Memory, other: Memory) -> bool:
        (judgment,) = self.judge.relate(as_utterance(memory), [as_utterance(other)]) or [None]
        return judgment is not None and judgment.is_same


def _pair(one: Memory, other: Memory) -> frozenset[MemoryId]:
    return frozenset((one.id, other.id))


# Who is near whom, as far as rules allow two to be one.


class Neighborhood(Struct, frozen=True):
    """A memory, what is near it, and how near all of these are to one another."""

    memories: Sequence[Memory]
    cosines: NDArray[np.float32]

    def nearest(self, memory: Memory, candidates: Sequence[Memory]) -> Memory:
        """Return whichever of some memories sounds most like one."""
        place = {one.id: number for number, one in enumerate(self.memories)}
        row = self.cosines[place[memory.id]]
        return max(candidates, key=lambda one: (float(row[place[one.id]]), one.id))


def _compare_batch(
    dreaming: Dreaming, scope: Scope, keys: Sequence[int], heard: Hearing, done: list[int]
) -> Iterator[Merge]:
    """Yield the merges of some memories with what is near them; adds the keys of those it got through to."""
    floor = dreaming.similarity_floor
    with dreaming.store.read() as tx:
        near = nearest_in_scope(
            tx,
            dreaming.identity,
            keys,
            scope=scope,
            limit=NEIGHBORS,
            min_cosine=floor + COMPARED_SHARE * (1 - floor),
        )
    for key in keys:
        found = _neighborhood(dreaming, [key, *near.get(key, ())], heard)
        if found is not None:
            yield from _merge_group(dreaming, found, heard)
            if heard.is_over:
                return
        done.append(key)


def _neighborhood(dreaming: Dreaming, keys: Sequence[int], heard: Hearing) -> Neighborhood | None:
    """Return the memory of the first key with those near it, if any of them may be the same."""
    if len(keys) == 1 or dreaming.identity is None:
        return None
    with dreaming.store.read() as tx:
        space = tx.vectors.space(dreaming.identity)
        read = tx.memories.by_keys(keys)
        placed, rows = unit_vectors(tx, space, keys) if space is not None else ([], np.zeros((0, 1)))
    order = {key: place for place, key in enumerate(placed)}
    left = [key for key in keys if key in order and key in read and read[key].id not in heard.gone]
    if not left or left[0] != keys[0]:
        return None
    vectors = rows[[order[key] for key in left]]
    found = Neighborhood([read[key] for key in left], np.asarray(vectors @ vectors.T, np.float32))
    return found if _candidates(dreaming, found.memories[0], found, heard) else None


def _candidates(dreaming: Dreaming, memory: Memory, near: Neighborhood, heard: Hearing) -> list[Memory]:
    """Return what may say the same as a memory as far as rules can tell, and may be shown to the judge."""
    left = [
        one
        for one in near.memories
        if one.id != memory.id
        and _may_compare(memory, one, is_remote=heard.judge.is_remote)
        and may_be_same(understood(memory), understood(one))
        and (may_stand_for(memory, one) or may_stand_for(one, memory))
        and not exclude_each_other(memory, one)
    ]
    if not left:
        return []
    with dreaming.store.read() as tx:
        apart = tx.dreams.split_pairs([memory.id])
        disputed = {
            end
            for edge in tx.edges.of(memory.id)
            if edge.type is EdgeType.CONTRADICTS
            for end in (edge.source, edge.target)
        }
    return [one for one in left if _pair(memory, one) not in apart and one.id not in disputed]


def _may_compare(memory: Memory, other: Memory, *, is_remote: bool) -> bool:
    """Return whether both are statements by one speaker, as well protected, and may be shown to the judge."""
    is_secret = SecurityTier.CONFIDENTIAL in (memory.security, other.security)
    is_by_one = memory.provenance.speaker == other.provenance.speaker
    are_stated = all(
        one.status in BELIEVED and may_settle(one) and not one.is_derived and not one.is_session_summary
        for one in (memory, other)
    )
    is_one_tier = memory.security is other.security
    return are_stated and is_by_one and is_one_tier and not (is_secret and is_remote)


# Which of them become one.


def _merge_group(dreaming: Dreaming, near: Neighborhood, heard: Hearing) -> Iterator[Merge]:
    """Yield the merge of a memory with those that the judge holds to be the same, into the best wording."""
    memory = near.memories[0]
    group = [memory, *heard.same_as(memory, _candidates(dreaming, memory, near, heard))]
    if len(group) == 1:
        return
    agreeing = {one.id: heard.same_as(one, [other for other in group if other is not one]) for one in group}
    keeper = min(group, key=lambda one: (-len(agreeing[one.id]), *_wording_rank(one)))
    keeper = min((keeper, *agreeing[keeper.id]), key=_precedence)
    members = [
        one
        for one in agreeing[keeper.id]
        if may_stand_for(keeper, one)
        and (heard.is_certain(keeper, [one]) or _may_go(keeper, one))
        and _sounds_right(dreaming, one, near, heard)
    ]
    losers = _agreed(dreaming, keeper, members, heard)
    if heard.is_over or not _are_enough(dreaming, keeper, losers, heard):
        return
    heard.gone.update(one.id for one in losers)
    yield Merge(keep=keeper, lose=tuple(losers), reason=f"the same, says {heard.judge.name}")


def _may_go(keeper: Memory, loser: Memory) -> bool:
    """Return whether a judge that may err may let one memory hide another: no rule, health by health."""
    return not loser.is_rule and (is_guarded(keeper) or not is_guarded(loser))


def _sounds_right(dreaming: Dreaming, memory: Memory, near: Neighborhood, heard: Hearing) -> bool:
    """Return whether the one that sounds most like it is the same: where that one is not, none is."""
    candidates = _candidates(dreaming, memory, near, heard)
    return bool(candidates) and bool(heard.same_as(memory, [near.nearest(memory, candidates)]))


def _precedence(memory: Memory) -> tuple[bool, bool, float, bool]:
    """Return what goes before any wording: what is pinned, undisputed, from a better source."""
    trust = memory.provenance.source.trust
    return (not memory.pinned, memory.status is not Status.ACTIVE, -trust, not is_guarded(memory))


def _wording_rank(memory: Memory) -> tuple[object, ...]:
    """Return what to sort by so that the best wording comes first: it names most, and is a plain sentence."""
    text = memory.told
    named = specifics_of(text)
    count = len(named.numbers) + len(named.names) + len(named.days)
    is_plain = not _FRAGMENT_SIGNS & set(text) and len(text.split()) <= _PLAIN_WORDS
    is_sentence = text[:1].isupper() and text.rstrip()[-1:] in (".", "!")
    return (*_precedence(memory), -count, not is_plain, not is_sentence, -memory.evidence_count, memory.id)


def _agreed(dreaming: Dreaming, keeper: Memory, members: Sequence[Memory], heard: Hearing) -> list[Memory]:
    """Return the members that are the same as most of the others, those merged before among them."""
    if not members:
        return []
    with dreaming.store.read() as tx:
        before = [
            tx.memories.get(one, scope=keeper.scope) for one in keeper.provenance.wordings[-MAX_VOTERS:]
        ]
    voters = [one for one in before if one is not None and may_settle(one)]
    left = list(members)
    while left:
        shares = {one.id: _share(one, [keeper, *voters, *left], heard) for one in left}
        weakest = min(left, key=lambda one: (shares[one.id], one.id))
        if shares[weakest.id] >= AGREEING:
            break
        left.remove(weakest)
    return left


def _share(memory: Memory, group: Sequence[Memory], heard: Hearing) -> float:
    others = [one for one in group if one.id != memory.id]
    return len(heard.same_as(memory, others)) / len(others)


def _are_enough(dreaming: Dreaming, keeper: Memory, losers: Sequence[Memory], heard: Hearing) -> bool:
    """Return whether so many say it that the policy merges them, and that the judge can be believed."""
    wordings = 1 + len(keeper.provenance.wordings) + len(losers)
    least = dreaming.policy.dream.merge_least
    if not heard.is_certain(keeper, losers):
        least = max(least, WITNESSES)
    return bool(losers) and wordings >= least
