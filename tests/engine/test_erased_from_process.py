"""What was erased is not left in what a process keeps for speed."""

from __future__ import annotations

import functools
import gc
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from engramdb import Engram
from engramdb import erasable_cache as kept
from engramdb.erasable_cache import ErasableTable
from engramdb.models.static import StaticEmbedder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engramdb.testing import ManualClock

SAID = "The quendolin valve in Oslo never opens before 3 May, says Dr. Falkenrath."


def kept_texts() -> Iterator[str]:
    """Yield every text by which, or as which, a function of this process keeps an answer."""
    for function in gc.get_objects():
        if issubclass(type(function), functools._lru_cache_wrapper):  # asks the object itself nothing
            for held in gc.get_referents(function):
                yield from texts_in(held)


def texts_in(held: object, *, depth: int = 3) -> Iterator[str]:
    """Yield the texts in a key or an answer, and in what it is made of."""
    if isinstance(held, str):
        yield held
    elif depth and isinstance(held, tuple | list | dict | frozenset):
        for part in held:
            yield from texts_in(part, depth=depth - 1)


@pytest.fixture
def engram(store_path: Path, clock: ManualClock) -> Iterator[Engram]:
    """An engine with its own embedder, which keeps texts as well."""
    with Engram.open(store_path, clock=clock, background=False) as engram:
        yield engram


def test_erased_words_are_in_no_cache(engram: Engram) -> None:
    """After `erase` no function of the process keeps anything by the words, and before it some did."""
    memory = engram.remember(SAID, category="identity", pinned=True)
    engram.recall("when does the quendolin valve open?")
    engram.context("the valve")
    before = [text for text in kept_texts() if "quendolin" in text.lower()]

    engram.erase(memory.id)

    after = [text for text in kept_texts() if "quendolin" in text.lower()]
    assert before
    assert after == []


def test_a_dry_run_lets_go_of_nothing(engram: Engram) -> None:
    """What is only counted costs no process what it has worked out."""
    memory = engram.remember(SAID)

    engram.erase(memory.id, dry_run=True)

    assert any("quendolin" in text.lower() for text in kept_texts())


def test_standing_memories_are_let_go_of(engram: Engram) -> None:
    """A pinned memory that a window has shown is not held for the next one once it is erased."""
    memory = engram.remember(SAID, pinned=True)
    engram.context("hello")
    words = memory.content
    del memory

    engram.erase(words)

    assert not [one for one in _of_type("Memory") if one.content == words]


def test_no_agent_keeps_erased_words_in_mind(engram: Engram) -> None:
    """What an agent was told in a turn is gone from its mind in the process, and the mind works on."""
    with engram.turn("Tell me of the quendolin valve", session="s1") as turn:
        turn.reply("It stays closed.")
        turn.note(SAID)
    other = engram.remember("The harbor closes at nine")
    held = [one for one in _of_type("Slot") if "quendolin" in str(one.text)]

    engram.erase(other.id)

    assert held
    del held
    assert not [one for one in _of_type("Slot") if "quendolin" in str(one.text)]
    assert engram.working_memory().items


def test_texts_are_kept_in_one_way() -> None:
    """Whatever keeps answers by text below the surfaces lets go of them together."""
    source = Path(kept.__file__).parent
    users = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        if "lru_cache" in path.read_text(encoding="utf-8")
    }

    assert {user for user in users if not user.startswith(("http/", "cli/", "mcp/"))} == {"erasable_cache.py"}


def test_an_embedder_lets_go_of_texts() -> None:
    """The rows of texts go, and are the same when they are made again."""
    embedder = StaticEmbedder()
    first = embedder.embed_documents([SAID])

    kept.clear_caches()

    assert not embedder._kept
    assert (embedder.embed_documents([SAID]) == first).all()


def test_a_table_goes_with_its_owner() -> None:
    """What keeps texts is not itself kept because of that."""
    table = ErasableTable[int]()
    table["text"] = 1
    number = id(table)

    del table
    gc.collect()

    assert number not in kept._TABLES


def test_a_kept_answer_is_worked_out_once() -> None:
    """A function is asked again only after its answers were let go of."""
    asked: list[str] = []

    @kept.cached(2)
    def length(text: str) -> int:
        asked.append(text)
        return len(text)

    found = [length("one"), length("one")]
    kept.clear_caches()
    found.append(length("one"))

    assert found == [3, 3, 3]
    assert asked == ["one", "one"]


def _of_type(name: str) -> list[Any]:
    gc.collect()
    return [one for one in gc.get_objects() if type(one).__name__ == name]
