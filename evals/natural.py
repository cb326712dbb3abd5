"""
Natural statements without end, for stores of any size.

The sentences of people in the open sets of `evals`, which were written blind: as they stand first, then
again and again with other names and numbers, and most of them with the end of another sentence, so that words
keep their natural frequencies, lengths and repetitions while hardly two statements are the same. The same
seed gives the same statements.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from engramdb.text.sentences import sentences

_HERE = Path(__file__).parent
_TALKS = ("conversations/open/*.jsonl", "references/open.jsonl")
_STORIES = ("beliefs/data/open_stories.jsonl", "beliefs/data/open_traps.jsonl")
_PAIRS = ("beliefs/data/open_conflict.jsonl", "beliefs/data/open_harmless.jsonl")
_NAME = re.compile(r"(?<=[a-zà-ÿ,] )[A-ZÀ-Þ][a-zà-ÿ]{2,}\b")
"""A word that is written large though no sentence begins there."""
_NUMBER = re.compile(r"\d+")
_SYLLABLES = [consonant + vowel for consonant in "bdklmnrstv" for vowel in "aeio"]
_MIN_WORDS, _MAX_WORDS = 4, 60
SHARE_SPLICED = 0.7
"""How many of the statements that are told again end as another one does."""


def natural_statements(seed: int = 7) -> Iterator[str]:
    """Yield statements without end."""
    return recombined(_sentences(), seed)


def recombined(told: Sequence[str], seed: int = 7) -> Iterator[str]:
    """Yield texts as they stand, and then without end recombined, with other names and numbers."""
    yield from told
    rng, cast = random.Random(seed), 0
    while True:
        cast += 1
        names: dict[str, str] = {}
        for one in rng.sample(told, len(told)):
            whole = one if rng.random() > SHARE_SPLICED else _spliced(one, rng.choice(told))
            yield _recast(whole, names, cast, rng)


def questions_about(statement: str, rng: random.Random) -> str:
    """Return a question that has some of the words of a statement."""
    words = [word for word in re.findall(r"\w+", statement) if len(word) > 3]
    return "what about " + " ".join(rng.sample(words, min(3, len(words)))) + "?"


@cache
def _sentences() -> tuple[str, ...]:
    found = [part for text in _texts() for part in sentences(text)]
    fit = [one for one in found if _MIN_WORDS <= len(one.split()) <= _MAX_WORDS]
    return tuple(dict.fromkeys(fit))


def _texts() -> Iterator[str]:
    """Yield what people say in the open sets."""
    for talk in _rows(*_TALKS):
        yield from (turn["text"] for turn in talk["turns"] if turn["by"] == "user")
    for story in _rows(*_STORIES):
        yield from (text for _, by, text in story["turns"] if by == "user")
    for pair in _rows(*_PAIRS):
        yield from (pair["old"], pair["new"])
    for group in _rows("beliefs/data/open_groups.jsonl"):
        yield from (*group["wordings"], *group["near"])
    yield from (row["text"] for row in _rows("junk/open_keep.jsonl"))


def _rows(*patterns: str) -> Iterator[dict[str, Any]]:
    for pattern in patterns:
        for path in sorted(_HERE.glob(pattern)):
            yield from map(json.loads, path.read_text(encoding="utf-8").splitlines())


def _spliced(one: str, other: str) -> str:
    """Return the first half of a sentence with the second half of another."""
    mine, theirs = one.split(), other.split()
    return " ".join((*mine[: (len(mine) + 1) // 2], *theirs[len(theirs) // 2 :]))


def _recast(text: str, names: dict[str, str], cast: int, rng: random.Random) -> str:
    """Return a sentence with the names of another cast, and other numbers."""

    def name(found: re.Match[str]) -> str:
        old = found.group()
        if old not in names:
            names[old] = "".join(rng.choices(_SYLLABLES, k=3)).capitalize()
        return names[old]

    def number(found: re.Match[str]) -> str:
        return str(int(found.group()[:6]) + cast)

    return _NUMBER.sub(number, _NAME.sub(name, text))
