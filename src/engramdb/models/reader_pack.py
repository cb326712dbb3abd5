"""
The reader pack: e5-small with our adapters in it, and one small head per task.

Built by `models add e5-small` beside the embedder, from the weights that are fetched anyway and from
`reader.npz`, which ships with the package: low-rank adapters in 8 bits, the heads, and what was fitted on
text that the model had not seen (temperatures, thresholds). How it was trained, how well it reads and what it
must not be used for: docs/reference/reader.md.
"""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from engramdb.models.e5 import open_session
from engramdb.models.encoder_graph import MEAN_LENGTH
from engramdb.models.reader import Utterance
from engramdb.models.wordpiece import bert_uncased
from engramdb.values.reading import Force, Lasting, PairJudgment, PairRelation, Reading

if TYPE_CHECKING:
    from engramdb.models.packs import Pack

Floats: TypeAlias = NDArray[np.float32]

NETWORK_FILE: Final = "reader.onnx"
HEADS_FILE: Final = "reader.npz"
SHIPPED: Final = Path(__file__).parent / HEADS_FILE
"""Adapters and heads, as they come with the package."""
MAX_TOKENS: Final = 160
"""Of one input; longer texts are cut."""
HARMLESS_BELOW: Final = 0.1
"""Below this chance of a conflict the rules may not see one. Not fitted: far below any threshold."""
WORTH_A_SECOND_LOOK: Final = 0.2
"""From this chance of a conflict a pair is read the other way round, too."""
META: Final = "meta"
HEAD: Final = "head."


class Fitted(Struct, frozen=True, kw_only=True):
    """What was fitted after training, on text that was left out of it."""

    version: str
    tasks: dict[str, list[str]]
    """The classes of each task, in the order of its head."""
    temperatures: dict[str, float]
    thresholds: dict[str, float]
    """From which probability `conflict`, `same`, `keep` and `hostile` may be acted on."""


def pair_tokens(first: str, second: str) -> list[int]:
    """Return the ids of one or two texts between marks, cut to `MAX_TOKENS`."""
    pieces = bert_uncased()
    ids = [
        [piece for word in pieces.words(text) for piece in pieces.pieces(word)] for text in (first, second)
    ]
    room = MAX_TOKENS - 3
    if len(ids[0]) + len(ids[1]) > room:
        share = max(room // 2, room - len(ids[1]))
        ids[0] = ids[0][:share]
        ids[1] = ids[1][: room - len(ids[0])]
    tail = [*ids[1], pieces.end] if second else []
    return [pieces.start, *ids[0], pieces.end, *tail]


def is_readable(first: str, second: str) -> bool:
    """Return whether a pair fits whole, and is in letters that the vocabulary has."""
    tokens = pair_tokens(first, second)
    letters = [one for one in first + second if one.isalpha()]
    latin = sum(one < LATIN_ENDS for one in letters)
    is_whole = len(tokens) < MAX_TOKENS and bert_uncased().unknown not in tokens
    return is_whole and latin >= LEAST_LATIN * len(letters) > 0


LATIN_ENDS: Final = "\u0250"
LEAST_LATIN: Final = 0.8


def spoken_by(by: str, text: str) -> str:
    """Return a text with its speaker before it, as the model has learnt to read it."""
    return f"{by or 'user'}: {text}"


def asked(question: str) -> str:
    """Return a question as the model has learnt to read it."""
    return f"question: {question}"


def remembered(memory: str) -> str:
    """Return a memory as the model has learnt to read it beside a question."""
    return f"memory: {memory}"


def changed(old: str, new: str) -> str:
    """Return a change as the model has learnt to read it, beside a question or a memory."""
    return f"was: {old} now: {new}"


class Heads:
    """The last step: from states to probabilities."""

    def __init__(self, path: Path) -> None:
        with np.load(path) as stored:
            self.fitted = _decode(stored[META])
            self._heads = {
                task: (
                    stored[f"{HEAD}{task}.weight"].astype(np.float32),
                    stored[f"{HEAD}{task}.bias"].astype(np.float32),
                )
                for task in self.fitted.tasks
            }

    def probabilities(self, states: Floats, tokens: Sequence[int]) -> dict[str, Floats]:
        """Return the probabilities of every class of every task."""
        features = pooled(states, tokens)
        return {
            task: softmax((features @ weight + bias) / self.fitted.temperatures[task])
            for task, (weight, bias) in self._heads.items()
        }


def pooled(states: Floats, tokens: Sequence[int]) -> Floats:
    """Return the first state, the mean of each text, how the means differ and where they agree."""
    middle = list(tokens).index(bert_uncased().end) + 1
    first, second = _mean(states[:middle]), _mean(states[middle:])
    return np.concatenate([states[0], first, second, np.abs(first - second), first * second])


def _mean(states: Floats) -> Floats:
    if not len(states):
        return np.zeros(states.shape[1], np.float32)
    mean = states.mean(axis=0)
    return np.asarray(mean / max(float(np.linalg.norm(mean)), 1e-12) * MEAN_LENGTH, np.float32)


def softmax(logits: Floats) -> Floats:
    """Return probabilities."""
    powers = np.exp(logits - logits.max())
    return np.asarray(powers / powers.sum(), np.float32)


def _decode(meta: NDArray[np.uint8]) -> Fitted:
    return Fitted(**json.loads(meta.tobytes().decode()))


def read_adapters(path: Path = SHIPPED) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """Return the adapters as 32-bit numbers by the names of the weights they change, and the smoothing."""
    adapters: dict[str, Floats] = {}
    smoothing: dict[str, Floats] = {}
    with np.load(path) as stored:
        for name in stored.files:
            kind, _, rest = name.partition(".")
            if kind == "smooth":
                smoothing[rest] = stored[name].astype(np.float32)
            elif kind == "adapter" and not rest.endswith(".scale"):
                array = stored[name].astype(np.float32)
                scale = f"{name}.scale"
                adapters[rest] = array * stored[scale].astype(np.float32) if scale in stored.files else array
    return adapters, smoothing


def write_heads(source: Path, target: Path) -> None:
    """Write the heads without the adapters, as they lie in a pack."""
    with np.load(source) as stored:
        kept: dict[str, Any] = {
            name: stored[name] for name in stored.files if name == META or name.startswith(HEAD)
        }
    np.savez_compressed(target, **kept)


class ReaderNetwork:
    """The network with its heads, loaded from two files: tokens in, probabilities out."""

    def __init__(self, model: Path, heads: Path, *, threads: int = 1) -> None:
        self._session = open_session(model, threads=threads, is_compact=True)
        self.heads = Heads(heads)

    def probabilities(self, first: str, second: str = "") -> dict[str, Floats]:
        """Return what every head makes of one or two texts."""
        tokens = pair_tokens(first, second)
        return self.heads.probabilities(self._states(tokens), tokens)

    def pooled(self, text: str) -> Floats:
        """Return the first state of a text and the mean of all."""
        tokens = pair_tokens(text, "")
        states = self._states(tokens)
        return pooled(states, tokens)[: 2 * states.shape[1]]

    def _states(self, tokens: Sequence[int]) -> Floats:
        row = np.array([tokens], np.int64)
        inputs = {"tokens": row, "places": np.arange(len(tokens), dtype=np.int64)[None]}
        return np.asarray(self._session.run(["states"], inputs)[0][0], np.float32)


class PackReader:
    """
    Reads and judges with an installed pack.

    Opening it reads nothing: the network is checked and loaded by the first call. Safe to share between
    threads. Texts go through one at a time, so that nothing depends on its neighbors.
    """

    def __init__(self, pack: Pack, *, threads: int = 1) -> None:
        self._pack = pack
        self._threads = threads
        self._loading = threading.Lock()
        self._network: ReaderNetwork | None = None

    @property
    def name(self) -> str:
        """Name and version, from the manifest."""
        return f"{self._pack.manifest.name}/{self._pack.manifest.reader}"

    def read(self, texts: Sequence[Utterance]) -> list[Reading]:
        """Return one reading per text."""
        return [self._reading(one) for one in texts]

    @property
    def is_remote(self) -> bool:
        """It runs here."""
        return False

    def relate(
        self, newer: Utterance, older: Sequence[Utterance], *, seconds: float | None = None
    ) -> list[PairJudgment | None]:
        """Return how the newer statement stands to each of the older ones, as many as there is time for."""
        self._open()  # loading takes 0.2 s once, which is nobody's share of the time
        until = _until(seconds)
        new = spoken_by(newer.by, newer.text)
        found: list[PairJudgment | None] = []
        for one in older:
            if time.monotonic() >= until:
                break
            found.append(self._judgment(spoken_by(one.by, one.text), new))
        return found

    def answers(self, question: str, memories: Sequence[str], *, seconds: float | None = None) -> list[float]:
        """Return for each memory the chance that it answers the question, as many as there is time for."""
        network = self._open()
        wanted, until = asked(question), _until(seconds)
        found: list[float] = []
        for one in memories:
            if time.monotonic() >= until:
                break
            found.append(float(network.probabilities(wanted, remembered(one))["answers"][1]))
        return found

    def rests_on(self, question: str, changes: Sequence[tuple[str, str]]) -> list[bool] | None:
        """Return whether a question takes for granted what each change has ended."""
        wanted = asked(question)
        return self._flags("premise", [(wanted, changed(old, new)) for old, new in changes])

    def makes_doubtful(self, change: tuple[str, str], statements: Sequence[str]) -> list[bool] | None:
        """Return whether a change makes each statement doubtful."""
        told = changed(*change)
        return self._flags("doubtful", [(remembered(one), told) for one in statements])

    def _flags(self, task: str, pairs: Sequence[tuple[str, str]]) -> list[bool] | None:
        network = self._open()
        least = network.heads.fitted.thresholds.get(task)
        if least is None:
            return None
        chances = [float(network.probabilities(first, second)[task][1]) for first, second in pairs]
        return [chance >= least for chance in chances]

    def _reading(self, said: Utterance) -> Reading:
        network = self._open()
        found = network.probabilities(spoken_by(said.by, said.text), said.before)
        fitted = network.heads.fitted
        keep, hostile = float(found["keep"][1]), float(found["hostile"][1])
        return Reading(
            by=self.name,
            keep=keep,
            is_kept=keep >= fitted.thresholds["keep"],
            force=Force(_likeliest(found, fitted.tasks, "force")),
            rule=float(found["force"][fitted.tasks["force"].index(Force.RULE)]),
            lasting=Lasting(_likeliest(found, fitted.tasks, "lasting")),
            category=_likeliest(found, fitted.tasks, "category"),
            hostile=hostile,
            is_hostile=hostile >= fitted.thresholds["hostile"],
        )

    def _judgment(self, older: str, newer: str) -> PairJudgment | None:
        """
        Judge a pair that can be read whole.

        What may be acted on must be seen from both sides, which takes twice the time and is rare.
        """
        if not is_readable(older, newer):
            return None
        network = self._open()
        found = network.probabilities(older, newer)
        fitted = network.heads.fitted
        classes = fitted.tasks["relation"]
        conflict, same = (
            float(found["relation"][classes.index(one)]) for one in (PairRelation.CONFLICT, PairRelation.SAME)
        )
        if conflict >= WORTH_A_SECOND_LOOK or same >= fitted.thresholds["same"]:
            back = network.probabilities(newer, older)["relation"]
            conflict = min(conflict, float(back[classes.index(PairRelation.CONFLICT)]))
            same = min(same, float(back[classes.index(PairRelation.SAME)]))
        return PairJudgment(
            by=self.name,
            relation=PairRelation(_likeliest(found, fitted.tasks, "relation")),
            conflict=conflict,
            same=same,
            is_conflict=conflict >= fitted.thresholds["conflict"],
            is_same=same >= fitted.thresholds["same"],
            is_mutual=True,
            is_harmless=conflict < HARMLESS_BELOW,
        )

    def _open(self) -> ReaderNetwork:
        if self._network is None:
            with self._loading:
                self._network = self._network or ReaderNetwork(
                    self._pack.file(NETWORK_FILE), self._pack.file(HEADS_FILE), threads=self._threads
                )
        return self._network


def _until(seconds: float | None) -> float:
    return math.inf if seconds is None else time.monotonic() + seconds


def _likeliest(found: Mapping[str, Floats], tasks: Mapping[str, list[str]], task: str) -> str:
    return tasks[task][int(found[task].argmax())]
