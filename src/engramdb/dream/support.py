"""
What a judge holds to be the same becomes support of one statement: the part of `merge` that asks a judge.

Vectors name candidates, what two statements name rules many of them out, and the judge decides, asked both
ways. A small network errs too often for one word of it to put a memory out of sight, so the wordings bear
witness: there must be three of them, and whoever agrees least with the others leaves, until all that are left
agree well enough. Each run has a share of time, the newest memories come first, and the store knows which are
done, so a large store is compared over several dreams. docs/lab/0049-support.md.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial

from msgspec import Struct, field

from engramdb.dream.clustering import nearest_in_scope
from engramdb.dream.step import Dreaming, Merge, SaveProgress
from engramdb.lifecycle.merging import may_stand_for
from engramdb.lifecycle.neighbors import JudgesPairs, as_utterance
from engramdb.lifecycle.pair_rules import exclude_each_other, may_be_same, may_settle, understood
from engramdb.store.contract import Transaction
from engramdb.text.guarded import is_guarded
from engramdb.text.specifics import specifics_of
from engramdb.values import BELIEVED, EdgeType, Memory, MemoryId, Scope, SecurityTier, Status
from engramdb.values.reading import PairJudgment

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
CANDIDATE_FROM = 0.3
"""From this chance of being the same a neighbor is heard;"""
AGREEING = 0.55
"""and so high must its mean chance of being the same as all others be: docs/lab/0049-support.md."""
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
        waiting = tx.dreams.uncompared(judge.name, limit=MAX_COMPARED, scope=dreaming.scope)
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
    chances: dict[frozenset[MemoryId], float] = field(default_factory=dict)
    """How likely two say the same, by the judge and by rules."""
    certain: set[frozenset[MemoryId]] = field(default_factory=set)
    """Pairs that need no other witness."""
    gone: set[MemoryId] = field(default_factory=set)
    """What was merged in this run."""

    @property
    def is_over(self) -> bool:
        """Whether the time is up."""
        return time.monotonic() >= self.until

    def same_chances(self, memory: Memory, others: Sequence[Memory]) -> list[float]:
        """Return how likely a memory says the same as each of some others; 0 where time runs out."""
        asked = [one for one in others if _pair(memory, one) not in self.chances]
        if asked:
            self._ask(memory, asked)
        return [self.chances.get(_pair(memory, one), 0.0) for one in others]

    def is_certain(self, memory: Memory, others: Sequence[Memory]) -> bool:
        """Return whether the judge needs no other witness that each of these is the same."""
        return all(_pair(memory, one) in self.certain for one in others)

    def _ask(self, memory: Memory, others: Sequence[Memory]) -> None:
        left = [one for one in others if self._may_be_same(memory, one)]
        self.chances |= {_pair(memory, one): 0.0 for one in others if one not in left}
        if not left:
            return
        seconds = self.until - time.monotonic()
        said = self.judge.relate(as_utterance(memory), [as_utterance(one) for one in left], seconds=seconds)
        if len(said) < len(left):  # out of time, or the judge fails: what is half known decides nothing
            self.until = 0.0
        for one, judgment in zip(left, said, strict=False):
            self.chances[_pair(memory, one)] = self._chance(memory, one, judgment)

    def _may_be_same(self, memory: Memory, other: Memory) -> bool:
        """Return whether rules leave it to the judge."""
        return may_be_same(understood(memory), understood(other)) and not exclude_each_other(memory, other)

    def _chance(self, memory: Memory, other: Memory, judgment: PairJudgment | None) -> float:
        if judgment is None:
            return 0.0
        chance = judgment.same
        if judgment.is_same and not judgment.is_mutual:
            chance = self._confirm(other, memory)
        if judgment.is_certain and chance >= AGREEING:
            self.certain.add(_pair(memory, other))
        return chance

    def _confirm(self, memory: Memory, other: Memory) -> float:
        (judgment,) = self.judge.relate(as_utterance(memory), [as_utterance(other)]) or [None]
        return 0.0 if judgment is None else judgment.same


def _pair(one: Memory, other: Memory) -> frozenset[MemoryId]:
    return frozenset((one.id, other.id))


# Who is near whom, as far as rules allow two to be compared.


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
        if found:
            yield from _merge_group(dreaming, found[0], found[1:], heard)
            if heard.is_over:
                return
        done.append(key)


def _neighborhood(dreaming: Dreaming, keys: Sequence[int], heard: Hearing) -> list[Memory]:
    """Return the memory of the first key and those near it that may be compared with it, if there are any."""
    if len(keys) == 1:
        return []
    with dreaming.store.read() as tx:
        read = tx.memories.by_keys(keys)
    present = [read[key] for key in keys if key in read and read[key].id not in heard.gone]
    if not present or read.get(keys[0]) is not present[0]:
        return []
    memory, near = present[0], present[1:]
    candidates = _candidates(dreaming, memory, near, heard)
    return [memory, *candidates] if candidates else []


def _candidates(dreaming: Dreaming, memory: Memory, near: Sequence[Memory], heard: Hearing) -> list[Memory]:
    """Return what may be compared with a memory: not what somebody parted from it, nor what disputes it."""
    left = [
        one
        for one in near
        if _may_compare(memory, one, is_remote=heard.judge.is_remote)
        and (may_stand_for(memory, one) or may_stand_for(one, memory))
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
    """Return whether both are statements by one speaker, both secret or neither, for the judge to see."""
    secrets = {one.security is SecurityTier.CONFIDENTIAL for one in (memory, other)}
    is_by_one = memory.provenance.speaker == other.provenance.speaker
    are_stated = all(
        one.status in BELIEVED and may_settle(one) and not one.is_derived and not one.is_session_summary
        for one in (memory, other)
    )
    return are_stated and is_by_one and len(secrets) == 1 and not (True in secrets and is_remote)


# Which of them become one.


def _merge_group(
    dreaming: Dreaming, memory: Memory, near: Sequence[Memory], heard: Hearing
) -> Iterator[Merge]:
    """Yield the merge of a memory with those that the judge holds to be the same, into the best wording."""
    chances = heard.same_chances(memory, near)
    group = [memory, *(one for one, chance in zip(near, chances, strict=True) if chance >= CANDIDATE_FROM)]
    agreed = _agreed(dreaming, group, heard)
    if memory not in agreed:
        return
    keeper = min(agreed, key=_wording_rank)
    others = [one for one in agreed if one is not keeper]
    losers = [
        one
        for one, chance in zip(others, heard.same_chances(keeper, others), strict=True)
        if chance >= CANDIDATE_FROM
        and may_stand_for(keeper, one)
        and (heard.is_certain(keeper, [one]) or _may_go(keeper, one))
    ]
    if heard.is_over or not _are_enough(dreaming, keeper, losers, heard):
        return
    heard.gone.update(one.id for one in losers)
    yield Merge(keep=keeper, lose=tuple(losers), reason=f"the same, says {heard.judge.name}")


def _may_go(keeper: Memory, loser: Memory) -> bool:
    """Return whether a judge that may err may let one memory hide another: no rule, health by health."""
    return not loser.is_rule and (is_guarded(keeper) or not is_guarded(loser))


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


def _agreed(dreaming: Dreaming, group: Sequence[Memory], heard: Hearing) -> list[Memory]:
    """Return those of a group that agree with one another, and with the wordings merged into them before."""
    with dreaming.store.read() as tx:
        before = [
            tx.memories.get(one, scope=memory.scope)
            for memory in group
            for one in memory.provenance.wordings[-MAX_VOTERS:]
        ]
    voters = [one for one in before if one is not None and may_settle(one)]
    left = list(group)
    while len(left) > 1:
        agreement = {one.id: _agreement(one, [*left, *voters], heard) for one in left}
        weakest = min(left, key=lambda one: (agreement[one.id], one.id))
        if agreement[weakest.id] >= AGREEING:
            break
        left.remove(weakest)
    return left


def _agreement(memory: Memory, group: Sequence[Memory], heard: Hearing) -> float:
    others = [one for one in group if one.id != memory.id]
    return sum(heard.same_chances(memory, others)) / len(others)


def _are_enough(dreaming: Dreaming, keeper: Memory, losers: Sequence[Memory], heard: Hearing) -> bool:
    """Return whether so many say it that the policy merges them, and that the judge can be believed."""
    wordings = 1 + len(keeper.provenance.wordings) + len(losers)
    least = dreaming.policy.dream.merge_least
    if not heard.is_certain(keeper, losers):
        least = max(least, WITNESSES)
    return bool(losers) and wordings >= least
