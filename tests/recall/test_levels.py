"""How much of the machinery took part shows in every answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from engramdb import Draft, Engram, Settings
from engramdb.errors import EmbedderUnavailable
from engramdb.models.embedder import AbsentEmbedder
from engramdb.values import Level

if TYPE_CHECKING:
    from pathlib import Path

MANY = 5000  # more than are kept in memory whatever the budget


@pytest.mark.parametrize(("megabytes", "level"), [(128, Level.FULL), (0, Level.DISK_VECTORS)])
def test_vectors_that_do_not_fit_into_memory_are_read_from_the_file(
    store_path: Path, megabytes: int, level: Level
) -> None:
    """The answer is the same, and says that it took the longer way."""
    settings = Settings(embedder="static", policy="notebook", vector_memory_megabytes=megabytes)
    with Engram.open(store_path, settings=settings, background=False) as engram:
        engram.remember_many(Draft(content=f"note {number}") for number in range(MANY))
        engram.remember("I like green tea")

        answer = engram.recall("green tea")

    assert answer.hits[0].memory.content == "I like green tea"
    assert answer.quality.level is level
    assert not answer.quality.is_degraded


def test_without_an_embedder_words_alone_answer(store_path: Path) -> None:
    """The level says so, and the reason is given."""
    absent = AbsentEmbedder(EmbedderUnavailable("gone fishing"))
    with Engram.open(store_path, embedder=absent, background=False) as engram:
        engram.remember("I like green tea")

        answer = engram.recall("green tea")

    assert answer.quality.level is Level.TEXT_ONLY
    assert "gone fishing" in answer.quality.missing[0].reason
