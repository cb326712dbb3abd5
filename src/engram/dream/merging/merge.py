"""
The step `merge`: statements that say the same in other words become one, which takes over their evidence.

Asks `neighbours` who may say the same, `wording` whether nothing would be lost, likeness whether they sound
alike too, and capture's own judgement whether they contradict. All must agree: a merged memory is out of
sight. The strongest stays, a pinned one above all; what somebody took apart stays apart.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from engram.dream.merging.clusters import Star, compared
from engram.dream.merging.neighbours import SAME_WORD_ABOVE, SAME_WORDS, Groups, other_word, scenes
from engram.dream.proposal import Merge
from engram.values import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engram.dream.merging.neighbours import Scene
    from engram.dream.proposal import Proposal
    from engram.dream.step import Dreaming
    from engram.values import Memory, MemoryId

LOST_AT_ONCE = 8
"""Memories that one proposal merges: what is written together must not hold up others."""

ONE_EVENT = timedelta(hours=12)
"""Told of moments further apart, the same words tell of two events."""


@dataclass(frozen=True, slots=True)
class MergeStep:
    """Lets one statement stand for others that say the same."""

    name: str = "merge"

    def propose(self, dreaming: Dreaming) -> Iterator[Proposal]:
        """Yield a merge for every statement that others only repeat, until there is none left."""
        before: list[Merge] = []
        for merge in _round(dreaming):
            before.append(merge)
            yield merge
        # With some gone, others may come to be compared. A rehearsal, where none goes, ends here.
        while (found := list(_round(dreaming))) and found != before:
            yield from found
            before = found


def _round(dreaming: Dreaming) -> Iterator[Merge]:
    for scene in scenes(dreaming):
        gone: set[MemoryId] = set()
        groups = Groups(scene)
        stars = _stars(scene, groups, dreaming)
        for kept, others in compared(scene, stars, dreaming, at_least=dreaming.policy.dream.merge_above):
            left = [other for other in others if other.id not in gone and may_merge(kept, other)]
            if left and kept.id not in gone:
                losers = _not_apart(kept, left, dreaming)
                gone.update(other.id for other in losers)
                yield from _in_parts(kept, losers)


def _stars(scene: Scene, groups: Groups, dreaming: Dreaming) -> Iterator[Star]:
    """Yield, strongest first, each statement that may stand for others by its words, and those others."""
    found = list(_candidates(scene, groups))
    pairs = sorted({pair for _, words in found for pair in words.values()} - {SAME_WORDS})
    alike: list[float] = []
    if pairs:
        mine, theirs = zip(*pairs, strict=True)
        alike = dreaming.likeness.pairwise(mine, theirs)
    same = {pair for pair, likeness in zip(pairs, alike, strict=True) if likeness >= SAME_WORD_ABOVE}
    for core, words in found:
        members = tuple(place for place, pair in words.items() if pair == SAME_WORDS or pair in same)
        if members:
            yield Star(core, members)


def _candidates(scene: Scene, groups: Groups) -> Iterator[tuple[int, dict[int, tuple[str, str]]]]:
    """Yield the strongest of each group, and in which word each of the weaker ones near it differs."""
    for number, group in enumerate(groups.members):
        near = [other for other in groups.beside(number) if other > number]
        others = list(itertools.chain(group[1:], *(groups.members[other] for other in near)))
        if any(scene.outlines[place].is_fresh for place in (group[0], *others)):
            words = {other: other_word(scene, group[0], other) for other in others}
            yield group[0], {other: pair for other, pair in words.items() if pair is not None}


def _not_apart(kept: Memory, others: Sequence[Memory], dreaming: Dreaming) -> list[Memory]:
    """Return those that may become one with the keeper: none where they are too few for the policy."""
    with dreaming.store.read() as tx:
        apart = tx.dreams.kept_apart([kept.id])
        before = len(tx.dreams.merges_into(kept.id))
    losers = [other for other in others if frozenset((kept.id, other.id)) not in apart]
    return losers if 1 + before + len(losers) >= dreaming.policy.dream.merge_least else []


def _in_parts(kept: Memory, losers: Sequence[Memory]) -> Iterator[Merge]:
    for begin in range(0, len(losers), LOST_AT_ONCE):
        some = tuple(losers[begin : begin + LOST_AT_ONCE])
        yield Merge(keep=kept, lose=some, reason="says the same in other words")


def may_merge(kept: Memory, lost: Memory) -> bool:
    """Say whether one may stand for the other: not for a pinned one, its own ground, or another event."""
    is_ground = kept.id in lost.provenance.episodes or lost.id in kept.provenance.episodes
    is_same_sort = kept.type is lost.type and kept.kind is lost.kind
    is_one_event = kept.kind is Kind.NOTE or abs(kept.when - lost.when) < ONE_EVENT
    return not lost.pinned and not is_ground and is_same_sort and is_one_event
