"""Background work: when dreams, aging and embedding happen."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from engramdb.engine.assemble import Parts
from engramdb.engine.clock import Clock
from engramdb.engine.doctor import embed_pending
from engramdb.engine.dreaming import Dreams, has_news
from engramdb.engine.handle import READ_NOTES
from engramdb.engine.status import CHAT, EMBEDDER, Health
from engramdb.engine.upkeep import Upkeep
from engramdb.engine.workers import MEMORY, READING, pressure
from engramdb.errors import EmbeddingError, EngramError, StoreBusy
from engramdb.values import Actor, SchedulerState, Scope, StatusReport

# Decide when the slow work happens: one job at a time, when it is due and nobody is in the way.
#
# Held by `Background`, which says what the jobs are; knows nothing of what they do. A job is due after so
# many
# extractions, after so much time with something new, or once nothing has happened for a while. It waits while
# the store is in use, the machine is busy or its memory short; one that fails waits longer each time. Time is
# the engine's clock; only the thread's own waiting is real, so that a test can call `tick` by hand.

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
"""So long `close` waits for a job; what it still tries then meets a closed store, and it ends."""
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
    not_before: datetime | None = None


class Scheduler:
    """Runs jobs in a thread of its own, or one per `tick`."""

    def __init__(
        self,
        jobs: Sequence[Job],
        *,
        clock: Clock,
        health: Health,
        last_use: Callable[[], datetime | None],
        pressed: Callable[[], str] = pressure,
        stop: threading.Event | None = None,
    ) -> None:
        self._jobs = jobs
        self._clock = clock
        self._health = health
        self._last_use = last_use
        self.pressed = pressed
        """What the machine is short of, in a word."""
        self._stop = stop or threading.Event()
        self._wake = threading.Event()
        self._lock = threading.Lock()
        self._began_at = clock.now()
        self._courses = {job.name: _Course() for job in jobs}
        self._news_at: datetime | None = None
        self._state = SchedulerState()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to look after the store in the background."""
        if self._thread is None:
            self._state = SchedulerState(is_on=True)
            self._thread = threading.Thread(target=self._run, name="engram-scheduler", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """End the thread; a job under way hears of it at its next small write."""
        self._stop.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join(CLOSE_SECONDS)

    def schedule(self, reason: str = "") -> None:
        """Say that something happened after which work may be due, such as the end of a turn."""
        with self._lock:
            self._news_at = self._clock.now()
            self._state = replace(self._state, woken_by=reason or self._state.woken_by)
        self._wake.set()

    def extracted(self) -> None:
        """Say that statements were read out of turns."""
        with self._lock:
            for course in self._courses.values():
                course.extractions += 1
        self.schedule("an extraction")

    def state(self) -> SchedulerState:
        """Return what it does, what it did last and what it waits for."""
        with self._lock:
            state = self._state
        is_alive = self._thread is None or self._thread.is_alive() or self._stop.is_set()
        since = state.running_since
        return replace(
            state,
            is_stalled=since is not None and self._clock.now() - since > STALLED,
            waiting_for=state.waiting_for if is_alive else "its thread has ended",
        )

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

    def _run(self) -> None:
        while not self._stop.is_set():
            self._wake.wait(LOOK_SECONDS)
            self._wake.clear()
            if not self._stop.is_set():
                self.tick()

    def _is_due(self, job: Job) -> bool:
        """Say whether a job should run, and keep in mind since when."""
        now, course = self._clock.now(), self._courses[job.name]
        if course.not_before is not None and now < course.not_before:
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
            course.failures += 1
            pause = min(FIRST_BACK_OFF * 2 ** min(course.failures - 1, 10), LONGEST_BACK_OFF)
            course.not_before = self._clock.now() + pause
        else:
            course.failures, course.not_before = 0, None
        finally:
            course.tried_at = self._clock.now()
            self._note(running=None, running_since=None, last_job=job.name, last_run=self._clock.now())

    def _note(self, **changes: Any) -> None:
        with self._lock:
            self._state = replace(self._state, **changes)


def _run_unless_taken(job: Job) -> None:
    """Run a job; where another process is at it already, that is as good."""
    with contextlib.suppress(StoreBusy):
        job.run()


# What happens to a store while nobody asks: dreams, ageing, and embedding what waits.
#
# Part of `Engram`; says what the jobs of the `Scheduler` are, when they are due and what counts as use of the
# store. The thread runs in `serve` and `mcp`, and in the library where it is asked for. Across processes the
# leases of the jobs decide who does them.

EXTRACTIONS = 3
"""After so many readings of turns a dream is due."""
AGEING_HOURS = 24.0
"""A sweep a day: no rule of any policy counts in less than days."""
BACKFILL_MINUTES = 1.0
BACKFILL_SECONDS = 30.0
"""How long one stretch of embedding may take before something else gets its turn."""
NOT_USE = frozenset({EMBEDDER, CHAT, READING, READ_NOTES, SCHEDULER, "ageing", "dream", "index snapshot"})
"""Parts of `health` that are at work without anybody waiting for them."""


class Background(Dreams, Upkeep):
    """The slow work that a store gets by itself."""

    def __init__(self, parts: Parts, *, scope: Scope, actor: Actor) -> None:
        super().__init__(parts, scope=scope, actor=actor)
        self._scheduler = Scheduler(
            self._jobs(), clock=parts.clock, health=parts.health, last_use=self._last_use, stop=parts.stop
        )
        self._listener.on_read = self._scheduler.extracted

    def close(self) -> None:
        """Finish what is under way and let go of the store; slow work stops at its next small write."""
        self._scheduler.close()
        super().close()

    def status(self) -> StatusReport:
        """Return a look at the whole: counts, sizes, what waits, what fails, what the background does."""
        return replace(super().status(), scheduler=self._scheduler.state())

    def schedule(self, reason: str = "") -> None:
        """Say that something happened after which slow work may be due, such as the end of a turn."""
        self._scheduler.schedule(reason)

    def _jobs(self) -> Sequence[Job]:
        settings = self._parts.settings
        return (
            Job(
                name="backfill",
                run=self._embed_a_stretch,
                every=timedelta(minutes=BACKFILL_MINUTES),
                needs_news=False,
                is_wanted=self._has_unembedded,
            ),
            Job(
                name="dream",
                run=self.dream,
                every=timedelta(minutes=settings.dream_minutes),
                after_extractions=EXTRACTIONS,
                idle=timedelta(minutes=settings.dream_idle_minutes),
                has_news=self._has_changed,
                last_done=self._last_dream,
            ),
            Job(
                name="ageing",
                run=self.age,
                every=timedelta(hours=AGEING_HOURS),
                needs_news=False,
                last_done=self._last_sweep,
            ),
        )

    def _last_use(self) -> datetime | None:
        """Return when somebody last waited for this store, in this process."""
        moments = [self._listener.heard_at]
        for part in self._parts.health.parts():
            if part.name not in NOT_USE and not part.name.endswith(IN_BACKGROUND):
                moments += [part.last_success, part.last_failure]
        return max((moment for moment in moments if moment is not None), default=None)

    def _last_dream(self) -> datetime | None:
        with self._parts.store.read() as tx:
            latest = tx.dreams.latest()
        return None if latest is None else latest.finished_at

    def _last_sweep(self) -> datetime | None:
        with self._parts.store.read() as tx:
            latest = tx.sweeps.latest()
        return None if latest is None else latest.finished_at

    def _has_changed(self) -> bool:
        """Say whether a memory has changed since the last dream, whichever process changed it."""
        with self._parts.store.read() as tx:
            return has_news(tx)

    def _has_unembedded(self) -> bool:
        try:
            identity = self._parts.embedder.identity
        except EmbeddingError:  # noted in health by the embedder itself
            return False
        with self._parts.store.read() as tx:
            return bool(tx.vectors.pending(tx.vectors.space(identity), limit=1))

    def _embed_a_stretch(self) -> None:
        """Embed what waits, batch by batch, until somebody uses the store or the stretch is over."""
        begun, used = time.monotonic(), self._last_use()

        def is_over() -> bool:
            is_long = time.monotonic() - begun > BACKFILL_SECONDS
            return self._parts.stop.is_set() or is_long or self._last_use() != used

        embed_pending(self._parts.store, self._parts.embedder, stop=_Until(is_over))


class _Until(threading.Event):
    """An event that has happened when a question is answered with yes."""

    def __init__(self, is_over: Callable[[], bool]) -> None:
        super().__init__()
        self._is_over = is_over

    def is_set(self) -> bool:
        """Say whether it has happened."""
        return self._is_over()
