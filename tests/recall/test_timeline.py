"""A timeline: how what is known of a topic changed, each act once, in order, and when most of it did."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from engramdb import Filters, Layer, Scope, Status
from engramdb.recall.timeline import busiest, timeline, trace
from engramdb.values import Action, Edge, EdgeType, HistoryEvent, Memory
from engramdb.values.recall import KnowledgeChange

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engramdb import Engram
    from engramdb.testing import ManualClock
    from engramdb.values.recall import Timeline, TimelineEntry

BORN = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
EVERYTHING = Filters(statuses=frozenset(Status))
ADDITION, REINFORCEMENT, CORRECTION, DISPUTE, REMOVAL, RETURN = KnowledgeChange


def told(engram: Engram, found: Sequence[Memory] | None = None, *, scope: Scope | None = None) -> Timeline:
    """The timeline of some memories, or of all there are."""
    about = engram.list(filters=EVERYTHING, scope=scope) if found is None else found
    with engram._parts.store.read() as tx:
        return timeline(tx, "a topic", about, now=engram._parts.clock.now())


def story(line: Timeline) -> list[tuple[str, str, str | None]]:
    """Every change in a line: what it was, of what, and against what."""
    return [
        (entry.change.value, entry.memory.content, against.content if against else None)
        for entry in line.entries
        for against in [entry.replaced or entry.disputed]
    ]


def only(line: Timeline, change: KnowledgeChange) -> TimelineEntry:
    """The one entry of this kind."""
    (entry,) = [entry for entry in line.entries if entry.change is change]
    return entry


# --- what is told -------------------------------------------------------------------------------------------


def test_vim_then_helix_then_vim_again(engram: Engram, clock: ManualClock) -> None:
    """A change of mind is one entry with both sides, however often it happens."""
    vim = engram.remember("I use vim as my editor")
    clock.advance(days=1)
    engram.remember("I use Helix now, not vim")
    clock.advance(days=1)
    back = engram.remember("I switched from Helix to vim")

    line = told(engram)

    assert line.topic == "a topic"
    assert story(line) == [
        ("addition", "I use vim as my editor", None),
        ("correction", "I use Helix now, not vim", "I use vim as my editor"),
        ("correction", "I switched from Helix to vim", "I use Helix now, not vim"),
    ]
    assert [entry.at for entry in line.entries] == [vim.created_at + n * DAY for n in range(3)]
    assert line.entries[-1].memory == back


def test_a_correction_by_hand_keeps_its_reason(engram: Engram, clock: ManualClock) -> None:
    """The words of whoever corrected it stand beside both statements."""
    old = engram.remember("My editor is vim")
    clock.advance(days=1)
    new = engram.correct(old.id, "My editor is Helix", reason="I switched")

    entry = only(told(engram), CORRECTION)

    assert (entry.at, entry.reason) == (clock.now(), "I switched")
    assert entry.memory == engram.get(new.id)
    assert entry.replaced == engram.get(old.id)


def test_a_correction_to_something_already_known_is_one_entry(engram: Engram, clock: ManualClock) -> None:
    """The known statement gains evidence by it, and that is the same act."""
    engram.remember("Ann likes tea")
    wrong = engram.remember("Bob plays the cello")
    clock.advance(days=1)
    engram.correct(wrong.id, "Ann likes tea")

    assert story(told(engram))[2:] == [("correction", "Ann likes tea", "Bob plays the cello")]


def test_saying_it_again_in_the_same_moment_is_told_too(engram: Engram, clock: ManualClock) -> None:
    """Only the first telling is part of the correction."""
    engram.remember("I use vim as my editor")
    clock.advance(days=1)
    engram.remember("I use Helix now, not vim")
    engram.remember("I use Helix now, not vim")

    assert [entry.change for entry in told(engram).entries] == [ADDITION, CORRECTION, REINFORCEMENT]


def test_memories_are_shown_as_they_were_then(engram: Engram, clock: ManualClock) -> None:
    """Confidence grows from entry to entry; what is superseded today was active when it was learned."""
    first = engram.remember("I use vim as my editor", confidence=0.5)
    clock.advance(days=1)
    second = engram.remember("I use vim as my editor")
    clock.advance(days=1)
    engram.remember("I use Helix now, not vim")

    learned, confirmed, _ = told(engram).entries

    assert (learned.change, confirmed.change) == (ADDITION, REINFORCEMENT)
    assert learned.memory == first
    assert confirmed.memory == second
    assert confirmed.reason == "said again"


def test_a_dispute_names_both(engram: Engram, clock: ManualClock) -> None:
    """What has much evidence is doubted and stays; the newcomer is told with the doubt that it brings."""
    for _ in range(4):
        known = engram.remember("Ann lives in Paris")
    clock.advance(days=1)
    new = engram.remember("Ann lives in Rome")

    line = told(engram)
    entry = only(line, DISPUTE)

    assert [one.change for one in line.entries] == [ADDITION, *[REINFORCEMENT] * 3, DISPUTE]
    assert entry.memory == new
    assert entry.disputed == engram.get(known.id)
    assert entry.replaced is None
    assert entry.reason == engram.history(known.id)[-1].reason != ""


def test_a_contradiction_noted_later_is_a_dispute_of_that_day(engram: Engram, clock: ManualClock) -> None:
    """A link alone tells of it, too: nothing had to be weakened."""
    one, other = engram.remember("Ann likes tea"), engram.remember("Bob plays the cello")
    clock.advance(days=1)
    edge = Edge(source=other.id, target=one.id, type=EdgeType.CONTRADICTS, weight=1.0, created_at=clock.now())
    with engram._parts.store.atomic() as tx:
        tx.edges.add(edge)

    entry = only(told(engram), DISPUTE)

    assert (entry.at, entry.memory.id) == (clock.now(), other.id)
    assert entry.disputed == one


def test_doubted_by_hand_and_cleared(engram: Engram, clock: ManualClock) -> None:
    """A challenge without a counter-statement is a dispute; the end of it is a return."""
    made = engram.remember("Ann likes tea")
    clock.advance(days=1)
    engram.set_status(made.id, Status.CHALLENGED, reason="Bob says no")
    clock.advance(days=1)
    engram.set_status(made.id, Status.ACTIVE, reason="Ann says yes")

    doubted, cleared = told(engram).entries[1:]

    assert (doubted.change, doubted.reason, doubted.disputed) == (DISPUTE, "Bob says no", None)
    assert (cleared.change, cleared.reason) == (RETURN, "Ann says yes")


def test_coming_back_under_doubt_is_a_return(engram: Engram, clock: ManualClock) -> None:
    """It did not count at all before, so it gained by it."""
    made = engram.remember("Ann likes tea")
    clock.advance(days=1)
    engram.set_status(made.id, Status.INVALIDATED)
    clock.advance(days=1)
    engram.set_status(made.id, Status.CHALLENGED, reason="perhaps after all")

    assert [entry.change for entry in told(engram).entries] == [ADDITION, REMOVAL, RETURN]


def test_archived_by_age_and_restored(engram: Engram, clock: ManualClock) -> None:
    """What a rule took away is a removal with the rule's name, and what came back is a return."""
    made = engram.remember("Tea may be good", confidence=0.2)
    clock.advance(days=400)
    engram.age()
    clock.advance(days=1)
    engram.restore(made.id, reason="it is good")

    line = told(engram)

    assert [entry.change for entry in line.entries] == [ADDITION, REMOVAL, RETURN]
    assert [entry.reason for entry in line.entries][1:] == [engram.history(made.id)[1].reason, "it is good"]
    assert line.entries[1].memory.status is Status.ARCHIVED


def test_bringing_the_old_one_back_does_not_rewrite_the_story(engram: Engram, clock: ManualClock) -> None:
    """The link between the two is gone by then, and the correction is told all the same."""
    old = engram.remember("My editor is vim")
    clock.advance(days=1)
    engram.correct(old.id, "My editor is Helix")
    clock.advance(days=1)
    engram.set_status(old.id, Status.ACTIVE, reason="both are mine")

    assert story(told(engram)) == [
        ("addition", "My editor is vim", None),
        ("correction", "My editor is Helix", "My editor is vim"),
        ("return", "My editor is vim", None),
    ]


def test_pins_layers_and_tidying_are_no_change_of_what_is_known(engram: Engram, clock: ManualClock) -> None:
    """Nor is the way from superseded to archived: it counted no longer."""
    old = engram.remember("My editor is vim", layer=Layer.EPISODIC)
    clock.advance(days=1)
    new = engram.correct(old.id, "My editor is Helix")
    clock.advance(days=1)
    engram.pin(new.id)
    engram.promote(new.id)
    engram.set_status(old.id, Status.ARCHIVED)

    assert [entry.change for entry in told(engram).entries] == [ADDITION, CORRECTION]


# --- what belongs to it -------------------------------------------------------------------------------------


def test_what_it_replaced_is_shown_though_it_was_not_found(engram: Engram, clock: ManualClock) -> None:
    """The other side of a correction is read along; the rest of its life is not this topic's."""
    old = engram.remember("My editor is vim")
    clock.advance(days=1)
    new = engram.correct(old.id, "My editor is Helix")

    of_new, of_old = told(engram, [new]), told(engram, [engram.get(old.id)])

    assert story(of_new) == [("correction", "My editor is Helix", "My editor is vim")]
    assert story(of_old) == [
        ("addition", "My editor is vim", None),
        ("correction", "My editor is Helix", "My editor is vim"),
    ]


def test_the_forgotten_is_in_no_timeline(engram: Engram, clock: ManualClock) -> None:
    """Neither as an entry nor as the other side of one: what it replaced was simply removed."""
    old = engram.remember("My editor is vim")
    clock.advance(days=1)
    secret = engram.correct(old.id, "My editor is Helix", reason="I switched")
    clock.advance(days=1)
    engram.forget(secret.id)

    line = told(engram)

    assert story(line) == [("addition", "My editor is vim", None), ("removal", "My editor is vim", None)]
    assert line.entries[-1].reason == "I switched"


def test_links_show_nothing_of_a_narrower_scope(engram: Engram, clock: ManualClock) -> None:
    """A global memory that Ann's contradicts tells nothing of Ann's; Ann herself is told."""
    ann = Scope(user="ann")
    public = engram.remember("Tea is good")
    private = engram.remember("The doctor forbids me coffee", scope=ann)
    edge = Edge(
        source=private.id, target=public.id, type=EdgeType.CONTRADICTS, weight=1.0, created_at=clock.now()
    )
    with engram._parts.store.atomic() as tx:
        tx.edges.add(edge)

    assert story(told(engram, [public])) == [("addition", "Tea is good", None)]
    assert ("dispute", private.content, public.content) in story(told(engram, scope=ann))


def test_no_memories_no_entries(engram: Engram) -> None:
    """Nothing known is an empty timeline, not a failure."""
    line = told(engram)

    assert (line.entries, line.busiest) == ((), ())


# --- rows of the first versions -----------------------------------------------------------------------------


def memory(memory_id: str, days: float = 0, **fields: Any) -> Memory:
    """A memory made so many days after BORN."""
    at = BORN + days * DAY
    return Memory(id=memory_id, content=memory_id, created_at=at, updated_at=at).evolve(**fields)


def born(one: Memory) -> HistoryEvent:
    """The first row of a memory's history."""
    return HistoryEvent(memory_id=one.id, at=one.created_at, action=Action.REMEMBER, new_status=Status.ACTIVE)


def test_rows_that_do_not_name_the_successor_are_told_by_what_the_memories_say() -> None:
    """First by the memory that was replaced; once that was brought back, by the one that replaced it."""
    new = memory("new", 1, supersedes="old")
    gone = memory("old", status=Status.SUPERSEDED, superseded_by="new")
    left = HistoryEvent(
        memory_id="old",
        at=new.created_at,
        action=Action.SUPERSEDE,
        old_status=Status.ACTIVE,
        new_status=Status.SUPERSEDED,
    )
    back = HistoryEvent(
        memory_id="old",
        at=BORN + 2 * DAY,
        action=Action.RESTORE,
        old_status=Status.SUPERSEDED,
        new_status=Status.ACTIVE,
    )
    history = {"old": [born(gone), left], "new": [born(new)]}
    restored = memory("old"), {"old": [*history["old"], back], "new": [born(new)]}

    still_gone = trace("t", [gone, new], linked=[], history=history, edges=[])
    brought_back = trace("t", [restored[0], new], linked=[], history=restored[1], edges=[])

    expected = [("addition", "old", None), ("correction", "new", "old")]
    assert story(still_gone) == expected
    assert story(brought_back) == [*expected, ("return", "old", None)]


def test_a_weakening_without_a_link_is_a_dispute_of_the_one_that_is_left() -> None:
    """Whoever contradicted it may be gone; that it was doubted is still told."""
    weak = memory("weak", confidence=0.6)
    row = HistoryEvent(
        memory_id="weak",
        at=BORN + DAY,
        action=Action.WEAKEN,
        reason="another",
        changes={"confidence": (0.8, 0.6)},
    )

    line = trace("t", [weak], linked=[], history={"weak": [born(weak), row]}, edges=[])

    assert [(entry.change, entry.memory.confidence) for entry in line.entries] == [
        (ADDITION, 0.8),
        (DISPUTE, 0.6),
    ]


# --- when most of it happened -------------------------------------------------------------------------------


def spans(moments: Sequence[datetime]) -> list[tuple[str, str, int]]:
    """The busiest periods as dates."""
    found = busiest(moments)
    return [(f"{one.start:%Y-%m-%d}", f"{one.end:%Y-%m-%d}", one.entries) for one in found]


def test_a_short_span_is_counted_in_days() -> None:
    """The three busiest days, busiest first, and of equal ones the latest first."""
    moments = [BORN + days * DAY for days in (0, 0.9, 1, 4, 4.1, 4.2, 9, 9.5, 20)]

    assert spans(moments) == [
        ("2026-01-05", "2026-01-06", 3),
        ("2026-01-10", "2026-01-11", 2),
        ("2026-01-01", "2026-01-02", 2),
    ]


def test_a_longer_span_is_counted_in_weeks() -> None:
    """Weeks begin on Monday."""
    moments = [BORN + days * DAY for days in (0, 3, 4, 60)]

    assert spans(moments) == [
        ("2025-12-29", "2026-01-05", 2),
        ("2026-03-02", "2026-03-09", 1),
        ("2026-01-05", "2026-01-12", 1),
    ]


def test_a_long_span_is_counted_in_months() -> None:
    """Months are those of the calendar, through the end of a year."""
    moments = [datetime(2024, 12, 31, 23, tzinfo=UTC), *(datetime(2026, 2, n, tzinfo=UTC) for n in (1, 28))]

    assert spans(moments) == [("2026-02-01", "2026-03-01", 2), ("2024-12-01", "2025-01-01", 1)]


def test_one_moment_makes_one_busy_day() -> None:
    """A single entry needs no span; none needs nothing."""
    assert spans([BORN + DAY / 2]) == [("2026-01-01", "2026-01-02", 1)]
    assert busiest([]) == ()
