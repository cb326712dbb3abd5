"""The one table that turns errors into exit codes and HTTP statuses."""

from __future__ import annotations

import pytest

from engramdb.errors import EngramError, StoreBusy
from engramdb.verbs.errors import ANSWERS, EXIT_CODES, answer_for


def family(kind: type[EngramError]) -> list[type[EngramError]]:
    """Return a class and every class below it that Engram itself defines."""
    below = [one for child in kind.__subclasses__() for one in family(child)]
    return [kind, *(one for one in below if one.__module__.startswith("engramdb."))]


def test_no_error_is_missing_from_the_table() -> None:
    """Whoever adds an error decides at once what the shell and HTTP say of it."""
    assert set(family(EngramError)) == set(ANSWERS)


@pytest.mark.parametrize("kind", ANSWERS, ids=lambda kind: kind.__name__)
def test_every_answer_is_a_failure_that_is_explained(kind: type[EngramError]) -> None:
    """No error looks like success, and every exit code has a meaning in the reference."""
    answer = answer_for(kind("x"))

    assert answer.exit_code in EXIT_CODES
    assert answer.exit_code != 0
    assert 400 <= answer.http_status <= 599


def test_an_unknown_error_is_answered_as_its_parent_is() -> None:
    """A subclass that a user made still gets a sensible answer."""

    class StoreVeryBusy(StoreBusy):
        pass

    assert answer_for(StoreVeryBusy("x")) == ANSWERS[StoreBusy]


def test_codes_are_unique() -> None:
    """A code names one error."""
    codes = [kind.code for kind in ANSWERS]

    assert len(codes) == len(set(codes))
