"""Levels of detail: a summary, a key fact and a tag for a statement."""

from __future__ import annotations

import itertools
import re

from engramdb.text.lexicons import LANGUAGES, any_pattern
from engramdb.text.normalize import lazy
from engramdb.text.technologies import find_technologies
from engramdb.text.terms import terms
from engramdb.text.tokens import count_tokens
from engramdb.text.traits import tells
from engramdb.values import Detail

SUMMARY_WORDS = 25
KEY_FACT_WORDS = 10
TAG_WORDS = 3
MOST_CHARACTERS = 2_000
"""Of a text that are read: a summary comes from its beginning."""

_CUT = "…"
_CHARACTERS = "\u0e00-\u0eff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_UNIT = lazy(rf"[{_CHARACTERS}]{{1,2}}|[^\s{_CHARACTERS}]+")
_STARTS_UNSPACED = lazy(rf"\s*[{_CHARACTERS}]")
_SENTENCE_END = lazy(r"[.!?](?=\s|\Z)|[。！？]|\n+")
_CLAUSE_END = lazy(
    r"[,;:](?=\s)|[，；：、]|\s[–—-](?=\s)|\s(?=(?:and|but|because|which|so|although|while|if)\s)"
)
_EDGES = " \t\n.,;:!?…。！？，；：、\"'“”()[]`*-–—"

_KEPT = frozenset(["user", "i", "from", "to"])
"""Small words that a fact cannot lose: directions and who it is about."""
_SPACED, _UNSPACED = (
    any_pattern([one.sentences.turning for one in LANGUAGES.values() if one.spaced is is_spaced])
    for is_spaced in (True, False)
)
_TURNING = lazy(rf"\b(?:{_SPACED})\b|n['’]t\b|{_UNSPACED}|않", re.IGNORECASE)
"""What turns a fact round, or makes less of it: a shorter form that lost it would be false."""


def levels(
    content: str,
    *,
    subject: str | None = None,
    predicate: str | None = None,
    object: str | None = None,  # noqa: A002 - the field of a memory has this name
    category: str = "general",
) -> Detail:
    """Return the shorter forms of a statement and what each costs in tokens."""
    parts = [part.replace("_", " ").strip() for part in (subject, predicate, object) if part and part.strip()]
    read = content[:MOST_CHARACTERS]
    summary = _no_longer(_summary(read), content)
    key_fact = _no_longer(_key_fact(summary, parts), summary)
    tag = _no_longer(_tag(key_fact, object, category), key_fact)
    named = {"full": content, "summary": summary, "key_fact": key_fact, "tag": tag}
    costs = {name: count_tokens(text) for name, text in named.items()}
    return Detail(summary=summary, key_fact=key_fact, tag=tag, tokens=costs)


def _summary(text: str) -> str:
    """Return whole sentences up to the limit; of a first sentence that is too long, whole clauses."""
    if len(_UNIT.findall(text)) <= SUMMARY_WORDS:
        return text.strip()
    sentences = _ends(_SENTENCE_END, text, SUMMARY_WORDS)
    if sentences:
        return text[: sentences[-1]].strip()
    clauses = _ends(_CLAUSE_END, text, SUMMARY_WORDS)
    return f"{text[: clauses[-1]].rstrip(_EDGES)}{_CUT}" if clauses else _first_units(text, SUMMARY_WORDS)


def _ends(end: re.Pattern[str], text: str, words: int) -> list[int]:
    """Return where sentences or clauses end within the first so many words."""
    units = list(itertools.islice(_UNIT.finditer(text), words))
    limit = units[-1].end() + 1 if units else 0
    return [match.end() for match in end.finditer(text, 0, limit) if match.end() <= limit]


def _first_units(text: str, count: int) -> str:
    units = list(_UNIT.finditer(text))
    if len(units) <= count:
        return text.strip()
    return f"{text[: units[count - 1].end()].strip().rstrip(_EDGES)}{_CUT}"


def _key_fact(text: str, parts: list[str]) -> str:
    """Return subject, predicate and object; else the first sentence or clause; else the telling words."""
    triple = " ".join(parts)
    is_whole = len(parts) == 3 and len(_UNIT.findall(triple)) <= KEY_FACT_WORDS
    if is_whole and set(_turns(text)) <= set(_turns(triple)):
        return triple
    units = _UNIT.findall(text)
    if len(units) <= KEY_FACT_WORDS:
        return text.strip().rstrip(_EDGES) or text.strip()
    ends = _ends(_SENTENCE_END, text, KEY_FACT_WORDS)[:1] or _ends(_CLAUSE_END, text, KEY_FACT_WORDS)[-1:]
    if ends and len(_UNIT.findall(text[: ends[0]])) >= 3 and any(map(tells, terms(text[: ends[0]]))):
        return text[: ends[0]].strip(_EDGES)
    if _STARTS_UNSPACED.match(text):
        return _first_units(text, KEY_FACT_WORDS)
    telling = [unit.strip(_EDGES) for unit in units if _is_telling(unit)]
    return " ".join(telling[:KEY_FACT_WORDS]) or _first_units(text, KEY_FACT_WORDS)


def _turns(text: str) -> list[str]:
    return [found.casefold() for found in _TURNING.findall(text)]


def _is_telling(word: str) -> bool:
    """Return whether a word carries the fact: a negation does, a filler does not."""
    bare = word.strip(_EDGES).casefold()
    is_small = bare in _KEPT or bool(_TURNING.search(bare))
    return is_small or any(character.isdigit() for character in bare) or any(map(tells, terms(bare)))


def _tag(text: str, object_: str | None, category: str) -> str:
    """Return the object if it is short, else a technology, else two telling words, else the category."""
    if object_ and 0 < len(_UNIT.findall(object_)) <= TAG_WORDS:
        return object_.strip(_EDGES) or category
    technologies = find_technologies(text)
    if technologies:
        return technologies[0].name
    if _STARTS_UNSPACED.match(text):
        return category  # where words end is not written, and half of one would be no tag
    units = _UNIT.findall(text)
    telling = [word.strip(_EDGES) for word in units if any(map(tells, terms(word)))]
    return " ".join(telling[:2]) or category


def _no_longer(candidate: str, than: str) -> str:
    """Return the candidate unless it is empty or longer; then the other, which is at least true."""
    is_shorter = len(candidate) <= len(than) and count_tokens(candidate) <= count_tokens(than)
    return candidate if candidate and is_shorter else than
