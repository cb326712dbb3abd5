"""
Read the reply to a short question: yes, no, the first of two, both, not now, or what holds instead.

Phrases are taken off the beginning for as long as they say the same. What is left after a "no" is what holds
instead; after a "but" nothing is certain.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import cache

from msgspec import Struct

from engramdb.text.lexicons import LANGUAGES, any_pattern
from engramdb.text.normalize import clean

MAX_REPLY_WORDS = 40
"""A longer message tells more than an answer."""


class ReplyKind(StrEnum):
    """What a reply says to the question."""

    YES = "yes"
    NO = "no"
    FIRST = "first"
    SECOND = "second"
    BOTH = "both"
    NEITHER = "neither"
    LATER = "later"
    """Not now, or nobody knows."""
    VALUE = "value"
    """It states what holds."""
    UNCLEAR = "unclear"
    """It says yes and something else, one thing and then the other, or nothing: a "hm", a question back."""


class Reply(Struct, frozen=True):
    """A reply, and what it states besides, in its own words."""

    kind: ReplyKind
    rest: str = ""


_SPOKEN = (
    ReplyKind.LATER,  # "no idea" is not "no"
    ReplyKind.NEITHER,
    ReplyKind.BOTH,
    ReplyKind.FIRST,
    ReplyKind.SECOND,
    ReplyKind.NO,
    ReplyKind.YES,
)
_BETWEEN = r"[\s,.;:!…–—\-、。，！]"
_POLITE = (
    r"(?:oh|well|hm+|uh|um|so|and|please|pls|thanks|thank you|thx|now|actually|i think|danke|bitte|merci)"
)


def read_reply(text: str) -> Reply:
    """Return what a reply says; one that holds no phrase of an answer states a value, unless it is vague."""
    whole = left = clean(text).replace("’", "'")
    said: list[ReplyKind] = []
    while left:
        left = _openers().sub("", left, count=1)
        kind, rest = _next_phrase(left)
        if kind is None or (said and not _stands_apart(left, kind, rest)):
            break  # "no, it is five": what holds instead begins like a yes
        said, left = [*said, kind], rest
    if _is_vague(whole) or (left and _is_vague(left)) or not (said or left):
        return Reply(ReplyKind.UNCLEAR)
    if not said or not _stands_apart(whole, said[-1], left):
        return Reply(ReplyKind.VALUE, whole.strip())
    kinds = set(said)
    if kinds in ({ReplyKind.NO, ReplyKind.SECOND}, {ReplyKind.NO, ReplyKind.FIRST}):
        kinds -= {ReplyKind.NO}  # "no, the second one"
    is_clear = len(kinds) == 1 and not _but().match(left)
    return Reply(kinds.pop() if is_clear else ReplyKind.UNCLEAR, left.strip(" ,;:–—-"))


def _stands_apart(whole: str, kind: ReplyKind, left: str) -> bool:
    """Return whether what follows a phrase is a new part: "no, sugar" and "no we moved", not "no sugar"."""
    if not left or whole[: len(whole) - len(left)].rstrip()[-1:] in ",.;:!…–—-、。，！":
        return True
    is_yes_or_no = kind in (ReplyKind.YES, ReplyKind.NO)
    return bool(_but().match(left) or (is_yes_or_no and _subjects().match(left)))


def _is_vague(text: str) -> bool:
    """Return whether words decide nothing: they ask, have no letter or digit, or only fill a pause."""
    is_asked = text.rstrip(" \"')”’").endswith(("?", "？"))
    return is_asked or not any(one.isalnum() for one in text) or _vague().fullmatch(text.strip()) is not None


def asks_what_holds(question: str) -> bool:
    """Return whether a sentence asks if something holds, or which of several does."""
    return question.rstrip().endswith(("?", "？")) and _asks().search(question) is not None


def _next_phrase(left: str) -> tuple[ReplyKind | None, str]:
    """Return the longest phrase of an answer that a text begins with, as its kind, and what follows it."""
    best: tuple[ReplyKind | None, str] = (None, left)
    for kind in _SPOKEN:
        found = _phrases(kind).match(left)
        if found is not None and len(left) - found.end() < len(best[1]):
            best = (kind, left[found.end() :])
    return best


@cache
def _phrases(kind: ReplyKind) -> re.Pattern[str]:
    spaced, unspaced = (_rows(kind, is_spaced=one) for one in (True, False))
    return re.compile(rf"(?:(?:{spaced})(?![\w'])|(?:{unspaced})){_BETWEEN}*", re.IGNORECASE)


@cache
def _openers() -> re.Pattern[str]:
    return re.compile(rf"{_BETWEEN}*(?:(?:{_POLITE})(?!\w){_BETWEEN}*)*", re.IGNORECASE)


@cache
def _but() -> re.Pattern[str]:
    return _words("but")


@cache
def _vague() -> re.Pattern[str]:
    rows = any_pattern([row for one in LANGUAGES.values() for row in one.replies.vague])
    return re.compile(rf"(?:(?:{rows}){_BETWEEN}*)+", re.IGNORECASE)


@cache
def _subjects() -> re.Pattern[str]:
    return _words("subjects")


@cache
def _asks() -> re.Pattern[str]:
    spaced, unspaced = (_rows("asks", is_spaced=one) for one in (True, False))
    return re.compile(rf"(?<!\w)(?:{spaced})(?!\w)|{unspaced}", re.IGNORECASE)


def _words(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?:{_rows(name, is_spaced=True)})(?!\w)", re.IGNORECASE)


def _rows(name: str, *, is_spaced: bool) -> str:
    spoken = (one.replies for one in LANGUAGES.values() if one.spaced is is_spaced)
    return any_pattern([row for one in spoken for row in getattr(one, name)])
