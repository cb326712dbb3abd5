"""A run: one at a time, resumed where it stopped, rehearsed without a trace, reported without a word."""

from __future__ import annotations

import contextlib
import threading
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from engramdb.dream.run import dream
from engramdb.dream.step import Adjust, Dreaming, Proposal, Skipped
from engramdb.errors import ChatUnavailable, InvalidQuery, InvalidSettings, StoreBusy
from engramdb.lifecycle.lease import held, is_gone
from engramdb.policy import DreamPolicy
from engramdb.store.sqlite.store import SqliteStore
from engramdb.testing import ManualClock
from engramdb.values import Action, Scope, StepOutcome

from .dreamt import NOW, active, every, keep, opened, put, runner, stored

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@dataclass
class Strengthen:
    """A step that gives every memory a strength, one at a time; a test may do something before each."""

    name: str = "strengthen"
    strength: float = 2.0
    before_each: Callable[[int], None] = lambda _number: None
    seen: list[Dreaming] = field(default_factory=list)

    def propose(self, dreaming: Dreaming) -> Iterator[Proposal]:
        """Yield what is not so yet."""
        self.seen.append(dreaming)
        memories = [one for one in stored(dreaming.store).values() if one.strength != self.strength]
        for number, memory in enumerate(sorted(memories, key=lambda one: one.id)):
            self.before_each(number)
            yield Adjust(memory=memory, changes={"strength": self.strength}, reason="for a test")


@pytest.fixture
def store(store_path: Path) -> Iterator[SqliteStore]:
    """A store of five statements."""
    opened_ = SqliteStore.open(str(store_path), now=NOW, is_durable=False)
    for what in ("green", "black", "white", "red", "cold"):
        put(opened_, f"I like {what} tea")
    yield opened_
    opened_.close()


def run(store: SqliteStore, *steps: Any, now: datetime = NOW, **options: Any) -> Any:
    """Dream these steps at a moment."""
    made = runner(store)
    dreaming = replace(made.dreaming, now=now, **options.pop("dreaming", {}))
    return dream(replace(made, dreaming=dreaming, steps=steps, clock=lambda: now, **options))


# --- one at a time ------------------------------------------------------------------------------------------


def test_only_one_dreams_at_a_time(store: SqliteStore) -> None:
    """Another thread, or another process, is told so; afterwards it may."""
    refused: list[Exception] = []

    def try_too(number: int) -> None:
        if number == 0:
            with pytest.raises(StoreBusy) as info:
                run(store, Strengthen("other"))
            refused.append(info.value)

    run(store, Strengthen(before_each=try_too))
    after = run(store, Strengthen("other", strength=3.0))

    assert "another dream is at work" in refused[0].args[0]
    assert after.changed == 5


def test_two_threads_never_dream_together(store: SqliteStore) -> None:
    """Of many that begin at once, those that get the lease take turns."""
    inside, overlaps, done = [0], [0], []

    def enter(_number: int) -> None:
        inside[0] += 1
        overlaps[0] = max(overlaps[0], inside[0])
        inside[0] -= 1

    def attempt(strength: float) -> None:
        with contextlib.suppress(StoreBusy):
            done.append(run(store, Strengthen(strength=strength, before_each=enter)))

    threads = [threading.Thread(target=attempt, args=(2.0 + number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert done
    assert overlaps[0] == 1


def test_a_lease_runs_out(store: SqliteStore) -> None:
    """A silent holder on another machine is waited for, and then taken over; it learns so and stops."""
    with store.atomic() as tx:
        tx.leases.take("dream", "elsewhere:1:x", now=NOW, until=NOW + timedelta(minutes=5), is_gone=is_gone)

    with pytest.raises(StoreBusy):
        run(store, Strengthen())
    later = run(store, Strengthen(), now=NOW + timedelta(minutes=6))

    assert later.changed == 5


def test_who_was_taken_over_stops(store: SqliteStore) -> None:
    """It writes nothing more once another one is at work."""

    def take_over(number: int) -> None:
        if number == 2:
            with store.atomic() as tx:
                tx.leases.take("dream", "elsewhere:1:x", now=NOW, until=NOW, is_gone=lambda _owner: True)

    with pytest.raises(StoreBusy):
        run(store, Strengthen(before_each=take_over))

    assert sum(one.strength == 2.0 for one in stored(store).values()) == 2


def test_a_long_run_stays_the_holder(store: SqliteStore) -> None:
    """What is written, and asking whether to stop, renews the lease."""
    moment = [NOW]

    def wait(_number: int) -> None:
        moment[0] += timedelta(minutes=4)
        with store.atomic() as tx:
            taken = tx.leases.take("dream", "elsewhere:1:x", now=moment[0], until=NOW, is_gone=is_gone)
        assert not taken

    made = runner(store)
    dream(replace(made, steps=[Strengthen(before_each=wait)], clock=lambda: moment[0]))

    assert all(one.strength == 2.0 for one in stored(store).values())


def test_aging_is_exclusive_too(store_path: Path) -> None:
    """One sweep at a time, beside a dream if need be; a rehearsal needs no lease."""
    with opened(store_path) as engram:
        keep(engram, "I like green tea")
        with held(engram._parts.store, "age", minutes=5, clock=engram._now):
            with pytest.raises(StoreBusy):
                engram.age()
            engram.age(dry_run=True)
            engram.dream(steps=("merge",))

        assert engram.age().looked_at == 1


# --- interrupted --------------------------------------------------------------------------------------------


def test_a_stopped_run_is_gone_on_with(store: SqliteStore) -> None:
    """In the step that it was in, with the moment that it began at; what was done is not reported twice."""
    stop = threading.Event()
    first = Strengthen("first")
    second = Strengthen("second", 3.0, before_each=lambda number: stop.set() if number == 2 else None)

    stopped = run(store, first, second, dreaming={"is_stopped": stop.is_set})
    stop.clear()
    resumed = run(store, first, second, now=NOW + timedelta(hours=1))

    assert [(one.step, one.outcome) for one in stopped.steps] == [
        ("first", StepOutcome.DONE),
        ("second", StepOutcome.STOPPED),
    ]
    assert (stopped.finished, resumed.resumed, resumed.finished) == (False, True, True)
    assert [(one.step, one.counts) for one in resumed.steps] == [
        ("first", {"adjust": 5}),
        ("second", {"adjust": 2}),
    ]
    assert resumed.started_at == NOW
    assert [one.now for one in second.seen] == [NOW, NOW]
    assert len(first.seen) == 1


@pytest.mark.parametrize(
    ("hours", "names"), [(13, ("first", "second")), (1, ("second",))], ids=["too late", "other steps"]
)
def test_a_run_of_long_ago_or_of_other_steps_is_not_gone_on_with(
    store: SqliteStore, hours: float, names: tuple[str, ...]
) -> None:
    """It begins anew, at its own moment."""
    run(store, Strengthen("first"), Strengthen("second"), dreaming={"is_stopped": lambda: True})

    report = run(store, *map(Strengthen, names), now=NOW + timedelta(hours=hours))

    assert (report.resumed, report.started_at) == (False, NOW + timedelta(hours=hours))


def test_a_step_sees_what_changed_since_it_last_came_to_its_end(store: SqliteStore) -> None:
    """Each step for itself: a run of other steps, or one that was stopped, does not count."""
    step, other = Strengthen(), Strengthen("other")
    run(store, other)
    run(store, step, dreaming={"is_stopped": lambda: True})

    run(store, step, now=NOW + timedelta(days=1))
    with store.read() as tx:
        cursor = tx.vectors.latest_change()
    run(store, step, now=NOW + timedelta(days=2))

    assert [one.since for one in step.seen] == [None, NOW + timedelta(days=1)]
    assert step.seen[0].cursor == 0
    assert 0 < step.seen[1].cursor <= cursor


# --- what is reported ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Failing:
    """A step that cannot be taken."""

    name: str
    error: Exception

    def propose(self, _dreaming: Dreaming) -> Iterator[Proposal]:
        """Fail when the first proposal is asked for."""
        yield from self._nothing()

    def _nothing(self) -> Iterator[Proposal]:
        raise self.error


def test_a_step_that_cannot_be_taken_says_so_and_the_others_go_on(store: SqliteStore) -> None:
    """What is missing, or what went wrong, is in the report."""
    report = run(
        store,
        Failing("needy", Skipped("no chat model is configured")),
        Failing("broken", ChatUnavailable("the model does not answer")),
        Strengthen(),
    )

    told = [(one.step, one.outcome, one.why) for one in report.steps]
    assert told == [
        ("needy", StepOutcome.SKIPPED, "no chat model is configured"),
        ("broken", StepOutcome.FAILED, f"{ChatUnavailable.code} the model does not answer"),
        ("strengthen", StepOutcome.DONE, ""),
    ]
    assert report.finished


def test_reports_are_kept_without_a_word_of_any_memory(store_path: Path) -> None:
    """They can be read again, newest first, and name memories by id alone."""
    with opened(store_path) as engram:
        keep(engram, "I like green tea")
        keep(engram, "I really like green tea")
        report = engram.dream(steps=("merge",))

        kept = engram.dreams()

        assert [one.changes for one in kept] == [report.changes]
        assert kept[0].finished
        assert "green" not in str(kept)
        with pytest.raises(InvalidQuery):
            engram.dreams(limit=0)
        with engram._parts.store.read() as tx:
            audit = [event.action for event in tx.audit.recent(limit=10)]
        assert Action.DREAM in audit


def test_a_rehearsal_writes_nothing(store_path: Path) -> None:
    """It lists what the steps would propose, and the store is byte for byte what it was."""
    with opened(store_path) as engram:
        keep(engram, "I like green tea")
        keep(engram, "I really like green tea")
        before = every(engram)
        with engram._parts.store.read() as tx:
            events = len(tx.audit.recent(limit=100))

        report = engram.dream(dry_run=True, steps=("merge", "contradictions", "patterns", "prune"))

        assert (report.dry_run, report.changed) == (True, 1)
        assert report.changes[0].made is None
        assert every(engram) == before
        assert engram.dreams() == []
        with engram._parts.store.read() as tx:
            assert len(tx.audit.recent(limit=100)) == events


def test_progress_names_each_step(store_path: Path) -> None:
    """With the share of steps that lie behind."""
    told: list[tuple[str, float]] = []
    with opened(store_path) as engram:
        engram.dream(steps=("prune", "merge"), progress=lambda *what: told.append(what))

        with pytest.raises(InvalidQuery):
            engram.dream(steps=("sleepwalk",))

    assert told == [("merge", 0.0), ("prune", 0.5)]


def test_old_notes_go_and_histories_stay(store_path: Path) -> None:
    """Who was given what, who did what, and old reports go by policy; what happened to a memory does not."""
    clock = ManualClock(NOW)
    with opened(store_path, clock=clock, keep_runs=2) as engram:
        one = engram.remember("I like green tea")
        engram.recall("tea", session="s1")
        engram.dream(steps=("merge",))
        engram.dream(steps=("merge",))
        clock.advance(days=400)
        with engram._parts.store.atomic() as tx:
            tx.handed_out.add({(Scope(), "s0", one.id): NOW})

        report = engram.dream(steps=("prune",))

        counts = report.steps[0].counts
        assert {"prune_handed_out", "prune_audit", "prune_dreams"} <= set(counts)
        assert len(engram.dreams()) == 2  # the latest of before, and this one
        assert engram.history(one.id)
        assert active(engram) == ["I like green tea"]
        assert engram.dream(steps=("prune",)).changed <= 1  # only its own predecessor may go


@pytest.mark.parametrize(
    "fields", [{"merge_least": 1}, {"clear_winner": 0.5}, {"merge_above": 1.2}, {"keep_runs": 0}], ids=str
)
def test_numbers_that_make_no_sense_are_refused(fields: dict[str, Any]) -> None:
    """When the policy is made, and not in the night."""
    with pytest.raises(InvalidSettings):
        DreamPolicy(**fields)
