"""Whether a word in small letters is a common English word, or must be something else: a name, or jargon."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from engramdb.erasable_cache import cached
from engramdb.text.lexicons import plain_text, word_set

_ENDINGS = (
    *(("ies", "y"), ("ied", "y"), ("ily", "y"), ("es", ""), ("s", ""), ("ed", ""), ("ed", "e"), ("d", "")),
    *(("ing", ""), ("ing", "e"), ("er", ""), ("er", "e"), ("est", ""), ("est", "e")),
    *(("ly", ""), ("ness", ""), ("less", "")),
)
"""What is taken off a word and put in its place: data/words.txt has base forms alone."""

_DOUBLED = re.compile(r"(.*[a-z])([a-z])\2(?:ed|ing|er|est)\Z")


@cached(20_000)
def is_english_word(word: str) -> bool:
    """Return whether a folded word, or what it is formed from, is a common English one."""
    words = _words()
    return word in words or any(base in words for base in _bases(word))


def _bases(word: str) -> Iterator[str]:
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) > 2:
            yield word.removesuffix(ending) + instead
    doubled = _DOUBLED.match(word)
    if doubled:
        yield doubled[1] + doubled[2]


@cache
def _words() -> frozenset[str]:
    return word_set(plain_text("words"))
