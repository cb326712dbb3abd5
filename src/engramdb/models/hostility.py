"""
How likely a text is to be an attempt to steer a later agent: a linear head, with and without the model pack.

Without the pack it sees the words, the built-in embedding, and the concepts of `text.steering`, which are the
same in all languages; with it, the states of the reader's network too. Disguised and encoded text is read as
what it spells, long text in pieces; the most suspicious reading counts. How well: docs/lab/0060-injection.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cache
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from engramdb.models.reader import Utterance
from engramdb.models.reader_head import features as reader_features
from engramdb.models.reader_pack import PackReader
from engramdb.text.injection import fold, readings, split_words
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
NETWORK_FROM: Final = -6.0
"""Below this logit the small head is believed, and the network is not asked."""
SMALL_SHARE: Final = 0.67
"""Of the small head where both judge: the network knows little of other languages than English."""
FLAG_LINE: Final = 0.45
"""Where the fitted threshold lies on the scale that is given out: the policy's line."""
CONCEPT_WEIGHT, PAIR_WEIGHT, LETTER_WEIGHT, STATE_WEIGHT = 1.0, 0.6, 0.8, 1.0

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


def state_features(states: Floats) -> Floats:
    """Return the states of the reader's network on the scale of the others."""
    length = max(float(np.linalg.norm(states)), 1e-9)
    return np.asarray(states / length * STATE_WEIGHT * 4, np.float32)


def pieces(text: str) -> Iterator[str]:
    """Yield a text whole where it is short, and otherwise in pieces that overlap."""
    words = text.split()
    if len(words) <= PIECE_WORDS:
        yield text[:PIECE_CHARACTERS]
        return
    for start in range(0, min(len(words), PIECE_STEP * MAX_PIECES), PIECE_STEP):
        yield " ".join(words[start : start + PIECE_WORDS])[:PIECE_CHARACTERS]


@cache
def _load() -> dict[str, tuple[Floats, float]]:
    """Return weights and bias of each head; the bias has the fitted threshold in it."""
    with np.load(SHIPPED) as stored:
        return {
            name: (
                stored[f"{name}.weight"].astype(np.float32) * float(stored[f"{name}.scale"]),
                float(stored[f"{name}.bias"]),
            )
            for name in ("small", "network")
        }


def _logit(name: str, numbers: Floats) -> float:
    weight, bias = _load()[name]
    return float(numbers @ weight) + bias


def _chance(logit: float) -> float:
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, logit))))


class HostilityJudge:
    """
    Judges by the small head, and what that does not find harmless by the network, where there is one.

    Safe to share between threads.
    """

    def __init__(self, open_network: Callable[[], PackReader] | None = None) -> None:
        self._open = open_network
        self._network: PackReader | None = None

    def chance(self, text: str, *, patterns: float) -> float:
        """Return the chance that a text tries to steer an agent; 0.45 is the line from which to act on it."""
        return max(
            self._piece(piece, patterns if not how else max(patterns, 0.3))
            for how, reading in readings(text)
            for piece in pieces(reading)
        )

    def _piece(self, text: str, patterns: float) -> float:
        if not patterns and len({one for _, one in steering_words(text)} - _COMMON) < MIN_CONCEPTS:
            return 0.0  # nothing in it speaks of what an assistant does
        numbers = hostility_features(text, patterns)
        small = _logit("small", numbers)
        if self._open is None or small < NETWORK_FROM:
            return _chance(small)
        self._network = self._network or self._open()
        states = state_features(self._network.states(text))
        network = _logit("network", np.concatenate([numbers, states]))
        return _chance(SMALL_SHARE * small + (1 - SMALL_SHARE) * network)
