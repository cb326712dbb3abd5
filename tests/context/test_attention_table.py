"""A mind at rest in the store: it comes back as it was, by scope, and holds no memory's words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import apsw
import numpy as np
import pytest

from engramdb.context.attention import LeftTopic, Momentum
from engramdb.context.working_memory import AttentionState, from_snapshot, to_snapshot
from engramdb.errors import StoreCorrupt
from engramdb.settings import Settings
from engramdb.store.opening import open_store
from engramdb.values import EmbedderIdentity, Scope, Slot, SlotSource

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from engramdb.store.contract import Store

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
SPACE = EmbedderIdentity(name="three", dimension=3, revision="1")
CODER = Scope(agent="coder", user="ann")


@pytest.fixture
def store(store_path: Path) -> Iterator[Store]:
    """An empty store."""
    opened = open_store(Settings(store=str(store_path)), now=NOW)
    yield opened
    opened.close()


def mind(word: str = "note") -> AttentionState:
    """A mind with slots of every sort, on one topic and with another left."""
    slots = (
        Slot(source=SlotSource.RECALL, activation=0.25, tokens=3, used_at=NOW, memory_id="m1", text="secret"),
        Slot(source=SlotSource.SENSORY, activation=0.5, tokens=4, used_at=NOW, turn_id="t1"),
        Slot(source=SlotSource.GAP_QUESTION, activation=0.5, tokens=4, used_at=NOW, gap_id="g1"),
        Slot(source=SlotSource.EXPLICIT, activation=1.0, tokens=5, used_at=NOW, text=word),
    )
    left = LeftTopic(
        momentum=Momentum(np.array([[0, 1, 0]], np.float32), 0.4),
        slots=slots[:1],
        left_at=NOW - timedelta(hours=1),
    )
    rows = np.array([[1, 0, 0], [0, 0.5, 0.5]], np.float32)
    return AttentionState(slots=slots, momentum=Momentum(rows, 0.7), topics=(left,), at=NOW)


def test_a_mind_comes_back_as_it_was(store: Store) -> None:
    """Slots, momentum and the topics that were left; of what points to a memory, only the pointer."""
    with store.atomic() as tx:
        stamp = tx.attention.put(CODER, to_snapshot(mind(), identity=SPACE, now=NOW))
        kept = tx.attention.get(CODER)

    assert kept is not None
    back = from_snapshot(kept, identity=SPACE)
    assert (kept.stamp, kept.embedder, back.at) == (stamp, SPACE, NOW)
    assert [slot.key for slot in back.slots] == ["m1", "t1", "g1", "note"]
    assert back.slots[1:] == mind().slots[1:]
    assert back.slots[0].text == ""
    assert np.array_equal(back.momentum.rows, mind().momentum.rows)
    assert back.momentum.confidence == 0.7
    assert back.topics[0].left_at == NOW - timedelta(hours=1)
    assert np.array_equal(back.topics[0].momentum.rows, [[0, 1, 0]])


def test_the_words_of_a_memory_are_never_written(store: Store, store_path: Path) -> None:
    """Not even when a slot that points to it carries them by mistake."""
    with store.atomic() as tx:
        tx.attention.put(CODER, to_snapshot(mind(), identity=SPACE, now=NOW))
    store.close()

    written = str(apsw.Connection(str(store_path)).execute("SELECT topics FROM attention").fetchall())

    assert "note" in written
    assert "secret" not in written


def test_another_embedder_loses_the_thread_and_keeps_the_slots(store: Store) -> None:
    """Its vectors mean nothing to the new one."""
    with store.atomic() as tx:
        tx.attention.put(CODER, to_snapshot(mind(), identity=SPACE, now=NOW))
        kept = tx.attention.get(CODER)
    assert kept is not None

    back = from_snapshot(kept, identity=EmbedderIdentity(name="other", dimension=3, revision="1"))

    assert len(back.slots) == 4
    assert back.momentum.is_empty
    assert back.topics == ()


def test_every_save_has_a_stamp_of_its_own(store: Store) -> None:
    """Another process sees that something changed, also after a removal."""
    with store.atomic() as tx:
        assert tx.attention.stamp(CODER) == 0
        stamps = [tx.attention.put(CODER, to_snapshot(mind(), identity=SPACE, now=NOW)) for _ in range(3)]
        tx.attention.remove(CODER)
        stamps.append(tx.attention.put(CODER, to_snapshot(mind(), identity=SPACE, now=NOW)))

        assert tx.attention.stamp(CODER) == stamps[-1]
    assert len(set(stamps)) == 4


def test_a_removal_takes_the_narrower_ones_along_and_nobody_elses(store: Store, store_path: Path) -> None:
    """Erasing a user takes the minds of every agent for that user, and their words out of the file."""
    others = (Scope(agent="coder", user="bob"), Scope(agent="coder"), Scope())
    mine = (CODER, Scope(user="ann"), Scope(project="p", agent="writer", user="ann"))
    with store.atomic() as tx:
        for number, scope in enumerate((*others, *mine)):
            tx.attention.put(scope, to_snapshot(mind(f"words{number}"), identity=SPACE, now=NOW))

        removed = tx.attention.remove(Scope(user="ann"))

        assert (removed, tx.attention.count()) == (3, 3)
        assert all(tx.attention.get(scope) is None for scope in mine)
        assert all(tx.attention.get(scope) is not None for scope in others)
    store.close()
    assert b"words4" not in store_path.read_bytes()


def test_a_row_that_makes_no_sense_says_so(store: Store, store_path: Path) -> None:
    """Another tool may have written it."""
    with store.atomic() as tx:
        tx.attention.put(CODER, to_snapshot(mind(), identity=SPACE, now=NOW))
    writer = apsw.Connection(str(store_path))
    writer.execute("UPDATE attention SET topics = '[{}]'")
    writer.close()

    with store.read() as tx, pytest.raises(StoreCorrupt):
        tx.attention.get(CODER)
