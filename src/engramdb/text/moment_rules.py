"""
What a rule for a time phrase is, and the pieces of pattern that several rules share.

A rule is a pattern, the words of which one must be in the text for it to be tried, and a function from what
was matched to a stretch of the calendar. Most texts have no such words, so most rules cost nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import cache
from typing import TypeAlias

from msgspec import Struct

from engramdb.settings import DateOrder
from engramdb.text import calendar
from engramdb.text import moment_words as words
from engramdb.text.calendar import Direction, Stretch
from engramdb.text.normalize import lazy


class Seen(Struct, frozen=True):
    """What a rule reads: the match, from when it is seen, where the verbs point, how digits are read."""

    match: re.Match[str]
    now: datetime
    direction: Direction
    date_order: DateOrder = "auto"
    is_asked: bool = False
    """Whether it is a question that names the time."""
    has_context: bool = True
    """Whether the text has words that may change what a phrase beside them means."""

    def __getitem__(self, group: str) -> str:
        """Return a group of the match in small letters, empty where there is none."""
        said = self.match[group] if group in self.match.re.groupindex else None
        # A pattern that ignores case takes the dotless i of Turkish for an i; casefold does not.
        return " ".join(said.casefold().replace("ı", "i").split()) if said else ""


Reader: TypeAlias = "Callable[[Seen], Stretch | None]"


class MomentRule(Struct, frozen=True):
    """A pattern, what it means, and the words or pieces of which a matching text has one."""

    source: str
    read: Reader
    words: tuple[str, ...]
    pieces: tuple[str, ...]

    @property
    def pattern(self) -> re.Pattern[str]:
        """The pattern, made when it is first tried: most processes never try most of them."""
        return _made(self.source)


@cache
def _made(source: str) -> re.Pattern[str]:
    return lazy(source, re.IGNORECASE)


def rule(keys: str | Iterable[str], read: Reader, pattern: str) -> MomentRule:
    """Return a rule from a pattern, in which capitals are small letters, and the words that it needs."""
    every = keys.split() if isinstance(keys, str) else keys
    return MomentRule(pattern, read, tuple(every), ())


def rule_by_piece(pieces: str, read: Reader, pattern: str) -> MomentRule:
    """Return a rule for what has no words of its own: digits, signs, and writing without spaces."""
    return MomentRule(pattern, read, (), tuple(pieces.split()))


class Rulebook:
    """Rules in their order, found by the words of a text: trying all costs fourteen times as much."""

    def __init__(self, rules: Iterable[MomentRule]) -> None:
        self.rules = tuple(rules)
        self._by_word: dict[str, list[int]] = {}
        self._by_piece: dict[str, list[int]] = {}
        for number, one in enumerate(self.rules):
            for word in one.words:
                self._by_word.setdefault(word, []).append(number)
            for piece in one.pieces:
                self._by_piece.setdefault(piece, []).append(number)
        self._ascii_pieces = {key: rules for key, rules in self._by_piece.items() if key.isascii()}

    def worth_trying(self, lower: str) -> list[MomentRule]:
        """Return the rules that may match a text in small letters, in their order."""
        numbers: set[int] = set()
        for word in self._by_word.keys() & set(_WORD.findall(lower)):
            numbers.update(self._by_word[word])
        pieces = self._ascii_pieces if lower.isascii() else self._by_piece
        for piece, rules in pieces.items():
            if piece in lower:
                numbers.update(rules)
        return [self.rules[number] for number in sorted(numbers)]


_WORD = lazy(r"\w+")


def key_words(phrases: Iterable[str]) -> list[str]:
    """Return the longest word of each phrase: where none of them is, no phrase is."""
    return [max(_WORD.findall(phrase), key=len) for phrase in phrases]


def any_of(phrases: Iterable[str]) -> str:
    """Return a pattern for any of these, the longest first."""
    longest_first = sorted(phrases, key=len, reverse=True)
    return "|".join(re.escape(phrase).replace("'", "['’]") for phrase in longest_first)


_PAST_VERBS = (
    r"was|were|did|had|went|got|took|made|saw|met|came|bought|ran|won|left|lost|broke|began|wrote|"
    r"flew|gave|found|told|said|spent|felt|heard|knew|grew|became|sold|built|quit|taught|"
    r"(?!need|feed|speed|indeed|embed)[a-z]{2,20}ed"
)
PAST_VERB = lazy(rf"\b(?:{_PAST_VERBS})\b", re.IGNORECASE)
_PAST = lazy(rf"\b(?:{_PAST_VERBS}|since|last(?!\s+\w+\s+of\b|\s+\w+day\s+in\b)|ago)\b")
"""The last Friday of the month may lie ahead."""
_FUTURE = lazy(
    r"\b(?:will|shall|going to|plans?|planning|wants?|hopes?|intends?|would|by|due|deadline|next|(?:decided|"
    r"agreed|promised) to)\b"
    r"|['’](?:ll|d)\b"
)


_BREAK = lazy(r"[,;:.!?()–—]\s+|\s(?:and|but|so|because|that)\s")
_OWN_SUBJECT = lazy(r"\b(?:i|we|you|he|she|they|it)(?:['’]\w+)?\s+[a-z]+")


_MAX_CLAUSE = 200
"""So many characters on either side of a phrase are looked at for its clause."""


def direction_of(lower: str) -> Direction:
    """Return which way a bare "on Friday" points, as far as the words of a statement tell."""
    if _FUTURE.search(lower):
        return "future"
    return "past" if _PAST.search(lower) else "unknown"


def direction_at(lower: str, first: int, last: int, *, whole: Direction) -> Direction:
    """
    Return which way the phrase at a place points, in a text that as a whole points another way.

    A clause with a subject of its own decides for itself: "Pieter got a job, we move on December 1st".
    """
    start = max(0, first - _MAX_CLAUSE)
    begin = max((found.end() for found in _BREAK.finditer(lower, start, first)), default=start)
    after = _BREAK.search(lower, last, last + _MAX_CLAUSE)
    clause = lower[begin : after.start() if after else last + _MAX_CLAUSE]
    return direction_of(clause) if _OWN_SUBJECT.search(clause) else whole


_BACK = dict.fromkeys(("last", "past", "previous", "this past", "this last"), -1)
STEPS = {**_BACK, "this": 0, "next": 1, "coming": 1}

RELATING = (
    r"since|before|after|(?<!stop )(?<!stopped )(?<!drop )(?<!dropped )(?<!come )(?<!came )by|"
    r"until|till|prior\s+to|as\s+of|(?:no\s+)?later\s+than|earlier\s+than|"
    r"starting(?:\s+(?:in|on|from))?|leading\s+up\s+to|ahead\s+of"
)
"""Words that open one side of a stretch; `moments` says which."""
PREPOSITION = rf"{RELATING}|on|in|for|from|around|at|during"
BEFORE = rf"(?:(?P<before>{PREPOSITION})\s+)?"
PART = r"(?:\s+(?P<part>morning|afternoon|evening|night))?"
NOT_EVERY = r"(?<!every )(?<!each )(?<!any )(?<!most )"
OWNER = r"(?P<owner>['’]s)?"
STEP = r"(?P<step>this\s+(?:past|last)|last|past|previous|this|next|coming)"
YEAR_DIGITS = r"(?:(?:19|20)\d\d(?![-./]?\d)|['’]\d\d(?!\d))"
"""2024, or the '24 of "May '24"; not 2024-05 or 2024.1."""
ENGLISH_MONTHS = tuple(name.lower() for name in words.MONTHS)
ENGLISH_MONTH = any_of(ENGLISH_MONTHS)
SHORT_MONTHS = (*ENGLISH_MONTHS, *(name[:3] for name in ENGLISH_MONTHS), "sept")
SHORT_MONTH = any_of(SHORT_MONTHS)
"""A month by its whole name or its first letters."""
ANY_MONTH = any_of(words.MONTH_NUMBERS)
COUNT = (
    r"(?P<count>\d{1,3}|(?:an?\s+)?couple(?:\s+of)?|a\s+few|few|several|an?|one|two|three|four|five|six|seven|eight|"
    r"nine|ten|eleven|twelve)"
)
_UNITS = ("minute", "hour", "day", "week", "fortnight", "month", "year")
UNIT = rf"(?P<unit>{'|'.join(_UNITS)})s?"
TIME_UNITS = [f"{unit}{s}" for unit in _UNITS for s in ("", "s")]


def month_number(said: str) -> int:
    """Return the number of a month from its name in any language, short or whole, or from its digits."""
    return words.MONTH_NUMBERS.get(said) or int(said)


def year_said(seen: Seen, *place: int) -> int:
    """Return the year that a phrase names, or in which its month, or month and day, is meant to lie."""
    said = seen["year"]
    if said:
        return year_number(said, now=seen.now)
    return calendar.nearest_year(place, now=seen.now, direction=seen.direction)


def year_number(said: str, *, now: datetime) -> int:
    """Return 2024 for 2024 and for '24; two digits lie at most ten years ahead."""
    if len(said) == 4:
        return int(said)
    year = now.year // 100 * 100 + int(said[-2:])
    return year if year <= now.year + 10 else year - 100


def count_of(said: str) -> int:
    """Return the number in "3", "three", "a couple of"."""
    last = said.removesuffix(" of").split()[-1]
    return int(last) if last.isdigit() else words.COUNTS[last]
