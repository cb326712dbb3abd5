"""What a memory denies and replaces is stored with it, and compared as it was stored."""

from __future__ import annotations

from pathlib import Path

import pytest

from engramdb import Engram
from engramdb.lifecycle.drafts import Draft
from engramdb.lifecycle.pair_rules import conflict, understood
from engramdb.testing import ManualClock, TinyEmbedder
from engramdb.values import Memory, Status


def test_negation_and_replaced_object_are_stored(store_path: Path, clock: ManualClock) -> None:
    """They are there after the file was closed and opened again."""
    with Engram.open(store_path, clock=clock, embedder=TinyEmbedder(), background=False) as engram:
        ids = [
            engram.remember(one).id
            for one in ("I switched from vim to Helix", "I don't drink coffee", "The API uses JWT tokens")
        ]

    with Engram.open(store_path, clock=clock, embedder=TinyEmbedder(), background=False) as engram:
        found = [engram.get(one) for one in ids]

    assert [(one.is_negated, one.replaces) for one in found] == [(False, "vim"), (True, None), (False, None)]


def test_what_an_extractor_has_understood_counts_and_not_the_words(engram: Engram) -> None:
    """A denial that no word list knows contradicts what it denies."""
    (known,) = engram._parts.writer.admit(
        [Draft(content="Ann eats fish", subject="Ann", predicate="eats", object="fish")]
    )
    denial = Draft(
        content="Ann lets fish be", subject="Ann", predicate="eats", object="fish", is_negated=True
    )
    (new,) = engram._parts.writer.admit([denial])

    assert (new.is_negated, engram.get(known.id).status) == (True, Status.SUPERSEDED)
    assert conflict(engram.get(known.id), new) == "denied"


def test_a_dream_compares_what_was_stored(engram: Engram) -> None:
    """Two memories contradict each other as they were understood when they came in."""
    drafts = [
        Draft(content="Ann eats fish", subject="Ann", predicate="eats", object="fish"),
        Draft(content="Ann lets fish be", subject="Ann", predicate="eats", object="fish", is_negated=True),
    ]
    one, other = (engram._parts.writer.admit([draft])[0] for draft in drafts)

    assert conflict(understood(other), understood(one)) == "denied"


@pytest.mark.parametrize(
    ("content", "is_negated", "replaces"),
    [
        ("I switched from vim to Helix", False, "vim"),
        ("I never eat fish", True, None),
        ("not that again", True, None),
    ],
)
def test_rows_of_an_older_version_are_read_from_their_words(
    clock: ManualClock, content: str, is_negated: bool, replaces: str | None
) -> None:
    """Their columns are empty."""
    old = Memory(id="m1", content=content, created_at=clock.now(), updated_at=clock.now())

    read = understood(old)

    assert (read.is_negated, read.replaces) == (is_negated, replaces)


def test_erasing_takes_the_replaced_object_too(engram: Engram) -> None:
    """It is a word of the memory."""
    memory = engram.remember("I switched from vim to Helix")

    engram.erase(memory.id)

    gone = engram.get(memory.id)
    assert (gone.status, gone.content, gone.replaces) == (Status.ERASED, "", None)
