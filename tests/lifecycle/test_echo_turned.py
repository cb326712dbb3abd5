"""An echo is dropped, so nothing that says something else may be taken for one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from engramdb import Engram, Settings, Source

if TYPE_CHECKING:
    from pathlib import Path

    from engramdb.testing import ManualClock


def is_news(engram: Engram, known: str, said: str) -> bool:
    """Say whether an agent's words, right after it was given a memory, were kept as a memory of their own."""
    given = engram.remember(known)
    engram.recall(known)
    return engram.remember(said, source=Source.ASSISTANT).id != given.id


@pytest.fixture
def engram(store_path: Path, clock: ManualClock) -> Engram:
    """An engine that knows nothing."""
    return Engram.open(store_path, settings=Settings(embedder="static"), clock=clock, background=False)


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ("The limit is 10 requests per second", "The limit is 1"),
        ("The timeout is 10.5 seconds for the cache", "The timeout is 10"),
        ("The API does not use JWT tokens", "Use JWT tokens"),
        ("If the tests pass, the release goes out on Friday", "The release goes out on Friday"),
        ("It is wrong that the door is open at night", "The door is open at night"),
        ("The editor of choice is vi", "The editor of choice is vim"),
        ("The shop deploys at noon", "If the shop deploys at noon"),
    ],
)
def test_a_piece_that_says_something_else_is_news(engram: Engram, known: str, said: str) -> None:
    """A piece of a number, of a denial or of a condition is not what was given."""
    with engram:
        assert is_news(engram, known, said)


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ("Bo owns a red car in Rome", "Bo owns a red car"),
        ("The limit is 10 requests per second", "The limit is 10"),
        ("The limit is 10 requests per second", "As you told me before, the limit is 10 requests per second"),
        ("東京に住んでいて猫を飼っています", "東京に住んで"),
    ],
)
def test_a_piece_that_says_the_same_is_an_echo(engram: Engram, known: str, said: str) -> None:
    """Less than was given, or the same led in: nobody learns anything from it."""
    with engram:
        assert not is_news(engram, known, said)
