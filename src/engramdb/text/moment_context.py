"""
What the words beside a time phrase make of it.

A distance is counted from it ("a week from Thursday"), something was moved to it ("from Tuesday to
Thursday"), or it tells only when something was said ("I said that wrong yesterday"). Each looks at a bounded
number of characters, so that a long text is read in linear time.
"""

from __future__ import annotations

import re

from msgspec import Struct

from engramdb.text import calendar
from engramdb.text import moment_words as words
from engramdb.text.calendar import Direction, Precision, Stretch
from engramdb.text.moment_rules import COUNT, Seen, any_of, count_of
from engramdb.text.normalize import lazy

_WINDOW = 64
"""How many characters beside a phrase are looked at."""


_TELLING_WORDS = lazy(
    r"\b(?:days?|weeks?|fortnights?|months?|years?|mov|chang|shift|postpon|push|delay|reschedul|switch|bump|slip|slid|"
    r"pull|brought|put\b|book|schedul|plan|arrang|slated|happen|takes?\b|falls?\b|starts?\b|begins?\b|ships?\b|"
    r"launch|opens?\b|closes?\b|ends?\b|goes?\b|comes?\b|lands?\b|leaves?\b|arrives?\b|fl(?:y|ies)\b|verschoben|verlegt|déplac|report|aplazad|spostat|перенес|said|mention|state|claim|explain|"
    r"note|told|inform|remind|text|messag|email|wrote|wrong|incorrect|misspoke|misstated)"
)


def has_context(lower: str) -> bool:
    """Return whether a text in small letters has any word that this module looks for: most have none."""
    return _TELLING_WORDS.search(lower) is not None


def _before(text: str, first: int) -> str:
    return text[max(0, first - _WINDOW) : first]


# A distance that is counted from a day: two weeks from Friday, three days before 5 May, Thursday week.


class CountedDay(Struct, frozen=True):
    """The day at a distance from another, and where the phrase for it begins and ends."""

    first: int
    last: int
    stretch: Stretch


_UNIT = r"(?P<unit>day|week|fortnight|month|year)s?"
_COUNTED = lazy(
    rf"\b(?:the\s+(?=day\s)|{COUNT}\s+){_UNIT}\s+(?:(?P<side>from|after|before)\s+(?:the\s+)?)?\Z",
    re.IGNORECASE,
)
_SIDE = lazy(r"(?:from|after|before)\b", re.IGNORECASE)
_LASTS = lazy(
    r"\b(?:(?<!\bset )(?<!due )(?<!booked )(?<!planned )(?<!scheduled )for|over|lasts?|lasted|takes?|"
    r"took|spen[dt]|last|past|next|another|first|every|within|up\s+to)\s+(?:about\s+|around\s+)?\Z",
    re.IGNORECASE,
)
"""For two weeks from Friday begins on Friday."""
_A_WEEK_ON = lazy(
    r"(?:\A|(?<!it )\b(?:is|are|be|due|until|till|by)\s+)(?P<said>a\s+(?P<unit>week|fortnight)\s+)\Z",
    re.IGNORECASE,
)
"""Due a week on Thursday, is a week today; not "once a week on Thursday" nor "ill a week today"."""
_ON_A_DAY = lazy(rf"(?:on\s+(?:{any_of(words.WEEKDAYS)})|today|tomorrow)\b", re.IGNORECASE)
_DAY_ALONE = lazy(
    rf"(?:(?:on|by|until|till|from)\s+)?(?:{any_of(words.WEEKDAYS)}|today|tomorrow)", re.IGNORECASE
)
_WEEK_BEHIND = lazy(
    r"\s+week(?=\s*(?:[.,;:!?)]|\Z)|\s+(?:at|in|if|for|with|and|or|but|because|so|i|we|he|she|they|you)\b)",
    re.IGNORECASE,
)
_RANGE_BEFORE = lazy(r"(?:\b(?:to|through|thru|every|each|the)\s+|[-–]\s*)\Z", re.IGNORECASE)


class _Distance(Struct, frozen=True):
    first: int
    last: int
    unit: str
    count: str = "one"
    side: str = "from"


def _distance(match: re.Match[str]) -> _Distance | None:
    """Return the distance that the words around a phrase count from it, or none."""
    text, (first, last) = match.string, match.span()
    before = _before(text, first)
    counted = _COUNTED.search(before)
    if counted is not None:
        side = counted["side"] or ((found := _SIDE.match(text, first, last)) and found.group())
        if side and not _LASTS.search(before[: counted.start()]):
            begin = first - len(before) + counted.start()
            return _Distance(
                begin, last, counted["unit"].lower(), (counted["count"] or "one").lower(), side.lower()
            )
    on_day = _A_WEEK_ON.search(before) if _ON_A_DAY.match(text, first, last) else None
    if on_day is not None:
        return _Distance(first - len(on_day["said"]), last, on_day["unit"].lower())
    week = _WEEK_BEHIND.match(text, last) if _DAY_ALONE.fullmatch(text, first, last) else None
    if week is not None and not _RANGE_BEFORE.search(before):
        return _Distance(first, week.end(), "week")
    return None


def counted_day(seen: Seen, stretch: Stretch) -> CountedDay | None:
    """Return the day that is meant where the words count a distance from the day of a phrase, or none."""
    if stretch.precision not in (Precision.DAY, Precision.PART_OF_DAY):
        return None
    said = _distance(seen.match)
    if said is None or (seen.is_asked and said.side != "from"):
        return None  # a question for two weeks before Christmas asks for the days around that
    sign = 1 if said.side == "before" else -1
    vague = next(
        (words.VAGUE_COUNTS[word] for word in said.count.split() if word in words.VAGUE_COUNTS), None
    )
    counts = vague or (count_of(said.count),)
    days = [calendar.day(calendar.moment_back(said.unit, sign * one, now=stretch.start)) for one in counts]
    if vague is None:
        return CountedDay(said.first, said.last, days[0])
    one, two = sorted(days, key=lambda day: day.start)
    return CountedDay(said.first, said.last, calendar.spanning(one, two).vague())


# What was moved to another day: the new one counts, and lies ahead though "was moved" is past.

_MOVING = (
    r"mov(?:ed?|es|ing)|changed|shift(?:ed|ing)|postpon(?:ed?|ing)|push(?:ed|ing)|delayed|reschedul(?:ed?|ing)|"
    r"switched|bumped|slipped|slid|pulled|brought\s+forward|put\s+(?:off|back)"
)
_MOVED_ABROAD = r"verschoben|verlegt|déplacée?|reportée?|aplazad[oa]|spostat[oa]|перенес\w+"
_MOVED = lazy(rf"\b(?:{_MOVING}|{_MOVED_ABROAD})\b[^.!?;]{{0,40}}\Z", re.IGNORECASE)
_DELAYED = lazy(
    r"\b(?:postpon(?:ed?|ing)|push(?:ed|ing)(?!\s+(?:up|forward))|delayed|slipped|slid|put\s+(?:off|back))\b"
    r"[^.!?;]{0,40}\Z",
    re.IGNORECASE,
)
_ARRANGED = lazy(
    r"\b(?:booked|scheduled|planned|set|slated|arranged|due|fixed)\s+(?:in\s+)?(?:for\s+|on\s+|in\s+)?\Z"
    r"|\b(?:happens?|takes?\s+place|falls?|starts?|begins?|ships?|launch(?:es)?|opens?|closes?|ends?|goes?|comes?|"
    r"lands?|leaves?|arrives?|fl(?:y|ies)|kicks?\s+off)\s+(?:[a-z]+\s+){0,3}\Z",
    re.IGNORECASE,
)
"""Words before the day that something is arranged for, whatever else happened."""
_TO = lazy(r"\bto\s+(?:\d{1,2}(?::\d\d)?\s*(?:[ap]m)?\s+)?(?:the\s+)?\Z", re.IGNORECASE)
_OPENS_NEW = lazy(r"(?:from|until|till|for)\b", re.IGNORECASE)
_IS_MOVED = lazy(
    rf"[^.!?,;]{{0,40}}\b(?:was|were|is|are|got|gets|been|being)\s+(?:{_MOVING})\b[^.!?,;]{{0,40}}\b(?:to|until|till)\b",
    re.IGNORECASE,
)


def is_moved(text: str, first: int) -> bool:
    """Return whether two dates after this place are an old and a new one: "moved from 3 to 5 June"."""
    return bool(_MOVED.search(_before(text, first)))


def is_delayed(text: str, first: int) -> bool:
    """Return whether what was moved is later now: "pushed from Friday to Tuesday" is not before Friday."""
    return bool(_DELAYED.search(_before(text, first)))


def _is_arranged(match: re.Match[str], before: str) -> bool:
    """Return whether a month or a day of one is what something is arranged for: "booked for 17 May"."""
    return bool(match.groupdict().get("month")) and _ARRANGED.search(before) is not None


def direction_beside(match: re.Match[str]) -> Direction | None:
    """
    Return which way a phrase points by the words beside it, whatever the verbs say; none if they do not tell.

    What is counted from a day lies ahead, and so does what something was moved to or is arranged for. A date
    may also be a few days behind: the nearest is meant.
    """
    distance = _distance(match)
    if distance is not None and distance.side == "from":
        return "future"
    text, (first, last) = match.string, match.span()
    before = _before(text, first)
    is_new = (_TO.search(before) or _OPENS_NEW.match(text, first, last)) and _MOVED.search(before)
    is_ahead = is_new or _IS_MOVED.match(text, last, last + 2 * _WINDOW) or _is_arranged(match, before)
    if not is_ahead:
        return None
    return "unknown" if match.groupdict().get("month") else "future"


# When something was said, which is not when it is true.

_TO_US = r"(?:you|me|us)"
_SAYING = r"said|mentioned|stated|claimed|explained|noted"
_TELLING = rf"(?:told|informed|reminded|texted|messaged|emailed)\s+{_TO_US}"
_SMALL = rf"(?:\s+(?:it|that|this|so|here|already|to\s+{_TO_US})){{0,2}}"
_SAID = rf"\b(?:(?:{_SAYING}|{_TELLING}){_SMALL}|wrote(?:\s+to)?(?:\s+{_TO_US})?)\s+\Z"
_SAID_BEFORE = lazy(_SAID, re.IGNORECASE)
_SAID_ASIDE = lazy(
    rf"(?:[,;:–—(]\s*|\b(?:as|like|what|than|whatever)\s+)(?:[\w'’]+\s+){{1,3}}{_SAID}", re.IGNORECASE
)
_MISSAID = lazy(
    rf"\b(?:(?:got|had|{_SAYING}|told\s+{_TO_US}|wrote)\s+(?:(?:it|that|this)\s+)?(?:wrong(?:ly)?|incorrectly)|"
    rf"(?:gave|told|sent)\s+{_TO_US}\s+the\s+wrong\s+[\w'’]+|misspoke|misstated\s+(?:it|that|this))"
    rf"(?:\s+(?:here|to\s+{_TO_US}))?\s+\Z",
    re.IGNORECASE,
)
_TELLS_WHAT = lazy(r"\s*[,:–—]\s*\w|\s+(?:that|i|we|he|she|they|it|our|my|the)\s+\w", re.IGNORECASE)
_SAID_BEHIND = lazy(
    rf",?\s+(?:(?:my|our|the|his|her|their)\s+)?[\w'’]+\s+(?:{_SAYING}|{_TELLING}|misspoke|wrote\s+that)"
    r"(?!\s+(?:yes|no|hi|hello|goodbye|nothing|sorry)\b)[\s,:]+\w",
    re.IGNORECASE,
)


def is_of_saying(text: str, first: int, last: int) -> bool:
    """
    Return whether the phrase at a place tells when something was said, and other words tell what.

    "The port is 5433, I said that wrong yesterday", "as I wrote on Friday, …", "she told me yesterday
    that …"; but what I told Anna yesterday, or wrote yesterday, was done then.
    """
    before, reach = _before(text, first), last + _WINDOW
    if _MISSAID.search(before) or _SAID_ASIDE.search(before) or _SAID_BEHIND.match(text, last, reach):
        return True
    return bool(_SAID_BEFORE.search(before) and _TELLS_WHAT.match(text, last, reach))
