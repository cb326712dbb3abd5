"""Erasing: the words are gone from every answer, every table and every byte of the file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import apsw
import pytest

from engramdb import Engram, Scope
from engramdb.errors import AccessDenied, InvalidQuery, InvalidScope, MemoryNotFound, StoreBusy
from engramdb.lifecycle.drafts import Draft
from engramdb.lifecycle.erase import ErasureRequest, erase_user
from engramdb.store.sqlite.store import SqliteStore
from engramdb.testing import TinyEmbedder
from engramdb.values import Action, Actor, Provenance, Status

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from engramdb.testing import ManualClock

SECRET = "zanzibarium"  # noqa: S105 - what must not be found
ANN = Scope(project="shop", user="ann-of-green-gables")
BEN = Scope(project="shop", user="ben")


def bytes_on_disk(store: Path) -> bytes:
    """Return everything that the store's files hold, its log too, in small letters."""
    files = sorted(store.parent.glob(f"{store.name}*"))
    return b"".join(file.read_bytes() for file in files).lower()


def live(engram: Engram, clock: ManualClock, place: Scope) -> str:
    """Let a word reach every corner of a store that can hold one, and return the id of its memory."""
    said = f"The codeword of Quentin Falkenrath is {SECRET}."
    engram.observe(said, session="s1", speaker="Ann", scope=place)
    for line in ("I moved to Lisbon.", "I like tea.", f"Decision: the codeword {SECRET} stays."):
        engram.observe(line, session="s1", speaker="Ann", scope=place)
    engram.flush()
    memory = engram.remember(said, scope=place, category="person", session="s1")
    for number in range(6):
        engram.remember(f"Quentin Falkenrath keeps the {SECRET} in box {number}", scope=place)
    engram.end_session("s1", scope=place)
    engram.recall(f"what is {SECRET}?", session="s1", scope=place)
    engram.feedback(memory.id, helpful=False, query=f"is it {SECRET}?", scope=place)
    with engram.turn(f"Tell me of {SECRET} again", session="s1", scope=place) as turn:
        turn.reply(f"The codeword of Quentin Falkenrath is {SECRET}.")
        turn.note(said)
    engram.observe("hm, quixotically", session="s2", scope=place)  # leaves nothing, and can be found
    clock.advance(days=400)
    engram.dream()
    engram.confidence(f"what is {SECRET}?", scope=place)
    return memory.id


@pytest.fixture
def lived(store_path: Path, clock: ManualClock) -> Iterator[Engram]:
    """A store in which a secret word of Ann's has been everywhere, and Ben has a life of his own."""
    with Engram.open(store_path, clock=clock, embedder=TinyEmbedder(), background=False) as engram:
        live(engram, clock, ANN)
        engram.observe("I live in Oslo.", session="b", speaker="Ben", scope=BEN)
        engram.remember("Ben plays the cello", scope=BEN)
        yield engram


def test_nothing_of_an_erased_user_is_left_in_the_file(lived: Engram, store_path: Path) -> None:
    """Neither a word that was said, nor a name that was spoken of, nor the user's own."""
    words = (SECRET.encode(), b"falkenrath", b"green-gables", b"lisbon", b"quixot")
    assert all(word in bytes_on_disk(store_path) for word in words)

    done = lived.erase(user="ann-of-green-gables", reason="asked to")

    assert done.is_file_clean, done.why
    assert [word for word in words if word in bytes_on_disk(store_path)] == []
    assert done.turns > 0
    assert done.memories
    lived.close()
    assert [word for word in words if word in bytes_on_disk(store_path)] == []


def test_others_keep_everything(lived: Engram) -> None:
    """Erasing one user touches no other, and the store is still whole."""
    lived.erase(user="ann-of-green-gables")

    assert [memory.content for memory in lived.list(scope=BEN)] == [
        "Ben plays the cello",
        "I live in Oslo",
    ]
    assert [turn.content for turn in lived.turns(scope=BEN)] == ["I live in Oslo."]
    assert lived.recall("does Ben play the cello?", scope=BEN).hits
    assert lived.list(scope=ANN) == []
    assert lived.turns(scope=ANN) == []
    assert lived.doctor().ok


def test_the_audit_names_a_token_in_the_place_of_the_user(lived: Engram) -> None:
    """That somebody was erased, when and how much, can be shown; who it was cannot."""
    done = lived.erase(user="ann-of-green-gables")

    events = [event for event in lived.audit(limit=500) if event.target == done.token]

    assert done.token.startswith("erased-")
    assert [event.action for event in events] == [Action.ERASE]
    assert events[0].detail["memories"] == len(done.memories)


def test_a_user_who_acted_by_name_is_not_named_any_more(store_path: Path, clock: ManualClock) -> None:
    """Where a surface lets people act under their own names, the trail of their memories loses them too."""
    ann = Actor(name="ann-of-green-gables")
    with Engram.open(store_path, clock=clock, embedder=TinyEmbedder(), actor=ann, background=False) as engram:
        memory = engram.remember("I like tea", scope=ANN)
        engram.pin(memory.id, scope=ANN)

    with Engram.open(store_path, clock=clock, embedder=TinyEmbedder(), background=False) as engram:
        done = engram.erase(user=ann.name)
        trail = {event.actor.name for event in engram.audit()}

    assert b"green-gables" not in bytes_on_disk(store_path)
    assert trail == {done.token, "user"}


def test_a_dry_run_counts_and_changes_nothing(lived: Engram) -> None:
    """What would go is told, and is still there."""
    before = lived.status()

    told = lived.erase(user="ann-of-green-gables", dry_run=True)

    assert told.dry_run
    assert (told.turns, told.scopes) == (len(lived.turns(scope=ANN, limit=500)), 1)
    assert lived.status().by_status == before.by_status
    done = lived.erase(user="ann-of-green-gables")
    assert (done.memories, done.turns, done.gaps, done.working_memories) == (
        told.memories,
        told.turns,
        told.gaps,
        told.working_memories,
    )


def test_what_was_concluded_from_a_memory_goes_with_it(engram: Engram, store_path: Path) -> None:
    """However far the conclusion is from it; what rests on other memories stays."""
    root = engram.remember(f"The safe opens with {SECRET}")
    other = engram.remember("The safe is in the cellar")
    concluded = Draft(content=f"Somebody knows {SECRET}", provenance=Provenance(episodes=(root.id, other.id)))
    (first,) = engram.remember_many([concluded])
    further = Draft(content="Somebody can open the safe", provenance=Provenance(episodes=(first.id,)))
    (second,) = engram.remember_many([further])

    done = engram.erase(root.id)

    assert done.memories == (root.id, first.id, second.id)
    assert [memory.id for memory in engram.list()] == [other.id]
    assert SECRET.encode() not in bytes_on_disk(store_path)


def test_an_erased_memory_takes_its_evidence_along(engram: Engram, store_path: Path) -> None:
    """The message it was read from, the reasons in its history and what a mind held of it."""
    engram.observe(f"My sister's name is {SECRET}.", session="s1", speaker="Ann")
    engram.observe("I work at the harbour.", session="s1", speaker="Ann")
    engram.flush()
    (memory,) = (one for one in engram.list() if SECRET in one.content.lower())
    engram.feedback(memory.id, helpful=True, query=f"who is {SECRET}?")
    engram.forget(memory.id, reason=f"{SECRET} wants it")
    with engram.turn("Who is my sister?", session="s1") as turn:
        turn.reply("I do not know.")
        turn.note(memory.content)

    done = engram.erase(memory.id)

    assert memory.id in done.memories
    assert (done.turns, done.working_memories, done.is_file_clean) == (1, 1, True)
    assert SECRET.encode() not in bytes_on_disk(store_path)
    assert engram.get(memory.id).status is Status.ERASED
    assert any("harbour" in one.content for one in engram.list())
    assert any("harbour" in turn.content for turn in engram.turns())


def test_what_was_forgotten_with_the_same_words_goes_too(engram: Engram, store_path: Path) -> None:
    """A statement that was forgotten and stated again is two memories; erasing one erases the words."""
    first = engram.remember(f"The safe opens with {SECRET}")
    engram.forget(first.id)
    second = engram.remember(f"The safe opens with {SECRET}")

    done = engram.erase(second.id)

    assert set(done.memories) == {first.id, second.id}
    assert SECRET.encode() not in bytes_on_disk(store_path)


def test_erasing_twice_is_harmless(engram: Engram) -> None:
    """The second time there is nothing to take, and the file is cleaned again."""
    memory = engram.remember("I like tea")
    engram.erase(memory.id)

    again = engram.erase(memory.id)

    assert (again.memories, again.is_file_clean) == ((), True)


def test_a_file_that_somebody_still_reads_is_not_clean(store_path: Path, clock: ManualClock) -> None:
    """The store says so and changes nothing else; once the reader has gone, not a byte is left."""
    with Engram.open(store_path, clock=clock, embedder=TinyEmbedder(), background=False) as engram:
        engram.remember(f"The safe opens with {SECRET}", scope=ANN)
    store = SqliteStore.open(str(store_path), now=clock.now(), busy_timeout_seconds=0.05)
    reader = apsw.Connection(str(store_path))
    reader.execute("BEGIN; SELECT count(*) FROM memories").fetchall()
    erase_user(ErasureRequest(store=store, scope=ANN, actor=Actor(), now=clock.now()))

    with pytest.raises(StoreBusy):
        store.scrub()
    reader.close()
    store.scrub()

    assert SECRET.encode() not in bytes_on_disk(store_path)
    store.close()


def test_one_thing_at_a_time_and_only_ones_own(engram: Engram) -> None:
    """Neither nothing nor both can be erased, nor what belongs to another scope."""
    shared = engram.remember("The office is in Ghent")

    with pytest.raises(InvalidQuery):
        engram.erase()
    with pytest.raises(InvalidQuery):
        engram.erase(shared.id, user="ann")
    with pytest.raises(AccessDenied):
        engram.erase(shared.id, scope=ANN)
    with pytest.raises(MemoryNotFound):
        engram.erase("not-a-memory")
    with pytest.raises(InvalidScope):
        engram.erase(user="ben", scope=ANN)
    with pytest.raises(InvalidScope):
        engram.erase(user="")


def test_what_leaned_on_erased_words_no_longer_quotes_them(engram: Engram, store_path: Path) -> None:
    """A later sentence is kept with the words before it; those go with the memory that said them."""
    engram.observe(
        "My aunt in Bergen has opened a zanzibarium. She closes it on rainy Mondays now.", session="s"
    )
    engram.flush()
    opened, closes = sorted(engram.list(), key=lambda one: "closes" in one.content)
    assert any("zanzibarium" in words for words in closes.refers_to)

    engram.erase(opened.id)

    assert not any("zanzibarium" in str(one) for one in engram.list())
    assert b"zanzibarium" not in store_path.read_bytes()
    engram.doctor(fix=True)  # what has lost words is embedded again
    assert engram.doctor().ok


def test_what_leaned_on_forgotten_words_no_longer_quotes_them(engram: Engram) -> None:
    """Forgetting reaches the copies that later sentences carry, and what they say stays."""
    engram.observe("My aunt in Bergen has opened a zanzibarium.", session="s")
    engram.observe("She closes it on rainy Mondays now.", session="s")
    engram.flush()
    opened, closes = sorted(engram.list(), key=lambda one: "closes" in one.content)
    assert any("zanzibarium" in words for words in closes.refers_to)

    engram.forget(opened.id, reason="private")

    (left,) = engram.list()
    assert left.content == closes.content
    assert not any("zanzibarium" in words for words in left.refers_to)
    engram.doctor(fix=True)  # what has lost words is embedded again
    assert engram.doctor().ok
