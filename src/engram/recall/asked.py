"""
Which time phrases of a question say when, and which way they point.

Called by `recall.period`; the phrases come from `text.moments`, and `recall.joining` makes one of them.
A question looks back unless it says otherwise, so bare weekdays and months are the last ones; the words
of habits point nowhere. Left out are names, and what was only spoken about: the August of "what did I
say yesterday about the trip in August?" is no time to search in.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from engram.recall.anchors import DISTANCE, counted_days
from engram.text.lazy import lazy
from engram.text.moment_rules import PAST_VERB
from engram.text.moment_words import WEEKDAYS
from engram.text.moments import Relation, find_moments

if TYPE_CHECKING:
    from datetime import datetime

    from engram.text.moments import MomentRange
    from engram.text.stretches import Direction


_AHEAD = lazy(
    r"\b(?:will|shall|going\s+to|next|upcoming|tomorrow|due|deadline|scheduled|planned|plans|coming|need\s+to|"
    r"supposed\s+to|(?:do|have)\s+(?:i|we)\s+(?:have|got|need)|am\s+i|are\s+we|is\s+there|are\s+there|"
    r"what(?:['’]s|\s+is)\s+(?:on|happening|going\s+on|coming)|"
    r"werde|werden|wird|geplant|vais|sera|prévu|voy\s+a|vamos\s+a|será|sarà|буду|будет|будем|будут)\b"
    r"|将|予定|つもり",
    re.IGNORECASE,
)
_PLANNED = lazy(r"\b(?:planned|scheduled)\b", re.IGNORECASE)
_PLANNED_FOR = lazy(r"\bplan(?:s|ned)?\s+(?:[\w']+\s+){0,3}for\b", re.IGNORECASE)
_HABIT = lazy(r"\b(?:do\s+(?:i|we|you|they)|does|usually|always|normally|typically|often)\b", re.IGNORECASE)


def direction_asked(question: str) -> Direction:
    """Return which way a bare "on Friday" points in a question: back, but for plans and habits."""
    if _PLANNED_FOR.search(question):
        return "future"
    if PAST_VERB.search(_PLANNED.sub("", question)):
        return "past"
    if _AHEAD.search(question):
        return "future"
    return "unknown" if _HABIT.search(question) else "past"


def phrases(question: str, *, now: datetime) -> list[MomentRange]:
    """Return the time phrases of a question that say when, in their order."""
    found = find_moments(question, now=now, direction=direction_asked(question))
    found = [_counted(question, moment) for moment in found if not _is_something_else(question, moment)]
    return _without_topics(question, found)


_DISTANCE = lazy(rf"\b{DISTANCE}\Z")


def _counted(question: str, moment: MomentRange) -> MomentRange:
    """Return "the week before Christmas" for the "before Christmas" in it; other phrases as they are."""
    if moment.relation not in (Relation.BEFORE, Relation.AFTER):
        return moment
    begin = max(0, moment.first - 30)
    distance = _DISTANCE.search(question[begin : moment.first])
    if distance is None:
        return moment
    is_after = moment.relation is Relation.AFTER
    first, last = counted_days(distance.groupdict(), is_after=is_after)
    day = moment.end - timedelta(days=1) if is_after else moment.start
    try:
        start, end = day + timedelta(days=first), day + timedelta(days=last)
    except OverflowError:  # a year before 1 or after 9999
        return moment
    return replace(moment, first=begin + distance.start(), start=start, end=end, relation=Relation.WITHIN)


_NOW = {"these days"}
"""What holds now may have been said long ago: no reason to look at the last days only."""
_NAME_BEFORE = lazy(r"(?:\b(?:is|the|a|plays?|named|called)|(?<=\w )[A-Z][a-z]+)\s+\Z")
_NAME_AFTER = lazy(r"\s+(?!I\b)[A-Z]")


def _is_something_else(question: str, moment: MomentRange) -> bool:
    """Say whether a phrase is a name (Black Friday, Wednesday Addams, "who is Friday?") or means now."""
    said = question[moment.first : moment.last].lower()
    if said not in WEEKDAYS:
        return said in _NOW
    before = question[max(0, moment.first - 30) : moment.first]
    return bool(_NAME_BEFORE.search(before) or _NAME_AFTER.match(question, moment.last))


_TOPIC = lazy(r"\b(?:about|regarding|concerning)\b", re.IGNORECASE)


def _without_topics(question: str, moments: list[MomentRange]) -> list[MomentRange]:
    """Leave out phrases that follow another one and say what was spoken about, or planned for."""
    kept: list[MomentRange] = []
    for moment in moments:
        if kept:
            between = question[kept[-1].last : moment.first]
            is_for = question[moment.first : moment.last].lower().startswith("for ")
            if _TOPIC.search(between) or is_for or between.rstrip().lower().endswith(" for"):
                continue
        kept.append(moment)
    return kept
