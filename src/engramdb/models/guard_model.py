"""
The guard model of the pack: which words of a text are private, and whether it tries to steer an agent.

One network with two heads, trained apart from the reader (training/guard_train.py), so that neither bends the
other. Where a text answers something, that goes in after it. Long text is read in pieces that overlap.
How well it does: docs/lab/0063-guard-model.md.
"""

from __future__ import annotations

import json
import math
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from engramdb.erasable_cache import ErasableTable
from engramdb.models.e5 import open_session
from engramdb.models.wordpiece import bert_uncased
from engramdb.values.privacy import PersonalData, PiiKind, PiiSpan

if TYPE_CHECKING:
    from engramdb.models.packs import Pack

Floats: TypeAlias = NDArray[np.float32]

NETWORK_FILE: Final = "guard.onnx"
HEADS_FILE: Final = "guard.npz"
SHIPPED: Final = Path(__file__).parent / HEADS_FILE
"""Adapters and heads, as they come with the package."""
LABELS: Final = (
    "none",
    "credential",
    "account",
    "identity",
    "health",
    "birth_date",
    "income",
    "contact",
    "personal",
)
"""What a word may be: nothing private, or part of a value of this kind."""
MAX_TOKENS: Final = 200
"""Of one input, in tokens of the vocabulary; what is longer is read in parts."""
OVERLAP: Final = 40
MAX_PARTS: Final = 40
"""Of one text: 6,000 words. Behind that the rules look alone."""
MAX_BEFORE: Final = 60
FIRST: Final = 1
"""Where the words begin, after the token that stands for the whole."""
LINE_LOGIT: Final = math.log(0.35 / 0.65)
"""The fitted line of what is not a person's lies at a chance of 0.35, which is where the policy flags it."""
MAX_WORD_CHARACTERS: Final = 60
"""A longer run of letters is several words, so that each fits the network."""
MAX_CACHED: Final = 256
"""Readings that are kept: a statement is looked at for orders and for private words, one after the other."""
_OPENING: Final = frozenset("([{<\"'“‘«„=:")
_CLOSING: Final = frozenset(".,;:!?)]}>\"'”’»")
_EAST = "\u0e00-\u0e7f\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_EAST}]|[^\W\d_{_EAST}]+|\d+|_|[^\w\s]")
"""In scripts that put no spaces between words, each letter is one."""


class GuardWord(Struct, frozen=True):
    """A word, a number or a mark: where it stands, and its pieces."""

    start: int
    end: int
    pieces: tuple[int, ...]


class GuardReading(Struct, frozen=True):
    """What the model makes of a text."""

    hostile: float
    """The logit of an attempt to steer an agent, of the worst part."""
    words: tuple[GuardWord, ...]
    chances: Floats
    """One row a word: the probability of each label."""
    is_complete: bool
    """Whether the model has read every word; of a longer text it reads the first `MAX_PARTS` parts."""


def words_of(text: str) -> list[GuardWord]:
    """Return the words of a text with their pieces; those without any, such as odd signs, are left out."""
    pieces = bert_uncased()
    found = []
    for match in _WORD.finditer(text):
        for start in range(match.start(), match.end(), MAX_WORD_CHARACTERS):
            end = min(match.end(), start + MAX_WORD_CHARACTERS)
            ids = tuple(one for word in pieces.words(text[start:end]) for one in pieces.pieces(word))
            if ids:
                found.append(GuardWord(start, end, ids))
    return found


def parts_of(words: Sequence[GuardWord]) -> Iterator[tuple[int, int]]:
    """Yield where parts begin and end that fit the network and overlap."""
    begin = 0
    for _ in range(MAX_PARTS):
        end, room = begin, MAX_TOKENS
        while end < len(words) and len(words[end].pieces) <= room:
            room -= len(words[end].pieces)
            end += 1
        yield begin, end
        if end >= len(words):
            return
        back, shared = end, 0
        while back > begin + 1 and shared < OVERLAP:
            back -= 1
            shared += len(words[back].pieces)
        begin = back


def guard_tokens(words: Sequence[GuardWord], *, before: str = "") -> list[int]:
    """Return the ids of some words, which begin at `FIRST`, and behind them of what they answer."""
    pieces = bert_uncased()
    tokens = [pieces.start, *(one for word in words for one in word.pieces), pieces.end]
    if before:
        asked = [one for word in pieces.words(before[-300:]) for one in pieces.pieces(word)]
        tokens += [*asked[-MAX_BEFORE:], pieces.end]
    return tokens


class GuardNetwork:
    """The network with its heads, loaded from two files."""

    def __init__(self, model: Path, heads: Path, *, threads: int = 1) -> None:
        self._session = open_session(model, threads=threads, is_compact=True)
        with np.load(heads) as stored:
            self.lines: dict[str, float] = json.loads(stored["meta"].tobytes().decode())["thresholds"]
            self._word = stored["head.word.weight"].astype(np.float32), stored["head.word.bias"]
            self._hostile = stored["head.hostile.weight"].astype(np.float32), stored["head.hostile.bias"]

    def read(self, text: str, *, before: str = "") -> GuardReading:
        """Return what the model makes of a text."""
        words = words_of(text)
        chances = np.zeros((len(words), len(LABELS)), np.float32)
        chances[:, 0] = 1.0
        seen = np.zeros(len(words), bool)
        hostile = -np.inf
        for begin, end in parts_of(words):
            logit, found = self._part(words[begin:end], before)
            hostile = max(hostile, logit)
            fresh = ~seen[begin:end]
            worse = found[:, 0] < chances[begin:end, 0]
            chances[begin:end] = np.where((fresh | worse)[:, None], found, chances[begin:end])
            seen[begin:end] = True
        return GuardReading(float(hostile), tuple(words), chances, is_complete=bool(seen.all()))

    def chance(self, reading: GuardReading) -> float:
        """Return the chance that a text is an attempt; its fitted line lies where the screen flags."""
        logit = reading.hostile - self.lines["hostile"] + LINE_LOGIT
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, logit))))

    def _part(self, words: Sequence[GuardWord], before: str) -> tuple[float, Floats]:
        tokens, place = guard_tokens(words, before=before), FIRST
        row = np.array([tokens], np.int64)
        inputs = {"tokens": row, "places": np.arange(len(tokens), dtype=np.int64)[None]}
        states = np.asarray(self._session.run(["states"], inputs)[0][0], np.float32)
        weight, bias = self._hostile
        logits = np.concatenate([states[0], states.mean(axis=0)]) @ weight + bias
        found = np.zeros((len(words), len(LABELS)), np.float32)
        weight, bias = self._word
        each = _softmax(states @ weight + bias)
        for number, word in enumerate(words):
            found[number] = each[place : place + len(word.pieces)].mean(axis=0)
            place += len(word.pieces)
        return float(logits[1] - logits[0]), found


def _softmax(logits: Floats) -> Floats:
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True), np.float32)


SECRETS: Final = {
    "credential": PiiKind.CREDENTIAL,
    "account": PiiKind.BANK_ACCOUNT,
    "identity": PiiKind.GOVERNMENT_ID,
}
PERSONAL: Final = {
    "health": PiiKind.HEALTH,
    "birth_date": PiiKind.BIRTH_DATE,
    "income": PiiKind.INCOME,
    "contact": PiiKind.POSTAL_ADDRESS,
    "personal": PiiKind.PERSONAL,
}
CLEARED_WITH: Final = {
    "secret": frozenset({*SECRETS.values(), PiiKind.PAYMENT_CARD, PiiKind.SSN}),
    "personal": frozenset({*PERSONAL.values(), PiiKind.PHONE}),
}
"""What a text does not hold where no word of it looks like one of these."""
EDGE: Final = 0.3
"""From this chance on a word beside a private one belongs to it."""
MAX_TOKEN: Final = 80
"""Characters of a word around what is surely secret in it: text without spaces has thousands of findings."""
MAX_GAP: Final = 3
"""Characters between two parts of one value: "77 20", "4-4-1"."""


def private_words(text: str, reading: GuardReading, lines: Mapping[str, float]) -> PersonalData:
    """Return the private words of a text; `lines` says from which chance, and below which it is cleared."""
    spans: list[PiiSpan] = []
    cleared: set[PiiKind] = set()
    for name, kinds in (("secret", SECRETS), ("personal", PERSONAL)):
        places = [LABELS.index(label) for label in kinds]
        chances = reading.chances[:, places]
        each = chances.sum(axis=1)
        for begin, end in _runs(reading.words, each, lines[name]):
            kind = list(kinds.values())[int(chances[begin:end].sum(axis=0).argmax())]
            start, stop = reading.words[begin].start, reading.words[end - 1].end
            if name == "secret":
                start, stop = _whole_token(text, start, stop)
            spans.append(PiiSpan(start, stop, kind))
        if reading.is_complete and float(each.max(initial=0.0)) < lines[f"{name}_cleared"]:
            cleared |= CLEARED_WITH[name]
    return PersonalData(tuple(sorted(spans)), frozenset(cleared))


def _runs(words: Sequence[GuardWord], chances: Floats, line: float) -> Iterator[tuple[int, int]]:
    """Yield where words begin and end that belong together, one of them surely private."""
    begin: int | None = None
    for place in range(len(words) + 1):
        is_in = place < len(words) and chances[place] >= EDGE
        if begin is not None and (not is_in or words[place].start - words[place - 1].end > MAX_GAP):
            if chances[begin:place].max() >= line:
                yield begin, place
            begin = None
        if is_in and begin is None:
            begin = place


def _whole_token(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the place of a secret with the rest of the words that it begins and ends in."""
    least, most = max(0, start - MAX_TOKEN), min(len(text), end + MAX_TOKEN)
    while start > least and not text[start - 1].isspace() and text[start - 1] not in _OPENING:
        start -= 1
    last = end
    while last < most and not text[last].isspace():
        last += 1
    while last > end and text[last - 1] in _CLOSING:
        last -= 1
    return start, last


class GuardModel:
    """
    The guard model of an installed pack.

    Opening it reads nothing: the network is checked and loaded by the first call. Safe to share between
    threads.
    """

    def __init__(self, pack: Pack, *, threads: int = 1) -> None:
        self._pack = pack
        self._threads = threads
        self._loading = threading.Lock()
        self._network: GuardNetwork | None = None
        self._known: ErasableTable[GuardReading] = ErasableTable()

    def read(self, text: str, *, before: str = "") -> GuardReading:
        """Return what the model makes of a text."""
        key = f"{before}\0{text}"
        found = self._known.get(key)
        if found is None:
            found = self._open().read(text, before=before)
            if len(self._known) >= MAX_CACHED:
                self._known.clear()
            self._known[key] = found
        return found

    def find(self, text: str, *, before: str = "") -> PersonalData:
        """Return the private words of a text, after what was said before."""
        return private_words(text, self.read(text, before=before), self._open().lines)

    def hostile_chance(self, text: str) -> float:
        """Return the chance that a text tries to steer an agent."""
        return self._open().chance(self.read(text))

    def _open(self) -> GuardNetwork:
        if self._network is None:
            with self._loading:
                self._network = self._network or GuardNetwork(
                    self._pack.file(NETWORK_FILE), self._pack.file(HEADS_FILE), threads=self._threads
                )
        return self._network
