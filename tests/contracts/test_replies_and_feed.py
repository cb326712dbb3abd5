"""What every store keeps for a server: answers by key, and the history as a feed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from engramdb.settings import Settings
from engramdb.store.opening import open_store
from engramdb.text.normalize import fingerprint
from engramdb.values import Action, HistoryEvent, Kind, Memory, Scope, Status, new_id

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from engramdb.store.contract import Store, Transaction

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ANN, BOB = Scope(user="ann"), Scope(user="bob")


@pytest.fixture(params=["sqlite", "sqlite, encrypted"])
def store(request: pytest.FixtureRequest, store_path: Path) -> Iterator[Store]:
    """An empty store of each kind."""
    key = "ab" * 32 if "encrypted" in request.param else ""
    opened = open_store(Settings(store=str(store_path), key=key), now=NOW)
    yield opened
    opened.close()


def remembered(store: Store, content: str, scope: Scope) -> Memory:
    """Store a memory with its first line of history."""
    memory = Memory(id=new_id(NOW), content=content, scope=scope, created_at=NOW, updated_at=NOW)
    with store.atomic() as tx:
        tx.memories.add(memory, fingerprint=fingerprint(content))
        event = HistoryEvent(memory_id=memory.id, at=NOW, action=Action.REMEMBER, new_status=Status.ACTIVE)
        tx.history.add(event)
    return memory


def test_an_answer_is_found_by_its_caller_and_key(store: Store) -> None:
    """Nothing is known before it begins, nothing but its request until it ends, and all of it then."""
    with store.atomic() as tx:
        before = tx.replies.get("ann", "k1")
        tx.replies.begin("ann", "k1", request=b"asked", at=NOW)
        under_way = tx.replies.get("ann", "k1")
        tx.replies.finish("ann", "k1", status=200, headers={"etag": "x"}, body=b"{}", subjects=())
    with store.read() as tx:
        kept, other = tx.replies.get("ann", "k1"), tx.replies.get("bob", "k1")

    assert (before, other) == (None, None)
    assert under_way is not None
    assert (under_way.request, under_way.status, under_way.body) == (b"asked", None, None)
    assert kept is not None
    assert (kept.status, dict(kept.headers), kept.body, kept.at) == (200, {"etag": "x"}, b"{}", NOW)


def test_answers_are_dropped_and_expire(store: Store) -> None:
    """A key that is forgotten takes the ids that its answer named along."""
    with store.atomic() as tx:
        for number, key in enumerate(("old", "new", "dropped")):
            tx.replies.begin("ann", key, request=b"", at=NOW + timedelta(hours=number))
            tx.replies.finish("ann", key, status=200, headers={}, body=b"", subjects={"a", "b"})
        tx.replies.drop("ann", "dropped")
        tx.replies.expire(before=NOW + timedelta(minutes=30))
        left = [key for key in ("old", "new", "dropped") if tx.replies.get("ann", key)]

    assert left == ["new"]


def test_a_lease_is_one_owners_until_its_time_runs_out(store: Store) -> None:
    """It can be renewed and given back by its owner alone, and is forgotten some time after it ran out."""

    def taken(tx: Transaction, owner: str, at: int) -> bool:
        now, until = NOW + timedelta(seconds=at), NOW + timedelta(seconds=at + 5)
        return tx.leases.take("k", owner, now=now, until=until, is_gone=lambda _: False)

    with store.atomic() as tx:
        assert taken(tx, "ann", 0)
        assert not taken(tx, "bob", 4)
        assert tx.leases.renew("k", "ann", until=NOW + timedelta(seconds=9))
        assert not taken(tx, "bob", 8)
        tx.leases.release("k", "bob")
        assert not taken(tx, "bob", 8)
        tx.leases.expire(before=NOW + timedelta(seconds=9))
        assert not taken(tx, "bob", 8)
        tx.leases.expire(before=NOW + timedelta(seconds=10))
        assert not tx.leases.renew("k", "ann", until=NOW + timedelta(seconds=20))
        assert taken(tx, "bob", 8)


def test_the_feed_tells_what_happened_to_whoever_may_see_it(store: Store) -> None:
    """In order, from any place on, and past what is not the reader's."""
    first = remembered(store, "first", ANN)
    remembered(store, "not Ann's", BOB)
    last = remembered(store, "last", ANN)

    with store.read() as tx:
        whole = tx.feed.after(0, scope=ANN, limit=10)
        rest = tx.feed.after(whole.entries[0].cursor, scope=ANN, limit=10)
        short = tx.feed.after(whole.entries[0].cursor, scope=ANN, limit=1)
        end = tx.feed.after(whole.cursor, scope=ANN, limit=10)
        latest = tx.feed.latest()

    assert [entry.memory_id for entry in whole.entries] == [first.id, last.id]
    assert [entry.memory_id for entry in rest.entries] == [last.id]
    assert (short.entries, short.cursor < latest) == ((), True)
    assert (end.entries, end.cursor) == ((), latest)
    assert (whole.entries[0].action, whole.entries[0].kind) == (Action.REMEMBER, Kind.NOTE)


def test_an_answer_about_what_was_erased_meanwhile_is_not_kept(store: Store) -> None:
    """A memory may be erased between its write and its answer: not a word of it comes in behind."""
    memory = remembered(store, "The codeword is zanzibarium", ANN)
    with store.atomic() as tx:
        tx.replies.begin("ann", "k1", request=b"asked", at=NOW)
        tx.memories.replace(memory.evolve(status=Status.ERASED))

    with store.atomic() as tx:
        tx.replies.finish("ann", "k1", status=200, headers={}, body=b"zanzibarium", subjects={memory.id})
        kept = tx.replies.get("ann", "k1")

    assert kept is not None
    assert (kept.status, kept.body, kept.request) == (410, None, b"")
