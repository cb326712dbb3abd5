"""Which backend a store gets, and that each of them proposes what an exact look would find."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engramdb.index.backend import (
    EXACT_ROWS,
    METRICS,
    MIN_SHORTLIST,
    PICKED_SHARE,
    BackendChoice,
    SignCodes,
    VectorRows,
    build_codes,
    choose_backend,
    shortlist_size,
)
from engramdb.store.sqlite.precision import quantize

from .made import DIMENSION, FAMILY, families

if TYPE_CHECKING:
    from engramdb.index.backend import VectorBackend

ROW_BYTES = 384 + 4
IN_MEMORY, ON_DISK = 10**9, 0


@pytest.mark.parametrize(
    ("count", "memory_bytes", "selectivity", "choice"),
    [
        (0, ON_DISK, 1.0, BackendChoice("exact", keeps_vectors=True)),
        (EXACT_ROWS, ON_DISK, 1.0, BackendChoice("exact", keeps_vectors=True)),
        (EXACT_ROWS + 1, IN_MEMORY, 1.0, BackendChoice("compressed", keeps_vectors=True)),
        (EXACT_ROWS + 1, ON_DISK, 1.0, BackendChoice("compressed", keeps_vectors=False)),
        (100_000, 100_000 * ROW_BYTES, 1.0, BackendChoice("compressed", keeps_vectors=True)),
        (100_000, 100_000 * ROW_BYTES - 1, 1.0, BackendChoice("compressed", keeps_vectors=False)),
        (100_000, IN_MEMORY, EXACT_ROWS / 100_000, BackendChoice("exact", keeps_vectors=True)),
        (100_000, IN_MEMORY, (EXACT_ROWS + 1) / 100_000, BackendChoice("compressed", keeps_vectors=True)),
        (100_000, ON_DISK, EXACT_ROWS / 100_000, BackendChoice("exact", keeps_vectors=False)),
        (100_000, ON_DISK, (EXACT_ROWS + 1) / 100_000, BackendChoice("compressed", keeps_vectors=False)),
        (100_000, ON_DISK, 0.0, BackendChoice("exact", keeps_vectors=False)),
    ],
)
def test_size_memory_and_filter_choose_the_backend(
    count: int, memory_bytes: int, selectivity: float, choice: BackendChoice
) -> None:
    """Few rows are all looked at; of many, vectors stay in memory while they fit to the byte."""
    assert choose_backend(count, 384, memory_bytes, selectivity) == choice


@pytest.mark.parametrize("metric", [metric for metric in METRICS if metric != "cosine"])
def test_a_metric_that_looks_at_more_than_directions_is_never_compressed(metric: str) -> None:
    """Sign bits cannot rank by length, so such a space is scanned exactly, and kept in memory for that."""
    assert choose_backend(10**6, 384, ON_DISK, metric=metric) == BackendChoice("exact", keeps_vectors=True)


@pytest.mark.parametrize("from_memory", [True, False])
def test_more_results_take_a_longer_shortlist(*, from_memory: bool) -> None:
    """The shortlist grows with what is asked for, and never falls below the measured least."""
    sizes = [shortlist_size(limit, from_memory=from_memory) for limit in (1, 100, 1000)]

    assert sizes[0] == MIN_SHORTLIST
    assert sizes == sorted(set(sizes))


def backends(count: int) -> list[VectorBackend]:
    """Both built-in backends with the same rows."""
    rows, vectors = np.arange(count * FAMILY), quantize(families(count))
    resident = VectorRows(DIMENSION)
    resident.put(rows, vectors)
    return [resident, build_codes(resident.read, np.ones(len(rows), np.bool_))]


@pytest.mark.parametrize("backend", backends(600), ids=["exact", "compressed"])
@pytest.mark.parametrize("share", [1.0, 0.5, PICKED_SHARE, 0.9 * PICKED_SHARE, 0.01])
def test_a_shortlist_holds_the_near_rows_that_are_allowed_and_no_others(
    backend: VectorBackend, share: float
) -> None:
    """At every width of the filter, where the scan changes its way too."""
    vectors = families(600)
    allowed = np.random.default_rng(5).random(len(vectors)) < share

    for asked in range(0, len(vectors), 500):
        rows = backend.shortlist(vectors[asked], allowed, 100)
        family = np.arange(asked - asked % FAMILY, asked - asked % FAMILY + FAMILY)

        assert allowed[rows].all()
        assert len(rows) >= min(100, int(np.count_nonzero(allowed)))
        assert set(family[allowed[family]]) <= set(rows.tolist())


def test_nothing_allowed_means_nothing_proposed() -> None:
    """A filter that lets nothing through gives an empty shortlist, not an error."""
    for backend in backends(2):
        assert len(backend.shortlist(families(1)[0], np.zeros(20, np.bool_), 5)) == 0


@given(count=st.integers(1, 30), dimension=st.integers(1, 130), seed=st.integers(0, 99))
def test_a_restored_backend_proposes_the_same(count: int, dimension: int, seed: int) -> None:
    """Taking a snapshot and restoring it changes no answer, whatever the size and the dimension."""
    vectors = families(count, seed=seed, dimension=dimension)
    resident = VectorRows(dimension)
    resident.put(np.arange(len(vectors)), quantize(vectors))
    codes = build_codes(resident.read, np.ones(len(vectors), np.bool_))
    allowed = np.random.default_rng(seed).random(len(vectors)) < 0.7

    again, codes_again = VectorRows.restore(resident.snapshot()), SignCodes.restore(codes.snapshot())

    rows = np.arange(len(vectors))
    np.testing.assert_array_equal(again.scores(rows, vectors[0]), resident.scores(rows, vectors[0]))
    np.testing.assert_array_equal(
        codes_again.shortlist(vectors[0], allowed, 5), codes.shortlist(vectors[0], allowed, 5)
    )


def test_a_restored_backend_takes_in_more() -> None:
    """After a restore, rows can be changed and added as before."""
    vectors = families(40)
    _, codes = backends(20)

    again = SignCodes.restore(codes.snapshot())
    for one in (codes, again):
        one.put(np.arange(100, 400), quantize(vectors[100:400]))

    allowed = np.ones(400, np.bool_)
    for query in vectors[::40]:
        np.testing.assert_array_equal(again.shortlist(query, allowed, 9), codes.shortlist(query, allowed, 9))
