"""
Sketch what a statement says so that another wording of it is recognized, without keeping a word of it.

A sketch is made with a key of the store and the number of a scope: a hash of the whole wording, short codes
of its words that about a hundred other words share, and its vector, turned in a secret way and rounded.
Without the key it is noise; with the key a guess can be tested, which is what a sketch is for. What that
protects against and what not: docs/decisions/0023-forgotten.md. The weights were fitted on the labelled pairs
of `training/data`; how well they do: docs/lab/0046-forgotten.md.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Final, Protocol

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from engramdb.models.calibration import is_latin
from engramdb.text.gist import Gist, gist_of
from engramdb.text.normalize import normalize_text

CODE_BITS: Final = 10
"""Of a word: in a language of 100,000 words a hundred have the same code."""
WHOLE_BYTES: Final = 8
DIMENSION: Final = 256
"""Of the built-in embedder."""
LEVELS: Final = 7
"""A number of a turned vector is rounded to so many steps either way, which half a byte holds."""
STEP: Final = 0.5 / 16
"""Half the usual size of a number in a unit vector of this dimension."""
MAX_CODES: Final = 20_000
"""Words whose codes are at hand."""

# What speaks for and against two wordings of one statement, as a sum. Fitted by logistic regression: pairs
# labelled `same` or `refines` against pairs of different statements, and with a fifth of the weight against
# those labelled `related` or `conflict`.
BIAS: Final = -2.6
BY_COSINE: Final = 5.8
BY_SHARED_WORDS: Final = 1.0
"""For the share of the forgotten statement's words that the other one has too."""
PER_STRANGE_NAME: Final = -0.4
"""For a name that only one of them has, twice at most,"""
PER_MISSING_NAME: Final = -0.4
"""and once more where it is the forgotten one."""
MISSING_NUMBER: Final = -1.1
ANOTHERS: Final = -1.6
"""For a relative of whom the forgotten statement does not speak."""
MISSING_RELATIVE: Final = -0.4
SHORT_WORDS: Final = 3
"""Of a statement of so few words each carries it: "prefers light mode" is not "prefers dark mode"."""
LEAST_COSINE: Final = 0.25
"""Below this no words make up for it."""


class EmbedsStatements(Protocol):
    """The part of likeness that a sketch needs: vectors of the built-in embedder, whatever pack there is."""

    def vectors(self, statements: Sequence[str]) -> NDArray[np.float32]: ...


class MeaningSketch(Struct, frozen=True, array_like=True):
    """One wording of a statement, in codes."""

    whole: bytes
    words: frozenset[int]
    names: frozenset[int]
    numbers: frozenset[int]
    relatives: frozenset[int]
    times: frozenset[int]
    own: frozenset[int]
    """The name of whoever spoke, which stands for "I" in the words of others."""
    is_short: bool
    """Whether it has so few words that each of them carries it."""
    vector: bytes


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(tuple[MeaningSketch, ...]).decode


def pack(sketches: Sequence[MeaningSketch]) -> bytes:
    """Return the sketches of one memory as they are stored."""
    return _encode(tuple(sketches))


def unpack(stored: bytes) -> tuple[MeaningSketch, ...]:
    """Return the sketches of one memory."""
    return _decode(stored)


class SketchKey:
    """What the sketches of one scope are made with: the same words of another scope give other codes."""

    def __init__(self, key: bytes, scope_number: int) -> None:
        self._key = hashlib.blake2b(str(scope_number).encode(), key=key, digest_size=32).digest()
        self._codes: dict[str, int] = {}

    def sketch(
        self, wordings: Sequence[str], embeds: EmbedsStatements, *, own: Iterable[str] = ()
    ) -> list[MeaningSketch]:
        """Return a sketch of each wording; `own` are names of whoever speaks of themselves in them."""
        if not wordings:
            return []
        rows = self.turned(embeds.vectors(wordings))
        names = self.own(own)
        return [
            self._sketch(text, gist_of(text), row, own=names)
            for text, row in zip(wordings, rows, strict=True)
        ]

    def own(self, names: Iterable[str]) -> frozenset[int]:
        """Return the codes of names that stand for whoever speaks."""
        return self.coded(word for name in names for word in gist_of(name).words)

    def turned(self, vectors: NDArray[np.float32]) -> NDArray[np.int8]:
        """Return unit vectors, turned in the way of this key and rounded."""
        steps = np.rint(vectors @ self._turning / STEP)
        return np.asarray(np.clip(steps, -LEVELS, LEVELS), np.int8)

    def whole(self, wording: str) -> bytes:
        """Return a hash of a wording, without regard to case, blanks and punctuation at the ends of words."""
        folded = normalize_text(wording).encode()
        return hashlib.blake2b(folded, key=self._key, digest_size=WHOLE_BYTES, person=b"whole").digest()

    def coded(self, words: Iterable[str]) -> frozenset[int]:
        """Return the codes of words."""
        return frozenset(map(self._code, words))

    def _sketch(self, text: str, gist: Gist, row: NDArray[np.int8], *, own: frozenset[int]) -> MeaningSketch:
        return _sketched(text, gist, self.coded, own=own, whole=self.whole(text), vector=_in_halves(row))

    def _code(self, word: str) -> int:
        known = self._codes.get(word)
        if known is None:
            digest = hashlib.blake2b(word.encode(), key=self._key, digest_size=2, person=b"word").digest()
            known = self._codes[word] = int.from_bytes(digest) % (1 << CODE_BITS)
            if len(self._codes) > MAX_CODES:
                self._codes.clear()
        return known

    @cached_property
    def _turning(self) -> NDArray[np.float32]:
        """A turn of the whole space that follows from the key: two reflections of signs, mixed evenly."""
        drawn = hashlib.shake_256(self._key + b"turning").digest(2 * DIMENSION // 8)
        signs = np.unpackbits(np.frombuffer(drawn, np.uint8)).reshape(2, DIMENSION).astype(np.float32) * 2 - 1
        mixing = np.ones((1, 1), np.float32)
        while len(mixing) < DIMENSION:
            mixing = np.block([[mixing, mixing], [mixing, -mixing]])
        return np.asarray((mixing * signs[0]) @ (mixing * signs[1]) / DIMENSION, np.float32)


def _sketched(
    text: str,
    gist: Gist,
    coded: Callable[[Iterable[str]], frozenset[int]],
    *,
    own: frozenset[int],
    whole: bytes = b"",
    vector: bytes = b"",
) -> MeaningSketch:
    return MeaningSketch(
        whole=whole,
        words=coded(gist.words),
        names=coded(gist.names),
        numbers=coded(gist.numbers),
        relatives=coded(gist.relatives),
        times=coded(gist.times),
        own=own,
        is_short=is_latin(text) and len(gist.words) + len(gist.numbers) <= SHORT_WORDS,
        vector=vector,
    )


def are_apart(new: str, old: str, *, own: Iterable[str] = ()) -> bool:
    """Return what `Resemblance.is_apart` says, of words that are at hand: no two of them share a code."""
    numbers: dict[str, int] = {}

    def coded(words: Iterable[str]) -> frozenset[int]:
        return frozenset(numbers.setdefault(word, len(numbers)) for word in words)

    names = coded(word for name in own for word in gist_of(name).words)
    first, second = (_sketched(text, gist_of(text), coded, own=names) for text in (new, old))
    return compare(first, second, 0.0).is_apart


def _in_halves(row: NDArray[np.int8]) -> bytes:
    """Return a rounded vector, two numbers to a byte."""
    shifted = (row + LEVELS).astype(np.uint8)
    return (shifted[0::2] << 4 | shifted[1::2]).tobytes()


def unpack_vector(stored: bytes) -> NDArray[np.float32]:
    """Return a rounded vector with length one again."""
    halves = np.frombuffer(stored, np.uint8)
    row = np.stack([halves >> 4, halves & 15], axis=1).reshape(-1).astype(np.float32) - LEVELS
    return np.asarray(row / max(float(np.linalg.norm(row)), 1e-9), np.float32)


class Resemblance(Struct, frozen=True):
    """How far a new wording may be one of a forgotten statement."""

    score: float
    """Above 0 it is likelier than not, as far as words and vector tell."""
    is_apart: bool
    """Whether both name something, and not the same (numbers, names, relatives, days), or share no word."""


def compare(new: MeaningSketch, old: MeaningSketch, cosine: float) -> Resemblance:
    """Return how far a new wording resembles a forgotten one, by the same key."""
    speakers = new.own | old.own
    words, theirs = new.words - speakers, old.words - speakers
    common = words & theirs
    strange, missed = new.names - speakers - theirs, old.names - speakers - words
    score = BIAS + BY_COSINE * cosine + BY_SHARED_WORDS * len(common) / max(1, len(theirs))
    score += PER_STRANGE_NAME * min(2, len(strange) + len(missed)) + PER_MISSING_NAME * min(2, len(missed))
    score += MISSING_NUMBER * bool(old.numbers - new.numbers)
    score += ANOTHERS * bool(new.relatives and not old.relatives)
    score += MISSING_RELATIVE * bool(old.relatives and not new.relatives)
    is_apart = any(
        mine - yours and yours - mine
        for mine, yours in (
            (new.numbers, old.numbers),
            (new.relatives, old.relatives),
            (new.times, old.times),
            (strange, missed),
        )
    )
    is_apart = is_apart or not (common or new.numbers & old.numbers)
    return Resemblance(score, is_apart or (old.is_short and _is_exchange(words, theirs, old)))


def _is_exchange(words: frozenset[int], theirs: frozenset[int], old: MeaningSketch) -> bool:
    """Return whether a short statement has become another one: a word of it has made room for another."""
    gone, come = theirs - words, words - theirs
    is_single = len(gone) == len(come) == 1
    return bool(gone and come) and (is_single or len(theirs) + len(old.numbers) < SHORT_WORDS)
