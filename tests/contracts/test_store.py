"""What every store keeps: one suite, to be run on each implementation."""

# ruff: noqa: PT012 - what is tested here is which lines of a block are taken back when a later one raises

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from msgspec.structs import replace

from engramdb.errors import (
    DimensionMismatch,
    EdgeNotAllowed,
    InvalidSettings,
    MemoryNotFound,
    StorageError,
    StoreClosed,
)
from engramdb.settings import Settings
from engramdb.store.contract import DreamRun
from engramdb.store.opening import open_store
from engramdb.text.terms import turn_terms
from engramdb.values import (
    GLOBAL,
    Action,
    ActorKind,
    AuditEvent,
    DreamReport,
    Edge,
    EdgeType,
    EmbedderIdentity,
    Filters,
    Gap,
    GapKind,
    HistoryEvent,
    Memory,
    Provenance,
    Role,
    Scope,
    Status,
    Turn,
    new_id,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from engramdb.store.contract import Store, Transaction

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SPACE = EmbedderIdentity(name="three", dimension=3, revision="1")
ANN = Scope(user="ann")
BOB = Scope(user="bob")


@pytest.fixture(params=["sqlite", "sqlite, encrypted"])
def store(request: pytest.FixtureRequest, store_path: Path) -> Iterator[Store]:
    """An empty store of each kind."""
    key = "ab" * 32 if "encrypted" in request.param else ""
    opened = open_store(Settings(store=str(store_path), key=key, busy_timeout_seconds=1), now=NOW)
    yield opened
    opened.close()


def memory(content: str, **fields: object) -> Memory:
    """A new memory with this content."""
    made = Memory(id=new_id(NOW), content=content, created_at=NOW, updated_at=NOW)
    return made.evolve(**fields)


def add(tx: Transaction, one: Memory, *words: str) -> int:
    """Store a memory, indexed under some words, and return its key."""
    key = tx.memories.add(one, fingerprint=one.content.encode())
    tx.terms.put(key, words)
    return key


def test_a_write_is_all_or_nothing(store: Store) -> None:
    """When the block raises, nothing of it stays in any table."""
    kept = memory("kept")
    with store.atomic() as tx:
        add(tx, kept, "tea")

    with pytest.raises(ZeroDivisionError), store.atomic() as tx:
        one = memory("dropped")
        key = add(tx, one, "coffee")
        tx.vectors.put(tx.vectors.make_space(SPACE), [key], np.ones((1, 3), np.float32))
        tx.history.add(HistoryEvent(memory_id=one.id, at=NOW, action=Action.REMEMBER))
        tx.audit.add(AuditEvent(at=NOW, action=Action.REMEMBER))
        raise ZeroDivisionError

    with store.read() as tx:
        assert tx.memories.count() == 1
        assert tx.terms.statistics(["tea", "coffee"], scope=GLOBAL).frequencies == {"tea": 1, "coffee": 0}
        assert tx.vectors.space(SPACE) is None
        assert tx.audit.recent(limit=10) == []


def test_writes_nest(store: Store) -> None:
    """An inner block that fails takes back its own part; the outer one decides about the rest."""
    with store.atomic() as outer:
        add(outer, memory("outer"))
        with pytest.raises(ZeroDivisionError), store.atomic() as inner:
            add(inner, memory("inner"))
            raise ZeroDivisionError
        with store.atomic() as second:
            add(second, memory("second"))

    with store.read() as tx:
        assert tx.memories.count() == 2


def test_an_outer_failure_takes_the_inner_writes_along(store: Store) -> None:
    """A nested write is durable with its outermost block, not before."""
    with pytest.raises(ZeroDivisionError), store.atomic():
        with store.atomic() as inner:
            add(inner, memory("inner"))
        raise ZeroDivisionError

    with store.read() as tx:
        assert tx.memories.count() == 0


def test_a_read_inside_a_write_sees_the_write(store: Store) -> None:
    """The thread that writes reads its own changes; they are one transaction."""
    with store.atomic() as tx:
        add(tx, memory("fresh"))
        with store.read() as own:
            assert own.memories.count() == 1


def test_a_snapshot_does_not_change(store: Store) -> None:
    """What a read shows stays the same while its block runs, whatever is written meanwhile."""
    with store.read() as tx:
        before = tx.memories.count()
        with store.atomic() as writing:
            add(writing, memory("meanwhile"))
        during = tx.memories.count()

    with store.read() as tx:
        after = tx.memories.count()
    assert (before, during, after) == (0, 0, 1)


def test_keys_only_grow(store: Store) -> None:
    """A key is never given twice, so an index may sort by it."""
    with store.atomic() as tx:
        keys = [add(tx, memory(f"note {number}")) for number in range(5)]

    assert keys == sorted(set(keys))


def test_two_active_memories_never_say_the_same(store: Store) -> None:
    """The store itself refuses a second active memory with the fingerprint of another in its scope."""
    with store.atomic() as tx:
        add(tx, memory("tea"))

    with pytest.raises(StorageError), store.atomic() as tx:
        add(tx, memory("tea"))
    with store.atomic() as tx:
        add(tx, memory("tea", scope=ANN))
        add(tx, memory("tea", status=Status.FORGOTTEN))

    with store.read() as tx:
        assert tx.memories.count() == 3


def test_replacing_what_is_not_there_is_an_error(store: Store) -> None:
    """A change never turns into a silent nothing."""
    with pytest.raises(MemoryNotFound), store.atomic() as tx:
        tx.memories.replace(memory("nobody"))


def test_twins_are_looked_for_in_exactly_one_scope(store: Store) -> None:
    """The same statement of someone else is not a twin."""
    mine = memory("tea", scope=ANN)
    with store.atomic() as tx:
        add(tx, mine)

        assert tx.memories.active_twin(b"tea", scope=ANN) == mine
        assert tx.memories.active_twin(b"tea", scope=GLOBAL) is None
        assert tx.memories.active_twin(b"tea", scope=Scope(project="p", user="ann")) is None
        assert not tx.memories.has_active_twin(mine.id)


def test_terms_are_put_in_place_of_earlier_ones(store: Store) -> None:
    """Indexing a memory again leaves no trace of its former words."""
    with store.atomic() as tx:
        key = add(tx, memory("tea"), "tea", "green", "tea")
        tx.terms.put(key, ["coffee"])

        assert tx.terms.statistics(["tea", "green", "coffee"], scope=GLOBAL).frequencies == {
            "tea": 0,
            "green": 0,
            "coffee": 1,
        }
        assert tx.terms.statistics([], scope=GLOBAL).memories == 1


def test_words_are_counted_and_found_within_a_scope(store: Store) -> None:
    """How common a word is, and who holds it, follows from what the reader may see."""
    with store.atomic() as tx:
        everyone = add(tx, memory("one"), "tea", "green")
        mine = add(tx, memory("Ann's", scope=ANN), "tea", "tea")
        theirs = [add(tx, memory(f"Bob's {number}", scope=BOB), "tea", "green") for number in range(3)]

    with store.read() as tx:
        seen = {scope: tx.terms.statistics(["tea", "green"], scope=scope) for scope in (GLOBAL, ANN, BOB)}
        found = {scope: tx.terms.holders("tea", scope=scope) for scope in (GLOBAL, ANN, BOB)}

    assert [(one.memories, [*one.frequencies.values()]) for one in seen.values()] == [
        (1, [1, 1]),
        (2, [2, 1]),
        (4, [4, 4]),
    ]
    assert list(found.values()) == [[everyone], [everyone, mine], [everyone, *theirs]]


def test_a_search_adds_the_weights_of_the_words_that_a_memory_holds(store: Store) -> None:
    """Best first by the sum of the weights; a word that stands twice counts once."""
    with store.atomic() as tx:
        both = add(tx, memory("one"), "green", "tea", "tea")
        tea = add(tx, memory("two"), "tea")
        add(tx, memory("three"), "coffee")

        found = tx.terms.search({"tea": 0.4, "green": 0.6}, scope=GLOBAL, filters=Filters(), limit=10)

        assert [one.key for one in found] == [both, tea]
        assert [one.score for one in found] == pytest.approx([1.0, 0.4])


def test_the_newest_come_first_and_in_scope(store: Store) -> None:
    """A word that is too common to rank by gives the latest memories that the reader may see."""
    with store.atomic() as tx:
        keys = [add(tx, memory(f"note {number}"), "tea") for number in range(4)]
        add(tx, memory("Ann's", scope=ANN), "tea")

        found = tx.terms.newest("tea", scope=GLOBAL, filters=Filters(), limit=3)

        assert [one.key for one in found] == keys[:0:-1]


def test_clearing_the_terms_leaves_an_index_that_works(store: Store) -> None:
    """After a rebuild from nothing words are found again, and only those that were put."""
    with store.atomic() as tx:
        key = add(tx, memory("tea"), "tea")
        tx.terms.clear(version=7)
        emptied = tx.terms.statistics(["tea"], scope=GLOBAL)
        version = tx.terms.version
        tx.terms.put(key, ["coffee"])

    with store.read() as tx:
        assert (emptied.memories, emptied.frequencies, version) == (0, {"tea": 0}, 7)
        assert tx.terms.statistics(["tea", "coffee"], scope=GLOBAL).frequencies == {"tea": 0, "coffee": 1}


def test_clearing_the_terms_is_undone_with_its_write(store: Store) -> None:
    """Readers see the old index until the new one is complete, and keep it if that fails."""
    with store.atomic() as tx:
        add(tx, memory("tea"), "tea")

    with pytest.raises(ZeroDivisionError), store.atomic() as tx:
        tx.terms.clear(version=7)
        raise ZeroDivisionError

    with store.read() as tx:
        assert tx.terms.statistics(["tea"], scope=GLOBAL).frequencies == {"tea": 1}


def test_vectors_come_back_nearly_as_they_went_in(store: Store) -> None:
    """Eight bits a number keep each within a hundredth of the largest; unknown keys are left out."""
    given = np.array([[0.6, -0.8, 0.0], [0.0, 0.0, 1.0]], np.float32)
    with store.atomic() as tx:
        keys = [add(tx, memory("one")), add(tx, memory("two"))]
        space = tx.vectors.make_space(SPACE)
        tx.vectors.put(space, keys, given)

        found, stored = tx.vectors.fetch(space, [*keys, 999])
        nothing, empty = tx.vectors.fetch(space, [999])

        assert found == keys
        assert stored.numbers.astype(np.float32) * stored.scales[:, None] == pytest.approx(given, abs=0.01)
        assert nothing == []
        assert empty.numbers.shape == (0, 3)


def test_a_space_is_its_whole_identity(store: Store) -> None:
    """Another revision or dimension is another space, and the same identity is the same space."""
    with store.atomic() as tx:
        first = tx.vectors.make_space(SPACE)

        assert tx.vectors.make_space(SPACE) == first
        assert tx.vectors.make_space(replace(SPACE, revision="2")) != first
        assert tx.vectors.make_space(replace(SPACE, dimension=4)) != first


def test_a_vector_of_another_length_is_refused(store: Store) -> None:
    """The space says how long its vectors are."""
    with pytest.raises(DimensionMismatch), store.atomic() as tx:
        key = add(tx, memory("one"))
        tx.vectors.put(tx.vectors.make_space(SPACE), [key], np.ones((1, 4), np.float32))


def test_what_waits_for_a_vector_is_what_is_indexed_and_has_none(store: Store) -> None:
    """Forgotten memories do not wait; those that are done do not either; the newest come first."""
    with store.atomic() as tx:
        space = tx.vectors.make_space(SPACE)
        first, second = add(tx, memory("one")), add(tx, memory("two", scope=ANN))
        add(tx, memory("gone", status=Status.FORGOTTEN))
        done = add(tx, memory("done"))
        tx.vectors.put(space, [done], np.ones((1, 3), np.float32))

        assert list(tx.vectors.pending(space, limit=10)) == [second, first]
        assert tx.vectors.count_pending(space) == 2
        assert tx.vectors.count_pending(space, scope=GLOBAL) == 1
        assert tx.vectors.count_pending(None) == 3


def test_stray_vectors_are_dropped_and_others_kept(store: Store) -> None:
    """Only memories that should have no vector lose theirs."""
    with store.atomic() as tx:
        space = tx.vectors.make_space(SPACE)
        keys = [add(tx, memory("kept")), add(tx, memory("gone", status=Status.FORGOTTEN))]
        tx.vectors.put(space, keys, np.ones((2, 3), np.float32))

        tx.vectors.drop_orphans()

        assert tx.vectors.fetch(space, keys)[0] == keys[:1]


def test_every_write_is_in_the_feed_of_changes_once(store: Store) -> None:
    """A reader that follows the cursor learns of new, changed and embedded memories, oldest change first."""
    with store.atomic() as tx:
        space = tx.vectors.make_space(SPACE)
        one, two = memory("one"), memory("two")
        first, second = add(tx, one), add(tx, two)
        start = tx.vectors.latest_change()
        tx.memories.replace(one.evolve(pinned=True))
        tx.vectors.put(space, [second], np.ones((1, 3), np.float32))

        changes = tx.vectors.changes(space, dimension=3, since=start, limit=10)
        page = tx.vectors.changes(space, dimension=3, since=0, limit=1)
        nothing = tx.vectors.changes(space, dimension=3, since=changes.cursor, limit=10)

        assert changes.keys.tolist() == [first, second]
        assert changes.has_vector.tolist() == [False, True]
        assert changes.cursor == tx.vectors.latest_change()
        assert len(page) == 1
        assert len(nothing) == 0
        assert nothing.cursor == changes.cursor


def test_history_is_told_in_order_and_completely(store: Store) -> None:
    """Events come back equal, oldest first, for their memory alone."""
    one = memory("one")
    events = [
        HistoryEvent(memory_id=one.id, at=NOW, action=Action.REMEMBER, new_status=Status.ACTIVE),
        HistoryEvent(
            memory_id=one.id,
            at=NOW + timedelta(microseconds=1),
            action=Action.FORGET,
            old_status=Status.ACTIVE,
            new_status=Status.FORGOTTEN,
            reason="privacy",
            changes={"pinned": (True, False), "confidence": (0.5, 0.6)},
        ),
    ]
    with store.atomic() as tx:
        add(tx, one)
        for event in events:
            tx.history.add(event)

        told = tx.history.of(one.id)

        assert [replace(event, act=None) for event in told] == events
        assert len({event.act for event in told}) == 1
        assert tx.history.of("nobody") == []


def test_the_audit_trail_is_told_newest_first(store: Store) -> None:
    """The latest actions, as many as asked for."""
    events = [AuditEvent(at=NOW, action=Action.PIN, target=str(n), detail={"n": n}) for n in range(3)]
    with store.atomic() as tx:
        for event in events:
            tx.audit.add(event)

        told = [replace(one, number=None) for one in tx.audit.recent(limit=2)]

    assert told == [events[2], events[1]]


def test_the_audit_trail_is_read_on_from_a_number(store: Store) -> None:
    """Each event has its own, larger than those before it; it need not be there any more."""
    with store.atomic() as tx:
        for n in range(5):
            tx.audit.add(AuditEvent(at=NOW, action=Action.PIN, target=str(n)))
        numbers = [event.number or 0 for event in tx.audit.recent(limit=9)]

        assert numbers == sorted(set(numbers), reverse=True)
        assert [one.target for one in tx.audit.recent(limit=2, before=numbers[1])] == ["2", "1"]
        assert len(tx.audit.recent(limit=9, before=numbers[0] + 1_000)) == 5
        assert tx.audit.recent(limit=9, before=numbers[-1]) == []


def test_dreams_are_read_on_from_a_number(store: Store) -> None:
    """A report says under which it is kept, also while the run goes on."""
    report = DreamReport(started_at=NOW)
    with store.atomic() as tx:
        runs = [
            tx.dreams.put(DreamRun(started_at=NOW, policy="balanced", steps=(), report=report))
            for _ in range(3)
        ]
        again = tx.dreams.put(runs[1])

        assert [run.report.number for run in (*runs, again)] == [1, 2, 3, 2]
        assert tx.dreams.recent(limit=9, before=runs[2].key) == [runs[1], runs[0]]
        assert tx.dreams.recent(limit=1, before=runs[2].key) == [runs[1]]
        assert tx.dreams.recent(limit=9, before=runs[0].key) == []


def test_questions_are_read_on_from_one_of_them(store: Store) -> None:
    """By weight, then age, then id, so that equal ones have an order too; a settled one marks the place."""
    order = [("c", 0.9, 0), ("e", 0.5, 0), ("a", 0.5, 1), ("b", 0.5, 1), ("d", 0.1, 0)]
    with store.atomic() as tx:
        for gap_id, weight, seconds in reversed(order):
            found_at = NOW + timedelta(seconds=seconds)
            asked = Gap(id=gap_id, kind=GapKind.STALE, question="?", priority=weight, found_at=found_at)
            tx.gaps.put(asked)
        tx.gaps.close("a", at=NOW, by=ActorKind.PERSON, because="")

        def following(gap_id: str | None) -> list[str]:
            return [gap.id for gap in tx.gaps.open_for(GLOBAL, limit=2, after=gap_id)]

        assert [following(one) for one in (None, "c", "e", "a", "d")] == [
            ["c", "e"],
            ["e", "b"],
            ["b", "d"],
            ["b", "d"],
            [],
        ]


def test_it_is_known_what_a_session_was_asked(store: Store) -> None:
    """Of exactly its scope; a question is found by the end of its id, and rests as long as somebody said."""
    mine = Scope(user="ann")
    later = NOW + timedelta(days=1)
    with store.atomic() as tx:
        for gap_id in ("gap-1-abcdefgh", "gap-2-ijklmnop"):
            tx.gaps.put(Gap(id=gap_id, kind=GapKind.STALE, question="?", scope=mine, found_at=NOW))
        tx.gaps.mark_asked(["gap-1-abcdefgh"], at=NOW, scope=mine, session="s1")
        tx.gaps.mark_asked(["gap-1-abcdefgh"], at=later, scope=mine, session="s1")
        tx.gaps.mark_asked(["gap-2-ijklmnop"], at=NOW, scope=mine)
        tx.gaps.snooze("gap-2-ijklmnop", until=later)
        asked = {gap.id: gap for gap in tx.gaps.open_for(mine, limit=9)}

        assert tx.gaps.asked_in("s1", scope=mine) == {"gap-1-abcdefgh": later}
        assert tx.gaps.asked_in("s1", scope=GLOBAL) == tx.gaps.asked_in("s2", scope=mine) == {}
        assert tx.gaps.ids_ending_with("abcdefgh", scope=mine) == ["gap-1-abcdefgh"]
        assert tx.gaps.ids_ending_with("abcdefgh", scope=GLOBAL) == []
        assert asked["gap-1-abcdefgh"].asked_at == later
        assert asked["gap-2-ijklmnop"].snoozed_until == later


def test_edges_replace_their_weight_and_never_close_a_circle(store: Store) -> None:
    """The same ends and type are one edge; inference that would prove itself is refused."""
    one, two, three = memory("one"), memory("two"), memory("three")

    def edge(source: Memory, target: Memory, weight: float = 0.5) -> Edge:
        return Edge(
            source=source.id, target=target.id, type=EdgeType.DERIVED_FROM, weight=weight, created_at=NOW
        )

    with store.atomic() as tx:
        for each in (one, two, three):
            add(tx, each)
        tx.edges.add(edge(one, two))
        tx.edges.add(edge(two, three))
        tx.edges.add(edge(one, two, weight=0.9))

        with pytest.raises(EdgeNotAllowed):
            tx.edges.add(edge(three, one))
        assert {(e.source, e.weight) for e in tx.edges.of(two.id)} == {(one.id, 0.9), (two.id, 0.5)}


def test_an_edge_to_nobody_is_refused(store: Store) -> None:
    """Links hold between memories that exist."""
    one = memory("one")

    with pytest.raises(StorageError), store.atomic() as tx:
        add(tx, one)
        tx.edges.add(Edge(source=one.id, target="nobody", type=EdgeType.NEXT, weight=1, created_at=NOW))


def test_turns_keep_what_was_said(store: Store) -> None:
    """A turn comes back equal, to those who may see it."""
    turn = Turn(
        id=new_id(NOW),
        content="hello",
        role=Role.USER,
        speaker="Ann",
        session="s1",
        scope=ANN,
        occurred_at=NOW,
        created_at=NOW,
    )
    with store.atomic() as tx:
        tx.turns.add(turn)

        assert tx.turns.get(turn.id, scope=ANN) == turn
        assert tx.turns.get(turn.id, scope=GLOBAL) is None
        assert tx.turns.list(scope=ANN, session="s1", limit=5) == [turn]
        assert tx.turns.list(scope=GLOBAL, session="s1", limit=5) == []


def test_turns_are_read_back_from_one_of_them(store: Store) -> None:
    """The latest before it, oldest of them first; of its conversation or of all, and only what is seen."""
    said = [
        Turn(
            id=new_id(NOW),
            content=str(n),
            role=Role.USER,
            session=f"s{n % 2}",
            scope=ANN,
            occurred_at=NOW,
            created_at=NOW,
        )
        for n in range(5)
    ]
    with store.atomic() as tx:
        for turn in said:
            tx.turns.add(turn)

        assert tx.turns.list(scope=ANN, session=None, limit=2, before=said[3].id) == said[1:3]
        assert tx.turns.list(scope=ANN, session="s1", limit=5, before=said[3].id) == [said[1]]
        assert tx.turns.list(scope=ANN, session=None, limit=5, before=said[0].id) == []
        assert tx.turns.ids_ending_with(said[2].id[-8:], scope=ANN) == [said[2].id]
        assert tx.turns.ids_ending_with(said[2].id[-8:], scope=GLOBAL) == []


def spoken(content: str, *, scope: Scope = ANN, **more: Any) -> Turn:
    """A turn of today."""
    fields = {"role": Role.USER, "occurred_at": NOW, "created_at": NOW, **more}
    return Turn(id=new_id(NOW), content=content, scope=scope, **fields)


def test_turns_are_found_by_their_words_within_a_scope(store: Store) -> None:
    """The more a turn's words weigh, the earlier it comes; what others said is neither found nor counted."""
    asked: dict[str, Any] = {"scope": ANN, "filters": Filters(), "heard_by": None, "limit": 5}
    with store.atomic() as tx:
        both, one, theirs = (
            heard(tx, spoken(text, scope=scope))
            for text, scope in (("green tea", ANN), ("green car", ANN), ("green tea", Scope(user="ben")))
        )

        found = tx.turn_terms.search({"green": 0.25, "tea": 0.75}, **asked)
        newest = tx.turn_terms.newest("green", **asked)

        assert [(hit.key, hit.score) for hit in found] == [(both, 1.0), (one, 0.25)]
        assert [hit.key for hit in newest] == [one, both]
        assert tx.turn_terms.frequencies(["green", "tea", "cake"], scope=ANN, at_most=9) == {
            "green": 2,
            "tea": 1,
            "cake": 0,
        }
        assert tx.turn_terms.frequencies(["green"], scope=ANN, at_most=1) == {"green": 1}
        assert [tx.turn_terms.count(scope=scope, at_most=9) for scope in (ANN, GLOBAL)] == [2, 0]
        assert set(tx.turns.by_keys([both, theirs, 999])) == {both, theirs}


def test_turns_are_narrowed_by_when_where_and_by_whom(store: Store) -> None:
    """Filters by session, speaker and time, and what was heard by a moment."""
    later = NOW + timedelta(days=1)
    with store.atomic() as tx:
        first = heard(tx, spoken("tea", session="s1", speaker="Zoë"))
        second = heard(tx, spoken("tea", occurred_at=later, created_at=later))

        def found(heard_by: datetime | None = None, **narrowed: Any) -> list[int]:
            filters = Filters(**narrowed)
            hits = tx.turn_terms.search({"tea": 1.0}, scope=ANN, filters=filters, heard_by=heard_by, limit=5)
            return [hit.key for hit in hits]

        assert found() == [second, first]
        assert found(sessions=frozenset({"s1"})) == found(speakers=frozenset({"zoe"})) == [first]
        assert found(until=later) == found(heard_by=NOW) == [first]
        assert found(since=later) == [second]


def test_a_deleted_turn_is_in_no_index(store: Store) -> None:
    """Dropping turns takes their words, and the note of what they left."""
    with store.atomic() as tx:
        turn = spoken("tea")
        heard(tx, turn)
        add(tx, memory("I like tea", provenance=Provenance(turns=(turn.id,))))
        tx.erasures.drop_turns([turn.id])

        assert tx.turn_terms.count(scope=ANN, at_most=5) == 0
        assert tx.turns.memories_of([turn.id]) == {}


def test_a_turn_knows_what_was_read_out_of_it(store: Store) -> None:
    """Also what came to rest on it later, whatever its status; not what only sums it up."""
    with store.atomic() as tx:
        said, silent = spoken("I like tea"), spoken("hm")
        for turn in (said, silent):
            heard(tx, turn)
        tx.turns.settle([said.id, silent.id], now=NOW)
        first = memory("I like tea", provenance=Provenance(turns=(said.id, "gone")))
        later = memory("I drink tea")
        summary = memory("A talk on tea", provenance=Provenance(turns=(said.id, silent.id), episodes=("e",)))
        for one in (first, later, summary):
            add(tx, one)
        changed = later.evolve(status=Status.FORGOTTEN, provenance=Provenance(turns=(said.id,)))
        tx.memories.replace(changed)

        assert tx.turns.memories_of([said.id, silent.id]) == {said.id: [first, changed]}
        assert tx.turns.count_without_memories() == 1
        tx.turns.relink()
        assert tx.turns.memories_of([said.id]) == {said.id: [first, changed]}


def test_turns_are_marked_as_summed_up_together_or_not_at_all(store: Store) -> None:
    """Only those that a user or an assistant spoke and that were read wait; none is marked twice."""
    with store.atomic() as tx:
        turns = [spoken(text, session="s") for text in ("one", "two", "three")]
        for turn in (*turns, spoken("four", session="t")):
            heard(tx, turn)
        assert list(tx.turns.unsummarized("s", scope=ANN, limit=5)) == []
        tx.turns.settle([one.id for one in turns], now=NOW)
        first, second, third = turns

        assert list(tx.turns.unsummarized("s", scope=ANN, limit=2)) == [first, second]
        assert list(tx.turns.unsummarized("s", scope=Scope(user="ben"), limit=2)) == []
        assert tx.turns.mark_summarized([first.id, second.id], now=NOW)
        assert not tx.turns.mark_summarized([second.id, third.id], now=NOW)
        assert not tx.turns.mark_summarized([third.id, "gone"], now=NOW)
        assert list(tx.turns.unsummarized("s", scope=ANN, limit=5)) == [third]
        tx.turns.unmark_summarized([second.id])
        assert list(tx.turns.unsummarized("s", scope=ANN, limit=5)) == [second, third]


def test_what_repeats_a_forgotten_memory_is_known(store: Store) -> None:
    """Word for word, in its own scope, and only where it is more than a word or two."""
    with store.atomic() as tx:
        turns = [spoken(text) for text in ("so, i like GREEN tea, ok?", "I like tea", "tea")]
        theirs = spoken("I like green tea", scope=Scope(user="ben"))
        for turn in (*turns, theirs):
            heard(tx, turn)
        for content in ("I like green tea.", "tea"):
            add(tx, memory(content, scope=ANN, status=Status.FORGOTTEN))

        assert tx.erasures.retelling_forgotten([one.id for one in (*turns, theirs)]) == {turns[0].id}


def heard(tx: Transaction, turn: Turn) -> int:
    """Store a turn with its words, and return its key."""
    key = tx.turns.add(turn)
    tx.turn_terms.put(key, turn_terms(turn))
    return key


def test_what_is_stored_is_there_after_reopening(store_path: Path) -> None:
    """Closing loses nothing, and the file can be opened by its path alone."""
    settings = Settings(store=str(store_path))
    one = memory("one")
    first = open_store(settings, now=NOW)
    with first.atomic() as tx:
        add(tx, one)
    first.close()

    second = open_store(settings, now=NOW)
    with second.read() as tx:
        found = tx.memories.get(one.id, scope=GLOBAL)
    second.close()

    assert found == one


def test_a_sound_store_passes_its_own_checks(store: Store) -> None:
    """Every check of an ordinary store is positive, and says what it looked at."""
    with store.atomic() as tx:
        add(tx, memory("one"), "one")

    checks = [check for check in store.check() if check.name != "memories"]

    assert all(check.ok for check in checks)
    assert all(check.found for check in checks)


def test_a_closed_store_refuses_everything(store: Store) -> None:
    """Reading, writing and checking all name the reason."""
    store.close()

    for use in (store.atomic, store.read):
        with pytest.raises(StoreClosed), use():
            pass
    with pytest.raises(StoreClosed):
        list(store.check())


def test_an_unknown_kind_of_store_is_named() -> None:
    """A location that no store serves is an error that names its kind and not its password."""
    with pytest.raises(InvalidSettings, match="postgresql") as refused:
        open_store(Settings(store="postgresql://ann:hunter2@host/db"), now=NOW)

    assert "hunter2" not in str(refused.value)
