"""Levels of detail: a summary, a key fact and a tag for a statement."""

from __future__ import annotations

import itertools
import re

from engramdb.text.normalize import lazy
from engramdb.text.qualifiers import (
    CLAUSE_END,
    CUT,
    EDGES,
    MIN_SENTENCE_WORDS,
    SENTENCE_END,
    UNIT,
    UNSPACED,
    condense,
    first_sentence,
    keeps_qualifiers,
    qualifiers,
)
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

_STARTS_UNSPACED = lazy(rf"\s*[{UNSPACED}]")
_KEPT = frozenset(["user", "i", "from", "to"])
"""Small words that a fact cannot lose: directions and who it is about."""


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
    if len(UNIT.findall(text)) <= SUMMARY_WORDS:
        return text.strip()
    told = first_sentence(text)
    ends = [end for end in _ends(SENTENCE_END, text, SUMMARY_WORDS) if end >= len(told)]
    if ends:
        return text[: ends[-1]].strip()
    clauses = _ends(CLAUSE_END, told, SUMMARY_WORDS)
    short = f"{told[: clauses[-1]].rstrip(EDGES)}{CUT}" if clauses else _first_units(told, SUMMARY_WORDS)
    return short if keeps_qualifiers(short, told) else condense(told, SUMMARY_WORDS)


def _ends(end: re.Pattern[str], text: str, words: int) -> list[int]:
    """Return where sentences or clauses end within the first so many words."""
    units = list(itertools.islice(UNIT.finditer(text), words))
    limit = units[-1].end() + 1 if units else 0
    return [match.end() for match in end.finditer(text, 0, limit) if match.end() <= limit]


def _first_units(text: str, count: int) -> str:
    units = list(UNIT.finditer(text))
    if len(units) <= count:
        return text.strip()
    return f"{text[: units[count - 1].end()].strip().rstrip(EDGES)}{CUT}"


def _key_fact(text: str, parts: list[str]) -> str:
    """Return subject, predicate and object; else the first sentence or clause; else the telling words."""
    triple = " ".join(parts)
    is_whole = len(parts) == 3 and len(UNIT.findall(triple)) <= KEY_FACT_WORDS
    if is_whole and keeps_qualifiers(triple, text):
        return triple
    if len(UNIT.findall(text)) <= KEY_FACT_WORDS:
        return text.strip().rstrip(EDGES) or text.strip()
    return _short_sentence(first_sentence(text)) or _telling_words(text)


def _short_sentence(told: str) -> str:
    """Return a sentence or its first clauses, with all that qualifies it; nothing where that says nothing."""
    if len(UNIT.findall(told)) <= KEY_FACT_WORDS and any(map(tells, terms(told))):
        return told.strip(EDGES)
    ends = _ends(CLAUSE_END, told, KEY_FACT_WORDS)[-1:]
    clause = told[: ends[0]].strip(EDGES) if ends else ""
    says = len(UNIT.findall(clause)) >= MIN_SENTENCE_WORDS and any(map(tells, terms(clause)))
    if says and keeps_qualifiers(clause, told):
        return clause
    return condense(told, KEY_FACT_WORDS) if says or qualifiers(told) else ""


def _telling_words(text: str) -> str:
    if _STARTS_UNSPACED.match(text):
        return _first_units(text, KEY_FACT_WORDS)
    telling = [unit.strip(EDGES) for unit in UNIT.findall(text) if _is_telling(unit)]
    return " ".join(telling[:KEY_FACT_WORDS]) or _first_units(text, KEY_FACT_WORDS)


def _is_telling(word: str) -> bool:
    """Return whether a word carries the fact: a negation does, a filler does not."""
    bare = word.strip(EDGES).casefold()
    is_small = bare in _KEPT or bool(qualifiers(bare))
    return is_small or any(map(tells, terms(bare)))


def _tag(text: str, object_: str | None, category: str) -> str:
    """Return the object if it is short, else a technology, else two telling words, else the category."""
    if object_ and 0 < len(UNIT.findall(object_)) <= TAG_WORDS:
        return object_.strip(EDGES) or category
    technologies = find_technologies(text)
    if technologies:
        return technologies[0].name
    if _STARTS_UNSPACED.match(text):
        return category  # where words end is not written, and half of one would be no tag
    units = UNIT.findall(text)
    telling = [word.strip(EDGES) for word in units if any(map(tells, terms(word)))]
    return " ".join(telling[:2]) or category


def _no_longer(candidate: str, than: str) -> str:
    """Return the candidate unless it is empty or longer; then the other, which is at least true."""
    is_shorter = len(candidate) <= len(than) and count_tokens(candidate) <= count_tokens(than)
    return candidate if candidate and is_shorter else than
