"""
Clusters of statements around the one that they have in common.

Used by `patterns`. A cluster is a star: its core is a statement whose words all members have too, with little
besides, so what the core says is what each of them says. Chains, where the first and the last have nothing in
common, cannot arise. Statements are filed by their rarest word, and looked up there and nowhere else.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engram.dream.merging.neighbours import MOST_FILED
from engram.dream.merging.wording import supports

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from engram.dream.merging.neighbours import Scene
    from engram.dream.step import Dreaming
    from engram.values import Memory

STARS_AT_ONCE = 100
"""Clusters whose statements are read and compared together."""
MOST_EXTRA_WORDS = 2
"""What a member may say besides: a third word is as often another subject as not."""
_FEWEST_WORDS = 2


@dataclass(frozen=True, slots=True)
class Star:
    """A core and those that say what it says, by place in the scene."""

    core: int
    members: tuple[int, ...]


class Stars:
    """Who supports whom in a scene."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        counts = Counter(key for wording in scene.wordings for key in wording.bag)
        self._files: defaultdict[Hashable, list[int]] = defaultdict(list)
        self._cores: defaultdict[str, list[int]] = defaultdict(list)
        self._rarest: list[str | None] = []
        for place, wording in enumerate(scene.wordings):
            rarest = min(wording.keys, key=lambda key: (counts[key], key), default=None)
            self._rarest.append(rarest if len(wording.keys) >= _FEWEST_WORDS else None)
            if self._rarest[place] is not None:
                self._cores[str(rarest)].append(place)
            for key in wording.bag:
                self._files[self._file(place, key)].append(place)

    def members_of(self, core: int) -> list[int]:
        """Return the statements that say what the core says, without the core itself."""
        rarest = self._rarest[core]
        if rarest is None:
            return []
        beside = self._files[self._file(core, rarest)][:MOST_FILED]
        return [place for place in beside if place != core and self._supports(place, core)]

    def cores_of(self, place: int) -> list[int]:
        """Return the statements that a statement supports, itself among them."""
        found = (core for key in self._scene.wordings[place].keys for core in self._cores[key][:MOST_FILED])
        return [core for core in found if core == place or self._supports(place, core)]

    def _supports(self, place: int, core: int) -> bool:
        one, two = self._scene.outlines[place], self._scene.outlines[core]
        if (one.speaker, one.security) != (two.speaker, two.security):
            return False
        wordings = self._scene.wordings
        return supports(wordings[place], wordings[core], most_extra=MOST_EXTRA_WORDS)

    def _file(self, place: int, key: str) -> Hashable:
        return (self._scene.outlines[place].speaker, key)


def stars(scene: Scene, *, taken: frozenset[int]) -> Iterator[Star]:
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


def compared(
    scene: Scene, found: Iterator[Star], dreaming: Dreaming, *, at_least: float
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
        mine, theirs = ([read[pair[end]].content for pair in pairs] for end in (0, 1))
        near: defaultdict[int, list[tuple[float, int]]] = defaultdict(list)
        for (key, other), alike in zip(pairs, dreaming.likeness.pairwise(mine, theirs), strict=True):
            if alike >= at_least and not _contradict(read[key], read[other], dreaming):
                near[key].append((-alike, other))
        for key, members in near.items():
            yield read[key], [read[other] for _, other in sorted(members)]
        if dreaming.is_stopped():
            return


def _contradict(one: Memory, other: Memory, dreaming: Dreaming) -> bool:
    return dreaming.contradict(one, other) or dreaming.contradict(other, one)
