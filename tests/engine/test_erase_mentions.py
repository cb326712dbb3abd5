"""Erasing one memory: what else holds its words is found, listed, and erased where that is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from engramdb import Engram, Scope
from engramdb.errors import InvalidQuery
from engramdb.values import Status

if TYPE_CHECKING:
    from pathlib import Path

ROOT = "The safe of Quentin Falkenrath opens with zanzibarium"
MENTIONS = (
    "Yesterday Ben said that the safe of Quentin Falkenrath opens with zanzibarium and laughed",
    "Nobody but Ben knows zanzibarium",
    "Falkenrath wants a second key",
)
OTHERS = ("The safe is in the cellar", "Ben opens the shop at nine")


@pytest.fixture
def root(engram: Engram) -> str:
    """The id of a memory whose words stand in others, too."""
    memory = engram.remember(ROOT)
    for text in (*MENTIONS, *OTHERS):
        engram.remember(text)
    engram.observe("By the way, zanzibarium must never be written down!", session="s9", role="assistant")
    return memory.id


def left(engram: Engram) -> set[str]:
    """Return what the memories say that still count."""
    return {one.content for one in engram.list(limit=50)}


def test_what_holds_the_words_is_listed_and_stays(engram: Engram, root: str) -> None:
    """A sentence around them, a retelling, a rare word; not what shares ordinary words."""
    done = engram.erase(root)

    found = {one.id for one in done.mentions if one.kind == "memory"}
    assert {engram.get(one).content for one in found} == set(MENTIONS)
    assert any(one.kind == "turn" for one in done.mentions)
    assert left(engram) == {*MENTIONS, *OTHERS}


def test_a_dry_run_lists_the_same(engram: Engram, root: str) -> None:
    """What would be left is told before anything goes."""
    told = engram.erase(root, dry_run=True)

    assert engram.erase(root).mentions == told.mentions


def test_mentions_are_erased_where_that_is_asked_for(engram: Engram, root: str, store_path: Path) -> None:
    """Not a byte of the rare words is left, and everything else is."""
    done = engram.erase(root, mentions=True)

    assert done.mentions == ()
    assert done.mentions_erased >= len(MENTIONS) + 1
    assert left(engram) == set(OTHERS)
    engram.close()
    data = b"".join(one.read_bytes() for one in store_path.parent.glob(f"{store_path.name}*")).lower()
    assert [word for word in (b"zanzibarium", b"falkenrath", b"quentin") if word in data] == []


def test_mentions_stay_inside_the_scope(engram: Engram, root: str) -> None:
    """What a neighbor says is neither listed nor erased: every query is scoped."""
    own = engram.remember("I keep the zanzibarium", scope=Scope(user="ann"))
    other = engram.remember("I sold the zanzibarium", scope=Scope(user="ben"))

    done = engram.erase(own.id, scope=Scope(user="ann"), mentions=True)

    assert done.memories == (own.id,)
    assert engram.get(other.id, scope=Scope(user="ben")).status is Status.ACTIVE
    assert engram.get(root).status is Status.ACTIVE


def test_what_is_said_of_a_user_is_not_erased_along(engram: Engram) -> None:
    """Others' memories go one by one, never because somebody was erased."""
    engram.remember("I like tea", scope=Scope(user="ann"))

    with pytest.raises(InvalidQuery):
        engram.erase(user="ann", mentions=True)
