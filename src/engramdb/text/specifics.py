"""
The specifics of a statement: its numbers, names and days, in whichever way they are written.

Two statements that name each something that the other does not cannot be one, however alike they sound:
"240 euros", "two hundred and forty euros" and "240 €" are the same number, "420 euros" is not. What only one
of them names is no contradiction; then the other one says less.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from engramdb.erasable_cache import cached
from engramdb.text.lexicons import LANGUAGES
from engramdb.text.name_runs import capitals_prove_nothing
from engramdb.text.names import fold
from engramdb.text.normalize import lazy
from engramdb.text.technologies import technology_class

_WORD: Final = lazy(r"[^\W_]+(?:['’.+#][^\W_]+)*[+#]{0,2}")
_NUMBER: Final = lazy(r"(?P<digits>\d+(?:[.,:]\d+)*)(?P<thousands>\s?[kK]\b)?")
_CODE: Final = lazy(
    r"\b(?=[a-z\d]*(?:[a-z]\d+[a-z]|\d[a-z]+\d))(?![a-z\d]*[a-z]{5})[a-z\d]{7,}\b", re.IGNORECASE
)
"""A hash or a serial number: letters and digits in turn, without a word between them, as in "iPhone15Pro"."""
_MEASURE: Final = lazy(r"(?:\d+(?:[hmsx]|min|sec|px|[cmk]m))+\d*", re.IGNORECASE)
_THOUSANDS: Final = lazy(r"\d{1,3}(?:[.,]\d{3})+")
_ENGLISH: Final = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen"
)
_TENS: Final = "twenty thirty forty fifty sixty seventy eighty ninety"
_ORDINALS: Final = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
_SCALES: Final = {"hundred": 100, "thousand": 1_000, "million": 1_000_000}
_INEXACT: Final = frozenset({"couple", "several"})
_HALF_DAY: Final = 12
_NO_NAMES: Final = frozenset({"i", "i'm", "i've", "i'd", "i'll"})
_MIN_STEM: Final = 4
"""A shorter name must stand in the other text as it is: Ann is not Anna."""
_AMBIGUOUS: Final = frozenset({"may", "march", "mars", "sun", "sat", "so", "do"})
"""Months and days that are also common words."""


SPELLED: Final = {
    **{word: number for number, word in enumerate(_ENGLISH.split())},
    **{word: number * 10 for number, word in enumerate(_TENS.split(), start=2)},
}
"""English numbers that are written out."""


def _number_words() -> dict[str, int]:
    found = SPELLED | {word: number for number, word in enumerate(_ORDINALS.split(), start=1)}
    for language in LANGUAGES.values():
        for number, forms in enumerate(language.time.counts.split(), start=1):
            found |= {form: number for form in forms.split("/") if number > 1 and form not in _INEXACT}
    return {word: number for word, number in found.items() if word not in ("one", "zero")}


def _calendar_words() -> dict[str, str]:
    found: dict[str, str] = {}
    for language in LANGUAGES.values():
        for sort, names in (("month", language.time.months), ("day", language.time.weekdays)):
            for number, forms in enumerate(names.split()):
                for form in forms.split("/"):
                    found.setdefault(form, f"{sort} {number}")
                    found.setdefault(f"{form}s", f"{sort} {number}")
    return {word: name for word, name in found.items() if word not in _AMBIGUOUS}


NUMBER_WORDS: Final = _number_words()
"""Numbers that are written out, from two on: one is as often a pronoun."""
_CALENDAR: Final = _calendar_words()


class Specifics(Struct, frozen=True):
    """What a text names, and all of its words, to look for what others name."""

    numbers: frozenset[str]
    """Codes are among them: "0d3a1619" is another one than "0d3a1620"."""
    names: frozenset[str]
    days: frozenset[str]
    """Months and weekdays by their number, whatever the language."""
    words: tuple[str, ...]
    """Folded, in their order."""

    def lacks(self, other: Specifics) -> Specifics:
        """Return what the other text names and this one does not."""
        return Specifics(
            numbers=other.numbers - self.numbers,
            names=frozenset(one for one in other.names if not self._mentions(one)),
            days=other.days - self.days,
            words=(),
        )

    def _mentions(self, name: str) -> bool:
        """Return whether a name is among the words, in whatever case and with whatever ending."""
        if name in self.words:
            return True
        return len(name) >= _MIN_STEM and any(
            word.startswith(name) or (len(word) >= _MIN_STEM and name.startswith(word)) for word in self.words
        )

    @property
    def is_empty(self) -> bool:
        """Whether nothing is named."""
        return not (self.numbers or self.names or self.days)


def codes_in(text: str) -> frozenset[str]:
    """Return what letters and digits in turn make up: each is one name, and its digits are no numbers."""
    return frozenset(one.lower() for one in _CODE.findall(text) if not _MEASURE.fullmatch(one))


def without_codes(text: str) -> str:
    """Return a text without its codes."""
    return _CODE.sub(lambda found: found[0] if _MEASURE.fullmatch(found[0]) else " ", text)


@cached(2_000)
def specifics_of(text: str) -> Specifics:
    """Return what a text names; the first word of a sentence is a name only where it stands on a list."""
    codes = codes_in(text)
    words = [match[0] for match in _WORD.finditer(text)]
    plain = [fold(word).removesuffix("'s").removesuffix("’s") for word in words]
    days = {_CALENDAR[word] for word in plain if word in _CALENDAR}
    return Specifics(
        numbers=codes.union(_digits(without_codes(text) if codes else text), _spelled_numbers(plain)),
        names=_names(words, plain, is_german=capitals_prove_nothing(text)),
        days=frozenset(days),
        words=tuple(plain),
    )


def swap_specifics(first: str, second: str) -> bool:
    """
    Return whether each of two texts names something where the other names something else.

    Or the same in another order: "Alice reports to Bob" is not "Bob reports to Alice".
    """
    mine, theirs = specifics_of(first), specifics_of(second)
    only_mine, only_theirs = theirs.lacks(mine), mine.lacks(theirs)
    sorts = ("numbers", "names", "days")
    if any(getattr(only_mine, sort) and getattr(only_theirs, sort) for sort in sorts):
        return True
    named = {one for one in mine.names | theirs.names if one in mine.words and one in theirs.words}
    return sorted(named, key=mine.words.index) != sorted(named, key=theirs.words.index)


def covers_specifics(whole: str, part: str) -> bool:
    """Return whether one text names everything that the other one names."""
    return specifics_of(whole).lacks(specifics_of(part)).is_empty


def _names(words: list[str], plain: list[str], *, is_german: bool) -> frozenset[str]:
    found = set()
    for place, (word, name) in enumerate(zip(words, plain, strict=True)):
        is_written_large = place > 0 and word[0].isupper() and not is_german
        is_name = is_written_large or technology_class(word) is not None
        if is_name and name not in _NO_NAMES and name not in _CALENDAR and name not in NUMBER_WORDS:
            found.add(name)
    return frozenset(found)


def _digits(text: str) -> list[str]:
    """Return the numbers that are written in digits, 5,000 and 5k as 5000 and 19:00 as 7."""
    return [
        _in_thousands(match["digits"]) if match["thousands"] else _plain_number(match["digits"])
        for match in _NUMBER.finditer(text)
    ]


def _in_thousands(written: str) -> str:
    whole, _, rest = written.replace(",", ".").partition(".")
    is_plain = whole.isdigit() and (not rest or rest.isdigit()) and len(rest) <= 3
    return str(int(f"{whole}{rest:<03}")) if is_plain else _plain_number(written)


def _plain_number(written: str) -> str:
    if _THOUSANDS.fullmatch(written):
        return written.replace(",", "").replace(".", "")
    hours, colon, minutes = written.partition(":")
    if colon and hours.isdigit():
        hour = str(int(hours) % _HALF_DAY or _HALF_DAY)
        return hour if minutes == "00" else f"{hour}:{minutes}"
    return written.replace(",", ".").lstrip("0") or "0"


def _spelled_numbers(words: list[str]) -> list[str]:
    """Return the numbers that are written out: two hundred and forty is one of them."""
    found: list[str] = []
    total, current = 0, 0
    for word in [*words, ""]:
        singular = word.removesuffix("s") if word not in NUMBER_WORDS else word
        if singular in NUMBER_WORDS:
            current += NUMBER_WORDS[singular]
        elif singular in _SCALES and current:
            total, current = total + current * _SCALES[singular], 0
        elif word != "and" or not (total or current):
            found += [str(total + current)] if total or current else []
            total, current = 0, 0
    return found
