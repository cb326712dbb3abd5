"""
The time phrases of languages other than English: the same few shapes, filled with each language's words.

Used by `moments` beside `moment_phrases`. Five languages that write spaces share their frames, and
`moment_tongues` has their words; Chinese and Japanese, which write none, have their own in
`moment_unspaced`. A phrase in another language is understood and keeps its words, so no stretch here
has a name.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING

from engram.text import moment_words as words
from engram.text import stretches
from engram.text.lazy import lazy
from engram.text.moment_distances import ago, ahead, last_units, recently
from engram.text.moment_phrases import date_of, month_of, year_of
from engram.text.moment_rules import any_of, key_words, rule, rule_by_piece, year_said
from engram.text.moment_spans import month_span
from engram.text.moment_tongues import RECENTLY, TONGUES, WEEKENDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engram.text.moment_rules import Reader, Rule, Seen
    from engram.text.moment_tongues import Tongue
    from engram.text.stretches import Direction, Stretch

_GERMAN = lazy(r"\b(?:ich|ist|und|der|die|das|wir|bin|sind|nicht|es)\b", re.IGNORECASE)
_MORNING = lazy(r"\b(?:la|cada|esta|una|guten|jeden|am|heute|gestern)\s+\Z", re.IGNORECASE)
_PARTS = ("morning", "afternoon", "evening", "night")


def set_phrase(seen: Seen) -> Stretch | None:
    """Hier is yesterday in French and here in German; mañana and morgen are also the morning."""
    phrase, text = seen["phrase"].replace("’", "'"), seen.match.string
    if phrase == "hier" and _GERMAN.search(text):
        return None
    if phrase in ("mañana", "morgen") and _MORNING.search(
        text[max(0, seen.match.start() - 12) : seen.match.start()]
    ):
        return None
    unit, count = words.SET_PHRASES.get(phrase) or words.UNSPACED_PHRASES[phrase]
    if unit in _PARTS:
        day = stretches.steps_away("day", count, now=seen.now).start
        return stretches.part_of_day(day, unit).unnamed()
    return stretches.steps_away(unit, count, now=seen.now).unnamed()


def weekend(seen: Seen) -> Stretch | None:
    """The weekend that the question points to; a statement points nowhere, so it may be any."""
    if seen.direction == "unknown":
        return None
    return stretches.nearest_weekend(now=seen.now, direction=seen.direction).unnamed()


def _ago(seen: Seen) -> Stretch:
    return ago(seen).unnamed()


def _ahead(seen: Seen) -> Stretch | None:
    found = ahead(seen)
    return found.unnamed() if found else None


_THIRDS = {"early": 1, "middle": 2, "end": 3}


def _month(seen: Seen) -> Stretch | None:
    """Im März, début mars, a finales de marzo: a month or a third of it."""
    if seen.direction == "unknown" and not seen["year"]:
        return None
    found, third = month_of(seen), _third_said(seen)
    return stretches.portion(found, third, of=3) if third else found.unnamed()


def _weekday(seen: Seen) -> Stretch | None:
    """Am Montag, mardi dernier, el lunes: nothing where neither a word nor the caller says which."""
    if seen["last"] or seen["was"] or seen["is_since"]:
        direction: Direction = "past"
    else:
        direction = "future" if seen["coming"] or seen["comes"] else seen.direction
    if direction == "unknown" and not seen["current"]:
        return None
    number = words.WEEKDAY_NUMBERS[seen["weekday"]]
    if seen["current"]:
        return stretches.day(stretches.week(seen.now).start + timedelta(days=number)).unnamed()
    return stretches.day(stretches.nearest_weekday(number, now=seen.now, direction=direction)).unnamed()


def _season(seen: Seen) -> Stretch | None:
    """Im Sommer, l'été dernier, en verano de 2023, прошлым летом."""
    first_month = words.FOREIGN_SEASONS[seen["season"]]
    is_coming = bool(seen["coming"] or seen["comes"])
    if is_coming or seen["last"] or seen["was"] or seen["current"]:
        count = 1 if is_coming else 0 if seen["current"] else -1
        return stretches.season_away(first_month, count, now=seen.now).unnamed()
    if seen.direction == "unknown" and not seen["year"]:
        return None
    return stretches.season(year_said(seen, first_month), first_month, now=seen.now).unnamed()


_OF_UNITS = "monats woche jahres mois semaine année mes semana año mese settimana anno месяца недели года"


def _of_unit(seen: Seen) -> Stretch:
    """Anfang des Jahres is a third of it; bis Ende des Monats, до конца года are its last day."""
    whole = stretches.steps_away(words.UNITS[seen["unit"]], 0, now=seen.now)
    if seen["end"] and any(seen[side] for side in ("is_since", "is_before", "is_after", "is_until")):
        return stretches.end_of(whole).unnamed()
    return stretches.portion(whole, _third_said(seen) or 3, of=3)


def _third_said(seen: Seen) -> int | None:
    return next((number for name, number in _THIRDS.items() if seen[name]), None)


def _span(seen: Seen) -> Stretch:
    return month_span(seen).unnamed()


_COUNT = rf"\d{{1,3}}|{any_of(words.COUNTS)}"
_UNIT = any_of(words.UNITS)


def _frame(keys: str, read: Reader, pattern: str) -> Rule:
    """Return the rule of a frame like `vor COUNT UNIT`, or of one without spaces like `COUNT天前`."""
    filled = pattern.replace("COUNT", _COUNT).replace("UNIT", _UNIT)
    return rule(keys, read, filled) if " " in pattern else rule_by_piece(keys, read, filled)


_ARTICLE = r"(?:\b(?:im|el|la) |\bl['’])?"
_EVERY = ("jeden", "chaque", "le", "cada", "los", "ogni", "il", "каждый", "каждую")
"""What stands before a weekday that comes back every week."""
_NOT_EVERY = "".join(f"(?<!{word} )" for word in _EVERY)


def _rules_of(tongue: Tongue) -> Iterator[Rule]:
    """Yield the rules that every language with spaces has."""
    rows = (tongue.months, tongue.weekdays, tongue.seasons)
    months, weekdays, seasons = (row.replace("/", " ").split() for row in rows)
    month, weekday, season = any_of(months), any_of(weekdays), any_of(seasons)
    sides = (
        f"(?P<is_since>{tongue.since})|(?P<is_before>{tongue.before})|(?P<is_after>{tongue.after})|"
        f"(?P<is_until>{tongue.until})"
    )
    of = f"(?:(?:{tongue.of}) )?" if tongue.of else ""
    year, year_2 = (
        rf"(?: {of}(?P<{name}>(?:19|20)\d\d)\b(?: (?:{tongue.year})\b)?)?" for name in ("year", "year2")
    )
    third = f"(?:(?P<early>{tongue.early})|(?P<middle>{tongue.middle})|(?P<end>{tongue.late}))"
    step = f"(?:(?P<last>{tongue.last})|(?P<coming>{tongue.coming})|(?P<current>{tongue.current}))"
    behind = rf" (?:(?P<was>{tongue.last})|(?P<comes>{tongue.coming}))\b"

    yield rule(months, _month, rf"\b(?:{sides}|{tongue.in_month}) (?P<month>{month})\b{year}(?! \d)")
    yield rule(months, _month, rf"\b(?:(?:{sides}) )?{third} ?(?P<month>{month})\b{year}")
    yield rule(
        months,
        date_of,
        rf"\b(?:{sides}|{tongue.on_day}) (?P<day>\d{{1,2}})(?:er|\.|º)? {of}(?P<month>{month})\b{year}",
    )
    yield rule(
        months,
        _span,
        rf"\b(?:{tongue.between}) (?P<month>{month})\b{year} (?:{tongue.joint}) "
        rf"(?P<month2>{month})\b{year_2}",
    )
    yield rule(
        weekdays,
        _weekday,
        rf"{_NOT_EVERY}\b(?:(?:{sides}|{tongue.on_weekday}) )?(?:{step} )?"
        rf"(?P<weekday>{weekday})\b(?:{behind})?",
    )
    yield rule(seasons, _season, rf"\b(?:{tongue.in_season})(?P<season>{season})\b{year}")
    yield rule(seasons, _season, rf"{_ARTICLE}\b{step} (?P<season>{season})\b")
    yield rule(seasons, _season, rf"{_ARTICLE}\b(?P<season>{season})\b{behind}")
    yield rule_by_piece(
        "19 20",
        year_of,
        rf"\b(?:{sides}|{tongue.in_year}) (?:(?:{tongue.year}) )?(?P<year>(?:19|20)\d\d)(?![-./]?\d)\b"
        rf"(?: (?:{tongue.year})\b)?",
    )
    yield rule(_OF_UNITS, _of_unit, rf"\b(?:(?:{sides}) )?{third} {tongue.of_unit}\b")
    yield _frame(tongue.last_keys, last_units, rf"\b{tongue.last_units}\b")


RULES = (
    *(one for tongue in TONGUES for one in _rules_of(tongue)),
    rule(
        key_words(words.SET_PHRASES),
        set_phrase,
        rf"(?<![\w'’-])(?P<phrase>{any_of(words.SET_PHRASES)})(?![\w-])",
    ),
    rule(key_words(RECENTLY), recently, rf"\b(?:{any_of(RECENTLY)})\b"),
    rule(key_words(WEEKENDS), weekend, rf"\b(?:{any_of(WEEKENDS)})\b"),
    *(_frame(key, _ago, pattern) for key, pattern in words.AGO_FRAMES),
    *(_frame(key, _ahead, pattern) for key, pattern in words.AHEAD_FRAMES),
)
