"""The different numbers of an array are found as NumPy finds them, without what NumPy loads for it."""

from __future__ import annotations

import numpy as np
import pytest

from engramdb.index.backend import first_occurrences


@pytest.mark.parametrize("numbers", [[], [7], [3, 3, 3], [5, -1, 5, 2, -1, 9], list(range(20, 0, -1))])
def test_every_number_stands_once_with_its_first_place(numbers: list[int]) -> None:
    """Ascending, with the place of the first of equals: what `np.unique` gives."""
    given = np.array(numbers, np.int64)

    values, places = first_occurrences(given)

    wanted, first = np.unique(given, return_index=True)
    assert values.tolist() == wanted.tolist()
    assert places.tolist() == first.tolist()
