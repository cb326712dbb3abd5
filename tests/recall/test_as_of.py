"""As of an earlier moment: what was believed then, as it was then, and what does not come back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from engramdb import Filters, Kind, Layer, Memory, Scope, Status
from engramdb.errors import StoreCorrupt
from engramdb.lifecycle.change import ChangeRequest, count_run
from engramdb.lifecycle.recorded import before_event
from engramdb.lifecycle.transitions import MemoryWriter
from engramdb.recall.as_of import as_it_was, believed, widened
from engramdb.store.sqlite.memories import HistoryTable
from engramdb.values import GLOBAL, AccessLog, Action, Actor, HistoryEvent, Provenance, SecurityTier
from engramdb.values.query import Then

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engramdb import Engram
    from engramdb.testing import ManualClock
    from engramdb.values import MemoryId

BORN = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
ACTIVE = frozenset({Status.ACTIVE})
ANN = Scope(user="ann")


def memory(**fields: Any) -> Memory:
    """A memory made at BORN."""
    made = Memory(id="one", content="I like tea", created_at=BORN, updated_at=BORN)
    return made.evolve(**fields)


def event(days: float, action: Action, **fields: Any) -> HistoryEvent:
    """Something that happened to the memory so many days after it was made."""
    return HistoryEvent(memory_id="one", at=BORN + days * DAY, action=action, **fields)


def then(engram: Engram, moment: datetime, **options: Any) -> list[Memory]:
    """What was believed at a moment, newest first."""
    scope = options.pop("scope", GLOBAL)
    filters = Filters(**{"statuses": ACTIVE} | options)
    with engram._parts.store.read() as tx:
        found = believed(
            tx,
            range(300, 0, -1),
            then=Then(as_of=moment),
            scope=scope,
            filters=filters,
            now=engram._now(),
            limit=100,
        )
    return [one.unmarked for _, one in found]


def at(engram: Engram, memory_id: MemoryId, moment: datetime) -> Memory:
    """One memory as it was at a moment."""
    with engram._parts.store.read() as tx:
        was = as_it_was(engram.get(memory_id), tx.history.of(memory_id), moment)
    assert was is not None
    return was.unmarked


def contents(memories: Sequence[Memory]) -> list[str]:
    """What the memories say."""
    return [one.content for one in memories]


# --- what was believed --------------------------------------------------------------------------------------


def test_vim_then_helix_then_vim_again(engram: Engram, clock: ManualClock) -> None:
    """Each day has its own editor, and the days before and between are told apart."""
    days = [clock.now() + n * DAY for n in range(7)]
    clock.advance(days=1)
    engram.remember("I use vim as my editor")
    clock.advance(days=2)
    engram.remember("I use Helix now, not vim")
    clock.advance(days=2)
    engram.remember("I switched from Helix to vim")

    believed_on = [contents(then(engram, day)) for day in days]

    assert believed_on == [
        [],
        ["I use vim as my editor"],
        ["I use vim as my editor"],
        ["I use Helix now, not vim"],
        ["I use Helix now, not vim"],
        ["I switched from Helix to vim"],
        ["I switched from Helix to vim"],
    ]


def test_a_correction_by_hand_is_undone_whole(engram: Engram, clock: ManualClock) -> None:
    """Before it was corrected, a memory had no successor, no end, and was the version that it is."""
    old = engram.remember("My editor is vim", importance=0.9)
    before = clock.now()
    clock.advance(days=1)
    engram.correct(old.id, "My editor is Helix", reason="I switched")

    was = then(engram, before)

    assert was == [old]


def test_what_happened_at_the_very_moment_is_known(engram: Engram, clock: ManualClock) -> None:
    """A moment is the end of what happened in it; a microsecond earlier nothing of it is known."""
    engram.remember("I like tea")

    at_once, just_before = clock.now(), clock.now() - timedelta(microseconds=1)

    assert contents(then(engram, at_once)) == ["I like tea"]
    assert then(engram, just_before) == []


def test_other_statuses_may_be_asked_for(engram: Engram, clock: ManualClock) -> None:
    """What was superseded by then is found by asking for the superseded, and only from then on."""
    old = engram.remember("My editor is vim")
    start = clock.now()
    clock.advance(days=1)
    engram.correct(old.id, "My editor is Helix")
    corrected = clock.now()
    clock.advance(days=1)
    engram.set_status(old.id, Status.ARCHIVED)

    superseded = frozenset({Status.SUPERSEDED})

    assert then(engram, start, statuses=superseded) == []
    assert contents(then(engram, corrected, statuses=superseded)) == ["My editor is vim"]
    assert then(engram, clock.now(), statuses=superseded) == []


def test_a_memory_is_in_the_layer_that_it_was_in(engram: Engram, clock: ManualClock) -> None:
    """Layers are asked for as they were; who chose the layer is undone with it."""
    made = engram.remember("The API uses JWT tokens", layer=Layer.EPISODIC)
    start = clock.now()
    clock.advance(days=1)
    engram.promote(made.id)

    episodic = then(engram, start, layers=frozenset({Layer.EPISODIC}))

    assert episodic == [made]
    assert isinstance(episodic[0].layer, Layer)
    assert then(engram, clock.now(), layers=frozenset({Layer.EPISODIC})) == []
    assert then(engram, clock.now(), layers=frozenset({Layer.SEMANTIC})) == [engram.get(made.id)]


def test_searching_lets_every_findable_status_and_layer_through() -> None:
    """Today's status and layer say nothing of then; what cannot change still narrows the search."""
    asked = Filters(layers=frozenset({Layer.SEMANTIC}), kinds=frozenset({Kind.NOTE}), since=BORN)

    wide = widened(asked)

    assert wide.statuses == {status for status in Status if status.is_indexed}
    assert wide.layers == frozenset()
    assert (wide.kinds, wide.since) == (asked.kinds, asked.since)


def test_nobody_sees_into_another_scope_by_asking_about_the_past(engram: Engram, clock: ManualClock) -> None:
    """Scope holds for yesterday as for today, whatever keys an index names."""
    engram.remember("Ann likes tea", scope=ANN)
    engram.remember("Tea grows in Assam")

    assert contents(then(engram, clock.now())) == ["Tea grows in Assam"]
    assert len(then(engram, clock.now(), scope=ANN)) == 2
    assert contents(then(engram, clock.now(), scope=Scope(user="bob"))) == ["Tea grows in Assam"]


# --- a life undone ------------------------------------------------------------------------------------------


def test_reinforcement_is_undone_with_its_evidence(engram: Engram, clock: ManualClock) -> None:
    """Confidence, count, confirmation, pin and turns are those of the first telling."""
    engram.observe("I live in Oslo", session="s1")
    engram.flush()
    (first,) = engram.list()
    start = clock.now()
    clock.advance(days=1)
    engram.observe("I live in Oslo", session="s2")
    engram.flush()
    (confirmed,) = engram.list()

    was = at(engram, first.id, start)

    assert confirmed.reinforcements == 1
    assert len(confirmed.provenance.turns) == 2
    assert was == first


def test_pins_and_counts_are_undone(engram: Engram, clock: ManualClock) -> None:
    """A pin set later was not there, and a run counted later had not happened."""
    made = engram.remember("Run the tests before a release")
    start = clock.now()
    clock.advance(days=1)
    engram.pin(made.id)
    pinned_at = clock.now()
    clock.advance(days=1)
    engram.unpin(made.id)
    store = engram._parts.store
    request = ChangeRequest(store=store, scope=GLOBAL, actor=Actor(), now=clock.now())
    count_run(made.id, request, is_success=True)

    assert at(engram, made.id, start) == made
    assert at(engram, made.id, pinned_at).pinned is True
    assert at(engram, made.id, pinned_at).successes == 0
    assert engram.get(made.id).successes == 1


def test_a_dispute_is_undone(engram: Engram, clock: ManualClock) -> None:
    """Before somebody contradicted it, a statement was believed as much as it had been."""
    for _ in range(4):
        known = engram.remember("Ann lives in Paris")
    start = clock.now()
    clock.advance(days=1)
    engram.remember("Ann lives in Rome")

    assert engram.get(known.id).confidence < known.confidence
    assert then(engram, start) == [known]


def test_archived_by_age_and_restored(engram: Engram, clock: ManualClock) -> None:
    """It was active, then archived, then active again, and each time as it was."""
    made = engram.remember("Tea may be good", confidence=0.2)
    start = clock.now()
    clock.advance(days=400)
    engram.age()
    gone = engram.get(made.id)
    archived_at = clock.now()
    clock.advance(days=1)
    engram.restore(made.id)

    assert gone.status is Status.ARCHIVED
    assert at(engram, made.id, start) == made
    assert at(engram, made.id, archived_at) == gone
    assert at(engram, made.id, clock.now()) == engram.get(made.id)
    assert engram.get(made.id).status is Status.ACTIVE


def test_the_date_that_a_return_clears_is_there_again(engram: Engram, clock: ManualClock) -> None:
    """A memory with an end, brought back after it, had that end before."""
    ends = clock.now() + 3 * DAY
    made = engram.remember("The code of the door is 4711", forget_after=ends)
    start = clock.now()
    clock.advance(days=5)
    engram.age()
    clock.advance(days=1)
    engram.restore(made.id)

    assert engram.get(made.id).forget_after is None
    assert then(engram, start) == [made]


# --- what does not come back --------------------------------------------------------------------------------


def test_what_is_forgotten_stays_forgotten_for_the_past_too(engram: Engram, clock: ManualClock) -> None:
    """Even where an index names its key, a forgotten memory is not given back, as of whatever moment."""
    made = engram.remember("The codeword is swordfish")
    start = clock.now()
    clock.advance(days=1)
    engram.forget(made.id)

    every_status = frozenset(Status)

    assert then(engram, start) == []
    assert then(engram, start, statuses=every_status) == []
    assert then(engram, clock.now(), statuses=every_status) == []


def test_what_was_forgotten_then_was_not_believed_then(engram: Engram, clock: ManualClock) -> None:
    """Brought back today, it is still absent from the days on which it was forgotten."""
    made = engram.remember("I like tea")
    start = clock.now()
    clock.advance(days=1)
    engram.forget(made.id)
    forgotten = clock.now()
    clock.advance(days=1)
    engram.set_status(made.id, Status.ACTIVE, reason="a mistake")

    assert contents(then(engram, start)) == ["I like tea"]
    assert then(engram, forgotten) == []
    assert contents(then(engram, clock.now())) == ["I like tea"]


def test_nothing_is_left_of_what_was_erased(engram: Engram, clock: ManualClock) -> None:
    """There are no words to give back, so there is no memory; from then on there is an empty row."""
    made = engram.remember("The codeword is swordfish")
    start = clock.now()
    clock.advance(days=1)
    with engram._parts.store.atomic() as tx:
        writer = MemoryWriter(tx, Actor(), engram._now())
        writer.set_status(made, Status.ERASED, action=Action.ERASE, reason="asked for")

    with engram._parts.store.read() as tx:
        history = tx.history.of(made.id)

    assert as_it_was(engram.get(made.id), history, start) is None
    assert as_it_was(engram.get(made.id), history, clock.now()) == engram.get(made.id)


def test_recalls_after_the_moment_are_cut_from_the_log() -> None:
    """The log ends at the moment; what it has no dates for stays counted."""
    moments = tuple(BORN + n * DAY for n in range(1, 5))
    log = AccessLog(count=9, last_at=moments[-1], recent=moments, sessions=8)

    was = as_it_was(memory(access=log), [], BORN + 2 * DAY)
    before_all = as_it_was(memory(access=log), [], BORN)

    assert was is not None
    assert was.access == AccessLog(count=7, last_at=moments[1], recent=moments[:2], sessions=7)
    assert before_all is not None
    assert before_all.access == AccessLog(count=5, last_at=None, recent=(), sessions=5)


# --- rows of every age --------------------------------------------------------------------------------------


def test_texts_become_values_again() -> None:
    """What JSON made of layers, tiers, times and numbers is made good again."""
    changes: Mapping[str, tuple[Any, Any]] = {
        "layer": ("working", "semantic"),
        "kind": ("episode", "note"),
        "security": ("sensitive", "cleartext"),
        "confirmed_at": (None, "2026-01-02T00:00:00Z"),
        "valid_to": ("2026-03-01T12:30:00.000001Z", None),
        "superseded_by": ("two", None),
        "turns": (1, 3),
        "confidence": (0.3, 0.4),
        "layer_held": (False, True),
        "unheard_of": ("a", "b"),
    }
    today = memory(
        layer=Layer.SEMANTIC, provenance=Provenance(turns=("a", "b", "c")), confirmed_at=BORN + DAY
    )

    was = before_event(today, event(1, Action.RESTORE, changes=changes))

    assert was.layer is Layer.WORKING
    assert was.kind is Kind.EPISODE
    assert was.security is SecurityTier.SENSITIVE
    assert was.valid_to == datetime(2026, 3, 1, 12, 30, 0, 1, tzinfo=UTC)
    assert (was.confirmed_at, was.superseded_by, was.confidence) == (None, "two", 0.3)
    assert (was.layer_held, was.provenance.turns) == (False, ("a",))


@pytest.mark.parametrize("action", [Action.SUPERSEDE, Action.CORRECT])
def test_an_old_row_of_a_replacement_is_undone_too(action: Action) -> None:
    """Rows of the first versions hold the status alone; successor and end go with it."""
    today = memory(status=Status.SUPERSEDED, superseded_by="two", valid_to=BORN + DAY, updated_at=BORN + DAY)
    row = event(1, action, old_status=Status.ACTIVE, new_status=Status.SUPERSEDED)

    assert as_it_was(today, [row], BORN) == memory()


def test_an_old_row_never_leaves_a_time_after_the_moment() -> None:
    """A confirmation that came later, by a row that does not mention it, is none."""
    today = memory(reinforcements=2, confirmed_at=BORN + 3 * DAY, updated_at=BORN + 3 * DAY)
    row = event(3, Action.REINFORCE, changes={"reinforcements": (1, 2)})

    was = as_it_was(today, [row], BORN + DAY)

    assert was == memory(reinforcements=1, confirmed_at=None, updated_at=BORN + DAY)


def test_a_memory_that_came_from_elsewhere_was_not_here_before_it_came() -> None:
    """However old it is itself, nobody could believe it before it was stored."""
    imported = memory(updated_at=BORN + 9 * DAY)
    arrival = event(9, Action.REMEMBER, new_status=Status.ACTIVE)

    assert as_it_was(imported, [arrival], BORN + 5 * DAY) is None
    assert as_it_was(imported, [arrival], BORN + 9 * DAY) == imported


@pytest.mark.parametrize("changes", [{"layer": ("attic", "semantic")}, {"valid_to": ("soon", None)}])
def test_a_nonsensical_row_is_named_without_a_word_of_the_memory(
    changes: Mapping[str, tuple[Any, Any]],
) -> None:
    """Damage in the history is an error that says where, and quotes nothing."""
    with pytest.raises(StoreCorrupt) as caught:
        before_event(memory(), event(1, Action.PROMOTE, changes=changes))

    assert "the history of memory one" in str(caught.value)
    assert "tea" not in str(caught.value)


# --- reading little -----------------------------------------------------------------------------------------


class CountingHistory(HistoryTable):
    """A history that counts how often it is asked."""

    asked = 0

    def since(self, memory_ids: Sequence[MemoryId], moment: datetime) -> dict[MemoryId, list[HistoryEvent]]:
        """Return what happened after a moment."""
        self.asked += 1
        return super().since(memory_ids, moment)


def test_the_first_that_fit_are_found_page_by_page(engram: Engram, clock: ManualClock) -> None:
    """What is too new to count is passed over, a page to a question, until there are enough."""
    for number in range(5):
        engram.remember(f"note {number}")
    moment = clock.now()
    clock.advance(days=1)
    for number in range(5, 25):
        engram.remember(f"note {number}")
    keys = [*range(6, 26), 3, 1, 5, 2, 4]

    with engram._parts.store.read() as tx:
        history = CountingHistory(tx.history._connection, tx.acts)  # type: ignore[attr-defined,arg-type]
        tx.history = history  # type: ignore[misc]
        asked: dict[str, Any] = {"then": Then(as_of=moment), "filters": Filters(statuses=ACTIVE)}
        asked |= {"scope": GLOBAL, "now": clock.now(), "limit": 3}
        found = believed(tx, keys, **asked)
        at_once = believed(tx, keys[::-1], **asked)

    assert [key for key, _ in found] == [3, 1, 5]
    assert [key for key, _ in at_once] == [4, 2, 5]
    assert history.asked == 4 + 1  # pages of 3, 6, 12 and the rest, and one that was enough


def test_the_store_tells_what_came_after_a_moment(engram: Engram, clock: ManualClock) -> None:
    """For many memories at once, each oldest first; those that nothing happened to are not named."""
    first, second, third = (engram.remember(text) for text in ("I like tea", "Oslo is cold", "Run the tests"))
    start = clock.now()
    clock.advance(days=1)
    engram.pin(first.id)
    engram.unpin(first.id)
    engram.pin(third.id)

    with engram._parts.store.read() as tx:
        later = tx.history.since([first.id, second.id, "nobody"], start)
        whole = tx.history.since([first.id], start - DAY)

    assert {name: [one.action for one in events] for name, events in later.items()} == {
        first.id: [Action.PIN, Action.UNPIN]
    }
    assert whole[first.id] == list(engram.history(first.id))
