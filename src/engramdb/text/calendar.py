"""Stretches of the calendar: days, weeks, months, years and steps between them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import partial
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from engramdb.text.dates import MONTHS, long_date

Direction = Literal["past", "future", "unknown"]

_PART_HOURS = {"morning": (5, 12), "afternoon": (12, 18), "evening": (18, 24), "night": (20, 30)}
"""When the parts of a day begin and end, in hours after midnight; a night reaches into the next day."""


class Precision(StrEnum):
    """How long a stretch a phrase means."""

    PART_OF_DAY = "part of day"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    SEASON = "season"
    YEAR = "year"
    VAGUE = "vague"


class Stretch(Struct, frozen=True):
    """From `start` to before `end`, with what to call it: "on" and "7 May 2026"."""

    start: datetime
    end: datetime
    precision: Precision
    preposition: str = ""
    name: str | None = None

    def unnamed(self) -> Stretch:
        """Return the stretch of a phrase that needs no other words."""
        return replace(self, name=None)

    def vague(self) -> Stretch:
        """Return the stretch of a phrase that did not want to be exact."""
        return replace(self, name=None, precision=Precision.VAGUE)


def day(moment: datetime) -> Stretch:
    """Return the day of a moment."""
    start = _midnight(moment)
    return Stretch(start, start + timedelta(days=1), Precision.DAY, "on", long_date(start))


def part_of_day(moment: datetime, part: str) -> Stretch:
    """Return the morning, afternoon, evening or night of a day."""
    start = _midnight(moment)
    first, last = (start + timedelta(hours=hour) for hour in _PART_HOURS[part])
    return Stretch(first, last, Precision.PART_OF_DAY, "on", f"the {part} of {long_date(start)}")


def week(moment: datetime) -> Stretch:
    """Return the week of a moment, from its Monday."""
    start = _midnight(moment) - timedelta(days=moment.weekday())
    return Stretch(start, start + timedelta(days=7), Precision.WEEK, "in", f"the week of {long_date(start)}")


def weekend(moment: datetime) -> Stretch:
    """Return the Saturday and Sunday of the week of a moment."""
    start = week(moment).start + timedelta(days=5)
    return Stretch(
        start, start + timedelta(days=2), Precision.DAY, "on", f"the weekend of {long_date(start)}"
    )


def month(year_number: int, number: int, *, now: datetime) -> Stretch:
    """Return a month of a year."""
    start = _midnight(now).replace(year=year_number, month=number, day=1)
    end = start.replace(year=year_number + number // 12, month=number % 12 + 1)
    return Stretch(start, end, Precision.MONTH, "in", f"{MONTHS[number - 1]} {year_number}")


def year(number: int, *, now: datetime) -> Stretch:
    """Return a year."""
    start = _midnight(now).replace(year=number, month=1, day=1)
    return Stretch(start, start.replace(year=number + 1), Precision.YEAR, "in", str(number))


def season(year_number: int, first_month: int, *, now: datetime) -> Stretch:
    """Return the three months from a first month, named after the year in which they begin."""
    start = month(year_number, first_month, now=now).start
    months = year_number * 12 + first_month - 1 + 3
    end = month(months // 12, months % 12 + 1, now=now).start
    name = {3: "spring", 6: "summer", 9: "autumn", 12: "winter"}[first_month]
    return Stretch(start, end, Precision.SEASON, "in", f"{name} {year_number}")


def season_away(first_month: int, count: int, *, now: datetime) -> Stretch:
    """Return last, this or next summer: the last one is over, the next has not begun."""
    this_year = season(now.year, first_month, now=now)
    if count < 0:
        return season(now.year - (this_year.end > now), first_month, now=now)
    return season(now.year + (count > 0 and this_year.start <= now), first_month, now=now)


def decade(first_year: int, *, now: datetime) -> Stretch:
    """Return the ten years from a first one."""
    start = year(first_year, now=now).start
    return Stretch(start, start.replace(year=first_year + 10), Precision.YEAR, "in", f"the {first_year}s")


def date(year_number: int, month_number: int, day_number: int, *, now: datetime) -> Stretch:
    """Return a day by its date."""
    return day(_midnight(now).replace(year=year_number, month=month_number, day=day_number))


def good_friday(year_number: int) -> tuple[int, int]:
    """Return month and day of the Friday before Easter Sunday in the Gregorian calendar (Butcher, 1876)."""
    golden, (century, rest) = year_number % 19, divmod(year_number, 100)
    epact = (19 * golden + century - century // 4 - (8 * century + 13) // 25 + 15) % 30
    weekday = (32 + 2 * (century % 4) + 2 * (rest // 4) - epact - rest % 4) % 7
    late = (golden + 11 * epact + 22 * weekday) // 451
    month_number, day_number = divmod(epact + weekday - 7 * late + 114, 31)
    friday = datetime(year_number, month_number, day_number + 1, tzinfo=UTC) - timedelta(days=2)
    return friday.month, friday.day


def steps_away(unit: str, count: int, *, now: datetime) -> Stretch:
    """Return the day, week, weekend, month or year `count` units from now, for hours their day."""
    if unit == "weekend":
        return weekend(now + timedelta(weeks=count))
    if unit == "fortnight":
        unit, count = "week", 2 * count
    if unit in ("minute", "hour", "day", "week"):
        moment = now + timedelta(**{f"{unit}s": count})
        return week(moment) if unit == "week" else day(moment)
    if unit == "year":
        return year(now.year + count, now=now)
    months = now.year * 12 + now.month - 1 + count
    return month(months // 12, months % 12 + 1, now=now)


def end_of(stretch: Stretch) -> Stretch:
    """Return the last day of a stretch, called the end of it."""
    last_day = day(stretch.end - timedelta(days=1))
    return replace(last_day, preposition="at", name=f"the end of {stretch.name}")


def portion(stretch: Stretch, number: int, *, of: int) -> Stretch:
    """
    Return the first, second… of so many parts: whole months of what is long, else whole days.

    The last part has what is left over, so early, mid and late March are 10, 10 and 11 days, and the
    quarters, thirds and halves of a year are 3, 4 and 6 months.
    """
    start, end = stretch.start, stretch.end
    months = (end.year - start.year) * 12 + end.month - start.month
    if months > 1:
        size, edge = months // of, partial(_months_after, start)
    else:
        size, edge = (end - start).days // of, partial(_days_after, start)
    last = end if number == of else edge(size * number)
    return replace(stretch, start=edge(size * (number - 1)), end=last, name=None)


def leading(stretch: Stretch, unit: str, count: int) -> Stretch:
    """Return the first so many days, weeks or months of a stretch."""
    end = moment_back(unit, -count, now=stretch.start)
    return replace(stretch, end=min(end, stretch.end), name=None)


def trailing(stretch: Stretch, unit: str, count: int) -> Stretch:
    """Return the last so many days, weeks or months of a stretch."""
    start = moment_back(unit, count, now=stretch.end)
    return replace(stretch, start=max(start, stretch.start), name=None)


def spanning(first: Stretch, last: Stretch) -> Stretch:
    """Return the stretch from the start of one to the end of another; ValueError if that is before."""
    if first.start >= last.end:
        raise ValueError("a stretch must begin before it ends")
    return Stretch(first.start, last.end, first.precision)


def moment_back(unit: str, count: int, *, now: datetime) -> datetime:
    """Return the moment so many units before now: the same day of an earlier month, or its last day."""
    if unit == "fortnight":
        unit, count = "week", 2 * count
    if unit in ("minute", "hour", "day", "week"):
        return now - timedelta(**{f"{unit}s": count})
    first = _months_after(_midnight(now).replace(day=1), -count * (12 if unit == "year" else 1))
    last_day = (_months_after(first, 1) - timedelta(days=1)).day
    return now.replace(year=first.year, month=first.month, day=min(now.day, last_day))


def nearest_weekend(*, now: datetime, direction: Direction) -> Stretch:
    """Return the weekend that has begun last, or else the one that ends next."""
    has_begun = now.weekday() >= 5
    return weekend(now if has_begun or direction != "past" else now - timedelta(weeks=1))


def nearest_weekday(number: int, *, now: datetime, direction: Direction) -> datetime:
    """Return the nearest such day before today, or else after it; today itself is neither."""
    ahead = (number - now.weekday() - 1) % 7 + 1
    behind = (now.weekday() - number - 1) % 7 + 1
    return _midnight(now) + timedelta(days=-behind if direction == "past" else ahead)


def nearest_year(place: tuple[int, ...], *, now: datetime, direction: Direction) -> int:
    """Return the year in which a month, or a month and day, comes last, next or, if unknown, nearest."""
    here = (now.month, now.day)[: len(place)]
    if direction == "unknown":
        direction = "past" if (now.month - place[0]) % 12 < 6 else "future"
        direction = direction if place[0] != now.month else "future" if place > here else "past"
    if direction == "past":
        return now.year - (place > here)
    return now.year + (place < here)


def _months_after(moment: datetime, count: int) -> datetime:
    """Return the same day of a month so many months later; only the first of a month is always there."""
    months = moment.year * 12 + moment.month - 1 + count
    return moment.replace(year=months // 12, month=months % 12 + 1)


def _days_after(moment: datetime, count: int) -> datetime:
    return moment + timedelta(days=count)


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)
