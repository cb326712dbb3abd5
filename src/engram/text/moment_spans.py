"""
The English phrases from one piece of the calendar to another: between May and July, 10 to 14 August.

Used by `moments` beside `moment_phrases`; the spans of other languages are in `moment_frames`, which
reads them by `month_span`. Only pieces that need each other are here ("3 and 7 March"); two whole
phrases joined by "and" or "to" are joined by whoever reads them. A span of bare months is named with
its year.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from engram.text import moment_words as words
from engram.text import stretches
from engram.text.moment_rules import (
    ANY_MONTH,
    SHORT_MONTH,
    SHORT_MONTHS,
    YEAR_DIGITS,
    any_of,
    month_number,
    rule,
    rule_by_piece,
    year_number,
    year_said,
)

if TYPE_CHECKING:
    from engram.text.moment_rules import Seen
    from engram.text.stretches import Stretch


def month_span(seen: Seen) -> Stretch:
    """Between May and July, from November to February, in March and April."""
    one, two = month_number(seen["month"]), month_number(seen["month2"])
    found = span_of_months(seen, one, two)
    if seen["year"] or seen["year2"] or seen.direction == "unknown":
        return found
    said_year = "" if two >= one else f" {found.start.year}"
    last = f"{words.MONTHS[two - 1]} {found.start.year + (two < one)}"
    name = f"{words.MONTHS[one - 1]}{said_year} {seen['joint'] or 'to'} {last}"
    return replace(found, preposition=seen["before"], name=name)


def span_of_months(seen: Seen, one: int, two: int) -> Stretch:
    """
    Return the stretch from a month to a month of the years that are said.

    Where no year is said, it is the last span that reached its last month, or the next, or the nearest.
    """
    now, turns = seen.now, int(two < one)
    first_year, last_year = (
        year_number(seen[name], now=now) if seen[name] else 0 for name in ("year", "year2")
    )
    if not first_year and not last_year:
        if seen.direction == "past":
            last_year = stretches.nearest_year((two,), now=now, direction="past")
        else:
            first_year = stretches.nearest_year((one,), now=now, direction=seen.direction)
    first = stretches.month(first_year or last_year - turns, one, now=now)
    return stretches.spanning(first, stretches.month(last_year or first_year + turns, two, now=now))


def _weekday_span(seen: Seen) -> Stretch:
    """From Monday to Wednesday."""
    one, two = (words.WEEKDAY_NUMBERS[seen[name]] for name in ("weekday", "weekday2"))
    days = timedelta(days=(two - one) % 7)
    if seen.direction == "past":
        last = stretches.nearest_weekday(two, now=seen.now, direction="past")
        return stretches.spanning(stretches.day(last - days), stretches.day(last))
    first = stretches.nearest_weekday(one, now=seen.now, direction="future")
    return stretches.spanning(stretches.day(first), stretches.day(first + days))


def _day_span(seen: Seen) -> Stretch:
    """From 10 to 14 August 2025, March 3-7."""
    now, month, one = seen.now, month_number(seen["month"]), int(seen["day"])
    year = year_said(seen, month, one)
    first = stretches.date(year, month, one, now=now)
    return stretches.spanning(first, stretches.date(year, month, int(seen["day2"]), now=now))


def _year_span(seen: Seen) -> Stretch:
    """Between 2019 and 2021, in 2022 and 2023."""
    first, last = (stretches.year(int(seen[name]), now=seen.now) for name in ("year", "year2"))
    return stretches.spanning(first, last)


def _quarter_span(seen: Seen) -> Stretch:
    """Q2 and Q3, from Q4 2024 to Q1 2025."""
    return span_of_months(seen, 3 * int(seen["number"]) - 2, 3 * int(seen["number2"]))


_OPEN = r"(?P<before>between|from|in|during)\s+"
_JOINT = r"(?:\s+(?P<joint>and|to|until|till|through|or)\s+|\s*[-–—]\s*)"
_ONE_YEAR, _TWO_YEAR = (rf"(?:,?\s+(?P<{name}>{YEAR_DIGITS}))?" for name in ("year", "year2"))
_WEEKDAY = any_of(words.WEEKDAYS)
_TH = r"(?:st|nd|rd|th)?"

RULES = (
    rule(
        SHORT_MONTHS,
        month_span,
        rf"\b{_OPEN}(?P<month>{SHORT_MONTH})\b{_ONE_YEAR}{_JOINT}(?:in\s+)?(?P<month2>{SHORT_MONTH})\b{_TWO_YEAR}"
        r"(?!\s+\d)",
    ),
    rule(
        SHORT_MONTHS,
        month_span,
        rf"\b(?P<month>{SHORT_MONTH})\b{_ONE_YEAR}(?:\s+(?P<joint>to|until|till|through)\s+|\s*[-–—]\s*)"
        rf"(?P<month2>{SHORT_MONTH})\b,?\s+(?P<year2>{YEAR_DIGITS})",
    ),
    rule(
        words.WEEKDAYS,
        _weekday_span,
        rf"\b(?P<before>between|from)\s+(?P<weekday>{_WEEKDAY}){_JOINT}(?P<weekday2>{_WEEKDAY})\b",
    ),
    rule(
        words.MONTH_NUMBERS,
        _day_span,
        rf"\b(?:(?P<before>between|from)\s+(?:the\s+)?)?(?P<day>\d{{1,2}}){_TH}{_JOINT}(?:the\s+)?"
        rf"(?P<day2>\d{{1,2}}){_TH}\s+(?:of\s+)?(?P<month>{ANY_MONTH})\b{_ONE_YEAR}",
    ),
    rule(
        SHORT_MONTHS,
        _day_span,
        rf"\b(?:(?P<before>between|from|on)\s+)?(?P<month>{SHORT_MONTH})\s+(?P<day>\d{{1,2}}){_TH}{_JOINT}"
        rf"(?P<day2>\d{{1,2}}){_TH}\b{_ONE_YEAR}",
    ),
    rule(
        "q1 q2 q3 q4",
        _quarter_span,
        rf"\b{_OPEN}Q(?P<number>[1-4])(?:\s+of)?{_ONE_YEAR}{_JOINT}Q(?P<number2>[1-4])(?:\s+of)?{_TWO_YEAR}\b",
    ),
    rule_by_piece(
        "19 20",
        _year_span,
        rf"\b{_OPEN}(?:the\s+years\s+)?(?P<year>(?:19|20)\d\d){_JOINT}(?P<year2>(?:19|20)\d\d)\b(?![-./]\d)",
    ),
)
