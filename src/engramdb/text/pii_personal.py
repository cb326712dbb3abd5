"""
Find what is nobody else's business: birth dates, health, and what somebody earns.

Health is told by words alone, so they count only where the text speaks of a person: a lesson on warfarin and
a server's health check do not. Its words are cues of `data/languages` and lists of `data/health.toml`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from engramdb.text.force import bare_words, has_cue
from engramdb.text.lexicons import registry
from engramdb.text.normalize import lazy
from engramdb.text.pii_patterns import cue, has_words, words_of
from engramdb.text.word_starts import AnyOf

# Birth dates.

_MONTHS = (
    r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|jän|mär|mai|okt|dez|janv|févr|mars|avr|juin|juil|août|déc|"
    r"ene|abr|ago|dic|gen|mag|giu|lug|set|ott|fev|out|mrt|mei|sty|lut|kwi|maj|cze|lip|sie|wrz|paź|lis|gru|oca|şub|nis|"
    r"haz|tem|ağu|eyl|eki|kas|ara|янв|фев|мар|апр|ма[йя]|июн|июл|авг|сен|окт|ноя|дек)[^\W\d_]{0,9}\.?"
)
_DAY = r"[0-3]?\d(?:st|nd|rd|th|er|º|ª|\.)?"
_DATE = (
    rf"(?:(?:19|20)\d\d[-./][01]?\d[-./][0-3]?\d|[0-3]?\d[-./][0-3]?\d[-./](?:19|20)?\d\d(?!\d)"
    rf"|{_DAY}\s(?:of\s|de\s)?{_MONTHS}(?:,?\s(?:de\s|del\s)?(?:19|20)\d\d)?|{_MONTHS}\s{_DAY}(?:,?\s(?:19|20)\d\d)?"
    r"|(?:19|20)\d\d\s?[年년]\s?\d{1,2}\s?[月월]\s?\d{1,2}\s?[日일])"
)


@cache
def _birth_date() -> re.Pattern[str]:
    born = words_of("born")
    return re.compile(
        rf"(?i){born}[^\n]{{0,45}}?(?<![\d.,:]){_DATE}|(?<![\d.,:]){_DATE}[^\n.!?]{{0,30}}?{born}"
    )


def birth_dates(text: str) -> Iterator[tuple[int, int]]:
    """Yield dates on which somebody was born, with the words that say so."""
    if not any(map(str.isdigit, text)) or not has_words("born", text.lower()):
        return
    for match in _birth_date().finditer(text):
        if not cue("no_person").search(text[match.start() : match.end() + 6]):
            yield match.span()


# What somebody earns.

_AMOUNT = (
    r"(?:(?:[$€£¥₹₺]|R\$|US\$|CHF|EUR|USD|GBP|PLN|SEK|NOK|DKK)\s?\d[\d.,' ]{2,12}k?|"
    r"\d[\d.,' ]{2,12}\s?(?:[€£$₺]|EUR|USD|GBP|CHF|euros?|"
    r"dollars|pounds|zł|PLN|kr|SEK|₽|руб\w*|円|万元?|元)|"
    r"\d{1,3}(?:\.\d{1,2})?\s?(?:lpa|lakhs?|crores?|만\s?원|万円)(?!\w)|"
    r"\d{2,3}(?:\.\d)?k\b|\d{2,3}[.,]\d{3}(?:[.,]\d\d)?(?=\s(?:a|per|brutto|netto|gross|net|an?|pro|plus|before|after)\b))"
)


@cache
def _income() -> re.Pattern[str]:
    pay = words_of("pay")
    return re.compile(
        rf"(?i){pay}[^\n]{{0,40}}?(?<![\w.]){_AMOUNT}|{_AMOUNT}[^\n.!?]{{0,30}}?{pay}"
        rf"|{words_of('paid')}[^\n!?]{{0,30}}?{_AMOUNT}\s?{words_of('each_time')}"
    )


def incomes(text: str) -> Iterator[tuple[int, int]]:
    """Yield what somebody earns, with the word that says so."""
    lower = text.lower()
    if not any(map(str.isdigit, text)) or not (has_words("pay", lower) or has_words("paid", lower)):
        return
    for match in _income().finditer(text):
        if not cue("nobodys_pay").search(match[0]):
            yield match.span()


# Health.

_PROPER_NAME = lazy(
    r"(?<![.!?:]\s)(?<!^)\b[A-Z][a-z]{2,}\b|"
    r"\A[A-Z][a-z]{2,} (?:is|has|was|had|takes?|carries|got|needs|suffers)\b"
)
_DOSE = lazy(
    r"(?i)\b\d+(?:[.,]\d+)? ?(?:mg|mcg|µg|ml|iu|milligrams?)\b"
    r".{0,30}\b(?:a day|daily|twice|once|bid|morning|night|tablets?|pills?)\b"
)


def is_about_health(text: str) -> bool:
    """Return whether a text tells of somebody's health; there is no single word to conceal."""
    if not _has_health_words(text):
        return False
    words = cue("figurative").sub(" ", text)
    if not _has_health_words(words) or (cue("in_general").search(text) and not cue("own").search(text)):
        return False
    return any(form.search(words) for form in (cue("somebody"), _PROPER_NAME, _DOSE))


def takes_medicine(text: str) -> bool:
    """Return whether a text names a medicine and who takes it: certain, however unusual its name."""
    return is_about_health(text) and _names_medicine(text.lower()) and cue("takes").search(text) is not None


def _has_health_words(text: str) -> bool:
    lower = text.lower()
    return has_cue("health", bare_words(text)) or _conditions().is_in(lower) or _names_medicine(lower)


def _names_medicine(lower: str) -> bool:
    medicines, endings = _medicines()
    words = {word.rstrip(_LAST_LETTERS) for word in _WORD.findall(lower)}
    return not words.isdisjoint(medicines) or any(word.endswith(endings) for word in words)


_WORD = lazy(r"[^\W\d_]{6,20}")
_LAST_LETTERS = "aeiyąę"
"""What a language may add to the name of a medicine."""


@cache
def _conditions() -> AnyOf:
    lines = registry("health")["conditions"].splitlines()
    return AnyOf([rf"\b(?:{line.strip()})(?!\w)" for line in lines if line.strip()])


@cache
def _medicines() -> tuple[frozenset[str], tuple[str, ...]]:
    """Return names of medicines and endings of such names, without what a language may add to them."""
    rows = registry("health")
    names = frozenset(word.rstrip(_LAST_LETTERS) for word in rows["medicines"].split())
    endings = {word.rstrip(_LAST_LETTERS) for word in rows["medicine_endings"].split()}
    return names, tuple(one for one in endings if len(one) >= _MIN_ENDING)


_MIN_ENDING = 4
"""Letters of an ending that are enough to tell a medicine from a word."""
