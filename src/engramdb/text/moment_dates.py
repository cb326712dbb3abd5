"""
Dates: by the name of the month, in digits, beside a weekday, and from one day to another.

A date says which day it is, so it counts and the weekday beside it does not. Of dates in digits ISO has the
year first and dots the day; for slashes and hyphens a setting decides, and where only one order gives a day,
that one. Digits are dates only where nothing else is likely: versions, fractions, addresses and the parts of
paths look the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from msgspec import Struct

from engramdb.text import calendar
from engramdb.text import moment_words as words
from engramdb.text.calendar import Stretch
from engramdb.text.lexicons import ENGLISH, LANGUAGES, TimeFrame, word_set
from engramdb.text.moment_context import is_moved
from engramdb.text.moment_rules import (
    ANY_MONTH,
    BEFORE,
    PREPOSITION,
    SHORT_MONTH,
    SHORT_MONTHS,
    STEP,
    STEPS,
    Seen,
    any_of,
    month_number,
    rule,
    rule_by_piece,
    year_number,
    year_said,
)
from engramdb.text.normalize import lazy

_FRAMES: tuple[TimeFrame, ...] = tuple(one.time.frame for one in LANGUAGES.values() if one.time.frame)


def _said_by(*names: str) -> str:
    """Return the words of every language for these places of its frame."""
    return "|".join(dict.fromkeys(getattr(frame, name) for frame in _FRAMES for name in names))


_WINDOW = 48
"""How many characters before a date are looked at: enough for "no later than next Wednesday, the"."""
_ARTICLE = "the|den|dem|der|le|el|il"
_ARTICLES = frozenset(_ARTICLE.split("|"))
_WEEKDAY = any_of(words.DATE_WEEKDAYS)
_UNSPACED_WEEKDAY = (
    r"(?:周|週|星期|礼拜|禮拜)(?P<chinese>[一二三四五六日天])|(?P<youbi>[月火水木金土日])曜日?"
)
_UNSPACED_NUMBERS = {
    day: number for days in ("一二三四五六日", "月火水木金土天") for number, day in enumerate(days)
}


# What stands beside a date and belongs to it: the weekday, and the word that opens a side of it. Looked up
# word by word, from the date backwards: a pattern for all of it takes a hundred times as long.


class DateLead(Struct, frozen=True):
    """Where the words before a date begin that belong to it, and what they say."""

    first: int
    sides: Mapping[str, str | None]
    """The word that opens a side of it, by the group of its relation."""
    has_weekday: bool = False
    opens_bracket: bool = False
    """Whether the date is in brackets: Monday (12 May)."""


_SIDES = "|".join(f"(?P<is_{side}>{_said_by(side)})" for side in ("since", "before", "after", "until"))
_SIDE_WORDS = lazy(rf"(?P<before>{PREPOSITION})|{_SIDES}|{_said_by('on_day', 'on_weekday')}", re.IGNORECASE)
_STEP_WORDS = lazy(f"{STEP}|{_said_by('last', 'coming', 'current')}", re.IGNORECASE)
_MAX_SIDE_WORDS = 3
_WORD = lazy(r"[\w'’]+")
_BESIDE = lazy(r"\.?[\s,，:]*[(（]?\s*")
_UNSPACED_LEAD = lazy(rf"(?:{_UNSPACED_WEEKDAY})[\s,，]*(?P<open>[(（])?\Z")
_WEEKDAY_BEHIND = lazy(
    rf"(?P<open>\s*[(（]\s*|,?\s+(?:a\s+)?|\s*)(?:(?P<weekday>{_WEEKDAY})\b\.?|{_UNSPACED_WEEKDAY}|"
    r"(?<=[(（])(?P<short>[月火水木金土日]))(?P<close>\s*[)）])?",
    re.IGNORECASE,
)


class _WordsBefore:
    """The words before a place in a text, to be taken one by one from the last."""

    def __init__(self, text: str, first: int) -> None:
        self.text, self.first = text, first
        begin = max(0, first - _WINDOW)
        self._left: list[tuple[int, int]] = []
        if text[begin:first].rstrip(" (:,.")[-1:].isalpha():
            self._left = [one.span() for one in _WORD.finditer(text, begin, first)]
        if begin and self._left and self._left[0][0] == begin:
            del self._left[0]  # the rest of a word

    def last(self, count: int = 1) -> str:
        """Return the last words that are left, in small letters, where nothing but a space follows them."""
        if len(self._left) < count or not _BESIDE.fullmatch(self.text, self._left[-1][1], self.first):
            return ""
        return self.text[self._left[-count][0] : self._left[-1][1]].casefold()

    def take(self, count: int = 1) -> int:
        """Take the last words away, and return where they begin."""
        self.first = self._left[-count][0]
        del self._left[-count:]
        return self.first


def lead_of(text: str, first: int) -> DateLead | None:
    """Return the weekday or the word of relation before a date at `first`, or none."""
    said = _WordsBefore(text, first)
    if said.last() in _ARTICLES:
        said.take()
    has_weekday = said.last() in words.DATE_WEEKDAYS
    begin = said.take() if has_weekday else first
    if has_weekday and _STEP_WORDS.fullmatch(said.last()):
        begin = said.take()
    for count in range(_MAX_SIDE_WORDS, 0, -1):
        side = _SIDE_WORDS.fullmatch(said.last(count))
        if side is not None and (has_weekday or any(side.groupdict().values())):
            return DateLead(said.take(count), side.groupdict(), has_weekday, _is_bracket(text, first))
    if has_weekday:
        return DateLead(begin, {}, has_weekday, _is_bracket(text, first))
    return _unspaced_lead(text, first)


def _is_bracket(text: str, first: int) -> bool:
    return text[max(0, first - _WINDOW) : first].rstrip()[-1:] in ("(", "（")


def _unspaced_lead(text: str, first: int) -> DateLead | None:
    begin = max(0, first - 8)
    before = text[begin:first]
    found = None if before.isascii() else _UNSPACED_LEAD.search(before)
    return None if found is None else DateLead(begin + found.start(), {}, True, bool(found["open"]))


def end_with_weekday(text: str, last: int, *, start: datetime) -> int:
    """Return where a date ends that a weekday follows: in brackets any, otherwise the one that it is."""
    found = _WEEKDAY_BEHIND.match(text[last : last + _WINDOW])
    if found is None:
        return last
    end = last + found.end()
    if "(" in found["open"] or "（" in found["open"]:
        return end if found["close"] else last
    said = found["chinese"] or found["youbi"]
    number = _UNSPACED_NUMBERS[said] if said else words.DATE_WEEKDAYS.get((found["weekday"] or "").casefold())
    return end if number == start.weekday() and not found["close"] else last


# Reading a date.


def date_of(seen: Seen) -> Stretch | None:
    """Return 5 May, May 5th or 2023-05-08; without a year, the one that the verbs point to."""
    month, day = month_number(seen["month"]), int(seen["day"])
    if seen["before"] in ("in", "during") and seen.match.start("month") < seen.match.start("day"):
        return None  # in May 12 people came
    return calendar.date(year_said(seen, month, day), month, day, now=seen.now).unnamed()


def _in_digits(seen: Seen, one: str, two: str, year: str) -> Stretch | None:
    """Return the day of two numbers in the order that is meant, in a year or the one the verbs point to."""
    is_month_first = seen["mark"] != "." and seen.date_order == "month-first"
    for month, day in ((one, two), (two, one)) if is_month_first else ((two, one), (one, two)):
        if 1 <= int(month) <= 12 and 1 <= int(day) <= 31:
            said = (
                year_number(year, now=seen.now)
                if year
                else calendar.nearest_year((int(month), int(day)), now=seen.now, direction=seen.direction)
            )
            return calendar.date(said, int(month), int(day), now=seen.now).unnamed()
    return None


def _whole_date(seen: Seen) -> Stretch | None:
    """27.06.2023, 27/06/2023, 06/27/2023, 12/01/26; 12.01.26 only where a date is likely."""
    if seen["mark"] == "." and len(seen["year"]) == 2 and not _is_sure(seen):
        return None
    if seen["mark"] == "-" and len(seen["year"]) == 2:
        return None
    return _in_digits(seen, seen["one"], seen["two"], seen["year"])


def _short_date(seen: Seen) -> Stretch | None:
    """On 1/12, am 12.1.: only where a date is likely, as most such numbers are something else."""
    pair = (int(seen["one"]), int(seen["two"]))
    if month := _expiry(seen):
        return month
    is_name = pair == (24, 7) or (pair == (9, 11) and seen.date_order != "day-first")
    if is_name or not (_is_sure(seen) or _is_likely(seen, *pair)):
        return None
    return _in_digits(seen, seen["one"], seen["two"], "")


def _expiry(seen: Seen) -> Stretch | None:
    """Return the month and year of "expires 09/28", as cards have them: of the next years."""
    text, first = seen.match.string, seen.match.start("one")
    if len(seen["one"]) + len(seen["two"]) < 4 or not _EXPIRES.search(text[max(0, first - _WINDOW) : first]):
        return None
    month, year = int(seen["one"]), seen.now.year // 100 * 100 + int(seen["two"])
    if not (1 <= month <= 12 and 0 <= year - seen.now.year <= _MAX_YEARS_VALID):
        return None
    return calendar.month(year, month, now=seen.now).unnamed()


_EXPIRES = lazy(
    r"\b(?:exp(?:\.|ir\w{1,5})?(?: date)?|(?:valid|good) (?:thru|through))[\s:]{1,3}\Z",
    re.IGNORECASE,
)
_MAX_YEARS_VALID = 20
_SURE = word_set(ENGLISH.time.before_date)
_LIKELY = word_set(ENGLISH.time.perhaps_before_date)
_FILLERS = frozenset(("is", "was", "are", "be", "will", "on", "by", "for", "date", "the"))
_FOREIGN = lazy(
    f"{_said_by('on_day', 'on_weekday', 'since', 'before', 'after', 'until', 'between')}|zum|den|dem",
    re.IGNORECASE,
)
_AT_A_TIME = lazy(r",?\s+(?:(?:at|um)\s+)?\d{1,2}(?::\d\d|\s*[ap]\.?m\b|\s*uhr\b)", re.IGNORECASE)
_MEASURED = lazy(rf"\s*(?:%|[\"”″]|(?:{any_of(ENGLISH.time.after_fraction.split())})\b)", re.IGNORECASE)
_IN_A_SENTENCE = lazy(r"\s+[a-zà-ÿ]|[,;)]")
_ENDS_RANGE = lazy(r"\b(?:from|between)\s+\d{1,2}/\d{1,2}\s+(?:to|and|through|till)\s+\Z", re.IGNORECASE)
_DENOMINATORS = frozenset({2, 3, 4, 5, 6, 8, 10})


def _is_sure(seen: Seen) -> bool:
    """Return whether the words around two numbers make them a date: on, due, a weekday, a time of day."""
    text, first, last = seen.match.string, seen.match.start("one"), seen.match.end()
    if _MEASURED.match(text, last):
        return False
    lead = lead_of(text, first)
    if lead is not None and lead.has_weekday:
        return True
    is_named = _follows(text, first, _SURE)
    if seen["mark"] == ".":
        is_english = is_named and (seen["year"] or _IN_A_SENTENCE.match(text, last))
        return bool(is_english or _FOREIGN.fullmatch(_WordsBefore(text, first).last()))
    return bool(is_named or _AT_A_TIME.match(text, last))


def _follows(text: str, first: int, some: frozenset[str]) -> bool:
    """Return whether one of these words stands before a place, small ones between left out."""
    said = _WordsBefore(text, first)
    for _ in range(_MAX_SIDE_WORDS + 1):
        if said.last() in some:
            return True
        if said.last() not in _FILLERS:
            return False
        said.take()
    return False


def _is_likely(seen: Seen, one: int, two: int) -> bool:
    """Return whether two numbers may be a date: nothing else is said, or by, from, le and no fraction."""
    text, first, last = seen.match.string, seen.match.start("one"), seen.match.end()
    if len(text) <= last - first + _MAX_SIDE_WORDS and text.strip() == text[first:last]:
        return True
    if seen["mark"] == "." or _MEASURED.match(text, last):
        return False
    is_padded = seen["one"][0] == "0" or seen["two"][0] == "0"
    if not is_padded and one <= two and two in _DENOMINATORS:
        return False
    if _follows(text, first, _LIKELY) or _FOREIGN.fullmatch(_WordsBefore(text, first).last()):
        return True
    return bool(_ENDS_RANGE.search(text[max(0, first - _WINDOW) : first]))


def _weekday_and_day(seen: Seen) -> Stretch | None:
    """
    Wed the 14th, next Friday the 20th: of the nearest month in which that day is that weekday.

    Where it is so in none of the next few, the number counts and not the weekday.
    """
    weekday, day = words.DATE_WEEKDAYS[seen["weekday"]], int(seen["day"])
    count = STEPS.get(seen["step"])
    direction = seen.direction if not count else "past" if count < 0 else "future"
    found = [one for one in _days_near(day, now=seen.now) if _lies(one, seen.now, direction)]
    agreeing = [one for one in found if one.weekday() == weekday]
    if not found:
        return None
    chosen = calendar.day((agreeing or found)[0])
    return chosen if seen["weekday"] in words.ENGLISH_WEEKDAYS else chosen.unnamed()


def _days_near(day: int, *, now: datetime) -> Iterator[datetime]:
    """Yield that day of this month, the next, the last, and so on up to three months away."""
    this = calendar.month(now.year, now.month, now=now).start
    nearest = (0, 1, -1, 2, -2, 3, -3) if day >= now.day else (1, 0, 2, -1, 3, -2, -3)
    for count in nearest:
        first = calendar.steps_away("month", count, now=this).start
        found = first + timedelta(days=day - 1)
        if found.month == first.month:
            yield found


def _lies(day: datetime, now: datetime, direction: calendar.Direction) -> bool:
    if direction == "unknown":
        return True
    return day.date() <= now.date() if direction == "past" else day.date() >= now.date()


# From one day to another.


def _day_span(seen: Seen) -> Stretch:
    """From 10 to 14 August 2025, March 3-7, vom 12. bis 14. Mai; what was moved to the 14th is then."""
    now, month, one = seen.now, month_number(seen["month"]), int(seen["day"])
    year = year_said(seen, month, one)
    last = calendar.date(year, month, int(seen["day2"]), now=now)
    if is_moved(seen.match.string, seen.match.start("day")):
        return last.unnamed()
    return calendar.spanning(calendar.date(year, month, one, now=now), last)


def _digit_span(seen: Seen) -> Stretch | None:
    """12.–14.05.2026, 12/05–14/05/2026, am 12.1.–14.1."""
    if not seen["year2"] and not (seen["mark"] == "." and _is_sure(seen)):
        return None
    last = _in_digits(seen, seen["one2"], seen["two2"], seen["year2"])
    if last is None:
        return None
    year = seen["year"] or f"{last.start.year}"
    first = _in_digits(seen, seen["one"], seen["two"] or seen["two2"], year)
    return None if first is None else calendar.spanning(first, last)


_NOT_INSIDE = r"(?<![\w$€£¥#/\\.:@=+-])"
_NOT_AFTER = r"(?![\w/\\@%=+-]|[.:]\w|,\d)"
"""No part of a path, an address, a version, a price, a sum."""
_CLOCK = r"(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?"
_TH = r"(?:st|nd|rd|th|er|\.|º)?"
_YEAR = r"(?:(?:,\s*|\s+)(?:de\s+)?(?P<year>\d{4}|['’]\d\d)\b)?"
_JOINING = r"and|to|until|till|through|thru|or|und|bis(?:\s+zum)?|et|au|y|al?|hasta|e|и|по|до"
_JOINT = rf"(?:\s+(?:{_JOINING})\s+|\s*[-–—]\s*)"
_OPENING = (
    r"(?:(?P<before>between|from)\s+|(?:zwischen|vom?|entre|du|des?|del|dal|tra|fra|между|со?)\s+)?"
    r"(?:(?:the|dem|le|el|il)\s+)?"
)
_AFTER_DAY = (
    r"(?=\s*(?:[,.;:?!)]|\Z)|\s+(?:did|do|does|have|has|had|was|were|is|are|will|i|we|you|he|she|they|at|in|from|"
    r"about|with|and|to|for|until|or)\b)"
)
_DIGIT_DOTS = " ".join(f"{digit}." for digit in range(10))

DATE_RULES = (
    rule(
        words.MONTH_NUMBERS,
        date_of,
        rf"\b{BEFORE}(?:the\s+)?(?<!\d[.,:/])(?P<day>\d{{1,2}}){_TH}\s+(?:of\s+|de\s+)?(?P<month>{ANY_MONTH})\b{_YEAR}",
    ),
    rule(
        words.MONTH_NUMBERS,
        date_of,
        rf"\b{BEFORE}(?P<month>{ANY_MONTH})\.?\s+(?:the\s+)?(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b"
        rf"(?![:%]|\.\d|,\d{{3}}\b){_YEAR}",
    ),
    rule_by_piece(
        "0- 1- 2- 3- 4- 5- 6- 7- 8- 9-",
        date_of,
        rf"\b{BEFORE}{_NOT_INSIDE}(?P<year>\d{{4}})-(?P<month>\d{{1,2}})-(?P<day>\d{{1,2}}){_CLOCK}{_NOT_AFTER}",
    ),
    rule_by_piece(
        "/",
        date_of,
        rf"\b{BEFORE}{_NOT_INSIDE}(?P<year>(?:19|20)\d\d)/(?P<month>\d{{1,2}})/(?P<day>\d{{1,2}}){_NOT_AFTER}",
    ),
    rule_by_piece(
        ".0 .1",
        date_of,
        rf"\b(?P<before>{PREPOSITION})\s+(?P<year>(?:19|20)\d\d)\.(?P<month>[01]\d)\.(?P<day>[0-3]\d)\b{_NOT_AFTER}",
    ),
    rule_by_piece(
        f"/ -19 -20 {_DIGIT_DOTS}",
        _whole_date,
        rf"\b{BEFORE}{_NOT_INSIDE}(?P<one>\d{{1,2}})(?P<mark>[./-])(?P<two>\d{{1,2}})(?P=mark)"
        rf"(?P<year>(?:19|20)\d\d|\d\d){_NOT_AFTER}",
    ),
    rule_by_piece(
        "/",
        _short_date,
        rf"\b{BEFORE}{_NOT_INSIDE}(?P<one>\d{{1,2}})(?P<mark>/)(?P<two>\d{{1,2}}){_NOT_AFTER}",
    ),
    rule_by_piece(
        _DIGIT_DOTS,
        _short_date,
        rf"\b{BEFORE}{_NOT_INSIDE}(?P<one>\d{{1,2}})(?P<mark>\.)(?P<two>\d{{1,2}})\.(?![\w/\\-])",
    ),
    rule(
        words.ENGLISH_WEEKDAYS,
        _weekday_and_day,
        rf"\b{BEFORE}(?:{STEP}\s+)?(?P<weekday>{any_of(words.ENGLISH_WEEKDAYS)})\b\.?,?\s+(?:the\s+)?(?P<day>\d{{1,2}})(?:st|nd|rd|th)\b"
        rf"{_AFTER_DAY}",
    ),
    rule(
        words.FOREIGN_WEEKDAYS,
        _weekday_and_day,
        rf"\b(?P<weekday>{any_of(words.FOREIGN_WEEKDAYS)})\b,?\s+(?:(?:{_ARTICLE})\s+)?(?P<day>\d{{1,2}})(?:\.|º|-го)?"
        r"(?=\s*(?:[,;?!)]|\Z)|\s+(?:um|à|a\s+las|alle|в)\b)",
    ),
    rule(
        words.MONTH_NUMBERS,
        _day_span,
        rf"\b{_OPENING}(?<!\d[.,:/])(?P<day>\d{{1,2}}){_TH}{_JOINT}(?:(?:{_ARTICLE})\s+)?"
        rf"(?:(?:{_WEEKDAY})\.?,?\s+)?(?P<day2>\d{{1,2}}){_TH}\s+(?:of\s+|de\s+)?(?P<month>{ANY_MONTH})\b{_YEAR}",
    ),
    rule(
        SHORT_MONTHS,
        _day_span,
        rf"\b(?:(?P<before>between|from|on)\s+)?(?P<month>{SHORT_MONTH})\s+(?P<day>\d{{1,2}}){_TH}{_JOINT}"
        rf"(?P<day2>\d{{1,2}}){_TH}\b(?!:){_YEAR}",
    ),
    rule_by_piece(
        f"/ {_DIGIT_DOTS}",
        _digit_span,
        rf"\b(?:(?P<before>between|from)\s+)?{_NOT_INSIDE}(?P<one>\d{{1,2}})(?:\.|(?:[./](?P<two>\d{{1,2}}))[./]?"
        r"(?P<year>\d{4})?)?\s*[-–—]\s*(?P<one2>\d{1,2})(?P<mark>[./])(?P<two2>\d{1,2})(?:(?P=mark)"
        rf"(?P<year2>(?:19|20)\d\d)|\.)(?!\d){_NOT_AFTER}",
    ),
)
