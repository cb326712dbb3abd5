"""Batches of vectors are compared in tiles, and a text that was embedded lately is not embedded again."""

from __future__ import annotations

import numpy as np
import pytest

from engramdb.models.calibration import products
from engramdb.models.static import MAX_CACHED_TEXTS, StatementEmbedder, StaticEmbedder


def rows(count: int, dimension: int) -> np.ndarray:
    """Return rows of numbers that are the same in every run."""
    return np.random.default_rng(count).standard_normal((count, dimension)).astype(np.float32)


@pytest.mark.parametrize(
    ("many", "others", "dimension"),
    [(1, 70, 256), (2, 1, 256), (17, 65, 256), (256, 256, 256), (40, 130, 384), (3, 5, 9000), (0, 4, 8)],
)
def test_tiles_make_the_same_products_as_the_whole(many: int, others: int, dimension: int) -> None:
    """Whatever the number of rows is a multiple of, no product is left out and none is at another place."""
    first, second = rows(many, dimension), rows(others, dimension)

    found = products(first, second)

    assert found.shape == (many, others)
    assert np.allclose(found, first @ second.T, rtol=1e-4, atol=1e-3)


def test_a_row_is_the_same_whoever_asks_for_it_again() -> None:
    """What is kept at hand equals what another embedder makes, bit for bit, after any number of texts."""
    texts = [f"Maya keeps {number} notes about chess" for number in range(MAX_CACHED_TEXTS + 40)]
    embedder = StaticEmbedder()

    at_once = embedder.embed_documents(texts)
    mixed = embedder.embed_documents([texts[3], texts[-1], "something else", texts[3]])

    afresh = StaticEmbedder().embed_documents([texts[3], texts[-1], "something else", texts[3]])
    assert np.array_equal(mixed, afresh)
    assert np.array_equal(at_once[[3, -1]], afresh[:2])


def test_changing_an_answer_does_not_change_the_next_one() -> None:
    """A caller may do with its rows what it likes."""
    embedder = StaticEmbedder()
    expected = StaticEmbedder().embed_documents(["Maya plays chess"])

    embedder.embed_documents(["Maya plays chess"])[:] = 0

    assert np.array_equal(embedder.embed_documents(["Maya plays chess"]), expected)


def test_statements_are_compared_without_the_small_words_each_time() -> None:
    """The direction of the small words is worked out once, and taken off every time."""
    embedder = StatementEmbedder(StaticEmbedder())

    once, again = (embedder.embed_documents(["the cat is on the mat"]) for _ in range(2))

    assert np.array_equal(once, again)
    assert not np.allclose(once, StaticEmbedder().embed_documents(["the cat is on the mat"]))
