"""
Say when something was, in words that mean the same on any day.

Loads no lexicons, as whatever shows a memory needs it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date, datetime, timedelta

from engramdb.text.identity import MISSING_WORDS
from engramdb.values import Memory, Moment

MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


def long_date(day: date) -> str:
    """Return a date with its month in words, in English whatever the machine's language is."""
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


def name_stretch(start: datetime, end: datetime) -> str:
    """Return a stretch in words: 17 November 2026, 12–14 May 2026, November 2026, June–August 2026, 2025."""
    last = max(start, end - timedelta(microseconds=1))
    if end - start <= timedelta(days=1) or start.date() == last.date():
        return long_date(start)
    if _opens_month(start) and _opens_month(end):
        return _name_months(start, last)
    if start.year != last.year:
        return f"{long_date(start)} – {long_date(last)}"
    if start.month != last.month:
        return f"{start.day} {MONTHS[start.month - 1]} – {long_date(last)}"
    return f"{start.day}–{long_date(last)}"


def _opens_month(moment: datetime) -> bool:
    return moment == moment.replace(day=1, hour=0, minute=0, second=0, microsecond=0)


def _name_months(start: datetime, last: datetime) -> str:
    one, two = MONTHS[start.month - 1], MONTHS[last.month - 1]
    if (start.month, last.month) == (1, 12):
        return f"{start.year}" if start.year == last.year else f"{start.year}–{last.year}"
    if start.year != last.year:
        return f"{one} {start.year} – {two} {last.year}"
    return f"{one} {start.year}" if start.month == last.month else f"{one}–{two} {start.year}"


def with_dates(text: str, moments: Iterable[Moment]) -> str:
    """
    Return a text with the date beside each relative time in it: "The release is tomorrow (17 May 2026)".

    A time whose words are not in the text, as after shortening, is left out.
    """
    shown, end = [], 0
    for one in moments:
        place = text.find(one.words, end) if one.is_relative else -1
        if place >= 0:
            begin, end = end, place + len(one.words)
            shown.append(f"{text[begin:end]} ({name_stretch(one.start, one.end)})")
    return "".join([*shown, text[end:]]) if shown else text


def standalone(memory: Memory) -> str:
    """Return what a memory says to one who was not there: its statement, or its words with their dates."""
    return memory.statement or readable(memory)


def readable(memory: Memory) -> str:
    """Return the words of a memory as they are shown: with dates, and with what a fragment leans on."""
    return dated(memory) + leaned_on(memory)


MAX_FRAGMENT_WORDS = 4
_POINTING = re.compile(
    r"\b(?:it|its|they|them|those|these|this|that|he|she|him|her|there|one|same|neither|both|option)\b", re.I
)
MAX_LEANING_WORDS = 12
"""A longer sentence is understood without its question."""


def leaned_on(memory: Memory) -> str:
    """Return in brackets what a short sentence answers or refers to; nothing where it stands by itself."""
    if memory.statement or len(memory.content.split()) > MAX_LEANING_WORDS:
        return ""
    if memory.answers and memory.answers not in MISSING_WORDS:
        return f" (to: {memory.answers})"
    known = next((words for words in memory.refers_to if words not in MISSING_WORDS), None)
    is_open = len(memory.content.split()) <= MAX_FRAGMENT_WORDS or _POINTING.search(memory.content)
    return f" (after: {known})" if known and is_open else ""


def dated(memory: Memory) -> str:
    """Return the words of a memory as they are shown: by the time they are read, tomorrow is another day."""
    return with_dates(memory.content, memory.moments)
