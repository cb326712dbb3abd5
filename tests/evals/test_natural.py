"""Natural statements for stores of any size: the same every time, and hardly two alike."""

from __future__ import annotations

from itertools import islice

from evals.natural import natural_statements

NUMBER = 8_000


def test_statements_are_the_same_for_the_same_seed_and_others_for_another() -> None:
    """So that two measurements are of the same store."""
    first, again, other = (list(islice(natural_statements(seed), NUMBER)) for seed in (7, 7, 8))

    assert first == again
    assert first != other


def test_hardly_a_statement_repeats_another() -> None:
    """Told again they have other names, numbers and endings."""
    told = list(islice(natural_statements(), NUMBER))

    assert len(set(told)) > 0.9 * NUMBER
    assert sum(len(one.split()) for one in told) / NUMBER > 8
