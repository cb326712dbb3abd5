"""English phrases for parts of the calendar and spans between them."""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec.structs import replace

from engramdb.text import calendar
from engramdb.text import moment_words as words
from engramdb.text.calendar import Direction, Stretch
from engramdb.text.moment_context import is_delayed, is_moved
from engramdb.text.moment_english import on_day
from engramdb.text.moment_rules import (
    BEFORE,
    COUNT,
    NOT_EVERY,
    RELATING,
    SHORT_MONTH,
    SHORT_MONTHS,
    STEP,
    STEPS,
    YEAR_DIGITS,
    Seen,
    any_of,
    count_of,
    month_number,
    rule,
    rule_by_piece,
    year_number,
    year_said,
)

# The English phrases for pieces of the calendar: Q3 2025, early March, the summer of 2023, over Christmas.
#
# Most keep their own words, as they name their time themselves. What has no year is the one that the verbs
# point to, or the nearest; but a season or a feast to which no verb points is a habit ("I ski in winter"),
# and a bare "on the 3rd" may be any month's: those are no moments.

_ORDINALS = {
    word: number
    for number, row in enumerate(("first 1st", "second 2nd", "third 3rd", "fourth 4th", "fifth 5th"), 1)
    for word in row.split()
}
_THIRDS = {"early": 1, "beginning": 1, "start": 1, "mid": 2, "middle": 2, "late": 3, "end": 3}


def _whole(seen: Seen) -> Stretch:
    """Return the month, week or year that a phrase takes a piece of."""
    if seen["month"]:
        number = month_number(seen["month"])
        return calendar.month(year_said(seen, number), number, now=seen.now)
    if seen["unit"]:
        return calendar.steps_away(seen["unit"], STEPS.get(seen["step"], 0), now=seen.now)
    return calendar.year(year_number(seen["alone"], now=seen.now), now=seen.now)


def _season(seen: Seen) -> Stretch | None:
    """The summer of 2023, in the autumn."""
    if seen.direction == "unknown" and not seen["year"]:
        return None
    first_month = words.SEASONS[seen["season"]]
    return calendar.season(year_said(seen, first_month), first_month, now=seen.now).unnamed()


def _third(seen: Seen) -> Stretch:
    """Early March, mid-2024, the end of last year: a third of it; by the end of it is its last day."""
    whole, third = _whole(seen), _THIRDS[seen["third"]]
    if third == 3 and seen["before"] in ("by", "until", "till", "up to", "before", "since", "after"):
        return calendar.end_of(whole).unnamed()
    return calendar.portion(whole, third, of=3)


def _quarter(seen: Seen) -> Stretch:
    """Q3 2025, in Q3: the one that the verbs point to, or the nearest."""
    number = int(seen["number"])
    return _quarter_of(year_said(seen, 3 * number - 2), number, now=seen.now)


def _quarter_of(year: int, number: int, *, now: datetime) -> Stretch:
    found = calendar.portion(calendar.year(year, now=now), number, of=4)
    return replace(found, precision=calendar.Precision.SEASON)


def _step_quarter(seen: Seen) -> Stretch:
    """Last, this or next quarter."""
    quarters = seen.now.year * 4 + (seen.now.month - 1) // 3 + STEPS[seen["step"]]
    year, number = quarters // 4, quarters % 4 + 1
    return replace(_quarter_of(year, number, now=seen.now), preposition="in", name=f"Q{number} {year}")


def _part(seen: Seen) -> Stretch:
    """The first half of 2025, of March, the third quarter of last year; that of a match has no year."""
    return calendar.portion(
        _whole(seen), _ORDINALS[seen["ordinal"]], of=4 if seen["part"] == "quarter" else 2
    )


def _half(seen: Seen) -> Stretch:
    """H1 2025, in H2: the one that the verbs point to, or the nearest."""
    number = int(seen["number"])
    return calendar.portion(calendar.year(year_said(seen, 6 * number - 5), now=seen.now), number, of=2)


def _units_of(seen: Seen) -> Stretch:
    """The first three months of this year, the last two weeks of May."""
    cut = calendar.leading if seen["edge"] == "first" else calendar.trailing
    return cut(_whole(seen), words.UNITS[seen["units"]], count_of(seen["count"]))


def _week_of_month(seen: Seen) -> Stretch:
    """The first week of March is its first seven days, the last week its last seven."""
    whole, ordinal = _whole(seen), seen["ordinal"]
    if ordinal == "last":
        start = whole.end - timedelta(days=7)
    else:
        start = whole.start + timedelta(days=7 * (_ORDINALS[ordinal] - 1))
    return Stretch(start, start + timedelta(days=7), calendar.Precision.WEEK)


def _weekday_of(seen: Seen) -> Stretch | None:
    """The first Monday of December, the last Friday of the month; a fifth one is not in every month."""
    whole, number = _whole(seen), words.WEEKDAY_NUMBERS[seen["weekday"]]
    if seen["ordinal"] == "last":
        found = whole.end - timedelta(days=(whole.end.weekday() - number - 1) % 7 + 1)
    else:
        first = whole.start + timedelta(days=(number - whole.start.weekday()) % 7)
        found = first + timedelta(weeks=_ORDINALS[seen["ordinal"]] - 1)
    if found >= whole.end:
        return None
    is_any_year = bool(seen["month"]) and (bool(seen["year"]) or seen.direction == "unknown")
    return calendar.day(found).unnamed() if is_any_year or seen["alone"] else on_day(seen, found)


def _week_of_date(seen: Seen) -> Stretch:
    """The week of 13 April, from its Monday; the weekend of 2 May."""
    month, day = month_number(seen["month"]), int(seen["day"])
    found = calendar.date(year_said(seen, month, day), month, day, now=seen.now)
    span = calendar.weekend if seen["span"] == "weekend" else calendar.week
    return span(found.start).unnamed()


_NAMED_DECADES = {"sixties": 60, "seventies": 70, "eighties": 80, "nineties": 90}


def _decade(seen: Seen) -> Stretch:
    """The 1980s, the 90s, the nineties; the last that has begun."""
    said = seen["decade"]
    number = _NAMED_DECADES.get(said) or int(said)
    if number < 100:
        century = seen.now.year // 100 * 100
        number += century if century + number <= seen.now.year else century - 100
    return calendar.decade(number, now=seen.now).unnamed()


def _day_of_month(seen: Seen) -> Stretch | None:
    """On the 3rd: of this month, or the nearest on the other side of it."""
    day, step = int(seen["day"]), seen["step"]
    if step:
        count = STEPS[step]
    elif seen.direction == "unknown":
        return None
    elif seen.direction == "past":
        count = -1 if day > seen.now.day else 0
    else:
        count = 1 if day < seen.now.day else 0
    month = calendar.steps_away("month", count, now=seen.now).start
    return on_day(seen, calendar.date(month.year, month.month, day, now=seen.now).start)


def _holiday(seen: Seen) -> Stretch | None:
    """Over Christmas, on New Year's Eve, last Halloween, around Easter."""
    name = seen["holiday"].replace("’", "'")
    month, day, days = words.HOLIDAYS[name]
    year, step = int(seen["year"] or 0), seen["step"]
    if not year and not step and seen.direction == "unknown":
        return None
    direction: Direction = "future" if step in ("this", "next") else "past" if step else seen.direction
    year = year or calendar.nearest_year((month, day), now=seen.now, direction=direction)
    if name == "easter":
        month, day = calendar.good_friday(year)
    first = calendar.date(year, month, day, now=seen.now)
    return replace(first, end=first.end + timedelta(days=days - 1), name=None)


_AT = rf"(?P<before>{RELATING}|in|during|from|around|throughout|at|near|towards|on|over)"
_WHEN = r"(?P<before>since|before|after|until|till|prior\s+to|in|during|throughout|over)"
"""As a season or a decade wants it: what is inspired by autumn, or a book from the 90s, has no date."""
_YEAR = rf"(?P<year>{YEAR_DIGITS})"
_OF_YEAR = rf"(?:,?\s+(?:of\s+)?{_YEAR})?"
_STEPPED = rf"(?:the\s+)?(?:{STEP}\s+)?(?P<unit>week|month|year)\b"
_WHOLE = rf"(?:(?P<month>{SHORT_MONTH})(?!\w){_OF_YEAR}|(?P<alone>{YEAR_DIGITS})|{_STEPPED})"
_SEASON = rf"(?P<season>{any_of(words.SEASONS)})\b"
_THE_WEEK = rf"(?:{_AT}\s+)?the\s+(?P<span>weekend|week)\s+(?:of|commencing|starting|beginning)\s+"
_ORDINAL = r"(?P<ordinal>first|second|third|fourth|1st|2nd|3rd|4th)"
_AFTER_DAY = (
    r"(?=\s*(?:[,.;:?!)]|\Z)|\s+(?:did|do|does|have|has|had|was|were|is|are|what|who|which|how|why|i|we|you|"
    r"he|she|they|at|in|about|with|and|to|for|until)\b)"
)
_DAYS = [f"{day}{th}" for day in range(1, 32) for th in ("st", "nd", "rd", "th")]
_FEASTS = ("christmas", "xmas", "new", "halloween", "valentine", "easter")
_HOLIDAY = (
    rf"(?P<holiday>{any_of(words.HOLIDAYS)})\b"
    r"(?!['’]?s?\s+(?:tree|card|market|present|gift|song|carol|party|dinner|list|cookie)s?\b)"
)

PERIOD_RULES = (
    rule("early mid late", _third, rf"\b(?:{_AT}\s+)?(?P<third>early|mid|late)[\s-]+(?:in\s+)?{_WHOLE}"),
    rule(
        "beginning start middle end",
        _third,
        rf"\b(?:{_AT}\s+)?(?:the\s+)?(?P<third>beginning|start|middle|end)\s+of\s+{_WHOLE}",
    ),
    rule(
        "q1 q2 q3 q4",
        _quarter,
        rf"\b(?:{_AT}\s+)?(?:the\s+)?Q(?P<number>[1-4])(?:\s+of)?[\s/-]*(?P<year>20\d\d)\b",
    ),
    rule("q1 q2 q3 q4", _quarter, rf"\b(?:{_AT}\s+)?(?P<year>20\d\d)[\s/-]Q(?P<number>[1-4])\b"),
    rule("q1 q2 q3 q4", _quarter, rf"\b{_AT}\s+Q(?P<number>[1-4])\b(?![\s/-]*\d)"),
    rule("quarter", _part, rf"\b(?:{_AT}\s+)?the\s+{_ORDINAL}\s+(?P<part>quarter)\s+of\s+{_WHOLE}"),
    rule("quarter", _step_quarter, rf"\b{BEFORE}(?:the\s+)?{STEP}\s+quarter\b"),
    rule("half", _part, rf"\b(?:{_AT}\s+)?the\s+{_ORDINAL}\s+(?P<part>half)\s+of\s+{_WHOLE}"),
    rule("h1 h2", _half, rf"\b(?:{_AT}\s+)?H(?P<number>[12])[\s/]*(?P<year>20\d\d)\b"),
    rule("h1 h2", _half, rf"\b{_AT}\s+H(?P<number>[12])\b(?![\s/]*\d)"),
    rule(
        "first last",
        _units_of,
        rf"\b(?:{_AT}\s+)?the\s+(?P<edge>first|last)\s+{COUNT}\s+(?P<units>day|week|month)s?\s+of\s+{_WHOLE}",
    ),
    rule(
        "week",
        _week_of_month,
        rf"\b(?:{_AT}\s+)?the\s+(?P<ordinal>first|second|third|fourth|last)\s+week\s+of\s+{_WHOLE}",
    ),
    rule(
        words.ENGLISH_WEEKDAYS,
        _weekday_of,
        rf"{NOT_EVERY}\b(?:{_AT}\s+)?(?:the\s+)?(?P<ordinal>{any_of(_ORDINALS)}|last)\s+"
        rf"(?P<weekday>{any_of(words.ENGLISH_WEEKDAYS)})\s+(?:of|in)\s+{_WHOLE}",
    ),
    rule(
        "week weekend",
        _week_of_date,
        rf"\b{_THE_WEEK}(?:the\s+)?(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?"
        rf"(?P<month>{SHORT_MONTH})\b{_OF_YEAR}",
    ),
    rule(
        "week weekend",
        _week_of_date,
        rf"\b{_THE_WEEK}(?P<month>{SHORT_MONTH})\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b"
        rf"{_OF_YEAR}",
    ),
    rule(words.SEASONS, _season, rf"\b{_WHEN}\s+(?:the\s+)?{_SEASON}{_OF_YEAR}"),
    rule(
        words.SEASONS,
        _season,
        rf"\b(?:{_AT}\s+)?(?:the\s+)?{_SEASON},?\s+(?:of\s+)?(?P<year>(?:19|20)\d\d|['’]\d\d)"
        r"(?:/(?:\d\d){1,2})?\b",
    ),
    rule_by_piece(
        "0s 0's 0’s", _decade, rf"\b{_WHEN}\s+the\s+['’]?(?P<decade>(?:(?:19|20)\d|[2-9])0)['’]?s\b"
    ),
    rule(_NAMED_DECADES, _decade, rf"\b{_WHEN}\s+the\s+(?P<decade>{any_of(_NAMED_DECADES)})\b"),
    rule(
        _DAYS,
        _day_of_month,
        rf"\b(?P<before>{RELATING}|on|from)\s+the\s+(?:(?P<part>morning|afternoon|evening|night)\s+of\s+the\s+)?"
        rf"(?P<day>\d{{1,2}})(?:st|nd|rd|th)\b{_AFTER_DAY}",
    ),
    rule(
        "month",
        _day_of_month,
        rf"\b{BEFORE}the\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)\s+(?:of\s+)?{STEP}\s+month\b",
    ),
    rule(_FEASTS, _holiday, rf"\b{_AT}\s+(?:the\s+)?(?:{STEP}\s+)?{_HOLIDAY}{_OF_YEAR}"),
    rule(_FEASTS, _holiday, rf"\b{STEP}\s+{_HOLIDAY}"),
    rule(_FEASTS, _holiday, rf"\b(?:spend|spent|celebrated?)\s+{_HOLIDAY}"),
    rule(_FEASTS, _holiday, rf"\b{_HOLIDAY}(?=\s+(?:of\s+)?(?:last|this|next)\s+year\b)"),
    rule(_FEASTS, _holiday, rf"\b{_HOLIDAY}\s+(?P<year>(?:19|20)\d\d)\b"),
)


# The English phrases from one piece of the calendar to another: between May and July, Q2 to Q3.
#
# Only pieces that need each other are here; two whole phrases joined by "and" or "to" are joined by their
# reader. A span of bare months is named with its year.


def month_span(seen: Seen) -> Stretch:
    """Between May and July, from November to February, in March and April; moved from May to July is July."""
    one, two = month_number(seen["month"]), month_number(seen["month2"])
    if is_moved(seen.match.string, seen.match.start()):
        return _moved_to(seen, two)
    found = span_of_months(seen, one, two)
    if seen["year"] or seen["year2"] or seen.direction == "unknown":
        return found
    said_year = "" if two >= one else f" {found.start.year}"
    last = f"{words.MONTHS[two - 1]} {found.start.year + (two < one)}"
    name = f"{words.MONTHS[one - 1]}{said_year} {seen['joint'] or 'to'} {last}"
    return replace(found, preposition=seen["before"], name=name)


def _moved_to(seen: Seen, number: int) -> Stretch:
    """Return the month to which something was moved: of the year that is said, or the nearest."""
    said = seen["year2"] or seen["year"]
    if said:
        return calendar.month(year_number(said, now=seen.now), number, now=seen.now).unnamed()
    year = calendar.nearest_year((number,), now=seen.now, direction="unknown")
    return calendar.month(year, number, now=seen.now).unnamed()


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
            last_year = calendar.nearest_year((two,), now=now, direction="past")
        else:
            first_year = calendar.nearest_year((one,), now=now, direction=seen.direction)
    first = calendar.month(first_year or last_year - turns, one, now=now)
    return calendar.spanning(first, calendar.month(last_year or first_year + turns, two, now=now))


def _weekday_span(seen: Seen) -> Stretch:
    """From Monday to Wednesday; what was moved from Monday to Wednesday is on the Wednesday ahead."""
    one, two = (words.WEEKDAY_NUMBERS[seen[name]] for name in ("weekday", "weekday2"))
    if is_moved(seen.match.string, seen.match.start()):
        old = calendar.nearest_weekday(one, now=seen.now, direction="future")
        since = old if is_delayed(seen.match.string, seen.match.start()) else seen.now
        return calendar.day(calendar.nearest_weekday(two, now=since, direction="future")).unnamed()
    days = timedelta(days=(two - one) % 7)
    if seen.direction == "past":
        last = calendar.nearest_weekday(two, now=seen.now, direction="past")
        return calendar.spanning(calendar.day(last - days), calendar.day(last))
    first = calendar.nearest_weekday(one, now=seen.now, direction="future")
    return calendar.spanning(calendar.day(first), calendar.day(first + days))


def _year_span(seen: Seen) -> Stretch:
    """Between 2019 and 2021, in 2022 and 2023."""
    first, last = (calendar.year(int(seen[name]), now=seen.now) for name in ("year", "year2"))
    return calendar.spanning(first, last)


def _quarter_span(seen: Seen) -> Stretch:
    """Q2 and Q3, from Q4 2024 to Q1 2025; what slipped from Q1 to Q2 is in Q2."""
    if is_moved(seen.match.string, seen.match.start()):
        first = _moved_to(seen, 3 * int(seen["number2"]) - 2)
        return _quarter_of(first.start.year, int(seen["number2"]), now=seen.now)
    return span_of_months(seen, 3 * int(seen["number"]) - 2, 3 * int(seen["number2"]))


_OPEN = r"(?P<before>between|from|in|during)\s+"
_JOINT = r"(?:\s+(?P<joint>and|to|until|till|through|or)\s+|\s*[-–—]\s*)"
_ONE_YEAR, _TWO_YEAR = (rf"(?:,?\s+(?P<{name}>{YEAR_DIGITS}))?" for name in ("year", "year2"))
_WEEKDAY = any_of(words.WEEKDAYS)

SPAN_RULES = (
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
