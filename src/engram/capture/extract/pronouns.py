"""
Say who "he" and "she" are, where that is safe.

Used by the heuristic extractor before a clause is stored. A pronoun is replaced only at the beginning of a
clause and only where exactly one person who fits was named nearby; otherwise it stays, and confidence is
lower. "They", "it" and "that" are always left: what they point to is too often not a person.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from engram.capture.extract.verbs import word_set
from engram.kept import kept
from engram.text.lazy import lazy

NEAR_TURNS = 3
"""How many earlier turns a pronoun may reach back."""

_FEMALE = (
    "wife|girlfriend|daughter|mother|mom|mum|sister|grandma|grandmother|aunt|niece|granddaughter|landlady"
)
_MALE = "husband|boyfriend|son|father|dad|brother|grandpa|grandfather|uncle|nephew|grandson|landlord"
_EITHER = (
    "boss|manager|colleague|coworker|friend|roommate|flatmate|neighbou?r|mentor|teammate|partner|cousin|"
    "boyfriend|therapist|doctor|dentist|lawyer|teacher|coach|tutor"
)
_NAME = r"(?P<name>[A-Z][a-zà-ÿ]+(?:[ -][A-Z][a-zà-ÿ]+)?)"
_RELATIVE = lazy(
    rf"\b(?i:my|our)\s+(?:\w+\s+)?(?P<kin>(?i:{_FEMALE}|{_MALE}|{_EITHER}))(?:-in-law)?,?\s+{_NAME}\b"
)
_INTRODUCED = lazy(rf"(?:\A|[.!?;]\s+){_NAME}\s+(?:is|was)\s+(?:my|our)\b")
_MET = lazy(rf"\b(?:met|married to|promised|named|called|dating|with|and|know|told|asked)\s+{_NAME}\b")
_NOT_PEOPLE = word_set(
    "Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February March April May June July "
    "August September October November December English German French Spanish Russian Chinese Japanese The"
)
_OPENING = lazy(r"(?P<pronoun>he|she|his|her)\b(?P<short>['’]s)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Person:
    """Someone who was named, and by which pronoun, where the words around the name tell."""

    name: str
    pronoun: str | None = None


@kept(128)  # asked about a turn, its sentences and their clauses, which are often the same
def people(text: str) -> tuple[Person, ...]:
    """Return the people that a text introduces, each once."""
    found: dict[str, str | None] = {}
    for match in _RELATIVE.finditer(text):
        found[match["name"]] = _pronoun_of(match["kin"].lower())
    for pattern in (_INTRODUCED, _MET):
        for match in pattern.finditer(text):
            if match["name"].split()[0] not in _NOT_PEOPLE:
                found.setdefault(match["name"], None)
    return tuple([Person(name, pronoun) for name, pronoun in found.items()])


def name_pronoun(clause: str, nearby: list[Person]) -> str:
    """Return the clause with its opening "she" replaced by the only person it can mean."""
    opening = _OPENING.match(clause)
    if opening is None:
        return clause
    spoken = opening["pronoun"].lower()
    wanted = "he" if spoken in ("he", "his") else "she"
    fitting = {person.name for person in nearby if person.pronoun in (None, wanted)}
    if len(fitting) != 1:
        return clause
    (name,) = fitting
    said = f"{name}'s" if spoken in ("his", "her") else f"{name} is" if opening["short"] else name
    return f"{said}{clause[opening.end() :]}"


def opens_with_pronoun(clause: str) -> bool:
    """Say whether it is not said who the clause is about."""
    return bool(re.match(r"(?:he|she|they|it|his|her|their)\b", clause, re.IGNORECASE))


def _pronoun_of(kin: str) -> str | None:
    if re.fullmatch(_FEMALE, kin):
        return "she"
    return "he" if re.fullmatch(_MALE, kin) else None
