"""The words of time of every language, ready to be looked up; nothing here computes a date."""

from __future__ import annotations

from engramdb.text import dates
from engramdb.text.lexicons import ENGLISH, LANGUAGES


def _numbered(words: str, *, first: int) -> dict[str, int]:
    """Return each word with its place in the row; `/` between words of the same number."""
    return {word: number for number, group in enumerate(words.split(), first) for word in group.split("/")}


_ENGLISH = ENGLISH.time
_EVERY = [_ENGLISH, *(one.time for code, one in LANGUAGES.items() if code != "en")]
_SPACED = [one.time for one in LANGUAGES.values() if one.spaced]
_UNSPACED = [one.time for one in LANGUAGES.values() if not one.spaced]

MONTHS = dates.MONTHS
WEEKDAYS = tuple(_ENGLISH.weekdays.split())

MONTH_NUMBERS = {
    word: number
    for row in (_ENGLISH.short_months, *(words.months for words in _EVERY))
    for word, number in _numbered(row, first=1).items()
}
WEEKDAY_NUMBERS = {
    word: number
    for row in (_ENGLISH.short_weekdays, *(words.weekdays for words in _EVERY))
    for word, number in _numbered(row, first=0).items()
}
ENGLISH_WEEKDAYS = (*WEEKDAYS, *_numbered(_ENGLISH.short_weekdays, first=0))
FOREIGN_WEEKDAYS = [word for words in _EVERY[1:] for word in _numbered(words.weekdays, first=0)]
DATE_WEEKDAYS = {
    **WEEKDAY_NUMBERS,
    **{word: number for words in _EVERY for word, number in _numbered(words.short_weekdays, first=0).items()},
}
"""Weekdays as they are written beside a date, short ones of every language too: Fri 13 Feb, Mi, 14.1."""
SEASONS = {word: 3 * number for word, number in _numbered(_ENGLISH.seasons, first=1).items()}
"""The first of a season's three months, in the northern half of the world."""
FOREIGN_SEASONS = {
    word: 3 * number for words in _EVERY[1:] for word, number in _numbered(words.seasons, first=1).items()
}
HOLIDAYS = dict(_ENGLISH.holidays)

_FEW = [word for words in _EVERY for word in words.few.split()]
VAGUE_COUNTS = {**_ENGLISH.vague, **dict.fromkeys(_FEW, (2, 5))}
"""Words that do not want to be exact, and the least and the most that they mean."""
COUNTS = {
    **{word: number for words in _EVERY for word, number in _numbered(words.counts, first=1).items()},
    **dict.fromkeys(_FEW, 3),
}
UNITS = {word: unit for words in _EVERY for unit, named in words.units.items() for word in named.split()}


def _meaning(key: str) -> tuple[str, int]:
    unit, count = key.split()
    return unit, int(count)


SET_PHRASES = {
    phrase: _meaning(key) for words in _SPACED for key, said in words.phrases.items() for phrase in said
}
"""A unit, or a part of a day, and how many of it lie between then and now: yesterday is one day back."""
UNSPACED_PHRASES = {
    phrase: _meaning(key) for words in _UNSPACED for key, said in words.phrases.items() for phrase in said
}
"""The same in scripts without spaces."""
RECENTLY = [phrase for words in _SPACED for phrase in words.recently]
WEEKENDS = [phrase for words in _SPACED for phrase in words.weekends]
OF_UNITS = " ".join(words.frame.of_units for words in _SPACED if words.frame)
"""This week, month or year, after its beginning, middle or end."""
EVERY_WEEK = [word for words in _SPACED for word in words.every.split()]
"""What stands before a weekday that comes back every week."""
AGO = [words.ago for words in _EVERY if words.ago]
AHEAD = [words.ahead for words in _EVERY if words.ahead]
