"""
Find codes and numbers that a word nearby gives away: PINs, door codes, one-time codes, card codes, ids.

The value alone says little: "6627" is a secret after "combination" and a size elsewhere. So every row names
the words that must stand near, what the value looks like, and how far away it may be; units, years and what
other numbers are called rule a value out. Windows are bounded, so the time grows with the text alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from msgspec import Struct

from engramdb.text.normalize import lazy
from engramdb.text.pii_patterns import cue, has_words, is_placeholder
from engramdb.text.pii_spoken import awaits_answer, looks_random

_NOT_INSIDE = r"(?<![A-Za-z0-9_.,:/$€£#@+-])"
_NO_UNIT = (
    r"(?![A-Za-z0-9_]|[.,:/]\d|-\d|\s?%|\s?(?i:(?:px|ms|mg|kg|km|mb|gb|kb|mm|cm|percent|times|people|"
    r"users?|rows?|"
    r"items?|pages?|days?|weeks?|months?|years?|hours?|minutes?|mins?|secs?|seconds?|euros?|dollars?|bucks|"
    r"miles|meters|metres|steps|points?|lines?|words?|tokens?|requests?|characters|chars|digits?|"
    r"tries|attempts)\b))"
)
_SPACED = r"\d(?:[ .-]\d){3,7}"
_DIGIT_WORD = (
    r"(?i:zero|oh|one|two|three|four|five|six|seven|eight|nine|null|eins|zwei|drei|vier|fünf|sechs|"
    r"sieben|acht|neun|"
    r"un|deux|trois|quatre|cinq|sept|huit|neuf|cero|uno|dos|tres|cuatro|cinco|seis|siete|ocho|nueve)"
)
_SPELLED = rf"(?<!\w){_DIGIT_WORD}(?:[ ,.-]{{1,2}}{_DIGIT_WORD}){{3,7}}(?!\w)"
_PIN = rf"{_NOT_INSIDE}(?:{_SPACED}|\d{{4,8}}[A-D]?|\d{{2,3}}[A-F]\d{{1,3}})[#*]?{_NO_UNIT}|{_SPELLED}"
_TURNS = r"(?:(?:left|right|links|rechts|clockwise|gauche|droite)\s)?\d{1,2}"
_COMBINATION = rf"{_NOT_INSIDE}{_TURNS}(?:(?:,|\sthen|\sto|-|–|\s-)?\s?{_TURNS}){{2,3}}{_NO_UNIT}"
_DIGITS_OF_CODE = (
    rf"{_NOT_INSIDE}(?:[A-Z]-\d{{5,8}}|\d{{3}}[ -]\d{{3}}|\d{{4}}[ -]\d{{4}}|\d{{5,8}}|"
    rf"(?=[a-z0-9-]*\d)(?=[a-z0-9-]*[a-z])[a-z0-9]{{4,5}}-[a-z0-9]{{4,5}}|"
    rf"(?=[A-Z0-9-]*\d)[A-Z0-9]{{4,5}}-[A-Z0-9]{{4,5}}){_NO_UNIT}"
)
_SPLIT_CODE = (
    r"(?<![\w.-])(?=[A-Za-z0-9-]*\d)(?=[A-Za-z0-9-]*[A-Za-z])[A-Za-z0-9]{4,6}-[A-Za-z0-9]{4,6}(?![\w-])"
)
_ID = r"(?<![A-Za-z0-9])(?=(?:[A-Z .-]{0,6}\d){6})[A-Z0-9](?:[ .-]?[A-Z0-9]){6,19}(?![A-Za-z0-9])"
_COMPACT_ID = r"(?<![A-Za-z0-9])(?=(?:[A-Z-]{0,8}\d){4})[A-Z0-9](?:-?[A-Z0-9]){6,17}(?![A-Za-z0-9])"
_SHORT_ID = r"(?<![A-Za-z0-9])(?:\d{7}[A-W][A-IW]?|\d{3}[ -]\d{3}[ -]\d{3})(?![A-Za-z0-9])"
_MIXED = (
    r"(?<![\w/\\.@:#-])(?=\S{0,40}[A-Z])(?=\S{0,40}[a-z])(?=\S{0,40}\d)(?=\S{0,40}[!@#$%^&*+?_~-])"
    r"[\w!@#$%^&*+?~-]{10,40}(?![\w/\\@:])"
)
_PASSPORT = r"(?<![A-Za-z0-9])(?:(?=[A-Z0-9]*\d[A-Z0-9]*\d)(?=\d*[A-Z])[A-Z0-9]{8,9}|\d{9})(?![A-Za-z0-9])"
_TAX = r"(?<![A-Za-z0-9])(?=(?:[A-Z ./-]{0,5}\d){8})[A-Z0-9](?:[ ./-]?[A-Z0-9]){7,16}(?![A-Za-z0-9])"
_ACCOUNT = r"(?<![A-Za-z0-9.-])\d(?:[ -]?\d){6,16}(?![A-Za-z0-9]|[.-]\d)"
_LICENCE = (
    r"(?<![A-Za-z0-9])(?:\d{3} \d{3} \d{3}|[A-Z]{1,5}[ -]?\d{5,12}[A-Z0-9]{0,6}|"
    r"\d{7,12}[A-Z]{0,2})(?![A-Za-z0-9])"
)


class _Clue(Struct, frozen=True):
    """Words, the value that they give away, and how far before or after them it may stand."""

    cue: str
    """The name of the words in `data/pii_cues.toml`."""
    value: re.Pattern[str]
    ahead: int = 50
    back: int = 0
    is_many: bool = False
    """Whether all values in reach count, as in a list of backup codes."""
    check: Callable[[str], bool] = lambda _: True
    also: str = ""
    """The name of what the text must say as well, anywhere."""


def _is_no_year(value: str) -> bool:
    return not re.fullmatch(r"(?:19|20)\d\d", value)


_SPELLED_DIGITS = lazy(_SPELLED)
_SIGNS = frozenset("!@#$%^&*+?~")


def _is_mixed(value: str) -> bool:
    """Return whether a word mixes letters, digits and signs as passwords do and identifiers do not."""
    return looks_random(value) or (
        any(sign in _SIGNS for sign in value[:-1]) and "=" not in value and not value.startswith(("#", "@"))
    )


_CODES = (
    _Clue("access", lazy(_PIN), back=45, check=_is_no_year),
    _Clue("pin", lazy(_PIN), ahead=40, back=30, check=_is_no_year),
    _Clue("bank_card", lazy(rf"{_NOT_INSIDE}\d(?: \d){{3}}(?![ \d])"), ahead=60, back=40),
    _Clue("lock", lazy(_COMBINATION), ahead=60, back=40, also="opens"),
    _Clue("one_time", lazy(_DIGITS_OF_CODE), ahead=110, back=40, is_many=True, check=_is_no_year),
    _Clue("card_code", lazy(rf"{_NOT_INSIDE}\d{{3,4}}{_NO_UNIT}"), ahead=60, check=_is_no_year),
    _Clue("second_factor", lazy(_SPLIT_CODE), ahead=150, is_many=True),
    _Clue("login", lazy(_MIXED), ahead=90, back=60, check=_is_mixed),
)
_NAMED_VALUE = lazy(
    r"(?:[^\n:=.?!]{0,40}?(?:\s?[:=]\s?|\s(?:is|was|says|reads|lautet|est|es|try|still)\s(?:still\s|"
    r"now\s)?)|\s)"
    r"[\"'`“]?(?P<value>[^\s\"'`“”，。、]{6,128})"
)
_LINK = (
    r"(?:\s(?:is|was|ist|est|es|with|to)\s(?:now\s|set to\s)?|"
    r"\s?[:=,]\s(?:it['’]s\s|that['’]s\s)?|\s(?:it|that)['’]s\s)"
)
_CODE = (
    r"(?P<value>\d{4,8}[#*]?|\d(?:-\d){3,7}|\d{3}[ -]\d{3}(?:[ -]\d{2,3})?|"
    r"(?=[A-Z-]{0,8}\d)[A-Z0-9](?:-?[A-Z0-9]){3,11}|"
    r"(?=\S{0,30}\d)(?=\S{0,30}[!#$%^&*~?])[\w!#$%^&*~?-]{7,40})(?![\w-])"
)
_SOME_CODE = lazy(
    r"(?i:(?:(?P<what>[^\W\d_]{2,20})[ -])?\bcodes?\b(?P<then>[^\n.?!\d]{0,45}?))(?i:" + _LINK + ")" + _CODE
)
_SENT = lazy(
    r"(?i)\b(?:sent|texted|messaged|gave|got)\s(?:me|us|you)?\s?(?P<value>\d{3}[ -]\d{3}|\d{6})\b"
    r"(?=[^\n.]{0,40}\b(?:confirm|verify|log ?in|sign ?in|new (?:phone|device)|code)\b)"
)
_UNLOCKED = lazy(
    r"(?i:\b(?:safe|lock|alarm|phone|tablet|laptop|door|gate|garage|shed|keypad|locker|vault|padlock|"
    r"suitcase|panel|pendant)\b"
    r"[^\n?!]{0,70}?\b(?:set (?:it )?to|off with|disarm\w* with|unlock(?:s|ed)? (?:is|with)|"
    r"opens with|key in|"
    r"punch in|type in|tap in)\s)" + _CODE
)
_FIRST_CODE = lazy(
    r"(?<![\w.,:/-])(?:\d(?:[ -]?\d){3,15}|(?=[A-Z-]{0,8}\d)[A-Z0-9](?:-?[A-Z0-9]){3,11}|"
    r"(?=\S{0,30}\d)(?=\S{0,30}[A-Za-z])[\w!#$%^&*~?-]{6,40})(?![\w-])"
)
MAX_ANSWER_CHARACTERS = 60
"""In which the value stands, where a message begins with its answer."""
_TYPED = lazy(
    r"(?i)\b(?:type|press|enter|dial|punch|key|tap|put)(?:\s(?:in|it|"
    r"is))?\s(?P<value>\d{4,8}[#*]?)(?![\w.,-]*\d)"
)
_SIGNED = lazy(r"(?<![\w.,:/#*-])(?P<value>\d{4,8}[#*])(?!\w)")
_STATED_CODE = lazy(
    r"(?i)\b(?:pass ?code|pin(?: code| number)?|geheimzahl)\b[^\n.?!\d]{0,60}?(?:\bis\b|"
    r"[:=])[^\n.?!\d]{0,30}(?P<value>\d{4,8})"
    r"(?!\w|[.,]\d)"
)
_LOGIN = lazy(
    r"(?i)\b(?:log-?in(?! (?:page|url|form|screen|endpoint|path|route))|credentials?|account)\b"
    r"[^\n.?!]{0,30}?"
    r"(?:\sis|\sare|:|=)\s[\w.@+-]{2,40}\s?[/|:]\s?"
    r"(?P<value>(?=\S{0,40}\d)(?=\S{0,40}[A-Za-z])[^\s/|]{5,40})"
)
_USER_AND_PASSWORD = lazy(
    r"(?i)(?<![\w/.:@])(?:admin|administrator|root|user|guest|pi|ubuntu|sa)\s?[/:|]\s?"
    r"(?P<value>(?=\S{0,40}\d)(?=\S{0,40}[^\W\d_])[^\s/|:,;\"']{6,40})"
)
_WANTED = lazy(
    r"(?i)\b(?:pass|log-?in|portal|pfx|p12|keystore|unlock(?:s|ed)?|sign-?in)\b[^\n.?!]{0,40}?"
    r"\s?(?:\bis|\bwas|\bwants|\btakes|\bneeds|\bwith|[:=])\s(?:now\s|still\s|just\s|again\s)?[\"'`“]?"
    r"(?P<value>[\w!#$%^&*+?~.-]{8,40})(?![\w/@\\:])"
)
_TURNED = lazy(
    r"(?i)\b(?P<value>(?:[a-z-]{3,12}|\d{1,2}) (?:to the )?(?:left|right)(?:,? (?:then |"
    r"and )?(?:[a-z-]{3,12}|\d{1,2}) "
    r"(?:to the )?(?:left|right)){1,3})\b"
)
_ANSWER = lazy(
    r"(?i)(?:security question|maiden name|mädchenname)[^\n.?!]{0,40}?"
    r"(?:\s?:|\s(?:is|was|ist|war))\s(?P<value>[^\W\d_]{3,30})"
)
_SWITCHED = lazy(
    r"(?i)\bchanged (?:my|our|the|his|her) (?:[\w-]{2,20} ){1,3}from "
    r"(?P<old>(?=\S{0,40}\d)(?=\S{0,40}[a-z])[\w!@#$%&*.-]{7,40}) to "
    r"(?P<new>(?=\S{0,40}\d)(?=\S{0,40}[a-z])[\w!@#$%&*.-]{7,40})"
)
_MIN_STEM = 6
_COMMAND_LINE = lazy(
    r"\bsshpass\s+-p\s*(?P<q1>['\"]?)(?P<one>[^\s'\"]{3,64})(?P=q1)"
    r"|(?:\s|^)--(?:password|passwd|passphrase|token|api-key|secret)(?:=|"
    r"\s)(?P<q2>['\"]?)(?P<two>[^\s'\"<$-][^\s'\"]{3,127})(?P=q2)"
    r"|\b(?:mysql|mysqldump|mariadb|mongo|psql|"
    r"smbclient)\b[^\n]{0,80}?\s-p(?P<q3>['\"]?)(?P<three>[^\s'\"$-][^\s'\"]{3,63})(?P=q3)"
    r"|\b(?:docker|podman|helm|az|"
    r"npm)\s+login\b[^\n]{0,80}?\s-p\s*(?P<q4>['\"]?)(?P<four>[^\s'\"$<-][^\s'\"]{3,127})(?P=q4)"
)
_COMMON = lazy(r"(?i)\A(?:password|passwd|secret|token|file|stdin|env|prompt|true|false|none)\Z")


def named_codes(text: str) -> Iterator[tuple[int, int]]:
    """Yield PINs, access codes, one-time codes, card codes and passwords that a word nearby gives away."""
    lower = text.lower()
    if any(map(str.isdigit, text)) or _SPELLED_DIGITS.search(lower):
        yield from _given_away(text, _CODES)
    for named in cue("named_secret").finditer(text) if has_words("named_secret", lower) else ():
        found = _NAMED_VALUE.match(text, named.end())
        if found and _is_secret(bare := found["value"].rstrip(".,;!?)&")):
            yield found.start("value"), found.start("value") + len(bare)
    yield from _codes_in_talk(text, lower)
    yield from _on_the_command_line(text)
    for match in _SWITCHED.finditer(text) if "changed" in lower else ():
        if _stem(match["old"], match["new"]) >= _MIN_STEM:
            yield match.span("old")
            yield match.start("new"), match.start("new") + len(match["new"].rstrip(".,"))


def _codes_in_talk(text: str, lower: str) -> Iterator[tuple[int, int]]:
    """Yield what is called a code, was sent to confirm or opens something, and secret answers."""
    for match in _SOME_CODE.finditer(text) if "code" in lower else ():
        is_other = cue("other_codes").fullmatch(match["what"] or "")
        if not is_other and _is_no_year(match["value"]) and _is_in_capitals(match["value"]):
            yield match.span("value")
    for pattern in (_SENT, _UNLOCKED):
        for match in pattern.finditer(text):
            if _is_no_year(match["value"]):
                yield match.span("value")
    for pattern in (_ANSWER, _STATED_CODE, _LOGIN):
        for match in pattern.finditer(text):
            yield match.span("value")
    for pattern, is_alike in ((_WANTED, is_chosen), (_USER_AND_PASSWORD, _is_cased)):
        for match in pattern.finditer(text):
            value = match["value"].rstrip(".")
            if is_alike(value):
                yield match.start("value"), match.start("value") + len(value)
    yield from _entrances(text, lower)


def _entrances(text: str, lower: str) -> Iterator[tuple[int, int]]:
    """Yield what is typed at a door, and how a lock is turned."""
    if any(map(str.isdigit, text)) and has_words("entrance", lower):
        for pattern in (_TYPED, _SIGNED):
            for match in pattern.finditer(text):
                if _is_no_year(match["value"]):
                    yield match.span("value")
    if has_words("lock", lower):
        for match in _TURNED.finditer(text):
            yield match.span("value")


def names_code(text: str) -> bool:
    """Return whether a text speaks of a code or number that may be secret."""
    return cue("asked_code").search(text) is not None


def answered_codes(text: str, before: str) -> Iterator[tuple[int, int]]:
    """Yield the code or number with which a text begins that answers a question for one."""
    is_asked = cue("asked_code").search(before) and not cue("asked_other").search(before)
    if is_asked and awaits_answer(before):
        found = _FIRST_CODE.search(text, 0, MAX_ANSWER_CHARACTERS)
        if found is not None and _is_in_capitals(found[0]):
            yield found.span()


def _on_the_command_line(text: str) -> Iterator[tuple[int, int]]:
    for match in _COMMAND_LINE.finditer(text):
        group = next(name for name in ("one", "two", "three", "four") if match[name])
        if not _COMMON.match(match[group]):
            yield match.span(group)


def _is_in_capitals(value: str) -> bool:
    """Return whether a code is no word with a number behind it, such as "v2" or "step-4"."""
    return not any(map(str.islower, value)) or any(sign in _SIGNS for sign in value)


def _is_secret(value: str) -> bool:
    """Return whether a value after the name of a secret can be one: no word, number or address by itself."""
    letters, digits = any(map(str.isalpha, value)), any(map(str.isdigit, value))
    is_groups = value.replace("-", "").isdigit() and value.count("-") >= 3
    return not is_placeholder(value) and "://" not in value and ((letters and digits) or is_groups)


def is_chosen(value: str) -> bool:
    """Return whether a text is one word like a made-up password: of both cases, with digits and signs."""
    return _is_cased(value) and not value.isalnum() and not any(map(str.isspace, value))


def _is_cased(value: str) -> bool:
    """Return whether a word has capitals and small letters, or signs, beside digits."""
    is_mixed = value not in (value.lower(), value.upper()) or any(one in _SIGNS for one in value)
    return is_mixed and any(map(str.isdigit, value)) and not is_placeholder(value)


def _stem(one: str, other: str) -> int:
    return next((place for place, pair in enumerate(zip(one, other, strict=False)) if len(set(pair)) > 1), 0)


# Numbers of people at offices, insurers and banks.

_NHS_WEIGHTS = (10, 9, 8, 7, 6, 5, 4, 3, 2)


def _is_nhs(value: str) -> bool:
    digits = [int(one) for one in value if one.isdigit()]
    if len(digits) != 10:
        return False
    check = 11 - sum(digit * weight for digit, weight in zip(digits, _NHS_WEIGHTS, strict=False)) % 11
    return digits[9] == (0 if check == 11 else check)


_IDS = (
    _Clue("nhs", lazy(r"(?<!\d)\d{3}[ -]?\d{3}[ -]?\d{4}(?!\d)"), ahead=80, check=_is_nhs),
    _Clue("medical", lazy(_COMPACT_ID), ahead=70),
    _Clue("member", lazy(_COMPACT_ID), ahead=70, also="insurer"),
    _Clue("licence", lazy(_LICENCE), ahead=60),
    _Clue("passport", lazy(_PASSPORT), ahead=60),
    _Clue("tax", lazy(_TAX), ahead=45),
    _Clue("national", lazy(_ID), ahead=45),
    _Clue("traveler", lazy(_PASSPORT), ahead=60),
    _Clue("short_national", lazy(_SHORT_ID), ahead=30),
)
_CARD_EXPIRY = (
    r"(?<!\d)(?<!\b\d/)(?<!\b\d\d/)(?<!\b\d / )(?<!\b\d\d / )"
    r"(?:0[1-9]|1[0-2])\s?/\s?(?:20)?[2-4]\d(?!\d|\s?/\s?(?:20)?\d\d\b)"
)
"""A month and a year; in a whole date, such as that of a travel visa, it is none."""
_ACCOUNTS = (
    _Clue("account", lazy(_ACCOUNT), ahead=55, also="banking"),
    _Clue("sort_code", lazy(r"(?<!\d)\d\d[ -]?\d\d[ -]?\d\d(?!\d)"), ahead=20),
    _Clue("card", lazy(_CARD_EXPIRY), ahead=60, also="expiry"),
)
_BELGIAN = lazy(r"(?<!\d)\d\d\.(?:0\d|1[0-2])\.[0-3]\d-\d{3}\.\d\d(?!\d)")
_UK_LICENCE = lazy(
    r"(?<![A-Za-z0-9])[A-Z9]{5}\d[0156]\d(?:[0-2]\d|3[01])\d[A-Z9]{2}[A-Z0-9][A-Z]{2}(?![A-Za-z0-9])"
)


def named_ids(text: str) -> Iterator[tuple[int, int]]:
    """Yield numbers of patients, drivers, travelers and taxpayers that a word nearby gives away."""
    if any(map(str.isdigit, text)):
        yield from _given_away(text, _IDS)
        for form in (_UK_LICENCE, _BELGIAN):
            for match in form.finditer(text):
                yield match.span()


def named_accounts(text: str) -> Iterator[tuple[int, int]]:
    """Yield account numbers in talk about a bank."""
    if any(map(str.isdigit, text)):
        yield from _given_away(text, _ACCOUNTS)


def _given_away(text: str, clues: tuple[_Clue, ...]) -> Iterator[tuple[int, int]]:
    lower = text.lower()
    for clue in clues:
        if not has_words(clue.cue, lower) or (clue.also and not cue(clue.also).search(text)):
            continue
        for named in cue(clue.cue).finditer(text):
            reach = (max(0, named.start() - clue.back), min(len(text), named.end() + clue.ahead))
            found = [
                match
                for match in clue.value.finditer(text, *reach)
                if (match.end() <= named.start() or match.start() >= named.end())
                and _is_value(text, match, clue)
            ]
            after = [match for match in found if match.start() >= named.end()]
            near = after or found[-1:]
            for match in near if clue.is_many else near[:1]:
                yield match.span()


def _is_value(text: str, match: re.Match[str], clue: _Clue) -> bool:
    before = text[max(0, match.start() - 24) : match.start()]
    return not cue("other_numbers").search(before) and "\n\n" not in before and clue.check(match[0])
