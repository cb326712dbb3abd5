"""English time phrases: days, weeks, months, and distances from now."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from msgspec.structs import replace

from engramdb.text import calendar
from engramdb.text import moment_words as words
from engramdb.text.calendar import Direction, Precision, Stretch
from engramdb.text.moment_rules import (
    BEFORE,
    COUNT,
    ENGLISH_MONTH,
    ENGLISH_MONTHS,
    NOT_EVERY,
    OWNER,
    PART,
    PREPOSITION,
    RELATING,
    SHORT_MONTH,
    SHORT_MONTHS,
    STEP,
    STEPS,
    TIME_UNITS,
    UNIT,
    YEAR_DIGITS,
    Seen,
    any_of,
    count_of,
    month_number,
    rule,
    rule_by_piece,
    year_said,
)
from engramdb.text.normalize import lazy

# The English phrases for days, weeks, months and years near now.
#
# Each rule reads one shape of phrase; what it means is arithmetic in `calendar`. A phrase that needs a now
# to be understood gets a name that does not; one that is absolute or vague keeps its words.


def on_day(seen: Seen, moment: datetime) -> Stretch:
    """Return the day, or the part of it that the phrase names."""
    return calendar.part_of_day(moment, seen["part"]) if seen["part"] else calendar.day(moment)


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
    return on_day(seen, seen.now + timedelta(days=_NEAR_DAYS[seen["phrase"]]))


def _near_part(seen: Seen) -> Stretch:
    """This morning, tonight, last night."""
    if seen["phrase"] == "last night":
        return calendar.part_of_day(seen.now - timedelta(days=1), "night")
    return calendar.part_of_day(seen.now, seen["part"] or "evening")


def _edge_of_today(seen: Seen) -> Stretch:
    """Earlier this week ends now; later this week, or the rest of it, begins now."""
    found = calendar.steps_away(seen["unit"] or seen["unit2"] or "day", 0, now=seen.now)
    edge = "later" if seen["rest"] or seen["edge"] == "later" else "earlier"
    found = replace(found, preposition=f"{edge} {found.preposition}")
    return replace(found, start=seen.now) if edge == "later" else replace(found, end=seen.now)


def _step(seen: Seen) -> Stretch:
    """Last, this or next week, month, year or weekend."""
    return calendar.steps_away(seen["unit"], STEPS[seen["step"]], now=seen.now)


def _before_last(seen: Seen) -> Stretch:
    """The week before last, the Saturday before last."""
    if seen["weekday"]:
        number = words.WEEKDAY_NUMBERS[seen["weekday"]]
        last = calendar.nearest_weekday(number, now=seen.now, direction="past")
        return calendar.day(last - timedelta(weeks=1))
    return calendar.steps_away(seen["unit"], -2, now=seen.now)


def _after_next(seen: Seen) -> Stretch:
    """The week after next; next Friday is next week's, so the one after it is a week later."""
    if seen["weekday"]:
        monday = calendar.steps_away("week", 2, now=seen.now).start
        return calendar.day(monday + timedelta(days=words.WEEKDAY_NUMBERS[seen["weekday"]]))
    return calendar.steps_away(seen["unit"], 2, now=seen.now)


def _weekend(seen: Seen) -> Stretch | None:
    """Over the weekend: the one that the verbs point to; where they do not tell, it may be any."""
    if seen.direction == "unknown":
        return None
    return calendar.nearest_weekend(now=seen.now, direction=seen.direction)


def _season(seen: Seen) -> Stretch:
    """Last summer, next spring; seasons are those of the northern half."""
    return calendar.season_away(words.SEASONS[seen["season"]], STEPS[seen["step"]], now=seen.now)


_OF_A_MONTH = lazy(rf"\s+(?:of\b|in\s+(?:(?:the|a|any|each|every)\s+month|{SHORT_MONTH})\b)", re.IGNORECASE)
"""The last Friday of every month is none of them, that of October is read as one."""


def _step_weekday(seen: Seen) -> Stretch | None:
    """Last Friday is the nearest before today; next Friday is next week's, this Friday this week's."""
    number, count = words.WEEKDAY_NUMBERS[seen["weekday"]], STEPS[seen["step"]]
    if _OF_A_MONTH.match(seen.match.string, seen.match.end()):
        return None
    if count < 0:
        return on_day(seen, calendar.nearest_weekday(number, now=seen.now, direction="past"))
    monday = calendar.week(seen.now + timedelta(weeks=count)).start
    return on_day(seen, monday + timedelta(days=number))


_EVERY = lazy(
    r"\b(?:(?:every|each|most)\s[\w, ]{0,40}|(?:once|twice|times)\s+an?\s+(?:week|month)\s+)\Z", re.IGNORECASE
)
_WHICHEVER = lazy(
    r"\b(?:the|that|same|other|following|first|second|third|fourth|fifth|last|1st|2nd|3rd|4th|5th)\s+\Z",
    re.IGNORECASE,
)


def _weekday(seen: Seen) -> Stretch | None:
    """
    On Friday; every Friday is no moment, nor is the Friday of "every Tuesday and Friday".

    The Friday is that of a week of which was spoken before, which the words do not tell.
    """
    text, first = seen.match.string, seen.match.start()
    if _EVERY.search(text[max(0, first - 60) : first]):
        return None
    is_known = seen.is_asked or not _WHICHEVER.search(text[max(0, first - 12) : seen.match.start("weekday")])
    if not is_known:
        return None
    number = words.WEEKDAY_NUMBERS[seen["weekday"]]
    direction: Direction = "past" if seen["before"] == "since" else seen.direction
    found = on_day(seen, calendar.nearest_weekday(number, now=seen.now, direction=direction))
    return found if seen["before"] else found.unnamed()


_NAMED_DAY = lazy(r"\b(?:ash|black|casual|cyber|easter|fat|giving|good|holy|palm|super)\s+\Z", re.IGNORECASE)
_JOINED_DAY = lazy(
    rf"\b(?:{any_of(words.WEEKDAYS)})s?(?:\s*[-–,/]\s*|\s+(?:to|through|thru|and|or)\s+)\Z", re.IGNORECASE
)
_ENDS_WITH_DAY = lazy(r"\s*(?:[.,;:!?)]|\Z)|\s+(?:at|if|because|but|so|before|after|when)\b", re.IGNORECASE)


def stands_for_a_day(seen: Seen) -> bool:
    """Return whether a weekday without a preposition is a day: not Black Friday, nor Friday meetings."""
    text, first = seen.match.string, seen.match.start()
    before = text[max(0, first - 24) : first]
    if _NAMED_DAY.search(before) or _JOINED_DAY.search(before):
        return False
    return bool(seen["part"] or _ENDS_WITH_DAY.match(text, seen.match.end()))


def _step_month(seen: Seen) -> Stretch:
    """Last March is never this month's, nor is next March."""
    number, count = month_number(seen["month"]), STEPS[seen["step"]]
    if count < 0:
        year = seen.now.year - (number >= seen.now.month)
    else:
        year = seen.now.year + (count > 0 and number <= seen.now.month)
    return calendar.month(year, number, now=seen.now)


def month_of(seen: Seen) -> Stretch:
    """In March: the one that the verbs point to; where they do not tell, the words stay as they are."""
    number = month_number(seen["month"])
    if seen["year"]:
        return calendar.month(year_said(seen), number, now=seen.now).unnamed()
    direction: Direction = "past" if seen["before"] == "since" else seen.direction
    year = calendar.nearest_year((number,), now=seen.now, direction=direction)
    found = calendar.month(year, number, now=seen.now)
    return found if direction != "unknown" else found.unnamed()


def year_of(seen: Seen) -> Stretch:
    """In 2019."""
    return calendar.year(year_said(seen), now=seen.now).unnamed()


def _end_of(seen: Seen) -> Stretch:
    """The end of the week or of next month is a day; what was at the end of it is less exact."""
    whole = calendar.steps_away(seen["unit"], STEPS.get(seen["step"], 0), now=seen.now)
    last_day = calendar.end_of(whole)
    if seen["before"] in ("at", "around"):
        return replace(last_day, start=calendar.portion(whole, 3, of=3).start)
    return last_day


_WEEKDAY = rf"(?P<weekday>{any_of(words.WEEKDAYS)})"
_SHORT_WEEKDAYS = ("mon", "tue", "tues", "wed", "thu", "thur", "thurs", "fri", "sat", "sun")
_ANY_WEEKDAY = rf"(?P<weekday>{any_of((*words.WEEKDAYS, *_SHORT_WEEKDAYS))})"
_BEFORE_MONTH = rf"(?P<before>{RELATING}|in|from|during|around|throughout)\s+"

PHRASE_RULES = (
    rule(
        "yesterday tomorrow",
        _near_day,
        rf"\b{BEFORE}(?P<phrase>(?:the\s+)?day\s+(?:before\s+yesterday|after\s+tomorrow))\b",
    ),
    rule(
        "today yesterday tomorrow",
        _near_day,
        rf"\b{BEFORE}(?P<phrase>today|yesterday|tomorrow)\b{OWNER}{PART}",
    ),
    rule(
        "tonight night this",
        _near_part,
        rf"\b{BEFORE}(?P<phrase>tonight|last\s+night|this\s+(?P<part>morning|afternoon|evening))\b",
    ),
    rule(
        "earlier later far rest remainder",
        _edge_of_today,
        r"\b(?:(?P<edge>earlier|later|so\s+far)\s+(?:today|this\s+(?P<unit>week|month|year))|"
        r"(?:the\s+)?(?P<rest>rest|remainder)\s+of\s+(?:today|(?:the|this)\s+(?P<unit2>day|week|month|year)))\b",
    ),
    rule(
        "before",
        _before_last,
        rf"\b{BEFORE}(?:the\s+)?(?:(?P<unit>weekend|week|month|year)|{_WEEKDAY})\s+before\s+last\b",
    ),
    rule(
        "after",
        _after_next,
        rf"\b{BEFORE}(?:the\s+)?(?:(?P<unit>weekend|week|month|year)|{_WEEKDAY})\s+after\s+next\b",
    ),
    rule("weekend", _weekend, rf"\b(?P<before>{RELATING}|over|at|on|during)\s+the\s+weekend\b"),
    rule(
        "weekend week month year",
        _step,
        rf"\b{BEFORE}(?:the\s+)?{STEP}\s+(?P<unit>weekend|week|month|year)\b{OWNER}",
    ),
    rule(
        words.SEASONS,
        _season,
        rf"\b{BEFORE}(?:the\s+)?{STEP}\s+(?P<season>{any_of(words.SEASONS)})\b{OWNER}",
    ),
    rule(
        (*words.WEEKDAYS, *_SHORT_WEEKDAYS),
        _step_weekday,
        rf"\b{BEFORE}{STEP}\s+{_ANY_WEEKDAY}\b{OWNER}{PART}",
    ),
    rule(
        words.WEEKDAYS,
        _weekday,
        rf"{NOT_EVERY}\b(?:(?P<before>{PREPOSITION})\s+(?:the\s+)?)?{_WEEKDAY}\b{PART}",
    ),
    rule(ENGLISH_MONTHS, _step_month, rf"\b{BEFORE}{STEP}\s+(?P<month>{ENGLISH_MONTH})\b"),
    rule(
        SHORT_MONTHS,
        month_of,
        rf"\b{_BEFORE_MONTH}(?:the\s+month\s+of\s+)?(?P<month>{SHORT_MONTH})(?!\s+\d)(?!\w)",
    ),
    rule(
        SHORT_MONTHS,
        month_of,
        rf"\b{BEFORE}(?P<month>{SHORT_MONTH}),?\s+(?:of\s+)?(?P<year>{YEAR_DIGITS})\b",
    ),
    rule_by_piece("-", month_of, rf"\b{_BEFORE_MONTH}(?P<year>\d{{4}})-(?P<month>\d{{2}})\b(?!-)"),
    rule_by_piece(
        "19 20",
        year_of,
        rf"\b(?P<before>{RELATING}|in|during|from|throughout|around)\s+(?:the\s+year\s+)?(?P<year>{YEAR_DIGITS})\b",
    ),
    rule("pre post", year_of, rf"\b(?P<before>pre|post)[-\s]?(?P<year>{YEAR_DIGITS})\b"),
    rule(
        "end",
        _end_of,
        rf"\b{BEFORE}(?:the\s+)?(?P<end>end)\s+of\s+(?:the\s+)?(?:{STEP}\s+)?(?P<unit>week|month|year)\b",
    ),
)


# The English phrases that count from now: three days ago, in two weeks, the last 48 hours, recently.
#
# The readers serve other languages too. What is counted in hours is told by its day, in weeks by its week,
# and so on; what is counted up to now begins at a midnight. Vague numbers are spread: a few is two to five.

RECENT_DAYS = 14
"""How far back "recently" reaches."""


def ago(seen: Seen) -> Stretch:
    """Three days ago; a few days ago is two to five; a year ago today is a day."""
    if seen["today"]:
        unit, count = words.UNITS[seen["unit"]], count_of(seen["count"])
        return calendar.day(calendar.moment_back(unit, count, now=seen.now))
    return _distance(seen, sign=-1)


def ahead(seen: Seen) -> Stretch | None:
    """In three days; what was done in three days took so long."""
    return None if seen.direction == "past" else _distance(seen, sign=1)


def _from_now(seen: Seen) -> Stretch:
    return _distance(seen, sign=1)


def _distance(seen: Seen, *, sign: int) -> Stretch:
    unit, said = words.UNITS[seen["unit"]], seen["count"] or "one"
    spread = next((words.VAGUE_COUNTS[word] for word in said.split() if word in words.VAGUE_COUNTS), None)
    if seen["count2"]:
        spread = (count_of(said), count_of(seen["count2"]))
    if spread is None:
        return calendar.steps_away(unit, sign * count_of(said), now=seen.now)
    both = [calendar.steps_away(unit, sign * count, now=seen.now) for count in spread]
    first, last = sorted(both, key=lambda stretch: stretch.start)
    return calendar.spanning(first, last).vague()


def _weekdays_ago(seen: Seen) -> Stretch:
    """Three Fridays ago."""
    number, count = words.WEEKDAY_NUMBERS[seen["weekday"]], count_of(seen["count"])
    last = calendar.nearest_weekday(number, now=seen.now, direction="past")
    return calendar.day(last - timedelta(weeks=count - 1))


def _weekdays_ahead(seen: Seen) -> Stretch:
    """Two Fridays from now."""
    number, count = words.WEEKDAY_NUMBERS[seen["weekday"]], count_of(seen["count"])
    next_one = calendar.nearest_weekday(number, now=seen.now, direction="future")
    return calendar.day(next_one + timedelta(weeks=count - 1))


def _half_ago(seen: Seen) -> Stretch:
    """Half a year ago is the month six months back; half a day ago is told by its day."""
    unit, count = {"year": ("month", 6), "day": ("hour", 12)}.get(seen["unit"], ("minute", 30))
    return calendar.steps_away(unit, -count, now=seen.now)


def _just_now(seen: Seen) -> Stretch:
    return Stretch(seen.now - timedelta(hours=1), seen.now, Precision.VAGUE)


def _longer_ago(seen: Seen) -> Stretch:
    """What is older than a year lies before the day a year ago, so that is where the stretch begins."""
    unit, count = words.UNITS[seen["unit"]], count_of(seen["count"])
    return Stretch(calendar.moment_back(unit, count, now=seen.now), seen.now, Precision.VAGUE)


_RECENT_UNITS = 5
"""How many days "in recent days" means at most, and so for weeks, months and years: a few."""


def last_units(seen: Seen) -> Stretch:
    """The last three days, the past two weeks, recent months: up to now."""
    unit, said = words.UNITS[seen["unit"]], seen["count"] or "one"
    count = _RECENT_UNITS if said == "recent" else count_of(said)
    start = calendar.moment_back(unit, count, now=seen.now)
    if unit not in ("minute", "hour"):
        start = calendar.day(start).start
    return Stretch(start, seen.now, Precision.VAGUE)


def recently(seen: Seen) -> Stretch:
    """Recently, lately, the other day: two weeks, up to now."""
    return Stretch(seen.now - timedelta(days=RECENT_DAYS), seen.now, Precision.VAGUE)


_TWO = COUNT.replace("<count>", "<count2>")

DISTANCE_RULES = (
    rule(
        "last past",
        last_units,
        r"\b(?:(?:in|over|for|during|within|from)\s+)?(?:(?:the|these)\s+)?(?:last|past)\s+"
        rf"{COUNT}\s+{UNIT}\b(?!\s+of\b)",
    ),
    rule(
        "last past",
        last_units,
        r"\b(?:(?:in|over|for|during|within|from)\s+)?(?:the\s+)?(?:last|past)\s+"
        r"(?P<count>\d{1,3})\s*(?P<unit>hrs?|h|mins?|d|wks?)\b",
    ),
    rule("recent", last_units, r"\bin\s+(?P<count>recent)\s+(?P<unit>day|week|month|year)s\b"),
    rule(
        "last past",
        last_units,
        r"\b(?:in|over|for|during|within)\s+the\s+(?:last|past)\s+(?P<unit>hour|day|week|fortnight|month|year)\b"
        r"(?!\s+of\b)",
    ),
    rule(
        "ago back",
        ago,
        rf"\b(?:(?P<before>since|about|around)\s+)?{COUNT}\s+"
        r"(?P<unit>minute|hour|day|weekend|week|fortnight|month|year)s?\s+(?:or\s+so\s+)?(?:ago|back)\b"
        r"(?P<today>\s+today\b)?",
    ),
    rule(
        "ago back",
        ago,
        rf"\b{COUNT}(?:\s+(?:or|to)\s+|\s*[-–]\s*){_TWO}\s+{UNIT}\s+(?:ago|back)\b",
    ),
    rule("ago", _weekdays_ago, rf"\b{COUNT}\s+{_WEEKDAY}s\s+ago\b"),
    rule("now", _weekdays_ahead, rf"\b{COUNT}\s+{_WEEKDAY}s\s+from\s+now\b"),
    rule("ago", _half_ago, r"\bhalf\s+an?\s+(?P<unit>hour|day|year)\s+ago\b"),
    rule("now ago", _just_now, r"\b(?:just\s+now|(?:(?:a|just)\s+)?(?:moments?|seconds?)\s+ago)\b"),
    rule("than", _longer_ago, rf"\b(?P<is_before>older\s+than)\s+{COUNT}\s+{UNIT}\b"),
    rule("than", _longer_ago, rf"\b(?P<is_before>more\s+than)\s+{COUNT}\s+{UNIT}\s+ago\b"),
    rule("than", last_units, rf"\bless\s+than\s+{COUNT}\s+{UNIT}\s+ago\b"),
    rule(TIME_UNITS, ahead, rf"\bin\s+{COUNT}\s+{UNIT}\b(?:['’]s?\s+time\b)?(?!\s+(?:of|from)\b)"),
    rule("now", _from_now, rf"\b{COUNT}\s+{UNIT}\s+from\s+now\b"),
    rule(
        "recently lately late these other",
        recently,
        r"\b(?:recently|lately|(?:as\s+)?of\s+late|these\s+days|(?:the\s+)?other\s+(?:day|night|week))\b",
    ),
)
