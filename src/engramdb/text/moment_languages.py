"""Time phrases of languages other than English."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta

from msgspec import Struct
from msgspec.structs import replace

from engramdb.text import calendar
from engramdb.text import moment_words as words
from engramdb.text.calendar import Direction, Stretch
from engramdb.text.lexicons import LANGUAGES, TimeFrame, TimeWords
from engramdb.text.moment_dates import date_of
from engramdb.text.moment_english import ago, ahead, last_units, month_of, recently, year_of
from engramdb.text.moment_periods import month_span, span_of_months
from engramdb.text.moment_rules import (
    MomentRule,
    Reader,
    Seen,
    any_of,
    key_words,
    rule,
    rule_by_piece,
    year_said,
)
from engramdb.text.normalize import lazy

# Languages that write spaces share a few frames, filled with each language's words. A phrase in another
# language is understood and keeps its words, so no stretch here has a name.

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
        day = calendar.steps_away("day", count, now=seen.now).start
        return calendar.part_of_day(day, unit).unnamed()
    return calendar.steps_away(unit, count, now=seen.now).unnamed()


def weekend(seen: Seen) -> Stretch | None:
    """The weekend that the question points to; a statement points nowhere, so it may be any."""
    if seen.direction == "unknown":
        return None
    return calendar.nearest_weekend(now=seen.now, direction=seen.direction).unnamed()


def _ago(seen: Seen) -> Stretch:
    return ago(seen).unnamed()


def _ahead(seen: Seen) -> Stretch | None:
    found = ahead(seen)
    return found.unnamed() if found else None


_THIRDS = {"early": 1, "middle": 2, "end": 3}
_SINCE_THE_LAST = ("seit", "seit dem", "depuis", "desde", "da", "dal", "с")
"""Words after which a month has been; after others of the kind, as in "ab Juni", it may lie ahead."""


def _month(seen: Seen) -> Stretch | None:
    """Im März, début mars, a finales de marzo: a month or a third of it; seit März the last one."""
    if seen.direction == "unknown" and not seen["year"]:
        if seen["is_since"] not in _SINCE_THE_LAST:
            return None
        seen = replace(seen, direction="past")
    found, third = month_of(seen), _third_said(seen)
    return calendar.portion(found, third, of=3) if third else found.unnamed()


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
        return calendar.day(calendar.week(seen.now).start + timedelta(days=number)).unnamed()
    return calendar.day(calendar.nearest_weekday(number, now=seen.now, direction=direction)).unnamed()


def _season(seen: Seen) -> Stretch | None:
    """Im Sommer, l'été dernier, en verano de 2023, прошлым летом."""
    first_month = words.FOREIGN_SEASONS[seen["season"]]
    is_coming = bool(seen["coming"] or seen["comes"])
    if is_coming or seen["last"] or seen["was"] or seen["current"]:
        count = 1 if is_coming else 0 if seen["current"] else -1
        return calendar.season_away(first_month, count, now=seen.now).unnamed()
    if seen.direction == "unknown" and not seen["year"]:
        return None
    return calendar.season(year_said(seen, first_month), first_month, now=seen.now).unnamed()


def _of_unit(seen: Seen) -> Stretch:
    """Anfang des Jahres is a third of it; bis Ende des Monats, до конца года are its last day."""
    whole = calendar.steps_away(words.UNITS[seen["unit"]], 0, now=seen.now)
    if seen["end"] and any(seen[side] for side in ("is_since", "is_before", "is_after", "is_until")):
        return calendar.end_of(whole).unnamed()
    return calendar.portion(whole, _third_said(seen) or 3, of=3)


def _third_said(seen: Seen) -> int | None:
    return next((number for name, number in _THIRDS.items() if seen[name]), None)


def _span(seen: Seen) -> Stretch:
    return month_span(seen).unnamed()


_COUNT = rf"\d{{1,3}}|{any_of(words.COUNTS)}"
_UNIT = any_of(words.UNITS)


def _frame(keys: str, read: Reader, pattern: str) -> MomentRule:
    """Return the rule of a frame like `vor COUNT UNIT`, or of one without spaces like `COUNT天前`."""
    filled = pattern.replace("COUNT", _COUNT).replace("UNIT", _UNIT)
    return rule(keys, read, filled) if " " in pattern else rule_by_piece(keys, read, filled)


_ARTICLE = r"(?:\b(?:im|el|la) |\bl['’])?"
_NOT_EVERY = "".join(f"(?<!{word} )" for word in words.EVERY_WEEK)


class _Pieces(Struct, frozen=True, kw_only=True):
    """Pieces of pattern that the rules of one language share."""

    sides: str
    """Since, before, after, until."""
    of: str
    year: str
    year_2: str
    third: str
    """Early, in the middle of, late."""
    step: str
    """Last, next or this, in front."""
    behind: str
    """Last or next, behind."""


def _pieces(frame: TimeFrame) -> _Pieces:
    of = f"(?:(?:{frame.of}) )?" if frame.of else ""
    year, year_2 = (
        rf"(?: {of}(?P<{name}>(?:19|20)\d\d)\b(?: (?:{frame.year})\b)?)?" for name in ("year", "year2")
    )
    return _Pieces(
        sides=f"(?P<is_since>{frame.since})|(?P<is_before>{frame.before})|(?P<is_after>{frame.after})|"
        f"(?P<is_until>{frame.until})",
        of=of,
        year=year,
        year_2=year_2,
        third=f"(?:(?P<early>{frame.early})|(?P<middle>{frame.middle})|(?P<end>{frame.late}))",
        step=f"(?:(?P<last>{frame.last})|(?P<coming>{frame.coming})|(?P<current>{frame.current}))",
        behind=rf" (?:(?P<was>{frame.last})|(?P<comes>{frame.coming}))\b",
    )


def _rules_of(said: TimeWords, frame: TimeFrame) -> Iterator[MomentRule]:
    """Yield the rules that every language with spaces has."""
    shared = _pieces(frame)
    yield from _month_rules(said.months.replace("/", " ").split(), frame, shared)
    yield from _day_and_season_rules(said, frame, shared)
    yield rule_by_piece(
        "19 20",
        year_of,
        rf"\b(?:{shared.sides}|{frame.in_year}) (?:(?:{frame.year}) )?(?P<year>(?:19|20)\d\d)(?![-./]?\d)\b"
        rf"(?: (?:{frame.year})\b)?",
    )
    units = "|".join(frame.of_units.split())
    yield rule(
        words.OF_UNITS,
        _of_unit,
        rf"\b(?:(?:{shared.sides}) )?{shared.third} {frame.of_unit}(?P<unit>{units})\b",
    )
    yield _frame(frame.last_keys, last_units, rf"\b{frame.last_units}\b")


def _month_rules(months: list[str], frame: TimeFrame, shared: _Pieces) -> Iterator[MomentRule]:
    sides, of, year, month = shared.sides, shared.of, shared.year, any_of(months)
    yield rule(months, _month, rf"\b(?:{sides}|{frame.in_month}) (?P<month>{month})\b{year}(?! \d)")
    yield rule(months, _month, rf"\b(?:(?:{sides}) )?{shared.third} ?(?P<month>{month})\b{year}")
    yield rule(
        months,
        date_of,
        rf"\b(?:{sides}|{frame.on_day}) (?P<day>\d{{1,2}})(?:er|\.|º)? {of}(?P<month>{month})\b{year}",
    )
    yield rule(
        months,
        _span,
        rf"\b(?:{frame.between}) (?P<month>{month})\b{year} (?:{frame.joint}) "
        rf"(?P<month2>{month})\b{shared.year_2}",
    )


def _day_and_season_rules(said: TimeWords, frame: TimeFrame, shared: _Pieces) -> Iterator[MomentRule]:
    weekdays, seasons = (row.replace("/", " ").split() for row in (said.weekdays, said.seasons))
    weekday, season = any_of(weekdays), any_of(seasons)
    yield rule(
        weekdays,
        _weekday,
        rf"{_NOT_EVERY}\b(?:(?:{shared.sides}|{frame.on_weekday}) )?(?:{shared.step} )?"
        rf"(?P<weekday>{weekday})\b(?:{shared.behind})?",
    )
    yield rule(seasons, _season, rf"\b(?:{frame.in_season})(?P<season>{season})\b{shared.year}")
    yield rule(seasons, _season, rf"{_ARTICLE}\b{shared.step} (?P<season>{season})\b")
    yield rule(seasons, _season, rf"{_ARTICLE}\b(?P<season>{season})\b{shared.behind}")


FRAME_RULES = (
    *(one for said in LANGUAGES.values() if said.time.frame for one in _rules_of(said.time, said.time.frame)),
    rule(
        key_words(words.SET_PHRASES),
        set_phrase,
        rf"(?<![\w'’-])(?P<phrase>{any_of(words.SET_PHRASES)})(?![\w-])",
    ),
    rule(key_words(words.RECENTLY), recently, rf"\b(?:{any_of(words.RECENTLY)})\b"),
    rule(key_words(words.WEEKENDS), weekend, rf"\b(?:{any_of(words.WEEKENDS)})\b"),
    *(_frame(one.keys, _ago, one.pattern) for one in words.AGO),
    *(_frame(one.keys, _ahead, one.pattern) for one in words.AHEAD),
)


# The time phrases of Chinese and Japanese, which write no spaces: 上周二, 三月以来, 2023年6月27日より前.
#
# What opens a side of the stretch stands behind it there (之前, 以来, から), so the patterns end with it. A
# number of months has its own counter (个月, か月), so 三月 is always March.

_DIGITS = {digit: number for number, digit in enumerate("一二三四五六七八九十", 1)}
_YEARS = {"去年": -1, "昨年": -1, "今年": 0, "明年": 1, "来年": 1, "前年": -2, "一昨年": -2}
_WEEKS = {"上上": -2, "上": -1, "这": 0, "本": 0, "下": 1, "先々週": -2, "先週": -1, "今週": 0, "来週": 1}
_WEEKDAYS = {**{day: n for n, day in enumerate("一二三四五六日")}, "天": 6}
_JAPANESE_WEEKDAYS = {day: n for n, day in enumerate("月火水木金土日")}


def _number(said: str) -> int:
    """Return 3 for 3, for 三, and 12 for 十二."""
    if said.isdigit():
        return int(said)
    if len(said) == 1:
        return _DIGITS[said]
    tens, ones = said.split("十")
    return (_DIGITS[tens] if tens else 1) * 10 + (_DIGITS[ones] if ones else 0)


def _date(seen: Seen) -> Stretch | None:
    """2023年6月27日, 去年三月, 3月: a day where there is one, else a month."""
    now, month = seen.now, _number(seen["month"])
    place = (month, _number(seen["day"])) if seen["day"] else (month,)
    if seen["year"]:
        year = int(seen["year"])
    elif seen["step"]:
        year = now.year + _YEARS[seen["step"]]
    elif seen.direction == "unknown" and not seen["day"]:
        return None
    else:
        year = calendar.nearest_year(place, now=now, direction=seen.direction)
    if seen["day2"]:
        first, last = (calendar.date(year, month, _number(seen[day]), now=now) for day in ("day", "day2"))
        return calendar.spanning(first, last)
    if seen["day"]:
        return calendar.date(year, *place, now=now).unnamed()
    return _part_of(calendar.month(year, month, now=now), seen)


_THIRDS_UNSPACED = {1: ("初", "初め", "はじめ", "上旬"), 2: ("中旬", "半ば"), 3: ("底", "末", "下旬")}


def _part_of(whole: Stretch, seen: Seen) -> Stretch:
    """三月初, 3月の半ば, 月底: a third of a month or a year."""
    number = next((number for number, names in _THIRDS_UNSPACED.items() if seen["third"] in names), None)
    return calendar.portion(whole, number, of=3) if number else whole.unnamed()


def _part_of_phrase(seen: Seen) -> Stretch:
    """今月の初め, 去年底."""
    unit, count = words.UNSPACED_PHRASES[seen["phrase"]]
    return _part_of(calendar.steps_away(unit, count, now=seen.now), seen)


_SEASONS = {"春": 3, "夏": 6, "秋": 9, "冬": 12}


def _season_unspaced(seen: Seen) -> Stretch | None:
    """去年夏天, 2023年の夏, 夏天."""
    now, first_month = seen.now, _SEASONS[seen["season"]]
    if seen["year"] or seen["step"]:
        year = int(seen["year"]) if seen["year"] else now.year + _YEARS[seen["step"]]
    elif seen.direction == "unknown":
        return None
    else:
        year = calendar.nearest_year((first_month,), now=now, direction=seen.direction)
    return calendar.season(year, first_month, now=now).unnamed()


def _year(seen: Seen) -> Stretch:
    return calendar.year(int(seen["year"]), now=seen.now).unnamed()


def _months(seen: Seen) -> Stretch | None:
    """五月到七月, 5月から7月まで."""
    if seen.direction == "unknown" and not seen["year"]:
        return None
    return span_of_months(seen, _number(seen["month"]), _number(seen["month2"]))


def _weekday_unspaced(seen: Seen) -> Stretch | None:
    """上周二 and 先週の火曜日 are days of that week; a bare weekday lies where the question points."""
    number = _JAPANESE_WEEKDAYS[seen["youbi"]] if seen["youbi"] else _WEEKDAYS[seen["weekday"]]
    if seen["week"]:
        monday = calendar.week(seen.now + timedelta(weeks=_WEEKS[seen["week"]])).start
        return calendar.day(monday + timedelta(days=number)).unnamed()
    direction = "past" if seen["is_since"] else seen.direction
    if direction == "unknown":
        return None
    return calendar.day(calendar.nearest_weekday(number, now=seen.now, direction=direction)).unnamed()


_NUMBER = r"(?:\d{1,2}|[一二三四五六七八九]?十[一二三四五六七八九]?|[一二三四五六七八九])"
_SIDE = (
    r"(?:の?(?P<is_before>之前|以前|より前)|(?P<is_since>以来|以降|开始|起|から(?!\d))|の?(?P<is_after>之后|以后|より後)"
    r"|(?P<is_until>为止|まで))?"
)
_SAID_YEAR = rf"(?:(?P<year>\d{{4}})年|(?P<step>{any_of(_YEARS)}))の?"
_YEAR = f"(?:{_SAID_YEAR})?"
_THIRD = f"(?P<third>{any_of(name for names in _THIRDS_UNSPACED.values() for name in names)})"
_COUNT_UNSPACED = r"(?P<count>\d{1,3}|[一两二三四五六七八九十几数])"
_TIMES = "[一二三四五六七八九十两每几0-9]"

UNSPACED_RULES = (
    rule_by_piece(
        "月",
        _date,
        rf"(?:从|自)?{_YEAR}(?P<month>{_NUMBER})月(?![间間])"
        rf"(?:(?P<day>{_NUMBER})(?:[日号]?(?:到|至|から|[-–~〜])(?P<day2>{_NUMBER}))?[日号]|の?{_THIRD})?"
        rf"(?(day2)(?:まで)?|{_SIDE})",
    ),
    rule_by_piece(
        "初 旬 半ば 底 末 はじめ",
        _part_of_phrase,
        f"(?P<phrase>{any_of(words.UNSPACED_PHRASES)})の?年?{_THIRD}{_SIDE}",
    ),
    rule_by_piece("春 夏 秋 冬", _season_unspaced, rf"{_SAID_YEAR}(?P<season>[春夏秋冬])[天季]?"),
    rule_by_piece(
        "春天 夏天 秋天 冬天 春季 夏季 秋季 冬季", _season_unspaced, "(?P<season>[春夏秋冬])[天季]"
    ),
    rule_by_piece("年", _year, rf"(?:从|自)?(?P<year>(?:19|20)\d\d)年(?!\d){_SIDE}"),
    rule_by_piece(
        "月",
        _months,
        rf"(?:从|自)?(?:(?P<year>\d{{4}})年)?(?P<month>{_NUMBER})月?(?:到|至|から|[-–~〜])(?P<month2>{_NUMBER})月(?:まで)?",
    ),
    rule_by_piece(
        "周 星期 礼拜",
        _weekday_unspaced,
        rf"(?<!{_TIMES})(?P<from>从|自)?(?P<week>上上|上|这|本|下)?个?(?:周|星期|礼拜)(?P<weekday>[一二三四五六日天])"
        rf"(?(from)|(?!起)){_SIDE}",
    ),
    rule_by_piece(
        "曜",
        _weekday_unspaced,
        rf"(?<!毎週)(?:(?P<week>先々週|先週|今週|来週)の?)?(?P<youbi>[月火水木金土日])曜日?{_SIDE}",
    ),
    rule_by_piece(
        "最近 过去 近 この ここ 過去 直近",
        last_units,
        rf"(?:最近|过去|近|この|ここ|過去|直近)的?の?{_COUNT_UNSPACED}(?P<unit>个月|か月|ヶ月|週間|星期|小时|時間|天|日|周|年)間?",
    ),
    rule_by_piece(
        "最近 近来 前几天 这几天 先日 この前",
        recently,
        rf"(?:最近(?!的?{_COUNT_UNSPACED})|近来|前几天|这几天|先日|この前)",
    ),
    rule_by_piece("周末 週末", weekend, r"(?:上|这个?|先|今)?(?:周末|週末)"),
    rule_by_piece(
        " ".join(words.UNSPACED_PHRASES), set_phrase, f"(?P<phrase>{any_of(words.UNSPACED_PHRASES)})"
    ),
)
