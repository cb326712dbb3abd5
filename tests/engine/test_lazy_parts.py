"""Parts of an engine are built when they are first asked for, and once."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import pytest

from engramdb import Engram, Settings
from engramdb.engine.parts import is_built, lazy_property
from engramdb.errors import InvalidSettings, UnknownModel

if TYPE_CHECKING:
    from pathlib import Path

    from engramdb.errors import EngramError

PATIENCE_SECONDS = 10.0
A_MOMENT_SECONDS = 0.2


class Workshop:
    """Something with one part, whose building can be held up."""

    def __init__(self) -> None:
        self.builders = 0
        self.has_begun = threading.Event()
        self.has_begun_twice = threading.Event()
        self.may_end = threading.Event()

    @lazy_property
    def part(self) -> object:
        """A part that takes a while."""
        self.builders += 1
        (self.has_begun_twice if self.has_begun.is_set() else self.has_begun).set()
        self.may_end.wait(PATIENCE_SECONDS)
        return object()


def test_two_threads_are_given_the_same_part() -> None:
    """Whoever asks while a part is being built waits for it, and does not build another."""
    workshop, given = Workshop(), list[object]()
    threads = [threading.Thread(target=lambda: given.append(workshop.part)) for _ in range(2)]

    for thread in threads:
        thread.start()
    assert workshop.has_begun.wait(PATIENCE_SECONDS)
    is_built_twice = workshop.has_begun_twice.wait(A_MOMENT_SECONDS)
    workshop.may_end.set()
    for thread in threads:
        thread.join(PATIENCE_SECONDS)

    assert not is_built_twice
    assert workshop.builders == 1
    assert given[0] is given[1] is workshop.part


def test_one_holder_does_not_wait_for_another() -> None:
    """A store whose part takes long to build keeps nobody from the same part of another store."""
    slow, quick = Workshop(), Workshop()
    quick.may_end.set()
    thread = threading.Thread(target=lambda: slow.part)
    thread.start()
    assert slow.has_begun.wait(PATIENCE_SECONDS)

    quick.part  # noqa: B018

    assert not is_built(slow, "part")
    slow.may_end.set()
    thread.join(PATIENCE_SECONDS)


def test_a_part_that_could_not_be_built_is_tried_again() -> None:
    """The first error is told as it is, and does not stand in the way of a second attempt."""

    class Unlucky:
        attempts = 0

        @lazy_property
        def part(self) -> str:
            self.attempts += 1
            if self.attempts == 1:
                raise OSError("the disk is full")
            return "built"

    unlucky = Unlucky()

    with pytest.raises(OSError, match="full"):
        unlucky.part  # noqa: B018

    assert unlucky.part == "built"


def test_a_part_says_whether_it_was_built() -> None:
    """What nobody has asked for need not be closed, and asking whether it is there does not build it."""
    workshop = Workshop()
    workshop.may_end.set()
    before = is_built(workshop, "part")

    workshop.part  # noqa: B018

    assert (before, is_built(workshop, "part")) == (False, True)


def test_looking_at_memories_builds_no_index(store_path: Path) -> None:
    """Listing needs the store alone; the first question builds what answers it."""
    with Engram.open(store_path, background=False) as engram:
        engram.list()
        built_by_listing = [
            name for name in ("embedder", "spaces", "pipeline") if is_built(engram._parts, name)
        ]
        engram.recall("tea")

        assert built_by_listing == []
        assert is_built(engram._parts, "spaces")


def test_the_background_still_loads_the_index_and_embeds_what_waits(store_path: Path) -> None:
    """A memory that another process left without a vector is embedded by whoever opens the store next."""
    with Engram.open(
        store_path, background=False, settings=Settings(embedder="e5-small", home=store_path)
    ) as one:
        one.remember("I drink green tea")
        assert one.status().awaiting_embedding == 1

    with Engram.open(store_path, settings=Settings(embedder="static")) as engram:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while engram.status().awaiting_embedding and time.monotonic() < deadline:
            time.sleep(0.05)

        assert engram.status().awaiting_embedding == 0


@pytest.mark.parametrize(
    ("settings", "error"),
    [(Settings(embedder="openai:model"), InvalidSettings), (Settings(chat="nobody:model"), UnknownModel)],
)
def test_settings_that_cannot_work_are_refused_when_a_store_is_opened(
    store_path: Path, settings: Settings, error: type[EngramError]
) -> None:
    """Parts are built late, but nobody learns at the first question that a model is not to be had."""
    with pytest.raises(error):
        Engram.open(store_path, settings=settings, background=False)

    assert not store_path.exists()
