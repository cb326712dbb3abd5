"""
Which statements of a scope may say the same, found by what they share and never by comparing all with all.

Used by `merge` and `clusters`. A statement is filed under what must be equal for two to be one: its wording,
its relation and object, its wording but for one word. Who is filed together is compared, nobody else, so the
work grows with the store and not with its square. Measured in docs/lab/0022-dream-clusters.md.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engram.dream.merging.wording import may_be_one, read, same_subject, words_between
from engram.text.normal import normalise
from engram.values.memory import DREAMT

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from engram.dream.merging.wording import Wording
    from engram.dream.step import Dreaming
    from engram.store.contract import Outline
    from engram.values import Scope

SUMMARIES = ("session-", "compaction-")
MOST_FILED = 500
"""A file with more is left aside: what so many share says too little, and they are too many to compare."""
MOST_OTHER_WORDS = 20
"""Where more statements differ in one word alone, that word tells different things apart: brands, towns."""
SAME_WORD_ABOVE = 0.88
"""Alike enough for one word to stand for another; wife and husband are at 0.86, buy and purchase at 0.92."""
SAME_WORDS = ("", "")
"""No word differs."""
_FEWEST_FOR_ANOTHER_WORD = 3
_MOST_FOR_ANOTHER_WORD = 12


@dataclass(frozen=True, slots=True)
class Scene:
    """The statements of one scope that a dream may build on, and how each is worded."""

    scope: Scope
    outlines: Sequence[Outline]
    wordings: Sequence[Wording]
    relations: Sequence[Hashable]
    """Subject, relation and object of each, where all are known."""

    def __len__(self) -> int:
        return len(self.outlines)


def scenes(dreaming: Dreaming) -> Iterator[Scene]:
    """Yield the scopes in which something has changed, one after the other."""
    with dreaming.store.read() as tx:
        scopes = tx.dreams.fresh_scopes(since=dreaming.cursor)
    for scope in scopes:
        if dreaming.is_stopped():
            return
        with dreaming.store.read() as tx:
            found = tx.dreams.outlines(scope, since=dreaming.cursor)
        stated = [one for one in found if not is_made(one)]
        yield Scene(scope, stated, [read(one.content) for one in stated], list(map(_relation, stated)))


def is_made(outline: Outline) -> bool:
    """Say whether a memory was stated by a dream or sums up a session, and by nobody outright."""
    return (outline.extractor or "").startswith((DREAMT, *SUMMARIES))


class Groups:
    """Statements with the same wording, and which other groups may say the same."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        by_wording: defaultdict[Hashable, list[int]] = defaultdict(list)
        for place, wording in enumerate(scene.wordings):
            by_wording[scene.outlines[place].speaker, wording.signature].append(place)
        self.members = [sorted(group, key=self._strength) for group in by_wording.values()]
        self.members.sort(key=lambda group: self._strength(group[0]))
        self._related: defaultdict[Hashable, list[int]] = defaultdict(list)
        self._nearly: defaultdict[Hashable, list[int]] = defaultdict(list)
        for number, group in enumerate(self.members):
            for name in self._relations(group):
                self._related[name].append(number)
            for name in _but_for_one_word(scene.wordings[group[0]]):
                self._nearly[name].append(number)

    def beside(self, number: int) -> list[int]:
        """Return the other groups that share a relation and object, or all words but one, with a group."""
        group, found = self.members[number], set[int]()
        for name in self._relations(group):
            if len(self._related[name]) <= MOST_FILED:
                found.update(self._related[name])
        for name in _but_for_one_word(self._scene.wordings[group[0]]):
            if len(self._nearly[name]) <= MOST_OTHER_WORDS:
                found.update(self._nearly[name])
        return sorted(found - {number})

    def _relations(self, group: Sequence[int]) -> set[Hashable]:
        return {self._scene.relations[place] for place in group} - {None}

    def _strength(self, place: int) -> tuple[object, ...]:
        """Return what to sort by so that the one that should stand for others comes first: it says most."""
        one, said = self._scene.outlines[place], len(self._scene.wordings[place].keys)
        weight = (one.is_pinned, said, one.evidence, one.confidence, one.importance, one.recalls)
        return (*(-number for number in weight), one.key)


def _relation(outline: Outline) -> Hashable:
    if not (outline.subject and outline.predicate and outline.object):
        return None
    return (normalise(outline.subject), outline.predicate, normalise(outline.object))


def _but_for_one_word(wording: Wording) -> Iterator[Hashable]:
    if _FEWEST_FOR_ANOTHER_WORD <= len(wording.keys) <= _MOST_FOR_ANOTHER_WORD:
        shared = (wording.named, wording.marks, wording.past)
        yield (wording.bag, *shared)
        for word in wording.bag - wording.named:
            yield (wording.bag - {word}, *shared)


def other_word(scene: Scene, keeper: int, loser: int) -> tuple[str, str] | None:
    """
    Return the one word in which two differ, an empty pair where in none, None where they cannot be one.

    Whether that word means the same is for the likeness of words to say. Where the relation and its object
    are known to be the same, one other word is another verb for it, and fewer words lose nothing.
    """
    one, two = scene.outlines[keeper], scene.outlines[loser]
    mine, theirs = scene.wordings[keeper], scene.wordings[loser]
    if one.speaker != two.speaker and not same_subject(one.subject, two.subject):
        return None
    if mine.signature == theirs.signature:
        return SAME_WORDS
    if not may_be_one(mine, theirs):
        return None
    only_mine, only_theirs = words_between(mine, theirs)
    relation = scene.relations[keeper]
    is_related = relation is not None and relation == scene.relations[loser]
    is_told = is_related and len(only_theirs) <= min(1, len(only_mine)) and len(only_mine) <= 2
    if is_told or (not only_mine and not only_theirs and mine.order == theirs.order):
        return SAME_WORDS
    return _swapped(mine, theirs) if len(only_mine) == len(only_theirs) == 1 else None


def _swapped(mine: Wording, theirs: Wording) -> tuple[str, str] | None:
    """Return the two words that stand at the same place in what is otherwise the same."""
    places = [
        place for place, keys in enumerate(zip(mine.keys, theirs.keys, strict=True)) if len({*keys}) > 1
    ]
    if len(places) != 1 or mine.keys[places[0]].isupper():
        return None
    return mine.spelt[places[0]], theirs.spelt[places[0]]
