"""
Find phrases that speak of time, and say which stretch of time they mean, seen from a given now.

Called by extraction, which makes "yesterday" a date before it is stored, and by recall, which searches a range.
The clock is an argument: days begin where `now` says that they begin, and answers are in UTC. A phrase gives a
range, not an instant ("last week" is seven days), and what is uncertain stays in words ("recently").
Our own grammar, because no library reads enough of these to lean on: docs/lab/0006-extraction.md.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

from engram.text import moment_words as words
from engram.text import stretches
from engram.text.stretches import Direction, Precision, Stretch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["MomentRange", "Precision", "Relation", "find_moments", "resolve"]

RECENT_DAYS = 14
"""How far back "recently" reaches."""


class Relation(StrEnum):
    """Where what is spoken of lies: in the stretch, or on one side of it."""

    WITHIN = "within"
    SINCE = "since"
    BEFORE = "before"
    AFTER = "after"
    UNTIL = "until"


@dataclass(frozen=True, slots=True, kw_only=True)
class MomentRange:
    """A phrase at `first:last` of the text, and the stretch it names: from `start` to before `end`."""

    first: int
    last: int
    start: datetime
    end: datetime
    precision: Precision
    relation: Relation = Relation.WITHIN
    wording: str | None = None
    """How to say it without a now, where that needs saying: "on 7 May 2026" for "yesterday"."""

    @property
    def lower(self) -> datetime | None:
        """The earliest moment that fits, or none: "before May" has no beginning."""
        if self.relation in (Relation.BEFORE, Relation.UNTIL):
            return None
        return self.end if self.relation is Relation.AFTER else self.start

    @property
    def upper(self) -> datetime | None:
        """The moment that is too late, or none: "since May" has no end."""
        if self.relation in (Relation.SINCE, Relation.AFTER):
            return None
        return self.start if self.relation is Relation.BEFORE else self.end


@dataclass(frozen=True, slots=True)
class _Seen:
    """What a rule reads: the match, from when it is seen, and which way the verbs point."""

    match: re.Match[str]
    now: datetime
    direction: Direction

    def __getitem__(self, group: str) -> str:
        """Return a group of the match in small letters, empty where there is none."""
        return " ".join((self.match.groupdict().get(group) or "").casefold().split())


_Reader: TypeAlias = "Callable[[_Seen], Stretch | None]"


def find_moments(text: str, *, now: datetime) -> list[MomentRange]:
    """Return the time phrases of a text in their order; where two overlap, the one that begins first."""
    local = now if now.tzinfo else now.replace(tzinfo=UTC)
    lower = text.lower()
    direction = _direction(lower)
    found = [
        moment
        for rule in _RULES
        if any(key in lower for key in rule.keys)
        for match in rule.pattern.finditer(text)
        if (moment := _moment(_Seen(match, local, direction), rule.read))
    ]
    found.sort(key=lambda moment: (moment.first, -moment.last))
    kept: list[MomentRange] = []
    for moment in found:
        if not kept or moment.first >= kept[-1].last:
            kept.append(moment)
    return kept


def resolve(text: str, *, now: datetime) -> tuple[str, datetime | None]:
    """Return the text with relative phrases made absolute, and the moment it is about, if it names one."""
    moments = find_moments(text, now=now)
    said, end = [], 0
    for moment in moments:
        said += [text[end : moment.first], moment.wording or text[moment.first : moment.last]]
        end = moment.last
    certain = [moment for moment in moments if moment.precision is not Precision.VAGUE]
    return "".join([*said, text[end:]]), certain[0].start if certain else None


_RELATIONS = {
    "since": Relation.SINCE,
    "before": Relation.BEFORE,
    "after": Relation.AFTER,
    "by": Relation.UNTIL,
    "until": Relation.UNTIL,
    "till": Relation.UNTIL,
}
_KEPT_PREPOSITIONS = (*_RELATIONS, "for", "from", "around")


def _moment(seen: _Seen, read: _Reader) -> MomentRange | None:
    """Return what a match means; none where it means nothing, as 30 February does."""
    try:
        stretch = read(seen)
        if stretch is None:
            return None
        start, end = stretch.start.astimezone(UTC), stretch.end.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return MomentRange(
        first=seen.match.start(),
        last=seen.match.end(),
        start=start,
        end=end,
        precision=stretch.precision,
        relation=_RELATIONS.get(seen["before"], Relation.WITHIN),
        wording=_wording(seen, stretch),
    )


def _wording(seen: _Seen, stretch: Stretch) -> str | None:
    if stretch.name is None:
        return None
    if seen["owner"]:
        return f"{stretch.name}'s"
    before = seen["before"]
    preposition = before if before in _KEPT_PREPOSITIONS else stretch.preposition
    said = f"{preposition} {stretch.name}"
    return said[0].upper() + said[1:] if seen.match.group()[0].isupper() else said


_PAST = re.compile(
    r"\b(?:was|were|did|had|went|got|took|made|saw|met|came|bought|ran|won|left|lost|broke|began|wrote|flew|gave|"
    r"found|told|said|spent|felt|heard|knew|grew|became|sold|built|quit|taught|since|last|ago|[a-z]{2,20}ed)\b"
)
_FUTURE = re.compile(
    r"\b(?:will|shall|going to|plans?|planning|wants?|hopes?|intends?|by|due|deadline|next)\b|['’]ll\b"
)


def _direction(lower: str) -> Direction:
    """Return which way a bare "on Friday" or "in March" points, as far as the words tell."""
    if _FUTURE.search(lower):
        return "future"
    return "past" if _PAST.search(lower) else "unknown"


def _on(seen: _Seen, moment: datetime) -> Stretch:
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


def _near_day(seen: _Seen) -> Stretch:
    return _on(seen, seen.now + timedelta(days=_NEAR_DAYS[seen["phrase"]]))


def _near_part(seen: _Seen) -> Stretch:
    """This morning, tonight, last night."""
    if seen["phrase"] == "last night":
        return stretches.part_of_day(seen.now - timedelta(days=1), "night")
    return stretches.part_of_day(seen.now, seen["part"] or "evening")


_STEPS = {"last": -1, "past": -1, "previous": -1, "this": 0, "next": 1, "coming": 1}


def _step(seen: _Seen) -> Stretch:
    """Last, this or next week, month, year or weekend."""
    count = _STEPS[seen["step"]]
    if seen["unit"] == "weekend":
        return stretches.weekend(seen.now + timedelta(weeks=count))
    return stretches.steps_away(seen["unit"], count, now=seen.now)


def _step_weekday(seen: _Seen) -> Stretch:
    """Last Friday is the nearest before today, next Friday that of next week, this Friday that of this week."""
    number, count = words.WEEKDAY_NUMBERS[seen["weekday"]], _STEPS[seen["step"]]
    if count < 0:
        return _on(seen, stretches.nearest_weekday(number, now=seen.now, direction="past"))
    monday = stretches.week(seen.now + timedelta(weeks=count)).start
    return _on(seen, monday + timedelta(days=number))


def _weekday(seen: _Seen) -> Stretch:
    number = words.WEEKDAY_NUMBERS[seen["weekday"]]
    found = _on(seen, stretches.nearest_weekday(number, now=seen.now, direction=seen.direction))
    return found if seen["before"] else found.unnamed()


def _step_month(seen: _Seen) -> Stretch:
    """Last March is never this month's, nor is next March."""
    number, count = words.MONTH_NUMBERS[seen["month"]], _STEPS[seen["step"]]
    if count < 0:
        year = seen.now.year - (number >= seen.now.month)
    else:
        year = seen.now.year + (count > 0 and number <= seen.now.month)
    return stretches.month(year, number, now=seen.now)


def _month(seen: _Seen) -> Stretch:
    """In March: the one that the verbs point to; where they do not tell, the words stay as they are."""
    number = words.MONTH_NUMBERS[seen["month"]]
    if seen["year"]:
        return stretches.month(int(seen["year"]), number, now=seen.now).unnamed()
    direction: Direction = "past" if seen["before"] == "since" else seen.direction
    year = stretches.nearest_year((number,), now=seen.now, direction=direction)
    found = stretches.month(year, number, now=seen.now)
    return found if direction != "unknown" else found.unnamed()


def _date(seen: _Seen) -> Stretch:
    """Return 5 May, May 5th, 5 May 2023 or 2023-05-08; without a year, the one that the verbs point to."""
    month = words.MONTH_NUMBERS.get(seen["month"]) or int(seen["month"])
    day, year = int(seen["day"]), int(seen["year"] or 0)
    year = year or stretches.nearest_year((month, day), now=seen.now, direction=seen.direction)
    return stretches.date(year, month, day, now=seen.now).unnamed()


def _year(seen: _Seen) -> Stretch:
    return stretches.year(int(seen["year"]), now=seen.now).unnamed()


def _end_of(seen: _Seen) -> Stretch:
    """The end of the week, of next month, of this year."""
    count = _STEPS.get(seen["step"], 0)
    return stretches.end_of(stretches.steps_away(seen["unit"], count, now=seen.now))


def _count(said: str) -> int:
    last = said.removesuffix(" of").split()[-1]
    return int(last) if last.isdigit() else words.COUNTS[last]


def _ago(seen: _Seen) -> Stretch:
    return _distance(seen, -_count(seen["count"] or "one"))


def _ahead(seen: _Seen) -> Stretch:
    return _distance(seen, _count(seen["count"] or "one"))


def _distance(seen: _Seen, count: int) -> Stretch:
    found = stretches.steps_away(words.UNITS[seen["unit"]], count, now=seen.now)
    return found.vague() if words.VAGUE_COUNTS.intersection(seen["count"].split()) else found


def _ago_unnamed(seen: _Seen) -> Stretch:
    return _ago(seen).unnamed()


def _ahead_unnamed(seen: _Seen) -> Stretch:
    return _ahead(seen).unnamed()


def _past_stretch(seen: _Seen) -> Stretch:
    """The last three days, the past two weeks: up to now."""
    unit, count = words.UNITS[seen["unit"]], _count(seen["count"])
    start = stretches.steps_away("day", -count * {"day": 1, "week": 7, "month": 30, "year": 365}[unit], now=seen.now)
    return Stretch(start.start, seen.now, Precision.VAGUE)


def _recently(seen: _Seen) -> Stretch:
    return Stretch(seen.now - timedelta(days=RECENT_DAYS), seen.now, Precision.VAGUE)


_GERMAN = re.compile(r"\b(?:ich|ist|und|der|die|das|wir|bin|sind|nicht|es)\b", re.IGNORECASE)
_MORNING = re.compile(r"\b(?:la|cada|esta|una|guten|jeden|am|heute|gestern)\s+\Z", re.IGNORECASE)


def _set_phrase(seen: _Seen) -> Stretch | None:
    """Hier is yesterday in French and here in German; mañana and morgen are also the morning."""
    phrase, text = seen["phrase"].replace("’", "'"), seen.match.string
    if phrase == "hier" and _GERMAN.search(text):
        return None
    if phrase in ("mañana", "morgen") and _MORNING.search(text[max(0, seen.match.start() - 12) : seen.match.start()]):
        return None
    unit, count = words.SET_PHRASES.get(phrase) or words.UNSPACED_PHRASES[phrase]
    return stretches.steps_away(unit, count, now=seen.now).unnamed()


_BEFORE = r"(?:(?P<before>since|before|after|by|until|till|on|in|for|from|around|at)\s+)?"
_BEFORE_MONTH = r"(?P<before>since|before|after|by|until|till|in|from|during|around)\s+"
_PART = r"(?:\s+(?P<part>morning|afternoon|evening|night))?"
_OWNER = r"(?P<owner>['’]s)?"
_STEP = r"(?P<step>last|past|previous|this|next|coming)"
_WEEKDAY = r"(?P<weekday>" + "|".join(words.WEEKDAYS) + ")"
_ANY_MONTH = "|".join(sorted(words.MONTH_NUMBERS, key=len, reverse=True))
_ENGLISH = [name.lower() for name in words.MONTHS]
_ENGLISH_MONTH = "|".join(_ENGLISH)
_TIME_UNITS = "minute hour day week month year"
_COUNT = r"(?P<count>\d{1,3}|a couple of|a few|several|an?|one|two|three|four|five|six|seven|eight|nine|ten|twelve)"
_UNIT = r"(?P<unit>minute|hour|day|week|month|year)s?"
_NOT_EVERY = r"(?<!every )(?<!each )(?<!any )(?<!most )"


@dataclass(frozen=True, slots=True)
class _Rule:
    """A pattern, what it means, and words of which one must be in the text for the pattern to be tried."""

    pattern: re.Pattern[str]
    read: _Reader
    keys: tuple[str, ...]


def _rule(keys: str | Iterable[str], read: _Reader, pattern: str) -> _Rule:
    """Return a rule. Looking for the keys first costs a hundredth of trying every pattern at every letter."""
    every = keys.split() if isinstance(keys, str) else keys
    return _Rule(re.compile(pattern, re.IGNORECASE), read, tuple(every))


def _foreign(frame: tuple[str, str], read: _Reader) -> _Rule:
    """Return the rule of a frame like `vor COUNT UNIT`, tried where the frame's own word is."""
    counts = "|".join(sorted(words.COUNTS, key=len, reverse=True))
    units = "|".join(sorted(words.UNITS, key=len, reverse=True))
    key, pattern = frame
    return _rule([key], read, pattern.replace("COUNT", rf"\d{{1,3}}|{counts}").replace("UNIT", units))


def _any_of(phrases: Iterable[str]) -> str:
    """Return a pattern for any of these, the longest first."""
    longest_first = sorted(phrases, key=len, reverse=True)
    return "|".join(re.escape(phrase).replace("'", "['’]") for phrase in longest_first)


_RULES = (
    _rule(
        "yesterday tomorrow",
        _near_day,
        rf"\b{_BEFORE}(?P<phrase>(?:the\s+)?day\s+(?:before\s+yesterday|after\s+tomorrow))\b",
    ),
    _rule("today yesterday tomorrow", _near_day, rf"\b{_BEFORE}(?P<phrase>today|yesterday|tomorrow)\b{_OWNER}{_PART}"),
    _rule(
        "tonight night this",
        _near_part,
        rf"\b{_BEFORE}(?P<phrase>tonight|last\s+night|this\s+(?P<part>morning|afternoon|evening))\b",
    ),
    _rule(_STEPS, _step, rf"\b{_BEFORE}(?:the\s+)?{_STEP}\s+(?P<unit>weekend|week|month|year)\b{_OWNER}"),
    _rule("day", _step_weekday, rf"\b{_BEFORE}{_STEP}\s+{_WEEKDAY}\b{_OWNER}{_PART}"),
    _rule(words.WEEKDAYS, _weekday, rf"{_NOT_EVERY}\b{_BEFORE}{_WEEKDAY}\b{_PART}"),
    _rule(_ENGLISH, _step_month, rf"\b{_BEFORE}{_STEP}\s+(?P<month>{_ENGLISH_MONTH})\b"),
    _rule(_ENGLISH, _month, rf"\b{_BEFORE_MONTH}(?P<month>{_ENGLISH_MONTH})\b(?!\s+\d)"),
    _rule(_ENGLISH, _month, rf"\b{_BEFORE}(?P<month>{_ENGLISH_MONTH})\s+(?:of\s+)?(?P<year>\d{{4}})\b"),
    _rule(
        words.MONTH_NUMBERS,
        _date,
        rf"\b{_BEFORE}(?:the\s+)?(?P<day>\d{{1,2}})(?:st|nd|rd|th|\.|er)?\s+(?:of\s+|de\s+)?(?P<month>{_ANY_MONTH})\b"
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
    _rule("19 20", _year, r"\b(?P<before>since|before|after|by|until|in|during|from)\s+(?P<year>(?:19|20)\d\d)\b"),
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
    _rule(words.SET_PHRASE_KEYS, _set_phrase, rf"(?<![\w'’-])(?P<phrase>{_any_of(words.SET_PHRASES)})(?![\w-])"),
    _rule(words.UNSPACED_PHRASES, _set_phrase, f"(?P<phrase>{_any_of(words.UNSPACED_PHRASES)})"),
    *(_foreign(frame, _ago_unnamed) for frame in words.AGO_FRAMES),
    *(_foreign(frame, _ahead_unnamed) for frame in words.AHEAD_FRAMES),
)
