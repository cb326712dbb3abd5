"""Candidates for merging, found by what they share instead of comparing all with all."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence

from msgspec import Struct

from engramdb.dream.step import Dreaming
from engramdb.erasable_cache import cached
from engramdb.store.contract import Outline
from engramdb.text.normalize import lazy, normalize_text
from engramdb.text.specifics import SPELLED
from engramdb.text.technologies import technology_class
from engramdb.text.terms import STOP_WORDS, terms
from engramdb.values import Scope
from engramdb.values.memory import DREAMT, SUMMED_UP

# What a statement says, without how it says it: the words that count, and what must agree before two are
# one.
#
# Sounding alike is no ground to lose a statement ("has a dog", "has a cat": docs/lab/0010-calibration.md),
# so here words decide: names, numbers, negation, mood, tense, whose it is, and what comes before what.
# Where it cannot tell, two statements differ.

_WORD = lazy(r"[^\W_]+(?:['’.+#][^\W_]*)*")
_NEGATION = lazy(
    r"\b(?:not|no|never|without|neither|nor|none|nothing|nobody|hardly|cannot|stopped|quit|refuses?|nicht|kein\w*|"
    r"nie|pas|jamais|nunca|ни|не|нет)\b|n['’]t\b|不|没|ない|ません",
    re.IGNORECASE,
)
_OWNED = lazy(r"\b(?:my|our|your|his|her|their|its|[^\W_]+['’]s)\s+([^\W_]+)", re.IGNORECASE)


def _word_set(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


_MOODS = _word_set(
    """
    want wants wanted wish wishes hope hopes hoping plan plans planning might may could would should must if
    unless until till once maybe perhaps probably possibly consider considering think thinks thought believe
    guess try tries trying used formerly previously was were had did will going soon next last before after
    since during while only except but instead rather usually generally normally mostly often sometimes
    rarely seldom almost nearly again need needs start starting begin beginning can able allowed supposed
    said says ask asked asks told tell request requested why how when
    """
)
"""Words that change what a statement claims, so that both must have them or neither."""
_EMPTY = _word_set(
    """
    really very quite just also still too definitely absolutely honestly personally actually basically
    simply totally truly certainly surely indeed always much lot lots bit please thing things way stuff kind
    sort user users i own owns currently presently nowadays
    """
)
"""Words that add nothing: intensity, politeness, and the one who speaks."""
_WAYS = _word_set("by from for against as with to into onto towards via")
_BECAME = _word_set("moved relocated switched changed migrated joined adopted started upgraded")
"""Past forms that tell what holds now."""
_CLASSES = {
    "LIKE": "like likes love loves enjoy enjoys adore adores fond fan",
    "PREFER": "prefer prefers preferred preference preferences favour favours favor favors favourite",
    "USE": "use uses using utilise utilises utilize utilizes",
    "LIVE": "live lives living reside resides residing based home",
    "WORK": "work works working employed",
}
_CLASS_OF = {word: name for name, words in _CLASSES.items() for word in words.split()}
_STOPS = STOP_WORDS - {"like", "over", "under", "up", "down", "off", "out", "against", "more", "most", "than"}
_SHORTEST_PAST = 5
_MOOD, _NAME, _PAST, _WAY = "mood", "name", "past", "way"


class StatementWording(Struct, frozen=True):
    """The words of a statement that count."""

    keys: tuple[str, ...]
    """In their order, each once: stems, numbers as digits, verbs that mean the same as one word."""
    spelled: tuple[str, ...]
    """The same as they were written."""
    named: frozenset[str]
    """Those among them that are names, technologies, numbers, or someone's own."""
    marks: frozenset[str]
    """Negation and words of mood."""
    past: frozenset[str]
    """Words in a past form."""
    ways: tuple[str, ...]
    """Small words that say who did it to whom, in their order: paid by, paid to."""
    opening: frozenset[str]
    """The first word, where it is written large: it may be a name and it may not."""

    bag: frozenset[str]
    """The words without their order."""
    order: tuple[str, ...]
    """The words in their order, without the verbs that mean the same: those may stand anywhere."""

    @property
    def signature(self) -> tuple[object, ...]:
        """What two statements that say the same in the same order have in common."""
        return (self.order, self.bag, self.named, self.marks, self.past, self.ways)


def read_wording(content: str) -> StatementWording:
    """Return the wording of a statement."""
    keys: dict[str, str] = {}
    named: set[str] = set()
    marks = {"not"} if _NEGATION.search(content) else set()
    past: set[str] = set()
    ways: list[str] = []
    opening: frozenset[str] = frozenset()
    owned = {word.casefold() for word in _OWNED.findall(content)}
    for place, word in enumerate(_WORD.findall(content)):
        plain = word.casefold()
        found, kind = _classify_word(plain)
        if kind == _MOOD:
            marks.add(plain)
        elif kind == _WAY:
            ways.append(plain)
        for key in found:
            keys.setdefault(key, plain)
        if found and word[0].isupper():
            named.update(found if place else ())
            opening = opening if place else frozenset(found)
        if kind == _NAME or (plain in owned and plain not in _CLASS_OF):
            named.update(found)
        elif kind == _PAST:
            past.add(plain)
    return StatementWording(
        keys=tuple(keys),
        spelled=tuple(keys.values()),
        named=frozenset(named),
        marks=frozenset(marks),
        past=frozenset(past),
        ways=tuple(ways),
        opening=opening,
        bag=frozenset(keys),
        order=tuple(key for key in keys if not key.isupper()),
    )


@cached(50_000)
def _classify_word(word: str) -> tuple[tuple[str, ...], str]:
    """Return what counts of a folded word, and what kind of word it is."""
    plain = word.replace("’", "'").removesuffix("'s")
    if plain in _CLASS_OF:
        return (_CLASS_OF[plain],), ""
    if plain in _MOODS:
        return (), _MOOD
    if plain in _WAYS:
        return (), _WAY
    if plain in _EMPTY or plain in _STOPS or plain.endswith("n't"):
        return (), ""
    keys = (str(SPELLED[plain]),) if plain in SPELLED else tuple(term.casefold() for term in terms(plain))
    if any(key.isdigit() for key in keys) or technology_class(plain) is not None:
        return keys, _NAME
    is_past = plain.endswith("ed") and len(plain) >= _SHORTEST_PAST and plain not in _BECAME
    return keys, _PAST if is_past else ""


def may_say_the_same(first: StatementWording, second: StatementWording) -> bool:
    """Return whether all agrees that must: names, numbers, negation, mood, time, and who did it to whom."""
    is_same_way = first.ways == second.ways or not first.ways or not second.ways
    return is_same_way and (first.named, first.marks, first.past) == (second.named, second.marks, second.past)


def same_subject(one: str | None, other: str | None) -> bool:
    """Return whether two subjects are the same; unknown ones never are."""
    return one is not None and other is not None and normalize_text(one) == normalize_text(other)


def differing_words(
    first: StatementWording, second: StatementWording
) -> tuple[frozenset[str], frozenset[str]]:
    """Return the words that only the first has, and those that only the second has."""
    return first.bag - second.bag, second.bag - first.bag


def is_supported_by(wider: StatementWording, core: StatementWording, *, max_extra_words: int) -> bool:
    """Return whether a statement says all that the core does and little more, in the same order and mood."""
    if len(wider.bag) > len(core.bag) + max_extra_words or not core.bag <= wider.bag:  # nearly all end here
        return False
    if (wider.bag - core.bag) & wider.opening or not may_say_the_same(wider, core):
        return False
    return tuple(key for key in wider.order if key in core.bag) == core.order


# Which statements of a scope may say the same, found by what they share and never by comparing all with
# all.
#
# A statement is filed under what must be equal for two to be one: its wording, its relation and object, its
# wording but for one word. Who is filed together is compared, no one else, so the work grows with the store
# and not with its square. Measured in docs/lab/0022-dream-clusters.md.

SUMMARIES = (SUMMED_UP, "compaction-")
MAX_BUCKET = 500
"""A larger bucket is skipped: what so many statements share says too little, and comparing all is slow."""
MAX_OTHER_WORDS = 20
"""Where more statements differ in one word alone, that word tells different things apart: brands, towns."""
SAME_WORD_ABOVE = 0.88
"""Alike enough for one word to stand for another; wife and husband are at 0.86, buy and purchase at 0.92."""
SAME_WORDS = ("", "")
"""No word differs."""
_MIN_WORDS_TO_SWAP = 3
_MAX_WORDS_TO_SWAP = 12


class ScopeStatements(Struct, frozen=True):
    """The statements of one scope that a dream may build on, and how each is worded."""

    scope: Scope
    outlines: Sequence[Outline]
    wordings: Sequence[StatementWording]
    relations: Sequence[Hashable]
    """Subject, relation and object of each, where all are known."""

    def __len__(self) -> int:
        return len(self.outlines)


def changed_scopes(dreaming: Dreaming) -> Iterator[ScopeStatements]:
    """Yield the scopes in which something has changed, one after the other."""
    with dreaming.store.read() as tx:
        scopes = dreaming.among(tx.dreams.fresh_scopes(since=dreaming.cursor))
    for scope in scopes:
        if dreaming.is_stopped():
            return
        with dreaming.store.read() as tx:
            found = tx.dreams.outlines(scope, since=dreaming.cursor)
        stated = [one for one in found if not is_derived(one)]
        yield ScopeStatements(
            scope, stated, [read_wording(one.content) for one in stated], list(map(_relation_key, stated))
        )


def is_derived(outline: Outline) -> bool:
    """Return whether a memory was stated by a dream or sums up a session, and by no one outright."""
    return (outline.extractor or "").startswith((DREAMT, *SUMMARIES))


class WordingGroups:
    """Statements with the same wording, and which other groups may say the same."""

    def __init__(self, scene: ScopeStatements) -> None:
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
            for name in _keys_without_one_word(scene.wordings[group[0]]):
                self._nearly[name].append(number)

    def beside(self, number: int) -> list[int]:
        """Return the other groups that share a relation and object, or all words but one, with a group."""
        group, found = self.members[number], set[int]()
        for name in self._relations(group):
            if len(self._related[name]) <= MAX_BUCKET:
                found.update(self._related[name])
        for name in _keys_without_one_word(self._scene.wordings[group[0]]):
            if len(self._nearly[name]) <= MAX_OTHER_WORDS:
                found.update(self._nearly[name])
        return sorted(found - {number})

    def _relations(self, group: Sequence[int]) -> set[Hashable]:
        return {self._scene.relations[place] for place in group} - {None}

    def _strength(self, place: int) -> tuple[object, ...]:
        """Return what to sort by so that the one that should stand for others comes first: it says most."""
        one, said = self._scene.outlines[place], len(self._scene.wordings[place].keys)
        weight = (one.is_pinned, said, one.evidence, one.confidence, one.importance, one.recalls)
        return (*(-number for number in weight), one.key)


def _relation_key(outline: Outline) -> Hashable:
    if not (outline.subject and outline.predicate and outline.object):
        return None
    return (normalize_text(outline.subject), outline.predicate, normalize_text(outline.object))


def _keys_without_one_word(wording: StatementWording) -> Iterator[Hashable]:
    if _MIN_WORDS_TO_SWAP <= len(wording.keys) <= _MAX_WORDS_TO_SWAP:
        shared = (wording.named, wording.marks, wording.past)
        yield (wording.bag, *shared)
        for word in wording.bag - wording.named:
            yield (wording.bag - {word}, *shared)


def differing_word(scene: ScopeStatements, keeper: int, loser: int) -> tuple[str, str] | None:
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
    if not may_say_the_same(mine, theirs):
        return None
    only_mine, only_theirs = differing_words(mine, theirs)
    relation = scene.relations[keeper]
    is_related = relation is not None and relation == scene.relations[loser]
    is_told = is_related and len(only_theirs) <= min(1, len(only_mine)) and len(only_mine) <= 2
    if is_told or (not only_mine and not only_theirs and mine.order == theirs.order):
        return SAME_WORDS
    return _swapped_words(mine, theirs) if len(only_mine) == len(only_theirs) == 1 else None


def _swapped_words(mine: StatementWording, theirs: StatementWording) -> tuple[str, str] | None:
    """Return the two words that stand at the same place in what is otherwise the same."""
    places = [
        place for place, keys in enumerate(zip(mine.keys, theirs.keys, strict=True)) if len({*keys}) > 1
    ]
    if len(places) != 1 or mine.keys[places[0]].isupper():
        return None
    return mine.spelled[places[0]], theirs.spelled[places[0]]
