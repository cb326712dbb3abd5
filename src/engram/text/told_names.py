"""
Read out of a text that one thing goes by two names: "Robert Chen goes by Bob", "my sister Julia".

Called when the entities of a memory are registered; knows nothing of what is registered already.
Precision first: a wrong alias mixes two people up in every answer, so the text must say that it is a
name ("known as", "for short"), and the name must look like one. Relations count only where people have
one of a kind, or few.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from engram.text.entity_names import fold, name_lists
from engram.text.lazy import lazy

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

MAX_CHARACTERS = 2000
"""What lies behind is not looked at: names are told in a sentence, not in a document."""

_WORD = r"[A-ZÀ-ÞА-Я](?:[\w.-]{0,40}\w)?"
_NAME = rf"(?P<name>{_WORD}(?: (?:(?:van|von|de|der|del|da|la) )?{_WORD}){{0,3}})"
_OTHER = rf"[\"“„«‘]?(?P<other>@?(?:{_WORD}(?: {_WORD}){{0,2}}|\w{{0,20}}\d\w{{0,20}}))[\"”“»’]?"
_SAID = (
    r"(?:also |now |usually |often |better |formerly |previously |generally |simply )?"
    r"(?:goes by|known as|nicknamed|aka|a\.k\.a\.|alias|codenamed|code-named|renamed(?: to)?|"
    r"genannt|surnommée?|apodad[oa]|detto|detta)"
)
_TELLING = tuple(
    lazy(pattern)
    for pattern in (
        rf"\b{_NAME},? \(?(?:(?:is|was|has been) )?{_SAID} {_OTHER}",
        rf"\b{_NAME},? (?:or )?{_OTHER},? (?:for short|to (?:his|her|their|my|our) friends)(?=[.,;:)]|\Z)",
        rf"\b{_NAME}['’]s (?:nickname|code ?name|short name) is {_OTHER}",
        rf"\b{_OTHER} is (?:short|a nickname|the nickname|his nickname|her nickname) (?:for|of) {_NAME}",
        rf"(?i:\b(?:everyone|everybody|people|friends|we|they))(?: [a-z]+){{0,4}} calls? "
        rf"(?P<name>{_WORD}(?: {_WORD})?) [\"“]?(?P<other>{_WORD})[\"”]?(?=[.!,;]|\Z)",
    )
)
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
    rf"(?:is (?:called|named) )?{_NAME}"
)
_SELF = lazy(
    r"\b(?:I|[Mm]y|[Mm]e|[Mm]ine|[Mm]yself|[Ii]ch|[Mm]eine?[nrms]?|[Mm]ich|[Mm]ir|[Jj]e|[Yy]o|[Яя])\b"
)


@dataclass(frozen=True, slots=True)
class ToldNames:
    """Pairs of a name and another of the same, and the text with blanks where the others stood."""

    pairs: tuple[tuple[str, str], ...]
    rest: str


def told_names(text: str, *, speaker: str | None = None) -> ToldNames:
    """Return what a text says about names; "my sister Julia" says that she is the speaker's sister."""
    pairs, rest = [], text
    for match in _telling(text[:MAX_CHARACTERS]):
        start, end = match.span("other")
        inside = match.re.pattern == _INSIDE.pattern
        name = f"{match['first']} {match['last']}" if inside else match["name"]
        if _are_names(name, match["other"]):
            pairs.append((name, match["other"]))
            rest = f"{rest[:start]}{' ' * (end - start)}{rest[end:]}"
    return ToldNames(tuple(dict.fromkeys([*pairs, *_related(text[:MAX_CHARACTERS], speaker)])), rest)


def speaks_of_self(text: str) -> bool:
    """Say whether the one who speaks is spoken of: "I moved", "my car"."""
    return _SELF.search(text) is not None


def _telling(text: str) -> Iterator[re.Match[str]]:
    for pattern in (*_TELLING, _INSIDE):
        yield from pattern.finditer(text)


def _related(text: str, speaker: str | None) -> Iterator[tuple[str, str]]:
    for match in _RELATED.finditer(text):
        owner = speaker if fold(match["owner"] or "user") == "user" else match["owner"]
        if owner and _are_names(match["name"], owner):
            yield match["name"], f"{owner}'s {_KIN[match['noun']]}"


def _are_names(name: str, other: str) -> bool:
    """Say whether both look like names, and not like a day, a month or the first word of a sentence."""
    lists = name_lists()
    words = [fold(word) for word in (*name.split(), *other.split())]
    if fold(name) == fold(other) or any(word in lists.not_names for word in words):
        return False
    return words[0] not in lists.starters or words[0] in lists.given
