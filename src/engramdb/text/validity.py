"""
From when and until when a statement is true, where its words say so.

"We moved in March", said in May, is true since March; "since 2 March", "as of this week" and "from February
on" say the same outright; "I lived in Paris in 2019" was over when it was said. A time that is what the
statement is about ("my birthday is 3 May", "the fair is on 28 June") is not when it began to be true.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from msgspec import Struct

from engramdb.settings import DateOrder
from engramdb.text.calendar import Precision
from engramdb.text.clauses import clauses, read
from engramdb.text.lexicons import word_set
from engramdb.text.moments import MAX_TOLD, MomentRange, TimeRelation, find_moments
from engramdb.text.normalize import lazy

_SHORT = frozenset({Precision.DAY, Precision.PART_OF_DAY})
_OPENS = lazy(r"(?:as\s+of|from|starting|beginning|effective)\b", re.IGNORECASE)
"""Words that make the time after them a beginning, where it is not one end of a range."""
_TO = lazy(r"\s(?:to|until|till|through|bis|au|al?)\s|[-–—]")
_ENDS = lazy(r"(?:until|till?|bis|jusqu\w*|hasta|fino|até|по|до)\b", re.IGNORECASE)
_ON = lazy(
    r"\s+on\b(?!\s+(?:the|a|an|my|our|his|her|their|\d|mon|tue|wed|thu|fri|sat|sun)\w*)", re.IGNORECASE
)
"""What closes "from February on"."""
_IS_VALUE = lazy(
    r"(?:\b(?:is|are|was|were|be|been|am|ist|sind|war|est|sont|es|son|é|è)|['’]s|['’]re|[:=–—]|\b(?:due|dated|of|"
    r"for|expires|ends|fällig))\s*(?:the\s+|now\s+|only\s+)*\Z",
    re.IGNORECASE,
)
"""What stands before a time that a statement gives as the value of something."""
_IS_SUBJECT = lazy(r"\s+(?:is|are|was|were|it is)\b", re.IGNORECASE)
_YEAR = lazy(r"\b\d{4}\b|['’]\d\d\b")
_MOST_OF_A_YEAR = timedelta(days=275)
_WINDOW = 24
_STATES = word_set(
    "live work be use have study stay rent own drive run like love prefer play teach host cost take wear eat "
    "drink smoke belong sit serve represent manage lead coach"
)
"""Verbs whose simple past says how things were for a while, and not that something began."""
_STILL = lazy(r"\b(?:now|still|currently|nowadays|these days|ever since|today)\b", re.IGNORECASE)
_WHILE_IT_LASTED = frozenset({"was", "were", "did", "used to"})
"""Auxiliaries of a past that says nothing of today."""


class Validity(Struct, frozen=True):
    """From when and until when; None where the words do not say."""

    start: datetime | None = None
    end: datetime | None = None


UNSAID = Validity()


def read_validity(
    text: str, *, now: datetime, date_order: DateOrder = "auto", is_dated: bool = True
) -> Validity:
    """
    Return from when and until when a statement is true, as its words have it, said at `now`.

    Where nobody knows when it was said (`is_dated` is off) only times that need no now count.
    """
    if len(text) > MAX_TOLD:
        return UNSAID
    found = [
        one
        for one in find_moments(text, now=now, date_order=date_order)
        if one.precision is not Precision.VAGUE and not one.is_of_saying and (is_dated or not one.is_relative)
    ]
    opened = next((one for one in found if _is_beginning(text, one, now)), None)
    closed = next((one for one in found if one is not opened and _is_end(text, one, now)), None)
    until = None if closed is None else _end_of(closed)
    if opened is not None:
        return Validity(opened.start, until)
    past = next((one for one in found if _is_past(text, one, now)), None)
    if past is None:
        return Validity(None, until)
    return Validity(past.start, past.end if past.end <= now and _tells_what_was(text) else until)


def _is_beginning(text: str, moment: MomentRange, now: datetime) -> bool:
    """Return whether the words say "from then on"."""
    if moment.relation is TimeRelation.SINCE:
        return True
    opening = _OPENS.match(text, moment.first)
    if opening is None or moment.relation not in (TimeRelation.WITHIN, TimeRelation.UNTIL):
        return False
    if opening.group().lower() != "from":
        return True
    is_leading = not text[: moment.first].strip(" ,;.-–—")
    is_onwards = _ON.match(text, moment.last) is not None
    is_range = _TO.search(text, moment.first, moment.last) is not None
    return not is_range and (is_leading or is_onwards or moment.end > now)


def _is_end(text: str, moment: MomentRange, now: datetime) -> bool:
    """Return whether the words say that it holds until then; a day by which something is due is no such."""
    return moment.end > now and _ENDS.match(text, moment.first) is not None


def _end_of(moment: MomentRange) -> datetime:
    """Return when "until Friday" or "until March" is over: the day is part of it, a month is not."""
    return moment.end if moment.precision in _SHORT else moment.start


def _is_past(text: str, moment: MomentRange, now: datetime) -> bool:
    """Return whether a phrase tells when something happened or began, before it was said."""
    if moment.relation is not TimeRelation.WITHIN or moment.start > now:
        return False
    is_year_named = _YEAR.search(text, moment.first, moment.last) is not None
    if moment.is_date and not is_year_named and now - moment.start > _MOST_OF_A_YEAR:
        return False  # the one to come is much nearer
    is_value = _IS_VALUE.search(text[max(0, moment.first - _WINDOW) : moment.first])
    return is_value is None and _IS_SUBJECT.match(text, moment.last) is None


def _tells_what_was(text: str) -> bool:
    """Return whether a statement tells only of a state that was over when it was said."""
    parts = [read(part) for part in clauses(text) or [text]]
    told = [one for one in parts if one is not None]
    if not told or _STILL.search(text):
        return False
    return all(one.is_past and one.verb in _STATES and one.auxiliaries <= _WHILE_IT_LASTED for one in told)
