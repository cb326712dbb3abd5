"""
How likely a text is to be an attempt to steer a later agent: by the guard model, else by a linear head.

The head sees the words, the built-in embedding, and the concepts of `text.steering`, which are the same in
all languages. Disguised and encoded text is read as what it spells, too; the most suspicious reading counts.
How well: docs/lab/0060-injection.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Final, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from engramdb.models.reader import Utterance
from engramdb.models.reader_head import features as reader_features
from engramdb.text.disguises import fold, split_words
from engramdb.text.injection import readings
from engramdb.text.normalize import lazy
from engramdb.text.steering import CONCEPTS, steering_words

Floats: TypeAlias = NDArray[np.float32]

SHIPPED: Final = Path(__file__).parent / "hostility.npz"
BUCKETS: Final = 4096
NEAR_WORDS: Final = 14
"""Two concepts so close belong to one thought."""
PIECE_WORDS, PIECE_STEP = 70, 45
"""A longer text is read in pieces that overlap."""
MAX_PIECES: Final = 40
PIECE_CHARACTERS: Final = 1_200
RUNS: Final = (3, 4, 5)
MULTIPLIERS: Final = np.array([2654435761, 2246822519, 3266489917, 668265263, 374761393], np.uint32)
"""Of the hash of a run of letters: large odd numbers."""
FLAG_LINE: Final = 0.35
"""Where the fitted threshold lies on the scale that is given out: the policy's line."""
CONCEPT_WEIGHT, PAIR_WEIGHT, LETTER_WEIGHT = 1.0, 0.6, 0.8

MIN_WORDS: Final = 3
"""A link alone gives no order as far as the small head can tell; the patterns look at it all the same."""
_LINK = lazy(r"\w{2,10}://\S+")
_WORD = lazy(r"[\u3040-\u30ff\u3400-\u9fff\u0e00-\u0e7f]|[^\W_]+")
"""Where no spaces stand between words, every letter counts as one."""
MIN_CONCEPTS: Final = 2
"""A text without a pattern and with fewer concepts is not looked at further: most of a conversation."""
_COMMON: Final = frozenset({"self", "you", "negation", "reported", "earlier", "always", "when"})

_PLACES: Final = {concept: place for place, concept in enumerate(CONCEPTS)}
_PAIRS: Final = {pair: place for place, pair in enumerate(combinations_with_replacement(CONCEPTS, 2))}


def hostility_features(text: str, patterns: float) -> Floats:
    """Return a text as numbers: as the small reader sees it, its letters, concepts and patterns."""
    return np.concatenate(
        [
            reader_features(Utterance(text)),
            _letters(text) * LETTER_WEIGHT,
            _concepts(text),
            np.array([patterns, float(patterns >= FLAG_LINE), patterns**4], np.float32),
        ]
    ).astype(np.float32)


def _letters(text: str) -> Floats:
    """Return runs of three to five letters by hash, which tell something of words in any language."""
    plain = f" {split_words(fold(text[:PIECE_CHARACTERS]))} ".encode()
    letters = np.frombuffer(plain, np.uint8).astype(np.uint32)
    counts = np.zeros(BUCKETS, np.float32)
    for length in RUNS:
        if len(letters) >= length:
            runs = np.lib.stride_tricks.sliding_window_view(letters, length)
            hashes = (runs * MULTIPLIERS[:length]).sum(axis=1, dtype=np.uint32)
            counts += np.bincount((hashes >> 16) % BUCKETS, minlength=BUCKETS)
    counts = np.log1p(counts)
    return np.asarray(counts / max(float(np.linalg.norm(counts)), 1e-9), np.float32)


def _concepts(text: str) -> Floats:
    singles, pairs = np.zeros(len(CONCEPTS), np.float32), np.zeros(len(_PAIRS), np.float32)
    found = steering_words(text)
    for number, (place, concept) in enumerate(found):
        singles[_PLACES[concept]] += 1
        for other_place, other in found[number + 1 :]:
            if other_place - place > NEAR_WORDS:
                break
            ordered = (concept, other) if _PLACES[concept] <= _PLACES[other] else (other, concept)
            pairs[_PAIRS[ordered]] = 1
    return np.concatenate([np.log1p(singles) * CONCEPT_WEIGHT, pairs * PAIR_WEIGHT])


def pieces(text: str) -> Iterator[str]:
    """Yield a text whole where it is short, and otherwise in pieces that overlap."""
    words = text.split()
    if len(words) <= PIECE_WORDS:
        yield text[:PIECE_CHARACTERS]
        return
    for start in range(0, min(len(words), PIECE_STEP * MAX_PIECES), PIECE_STEP):
        yield " ".join(words[start : start + PIECE_WORDS])[:PIECE_CHARACTERS]


@cache
def _load() -> tuple[Floats, float]:
    """Return weights and bias of the head; the bias has the fitted threshold in it."""
    with np.load(SHIPPED) as stored:
        weight = stored["weight"].astype(np.float32) * float(stored["scale"])
        return weight, float(stored["bias"])


def _logit(numbers: Floats) -> float:
    weight, bias = _load()
    return float(numbers @ weight) + bias


class ReadsHostility(Protocol):
    """Tells how suspicious a text is, of any length: the guard model."""

    def hostile_chance(self, text: str) -> float:
        """Return the chance that a text tries to steer an agent."""
        ...


class HostilityJudge:
    """Judges by the guard model where there is one, and by the small head otherwise. Safe between threads."""

    def __init__(self, guard: ReadsHostility | None = None) -> None:
        self._guard = guard

    def chance(self, text: str, *, patterns: float) -> float:
        """Return the chance that a text tries to steer an agent; 0.35 is the line from which to act on it."""
        if self._guard is not None:
            return max(self._guard.hostile_chance(reading) for _, reading in readings(text))
        if len(_WORD.findall(_LINK.sub(" ", text))) < MIN_WORDS:
            return patterns
        return max(
            self._piece(piece, patterns if not how else max(patterns, 0.3))
            for how, reading in readings(text)
            for piece in pieces(reading)
        )

    def _piece(self, text: str, patterns: float) -> float:
        if not patterns and len({one for _, one in steering_words(text)} - _COMMON) < MIN_CONCEPTS:
            return 0.0  # nothing in it speaks of what an assistant does
        logit = _logit(hostility_features(text, patterns))
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, logit))))
