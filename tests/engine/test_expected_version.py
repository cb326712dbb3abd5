"""A change can be made on condition that the memory is unchanged since it was read."""

from __future__ import annotations

import inspect
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest
from interrupted import Interrupted

from engramdb import Engram
from engramdb.errors import InvalidQuery, MemoryChanged
from engramdb.testing import ManualClock, TinyEmbedder
from engramdb.values import Filters, Layer, Outcome, Status

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import RunChild

    from engramdb.values import Memory

EVERY_STATUS = Filters(statuses=frozenset(Status))
VERBS: dict[str, Callable[[Engram, Memory, str, Memory], object]] = {
    "correct": lambda engram, one, _, seen: engram.correct(
        one.id, "My editor is Helix", expected_version=seen
    ),
    "forget": lambda engram, one, _, seen: engram.forget(one.id, expected_version=seen),
    "erase": lambda engram, one, _, seen: engram.erase(one.id, expected_version=seen),
    "set_status": lambda engram, one, _, seen: engram.set_status(
        one.id, Status.ARCHIVED, expected_version=seen
    ),
    "pin": lambda engram, one, _, seen: engram.pin(one.id, expected_version=seen),
    "unpin": lambda engram, one, _, seen: engram.unpin(one.id, expected_version=seen),
    "release": lambda engram, one, _, seen: engram.release(one.id, expected_version=seen),
    "promote": lambda engram, one, _, seen: engram.promote(one.id, expected_version=seen),
    "demote": lambda engram, one, _, seen: engram.demote(one.id, expected_version=seen),
    "restore": lambda engram, one, _, seen: engram.restore(one.id, expected_version=seen),
    "feedback": lambda engram, one, _, seen: engram.feedback(
        one.id, helpful=True, query="editor?", expected_version=seen
    ),
    "link": lambda engram, one, other, seen: engram.link(one.id, other, expected_version=seen),
    "unlink": lambda engram, one, other, seen: engram.unlink(one.id, other, expected_version=seen),
    "undo": lambda engram, one, _, seen: engram.undo(one.id, expected_version=seen),
    "unmerge": lambda engram, one, _, seen: engram.unmerge(one.id, expected_version=seen),
}
"""How each verb is used that takes the condition."""
NEED_MORE = {"restore", "unmerge"}
"""What cannot be done to a memory that was just stored: there is nothing to take back."""
FORMER_NAMES = {"relate", "unrelate"}


@pytest.fixture
def embedder() -> Interrupted:
    """An embedder that can be interrupted."""
    return Interrupted()


def written(engram: Engram) -> list[Any]:
    """Return everything that a change would leave a trace in."""
    memories = engram.list(limit=1000, filters=EVERY_STATUS)
    return [
        memories,
        *(engram.history(one.id) for one in memories),
        *(engram.links(one.id) for one in memories),
        [one for one in engram.audit(limit=1000, outcome=Outcome.DONE) if not one.action.is_search],
    ]


def test_every_verb_that_takes_the_condition_is_tried_here() -> None:
    """A verb that is given the option cannot be left out of what follows."""
    verbs = inspect.getmembers(Engram, inspect.isfunction)

    taking = {name for name, verb in verbs if "expected_version" in inspect.signature(verb).parameters}

    assert {name for name in taking if not name.startswith("_")} == set(VERBS) | FORMER_NAMES


def test_every_verb_that_changes_one_memory_takes_the_condition() -> None:
    """What is given a memory's id takes it too, or only looks."""
    looks = {"get", "history", "links", "evidence", "imported_from", "forecast"}
    verbs = inspect.getmembers(Engram, inspect.isfunction)

    named = {name for name, verb in verbs if "memory_id" in inspect.signature(verb).parameters}

    assert {name for name in named if not name.startswith("_")} - looks == set(VERBS) | FORMER_NAMES


@pytest.mark.parametrize("verb", VERBS)
def test_what_has_changed_is_left_alone(engram: Engram, clock: ManualClock, verb: str) -> None:
    """The error names the memory, and nothing is written anywhere."""
    seen, other = engram.remember("My editor is vim", layer=Layer.EPISODIC), engram.remember("Tea is green")
    clock.advance(minutes=1)
    engram.promote(seen.id)
    before = written(engram)

    with pytest.raises(MemoryChanged, match=seen.id):
        VERBS[verb](engram, seen, other.id, seen)

    assert written(engram) == before


@pytest.mark.parametrize("verb", sorted(set(VERBS) - NEED_MORE))
def test_what_is_as_it_was_is_changed(engram: Engram, verb: str) -> None:
    """The memory that `remember` returned will do, and so will one that was looked up."""
    stored, other = engram.remember("My editor is vim", layer=Layer.EPISODIC), engram.remember("Tea is green")

    VERBS[verb](engram, stored, other.id, stored)
    engram.pin(other.id, expected_version=engram.get(other.id))

    assert engram.get(other.id).pinned


def test_being_recalled_or_judged_is_no_change(engram: Engram) -> None:
    """Counts go on, and nobody's correction is lost because of them."""
    seen = engram.remember("My editor is vim", layer=Layer.EPISODIC)
    engram.recall("editor", session="s1")
    engram.feedback(seen.id, helpful=True)
    counted = engram.get(seen.id)

    corrected = engram.correct(seen.id, "My editor is Helix", expected_version=seen)

    assert (counted.access.count, counted.helped) == (1, 1)
    assert corrected.supersedes == seen.id


def test_the_condition_is_about_the_memory_that_is_meant(engram: Engram) -> None:
    """Another memory, something that is none, and a whole user are mistakes, not conditions that hold."""
    one, other = engram.remember("My editor is vim", layer=Layer.EPISODIC), engram.remember("Tea is green")
    wrong: Any = one.id

    with pytest.raises(InvalidQuery, match=other.id):
        engram.pin(one.id, expected_version=other)
    with pytest.raises(InvalidQuery, match="not str"):
        engram.pin(one.id, expected_version=wrong)
    with pytest.raises(InvalidQuery, match="user"):
        engram.erase(user="ann", expected_version=one)

    assert not engram.get(one.id).pinned


def test_a_change_between_the_look_and_the_write_is_found(
    engram: Engram, embedder: Interrupted, store_path: Path, child: RunChild
) -> None:
    """Another process pins the memory while its correction is being embedded: it is not corrected."""
    seen = engram.remember("My editor is vim", layer=Layer.EPISODIC)
    script = """
        import sys
        from engramdb import Engram
        from engramdb.testing import TinyEmbedder
        with Engram.open(sys.argv[1], embedder=TinyEmbedder(), background=False) as engram:
            print(engram.pin(sys.argv[2]).pinned)
    """
    said: list[str] = []
    embedder.meanwhile = lambda: said.append(child(script, store_path, seen.id))

    with pytest.raises(MemoryChanged):
        engram.correct(seen.id, "My editor is Helix", expected_version=seen)

    assert said == ["True"]
    assert [(one.content, one.pinned) for one in engram.list(filters=EVERY_STATUS)] == [
        ("My editor is vim", True)
    ]


def test_of_all_who_saw_the_same_one_succeeds(store_path: Path) -> None:
    """Threads of two engines on one file look together and change together: one wins, round by round."""
    verbs = ("correct", "forget", "pin", "promote", "set_status", "correct")
    together = threading.Barrier(len(verbs))

    def tried(engram: Engram, verb: str, memory: Memory) -> bool:
        seen = engram.get(memory.id)
        together.wait(60)
        try:
            VERBS[verb](engram, seen, "", seen)
        except MemoryChanged:
            return False
        return True

    with ExitStack() as stack:
        engines = [
            stack.enter_context(Engram.open(store_path, embedder=TinyEmbedder(), background=False))
            for _ in range(2)
        ]
        pool = stack.enter_context(ThreadPoolExecutor(len(verbs)))
        for number in range(8):
            memory = engines[0].remember(f"Maybe parcel {number} is on shelf {number * 7}")
            tries = [pool.submit(tried, engines[place % 2], verb, memory) for place, verb in enumerate(verbs)]
            assert sum(one.result(60) for one in tries) == 1
            events = [event for event in engines[1].history(memory.id) if event.action != "remember"]
            assert len(events) == 1


def test_the_former_names_of_the_condition_and_of_links_still_work(engram: Engram) -> None:
    """Programs written for the first version go on for one more."""
    one, other = engram.remember("My editor is Vim"), engram.remember("I write Python")

    pinned: Memory = getattr(engram, "pin")(one.id, if_still=one)  # noqa: B009 - hidden from the checker
    engram.relate(one.id, other.id)

    assert pinned.pinned
    assert engram.unrelate(one.id, other.id)
