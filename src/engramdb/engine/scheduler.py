"""
Decide when the slow work happens: one job at a time, when it is due and nobody is in the way.

Knows nothing of what the jobs do. A job is due after a number of extractions, after some time with something
new, or once nothing has happened for a while. It waits while the store is in use, the machine is busy or its
memory short; one that fails waits longer each time, and one that keeps crashing is given up. Time is the
engine's clock; only the worker's own waiting is real, so that a test can call `tick` by hand.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from engramdb.clock import Clock
from engramdb.errors import EngramError, StoreBusy
from engramdb.health import Health, place_of
from engramdb.values.report import SchedulerState
from engramdb.worker import MAX_CRASHES, Worker, growing_pause

LOAD: Final = "load"
MEMORY: Final = "memory"
MOST_LOAD_PER_CORE: Final = 1.0
"""With more processes that want to run than there are cores, slow work would take from somebody."""
LEAST_FREE_SHARE: Final = 0.10
"""Below this share of memory the system begins to swap; seed 002 §21 calls 90 % used critical."""
MEMORY_FILE: Final = Path("/proc/meminfo")


def pressure() -> str:
    """Return what is short, `memory` before `load`, or an empty text where nothing is."""
    if free_share() < LEAST_FREE_SHARE:
        return MEMORY
    return LOAD if load_per_core() > MOST_LOAD_PER_CORE else ""


def load_per_core() -> float:
    """Return how many processes wanted to run in the last minute, per core; 0 where nobody counts."""
    try:
        return os.getloadavg()[0] / (os.cpu_count() or 1)
    except (AttributeError, OSError):
        return 0.0


def free_share(file: Path = MEMORY_FILE) -> float:
    """Return the share of memory that can still be had; 1 where nobody says."""
    try:
        lines = file.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return 1.0
    found = {name: value.split() for name, _, value in (line.partition(":") for line in lines)}
    try:
        return int(found["MemAvailable"][0]) / int(found["MemTotal"][0])
    except (KeyError, IndexError, ValueError, ZeroDivisionError):
        return 1.0


SCHEDULER = "scheduler"
"""What health calls this part."""
IN_BACKGROUND = " in the background"
"""How the name of a job ends where `health` notes how it fares."""
LOOK_SECONDS = 5.0
"""How often the thread looks whether something is due: a look costs microseconds."""
QUIET = timedelta(seconds=5)
"""So long nobody must have used the store before a job begins."""
PATIENCE = timedelta(hours=1)
"""A job that is due for longer begins in spite of use and load; only short memory still holds it up."""
FIRST_BACK_OFF = timedelta(minutes=1)
LONGEST_BACK_OFF = timedelta(hours=1)
CLOSE_SECONDS = 1.0
"""How long `close` waits for a job; what it still tries then meets a closed store, and it ends."""
STALLED = timedelta(minutes=30)
"""A job that runs for longer is shown as stalled: a dream over 100 k memories takes minutes."""


class Job(Struct, frozen=True, kw_only=True):
    """Something slow, and when it is due; a trigger that is not given does not count."""

    name: str
    run: Callable[[], object]
    every: timedelta | None = None
    after_extractions: int | None = None
    idle: timedelta | None = None
    needs_news: bool = True
    """Whether time alone makes it due only if something happened since it last ran."""
    has_news: Callable[[], bool] = lambda: False
    """Whether another process left something for it; asked when its time has come."""
    is_wanted: Callable[[], bool] = lambda: True
    """Whether there is something for it to do at all; the only trigger of a job that has no other."""
    last_done: Callable[[], datetime | None] = lambda: None
    """When it was last done by any process, as the store knows it."""

    @property
    def has_trigger(self) -> bool:
        """Whether time or events make it due, and not its work alone."""
        return (self.every, self.after_extractions, self.idle) != (None, None, None)


class _Course(Struct):
    """How a job has fared in this process."""

    extractions: int = 0
    tried_at: datetime | None = None
    looked_at: datetime | None = None
    due_since: datetime | None = None
    failures: int = 0
    crashes: int = 0
    not_before: datetime | None = None

    @property
    def is_given_up(self) -> bool:
        """Whether it has crashed too often to be tried again in this process."""
        return self.crashes >= MAX_CRASHES


class Scheduler:
    """Runs jobs one at a time on its worker, or one per `tick`."""

    def __init__(
        self,
        jobs: Sequence[Job],
        *,
        clock: Clock,
        health: Health,
        last_use: Callable[[], datetime | None],
        pressed: Callable[[], str] = pressure,
        stop: threading.Event | None = None,
        worker: Worker | None = None,
    ) -> None:
        self._jobs = jobs
        self._clock = clock
        self._health = health
        self._last_use = last_use
        self.pressed = pressed
        """What the machine is short of, in a word."""
        self._stop = stop or threading.Event()
        self._worker = worker or Worker(SCHEDULER, health=health)
        self._lock = threading.Lock()
        self._began_at = clock.now()
        self._courses = {job.name: _Course() for job in jobs}
        self._news_at: datetime | None = None
        self._state = SchedulerState()

    def start(self) -> None:
        """Begin to look after the store in the background."""
        if not self._state.is_on:
            self._note(is_on=True)
            self._worker.every(LOOK_SECONDS, SCHEDULER, self.tick)

    def restart(self) -> tuple[str, ...]:
        """Give the jobs that were given up another chance, and return their names."""
        with self._lock:
            names = tuple(name for name, course in self._courses.items() if course.is_given_up)
            for name in names:
                self._courses[name] = _Course()
        return names

    def close(self) -> None:
        """End the worker; a job under way hears of it at its next small write."""
        self._stop.set()
        self._worker.close(CLOSE_SECONDS)

    def schedule(self, reason: str = "") -> None:
        """Note that something happened after which work may be due, such as the end of a turn."""
        with self._lock:
            self._news_at = self._clock.now()
            self._state = replace(self._state, woken_by=reason or self._state.woken_by)
            is_on = self._state.is_on
        if is_on:
            self._worker.submit(SCHEDULER, self.tick, key="soon")

    def extracted(self) -> None:
        """Note that turns were read."""
        with self._lock:
            for course in self._courses.values():
                course.extractions += 1
        self.schedule("an extraction")

    def state(self) -> SchedulerState:
        """Return what it does, what it did last, what it waits for and what it has given up."""
        with self._lock:
            state = self._state
            given_up = tuple(name for name, course in self._courses.items() if course.is_given_up)
        since = state.running_since
        is_stalled = since is not None and self._clock.now() - since > STALLED
        return replace(state, is_stalled=is_stalled, given_up=given_up)

    def tick(self) -> str | None:
        """Run the one job that is due and has waited longest, and return its name; None for nothing."""
        try:
            with self._health.watch(SCHEDULER):
                due = [job for job in self._jobs if self._is_due(job)]
        except EngramError:  # noted in health; the store may be there again at the next look
            return None
        if self._stop.is_set() or not due:
            self._note(waiting_for="")
            return None
        job = min(due, key=lambda one: self._courses[one.name].due_since or self._clock.now())
        if held_up := self._held_up(job):
            self._note(waiting_for=held_up)
            return None
        self._take(job)
        return job.name

    def _is_due(self, job: Job) -> bool:
        """Return whether a job should run, and remember since when."""
        now, course = self._clock.now(), self._courses[job.name]
        if course.is_given_up or (course.not_before is not None and now < course.not_before):
            return False
        is_triggered = course.due_since is not None or self._is_triggered(job, course, now)
        is_due = is_triggered and job.is_wanted()
        course.due_since = (course.due_since or now) if is_due else None
        return is_due

    def _is_triggered(self, job: Job, course: _Course, now: datetime) -> bool:
        if job.after_extractions is not None and course.extractions >= job.after_extractions:
            return True
        last = self._last_run(job, course)
        used = self._used_at()
        has_news = used is not None and used > last
        if job.idle is not None and has_news and used is not None and now - used >= job.idle:
            return True
        if job.every is not None and now - max(last, course.looked_at or last) >= job.every:
            course.looked_at = now  # where nothing is new, the question is asked again after the same time
            return has_news or not job.needs_news or job.has_news()
        return not job.has_trigger

    def _last_run(self, job: Job, course: _Course) -> datetime:
        """Return when the job was last tried here or done elsewhere, or since when this process counts."""
        moments = [moment for moment in (course.tried_at, job.last_done()) if moment is not None]
        return max(moments, default=self._began_at)

    def _used_at(self) -> datetime | None:
        """Return when the store was last used by anyone but this scheduler, as far as this process knows."""
        moments = [moment for moment in (self._last_use(), self._news_at) if moment is not None]
        return max(moments, default=None)

    def _held_up(self, job: Job) -> str:
        """Return what the job must wait for, in a few words; nothing when it may begin."""
        pressed = self.pressed()
        if pressed == MEMORY:
            return "memory is short"
        now, since = self._clock.now(), self._courses[job.name].due_since
        if since is not None and now - since >= PATIENCE:
            return ""
        if pressed:
            return "the machine is busy"
        used = self._last_use()
        return "the store is in use" if used is not None and now - used < QUIET else ""

    def _take(self, job: Job) -> None:
        """Run a job, note how it ended, and say when it may run again."""
        started, course = self._clock.now(), self._courses[job.name]
        course.extractions, course.due_since = 0, None
        self._note(running=job.name, running_since=started, waiting_for="")
        try:
            with self._health.watch(job.name + IN_BACKGROUND):
                _run_unless_taken(job)
        except EngramError:  # noted in health, and shown by `status`
            course.crashes = 0
            self._back_off(course)
        except (Exception, SystemExit, GeneratorExit) as error:  # noqa: BLE001 - one bad job must not end the others
            self._health.crashed(job.name + IN_BACKGROUND, place_of(error))
            course.crashes += 1
            self._back_off(course)
        else:
            course.failures, course.crashes, course.not_before = 0, 0, None
        finally:
            course.tried_at = self._clock.now()
            self._note(running=None, running_since=None, last_job=job.name, last_run=self._clock.now())

    def _back_off(self, course: _Course) -> None:
        course.failures += 1
        pause = growing_pause(
            course.failures, first=FIRST_BACK_OFF.total_seconds(), longest=LONGEST_BACK_OFF.total_seconds()
        )
        course.not_before = self._clock.now() + timedelta(seconds=pause)

    def _note(self, **changes: Any) -> None:
        with self._lock:
            self._state = replace(self._state, **changes)


def _run_unless_taken(job: Job) -> None:
    """Run a job; where another process is at it already, that is as good."""
    with contextlib.suppress(StoreBusy):
        job.run()
