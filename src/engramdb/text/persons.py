"""Pronouns and the third person."""

from __future__ import annotations

import re

from msgspec import Struct

from engramdb.erasable_cache import cached
from engramdb.text.lexicons import word_set
from engramdb.text.normalize import lazy
from engramdb.text.verbs import third_person

# Write a statement in the third person: "I use my laptop" becomes "Ann uses Ann's laptop".

ADVERBS = (
    "really|just|also|always|never|usually|often|still|currently|now|already|actually|recently|sometimes|"
    "rarely|mostly|only|absolutely|totally|truly|generally|normally|typically|definitely|probably|finally|"
    "then|once|ever|personally|honestly|mainly|primarily|simply|even|quite|strongly|both|all|no longer|"
    "secretly|occasionally|regularly|basically|originally|officially|formally|kind of|sort of|firmly|"
    "deeply|especially|particularly|frequently|last|hardly|seldom|too|first|later|eventually|soon"
)
_EXPANDED = {"m": "is", "ve": "has", "ll": "will", "d": "would"}
_EXACT_WORDS = lazy(r"`[^`\n]*`|\"[^\"\n]*\"|“[^“”\n]*”|«[^«»\n]*»|https?://\S+")
_SUBJECT = lazy(
    rf"(?<![\w.])[Ii](?:['’](?P<short>m|ve|ll|d))?\b(?![.'’]\w)(?P<adverbs>(?:\s+(?:{ADVERBS})\b)*)"
    r"(?P<rest>\s+(?P<verb>[A-Za-z]+(?:-[a-z]+)?(?:['’]t)?))?"
)
_OTHERS = lazy(r"(?<![\w-])(?P<word>my own|my|mine|me|myself)(?![\w-])", re.IGNORECASE)


def to_third_person(clause: str, *, name: str) -> str:
    """Return the clause with every first person singular replaced by the name, verbs agreeing."""
    kept = [match.span() for match in _EXACT_WORDS.finditer(clause)]
    parts, end = [], 0
    for first, last in kept:
        parts += [_rewritten(clause[end:first], name), clause[first:last]]
        end = last
    return "".join([*parts, _rewritten(clause[end:], name)])


def _rewritten(words: str, name: str) -> str:
    spoken = _SUBJECT.sub(lambda match: _subject(match, name), words)
    return _OTHERS.sub(lambda match: _owned(match.group("word").lower(), name), spoken)


def _subject(match: re.Match[str], name: str) -> str:
    adverbs, verb = match.group("adverbs") or "", match.group("verb")
    if match.string[: match.start()].lower().endswith(" and ") and match.group("short") is None:
        return f"{name}{adverbs}{match.group('rest') or ''}"  # "Tom and I are": the verb is plural
    short = match.group("short")
    if short:
        return f"{name} {_EXPANDED[short]}{adverbs}{match.group('rest') or ''}"
    if verb is None:
        return f"{name}{adverbs}"
    gap = match.group("rest").removesuffix(verb)
    return f"{name}{adverbs}{gap}{third_person(verb)}"


def _owned(word: str, name: str) -> str:
    if word in ("me", "myself"):
        return name
    return f"{name}'s own" if word == "my own" else f"{name}'s"


# Say who "he" and "she" are, where that is safe.
#
# Used by the heuristic extractor before a clause is stored. A pronoun is replaced only at the beginning of a
# clause and only where exactly one person who fits was named nearby; otherwise it stays, and confidence is
# lower. "They", "it" and "that" are always left: what they point to is too often not a person.

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


class Person(Struct, frozen=True):
    """Someone who was named, and by which pronoun, where the words around the name tell."""

    name: str
    pronoun: str | None = None


@cached(128)  # asked about a turn, its sentences and their clauses, which are often the same
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
