"""
What a name looks like: the lists that it may stand on, and the form in which two spellings are one.

Called by `mentions` to tell people from places, and by the entity registry to look a name up. Reads
entity_names.toml once. Folding drops what people leave out at will (case, accents, "Dr.", "Inc.", "project")
and nothing else, so that C and C++ stay two things, and so do two Annas with family names.
"""

from __future__ import annotations

import tomllib
import unicodedata
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from engram.kept import kept
from engram.text.lazy import lazy
from engram.text.technologies import find_technologies
from engram.values import EntityType

_MARKS = lazy("[\u0300-\u036f]")
_LETTERS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "æ": "ae", "œ": "oe", "ı": "i", "ð": "d", "þ": "th", "’": "'"}
)
_BETWEEN_WORDS = lazy(r"[\s_\-‐–—,.;:!?\"“”«»()]+")
_HONORIFIC = lazy(r"(?<=.)(?:さん|様|くん|君|ちゃん|先生|\s?씨)\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class NameLists:
    """The words of entity_names.toml, folded."""

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


@cache
def name_lists() -> NameLists:
    """Return the lists, read at the first call."""
    found = tomllib.loads(Path(__file__).with_name("entity_names.toml").read_text("utf-8"))
    words = {name: frozenset(fold(text).split()) for name, text in found.items()}
    words["given"] |= words.pop("given_cyrillic")
    for name in ("places", "organisations", "organisation_words"):
        words[name] = frozenset(fold(one.strip()) for one in found[name].replace("\n", " ").split(","))
    chinese = found["family_chinese"]
    return NameLists(**{**words, "family_chinese": chinese})


def fold(text: str) -> str:
    """Return the text without case and accents."""
    if text.isascii():
        return text.casefold()
    bare = _MARKS.sub("", unicodedata.normalize("NFKD", text.casefold()))
    return unicodedata.normalize("NFC", bare).translate(_LETTERS)


@kept(20_000)
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
