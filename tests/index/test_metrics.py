"""The four metrics agree with their textbook formulas, and larger is nearer under each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engramdb.index.backend import METRICS, similarities
from engramdb.index.vector import VectorIndex
from engramdb.store.sqlite.precision import quantize
from engramdb.values import GLOBAL, EmbedderIdentity, Filters

from .made import DIMENSION, families, fill, open_store

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray


def by_the_book(metric: str, row: NDArray[np.float64], query: NDArray[np.float64]) -> float:
    """How near a row is to a query, by the formula, on the scale of the cosine."""
    if metric == "cosine":
        return float(row @ query / np.linalg.norm(row) / np.linalg.norm(query))
    if metric == "dot":
        return float(row @ query)
    if metric == "euclidean":
        return float(1 - np.linalg.norm(row - query) ** 2 / 2)
    differing = np.count_nonzero((row > 0) != (query > 0))
    return float(1 - 2 * differing / len(row))


@given(metric=st.sampled_from(METRICS), seed=st.integers(0, 10_000), length=st.floats(0.1, 20))
def test_scores_are_those_of_the_formula(metric: str, seed: int, length: float) -> None:
    """For vectors of any length, and for many questions at once."""
    rng = np.random.default_rng(seed)
    kept = quantize((rng.normal(size=(30, 24)) * length).astype(np.float32))
    queries = rng.normal(size=(3, 24)).astype(np.float32)

    scores = similarities(metric, kept, queries)

    rows = kept.numbers.astype(np.float64) * kept.scales[:, None]
    expected = [[by_the_book(metric, row, query) for row in rows] for query in queries.astype(np.float64)]
    np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=1e-4 * length**2)


@pytest.mark.parametrize("metric", ["cosine", "dot", "euclidean"])
def test_on_vectors_of_length_one_three_metrics_say_the_same(metric: str) -> None:
    """So an embedder's floor and calibration hold whichever of them its space uses."""
    rng = np.random.default_rng(1)
    raw = rng.normal(size=(50, 32)).astype(np.float32)
    rows = raw / np.linalg.norm(raw, axis=1, keepdims=True)

    scores = similarities(metric, quantize(rows[1:]), rows[:1])

    np.testing.assert_allclose(scores[0], rows[1:] @ rows[0], atol=0.02)


@pytest.mark.parametrize("metric", METRICS)
def test_a_space_is_searched_by_its_own_metric(metric: Any, tmp_path: Path) -> None:
    """Among thousands of vectors of very different lengths, the truly nearest come first."""
    rng = np.random.default_rng(2)
    vectors = (families(600) * rng.uniform(0.2, 5, size=(6_000, 1))).astype(np.float32)
    identity = EmbedderIdentity(name="long", dimension=DIMENSION, revision="1", metric=metric)
    store = open_store(tmp_path / "memory.db")
    fill(store, vectors, identity=identity)
    kept = quantize(vectors)
    rows = kept.numbers.astype(np.float64) * kept.scales[:, None]
    index = VectorIndex(identity, memory_bytes=0)

    for row in (7, 2_000, 5_999):
        query = rows[row].astype(np.float32)
        with store.read() as tx:
            found = index.search(tx, query, scope=GLOBAL, filters=Filters(), limit=10).found
        truth = np.array([by_the_book(metric, one, rows[row]) for one in rows])

        best = np.sort(truth)[::-1][:10]
        np.testing.assert_allclose([one.score for one in found], best, rtol=1e-3, atol=1e-3)
    assert index.state().backend == ("compressed" if metric == "cosine" else "exact")
    store.close()
