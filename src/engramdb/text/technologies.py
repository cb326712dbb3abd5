"""
Find names of technologies in a text, and say what kind of thing each is.

Precision first: a name that is also an everyday word (Go, Rust, Spring) counts only with its capitals and
with a hint of technology nearby, because a wrong filter hides memories.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from msgspec import Struct

from engramdb.erasable_cache import cached
from engramdb.text.lexicons import registry
from engramdb.text.normalize import lazy

LONGEST_NAME = 3
"""Words of the longest name in the list: Visual Studio Code."""

_TOKEN = lazy(r"\.?[^\W_][\w+#.!-]*")
_VERBS = (
    r"us(?:e|es|ed|ing)|learn(?:s|ed|t|ing)?|writ(?:e|es|ing|ten)(?: \w+)? in|wrote(?: \w+)? in|"
    r"(?:switch|mov|migrat|chang|port|upgrad)\w* (?:back )?(?:to|from|away from)|rewr\w+(?: \w+){0,3} in|"
    r"cod(?:e|es|ed|ing) in|program\w* in|install(?:s|ed|ing)?|adopt(?:s|ed|ing)?|deploy\w* (?:to|on|with)|"
    r"built (?:with|on|in)|build(?:s|ing)? (?:with|on|in)|implement\w* in|edit\w* (?:with|in)|know(?:s)?|"
    r"runs? on|open(?:s|ed)? in|replac\w+(?: \w+)? (?:with|by)|drop(?:s|ped)?|prefers?|preferred"
)
_USED = lazy(rf"\b(?:{_VERBS}) (?:the )?\Z", re.IGNORECASE)
_HINT = lazy(
    r"\b(?:code(?:base)?|coding|program(?:s|med|ming|mer)?|compil(?:e|er|es|ed|ing)|back-?end|front-?end|"
    r"services?|server|microservices?|framework|librar(?:y|ies)|languages?|crates?|packages?|modules?|plugins?|"
    r"editor|ide|browser|apps?|application|api|sdk|cli|deploy(?:s|ed|ment)?|repo(?:sitory)?|database|quer(?:y|ies)|"
    r"tests?|debug(?:ger|ging)?|refactor(?:ed|ing)?|script(?:s|ing)?|software|developers?|engineers?|components?|"
    r"stack|cluster|containers?|config(?:uration)?|(?:key)?bindings?|runtime|build|version|install(?:ed)?|function|"
    r"type system|async|shell|terminal|garbage collector|borrow checker|goroutines?|model|prompt|dashboard|"
    r"workspace|tickets?|notebook|syntax|lsp)\b",
    re.IGNORECASE,
)
_MOVED = lazy(
    r"\b(?:(?:switch|migrat)\w* (?:\w+ )?(?:back )?(?:(?:from|to) |from [\w+#.]+ to )|"
    r"(?:writ|wrot|rewr|cod|program)\w*(?: \w+){0,3} in |(?:i|we|now|user|still) (?:now )?us(?:e|es|ed) )\Z",
    re.IGNORECASE,
)
_LOWER_KINDS = frozenset(
    {"language", "editor", "shell", "runtime", "terminal", "browser", "framework", "database"}
)
_NEVER_LOWER = frozenset(
    {"c", "r", "spring", "express", "edge", "solid", "remix", "realm", "gin", "fiber", "scheme"}
)
_STARTS_SENTENCE = lazy(r"(?:\A|[.!?:\n]\s+|\A[\s\"'>*-]+)\Z")
_OF_A_THING = lazy(
    r"\A(?:'s|’s)?(?: is| has| was| and|,| or)? ?(?:a |the )?(?:better |best |my |our )?"
    r"(?:code|program|backend|frontend|service|developer|framework|compiler|app|library|module|plugin|editor|engine|"
    r"script|function|language|component|browser|\d+(?:\.\d+)?\b)",
    re.IGNORECASE,
)


class TechnologySpan(Struct, frozen=True):
    """A technology where it stands in a text."""

    name: str
    kind: str
    start: int
    end: int


class _Entry(Struct, frozen=True):
    name: str
    kind: str
    everyday: frozenset[str]
    """Spellings that mean something else as often as not."""


def technology_class(name: str) -> str | None:
    """Return what kind of technology a name stands for, in any spelling: "nvim" is an editor."""
    entry = _vocabulary().get(_folded(name))
    return entry.kind if entry else None


@cached(512)
def find_technologies(text: str) -> tuple[TechnologySpan, ...]:
    """Return each technology that is meant, in order of first mention."""
    certain: list[TechnologySpan] = []
    doubtful: list[TechnologySpan] = []
    for found, is_certain in _candidates(text):
        (certain if is_certain else doubtful).append(found)
    certain_ones = frozenset(certain)
    hinted = bool(certain) or (bool(doubtful) and _HINT.search(text) is not None)
    first: dict[str, TechnologySpan] = {}
    for found in sorted(certain + doubtful, key=lambda one: one.start):
        if found.name not in first and (found in certain_ones or _is_meant(text, found, hinted=hinted)):
            first[found.name] = found
    return tuple(first.values())


def _candidates(text: str) -> Iterator[tuple[TechnologySpan, bool]]:
    """Yield names from the list, the longest at each place, and whether the spelling leaves no doubt."""
    tokens = [(match.start(), match.group().rstrip(".-!")) for match in _TOKEN.finditer(text)]
    vocabulary, openings = _vocabulary(), _openings()
    at = 0
    while at < len(tokens):
        longest = min(LONGEST_NAME, len(tokens) - at) if tokens[at][1].casefold() in openings else 1
        for length in range(longest, 0, -1):
            start, end = tokens[at][0], tokens[at + length - 1][0] + len(tokens[at + length - 1][1])
            written = text[start:end]
            entry = vocabulary.get(_folded(written) if length > 1 else written.casefold())
            if entry and (_is_spelt(written, entry) or _is_plainly_used(text, start, end, entry)):
                yield TechnologySpan(entry.name, entry.kind, start, end), written not in entry.everyday
                at += length - 1
                break
        at += 1


def _is_spelt(written: str, entry: _Entry) -> bool:
    """Return whether the capitals are right where they matter: "go" is never Go."""
    folded = {spelling.casefold() for spelling in entry.everyday}
    return written in entry.everyday or written.casefold() not in folded


def _is_plainly_used(text: str, start: int, end: int, entry: _Entry) -> bool:
    """Return whether a name without its capitals stands where only a tool can: "switched to helix"."""
    if text[start:end] in _NEVER_LOWER or entry.kind not in _LOWER_KINDS:
        return False
    return _MOVED.search(text, max(0, start - 40), start) is not None and not text[end:].startswith(" to ")


def _is_meant(text: str, found: TechnologySpan, *, hinted: bool) -> bool:
    """Return whether an everyday word is meant as a technology here."""
    before, after = text[max(0, found.start - 40) : found.start], text[found.end : found.end + 40]
    if _OF_A_THING.match(after):
        return True
    if _STARTS_SENTENCE.search(before):
        return hinted and re.match(r"\A(?:'s|’s| is| has| and|,| for| code)\b", after) is not None
    if _USED.search(before):
        # "used Spring" may be a season's worth of anything; one letter needs more than a verb.
        return len(found.name) > 1 or hinted or not after.strip(" .!?\n")
    return hinted


def _folded(name: str) -> str:
    return " ".join(name.casefold().split())


@cache
def _openings() -> frozenset[str]:
    """Return the first words of names that have more than one."""
    found = ([match.group().rstrip(".-!") for match in _TOKEN.finditer(name)] for name in _vocabulary())
    return frozenset(words[0] for words in found if len(words) > 1)


@cache
def _vocabulary() -> dict[str, _Entry]:
    """Return every spelling, folded, with what it stands for."""
    spellings: dict[str, _Entry] = {}
    for kind, lines in registry("technologies").items():
        for line in lines.strip().splitlines():
            name, *others = (part.strip() for part in line.split("|"))
            everyday = frozenset(part.strip('"') for part in others if part.startswith('"'))
            entry = _Entry(name, kind, everyday)
            for spelling in (name, *others):
                spellings.setdefault(_folded(spelling.strip('"')), entry)
    return spellings
