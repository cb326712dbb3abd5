"""What the text index found a memory by is told truly: its words, or only what it is about."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from engramdb.verbs import wording as signals

if TYPE_CHECKING:
    from engramdb import Engram, Hit

STAGING = "The staging database runs on port 5433"
"""Speaks of deployment, by the list of topics, without a word of it."""


def test_a_hit_without_a_common_word_is_not_found_by_words(engram: Engram) -> None:
    """A memory that only its topic brings says so, in JSON and to a person."""
    engram.remember(STAGING)

    (hit,) = engram.recall("when do we deploy?").hits

    assert "deployment" in hit.memory.traits.topics
    assert _found_by(hit) == ["topic"]
    assert signals.words(hit.reasons) == ["topic"]


def test_one_common_word_is_enough_for_words(engram: Engram) -> None:
    """A memory that holds a word of the question was found by words, whatever its topic gave beside."""
    engram.remember(STAGING)

    (hit,) = engram.recall("where do we deploy the staging database?").hits

    assert "lexical" in _found_by(hit)
    assert "topic" not in _found_by(hit)


@pytest.mark.parametrize("question", ["what did Ann say?", "what was in May 2024?"])
def test_who_said_it_and_its_day_count_as_words(engram: Engram, question: str) -> None:
    """The speaker and the day stand before the content, so a question that names them finds by words."""
    engram.remember(STAGING, speaker="Ann", occurred_at=datetime(2024, 5, 2, tzinfo=UTC))

    (hit,) = engram.recall(question).hits

    assert "lexical" in _found_by(hit)


def _found_by(hit: Hit) -> list[str]:
    return [reason.index for reason in hit.reasons if reason.contribution > 0]
