"""Turns: durable at once, read when it is time, by whoever is there, and never twice."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import apsw
import pytest

from engramdb import Engram, Scope, Settings
from engramdb.capture.reading import QUIET
from engramdb.errors import ContentTooLarge, InvalidContent, StorageError
from engramdb.testing import ManualClock, TinyEmbedder
from engramdb.values import ConfidenceTier

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def engram(store_path: Path, clock: ManualClock) -> Iterator[Engram]:
    """An engine without background threads, so that everything happens in its place."""
    with Engram.open(store_path, clock=clock, embedder=TinyEmbedder(), background=False) as opened:
        yield opened


def stored(engram: Engram, scope: Scope | None = None) -> list[str]:
    """What is known, oldest first."""
    return [memory.content for memory in reversed(engram.list(scope=scope))]


def test_a_strong_signal_is_read_at_once(engram: Engram) -> None:
    """A correction, a decision or a promise does not wait for company."""
    engram.observe("I moved to Paris.", speaker="Ann")

    assert stored(engram) == ["I moved to Paris"]


def test_ordinary_turns_wait_until_there_are_enough(engram: Engram) -> None:
    """Six turns make a batch; until then they lie in the store and `status` shows them."""
    for number in range(5):
        engram.observe(f"the build of branch {number} was slow", session="s")
    waiting = engram.status().awaiting_reading

    engram.observe("and the cache was cold", session="s")

    assert waiting == 5
    assert engram.status().awaiting_reading == 0


def test_conversations_are_buffered_apart(engram: Engram) -> None:
    """One busy session does not hurry another."""
    engram.observe("the coffee machine hums", session="quiet")
    for number in range(6):
        engram.observe(f"the build of branch {number} was slow", session="busy")

    assert engram.status().awaiting_reading == 1


def test_a_turn_that_waited_too_long_is_read_with_the_next(engram: Engram, clock: ManualClock) -> None:
    """After ten minutes the batch is read whatever its size."""
    engram.observe("the coffee machine hums", session="s")
    clock.advance(minutes=11)

    engram.observe("the light flickers", session="s")

    assert engram.status().awaiting_reading == 0


def test_flush_reads_what_waits(engram: Engram) -> None:
    """The end of a session is as good a moment as any."""
    engram.observe("We usually meet in room 4.", speaker="Ann", session="s")

    assert engram.flush(session="s") == 1
    assert engram.flush(session="s") == 0


def test_what_one_process_left_unread_the_next_one_reads(store_path: Path) -> None:
    """A turn that was observed and not yet read is read after the next opening."""
    settings = Settings(embedder="static")
    with Engram.open(store_path, settings=settings, background=False) as first:
        first.observe("I use vim for everything.", speaker="Ann", session="s")
        before = stored(first)

    with Engram.open(store_path, settings=settings) as second:
        second.flush()

        assert before == []
        assert stored(second) == ["I use vim for everything"]


def test_a_lone_turn_of_another_process_is_read_once_its_session_is_quiet(
    store_path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process with a background reads it, and not before the speaker has paused."""
    monkeypatch.setattr("engramdb.engine.parts.OVERDUE_LOOK_SECONDS", 0.02)
    settings = Settings(embedder="static")
    with Engram.open(store_path, settings=settings, clock=clock) as server:
        server.flush()
        with Engram.open(store_path, settings=settings, clock=clock, background=False) as command:
            command.observe("I use vim for everything.", speaker="Ann", session="s")
        time.sleep(0.2)
        at_once = stored(server)
        clock.advance(seconds=QUIET.total_seconds())
        deadline = time.monotonic() + 30
        while not stored(server) and time.monotonic() < deadline:
            time.sleep(0.02)

        assert at_once == []
        assert stored(server) == ["I use vim for everything"]


def test_own_turns_are_read_once_their_session_is_quiet(engram: Engram, clock: ManualClock) -> None:
    """While somebody goes on talking the batch is left to fill up, for ten minutes at most."""
    for _ in range(3):
        engram.observe("I use vim for everything.", speaker="Ann", session="quiet")
        engram.observe("the light flickers", session="talking")
        clock.advance(seconds=QUIET.total_seconds() / 2)
    engram.observe("the light flickers again", session="talking")
    clock.advance(seconds=QUIET.total_seconds() / 2)
    engram._parts.turn_reader.read_overdue()
    while_talking = (stored(engram), engram.status().awaiting_reading)
    clock.advance(seconds=QUIET.total_seconds())
    engram._parts.turn_reader.read_overdue()

    assert while_talking == (["I use vim for everything"], 4)
    assert engram.status().awaiting_reading == 0


def test_a_turn_is_read_once_however_many_read(store_path: Path) -> None:
    """Several readers of one store share the work and make no memory twice."""
    settings = Settings(embedder="static")
    engines = [Engram.open(store_path, settings=settings, background=False) for _ in range(4)]
    for number in range(12):
        engines[0].observe(f"My locker number {number} is blue.", speaker="Ann", session=f"s{number % 3}")
    threads = [threading.Thread(target=engine.flush) for engine in engines]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    memories = engines[0].list(limit=100)
    assert all(len(memory.provenance.turns) == 1 + memory.reinforcements for memory in memories)
    assert engines[0].status().awaiting_reading == 0
    for engine in engines:
        engine.close()


def test_a_failed_reading_leaves_the_turns_where_they_are(engram: Engram, store_path: Path) -> None:
    """What could not be saved is not marked as read, and is free for the next try."""
    engram.observe("I use vim for everything.", speaker="Ann", session="s")
    outside = apsw.Connection(str(store_path))
    outside.execute("CREATE TRIGGER jam BEFORE INSERT ON memories BEGIN SELECT RAISE(ABORT, 'jam'); END")

    with pytest.raises(StorageError):
        engram.flush()
    outside.execute("DROP TRIGGER jam")
    outside.close()
    engram.flush()

    assert stored(engram) == ["I use vim for everything"]


def test_memories_know_the_turn_and_the_extractor_they_came_from(engram: Engram) -> None:
    """Every statement can be traced to the words it was read from."""
    turn = engram.observe("I moved to Paris.", speaker="Ann", session="s")

    (memory,) = engram.list()

    assert memory.provenance.turns == (turn.id,)
    assert memory.provenance.session == "s"
    assert memory.extractor == "sentences-1"
    assert memory.confidence_tier is ConfidenceTier.EXPLICIT


def test_scopes_are_kept_apart_from_the_turn_on(engram: Engram) -> None:
    """What Ann says in her channel never becomes Ben's memory."""
    ann, ben = Scope(channel="chat", user="ann"), Scope(channel="chat", user="ben")
    engram.observe("I live in Berlin.", speaker="Ann", scope=ann)
    engram.observe("I live in Paris.", speaker="Ben", scope=ben)
    engram.flush()

    assert stored(engram, ann) == ["I live in Berlin"]
    assert stored(engram, ben) == ["I live in Paris"]


@pytest.mark.parametrize("text", ["", "   ", "\x00", "\ud800 half"])
def test_what_is_no_text_is_refused(engram: Engram, text: str) -> None:
    """A clear error, and no row."""
    with pytest.raises(InvalidContent):
        engram.observe(text)

    assert engram.turns() == []


def test_ten_megabytes_are_refused(engram: Engram) -> None:
    """A turn is what somebody said, not a file."""
    with pytest.raises(ContentTooLarge):
        engram.observe("x" * 10_000_000)


@pytest.mark.parametrize(
    "text",
    [
        "x",
        "🎉",
        "🎉🎉🎉",
        "שלום, אני גר בחיפה",
        "مرحبا",
        "\u200b\u200bI live in Berlin",
        "a" * 100_000,
        "I " * 50_000,
    ],
)
def test_odd_turns_are_kept_and_read_without_a_stumble(engram: Engram, text: str) -> None:
    """One character, emoji, right-to-left, endless repetition: kept as said, and read without harm."""
    turn = engram.observe(text, speaker="Ann")

    engram.flush()

    assert engram.turns()[0].id == turn.id
    assert engram.status().awaiting_reading == 0
