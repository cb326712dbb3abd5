"""Times anchored on events: since the release, after the move."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from engramdb.lifecycle.neighbors import FindsByWords
from engramdb.store.contract import Transaction
from engramdb.text.moment_rules import COUNT, PAST_VERB, count_of
from engramdb.text.moments import TimeRelation
from engramdb.text.normalize import lazy
from engramdb.text.terms import query_terms
from engramdb.values import Memory, Query
from engramdb.vault.indexing import index_terms

# Say when an event was that a question hangs on: "since the release", "before I moved".

LOOKED_AT = 20
"""So many memories that share words with the event are looked at."""


def happened_at(
    tx: Transaction, event: str, query: Query, *, lexical: FindsByWords, by: datetime
) -> datetime | None:
    """Return the moment of the latest memory up to `by` that holds every word of the event, if one does."""
    wanted = set(query_terms(event))
    if not wanted:
        return None
    found = lexical.search(tx, event, scope=query.scope, filters=query.filters, limit=LOOKED_AT)
    memories = tx.memories.by_keys([one.key for one in found]).values()
    moments = [one.when for one in memories if one.when <= by and _holds(one, wanted)]
    return max(moments, default=None)


def _holds(memory: Memory, wanted: set[str]) -> bool:
    return wanted <= set(index_terms(memory))


# Find the event that a question hangs its time on: "since the release", "two days after the launch".
#
# Reads the question alone and knows no dates. What it returns is the event's own words, to be looked up,
# and which days count from there. A wrong anchor costs a search and hides what was asked for, so plans
# ("what should I pack before the trip?"), habits, reasons ("since you know me") and bare nouns ("after
# work") are left alone. Other languages name events by a noun only; Chinese and Japanese not yet.

Days = tuple[int | None, int | None]
"""From which day to before which day, counted from the day of the event; none is open."""


class Anchor(Struct, frozen=True, kw_only=True):
    """An event at `first:last` of the question, with the words that relate to it, and its days."""

    first: int
    last: int
    event: str
    relation: TimeRelation
    days: Days


def find_anchor(question: str, *, taken: Sequence[tuple[int, int]] = ()) -> Anchor | None:
    """Return the first event that the question counts time from; spans that are dates are taken."""
    for pattern in _PATTERNS:
        for match in pattern.finditer(question):
            event = _event(match, taken)
            if event and _is_meant(match, event):
                relation, days = _reach(match)
                last = match.start("event") + len(event)
                return Anchor(first=match.start(), last=last, event=event, relation=relation, days=days)
    return None


_OPEN_DAYS: dict[TimeRelation, Days] = {
    TimeRelation.SINCE: (0, None),
    TimeRelation.AFTER: (0, None),
    TimeRelation.BEFORE: (None, 0),
    TimeRelation.UNTIL: (None, 0),
    TimeRelation.WITHIN: (0, 1),
}
_UNIT_DAYS = {"day": 1, "night": 1, "morning": 1, "week": 7, "month": 30, "year": 365}

DISTANCE = (
    r"(?:(?i:(?:in\s+|on\s+)?the)\s+(?:(?P<counted>(?i:two|three|four|\d{1,2}))\s+)?"
    r"(?P<unit>(?i:day|night|morning|week|month|year))(?P<several>(?i:s))?"
    rf"|(?i:{COUNT})\s+(?P<units>(?i:day|week|month|year))(?i:s)?)\s+"
)
"""The week, the two days, three months: how far before or after something."""


def counted_days(distance: dict[str, str | None], *, is_after: bool) -> tuple[int, int]:
    """
    Return the days that a distance means, counted from the day it is measured from.

    The week before is the seven days before it; two weeks before is a week around that day.
    """
    if unit := distance["unit"]:
        counted = distance["counted"] or ("several" if distance["several"] else "one")
        length = count_of(counted) * _UNIT_DAYS[unit.lower()]
        return (1, 1 + length) if is_after else (-length, 0)
    size = _UNIT_DAYS[(distance["units"] or "day").lower()]
    away = count_of((distance["count"] or "one").lower()) * size
    first = (away if is_after else -away) - size // 2
    return first, first + size


def _reach(match: re.Match[str]) -> tuple[TimeRelation, Days]:
    """Return on which side of the event what is asked for lies, and its days."""
    groups = match.groupdict()
    relation = next((side for side in TimeRelation if groups.get(side)), TimeRelation.WITHIN)
    has_distance = bool(groups.get("unit") or groups.get("units"))
    if has_distance and relation in (TimeRelation.BEFORE, TimeRelation.AFTER):
        return relation, counted_days(groups, is_after=relation is TimeRelation.AFTER)
    return relation, _OPEN_DAYS[relation]


_STOP = r"\s(?:what|who|which|where|when|why|how|and|but|or|did|do|does|have|has|can|could|should|will|would"
_PURPOSE = r"\sto\s+(?-i:(?!the\b|my\b|our\b|his\b|her\b|their\b|an?\b)[a-z])"
_AFTER_NOUN = lazy(
    rf"{_STOP}|had|is|are|was|were|like)\b|{_PURPOSE}|\s*[,;:?!\n]|\.(?:\s|\Z)|\s+\Z", re.IGNORECASE
)
_AFTER_CLAUSE = lazy(rf"{_STOP})\b|\s*[,;:?!\n]|\.(?:\s|\Z)|\s+\Z", re.IGNORECASE)
_DOING = lazy(r"[a-z]{2,}ing\b", re.IGNORECASE)
_CLAUSE = lazy(r"(?:i|we|you|he|she|they|it)\b", re.IGNORECASE)
_GERMAN_NOUN = lazy(
    r"\S+ (?:[a-zäöüß]+ ){0,3}[A-ZÄÖÜ][\w-]*(?: (?:nach|von|auf|zu|zum|zur|in|mit) (?:\w+ )?[A-ZÄÖÜ][\w-]*)?"
)
_NO_EVENT = lazy(
    r"(?:that|this|it|the|my|our|last|i|we|you|they|he|she)\Z"
    r"|(?:that|this)\s+(?:i|we|you|he|she|they)\b"
    r"|the\s+(?:beginning|start|outset|end|fact|day|days|week|month|year|night|evening|morning|afternoon)\b"
    r"|(?:last|this)\s+(?:week|month|year|night|time)\b"
    r"|(?:la\s+fin|fin|final|la\s+fine|de[rm]\s+ende|конца|начала)\b"
    r"|(?:работы|обеда|ужина|завтрака|школы|сна|этого|того)\b",
    re.IGNORECASE,
)


def _event(match: re.Match[str], taken: Sequence[tuple[int, int]]) -> str | None:
    """
    Return the words of the event, cut where the question goes on; none where they name no event.

    A name alone is none (who spoke before Anna?), nor is a habit (after training).
    """
    begin = match.start("event")
    if any(first <= begin < last for first, last in taken):
        return None
    said = match.string[begin : min([match.end("event"), *(first for first, _ in taken if first > begin)])]
    if "german" in match.groupdict():
        noun = _GERMAN_NOUN.match(said)
        return noun.group() if noun else None
    is_clause = bool(_CLAUSE.match(said))
    is_doing = bool(_DOING.match(said))
    stop = (_AFTER_CLAUSE if is_clause or is_doing else _AFTER_NOUN).search(said)
    event = (said[: stop.start()] if stop else said).rstrip()
    if is_clause and not PAST_VERB.search(event):
        return None
    is_bare = event.isalpha() and (is_doing or event.istitle()) and event not in _MOVABLE_FEASTS
    return None if is_bare or _NO_EVENT.match(event) else event


_PLAN = lazy(
    r"\b(?:should|must|shall|will|would|can|could|need|needs|have\s+to|do\s+(?:i|we|you|they)|does|usually|always|"
    r"normally|typically|often|every)\b",
    re.IGNORECASE,
)
_OTHER_SENSE = lazy(
    r"\b(?:look(?:s|ed|ing)?|named|(?:is|was|are|were)\s+called|tak(?:es?|ing)|took|ask(?:s|ed)?|run(?:s|ning)?|ran|or)\s+\Z"
    r"|\b(?:is|are|am|was|were|been|be|the|i['’]m|['’]re)\s+following\s\Z",
    re.IGNORECASE,
)


def _is_meant(match: re.Match[str], event: str) -> bool:
    """Return whether the question is about what was, and its word about time: nobody is looked after."""
    if match.groupdict().get("since"):
        return True
    question, first = match.string, match.start()
    is_following = (match.groupdict().get("after") or "").lower().startswith("following")
    word_ends = match.start("event") if is_following else first
    if _OTHER_SENSE.search(question[max(0, first - 20) : word_ends]):
        return False
    rest = question[:first] + question[match.start("event") + len(event) :]
    return not _PLAN.search(rest) or bool(PAST_VERB.search(rest))


def _pattern(sides: dict[TimeRelation, str], opening: str) -> re.Pattern[str]:
    """Return a pattern for a word of time, and an event of at most eighty characters that opens so."""
    words = "|".join(f"(?P<{relation}>(?i:{said}))" for relation, said in sides.items())
    return re.compile(rf"\b(?:{DISTANCE})?(?:{words})\s*(?P<event>{opening}[^,;:?!\n]{{0,80}})")


_MOVABLE_FEASTS = ("Easter", "Thanksgiving", "Ramadan", "Diwali", "Hanukkah")
"""Feasts that no fixed date can stand for; `text.moment_words` has the others."""

_PATTERNS = (
    _pattern(
        {
            TimeRelation.SINCE: r"(?:ever\s+)?since\s",
            TimeRelation.BEFORE: (
                r"before\s|prior\s+to\s|ahead\s+of\s|(?:leading\s+|(?:in\s+)?the\s+run[-\s]?)up\s+to\s"
            ),
            TimeRelation.AFTER: r"after\s|following\s",
            TimeRelation.UNTIL: r"until\s|till\s",
            TimeRelation.WITHIN: r"during\s|throughout\s|at\s+the\s+time\s+of\s",
        },
        r"(?:(?i:the|my|our|your|his|her|their|that|this|last|i|we|you|he|she|they|it|version)\b|[vV]\d|"
        r"(?i:(?!during|morning|evening|nothing|something|anything|everything|lightning)[a-z]{2,}ing)\b|"
        rf"(?:{'|'.join(_MOVABLE_FEASTS)})\b|[A-Z][\w-]*(?:['’]s)?\s)",
    ),
    _pattern(
        {
            TimeRelation.SINCE: r"seit\s",
            TimeRelation.BEFORE: r"vor\s",
            TimeRelation.AFTER: r"nach\s",
            TimeRelation.UNTIL: r"bis\s+(?:zu\s|(?=zum|zur))",
            TimeRelation.WITHIN: r"während\s",
        },
        r"(?P<german>(?i:de[mrns]|meine[mrs]|unsere[mrs]|eine[mrs]|zum|zur)\b)",
    ),
    _pattern(
        {
            TimeRelation.SINCE: r"depuis\s|desde\s",
            TimeRelation.BEFORE: r"avant\s|antes\s+de\s",
            TimeRelation.AFTER: r"après\s|después\s+de\s|dopo\s",
            TimeRelation.UNTIL: r"jusqu['’]à\s|hasta\s",
            TimeRelation.WITHIN: r"pendant\s|durante\s",
        },
        r"(?i:les?|la|l['’]|mon|ma|notre|el|los|las|mi|nuestr[oa]|il|lo|i|gli|mi[oa]|nostr[oa])(?<!\bi)\b",
    ),
    _pattern(
        {
            TimeRelation.BEFORE: r"prima\s+del(?:la\s|l['’]|\s)|antes\s+del\s",
            TimeRelation.AFTER: r"después\s+del\s",
        },
        r"[a-zà-ü]{4,}",
    ),
    _pattern(
        {
            TimeRelation.SINCE: r"с\s+момента\s|со\s+дня\s",
            TimeRelation.BEFORE: r"до\s",
            TimeRelation.AFTER: r"после\s",
            TimeRelation.WITHIN: r"во\s+время\s",
        },
        r"[А-Яа-яё]{4,}",
    ),
)
