"""Every rule in a store: what it takes, where that goes, what the history says, and that it can be undone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from engramdb.policy.aging import RULES
from engramdb.values import Action, ActorKind, Status

from .cases import CASES, Case, live, opened
from .made import BORN, extracted, keep, open_aging

if TYPE_CHECKING:
    from pathlib import Path

    from engramdb.testing import ManualClock

EVERY_RULE = pytest.mark.parametrize("case", CASES, ids=[case.rule for case in CASES])


def test_the_table_has_every_rule() -> None:
    """A rule that is added is tested here."""
    assert {case.rule for case in CASES} == set(RULES)


@EVERY_RULE
def test_a_rule_takes_what_it_should_and_says_so(case: Case, store_path: Path, clock: ManualClock) -> None:
    """The memory has the rule's status, and its history names the rule as reason and actor."""
    with opened(case, store_path, clock) as engram:
        memory = live(engram, clock, case)

        last = engram.history(memory.id)[-1]
        assert engram.get(memory.id).status is case.to
        assert (last.action, last.reason, last.at) == (Action.AGE, case.rule, clock.now())
        assert (last.actor.name, last.actor.kind) == ("aging", ActorKind.RULE)
        assert (last.old_status, last.new_status) == (case.before, case.to)
        assert memory.id not in {one.id for one in engram.list(limit=50)}


@EVERY_RULE
def test_a_rule_that_is_off_takes_nothing(case: Case, store_path: Path, clock: ManualClock) -> None:
    """With all other rules of the preset on, the memory is as it was before the rule came."""
    with opened(case, store_path, clock, with_rule=False) as engram:
        memory = live(engram, clock, case)

        assert engram.get(memory.id).status is case.before
        assert case.rule not in {event.reason for event in engram.history(memory.id)}


@EVERY_RULE
def test_the_pinned_are_never_taken(case: Case, store_path: Path, clock: ManualClock) -> None:
    """Whatever the rule, a pin is stronger."""
    with opened(case, store_path, clock) as engram:
        memory = live(engram, clock, case, pinned=True)

        assert engram.get(memory.id).status is memory.status
        assert engram.history(memory.id) == []


@EVERY_RULE
def test_a_dry_run_tells_and_changes_nothing(case: Case, store_path: Path, clock: ManualClock) -> None:
    """The same numbers and moves as the sweep that follows, and not a row different."""
    with opened(case, store_path, clock) as engram:
        memory = live(engram, clock, case, sweep_last=False)
        before = engram.get(memory.id), engram.history(memory.id)

        told = engram.age(dry_run=True)
        after = engram.get(memory.id), engram.history(memory.id)
        done = engram.age()

        assert told.dry_run
        assert before == after
        assert told.by_rule == done.by_rule == {case.rule: 1}
        assert told.moves == done.moves
        assert (told.moves[0].memory_id, told.moves[0].status) == (memory.id, case.to)


@EVERY_RULE
def test_what_a_rule_took_can_be_restored(case: Case, store_path: Path, clock: ManualClock) -> None:
    """It is active and found again, and neither the next sweep nor that of tomorrow takes it again."""
    with opened(case, store_path, clock) as engram:
        memory = live(engram, clock, case)

        engram.restore(memory.id)
        engram.age()
        clock.advance(days=1)
        engram.age()

        assert engram.get(memory.id).status is Status.ACTIVE
        assert memory.id in {hit.memory.id for hit in engram.recall("statement", limit=50).hits}


@EVERY_RULE
def test_no_rule_touches_what_a_person_forgot(case: Case, store_path: Path, clock: ManualClock) -> None:
    """Forgotten by a person, it stays forgotten, for however long rules go on."""
    with opened(case, store_path, clock) as engram:
        memory = case.memory()
        keep(engram, memory)
        engram.forget(memory.id)
        for stretch in case.days:
            clock.advance(days=stretch)
            engram.age()

        assert engram.get(memory.id).status is Status.FORGOTTEN
        assert len(engram.history(memory.id)) == 1


def test_what_a_person_archived_is_not_pruned(store_path: Path, clock: ManualClock) -> None:
    """The end of the archive is for what rules put there."""
    with open_aging(store_path, clock, "cortex") as engram:
        memory = engram.remember("I like tea")
        engram.set_status(memory.id, Status.ARCHIVED, reason="for later")
        clock.advance(days=400)

        report = engram.age()

        assert report.by_rule == {}
        assert engram.get(memory.id).status is Status.ARCHIVED


def test_the_end_of_the_archive_erases_only_where_the_policy_says_so(
    store_path: Path, clock: ManualClock
) -> None:
    """With `erase_pruned` the words are gone for good; the history stays and names the rule."""
    clock.set(BORN)
    with open_aging(store_path, clock, "cortex", erase_pruned=True) as engram:
        memory = extracted(content="the codeword is zanzibar", importance=0.1)
        keep(engram, memory)
        for stretch in (130, 91):
            clock.advance(days=stretch)
            engram.age()

        gone = engram.get(memory.id)
        assert (gone.status, gone.content) == (Status.ERASED, "")
        assert [event.reason for event in engram.history(memory.id)] == ["weak", "archive_ended"]
    assert b"zanzibar" not in store_path.read_bytes()
