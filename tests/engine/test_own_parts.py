"""Parts that a user brings along: a reranker and a vector index of their own."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from engramdb import Engram
from engramdb.testing import TinyEmbedder
from engramdb.values import Action

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from engramdb.store.contract import QuantizedVectors
    from engramdb.testing import ManualClock


class Shortest:
    """A reranker that likes few words."""

    name = "shortest"

    def score(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        """Score by length."""
        del question
        return [1 / len(text) for text in texts]


class Broken:
    """A reranker that cannot."""

    name = "broken"

    def score(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        """Fail."""
        return [len(question) / 0 for _ in texts]


class Whole:
    """An index that proposes everything it was given, and notes how it was asked."""

    def __init__(self) -> None:
        self.rows: set[int] = set()
        self.kinds: set[Any] = set()

    def put(self, rows: NDArray[np.intp], vectors: QuantizedVectors) -> None:
        """Keep the row numbers."""
        self.rows |= set(rows.tolist())
        self.kinds.add(vectors.numbers.dtype)

    def shortlist(self, query: QuantizedVectors, count: int) -> NDArray[np.intp]:
        """Propose every row."""
        del count
        self.kinds.add(query.numbers.dtype)
        return np.array(sorted(self.rows), dtype=np.intp)


def test_a_reranker_of_the_users_own_orders_the_answer(store_path: Path, clock: ManualClock) -> None:
    """It is asked by the strategy that is named after such models, and by no other."""
    with Engram.open(
        store_path, clock=clock, embedder=TinyEmbedder(), reranker=Shortest(), background=False
    ) as engram:
        engram.remember("Green tea is what I drink in the long hours of the morning")
        engram.remember("Green tea, please")

        answer = engram.recall("green tea", strategy="cross_encoder")

    assert answer.hits[0].memory.content == "Green tea, please"
    assert not answer.quality.missing


def test_a_reranker_that_fails_is_named_and_the_order_of_scores_stays(
    store_path: Path, clock: ManualClock
) -> None:
    """A stranger's mistake must not cost the answer."""
    with Engram.open(
        store_path, clock=clock, embedder=TinyEmbedder(), reranker=Broken(), background=False
    ) as engram:
        engram.remember("Green tea, please")

        answer = engram.recall("green tea", strategy="cross_encoder")

    assert [hit.memory.content for hit in answer.hits] == ["Green tea, please"]
    assert [(missing.index, missing.reason) for missing in answer.quality.missing] == [
        (
            "reranker",
            "E3007 the reranker failed: ZeroDivisionError at test_own_parts.py:42; "
            "the order of scores was kept",
        )
    ]


def test_an_index_of_the_users_own_sees_eight_bits_and_is_audited(
    store_path: Path, clock: ManualClock
) -> None:
    """It proposes rows, the answer is checked against the store, and the audit trail counts the exchange."""
    index = Whole()
    with Engram.open(
        store_path, clock=clock, embedder=TinyEmbedder(), vector_index=index, background=False
    ) as engram:
        engram.remember("The API uses JWT tokens")
        engram.remember("Lunch is at noon")

        answer = engram.recall("which tokens does the API use?")
        latest = time.monotonic() + 30
        while not (is_audited := _is_audited(engram)) and time.monotonic() < latest:
            time.sleep(0.01)  # the index writes of itself, from its own thread

    assert answer.hits[0].memory.content == "The API uses JWT tokens"
    assert index.kinds == {np.dtype(np.int8)}
    assert is_audited


def _is_audited(engram: Engram) -> bool:
    return Action.FOREIGN_INDEX in {event.action for event in engram.audit(limit=50)}
