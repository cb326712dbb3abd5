"""
Write a statement in the third person: "I use my laptop" becomes "Ann uses Ann's laptop".

Used by the heuristic extractor on one clause at a time. Quotations and code are left alone: they are
someone's exact words. "We" and "our" stay, because who else is meant is not known here.
"""

from __future__ import annotations

import re

from engram.capture.extract.verbs import third_person
from engram.text.lazy import lazy

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
