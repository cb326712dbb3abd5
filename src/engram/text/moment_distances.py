"""
The English phrases that count from now: three days ago, in two weeks, the last 48 hours, recently.

Used by `moments` before `moment_phrases`, as "in the last month" counts where "last month" names; the
readers serve other languages too. What is counted in hours is told by its day, in weeks by its week,
and so on; what is counted up to now begins at a midnight. Vague numbers are spread: a few is two to
five.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from engram.text import moment_words as words
from engram.text import stretches
from engram.text.moment_rules import COUNT, TIME_UNITS, UNIT, any_of, count_of, rule
from engram.text.stretches import Precision, Stretch

if TYPE_CHECKING:
    from engram.text.moment_rules import Seen

RECENT_DAYS = 14
"""How far back "recently" reaches."""


def ago(seen: Seen) -> Stretch:
    """Three days ago; a few days ago is two to five; a year ago today is a day."""
    if seen["today"]:
        unit, count = words.UNITS[seen["unit"]], count_of(seen["count"])
        return stretches.day(stretches.moment_back(unit, count, now=seen.now))
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
        return stretches.steps_away(unit, sign * count_of(said), now=seen.now)
    both = [stretches.steps_away(unit, sign * count, now=seen.now) for count in spread]
    first, last = sorted(both, key=lambda stretch: stretch.start)
    return stretches.spanning(first, last).vague()


def _weekdays_ago(seen: Seen) -> Stretch:
    """Three Fridays ago."""
    number, count = words.WEEKDAY_NUMBERS[seen["weekday"]], count_of(seen["count"])
    last = stretches.nearest_weekday(number, now=seen.now, direction="past")
    return stretches.day(last - timedelta(weeks=count - 1))


def _half_ago(seen: Seen) -> Stretch:
    """Half a year ago is the month six months back; half a day ago is told by its day."""
    unit, count = {"year": ("month", 6), "day": ("hour", 12)}.get(seen["unit"], ("minute", 30))
    return stretches.steps_away(unit, -count, now=seen.now)


def _just_now(seen: Seen) -> Stretch:
    return Stretch(seen.now - timedelta(hours=1), seen.now, Precision.VAGUE)


def _longer_ago(seen: Seen) -> Stretch:
    """What is older than a year lies before the day a year ago, so that is where the stretch begins."""
    unit, count = words.UNITS[seen["unit"]], count_of(seen["count"])
    return Stretch(stretches.moment_back(unit, count, now=seen.now), seen.now, Precision.VAGUE)


_RECENT_UNITS = 5
"""How many days "in recent days" means at most, and so for weeks, months and years: a few."""


def last_units(seen: Seen) -> Stretch:
    """The last three days, the past two weeks, recent months: up to now."""
    unit, said = words.UNITS[seen["unit"]], seen["count"] or "one"
    count = _RECENT_UNITS if said == "recent" else count_of(said)
    start = stretches.moment_back(unit, count, now=seen.now)
    if unit not in ("minute", "hour"):
        start = stretches.day(start).start
    return Stretch(start, seen.now, Precision.VAGUE)


def recently(seen: Seen) -> Stretch:
    """Recently, lately, the other day: two weeks, up to now."""
    return Stretch(seen.now - timedelta(days=RECENT_DAYS), seen.now, Precision.VAGUE)


_WEEKDAY = rf"(?P<weekday>{any_of(words.WEEKDAYS)})"
_TWO = COUNT.replace("<count>", "<count2>")

RULES = (
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
    rule("ago", _half_ago, r"\bhalf\s+an?\s+(?P<unit>hour|day|year)\s+ago\b"),
    rule("now ago", _just_now, r"\b(?:just\s+now|(?:(?:a|just)\s+)?(?:moments?|seconds?)\s+ago)\b"),
    rule("than", _longer_ago, rf"\b(?P<is_before>older\s+than)\s+{COUNT}\s+{UNIT}\b"),
    rule("than", _longer_ago, rf"\b(?P<is_before>more\s+than)\s+{COUNT}\s+{UNIT}\s+ago\b"),
    rule("than", last_units, rf"\bless\s+than\s+{COUNT}\s+{UNIT}\s+ago\b"),
    rule(TIME_UNITS, ahead, rf"\bin\s+{COUNT}\s+{UNIT}\b(?:['’]\s+time\b)?(?!\s+of\b)"),
    rule("now", _from_now, rf"\b{COUNT}\s+{UNIT}\s+from\s+now\b"),
    rule(
        "recently lately late these other",
        recently,
        r"\b(?:recently|lately|(?:as\s+)?of\s+late|these\s+days|(?:the\s+)?other\s+(?:day|night|week))\b",
    ),
)
