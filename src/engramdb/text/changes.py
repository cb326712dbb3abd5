"""
Words that tell of a change, and how two statements differ: in which words, and of what sort those are.

A name, a day and a number are values: "Football practice is at 17:00" and "Football practice has moved to
18:15" have all in common but a number. Cues of change are `change` in `data/languages`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from msgspec import Struct

from engramdb.erasable_cache import cached
from engramdb.text.force import has_cue
from engramdb.text.lexicons import LANGUAGES
from engramdb.text.normalize import lazy
from engramdb.text.technologies import technology_class
from engramdb.text.terms import STOP_WORDS, query_terms

_WORD: Final = lazy(r"[^\W_](?:[\w.+#:@/'’-]*[\w+#])?")
_ENDS_SENTENCE: Final = ".!?:…"
_LOOKED_BACK: Final = 4
"""Characters before a word that mostly tell whether a sentence begins with it."""
_CALENDAR: Final = frozenset(
    form
    for one in LANGUAGES.values()
    for words in (one.time.months, one.time.weekdays, one.time.short_weekdays)
    for word in words.split()
    for form in (*word.split("/"), f"{word}s")
)


class WordSort(StrEnum):
    """What sort of value a word may be."""

    NUMBER = "number"
    DAY = "day"
    NAME = "name"
    WORD = "word"


class Difference(Struct, frozen=True):
    """What two statements share, and what only one of them has, each term with its sort."""

    shared: frozenset[str]
    only_old: Mapping[str, WordSort]
    only_new: Mapping[str, WordSort]

    @property
    def shared_share(self) -> float:
        """The share of the older statement's words that the newer one repeats."""
        whole = len(self.shared) + len(self.only_old)
        return len(self.shared) / whole if whole else 0.0

    @property
    def swaps_value(self) -> bool:
        """Whether each sort of value that only the older one has is in what only the newer one has."""
        sorts = set(self.only_old.values())
        values = sorts - {WordSort.WORD} or sorts
        return bool(values) and values <= set(self.only_new.values())


@cached(2048)  # each of a batch is held against each other one
def tells_change(text: str) -> bool:
    """Return whether the words tell that something holds from now on that did not before."""
    return has_cue("change", text.casefold())


@cached(512)
def claim_marks(text: str) -> frozenset[str]:
    """Return what the words make of a claim: over, true of some or at times only, or a plan."""
    words = text.casefold()
    return frozenset(mark for mark in ("ended", "partial", "planned") if has_cue(mark, words))


def difference(old: str, new: str) -> Difference:
    """Return in which words two statements differ; words that only tell of a change are not counted."""
    mine, theirs = word_sorts(new), word_sorts(old)
    return Difference(
        shared=frozenset(mine.keys() & theirs.keys()),
        only_old={term: sort for term, sort in theirs.items() if term not in mine},
        only_new={
            term: sort for term, sort in mine.items() if term not in theirs and not has_cue("change", term)
        },
    )


@cached(512)
def word_sorts(text: str, *, is_sentence: bool = True) -> Mapping[str, WordSort]:
    """
    Return the terms of a text that matter, each with what sort of value it may be.

    The first word of a sentence begins with a capital whatever it is, that of a part of one does not.
    """
    found: dict[str, WordSort] = {}
    for match in _WORD.finditer(text):
        word = match[0].removesuffix("'s").removesuffix("’s")
        if word.casefold() in STOP_WORDS or "'" in word or "’" in word:
            continue
        before = text[max(0, match.start() - _LOOKED_BACK) : match.start()].rstrip()
        before = before or text[: match.start()].rstrip()[-1:]
        is_first = before[-1] in _ENDS_SENTENCE if before else is_sentence
        if (term := _first_term(word)) is not None:
            found.setdefault(term, _sort(word, is_first=is_first))
    return found


@cached(4096)  # words come again in the next statement
def _first_term(word: str) -> str | None:
    return next(iter(query_terms(word)), None)


def _sort(word: str, *, is_first: bool) -> WordSort:
    if any(one.isdigit() for one in word):
        return WordSort.NUMBER
    if word.casefold() in _CALENDAR:
        return WordSort.DAY
    is_name = (word[0].isupper() and not is_first) or technology_class(word) is not None
    return WordSort.NAME if is_name else WordSort.WORD
