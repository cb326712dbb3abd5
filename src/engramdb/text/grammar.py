"""
English grammar: verbs and their forms, what they stand for, pronouns and the third person.

A predicate names a slot that settling compares: two statements with the same subject and predicate speak of
the same thing. An exclusive one has one object at a time: a person lives in one place, but likes many things.
"""

from __future__ import annotations

import re

from msgspec import Struct

from engramdb.erasable_cache import cached
from engramdb.text.lexicons import ENGLISH, word_set
from engramdb.text.normalize import lazy

# Forms of verbs.

_VERBS = ENGLISH.verbs
_IRREGULAR = _VERBS.irregular.strip().splitlines()
_BASE_OF: dict[str, str] = {
    form: base
    for row in _IRREGULAR
    for base, *forms in [row.split()]
    for group in forms
    for form in group.split("/")
}
_PAST = frozenset(
    form for row in _IRREGULAR for form in row.split()[1].split("/") if form not in ("become", "come", "run")
)
_PARTICIPLES = frozenset(form for row in _IRREGULAR for form in row.split()[2].split("/"))
_VOWEL = lazy("[aeiouy]")
_SAME_IN_PAST = word_set(_VERBS.same_in_past)
_LOOKS_PAST = word_set(_VERBS.looks_past)
UNCHANGED = word_set(
    "can could will would shall should must may might ought was had did can't cannot couldn't won't wouldn't "
    "shouldn't mustn't mightn't hadn't didn't wasn't"
)
_AUXILIARIES = {
    "am": "is",
    "are": "is",
    "have": "has",
    "do": "does",
    "were": "was",
    "don't": "does not",
    "haven't": "has not",
    "aren't": "is not",
    "weren't": "was not",
    "ain't": "is not",
}


def is_past(verb: str) -> bool:
    """Return whether a form is past tense: "moved", "went"."""
    word = verb.lower()
    return (
        word in _PAST
        or word in ("quit", "hurt")
        or (len(word) > 3 and word.endswith("ed") and word not in _LOOKS_PAST)
    )


def is_participle(verb: str) -> bool:
    """Return whether a form can follow "have": "moved", "gone"."""
    word = verb.lower()
    return (
        word in _PARTICIPLES
        or word in _SAME_IN_PAST
        or (len(word) > 3 and word.endswith("ed") and word not in _LOOKS_PAST)
    )


def third_person(verb: str) -> str:
    """Return what stands after a name for what stood after "I": use → uses, am → is, moved → moved."""
    word = verb.lower().replace("’", "'")
    if word in _AUXILIARIES:
        return _AUXILIARIES[word]
    if word in UNCHANGED or is_past(word) or not word.replace("-", "").isalpha():
        return verb
    if word.endswith(("s", "x", "z", "ch", "sh", "o")):
        return f"{verb}es"
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return f"{verb[:-1]}ies"
    return f"{verb}s"


@cached(4096)
def bases(verb: str) -> tuple[str, ...]:
    """Return the base forms that a form may come from, the likeliest first: using → use, us."""
    word = verb.lower()
    if word in _BASE_OF:
        return (_BASE_OF[word],)
    found = [word]
    for ending in ("ing", "ed", "es", "s"):
        stem = word.removesuffix(ending)
        if stem != word and _VOWEL.search(stem):
            if len(stem) > 2 and stem[-1] == stem[-2] and stem[-1] not in "sl":
                found.append(stem[:-1])
            found += [f"{stem}e", stem]
            if stem.endswith("i"):
                found.append(f"{stem[:-1]}y")
    return tuple(found)


# The verbs that extraction understands, and the predicates they stand for.

ADVERBS = (
    "really|just|also|always|never|usually|often|still|currently|now|already|actually|recently|sometimes|"
    "rarely|mostly|only|absolutely|totally|truly|generally|normally|typically|definitely|probably|finally|"
    "then|once|ever|personally|honestly|mainly|primarily|simply|even|quite|strongly|both|all|no longer|"
    "secretly|occasionally|regularly|basically|originally|officially|formally|kind of|sort of|firmly|"
    "deeply|especially|particularly|frequently|last|hardly|seldom|too|first|later|eventually|soon"
)
VERBS = {verb: predicate for predicate, verbs in ENGLISH.predicates.items() for verb in verbs.split()}
"""A verb's base form, and the predicate it stands for."""

THING_VERBS = word_set(ENGLISH.verbs.of_things)
"""What may be said of someone or something other than the speaker."""

EVENT_VERBS = word_set(ENGLISH.verbs.events)
"""Doings that are remembered as moments when they lie in the past."""

VAGUE_EVENTS = word_set(ENGLISH.verbs.vague_events)
"""Doings that are remembered only with a date or where they say enough."""

STATE_CHANGES = word_set(ENGLISH.verbs.state_changes)
"""Past doings that change what holds now."""

PASSING_VERBS = word_set(ENGLISH.verbs.passing)
"""What people say they do in passing; present tense without a date it is not worth keeping."""

EXCLUSIVE = word_set(
    "lives_in works_at works_as is_named born_on born_in age is_married_to deadline name email phone "
    "phone_number address birthday job role title employer shell editor username handle github_handle "
    "timezone time_zone wife husband partner spouse manager boss landlord password major nationality "
    "mother_tongue native_language operating_system os goal motto last_name first_name surname wakes_up "
    "meant reports_to located_in due_date database server programming_language owner maintainer version port "
    "url region licence license budget price headquarters capital ceo cto director president currency limit "
    "timeout default status lead"
)


def is_exclusive(predicate: str) -> bool:
    """Return whether only one object can fill this slot at a time; a favourite is one per topic."""
    return predicate in EXCLUSIVE or predicate.startswith("favourite_")


_LISTED = "use|like|love|enjoy|adore|hate|dislike|speak|play|eat|drink|collect|know|own|study|teach"
LISTABLE_VERBS = lazy(
    rf"(?P<head>(?:i|we|he|she|they|my [\w'’]+(?: [\w'’]+)?|our [\w'’]+|[A-Z][\w'’]+)\s+(?:(?:{ADVERBS}|"
    rf"don['’]t|do not|can['’]t|can|doesn['’]t)\s+)*(?:(?:{_LISTED})s?|(?:studi|teach)es|am allergic to|"
    rf"is allergic to)\s+(?:how to\s+)?"
    r"|(?:i['’]m|i am|she is|he is|we are)\s+(?:(?:not|also|very|deeply|severely)\s+)*(?:allergic to|"
    r"fluent in|intolerant to|interested in|good at|bad at|fond of|afraid of|a fan of)\s+)",
    re.IGNORECASE,
)
"""The beginning of a clause whose objects may be told apart: "I like ", "I'm allergic to "."""

PETS = lazy(
    r"\b(?:dogs?|cats?|pupp(?:y|ies)|kittens?|parrots?|hamsters?|rabbits?|bunn(?:y|ies)|pets?|horses?|"
    r"guinea pigs?|turtles?|goldfish|budgies?|snakes?|ferrets?)\b",
    re.IGNORECASE,
)
KIN = lazy(
    r"\b(?:wife|husband|spouse|partner|girlfriend|boyfriend|fianc[eé]e?|sons?|daughters?|kids?|child|"
    r"children|bab(?:y|ies)|twins|mother|father|mom|mum|dad|parents|sisters?|brothers?|siblings?|grandma|"
    r"grandpa|grandmother|grandfather|grandparents|grandson|granddaughter|aunt|uncle|cousins?|niece|nephew|"
    r"(?:mother|father|sister|brother|son|daughter)-in-law|boss|manager|colleagues?|coworkers?|friends?|"
    r"roommates?|flatmates?|neighbou?rs?|landlord|landlady|mentor|teammates?|family)\b",
    re.IGNORECASE,
)
"""People as they are named by what they are to someone."""

ROLES = lazy(
    rf"(?:my|our)\s+(?:[\w-]+\s+){{0,2}}?(?:{KIN.pattern}|CTO|CEO|CFO|COO|lead|tech lead|therapist|doctor|"
    rf"dentist|lawyer|"
    r"accountant|teacher|coach|tutor|assistant|client|customer|contact|student|trainer|director|designer)\b",
    re.IGNORECASE,
)


RELATION_QUESTIONS = {
    "lives_in": "where {} lives",
    "works_at": "where {} works",
    "works_as": "what {} works as",
    "born_on": "when {} was born",
    "born_in": "where {} was born",
    "is_named": "what {} is called",
    "is_married_to": "whom {} is married to",
    "is_allergic_to": "what {} is allergic to",
    "age": "how old {} is",
    "uses": "what {} uses",
    "likes": "what {} likes",
    "prefers": "what {} prefers",
    "has_pet": "which pet {} has",
}
"""How a relation is asked for: the subject goes into the braces."""


def relation_words(predicate: str) -> str:
    """Return the words by which a relation is asked for; none for one that has no question of its own."""
    return RELATION_QUESTIONS.get(predicate, "").format("")


# Write a statement in the third person: "I use my laptop" becomes "Ann uses Ann's laptop".

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
    if (
        match.string[max(0, match.start() - 5) : match.start()].lower() == " and "
        and match.group("short") is None
    ):
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
# A pronoun is replaced only at the beginning of a clause and only where exactly one person who fits was
# named nearby; otherwise it stays, and confidence is lower. "They", "it" and "that" are always left: what
# they point to is too often not a person.

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
    """Return whether it is not said who the clause is about."""
    return bool(re.match(r"(?:he|she|they|it|his|her|their)\b", clause, re.IGNORECASE))


def _pronoun_of(kin: str) -> str | None:
    if re.fullmatch(_FEMALE, kin):
        return "she"
    return "he" if re.fullmatch(_MALE, kin) else None
