"""
Names in small letters, as people type them: "kofi moved to tallinn", "talked to siobhan".

A word counts that is no common English word and no term of some trade, and then only where it stands on a
list of names or something beside it says what it names. Only texts that read like English are looked at,
since the lists say nothing of other languages. Numbers: docs/lab/0055-topics-and-names.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from engramdb.text.english_words import is_english_word
from engramdb.text.name_cues import (
    BEFORE_A_PLACE,
    HUMAN_ACT,
    OF_A_FIRM,
    OF_A_PLACE,
    OF_SOMEONE,
    OF_SOMEONE_NAMED,
    PERSON_ACT,
    TO_SOMEONE,
)
from engramdb.text.name_runs import Placed, Word, reads_like_english
from engramdb.text.names import name_lists
from engramdb.text.normalize import lazy
from engramdb.text.technologies import technology_class
from engramdb.text.topics import is_topic_word
from engramdb.values import EntityType, Mention

MAX_CANDIDATES = 50
"""Words on no list of English ones that are looked at: more of them are a document or another language."""

_WINDOW = 48
_MIN_LETTERS, _MIN_SURE_LETTERS = 3, 4
_NAME_LIKE = lazy(r"[^\W\d_]+(?:-[^\W\d_]+)?\Z")
_TITLE = lazy(r"\b(?:mr|mrs|ms|dr|prof)\.? \Z")
_WITH_SOMEONE = lazy(r"\b(?:with|and|or|for|to|from|by|at|but|so|,) ?\Z")
_AND_SOMEONE = lazy(
    r" (?:and i|and me|and my|from (?:accounts|sales|hr|marketing|legal|finance|support|it|work))\b"
)
_IS_A_NAME = lazy(r" is (?:my|our|his|her|their) [\w'’ ]{2,30}\bname\b")
_FROM_A_PLACE = lazy(r"(?:['’](?:s|m|re)|\b(?:is|am|are|was|were|come|comes|came)) from \Z")
_SOMEONE_FROM = lazy(
    r"\b(?:guy|guys|woman|man|girl|lady|people|person|folks|team|someone|rep) (?:from|at) \Z"
)
_NOW_CALLED = lazy(
    r"\b(?:project|app|tool|repo|service|product|thing|library|codebase|website|game|prototype)\b[^.!?\n]{0,40}"
    r"\bused to (?:call|be called|be known as)\s+(?:\S+\s+)?(?:is|are) now (?:called |named )?"
    r"(?P<name>[^\W\d_][\w-]{1,30})",
    re.IGNORECASE,
)
_IN = lazy(r"\bin \Z")
_BEGINS_CLAUSE = lazy(
    r"(?:\A|[.!?;,:\n]\s*|\b(?:and|but|so|then|that|because|cause|since|when|if|says|ok|tbh) )\Z"
)


def small_names(text: str, words: Sequence[Word]) -> Iterator[Placed]:
    """Yield the people, places and organizations that are named in small letters, in order."""
    if not reads_like_english(text):
        return
    looked_at = 0
    for at, word in enumerate(words):
        if word.is_capital or looked_at >= MAX_CANDIDATES:
            continue
        known = _listed_row(words, at)
        if known is not None:
            yield _placed(text, word.start, *known)
        elif _may_be_name(text[word.start : word.end], word.folded):
            looked_at += 1
            kind = _kind(text, word)
            if kind is EntityType.PERSON:
                yield _placed(text, _title_start(text, word.start), _full_name_end(text, words, at), kind)
            elif kind is not None:
                yield _placed(text, word.start, word.end, kind)


def _full_name_end(text: str, words: Sequence[Word], at: int) -> int:
    """Return where a person's name ends: behind a family name, if one follows."""
    if at + 1 == len(words) or words[at].is_owner:
        return words[at].end
    following = words[at + 1]
    is_beside = text[words[at].end : following.start] == " " and not following.is_capital
    is_family = is_beside and _may_be_name(text[following.start : following.end], following.folded)
    return following.end if is_family else words[at].end


def words_used_as_names(text: str, words: Sequence[Word]) -> Iterator[str]:
    """Yield small words, common ones too, that stand where only someone's name can: "shiv wants it"."""
    starters = name_lists().starters
    for word in words:
        if word.is_capital or word.folded in starters:
            continue
        before, after = text[max(0, word.start - _WINDOW) : word.start], text[word.end : word.end + _WINDOW]
        is_acting = HUMAN_ACT.match(after) is not None and _BEGINS_CLAUSE.search(before) is not None
        if is_acting or OF_SOMEONE.search(before) or TO_SOMEONE.search(before):
            yield text[word.start : word.end]


def renamed_things(text: str) -> Iterator[Placed]:
    """Yield what a project or the like is called now: "the project we used to call Heron is now Kestrel"."""
    for match in _NOW_CALLED.finditer(text):
        yield _placed(text, match.start("name"), match.end("name"), EntityType.PROJECT)


def _placed(text: str, start: int, end: int, kind: EntityType) -> Placed:
    return start, end, Mention(text=text[start:end], type=kind)


def _listed_row(words: Sequence[Word], at: int) -> tuple[int, EntityType] | None:
    """Return where a place or organization of several words that begins here ends: new york, red cross."""
    if words[at].folded not in _first_words():
        return None
    lists = name_lists()
    for row in (words[at : at + 3], words[at : at + 2]):
        folded = " ".join(word.folded for word in row)
        if folded in lists.places and len(row) > 1:
            return row[-1].end, EntityType.LOCATION
        if folded in lists.organisations and len(row) > 1:
            return row[-1].end, EntityType.ORGANIZATION
    return None


@cache
def _first_words() -> frozenset[str]:
    """Return the words that places and organizations of several words begin with."""
    lists = name_lists()
    rows = (name for name in lists.places | lists.organisations if " " in name)
    return frozenset(name.split()[0] for name in rows) - lists.articles


def _may_be_name(written: str, folded: str) -> bool:
    """Return whether a word is no common word, no term and no technology."""
    lists = name_lists()
    if folded in lists.organisations and not is_english_word(folded):
        return True
    if len(folded) < _MIN_LETTERS or not _NAME_LIKE.match(written) or is_english_word(folded):
        return False
    if all(is_english_word(part) for part in folded.split("-")):
        return False
    is_plain = folded in lists.not_names or folded in lists.starters or folded in lists.not_small_names
    is_plain = is_plain or folded in lists.person_titles
    return not is_plain and not is_topic_word(folded) and technology_class(folded) is None


def _kind(text: str, word: Word) -> EntityType | None:
    """Return what a word that is no common one names, or None where nothing says so."""
    before = text[max(0, word.start - _WINDOW) : word.start]
    after = text[word.end : word.end + _WINDOW]
    lists = name_lists()
    is_long = len(word.folded) >= _MIN_SURE_LETTERS
    if _TITLE.search(before):
        return EntityType.PERSON
    is_placed = BEFORE_A_PLACE.search(before) is not None
    if word.folded in lists.places and (is_placed or (is_long and word.folded not in lists.given)):
        return EntityType.LOCATION
    if word.folded in lists.organisations and (is_long or OF_A_FIRM.search(before)):
        return EntityType.ORGANIZATION
    if _is_given(word.folded) and (is_long or _is_beside_someone(before, after)):
        return EntityType.PERSON
    return _by_cues(word, before, after)


def _is_given(folded: str) -> bool:
    lists = name_lists()
    return folded in lists.given or (
        "-" in folded and folded.partition("-")[0] in lists.given and folded.rpartition("-")[2] in lists.given
    )


def _is_beside_someone(before: str, after: str) -> bool:
    return any(rule.search(before) for rule in (OF_SOMEONE, TO_SOMEONE, _WITH_SOMEONE)) or bool(
        PERSON_ACT.match(after) or _AND_SOMEONE.match(after)
    )


def _by_cues(word: Word, before: str, after: str) -> EntityType | None:
    """Return what a word on no list names, by what stands around it."""
    if _SOMEONE_FROM.search(before) or (OF_A_FIRM.search(before) and not word.is_owner):
        return EntityType.ORGANIZATION
    if any(rule.search(before) for rule in (OF_SOMEONE, OF_SOMEONE_NAMED, TO_SOMEONE)):
        return EntityType.PERSON
    if before.endswith((" the ", " a ", " an ", " my ", " our ")):
        return None
    if OF_A_PLACE.search(before) or _FROM_A_PLACE.search(before):
        return EntityType.LOCATION
    if _IN.search(before) and len(word.folded) > _MIN_SURE_LETTERS:
        return EntityType.LOCATION
    is_acting = HUMAN_ACT.match(after) or _AND_SOMEONE.match(after) or _IS_A_NAME.match(after)
    return EntityType.PERSON if is_acting and _BEGINS_CLAUSE.search(before) else None


def _title_start(text: str, start: int) -> int:
    """Return where the title before a name begins, or the name where there is none."""
    title = _TITLE.search(text, max(0, start - 8), start)
    return start if title is None else title.start()
