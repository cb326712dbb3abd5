"""
The time phrases of Chinese and Japanese, which write no spaces: 上周二, 三月以来, 2023年6月27日より前.

Used by `moments` beside `moment_frames`. What opens a side of the stretch stands behind it there (之前,
以来, から), so the patterns end with it. A number of months has its own counter (个月, か月), so 三月 is
always March. Phrases keep their words, so no stretch here has a name.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from engram.text import moment_words as words
from engram.text import stretches
from engram.text.moment_distances import last_units, recently
from engram.text.moment_frames import set_phrase, weekend
from engram.text.moment_rules import any_of, rule_by_piece
from engram.text.moment_spans import span_of_months

if TYPE_CHECKING:
    from engram.text.moment_rules import Seen
    from engram.text.stretches import Stretch

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
    elif seen.direction == "unknown":
        return None
    else:
        year = stretches.nearest_year(place, now=now, direction=seen.direction)
    if seen["day"]:
        return stretches.date(year, *place, now=now).unnamed()
    return _part_of(stretches.month(year, month, now=now), seen)


_THIRDS = {1: ("初", "初め", "はじめ", "上旬"), 2: ("中旬", "半ば"), 3: ("底", "末", "下旬")}


def _part_of(whole: Stretch, seen: Seen) -> Stretch:
    """三月初, 3月の半ば, 月底: a third of a month or a year."""
    number = next((number for number, names in _THIRDS.items() if seen["third"] in names), None)
    return stretches.portion(whole, number, of=3) if number else whole.unnamed()


def _part_of_phrase(seen: Seen) -> Stretch:
    """今月の初め, 去年底."""
    unit, count = words.UNSPACED_PHRASES[seen["phrase"]]
    return _part_of(stretches.steps_away(unit, count, now=seen.now), seen)


_SEASONS = {"春": 3, "夏": 6, "秋": 9, "冬": 12}


def _season(seen: Seen) -> Stretch | None:
    """去年夏天, 2023年の夏, 夏天."""
    now, first_month = seen.now, _SEASONS[seen["season"]]
    if seen["year"] or seen["step"]:
        year = int(seen["year"]) if seen["year"] else now.year + _YEARS[seen["step"]]
    elif seen.direction == "unknown":
        return None
    else:
        year = stretches.nearest_year((first_month,), now=now, direction=seen.direction)
    return stretches.season(year, first_month, now=now).unnamed()


def _year(seen: Seen) -> Stretch:
    return stretches.year(int(seen["year"]), now=seen.now).unnamed()


def _months(seen: Seen) -> Stretch | None:
    """五月到七月, 5月から7月まで."""
    if seen.direction == "unknown" and not seen["year"]:
        return None
    return span_of_months(seen, _number(seen["month"]), _number(seen["month2"]))


def _weekday(seen: Seen) -> Stretch | None:
    """上周二 and 先週の火曜日 are days of that week; a bare weekday lies where the question points."""
    number = _JAPANESE_WEEKDAYS[seen["youbi"]] if seen["youbi"] else _WEEKDAYS[seen["weekday"]]
    if seen["week"]:
        monday = stretches.week(seen.now + timedelta(weeks=_WEEKS[seen["week"]])).start
        return stretches.day(monday + timedelta(days=number)).unnamed()
    direction = "past" if seen["is_since"] else seen.direction
    if direction == "unknown":
        return None
    return stretches.day(stretches.nearest_weekday(number, now=seen.now, direction=direction)).unnamed()


_NUMBER = r"(?:\d{1,2}|[一二三四五六七八九]?十[一二三四五六七八九]?|[一二三四五六七八九])"
_SIDE = (
    r"(?:の?(?P<is_before>之前|以前|より前)|(?P<is_since>以来|以降|开始|起|から(?!\d))|の?(?P<is_after>之后|以后|より後)"
    r"|(?P<is_until>为止|まで))?"
)
_SAID_YEAR = rf"(?:(?P<year>\d{{4}})年|(?P<step>{any_of(_YEARS)}))の?"
_YEAR = f"(?:{_SAID_YEAR})?"
_THIRD = f"(?P<third>{any_of(name for names in _THIRDS.values() for name in names)})"
_COUNT = r"(?P<count>\d{1,3}|[一两二三四五六七八九十几数])"
_TIMES = "[一二三四五六七八九十两每几0-9]"

RULES = (
    rule_by_piece(
        "月",
        _date,
        rf"(?:从|自)?{_YEAR}(?P<month>{_NUMBER})月(?![间間])(?:(?P<day>{_NUMBER})[日号]|の?{_THIRD})?{_SIDE}",
    ),
    rule_by_piece(
        "初 旬 半ば 底 末 はじめ",
        _part_of_phrase,
        f"(?P<phrase>{any_of(words.UNSPACED_PHRASES)})の?年?{_THIRD}{_SIDE}",
    ),
    rule_by_piece("春 夏 秋 冬", _season, rf"{_SAID_YEAR}(?P<season>[春夏秋冬])[天季]?"),
    rule_by_piece("春天 夏天 秋天 冬天 春季 夏季 秋季 冬季", _season, "(?P<season>[春夏秋冬])[天季]"),
    rule_by_piece("年", _year, rf"(?:从|自)?(?P<year>(?:19|20)\d\d)年(?!\d){_SIDE}"),
    rule_by_piece(
        "月",
        _months,
        rf"(?:从|自)?(?:(?P<year>\d{{4}})年)?(?P<month>{_NUMBER})月?(?:到|至|から|[-–~〜])(?P<month2>{_NUMBER})月(?:まで)?",
    ),
    rule_by_piece(
        "周 星期 礼拜",
        _weekday,
        rf"(?<!{_TIMES})(?P<from>从|自)?(?P<week>上上|上|这|本|下)?个?(?:周|星期|礼拜)(?P<weekday>[一二三四五六日天])"
        rf"(?(from)|(?!起)){_SIDE}",
    ),
    rule_by_piece(
        "曜",
        _weekday,
        rf"(?<!毎週)(?:(?P<week>先々週|先週|今週|来週)の?)?(?P<youbi>[月火水木金土日])曜日?{_SIDE}",
    ),
    rule_by_piece(
        "最近 过去 近 この ここ 過去 直近",
        last_units,
        rf"(?:最近|过去|近|この|ここ|過去|直近)的?の?{_COUNT}(?P<unit>个月|か月|ヶ月|週間|星期|小时|時間|天|日|周|年)間?",
    ),
    rule_by_piece(
        "最近 近来 前几天 这几天 先日 この前",
        recently,
        rf"(?:最近(?!的?{_COUNT})|近来|前几天|这几天|先日|この前)",
    ),
    rule_by_piece("周末 週末", weekend, r"(?:上|这个?|先|今)?(?:周末|週末)"),
    rule_by_piece(
        " ".join(words.UNSPACED_PHRASES), set_phrase, f"(?P<phrase>{any_of(words.UNSPACED_PHRASES)})"
    ),
)
