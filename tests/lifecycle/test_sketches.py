"""A sketch recognizes a statement and holds no word of it."""

from __future__ import annotations

import pytest

from engramdb.engine.assemble import statement_likeness
from engramdb.lifecycle.sketches import CODE_BITS, SketchKey, compare, pack, unpack, unpack_vector
from engramdb.models.calibration import Likeness

FACT = "I take sertraline, 50 mg, for the panic attacks."
KEY = SketchKey(b"k" * 32, 1)


@pytest.fixture(scope="module")
def likeness() -> Likeness:
    """The built-in embedder of statements."""
    return statement_likeness()


def resemblance(old: str, new: str, likeness: Likeness, *, own: tuple[str, ...] = ()) -> tuple[float, bool]:
    """Return how far a new wording resembles an old one, and whether both name different things."""
    (gone,), (come,) = (KEY.sketch([text], likeness, own=own) for text in (old, new))
    found = compare(come, gone, float(unpack_vector(come.vector) @ unpack_vector(gone.vector)))
    return found.score, found.is_apart


def test_a_sketch_survives_being_stored(likeness: Likeness) -> None:
    """What is read back is what was written."""
    sketches = tuple(KEY.sketch([FACT, "another one"], likeness, own=("Ann",)))

    assert unpack(pack(sketches)) == sketches


def test_a_sketch_of_another_scope_or_store_has_nothing_in_common(likeness: Likeness) -> None:
    """Who holds the file learns nothing by comparing the sketches of two scopes."""
    others = (SketchKey(b"k" * 32, 2), SketchKey(b"o" * 32, 1))
    (own,) = KEY.sketch([FACT], likeness)

    for key in others:
        (other,) = key.sketch([FACT], likeness)
        assert other.whole != own.whole
        assert other.words != own.words
        assert abs(float(unpack_vector(other.vector) @ unpack_vector(own.vector))) < 0.3


def test_a_code_stands_for_many_words() -> None:
    """A list of words does not lead back to the one that was sketched: each code has a hundred of them."""
    codes = KEY.coded(f"word{number}" for number in range(100_000))

    assert len(codes) == 1 << CODE_BITS


@pytest.mark.parametrize(
    "wording",
    [
        "The user is on 50 mg of sertraline because of panic attacks.",
        "medication: sertraline 50mg, reason: panic attacks",
        "Ann takes sertraline (50 mg) against panic attacks",
    ],
)
def test_another_wording_resembles_it(likeness: Likeness, wording: str) -> None:
    """In the third person, as a note, with the name of whoever spoke."""
    score, is_apart = resemblance(FACT, wording, likeness, own=("Ann",))

    assert score > 1
    assert not is_apart


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("We owe 38,000 for the restaurant", "We owe 12,000 for the restaurant"),
        ("My manager is Bob", "The user's manager is Alice"),
        ("We deploy on Fridays", "We deploy on Mondays"),
        ("My brother is a nurse on the night shift", "My sister is a nurse on the night shift"),
        ("I prefer dark mode", "The user prefers light mode"),
        ("I have a dog", "The user has a cat"),
    ],
)
def test_what_names_something_else_is_another_statement(likeness: Likeness, old: str, new: str) -> None:
    """Another number, name, day or relative, or another word of few."""
    _, is_apart = resemblance(old, new, likeness)

    assert is_apart
