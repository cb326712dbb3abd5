"""What was derived follows what it was derived from, whichever way a memory is superseded or leaves."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from engramdb import Engram
from engramdb.lifecycle.merging import merge
from engramdb.lifecycle.transitions import MemoryWriter
from engramdb.testing import ManualClock
from engramdb.values import BELIEVED, Actor, ActorKind, EdgeType, Filters, Memory, Status

OFTEN = 3
"""A statement that was made so often stands beside a contradiction until a dream weighs them."""
ANNA = (
    "Anna Schmidt works at Acme",
    "Anna Schmidt lives in Berlin",
    "Anna Schmidt plays the cello",
    "Anna Schmidt is allergic to nuts",
    "Anna Schmidt has two sons",
)
BERLIN, MOVED = ANNA[1], "Anna Schmidt moved to Hamburg"
HAMBURG = "Anna Schmidt lives in Hamburg"
CARD = "dream.profiles/1:"
UNDONE = {Status.SUPERSEDED, Status.INVALIDATED, Status.FORGOTTEN, Status.ERASED}
"""Statuses of a source that leave nothing standing on it."""


@pytest.fixture
def berlin(engram: Engram, clock: ManualClock) -> Memory:
    """A fact that a profile quotes."""
    told = [engram.remember(one) for one in ANNA]
    clock.advance(days=1)
    engram.dream(steps=["profiles"])
    assert BERLIN in card(engram).content
    clock.advance(days=1)
    return told[1]


def card(engram: Engram) -> Memory:
    """The first profile that quoted the fact."""
    (found,) = [
        one for one in everything(engram) if (one.extractor or "").startswith(CARD) and one.version == 1
    ]
    return found


def everything(engram: Engram) -> list[Memory]:
    """All memories, in any status."""
    return list(engram.list(limit=500, filters=Filters(statuses=frozenset(Status))))


def superseded_by_statement(engram: Engram, _clock: ManualClock, _berlin: Memory, _folder: Path) -> None:
    """Somebody says that things have changed."""
    engram.remember(MOVED)


def superseded_by_talk(engram: Engram, _clock: ManualClock, _berlin: Memory, _folder: Path) -> None:
    """It is read out of a conversation."""
    engram.observe(f"By the way, {HAMBURG} now.", role="user", session="s1")
    engram.flush()


def superseded_by_dream(engram: Engram, clock: ManualClock, _berlin: Memory, _folder: Path) -> None:
    """Both stood side by side until a dream weighed them."""
    for _ in range(OFTEN - 1):
        engram.remember(BERLIN)
    clock.advance(days=200)
    engram.remember(HAMBURG)
    clock.advance(days=3)
    engram.dream(steps=["contradictions"])


def corrected(engram: Engram, _clock: ManualClock, berlin: Memory, _folder: Path) -> None:
    """A person corrects it."""
    engram.correct(berlin.id, HAMBURG)


def edited_in_the_notebook(engram: Engram, _clock: ManualClock, _berlin: Memory, folder: Path) -> None:
    """A person edits the file that shows it."""
    notes = folder / "notes"
    engram.notebook_sync(notes)
    (page,) = notes.glob("facts/*/anna-schmidt-lives-in-berlin-*.md")
    page.write_text(page.read_text("utf-8").replace("Berlin", "Hamburg"), encoding="utf-8")
    engram.notebook_sync(notes)


def invalidated(engram: Engram, _clock: ManualClock, berlin: Memory, _folder: Path) -> None:
    """A person says that it is not so."""
    engram.set_status(berlin.id, Status.INVALIDATED, reason="never true")


def forgotten(engram: Engram, _clock: ManualClock, berlin: Memory, _folder: Path) -> None:
    """A person takes it away."""
    engram.forget(berlin.id)


def erased(engram: Engram, _clock: ManualClock, berlin: Memory, _folder: Path) -> None:
    """A person has its words taken out of the file."""
    engram.erase(berlin.id)


def archived(engram: Engram, _clock: ManualClock, berlin: Memory, _folder: Path) -> None:
    """It is put away, and still holds."""
    engram.set_status(berlin.id, Status.ARCHIVED, reason="seldom asked")


def pinned(engram: Engram, _clock: ManualClock, berlin: Memory, _folder: Path) -> None:
    """It is held fast."""
    engram.pin(berlin.id)


def disputed(engram: Engram, _clock: ManualClock, _berlin: Memory, _folder: Path) -> None:
    """A contradiction stands beside it."""
    for _ in range(OFTEN - 1):
        engram.remember(BERLIN)
    engram.remember(HAMBURG)


Way = Callable[[Engram, ManualClock, Memory, Path], None]
SUPERSEDING: tuple[Way, ...] = (
    superseded_by_statement,
    superseded_by_talk,
    superseded_by_dream,
    corrected,
    edited_in_the_notebook,
)
ENDING: tuple[Way, ...] = (*SUPERSEDING, invalidated, forgotten, erased)
LEAVING_ALONE: tuple[Way, ...] = (archived, pinned, disputed)


@pytest.mark.parametrize("way", ENDING)
def test_a_profile_falls_with_what_it_quotes(
    engram: Engram, clock: ManualClock, berlin: Memory, tmp_path: Path, way: Way
) -> None:
    """At once, and not only at the next dream: nobody is shown what no longer holds."""
    way(engram, clock, berlin, tmp_path)

    assert engram.get(berlin.id).status in UNDONE
    assert card(engram).status in {Status.INVALIDATED, Status.PRUNED, Status.ERASED}
    assert all(
        "Berlin" not in hit.memory.content for hit in engram.recall("Where does Anna Schmidt live?").hits
    )


@pytest.mark.parametrize("way", LEAVING_ALONE)
def test_a_profile_stands_while_what_it_quotes_holds(
    engram: Engram, clock: ManualClock, berlin: Memory, tmp_path: Path, way: Way
) -> None:
    """What was put away, pinned or is disputed may still be quoted."""
    way(engram, clock, berlin, tmp_path)

    assert card(engram).status is Status.ACTIVE


@pytest.mark.parametrize("way", SUPERSEDING)
def test_every_way_of_superseding_leaves_the_same_traces(
    engram: Engram, clock: ManualClock, berlin: Memory, tmp_path: Path, way: Way
) -> None:
    """Status, successor, link, end, history and audit are there, whoever superseded it."""
    way(engram, clock, berlin, tmp_path)

    told = [one for one in engram.audit(limit=500) if one.target == berlin.id]  # before this test reads it
    old = engram.get(berlin.id)
    assert old.status is Status.SUPERSEDED
    assert old.superseded_by is not None
    new = engram.get(old.superseded_by)
    assert new.supersedes == old.id
    assert new.version == old.version + 1
    assert (old.valid_to, new.status) == (new.valid_from, Status.ACTIVE)
    links = [(one.source, one.target) for one in engram.links(old.id) if one.type is EdgeType.SUPERSEDES]
    assert links == [(new.id, old.id)]
    event = engram.history(old.id)[-1]
    assert (event.old_status in BELIEVED, event.new_status) == (True, Status.SUPERSEDED)
    assert event.changes["superseded_by"] == (None, new.id)
    assert told[0].detail["status"] == Status.SUPERSEDED


@pytest.mark.parametrize("way", [*ENDING, *LEAVING_ALONE])
def test_nothing_active_rests_on_what_does_not_hold(
    engram: Engram, clock: ManualClock, berlin: Memory, tmp_path: Path, way: Way
) -> None:
    """Before the next dream and after it, which derives from what is left."""
    way(engram, clock, berlin, tmp_path)
    before = resting_on_nothing(engram)
    clock.advance(days=1)
    engram.dream()

    assert (before, resting_on_nothing(engram)) == ([], [])


def resting_on_nothing(engram: Engram) -> list[str]:
    """The active memories that a dream derived from something that no longer holds."""
    by_id = {one.id: one for one in everything(engram)}
    return [
        one.content
        for one in by_id.values()
        if one.is_derived and one.status is Status.ACTIVE
        for edge in engram.links(one.id)
        if edge.source == one.id and edge.type in (EdgeType.DERIVED_FROM, EdgeType.INFERRED_FROM)
        if by_id[edge.target].status in UNDONE
    ]


def test_a_dream_ends_a_fact_when_the_new_one_began(
    engram: Engram, clock: ManualClock, berlin: Memory
) -> None:
    """Neither the moment of the dream nor that of the statement: the moment that the statement is about."""
    for _ in range(OFTEN - 1):
        engram.remember(BERLIN)
    clock.advance(days=200)
    moved_at = clock.now() - timedelta(days=20)
    new = engram.remember(HAMBURG, occurred_at=moved_at)
    clock.advance(days=3)

    engram.dream(steps=["contradictions"])

    old = engram.get(berlin.id)
    assert (old.status, old.superseded_by) == (Status.SUPERSEDED, new.id)
    assert old.valid_to == moved_at


def test_a_fact_never_ends_before_it_began(engram: Engram, clock: ManualClock) -> None:
    """An older statement that was made more often wins; what it displaces held for no time at all."""
    for _ in range(OFTEN):
        engram.remember(BERLIN)
    clock.advance(days=1)
    loser = engram.remember(HAMBURG)
    clock.advance(days=1)

    engram.dream(steps=["contradictions"])

    gone = engram.get(loser.id)
    assert gone.status is Status.SUPERSEDED
    assert gone.valid_to == gone.valid_from


def test_what_rests_on_a_merged_memory_falls_with_its_keeper(
    engram: Engram, clock: ManualClock, berlin: Memory
) -> None:
    """The profile quotes a wording that was merged; when the fact is superseded, the profile goes."""
    keeper = engram.remember("Berlin is the home of Anna Schmidt")
    with engram._parts.store.atomic() as tx:
        writer = MemoryWriter(tx, Actor(name="a rule", kind=ActorKind.RULE), clock.now())
        merge(writer, keeper, [berlin], policy=engram._parts.policy.dream, reason="says the same")
    standing = card(engram).status

    engram.correct(keeper.id, HAMBURG)

    assert (standing, card(engram).status) == (Status.ACTIVE, Status.INVALIDATED)
