"""Terms for the lexical index, and the passage an embedder reads."""

from __future__ import annotations

import itertools
import threading
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache

import Stemmer

from engramdb.erasable_cache import cached
from engramdb.text.dates import long_date, with_dates
from engramdb.text.identity import MISSING_WORDS
from engramdb.text.lexicons import ENGLISH, word_set
from engramdb.text.normalize import lazy, normalize_text
from engramdb.values import Memory, Turn

# Cut text into the terms that the text index stores and looks up.
#
# What is stored and what is asked for must be cut alike. The store sees only terms joined by spaces, so
# every backend finds the same words, in every script: words are folded and stemmed, identifiers count whole
# and in parts, and scripts without spaces are cut into single characters and pairs. What this costs and
# finds: docs/lab/0004-terms.md.

TERMS_VERSION = 3
"""Stored with the text index; a store with another number is re-indexed when it is opened."""

MAX_TERM_CHARACTERS = 64

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af"
    "\U00020000-\U0003ffff"
)
_TOKEN = lazy(
    rf"(?P<unspaced>[{_UNSPACED}]+)"
    rf"|(?P<word>[^\W{_UNSPACED}](?:[^\W{_UNSPACED}]|[\u0300-\u036f]|[.'’/@:\-](?=[^\W_{_UNSPACED}]))*[+#]{{0,2}})"
    r"|(?P<symbol>[^\w\s])"
)
_PLAIN_WORD = lazy(r"\w(?:\w|[.'/@:\-](?=[^\W_]))*[+#]{0,2}")
"""The same where all is ASCII: no script without spaces is in it, and no sign that is a term."""
_PART = lazy(r"[^\W\d_]+|\d+")
_CAMEL = lazy(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_MARKS = lazy("[\u0300-\u036f]")
_LETTERS = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "æ": "ae", "œ": "oe", "ı": "i", "ð": "d", "þ": "th"})

STOP_WORDS = word_set(ENGLISH.stop_words)
"""Words that say nothing about what is asked. Question words among them: without them recall is better."""


def terms(text: str) -> list[str]:
    """Return the terms of a text in their order, repetitions included, as the index stores them."""
    return list(_cut_whole(text))


def distinct_terms(text: str) -> list[str]:
    """Return each term of a text once; what is written twice is cut once, which long texts need."""
    return list(dict.fromkeys(_cut(" ".join(dict.fromkeys(text.split())))))


def query_terms(text: str) -> list[str]:
    """Return the distinct terms worth asking for; stop words stay only where nothing else is left."""
    every = list(dict.fromkeys(_cut(text, pairs_only=True)))
    stops = _stop_stems()
    return [term for term in every if term.partition("'")[0] not in stops] or every


def telling_words(text: str) -> list[str]:
    """Return the words of a text as they are written, folded, each once and the small ones left out."""
    words = (_fold(word) for word in _PLAIN_WORD.findall(text))
    return [word for word in dict.fromkeys(words) if word not in STOP_WORDS]


RETOLD_SHARE = 0.6


def retells(words: str, told: str) -> bool:
    """Return whether words hold most of what another sentence tells, in whatever order, or nothing else."""
    heard, first = set(query_terms(words)), set(query_terms(told))
    shared = len(heard & first)
    return shared >= 2 and (shared >= RETOLD_SHARE * len(first) or shared == len(heard))


def repeats(words: str, gone: str, *, is_retold: bool = True) -> bool:
    """Return whether words hold, or are part of, a normalized text, or tell or ask it in other words."""
    folded = normalize_text(words)
    return bool(folded) and (gone in folded or folded in gone or (is_retold and retells(folded, gone)))


@cached(1024)
def _cut_whole(text: str) -> tuple[str, ...]:
    """Return the terms of a text; a write asks for those of one statement a dozen times."""
    return tuple(_cut(text))


def _cut(text: str, *, pairs_only: bool = False) -> Iterable[str]:
    if text.isascii():
        found = _PLAIN_WORD.findall(text)
        return [term for word in found for term in _cut_word(word[: 4 * MAX_TERM_CHARACTERS])]
    return _cut_mixed(text, pairs_only=pairs_only)


def _cut_mixed(text: str, *, pairs_only: bool) -> Iterator[str]:
    for match in _TOKEN.finditer(unicodedata.normalize("NFKC", text)):
        token = match.group()[: 4 * MAX_TERM_CHARACTERS]
        if match.lastgroup == "unspaced":
            yield from _cut_unspaced(token, pairs_only=pairs_only)
        elif match.lastgroup == "word":
            yield from _cut_word(token)
        elif unicodedata.category(token) == "So":
            yield token


def _cut_unspaced(run: str, *, pairs_only: bool) -> Iterator[str]:
    """Yield pairs of neighbors; single characters too when indexing, so that one can be asked for."""
    if not pairs_only or len(run) == 1:
        yield from run
    for first, second in itertools.pairwise(run):
        yield first + second


@cached(50_000)
def _cut_word(token: str) -> tuple[str, ...]:
    """Return a word's stem; for an identifier, path or number with parts, the whole and the parts."""
    whole = _fold(token)
    parts = [_fold(part) for piece in _CAMEL.split(token) for part in _PART.findall(piece)]
    found = [_stem(whole)] if len(whole) <= MAX_TERM_CHARACTERS else []
    if len(parts) > 1 or (parts and parts[0] != whole):
        found += [_stem(part[:MAX_TERM_CHARACTERS]) for part in parts if len(part) > 1 or part.isdigit()]
    return tuple(dict.fromkeys(found))


def _fold(word: str) -> str:
    """Return the word without case, accents and the possessive 's."""
    bare = _MARKS.sub("", unicodedata.normalize("NFD", word.casefold()))
    folded = unicodedata.normalize("NFC", bare).translate(_LETTERS).replace("’", "'")
    return folded.removesuffix("'s")


_STEMMERS = threading.local()
_LANGUAGES = (
    (lazy(r"[a-z]+\Z"), "english"),
    (lazy("[\u0400-\u04ff]+\\Z"), "russian"),
    (lazy("[\u0370-\u03ff]+\\Z"), "greek"),
    (lazy("[\u0600-\u06ff]+\\Z"), "arabic"),
)


def _stem(word: str) -> str:
    """Return the stem by the script of the word; what no stemmer serves is left as it is."""
    for script, language in _LANGUAGES:
        if script.match(word):
            return _stemmer(language).stemWord(word) or word
    return word


def _stemmer(language: str) -> Stemmer.Stemmer:
    """Return this thread's stemmer: they keep state and may not be shared."""
    if not hasattr(_STEMMERS, language):
        setattr(_STEMMERS, language, Stemmer.Stemmer(language))
    found: Stemmer.Stemmer = getattr(_STEMMERS, language)
    return found


@cache
def _stop_stems() -> frozenset[str]:
    return frozenset(_stem(word) for word in STOP_WORDS)


# Write a memory the way that an embedder and the text index should read it: `[8 May 2023] Caroline: text`.


def passage(memory: Memory) -> str:
    """
    Return the text to embed, complete in itself: the day it is about and the speaker, where known, the
    question that it answers, the words, and what they lean on.

    The dates of relative times are left to the text index: in a vector they drown the other words
    (docs/lab/0002-passage.md).
    """
    asked = f"{memory.answers} " if memory.answers and memory.answers not in MISSING_WORDS else ""
    known = [words for words in memory.refers_to if words not in MISSING_WORDS]
    leaned_on = f" ({'; '.join(known)})" if known else ""
    return f"{_origin(memory)}{asked}{memory.content}{leaned_on}"


def said_words(memory: Memory) -> str:
    """Return the words themselves, with their day and speaker, and the dates of relative times among them."""
    others = (one for one in memory.moments if one.start != memory.occurred_at)
    return f"{_origin(memory)}{with_dates(memory.content, others)}"


def _origin(memory: Memory) -> str:
    day = f"[{long_date(memory.occurred_at)}] " if memory.occurred_at else ""
    speaker = f"{memory.provenance.speaker}: " if memory.provenance.speaker else ""
    return f"{day}{speaker}"


def index_terms(memory: Memory) -> list[str]:
    """
    Return what the text index finds the memory by: its words, its day, who said it, and its topics.

    What the words lean on is left to the embedding: as words it would outrank the memory that said them
    (docs/lab/0042-own-words.md).
    """
    return terms(f"{said_words(memory)} {' '.join(memory.traits.topics)}")


def turn_terms(turn: Turn) -> list[str]:
    """Return what a turn is found by: who spoke, and each of its words."""
    return distinct_terms(f"{turn.speaker}: {turn.content}" if turn.speaker else turn.content)
