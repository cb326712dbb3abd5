"""
Find the people whom a text names.

Called by `traits`; reads names.toml once. Precision first: a capital letter is not enough, something beside
it must speak of a person (a title, a verb that only people do, a relation, a given name), because "Berlin" in
a list of people does more harm than a missing name. Whether two names are one person is decided elsewhere.
"""

from __future__ import annotations

import itertools
import re
import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from engram.text.lazy import lazy

if TYPE_CHECKING:
    from collections.abc import Iterable

MOST_CANDIDATES = 200
"""Capitalised runs that are looked at: a page of names is a list, not a statement."""

_ONE = r"[A-ZÀ-ÞА-Я][a-zß-ÿа-яё]+(?:[-'’][A-ZÀ-Þ][a-zß-ÿ]+)?"
_NAME = lazy(rf"\b{_ONE}(?: (?:(?:van|von|de|der|da|del|la|bin) ){{0,2}}{_ONE}){{0,2}}")
_TITLES = frozenset(
    {
        *("Dr", "Mr", "Mrs", "Ms", "Mx", "Prof", "Professor", "Sir", "Doctor", "Uncle", "Aunt"),
        *("Herr", "Frau", "Madame", "Monsieur", "Mme", "Señor", "Señora"),
    }
)
_TITLE_BEFORE = lazy(r"\b(?:Dr|Mr|Mrs|Ms|Mx|Prof)\. \Z")
_HANDLE = lazy(r"(?<![\w.@/])@([A-Za-z][\w.-]{1,38}\w)(?![\w@]*/)")
_RELATION = (
    r"wife|husband|partner|spouse|fianc[ée]e?|brother|sister|mother|father|mom|mum|dad|son|daughter|cousin|"
    r"grandmother|grandfather|uncle|aunt|niece|nephew|friend|boyfriend|girlfriend|boss|manager|colleague|"
    r"coworker|co-worker|teammate|neighbou?r|teacher|doctor|therapist|dentist|roommate|flatmate|landlord|"
    r"accountant|lawyer|mentor|supervisor|client|intern|coach"
)
_RELATED_BEFORE = lazy(
    rf"\b(?:{_RELATION})(?:,| is| is called| called| named|['’]s name is| is named)? \Z", re.IGNORECASE
)
_RELATED_AFTER = lazy(
    rf"\A(?:, (?:my|our|his|her|their|the|a)| is (?:my|our|his|her|their)) (?:\w+ )?(?:{_RELATION})\b",
    re.IGNORECASE,
)
_TOWARDS = lazy(
    r"\b(?:talk(?:ed|ing)? (?:to|with)|sp(?:oke|eak|eaking) (?:to|with)|met(?: with)?|meeting with|"
    r"married(?: to)?|ask(?:ed)?|call(?:ed)? up|e-?mail(?:ed)?|thank(?:ed)?|told|tell|introduced (?:me )?to|"
    r"invited?|hired|dating|lunch with|dinner with|pair(?:ed)? with|remind|my name is|name['’]s|i am|i['’]m|"
    r"reports to|interviewed|visit(?:ed)?) \Z",
    re.IGNORECASE,
)
_HUMAN_ACT = lazy(
    r"\A (?:says?|said|told|tells|asks?|asked|thinks|thought|wants|wanted|likes|loves|hates|prefers|lives|"
    r"lived|believes|feels|felt|wrote|writes|called|calls|emailed|mentioned|suggested|suggests|recommended|"
    r"explained|promised|agreed|decided|joined|quit|resigned|married|studies|studied|teaches|plays|cooks|"
    r"speaks|forgot|remembers|complained|reviewed|approved|and I|and my|who)\b"
)


def find_people(text: str, *, taken: Iterable[str] = ()) -> tuple[str, ...]:
    """Return people in order of first mention; `taken` are names already known to be something else."""
    known = _lists()
    others = {word for name in taken for word in name.split()}
    found: dict[str, int] = {match.group(1): match.start() for match in _HANDLE.finditer(text)}
    for match in itertools.islice(_NAME.finditer(text), MOST_CANDIDATES):
        name, start = _without_openers(match.group(), match.start(), known["never"] | others)
        first, _, rest = name.partition(" ")
        if first in _TITLES and rest:
            found.setdefault(rest, start)
        elif name and first not in _TITLES and _is_person(text, name, start, known["given"]):
            found.setdefault(name, start)
    return tuple(sorted(_whole_names(found), key=lambda name: found[name]))


def _without_openers(written: str, start: int, never: frozenset[str]) -> tuple[str, int]:
    """Return the name without words that only open the sentence; empty where a word rules it out."""
    words = written.split(" ")
    while words and words[0] in never:
        start += len(words.pop(0)) + 1
    return ("", start) if any(word in never for word in words) else (" ".join(words), start)


def _is_person(text: str, name: str, start: int, given: frozenset[str]) -> bool:
    before, after = text[max(0, start - 40) : start], text[start + len(name) : start + len(name) + 60]
    if name.partition(" ")[0] in given:
        return True
    towards = (_TITLE_BEFORE, _RELATED_BEFORE, _TOWARDS)
    return any(rule.search(before) for rule in towards) or bool(
        _RELATED_AFTER.match(after) or _HUMAN_ACT.match(after)
    )


def _whole_names(found: dict[str, int]) -> list[str]:
    """Return the names without those that are part of a longer one: Anna beside Anna Meier."""
    longer = [set(name.split(" ")) for name in found if " " in name]
    return [name for name in found if " " in name or not any(name in words for words in longer)]


@cache
def _lists() -> dict[str, frozenset[str]]:
    lists = tomllib.loads(Path(__file__).with_name("names.toml").read_text("utf-8"))
    return {name: frozenset(words.split()) for name, words in lists.items()}
