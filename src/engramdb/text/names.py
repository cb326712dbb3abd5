"""Names: the lists they stand on, their folded form, people, and aliases that a text tells."""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Iterable, Iterator
from enum import StrEnum
from functools import cache

from msgspec import Struct

from engramdb.erasable_cache import cached
from engramdb.text.english_words import is_english_word
from engramdb.text.lexicons import plain_text, registry, word_set
from engramdb.text.normalize import lazy
from engramdb.text.technologies import find_technologies
from engramdb.values import EntityType

# What a name looks like: the lists that it may stand on, and the form in which two spellings are one.
#
# The lists are in data/names.toml. Folding drops what people leave out at will (case, accents, "Dr.", "Inc.",
# "project") and nothing else, so that C and C++ stay two things, and so do two Annas with family names.

_MARKS = lazy("[\u0300-\u036f]")
_LETTERS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "æ": "ae", "œ": "oe", "ı": "i", "ð": "d", "þ": "th", "’": "'"}
)
_BETWEEN_WORDS = lazy(r"[\s_\-‐–—,.;:!?\"“”«»()]+")
_HONORIFIC = lazy(r"(?<=.)(?:さん|様|くん|君|ちゃん|先生|\s?씨)\Z")


class NameLists(Struct, frozen=True, kw_only=True):
    """The words of data/names.toml, data/given_names.txt and data/cities.txt, folded."""

    given: frozenset[str]
    given_words: frozenset[str]
    family_chinese: str
    places: frozenset[str]
    places_of_people: frozenset[str]
    places_unspaced: frozenset[str]
    organisations: frozenset[str]
    organisation_words: frozenset[str]
    organisations_unspaced: frozenset[str]
    organisation_endings: frozenset[str]
    organisation_heads: frozenset[str]
    place_endings: frozenset[str]
    place_heads: frozenset[str]
    person_titles: frozenset[str]
    particles: frozenset[str]
    project_nouns: frozenset[str]
    service_nouns: frozenset[str]
    not_services: frozenset[str]
    legal_forms: frozenset[str]
    articles: frozenset[str]
    not_names: frozenset[str]
    starters: frozenset[str]
    not_small_names: frozenset[str]


@cache
def name_lists() -> NameLists:
    """Return the lists, read at the first call."""
    found = registry("names")
    words = {name: frozenset(fold(text).split()) for name, text in found.items()}
    words["given"] |= words.pop("given_cyrillic") | word_set(plain_text("given_names"))
    for name in ("places", "organisations", "organisation_words"):
        words[name] = frozenset(fold(one.strip()) for one in found[name].replace("\n", " ").split(","))
    cities = plain_text("cities").replace("\n", " ").split(",")
    words["places"] |= frozenset(one.strip() for one in cities) - words["given"]
    chinese = found["family_chinese"]
    return NameLists(**{**words, "family_chinese": chinese})


def fold(text: str) -> str:
    """Return the text without case and accents."""
    if text.isascii():
        return text.casefold()
    bare = _MARKS.sub("", unicodedata.normalize("NFKD", text.casefold()))
    return unicodedata.normalize("NFC", bare).translate(_LETTERS)


@cached(20_000)
def fold_name(name: str, kind: EntityType = EntityType.UNKNOWN) -> str:
    """
    Return the form in which two ways of writing one name are equal.

    "Dr. Anna Schmidt" is "anna schmidt" and "the React app" is "react"; a file and a technology keep their
    punctuation, which is part of their name.
    """
    if kind is EntityType.FILE:
        return " ".join(fold(name).split()) or fold(name)
    if kind is EntityType.TECHNOLOGY:
        return _technology(name)
    whole = fold(name.strip()).lstrip("@").removesuffix("'s")
    if kind is EntityType.PERSON:
        whole = _HONORIFIC.sub("", whole)
    words = [word for word in _BETWEEN_WORDS.split(whole) if word]
    return " ".join(_essential(words, kind)) or whole


def _technology(name: str) -> str:
    """Return the vocabulary's own name where it knows the spelling, so that k8s is Kubernetes."""
    spelt = " ".join(name.split())
    known = [found.name for found in find_technologies(spelt) if found.end - found.start == len(spelt)]
    return fold(known[0] if known else spelt)


def _essential(words: list[str], kind: EntityType) -> list[str]:
    """Return the words that tell one thing from another of its type; never none."""
    before, behind = _set_words().get(kind, (frozenset(), frozenset()))
    articles = name_lists().articles
    start, end = 0, len(words)
    while end - start > 1 and (words[start] in before or words[start] in articles):
        start += 1
    while end - start > 1 and words[end - 1] in behind:
        end -= 1
    return words[start:end]


@cache
def _set_words() -> dict[EntityType, tuple[frozenset[str], frozenset[str]]]:
    """Return the words that may be left out before and behind a name, by type."""
    lists = name_lists()
    return {
        EntityType.PERSON: (lists.person_titles, frozenset()),
        EntityType.ORGANIZATION: (frozenset(), lists.legal_forms),
        EntityType.PROJECT: (lists.project_nouns, lists.project_nouns),
        EntityType.SERVICE: (frozenset(), lists.service_nouns),
    }


# Find the people whom a text names.
#
# The lists are in data/people.toml. Precision first: a capital letter is not enough, something beside it
# must speak of a person (a title, a verb that only people do, a relation, a given name), because "Berlin"
# in a list of people does more harm than a missing name. Whether two names are one person is decided
# elsewhere.

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
    lists = registry("people")
    return {name: frozenset(words.split()) for name, words in lists.items()}


# Read out of a text that one thing goes by two names: "Robert Chen goes by Bob", "my sister Julia".
#
# Called when the entities of a memory are registered; knows nothing of what is registered already.
# Precision first: a wrong alias mixes two people up in every answer, so the text must say that it is a
# name ("known as", "for short"), and the name must look like one. Relations count only where people have
# one of a kind, or few.


class Whose(StrEnum):
    """Whom or what a pronoun means that is told a name of."""

    SOMEONE = "someone"
    THING = "thing"
    SPEAKER = "speaker"


MAX_CHARACTERS = 2000
"""What lies behind is not looked at: names are told in a sentence, not in a document."""

_WORD = r"[A-ZÀ-ÞА-Я](?:[\w.-]{0,40}\w)?"
_FULL_NAME = rf"(?P<name>{_WORD}(?: (?:(?:van|von|de|der|del|da|la) )?{_WORD}){{0,3}})"
_OTHER = rf"[\"“„«‘]?(?P<other>@?(?:{_WORD}(?: {_WORD}){{0,2}}|\w{{0,20}}\d\w{{0,20}}))[\"”“»’]?"
_SAID = (
    r"(?:also |now |usually |often |better |formerly |previously |generally |simply )?"
    r"(?:goes by|known as|nicknamed|aka|a\.k\.a\.|alias|codenamed|code-named|renamed(?: to)?|"
    r"genannt|surnommée?|apodad[oa]|detto|detta)"
)
_TELLING = tuple(
    lazy(pattern)
    for pattern in (
        rf"\b{_FULL_NAME},? \(?(?:who )?(?:(?:is|was|has been) )?{_SAID} {_OTHER}",
        rf"\b{_FULL_NAME},? (?:\((?:formerly|previously|ex|née|was)|formerly|previously|née) {_OTHER}",
        rf"\b{_FULL_NAME} used to be (?:called |known as |named )?{_OTHER}(?=[.,;:!)]|\Z)",
        rf"\brenamed (?:from )?{_OTHER} to {_FULL_NAME}",
        rf"\b{_OTHER} (?:is now (?:called|named|known as)|(?:was |has been )?rebranded (?:to|as)) "
        rf"{_FULL_NAME}",
        rf"\b{_FULL_NAME},? \(?(?:whom|which|who) (?:we|they|everyone|everybody|people)(?: all| just)? "
        rf"calls? {_OTHER}",
        rf"\b{_FULL_NAME},? (?:likes|wants|prefers) to be called {_OTHER}",
        rf"\b{_FULL_NAME},? \(?code ?name {_OTHER}",
        rf"\b{_OTHER},? short for {_FULL_NAME}",
        rf"\b{_FULL_NAME}, or {_OTHER},? as (?=[^.!?]{{2,40}}\b(?:knows?|calls?)\b)",
        rf"\b{_FULL_NAME},? (?:or )?{_OTHER},? "
        r"(?:for short|to (?:his|her|their|my|our) friends)(?=[.,;:)]|\Z)",
        rf"\b{_FULL_NAME}['’]s (?:nickname|code ?name|short name) is {_OTHER}",
        rf"\b{_OTHER} is (?:short|a nickname|the nickname|his nickname|her nickname) (?:for|of) {_FULL_NAME}",
        rf"(?i:\b(?:everyone|everybody|people|friends|we|they))(?: [a-z]+){{0,4}} calls? "
        rf"(?P<name>{_WORD}(?: {_WORD})?) [\"“]?(?P<other>{_WORD})[\"”]?(?=[.!,;]|\Z)",
    )
)
_SMALL_WORD = r"[^\W\d_][\w.-]{0,30}\w"
_SMALL_TELLING = tuple(
    lazy(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?P<name>(?:{_SMALL_WORD} ){{0,2}}{_SMALL_WORD}),? \(?(?:who )?(?:is |was )?{_SAID} "
        rf"(?P<other>{_SMALL_WORD})",
        rf"\b(?P<name>{_SMALL_WORD}),? or (?P<other>{_SMALL_WORD})(?:,? for short)(?=[.,;:)]|\Z)",
    )
)
"""The same in small letters; neither name may be a common word."""

_TELLS_A_NAME = lazy(
    r"(?:go|goes|went) by|known as|aka\b|a\.k\.a\.|nick ?name|alias|code[ -]?name|renamed|rebranded|genannt|"
    r"surnomm|apodad|dett[oa]\b|short\b|used to (?:call|be)|call|to (?:his|her|their|my|our) friends|"
    r"formerly|previously|née|\((?:ex|was) |is now|, or ",
    re.IGNORECASE,
)
"""What every text has that tells another name in words; most have none of it."""

_RENAMED = lazy(
    rf"\bused to (?:call|be called|be known as) (?P<other>{_SMALL_WORD}),? (?:is|are) now (?:called |named )?"
    rf"(?P<name>{_SMALL_WORD})",
    re.IGNORECASE,
)
_HAS_LETTERS = lazy(r"[A-Z]{2,6}[,)]")
_ACRONYM = lazy(rf"\b(?:The )?{_FULL_NAME}(?:, (?:the |or )?| \((?:the )?)(?P<other>[A-Z]{{2,6}})(?=[,)])")
_CALLERS = r"\b(?:we|they|everyone|everybody|people|friends|i)(?: all)?(?: just)? calls?"
_NICKNAME = rf" [\"“]?(?P<other>{_SMALL_WORD})"
_CALLED_BY_PRONOUN = {
    Whose.SOMEONE: lazy(
        rf"(?:{_CALLERS} (?:her|him|them)|\b(?:she|he|they)(?: usually| mostly| also)? (?:goes|go|went) by)"
        rf"{_NICKNAME}",
        re.IGNORECASE,
    ),
    Whose.THING: lazy(rf"{_CALLERS} it{_NICKNAME}", re.IGNORECASE),
    Whose.SPEAKER: lazy(
        rf"(?:{_CALLERS} me|\bcall me|\bi(?: usually| mostly)? go by){_NICKNAME}", re.IGNORECASE
    ),
}
_INSIDE = lazy(rf"\b(?P<first>{_WORD}) [\"“„«(](?P<other>{_WORD})[\"”“»)] (?P<last>{_WORD})")
_KIN = {
    **dict.fromkeys(("mother", "mum", "mom"), "mother"),
    **dict.fromkeys(("father", "dad"), "father"),
    **dict.fromkeys(("grandmother", "grandma"), "grandmother"),
    **dict.fromkeys(("grandfather", "grandpa"), "grandfather"),
    **{noun: noun for noun in ("wife", "husband", "partner", "spouse", "fiancé", "fiancée", "girlfriend")},
    **{noun: noun for noun in ("boyfriend", "sister", "brother", "son", "daughter", "boss", "landlord")},
}
_RELATED = lazy(
    rf"(?<![\w'’])(?:[Mm]y|(?P<owner>{_WORD})['’]s) (?P<noun>{'|'.join(_KIN)}),? "
    rf"(?:is (?:called|named) )?{_FULL_NAME}"
)
_SELF = lazy(
    r"\b(?:I|[Mm]y|[Mm]e|[Mm]ine|[Mm]yself|[Ii]ch|[Mm]eine?[nrms]?|[Mm]ich|[Mm]ir|[Jj]e|[Yy]o|[Яя]"
    r"|i['’](?:m|ve|d|ll)|i (?:am|was|have|had|live|love|hate|like|moved|work|want|need|got|went|prefer|use|"
    r"think|just|also|do|don['’]?t|can|can['’]?t|could|will|would|never|always|quit|bought|met))\b"
)


class StatedAliases(Struct, frozen=True):
    """Pairs of a name and another of the same, and the text with blanks where the others stood."""

    pairs: tuple[tuple[str, str], ...]
    rest: str
    nicknames: tuple[tuple[Whose, str], ...] = ()
    """What someone is called who is only "her", "it" or "me" there: "we call her Minnie"."""


def stated_aliases(text: str, *, speaker: str | None = None) -> StatedAliases:
    """Return what a text says about names; "my sister Julia" says that she is the speaker's sister."""
    read = text[:MAX_CHARACTERS]
    told = [(name, match) for name, match in _telling(read) if _are_names(name, match["other"])]
    called: list[tuple[Whose, re.Match[str]]] = []
    if _TELLS_A_NAME.search(read):
        told += [(match["name"], match) for match in _small_telling(read)]
        called = [
            (whose, match)
            for whose, pattern in _CALLED_BY_PRONOUN.items()
            for match in pattern.finditer(read)
            if _may_be_called(match["other"])
        ]
    rest = text
    for _, match in (*told, *called):
        start, end = match.span("other")
        rest = f"{rest[:start]}{' ' * (end - start)}{rest[end:]}"
    pairs = [*((name, match["other"]) for name, match in told), *_related(read, speaker)]
    nicknames = tuple((whose, match["other"]) for whose, match in called)
    return StatedAliases(tuple(dict.fromkeys(pairs)), rest, nicknames)


def speaks_of_self(text: str) -> bool:
    """Return whether the one who speaks is spoken of: "I moved", "my car"."""
    return _SELF.search(text) is not None


def _telling(text: str) -> Iterator[tuple[str, re.Match[str]]]:
    """Yield the names that are told another name of, and where that is told."""
    for pattern in _TELLING if _TELLS_A_NAME.search(text) else ():
        yield from ((match["name"], match) for match in pattern.finditer(text))
    yield from ((f"{match['first']} {match['last']}", match) for match in _INSIDE.finditer(text))
    yield from (
        (one["name"], one) for one in _ACRONYM.finditer(text) if _are_initials(one["other"], one["name"])
    )


def _small_telling(text: str) -> Iterator[re.Match[str]]:
    """Yield where another name is told in small letters, or that something has been renamed."""
    for pattern in _SMALL_TELLING:
        for match in pattern.finditer(text):
            is_small = match["other"].islower() and match["name"].split()[-1].islower()
            if (
                is_small
                and _may_be_called(match["other"])
                and not is_english_word(fold(match["name"].split()[-1]))
            ):
                yield match
    yield from _RENAMED.finditer(text)


def _may_be_called(other: str) -> bool:
    """Return whether a word is a name where one is told: large, or no common word."""
    folded, lists = fold(other), name_lists()
    is_plain = folded in lists.not_names or folded in lists.starters or folded in lists.not_small_names
    return not is_plain and (other[0].isupper() or not is_english_word(folded))


def _are_initials(letters: str, name: str) -> bool:
    """Return whether letters are the first ones of a name's words, those in small letters left out or not."""
    words = name.split()
    return len(words) > 1 and letters.casefold() in (
        "".join(word[0] for word in words).casefold(),
        "".join(word[0] for word in words if word[0].isupper()).casefold(),
    )


def _related(text: str, speaker: str | None) -> Iterator[tuple[str, str]]:
    for match in _RELATED.finditer(text):
        owner = speaker if fold(match["owner"] or "user") == "user" else match["owner"]
        if owner and _are_names(match["name"], owner):
            yield match["name"], f"{owner}'s {_KIN[match['noun']]}"


def _are_names(name: str, other: str) -> bool:
    """Return whether both look like names, and not like a day, a month or the first word of a sentence."""
    lists = name_lists()
    words = [fold(word) for word in (*name.split(), *other.split())]
    if fold(name) == fold(other) or any(word in lists.not_names for word in words):
        return False
    return words[0] not in lists.starters or words[0] in lists.given
