"""Fuse, rerank and thin out ranked candidates."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Protocol, TypeVar

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from engramdb.errors import ModelUnavailable
from engramdb.health import RERANKER
from engramdb.models.calibration import Calibration
from engramdb.models.guard import ForeignGuard, Unusable
from engramdb.store.contract import ScoredKey, Transaction
from engramdb.text.normalize import fingerprint, normalize_text
from engramdb.values import EmbedderIdentity, Layer, Memory, Reason

SUPPRESS_ABOVE = 0.7
"""A question this much like one for which a memory was of no help does not find it again."""
SUPPRESS_DAYS = 90.0
"""For how long feedback suppresses a memory."""

# Merge the scored answers of several indexes, and what other signals add, into one order.
#
# Every score it is given means the same in any store: 0 for unrelated, 1 for a perfect match. So scores are
# mixed by weight as they are, and a memory's score does not depend on which others were found. Measured
# against stretching each list to its own best and worst, and against fusing by rank:
# docs/lab/0003-fusion.md.


class Fused(Struct, frozen=True):
    """A memory's key and its mixed score in [0, 1]."""

    key: int
    score: float


class RankingSignal(Struct, frozen=True, kw_only=True):
    """What one signal adds to memories that the indexes found, or finds beside them."""

    name: str
    gained: Mapping[int, float] = field(default_factory=dict)
    """The contribution to each memory's score."""


def fuse(answers: Mapping[str, Sequence[ScoredKey]], weights: Mapping[str, float]) -> list[Fused]:
    """
    Return one list, best first, from lists that are each best first.

    Weights of indexes that did not answer go to those that did, so the best possible score stays 1.
    Equal scores keep the order of the keys, newest first.
    """
    scores: defaultdict[int, float] = defaultdict(float)
    for name, found in answers.items():
        share = share_of(name, answers, weights)
        for one in found:
            scores[one.key] += share * one.score
    return in_order(scores)


def with_signals(fused: Sequence[Fused], signals: Sequence[RankingSignal], *, unfound: float) -> list[Fused]:
    """
    Return the list with what the signals add; `unfound` is what a memory has that no index listed.

    Scores may pass 1 here, so that the best keep their order; they are cut when shown.
    """
    scores = {one.key: one.score for one in fused}
    for signal in signals:
        for key, gained in signal.gained.items():
            scores[key] = scores.get(key, unfound) + gained
    return in_order(scores)


def in_order(scores: Mapping[int, float]) -> list[Fused]:
    """Return scores as a list, best first, the newest of equals first."""
    best_first = sorted(((score, key) for key, score in scores.items()), reverse=True)
    return [Fused(key, score) for score, key in best_first]


def explain(
    keys: Sequence[int],
    answers: Mapping[str, Sequence[ScoredKey]],
    weights: Mapping[str, float],
    signals: Sequence[RankingSignal] = (),
) -> dict[int, tuple[Reason, ...]]:
    """Return what each index and each signal gave to each of these memories."""
    reasons: dict[int, list[Reason]] = {key: [] for key in keys}
    for name, found in answers.items():
        share = share_of(name, answers, weights)
        for rank, one in enumerate(found, start=1):
            if one.key in reasons:
                reason = Reason(index=name, rank=rank, score=one.score, contribution=share * one.score)
                reasons[one.key].append(reason)
    for signal in signals:
        for rank, given in enumerate(in_order(signal.gained), start=1):
            if given.key in reasons:
                score = min(1.0, given.score)
                reason = Reason(index=signal.name, rank=rank, score=score, contribution=given.score)
                reasons[given.key].append(reason)
    return {key: tuple(why) for key, why in reasons.items()}


def share_of(name: str, answers: Mapping[str, object], weights: Mapping[str, float]) -> float:
    """Return an index's weight among those that answered."""
    total = sum(weights[each] for each in answers)
    return weights[name] / total if total else 1 / len(answers)


# Put candidates in another order: by rank, by being unlike one another, or by a model that reads both
# texts.
#
# The eval keeps `score`, which leaves the order as it is (docs/lab/0018-recall.md). Every strategy returns
# what it was given, none is lost. Scores come out in [0, 1], and single or equal ones as 1.

MMR_POOL = 50
"""How many of the best are weighed against one another; the rest follow in their order."""


class ScoresTexts(Protocol):
    """A model that reads a question and a text together and says how well they fit, larger being better."""

    def score(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        """Return one score per text, in [0, 1]."""
        ...


class Reranker(ScoresTexts, Protocol):
    """A reranker of the caller's own."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...


RERANK_SECONDS = 5.0
"""How long a reranker may read; a cross-encoder takes 10 to 50 ms a text on a CPU."""


class GuardedReranker:
    """A reranker of the caller's own behind the guard: a finite score per text, in time."""

    def __init__(self, model: Reranker, guard: ForeignGuard) -> None:
        self._model = model
        self._guard = guard

    def score(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        """Return one score per text; raises `ModelUnavailable` when it cannot."""
        given = list(texts)
        return self._guard.call(
            RERANKER,
            lambda: self._model.score(question, given),
            failure=ModelUnavailable,
            check=lambda scores: _checked_scores(scores, len(texts)),
            timeout_seconds=RERANK_SECONDS,
            texts=(question, *texts),
        )


def _checked_scores(scores: Sequence[float], count: int) -> Sequence[float]:
    try:
        found = [float(one) for one in itertools.islice(scores, count + 1)]
    except (TypeError, ValueError, OverflowError) as exc:
        raise Unusable("returned no numbers") from exc
    if len(found) != count:
        raise Unusable(f"returned {'more' if len(found) > count else len(found)} scores for {count} texts")
    if not all(map(math.isfinite, found)):
        raise Unusable("returned a score that is no number")
    return found


def by_rank(
    ranked: Sequence[Fused],
    answers: Mapping[str, Sequence[ScoredKey]],
    weights: Mapping[str, float],
    signals: Sequence[RankingSignal],
    *,
    constant: int,
    heirs: Mapping[int, int],
) -> list[Fused]:
    """
    Return the candidates in the order of weighted rank fusion of the indexes' lists, and of the signals.

    Where an index found what is gone, its heir has that rank. First on every list is worth 1, and a signal
    adds what it adds to any score. The scores stay those of the candidates: a rank says what fits better, not
    how well.
    """
    scores = dict.fromkeys((one.key for one in ranked), 0.0)
    for name, found in answers.items():
        share = share_of(name, answers, weights)
        ranks: dict[int, int] = {}
        for rank, one in enumerate(found, start=1):
            ranks.setdefault(heirs.get(one.key, one.key), rank)
        for key, rank in ranks.items():
            if key in scores:
                scores[key] += share * (constant + 1) / (constant + rank)
    for signal in signals:
        for key in signal.gained.keys() & scores.keys():
            scores[key] += signal.gained[key]
    return sorted(ranked, key=lambda one: (-scores[one.key], -one.key))


def by_difference(
    ranked: Sequence[Fused],
    vectors: Mapping[int, NDArray[np.float32]],
    *,
    relevance: float,
    floor: float,
) -> list[Fused]:
    """
    Return the candidates so that each is good and unlike those before it (MMR).

    `floor` is the cosine of unrelated texts. One without a vector counts as unlike all others. The scores
    stay those of the candidates.
    """
    pool, rest = list(ranked[:MMR_POOL]), list(ranked[MMR_POOL:])
    if not pool:
        return []
    scores = np.array([one.score for one in pool])
    rows = _rows(pool, vectors)
    alike = np.maximum((rows @ rows.T - floor) / (1 - floor), 0)
    nearest = np.zeros(len(pool))
    is_left = np.ones(len(pool), np.bool_)
    chosen: list[Fused] = []
    while is_left.any():
        worth = np.where(is_left, relevance * scores - (1 - relevance) * nearest, -np.inf)
        best = int(np.argmax(worth))
        is_left[best] = False
        nearest = np.maximum(nearest, alike[best])
        chosen.append(pool[best])
    return chosen + rest


SIBLING_PLACES = 5
"""So many others a memory lets pass whose message has spoken already (docs/lab/0056-answers.md),"""
SIBLING_SHARE = 0.7
"""as far as they have so much of its own score."""


class Scored(Protocol):
    """A candidate or a hit, with what puts it in order."""

    @property
    def score(self) -> float: ...


Ordered = TypeVar("Ordered", bound=Scored)


def behind_siblings(
    ranked: Sequence[Ordered], turn_of: Callable[[Ordered], Hashable | None]
) -> list[Ordered]:
    """
    Return the candidates so that one message does not take many places.

    The sentences of a message are alike, and who has read one of them has the message. Only what fits about
    as well goes before a further one.
    """
    heard: set[Hashable] = set()
    order: list[Ordered] = []
    waiting: list[tuple[Ordered, int]] = []
    for one in ranked:
        still: list[tuple[Ordered, int]] = []
        for sibling, places in waiting:
            if places and one.score >= SIBLING_SHARE * sibling.score:
                still.append((sibling, places - 1))
            else:
                order.append(sibling)
        waiting = still
        turn = turn_of(one)
        if turn in heard:
            waiting.append((one, SIBLING_PLACES))
        else:
            order.append(one)
        if turn is not None:
            heard.add(turn)
    return order + [sibling for sibling, _ in waiting]


def by_model(
    ranked: Sequence[Fused], question: str, texts: Mapping[int, str], model: ScoresTexts
) -> list[Fused]:
    """Return the candidates whose text is known as the model orders them, the others behind."""
    known = [one for one in ranked if one.key in texts]
    scores = model.score(question, [texts[one.key] for one in known])
    ordered = in_order(dict(zip([one.key for one in known], scores, strict=True)))
    return ordered + [one for one in ranked if one.key not in texts]


def _rows(pool: Sequence[Fused], vectors: Mapping[int, NDArray[np.float32]]) -> NDArray[np.float32]:
    width = len(next(iter(vectors.values()))) if vectors else 1
    nothing = np.zeros(width, np.float32)
    return np.stack([vectors.get(one.key, nothing) for one in pool])


# Leave out of an answer what another hit says better: the episode that a fact was made of, the same words

One = TypeVar("One")

STANDS_NEAR = 5
"""What stands for a hit and lies further behind it fits the question less, and does not take its place."""

_REPEATING = "dream.patterns"
"""The step of the dream that says once what was said often."""
_LASTING = {Layer.SEMANTIC: 0, Layer.PROCEDURAL: 0, Layer.CODEBASE: 1, Layer.EPISODIC: 2, Layer.WORKING: 3}


def collapse(hits: Sequence[One], memory_of: Callable[[One], Memory]) -> list[One]:
    """Return the hits without those that another of them stands for, in the same order."""
    memories = [memory_of(hit) for hit in hits]
    told: dict[str, int] = {}
    for place, one in enumerate(memories):
        for episode in one.provenance.episodes if _stands_for_sources(one) else ():
            told.setdefault(episode, place)
    said = [_words(memory) for memory in memories]
    best: dict[tuple[str, str], Memory] = {}
    for memory, words in zip(memories, said, strict=True):
        known = best.get(words)
        if known is None or _LASTING[memory.layer] < _LASTING[known.layer]:
            best[words] = memory
    return [
        hit
        for place, (hit, memory, words) in enumerate(zip(hits, memories, said, strict=True))
        if told.get(memory.id, len(hits) + STANDS_NEAR) > place + STANDS_NEAR and best[words].id == memory.id
    ]


def _stands_for_sources(memory: Memory) -> bool:
    """Return whether a memory says what its sources say; a profile or a story of them is something else."""
    is_other = memory.is_derived and not (memory.extractor or "").startswith(_REPEATING)
    return memory.layer is Layer.SEMANTIC and not is_other


def _words(memory: Memory) -> tuple[str, str]:
    """Return who said what, in the form in which two ways of writing it are equal."""
    return normalize_text(memory.content), normalize_text(memory.provenance.speaker or "")


# Leave out what was of no help for such a question before; for other questions it stays.


class ComparesQuestions(Protocol):
    """The part of an embedder that says how alike two questions are."""

    @property
    def identity(self) -> EmbedderIdentity: ...
    @property
    def calibration(self) -> Calibration: ...


def unhelpful(
    tx: Transaction,
    keys: Sequence[int],
    question: str,
    vector: NDArray[np.float32] | None,
    *,
    embedder: ComparesQuestions,
    now: datetime,
) -> set[int]:
    """Return which of these memories were of no help for this question or one much like it."""
    since = now - timedelta(days=SUPPRESS_DAYS)
    asked = fingerprint(question)
    found = set()
    for one in tx.feedback.objections(keys, since=since):
        is_alike = one.question == asked
        if not is_alike and vector is not None and one.vector is not None:
            is_alike = one.space == tx.vectors.space(embedder.identity) and (
                embedder.calibration.similarity(float(np.dot(vector, one.vector))) > SUPPRESS_ABOVE
            )
        if is_alike:
            found.add(one.key)
    return found
