"""
Steering words: what attempts to steer an assistant talk about, as concepts that all languages share.

"Do not mention it to the user" and its translations are one sentence in concepts: hide, user. The words are
in data/steering/, one file per language; a star stands for any ending. All languages are looked for at once,
in one pass over the words, so a text in two of them needs no guess.
"""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from functools import cache

from msgspec import Struct, field

from engramdb.text.disguises import fold, split_words
from engramdb.text.lexicons import DATA
from engramdb.text.normalize import lazy

FOLDER = DATA / "steering"
CONCEPTS = (
    *(
        "drop",
        "rules",
        "earlier",
        "model",
        "user",
        "authority",
        "hide",
        "unasked",
        "send",
        "secret",
        "history",
    ),
    *("always", "when", "run", "destroy", "off", "push", "only", "trusted", "rank", "store", "reply", "link"),
    *("money", "persona", "reported", "self", "you", "negation"),
)
"""What is told apart: data/steering/en.toml shows what each means."""
MIN_STEM, MAX_STEM = 2, 16
"""Letters of a word's beginning that may be listed."""
MAX_PLACES = 4_000
"""Words of one text that are looked at."""

_WORD = lazy(r"\w+")
_UNSPACED = lazy("[\u0600-\u06ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


class _Lexicon(Struct):
    """The words of all languages by how they are looked for."""

    words: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    stems: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    phrases: defaultdict[str, list[tuple[tuple[str, ...], str]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    """By their first word; each word may be a stem."""
    unspaced: dict[str, list[str]] = field(default_factory=dict)
    """Concepts by letters that stand anywhere, for languages without spaces between words."""

    def add(self, concept: str, entry: str, *, is_spaced: bool) -> None:
        """Take in one entry of a file."""
        if not is_spaced:
            self.unspaced.setdefault(fold(entry).casefold(), []).append(concept)
            return
        words = tuple(_entry_words(entry))
        if len(words) > 1:
            self.phrases[words[0]].append((words, concept))
        elif words[0].endswith("*"):
            self.stems[words[0][:-1]].add(concept)
        else:
            self.words[words[0]].add(concept)


def _entry_words(entry: str) -> Iterator[str]:
    for word in entry.split():
        stem = "".join(_WORD.findall(split_words(fold(word))))
        yield f"{stem}*" if word.endswith("*") else stem


@cache
def _lexicon() -> _Lexicon:
    found = _Lexicon()
    for path in sorted(FOLDER.glob("*.toml")):
        told = tomllib.loads(path.read_text(encoding="utf-8"))
        is_spaced = told.pop("spaced", True)
        for concept, entries in told.items():
            for entry in filter(None, entries.split("|")):
                found.add(concept, entry, is_spaced=is_spaced)
    return found


@cache
def _unspaced_pattern() -> re.Pattern[str]:
    longest_first = sorted(_lexicon().unspaced, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first)))


def steering_words(text: str) -> list[tuple[int, str]]:
    """Return the concepts of a text with their places, in order; a place is about a word."""
    plain = split_words(fold(text))
    found = list(_spaced(_WORD.findall(plain)[:MAX_PLACES]))
    if _UNSPACED.search(plain):
        found += list(_anywhere(plain[:MAX_PLACES]))
    return sorted(found)


def _spaced(words: list[str]) -> Iterator[tuple[int, str]]:
    lexicon = _lexicon()
    for place, word in enumerate(words):
        concepts = set(lexicon.words.get(word, ()))
        stems = [word[:length] for length in range(MIN_STEM, min(len(word), MAX_STEM) + 1)]
        for stem in stems:
            concepts |= lexicon.stems.get(stem, set())
        for first in (word, *(f"{stem}*" for stem in stems)):
            for phrase, concept in lexicon.phrases.get(first, ()):
                if _continues(words, place, phrase):
                    concepts.add(concept)
        yield from ((place, concept) for concept in concepts)


def _continues(words: list[str], place: int, phrase: tuple[str, ...]) -> bool:
    """Return whether a phrase goes on as the words do."""
    there = words[place + 1 : place + len(phrase)]
    return len(there) == len(phrase) - 1 and all(
        word.startswith(wanted[:-1]) if wanted.endswith("*") else word == wanted
        for word, wanted in zip(there, phrase[1:], strict=True)
    )


def _anywhere(plain: str) -> Iterator[tuple[int, str]]:
    lexicon = _lexicon()
    for match in _unspaced_pattern().finditer(plain):
        yield from ((match.start() // 2, concept) for concept in lexicon.unspaced[match[0]])
