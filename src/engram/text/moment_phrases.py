"""
The phrases that speak of time, and what each of them means.

Used by `moments`, which puts the pieces together. A rule is a pattern, the words of which one must be in the
text for it to be tried, and a function from what was matched to a stretch of the calendar. Only English
phrases get new words; a phrase in another language is understood and left as it is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, TypeAlias

from engram.text import moment_words as words
from engram.text import stretches
from engram.text.stretches import Direction, Precision, Stretch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

RECENT_DAYS = 14
"""How far back "recently" reaches."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What a rule reads: the match, from when it is seen, and which way the verbs point."""

    match: re.Match[str]
    now: datetime
    direction: Direction

    def __getitem__(self, group: str) -> str:
        """Return a group of the match in small letters, empty where there is none."""
        return " ".join((self.match.groupdict().get(group) or "").casefold().split())


Reader: TypeAlias = "Callable[[Seen], Stretch | None]"


_PAST = re.compile(
    r"\b(?:was|were|did|had|went|got|took|made|saw|met|came|bought|ran|won|left|lost|broke|began|wrote|"
    r"flew|gave|found|told|said|spent|felt|heard|knew|grew|became|sold|built|quit|taught|since|last|ago|"
    r"(?!need|feed|speed|indeed|embed)[a-z]{2,20}ed)\b"
)
_FUTURE = re.compile(
    r"\b(?:will|shall|going to|plans?|planning|wants?|hopes?|intends?|would|by|due|deadline|next|(?:decided|"
    r"agreed|promised) to)\b"
    r"|['’](?:ll|d)\b"
)


def direction_of(lower: str) -> Direction:
    """Return which way a bare "on Friday" or "in March" points, as far as the words tell."""
    if _FUTURE.search(lower):
        return "future"
    return "past" if _PAST.search(lower) else "unknown"


def _on(seen: Seen, moment: datetime) -> Stretch:
    """Return the day, or the part of it that the phrase names."""
    return stretches.part_of_day(moment, seen["part"]) if seen["part"] else stretches.day(moment)


_NEAR_DAYS = {
    "the day before yesterday": -2,
    "day before yesterday": -2,
    "yesterday": -1,
    "today": 0,
    "tomorrow": 1,
    "day after tomorrow": 2,
    "the day after tomorrow": 2,
}


def _near_day(seen: Seen) -> Stretch:
    return _on(seen, seen.now + timedelta(days=_NEAR_DAYS[seen["phrase"]]))


def _near_part(seen: Seen) -> Stretch:
    """This morning, tonight, last night."""
    if seen["phrase"] == "last night":
        return stretches.part_of_day(seen.now - timedelta(days=1), "night")
    return stretches.part_of_day(seen.now, seen["part"] or "evening")


_STEPS = {"last": -1, "past": -1, "previous": -1, "this": 0, "next": 1, "coming": 1}


def _step(seen: Seen) -> Stretch:
    """Last, this or next week, month, year or weekend."""
    count = _STEPS[seen["step"]]
    if seen["unit"] == "weekend":
        return stretches.weekend(seen.now + timedelta(weeks=count))
    return stretches.steps_away(seen["unit"], count, now=seen.now)


def _season(seen: Seen) -> Stretch:
    """Last summer is the nearest that has begun before this one; seasons are those of the northern half."""
    first_month, count = words.SEASONS[seen["season"]], _STEPS[seen["step"]]
    this_year = stretches.season(seen.now.year, first_month, now=seen.now)
    if count < 0:
        year = seen.now.year - (this_year.end > seen.now)
    else:
        year = seen.now.year + (count > 0 and this_year.start <= seen.now)
    return stretches.season(year, first_month, now=seen.now)


def _step_weekday(seen: Seen) -> Stretch:
    """Last Friday is the nearest before today; next Friday is next week's, this Friday this week's."""
    number, count = words.WEEKDAY_NUMBERS[seen["weekday"]], _STEPS[seen["step"]]
    if count < 0:
        return _on(seen, stretches.nearest_weekday(number, now=seen.now, direction="past"))
    monday = stretches.week(seen.now + timedelta(weeks=count)).start
    return _on(seen, monday + timedelta(days=number))


_EVERY = re.compile(r"\b(?:every|each|most)\s[\w, ]{0,40}\Z", re.IGNORECASE)


def _weekday(seen: Seen) -> Stretch | None:
    """On Friday; every Friday is no moment, nor is the Friday of "every Tuesday and Friday"."""
    if _EVERY.search(seen.match.string[max(0, seen.match.start() - 60) : seen.match.start()]):
        return None
    number = words.WEEKDAY_NUMBERS[seen["weekday"]]
    found = _on(seen, stretches.nearest_weekday(number, now=seen.now, direction=seen.direction))
    return found if seen["before"] else found.unnamed()


def _step_month(seen: Seen) -> Stretch:
    """Last March is never this month's, nor is next March."""
    number, count = words.MONTH_NUMBERS[seen["month"]], _STEPS[seen["step"]]
    if count < 0:
        year = seen.now.year - (number >= seen.now.month)
    else:
        year = seen.now.year + (count > 0 and number <= seen.now.month)
    return stretches.month(year, number, now=seen.now)


def _month(seen: Seen) -> Stretch:
    """In March: the one that the verbs point to; where they do not tell, the words stay as they are."""
    number = words.MONTH_NUMBERS[seen["month"]]
    if seen["year"]:
        return stretches.month(int(seen["year"]), number, now=seen.now).unnamed()
    direction: Direction = "past" if seen["before"] == "since" else seen.direction
    year = stretches.nearest_year((number,), now=seen.now, direction=direction)
    found = stretches.month(year, number, now=seen.now)
    return found if direction != "unknown" else found.unnamed()


def _date(seen: Seen) -> Stretch:
    """Return 5 May, May 5th, 5 May 2023 or 2023-05-08; without a year, the one that the verbs point to."""
    month = words.MONTH_NUMBERS.get(seen["month"]) or int(seen["month"])
    day, year = int(seen["day"]), int(seen["year"] or 0)
    year = year or stretches.nearest_year((month, day), now=seen.now, direction=seen.direction)
    return stretches.date(year, month, day, now=seen.now).unnamed()


def _year(seen: Seen) -> Stretch:
    return stretches.year(int(seen["year"]), now=seen.now).unnamed()


def _end_of(seen: Seen) -> Stretch:
    """The end of the week, of next month, of this year."""
    count = _STEPS.get(seen["step"], 0)
    return stretches.end_of(stretches.steps_away(seen["unit"], count, now=seen.now))


def _count(said: str) -> int:
    last = said.removesuffix(" of").split()[-1]
    return int(last) if last.isdigit() else words.COUNTS[last]


def _ago(seen: Seen) -> Stretch:
    return _distance(seen, -_count(seen["count"] or "one"))


def _ahead(seen: Seen) -> Stretch:
    return _distance(seen, _count(seen["count"] or "one"))


def _distance(seen: Seen, count: int) -> Stretch:
    found = stretches.steps_away(words.UNITS[seen["unit"]], count, now=seen.now)
    return found.vague() if words.VAGUE_COUNTS.intersection(seen["count"].split()) else found


def _ago_unnamed(seen: Seen) -> Stretch:
    return _ago(seen).unnamed()


def _ahead_unnamed(seen: Seen) -> Stretch:
    return _ahead(seen).unnamed()


def _past_stretch(seen: Seen) -> Stretch:
    """The last three days, the past two weeks: up to now."""
    unit, count = words.UNITS[seen["unit"]], _count(seen["count"])
    start = stretches.steps_away(
        "day", -count * {"day": 1, "week": 7, "month": 30, "year": 365}[unit], now=seen.now
    )
    return Stretch(start.start, seen.now, Precision.VAGUE)


def _recently(seen: Seen) -> Stretch:
    return Stretch(seen.now - timedelta(days=RECENT_DAYS), seen.now, Precision.VAGUE)


_GERMAN = re.compile(r"\b(?:ich|ist|und|der|die|das|wir|bin|sind|nicht|es)\b", re.IGNORECASE)
_MORNING = re.compile(r"\b(?:la|cada|esta|una|guten|jeden|am|heute|gestern)\s+\Z", re.IGNORECASE)


def _set_phrase(seen: Seen) -> Stretch | None:
    """Hier is yesterday in French and here in German; mañana and morgen are also the morning."""
    phrase, text = seen["phrase"].replace("’", "'"), seen.match.string
    if phrase == "hier" and _GERMAN.search(text):
        return None
    if phrase in ("mañana", "morgen") and _MORNING.search(
        text[max(0, seen.match.start() - 12) : seen.match.start()]
    ):
        return None
    unit, count = words.SET_PHRASES.get(phrase) or words.UNSPACED_PHRASES[phrase]
    return stretches.steps_away(unit, count, now=seen.now).unnamed()


_BEFORE = r"(?:(?P<before>since|before|after|by|until|till|on|in|for|from|around|at)\s+)?"
_BEFORE_MONTH = r"(?P<before>since|before|after|by|until|till|in|from|during|around)\s+"
_PART = r"(?:\s+(?P<part>morning|afternoon|evening|night))?"
_OWNER = r"(?P<owner>['’]s)?"
_STEP = r"(?P<step>last|past|previous|this|next|coming)"
_WEEKDAY = r"(?P<weekday>" + "|".join(words.WEEKDAYS) + ")"
_ANY_WEEKDAY = r"(?P<weekday>" + "|".join(words.WEEKDAYS) + r"|mon|tues?|wed|thu|thurs?|fri|sat|sun)"
_ANY_MONTH = "|".join(sorted(words.MONTH_NUMBERS, key=len, reverse=True))
_ENGLISH = [name.lower() for name in words.MONTHS]
_ENGLISH_MONTH = "|".join(_ENGLISH)
_TIME_UNITS = "minute hour day week month year"
_COUNT = (
    r"(?P<count>\d{1,3}|a couple of|a few|several|an?|one|two|three|four|five|six|seven|eight|nine|ten|"
    r"eleven|twelve)"
)
_UNIT = r"(?P<unit>minute|hour|day|week|month|year)s?"
_NOT_EVERY = r"(?<!every )(?<!each )(?<!any )(?<!most )"


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern, what it means, and words of which one must be in the text for the pattern to be tried."""

    pattern: re.Pattern[str]
    read: Reader
    keys: tuple[str, ...]


def _rule(keys: str | Iterable[str], read: Reader, pattern: str) -> Rule:
    """Return a rule. Looking for the keys first costs a hundredth of trying every pattern at every letter."""
    every = keys.split() if isinstance(keys, str) else keys
    return Rule(re.compile(pattern, re.IGNORECASE), read, tuple(every))


def _foreign(frame: tuple[str, str], read: Reader) -> Rule:
    """Return the rule of a frame like `vor COUNT UNIT`, tried where the frame's own word is."""
    counts = "|".join(sorted(words.COUNTS, key=len, reverse=True))
    units = "|".join(sorted(words.UNITS, key=len, reverse=True))
    key, pattern = frame
    return _rule([key], read, pattern.replace("COUNT", rf"\d{{1,3}}|{counts}").replace("UNIT", units))


def _any_of(phrases: Iterable[str]) -> str:
    """Return a pattern for any of these, the longest first."""
    longest_first = sorted(phrases, key=len, reverse=True)
    return "|".join(re.escape(phrase).replace("'", "['’]") for phrase in longest_first)


RULES = (
    _rule(
        "yesterday tomorrow",
        _near_day,
        rf"\b{_BEFORE}(?P<phrase>(?:the\s+)?day\s+(?:before\s+yesterday|after\s+tomorrow))\b",
    ),
    _rule(
        "today yesterday tomorrow",
        _near_day,
        rf"\b{_BEFORE}(?P<phrase>today|yesterday|tomorrow)\b{_OWNER}{_PART}",
    ),
    _rule(
        "tonight night this",
        _near_part,
        rf"\b{_BEFORE}(?P<phrase>tonight|last\s+night|this\s+(?P<part>morning|afternoon|evening))\b",
    ),
    _rule(_STEPS, _step, rf"\b{_BEFORE}(?:the\s+)?{_STEP}\s+(?P<unit>weekend|week|month|year)\b{_OWNER}"),
    _rule(
        words.SEASONS,
        _season,
        rf"\b{_BEFORE}(?:the\s+)?{_STEP}\s+(?P<season>{_any_of(words.SEASONS)})\b{_OWNER}",
    ),
    _rule(_STEPS, _step_weekday, rf"\b{_BEFORE}{_STEP}\s+{_ANY_WEEKDAY}\b{_OWNER}{_PART}"),
    _rule(words.WEEKDAYS, _weekday, rf"{_NOT_EVERY}\b{_BEFORE}{_WEEKDAY}\b{_PART}"),
    _rule(_ENGLISH, _step_month, rf"\b{_BEFORE}{_STEP}\s+(?P<month>{_ENGLISH_MONTH})\b"),
    _rule(_ENGLISH, _month, rf"\b{_BEFORE_MONTH}(?P<month>{_ENGLISH_MONTH})\b(?!\s+\d)"),
    _rule(_ENGLISH, _month, rf"\b{_BEFORE}(?P<month>{_ENGLISH_MONTH})\s+(?:of\s+)?(?P<year>\d{{4}})\b"),
    _rule(
        words.MONTH_NUMBERS,
        _date,
        rf"\b{_BEFORE}(?:the\s+)?(?P<day>\d{{1,2}})(?:st|nd|rd|th|\.|er)?\s+(?:of\s+|"
        rf"de\s+)?(?P<month>{_ANY_MONTH})\b"
        r"(?:,?\s+(?:de\s+)?(?P<year>\d{4})\b)?",
    ),
    _rule(
        words.MONTH_NUMBERS,
        _date,
        rf"\b{_BEFORE}(?P<month>{_ANY_MONTH})\.?\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b(?!:)"
        r"(?:,?\s+(?P<year>\d{4})\b)?",
    ),
    _rule("-", _date, rf"\b{_BEFORE}(?P<year>\d{{4}})-(?P<month>\d{{1,2}})-(?P<day>\d{{1,2}})\b"),
    _rule("年", _date, r"(?P<year>\d{4})年(?P<month>\d{1,2})月(?P<day>\d{1,2})[日号]"),
    _rule(
        "19 20",
        _year,
        r"\b(?P<before>since|before|after|by|until|in|during|from)\s+(?P<year>(?:19|20)\d\d)\b",
    ),
    _rule(
        ["end of"],
        _end_of,
        rf"\b{_BEFORE}(?:the\s+)?end\s+of\s+(?:the\s+)?(?:{_STEP}\s+)?(?P<unit>week|month|year)\b",
    ),
    _rule("ago", _ago, rf"\b(?:(?P<before>since|about|around)\s+)?{_COUNT}\s+{_UNIT}\s+ago\b"),
    _rule(_TIME_UNITS, _ahead, rf"\bin\s+{_COUNT}\s+{_UNIT}\b(?:['’]\s+time\b)?(?!\s+of\b)"),
    _rule(["from now"], _ahead, rf"\b{_COUNT}\s+{_UNIT}\s+from\s+now\b"),
    _rule(
        _TIME_UNITS,
        _past_stretch,
        rf"\b(?:in|over|for|during)\s+the\s+(?:last|past)\s+{_COUNT}\s+(?P<unit>day|week|month|year)s?\b",
    ),
    _rule("recently lately these", _recently, r"\b(?:recently|lately|these\s+days)\b"),
    _rule(
        words.SET_PHRASE_KEYS, _set_phrase, rf"(?<![\w'’-])(?P<phrase>{_any_of(words.SET_PHRASES)})(?![\w-])"
    ),
    _rule(words.UNSPACED_PHRASES, _set_phrase, f"(?P<phrase>{_any_of(words.UNSPACED_PHRASES)})"),
    *(_foreign(frame, _ago_unnamed) for frame in words.AGO_FRAMES),
    *(_foreign(frame, _ahead_unnamed) for frame in words.AHEAD_FRAMES),
)
