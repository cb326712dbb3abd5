"""The scheduler: slow work happens when it is due, one thing at a time, and never in anybody's way."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from engramdb import Engram, Settings
from engramdb.engine.scheduler import (
    FIRST_BACK_OFF,
    LONGEST_BACK_OFF,
    PATIENCE,
    QUIET,
    STALLED,
    Job,
    Scheduler,
    free_share,
    load_per_core,
    pressure,
)
from engramdb.errors import EngramError, InvalidSettings, StoreBusy, StoreUnreadable
from engramdb.health import Health
from engramdb.testing import ManualClock, TinyEmbedder
from engramdb.worker import MAX_CRASHES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from pathlib import Path

TEN_MINUTES = timedelta(minutes=10)
TWO_MINUTES = timedelta(minutes=2)


@dataclass
class Bench:
    """A scheduler that a test drives by hand: use of the store and pressure are what it says."""

    clock: ManualClock
    ran: list[str] = field(default_factory=list)
    used_at: datetime | None = None
    pressed: str = ""
    failure: EngramError | None = None

    def __post_init__(self) -> None:
        self.health = Health(self.clock)

    def scheduler(self, *jobs: Job) -> Scheduler:
        """Return a scheduler of these jobs, without a thread."""
        return Scheduler(
            jobs,
            clock=self.clock,
            health=self.health,
            last_use=lambda: self.used_at,
            pressed=lambda: self.pressed,
        )

    def job(self, name: str = "dream", **when: object) -> Job:
        """Return a job that notes that it ran, or fails as it is told to."""

        def run() -> None:
            self.ran.append(name)
            if self.failure is not None:
                raise self.failure

        return Job(name=name, run=run, **when)  # type: ignore[arg-type]

    def use(self) -> None:
        """Let somebody use the store now."""
        self.used_at = self.clock.now()


@pytest.fixture
def bench(clock: ManualClock) -> Bench:
    """A bench with a clock that stands still."""
    return Bench(clock)


def test_three_extractions_make_a_dream_due(bench: Bench) -> None:
    """Two do not; after the dream the count begins anew."""
    scheduler = bench.scheduler(bench.job(after_extractions=3))

    for _ in range(2):
        scheduler.extracted()
    too_few = scheduler.tick()
    scheduler.extracted()

    assert too_few is None
    assert scheduler.tick() == "dream"
    assert scheduler.tick() is None


def test_ten_minutes_make_a_dream_due_where_something_is_new(bench: Bench) -> None:
    """Time alone is no reason: a store that nobody touched has nothing to dream of."""
    scheduler = bench.scheduler(bench.job(every=TEN_MINUTES))

    bench.clock.advance(minutes=11)
    untouched = scheduler.tick()
    bench.use()
    bench.clock.advance(minutes=11)

    assert untouched is None
    assert scheduler.tick() == "dream"


def test_what_another_process_left_counts_as_new(bench: Bench) -> None:
    """It is asked for when the time has come, and then not at every look."""
    asked = []

    def has_news() -> bool:
        asked.append(bench.clock.now())
        return len(asked) > 1

    scheduler = bench.scheduler(bench.job(every=TEN_MINUTES, has_news=has_news))
    looks = []
    for _ in range(25):
        bench.clock.advance(minutes=1)
        looks.append(scheduler.tick())

    assert looks.count("dream") == 1
    assert len(asked) == 2


def test_a_sweep_needs_no_news(bench: Bench) -> None:
    """Aging is about time: it is due a day after it was last done, whoever did it."""
    done_at = bench.clock.now() - timedelta(hours=23)
    aging = bench.job("aging", every=timedelta(hours=24), needs_news=False, last_done=lambda: done_at)
    scheduler = bench.scheduler(aging)

    before = scheduler.tick()
    bench.clock.advance(hours=1)

    assert (before, scheduler.tick()) == (None, "aging")


def test_idleness_makes_a_dream_due_once(bench: Bench) -> None:
    """Two quiet minutes after the last use it dreams; the hours after them bring nothing new."""
    scheduler = bench.scheduler(bench.job(idle=TWO_MINUTES))
    bench.clock.advance(seconds=1)
    bench.use()

    looks = []
    for _ in range(20):
        bench.clock.advance(seconds=30)
        looks.append(scheduler.tick())

    assert looks.index("dream") == 3
    assert looks.count("dream") == 1


def test_the_end_of_a_turn_is_news(bench: Bench) -> None:
    """Whoever runs turns says so, and the state shows what woke the scheduler."""
    scheduler = bench.scheduler(bench.job(every=TEN_MINUTES))
    bench.clock.advance(minutes=1)

    scheduler.schedule("a turn ended")
    bench.clock.advance(minutes=10)

    assert scheduler.tick() == "dream"
    assert scheduler.state().woken_by == "a turn ended"


def test_one_job_runs_at_a_time_and_the_longest_waiting_first(bench: Bench) -> None:
    """A look runs one job; the other gets its turn at the next."""
    first = bench.job("dream", after_extractions=1)
    second = bench.job("aging", every=timedelta(hours=1), needs_news=False)
    scheduler = bench.scheduler(first, second)
    bench.use()
    bench.clock.advance(hours=1)
    bench.pressed = "load"
    scheduler.tick()
    scheduler.extracted()
    bench.clock.advance(minutes=1)
    bench.pressed = ""

    assert [scheduler.tick(), scheduler.tick(), scheduler.tick()] == ["aging", "dream", None]


@pytest.mark.parametrize(
    ("pressed", "is_used", "reason"),
    [
        ("load", False, "the machine is busy"),
        ("memory", False, "memory is short"),
        ("", True, "the store is in use"),
    ],
)
def test_a_job_waits_for_others_and_says_for_what(
    bench: Bench, pressed: str, is_used: bool, reason: str
) -> None:
    """Nothing begins while it would be in the way; when that is over, it does."""
    scheduler = bench.scheduler(bench.job(after_extractions=1))
    scheduler.extracted()
    bench.pressed = pressed
    if is_used:
        bench.use()

    held_up = scheduler.tick()
    state = scheduler.state()
    bench.pressed = ""
    bench.clock.advance(seconds=QUIET.total_seconds())

    assert (held_up, state.waiting_for) == (None, reason)
    assert scheduler.tick() == "dream"
    assert scheduler.state().waiting_for == ""


def test_a_busy_server_dreams_in_the_end(bench: Bench) -> None:
    """After an hour of use without a pause the job begins all the same; short memory still holds it up."""
    scheduler = bench.scheduler(bench.job(after_extractions=1))
    scheduler.extracted()
    bench.use()
    scheduler.tick()

    bench.clock.advance(seconds=PATIENCE.total_seconds())
    bench.use()
    bench.pressed = "memory"
    short = scheduler.tick()
    bench.pressed = "load"

    assert (short, scheduler.tick()) == (None, "dream")


def test_a_failing_job_waits_longer_each_time_and_shows_in_health(bench: Bench) -> None:
    """One minute, two, four, up to an hour; the first success forgets it."""
    scheduler = bench.scheduler(bench.job(every=timedelta(seconds=1), needs_news=False))
    bench.failure = StoreUnreadable("the disk is gone")
    pauses = []
    for _ in range(9):
        begun = bench.clock.now()
        while scheduler.tick() is None:
            bench.clock.advance(seconds=30)
        pauses.append(bench.clock.now() - begun)
    part = bench.health.parts()[-1]
    bench.failure = None
    bench.clock.advance(hours=2)
    scheduler.tick()
    mended = bench.health.parts()[-1]

    assert pauses[1] == FIRST_BACK_OFF
    assert pauses[2] == 2 * FIRST_BACK_OFF
    assert pauses[-1] == LONGEST_BACK_OFF
    assert (part.name, part.is_failing) == ("dream in the background", True)
    assert not mended.is_failing


def test_a_job_that_another_process_does_is_no_failure(bench: Bench) -> None:
    """Who does not get the lease goes on quietly, and tries again when it is next due."""
    scheduler = bench.scheduler(bench.job(after_extractions=1))
    bench.failure = StoreBusy("another dream is at work on this store")
    scheduler.extracted()

    scheduler.tick()
    part = bench.health.parts()[-1]

    assert not part.is_failing
    assert scheduler.tick() is None


def test_a_job_that_takes_too_long_shows_as_stalled(bench: Bench) -> None:
    """`status` says what runs, since when, and that it should be done by now."""
    begun, may_end = threading.Event(), threading.Event()

    def run() -> None:
        begun.set()
        may_end.wait(30)

    scheduler = bench.scheduler(Job(name="dream", run=run))
    thread = threading.Thread(target=scheduler.tick)
    thread.start()
    begun.wait(30)
    early = scheduler.state()
    bench.clock.advance(seconds=STALLED.total_seconds() + 1)
    late = scheduler.state()
    may_end.set()
    thread.join()
    done = scheduler.state()

    assert (early.running, early.is_stalled) == ("dream", False)
    assert (late.running, late.is_stalled) == ("dream", True)
    assert (done.running, done.is_stalled, done.last_job) == (None, False, "dream")


def test_closing_does_not_wait_for_a_job_that_does_not_listen(bench: Bench) -> None:
    """`close` returns within a second or so; the job meets a closed store."""
    begun, may_end = threading.Event(), threading.Event()

    def run() -> None:
        begun.set()
        may_end.wait(30)

    scheduler = bench.scheduler(Job(name="dream", run=run))
    scheduler.start()
    scheduler.schedule("now")
    begun.wait(30)

    started = time.monotonic()
    scheduler.close()
    spent = time.monotonic() - started
    may_end.set()

    assert spent < 15


def test_a_job_with_a_bug_is_given_up_and_the_others_go_on(bench: Bench) -> None:
    """It is tried again after longer and longer pauses, at most five times; health shows type and place."""
    tried = []

    def crash() -> None:
        tried.append(bench.clock.now())
        int("no number, but maybe words of a memory")

    broken = Job(name="dream", run=crash, every=timedelta(seconds=1), needs_news=False)
    scheduler = bench.scheduler(broken, bench.job("aging", every=timedelta(hours=1), needs_news=False))
    for _ in range(100):
        bench.clock.advance(minutes=10)
        scheduler.tick()
    part = next(one for one in bench.health.parts() if one.name == "dream in the background")

    assert len(tried) == MAX_CRASHES
    assert part.failure is not None
    assert part.failure.startswith("ValueError at test_scheduler.py")
    assert "memory" not in part.failure
    assert scheduler.state().given_up == ("dream",)
    assert bench.ran.count("aging") > 5


def test_a_store_that_cannot_be_asked_holds_nothing_up_for_good(bench: Bench) -> None:
    """The question what is due may fail as well: that is noted, and the next look asks again."""
    answers = iter([StoreUnreadable("the disk is gone"), None])

    def last_done() -> datetime | None:
        if failure := next(answers):
            raise failure
        return None

    scheduler = bench.scheduler(bench.job(every=TEN_MINUTES, needs_news=False, last_done=last_done))
    bench.clock.advance(minutes=11)

    failed = scheduler.tick()
    part = bench.health.parts()[-1]

    assert (failed, part.name, part.is_failing) == (None, "scheduler", True)
    assert scheduler.tick() == "dream"


# --- the machine --------------------------------------------------------------------------------------------


def test_the_machine_says_how_pressed_it_is(tmp_path: Path) -> None:
    """Free memory is read from the system's own file; where there is none, there is room."""
    file = tmp_path / "meminfo"
    file.write_text("MemTotal:       1000 kB\nMemFree: 10 kB\nMemAvailable:    50 kB\n")
    broken = tmp_path / "broken"
    broken.write_text("MemTotal: \nnothing")

    assert free_share(file) == 0.05
    assert free_share(broken) == 1.0
    assert free_share(tmp_path / "missing") == 1.0
    assert load_per_core() >= 0
    assert pressure() in ("", "load", "memory")


# --- in the engine ------------------------------------------------------------------------------------------


@pytest.fixture
def looked_after(store_path: Path, clock: ManualClock, embedder: TinyEmbedder) -> Iterator[Engram]:
    """An engine whose scheduler a test drives by hand: no thread, the machine at rest."""
    with Engram.open(store_path, clock=clock, embedder=embedder, background=False) as opened:
        opened._parts.scheduler.pressed = lambda: ""
        yield opened


def test_talk_leads_to_a_dream(looked_after: Engram, clock: ManualClock) -> None:
    """Three readings of turns, a quiet moment, and the store has dreamt; `status` shows it."""
    for number in range(3):
        looked_after.observe(f"I decided to paint room {number} green", session=f"s{number}")
        looked_after.flush()
    busy = looked_after._parts.scheduler.tick()
    clock.advance(seconds=10)

    done = looked_after._parts.scheduler.tick()

    assert (busy, done) == (None, "dream")
    assert looked_after.dreams(limit=1)[0].finished
    assert looked_after.status().scheduler.last_job == "dream"


def test_recalling_is_use(looked_after: Engram, clock: ManualClock) -> None:
    """The two quiet minutes begin with the last question, whoever asked it."""
    looked_after.remember("I like tea")
    clock.advance(seconds=110)
    looked_after.recall("tea")
    clock.advance(seconds=60)
    too_early = looked_after._parts.scheduler.tick()
    clock.advance(seconds=61)

    assert too_early is None
    assert looked_after._parts.scheduler.tick() == "dream"


def test_what_another_process_stored_is_embedded_and_dreamt_of(
    looked_after: Engram, store_path: Path, clock: ManualClock
) -> None:
    """A command leaves a memory without a vector behind; the server's scheduler sees to it."""
    failing = TinyEmbedder()
    failing.failure = "no model"
    with Engram.open(store_path, clock=clock, embedder=failing, background=False) as command:
        command.remember("I like tea")
    waiting = looked_after.status().awaiting_embedding
    clock.advance(minutes=11)

    ran = {looked_after._parts.scheduler.tick(), looked_after._parts.scheduler.tick()}

    assert waiting == 1
    assert ran == {"backfill", "dream"}
    assert looked_after.status().awaiting_embedding == 0


def test_a_day_brings_a_sweep_and_a_second_process_none(
    looked_after: Engram, store_path: Path, clock: ManualClock
) -> None:
    """Whoever ages first ages for all: the store knows when it was done."""
    clock.advance(hours=25)
    first = looked_after._parts.scheduler.tick()
    with Engram.open(store_path, clock=clock, embedder=TinyEmbedder(), background=False) as other:
        other._parts.scheduler.pressed = lambda: ""
        clock.advance(hours=1)
        second = other._parts.scheduler.tick()

    assert (first, second) == ("aging", None)


@pytest.mark.parametrize(
    ("chosen", "asked", "is_on"),
    [(False, None, False), (True, None, True), (True, False, False), (False, True, True)],
)
def test_the_library_dreams_by_itself_only_where_it_is_asked_to(
    tmp_path: Path, chosen: bool, asked: bool | None, is_on: bool
) -> None:
    """The argument is stronger than the setting; the thread ends with the engine."""
    settings = Settings(home=tmp_path, dream_in_background=chosen)
    with Engram.open(tmp_path / "a.db", settings=settings, embedder=TinyEmbedder(), dream=asked) as opened:
        state = opened.status().scheduler

    assert state.is_on == is_on
    assert "engram-scheduler" not in [thread.name for thread in threading.enumerate()]


def test_status_shows_the_workers_and_what_they_gave_up(tmp_path: Path) -> None:
    """A person learns which background job has crashed too often, and what to do about it."""
    with Engram.open(tmp_path / "a.db", embedder=TinyEmbedder()) as opened:
        workers = opened.status().workers
        crashing = opened._parts._workers["reader"]
        for number in range(MAX_CRASHES):
            crashing.submit("upkeep", lambda: int("no number"), key=number, retry=False)
        crashing.wait(30)
        advice = opened.status().advice

    assert {"reader", "index"} <= {worker.name for worker in workers}
    assert any("'upkeep' was given up" in one for one in advice)


@pytest.mark.parametrize(("text", "value"), [("true", True), ("1", True), ("No", False), ("false", False)])
def test_the_environment_says_yes_and_no_in_words(text: str, value: bool) -> None:
    """What a shell can set is understood."""
    loaded = Settings.load(environment={"ENGRAM_DREAM_IN_BACKGROUND": text})

    assert loaded.dream_in_background is value


@pytest.mark.parametrize("name", ["DREAM_IN_BACKGROUND", "DREAM_MINUTES", "DREAM_IDLE_MINUTES"])
def test_a_setting_that_means_nothing_is_refused(name: str) -> None:
    """The error names it."""
    with pytest.raises(InvalidSettings, match=name):
        Settings.load(environment={f"ENGRAM_{name}": "sometimes"})
