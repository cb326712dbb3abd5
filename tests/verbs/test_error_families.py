"""The families of errors: a class, its parent and its code agree, and the reference tells them all."""

from __future__ import annotations

from pathlib import Path

import pytest

from engramdb import errors
from engramdb.verbs.errors import ANSWERS

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "errors.md"
FAMILIES = {
    "1": errors.StorageError,
    "2": errors.SearchError,
    "3": errors.EmbeddingError,
    "4": errors.SecurityError,
    "5": errors.SystemError_,
    "6": errors.ChatError,
}


@pytest.mark.parametrize("kind", ANSWERS, ids=lambda kind: kind.__name__)
def test_a_code_begins_like_its_family(kind: type[errors.EngramError]) -> None:
    """Whoever knows the first digit knows the class to catch."""
    family = FAMILIES.get(kind.code[1], errors.EngramError)

    assert issubclass(kind, family)


def test_every_error_stands_in_the_section_of_its_family() -> None:
    """A reader finds a code where it belongs, with its exit code and its status."""
    sections = PAGE.read_text(encoding="utf-8").split("\n## E")[1:]
    by_digit = {section[0]: section for section in sections}

    assert set(by_digit) == {"0", *FAMILIES}
    for kind, answer in ANSWERS.items():
        row = next(
            line for line in by_digit[kind.code[1]].splitlines() if line.startswith(f"| {kind.code} |")
        )
        assert row.endswith(f"| {answer.exit_code} | {answer.http_status} |")


def test_every_error_explains_itself_in_the_tree_of_its_module() -> None:
    """The drawing at the top of errors.py names every class."""
    drawing = errors.__doc__ or ""

    assert [kind.__name__ for kind in ANSWERS if kind.__name__ not in drawing] == []
