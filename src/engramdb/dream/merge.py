"""The step `merge`: statements that say the same become one, here as far as their words tell."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence

from msgspec import Struct

from engramdb.dream.neighbors import (
    MAX_BUCKET,
    SAME_WORD_ABOVE,
    SAME_WORDS,
    ScopeStatements,
    WordingGroups,
    changed_scopes,
    differing_word,
    is_supported_by,
)
from engramdb.dream.step import Dreaming, Merge, Proposal
from engramdb.dream.support import propose_support
from engramdb.lifecycle.merging import is_other_event
from engramdb.lifecycle.pair_rules import exclude_each_other, name_same_literals
from engramdb.values import Memory, MemoryId

# Clusters of statements around the one that they have in common.
#
# A cluster is a star: its core is a statement whose words all members have too, with little besides, so
# what the core says is what each of them says. Chains, where the first and the last have nothing in common,
# cannot arise. Statements are filed by their rarest word, and looked up there and nowhere else.

STARS_AT_ONCE = 100
"""Clusters whose statements are read and compared together."""
MAX_EXTRA_WORDS = 2
"""What a member may say besides: a third word is as often another subject as not."""
_MIN_WORDS = 2


class Star(Struct, frozen=True):
    """A core and those that say what it says, by place in the scene."""

    core: int
    members: tuple[int, ...]


class Stars:
    """Which statement supports which in a scope, filed by word and length: a member says little more."""

    def __init__(self, scene: ScopeStatements) -> None:
        self._scene = scene
        counts = Counter(key for wording in scene.wordings for key in wording.bag)
        self._files: defaultdict[Hashable, list[int]] = defaultdict(list)
        self._cores: defaultdict[Hashable, list[int]] = defaultdict(list)
        self._rarest: list[str | None] = []
        for place, wording in enumerate(scene.wordings):
            rarest = min(wording.keys, key=lambda key: (counts[key], key), default=None)
            self._rarest.append(rarest if len(wording.keys) >= _MIN_WORDS else None)
            if self._rarest[place] is not None:
                self._cores[rarest, len(wording.keys)].append(place)
            for key in wording.bag:
                self._files[self._file(place, key, len(wording.keys))].append(place)

    def members_of(self, core: int) -> list[int]:
        """Return the statements that say what the core says, without the core itself."""
        rarest, least = self._rarest[core], len(self._scene.wordings[core].keys)
        if rarest is None:
            return []
        beside = [
            place
            for length in range(least, least + MAX_EXTRA_WORDS + 1)
            for place in self._files.get(self._file(core, rarest, length), ())[:MAX_BUCKET]
        ]
        return sorted(place for place in beside if place != core and self._supports(place, core))

    def cores_of(self, place: int) -> list[int]:
        """Return the statements that a statement supports, itself among them."""
        most = len(self._scene.wordings[place].keys)
        found = (
            core
            for key in self._scene.wordings[place].keys
            for length in range(most - MAX_EXTRA_WORDS, most + 1)
            for core in self._cores.get((key, length), ())[:MAX_BUCKET]
        )
        return [core for core in found if core == place or self._supports(place, core)]

    def _supports(self, place: int, core: int) -> bool:
        wordings, outlines = self._scene.wordings, self._scene.outlines
        if not is_supported_by(wordings[place], wordings[core], max_extra_words=MAX_EXTRA_WORDS):
            return False
        one, two = outlines[place], outlines[core]
        return (one.speaker, one.security) == (two.speaker, two.security)

    def _file(self, place: int, key: str, length: int) -> Hashable:
        return (self._scene.outlines[place].speaker, key, length)


def find_stars(scene: ScopeStatements, *, taken: frozenset[int]) -> Iterator[Star]:
    """
    Yield each core that something fresh belongs to, with all who support it; the widest come first.

    A statement may appear in several; what is `taken` is a member of something already and appears in none.
    """
    found = Stars(scene)
    fresh = [place for place, one in enumerate(scene.outlines) if one.is_fresh]
    touched = {core for place in fresh for core in found.cores_of(place)} - taken
    members = {core: [one for one in found.members_of(core) if one not in taken] for core in touched}
    for core in sorted(touched, key=lambda core: (-len(members[core]), len(scene.wordings[core].keys), core)):
        if members[core]:
            yield Star(core, tuple(members[core]))


def similar_stars(
    scene: ScopeStatements, found: Iterator[Star], dreaming: Dreaming, *, at_least: float
) -> Iterator[tuple[Memory, list[Memory]]]:
    """
    Yield the core of each star and those members that sound alike enough and do not contradict it.

    The nearest come first. Some stars at a time are read and compared together.
    """
    while some := list(itertools.islice(found, STARS_AT_ONCE)):
        keys = [[scene.outlines[place].key for place in (one.core, *one.members)] for one in some]
        with dreaming.store.read() as tx:
            read = tx.memories.by_keys(list(itertools.chain(*keys)))
        pairs = [(key, other) for key, *others in keys for other in others if key in read and other in read]
        mine, theirs = ([read[pair[end]].told for pair in pairs] for end in (0, 1))
        near: defaultdict[int, list[tuple[float, int]]] = defaultdict(list)
        for (key, other), alike in zip(pairs, dreaming.likeness.pairwise(mine, theirs), strict=True):
            one, two = read[key], read[other]
            may_be_one = name_same_literals(one.told, two.told) and not exclude_each_other(one, two)
            if alike >= at_least and may_be_one:
                near[key].append((-alike, other))
        for key, members in near.items():
            yield read[key], [read[other] for _, other in sorted(members)]
        if dreaming.is_stopped():
            return


# The step `merge`: statements that say the same in other words become one, which takes over their evidence.
#
# `neighbors` finds candidates; wording must show that nothing would be lost, similarity that they sound
# alike too, and capture's own judgment whether they contradict. All must agree: a merged memory is out of
# sight. The strongest stays, a pinned one above all; what someone took apart stays apart.

MERGED_PER_WRITE = 8
"""Memories that one proposal merges: what is written together must not hold up others."""


class MergeStep(Struct, frozen=True):
    """Lets one statement stand for others that say the same."""

    name: str = "merge"

    def propose(self, dreaming: Dreaming) -> Iterator[Proposal]:
        """Yield a merge for every statement that others only repeat, by their words, then by a judge."""
        before: list[Merge] = []
        for merge in _merge_round(dreaming):
            before.append(merge)
            yield merge
        # With some gone, others may come to be compared. A rehearsal, where none goes, ends here.
        while (found := list(_merge_round(dreaming))) and found != before:
            yield from found
            before = found
        yield from propose_support(dreaming)


def _merge_round(dreaming: Dreaming) -> Iterator[Merge]:
    for scene in changed_scopes(dreaming):
        gone: set[MemoryId] = set()
        groups = WordingGroups(scene)
        stars = _candidate_stars(scene, groups, dreaming)
        for kept, others in similar_stars(scene, stars, dreaming, at_least=dreaming.policy.dream.merge_above):
            left = [other for other in others if other.id not in gone and may_merge(kept, other)]
            if left and kept.id not in gone:
                losers = _mergeable(kept, left, dreaming)
                gone.update(other.id for other in losers)
                yield from _split_merge(kept, losers)


def _candidate_stars(scene: ScopeStatements, groups: WordingGroups, dreaming: Dreaming) -> Iterator[Star]:
    """Yield, strongest first, each statement that may stand for others by its words, and those others."""
    found = list(_strongest_with_weaker(scene, groups))
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


def _strongest_with_weaker(
    scene: ScopeStatements, groups: WordingGroups
) -> Iterator[tuple[int, dict[int, tuple[str, str]]]]:
    """Yield the strongest of each group, and in which word each of the weaker ones near it differs."""
    for number, group in enumerate(groups.members):
        near = [other for other in groups.beside(number) if other > number]
        others = list(itertools.chain(group[1:], *(groups.members[other] for other in near)))
        if any(scene.outlines[place].is_fresh for place in (group[0], *others)):
            words = {other: differing_word(scene, group[0], other) for other in others}
            yield group[0], {other: pair for other, pair in words.items() if pair is not None}


def _mergeable(kept: Memory, others: Sequence[Memory], dreaming: Dreaming) -> list[Memory]:
    """Return those that may become one with the keeper: none where they are too few for the policy."""
    with dreaming.store.read() as tx:
        apart = tx.dreams.split_pairs([kept.id])
        before = len(tx.dreams.merges_into(kept.id))
    losers = [other for other in others if frozenset((kept.id, other.id)) not in apart]
    return losers if 1 + before + len(losers) >= dreaming.policy.dream.merge_least else []


def _split_merge(kept: Memory, losers: Sequence[Memory]) -> Iterator[Merge]:
    for begin in range(0, len(losers), MERGED_PER_WRITE):
        some = tuple(losers[begin : begin + MERGED_PER_WRITE])
        yield Merge(keep=kept, lose=some, reason="says the same in other words")


def may_merge(kept: Memory, lost: Memory) -> bool:
    """Return whether one may stand for the other by words alone: of one sort, kind and day, no ground."""
    is_ground = kept.is_derived and lost.id in kept.provenance.episodes
    is_ground = is_ground or (lost.is_derived and kept.id in lost.provenance.episodes)
    is_same_sort = kept.type is lost.type and kept.kind is lost.kind
    is_same_time = kept.days_meant == lost.days_meant and not is_other_event(kept, lost)
    return not lost.pinned and not is_ground and is_same_sort and is_same_time
