"""A few dozen of the files that `evals.damage` damages by the thousand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from evals.damage import PAGE, Patient, Tally, examine, run

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.slow
def test_random_damage_is_told_or_harmless(tmp_path: Path) -> None:
    """No error of others, no answer that is wrong without a word, and every readable row is salvaged."""
    tally = run(tmp_path, 36, seed=2000)

    assert tally.files.total() == 36
    assert (tally.foreign, tally.unsaved) == ([], [])
    assert [one for one in tally.silent if "turns" not in one] == []  # flipped bits in a turn have no mark


def test_a_page_of_another_table_hides_no_row(tmp_path: Path) -> None:
    """Rows of another table in the place of memories are none; those that a key still leads to are saved."""
    tally = Tally()
    patient = Patient(tmp_path, "")

    examine(patient, 1085, tally)

    assert tally.files["swap_pages"] == 1
    assert (tally.foreign, tally.silent, tally.unsaved) == ([], [], [])


def test_the_damage_check_notices_a_wrong_answer(tmp_path: Path) -> None:
    """A truth that differs from the file is a silent wrong answer, so a pass means something."""
    patient = Patient(tmp_path, "")
    patient.truth = dict.fromkeys(patient.truth, "something else")
    patient.log = bytes(PAGE)
    tally = Tally()

    for seed in range(8):
        examine(patient, seed, tally)

    assert tally.silent
