"""
The background worker: one supervised thread that runs named jobs.

Every thread of the engine is a `Worker`. A job that fails is tried again after a pause that doubles; one that
keeps crashing is given up until somebody restarts it, and `status` says so. Nothing that a job raises ends
the thread, and one that has died is started again, up to a limit. No one waits forever: `wait` and `close`
take a limit, and a forked child, which has no such thread, waits for nothing.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Hashable

from msgspec import Struct
from msgspec.structs import replace

from engramdb.errors import EngramError
from engramdb.health import Health, place_of
from engramdb.values.report import JobState, WorkerState

FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 60.0
MAX_CRASHES = 5
"""A job that raises unexpected errors this often in a row has a bug: it is given up."""
MAX_RESTARTS = 10
"""So often a thread that died is started again."""
CLOSE_SECONDS = 30.0
"""How long closing waits for the jobs under way, all together; then they meet a closed store, and end."""
NORMAL, IDLE = 0, 1
"""Priorities: what was asked for goes before what is only repeated."""

TaskId = tuple[str, Hashable]


class _Task(Struct, frozen=True, kw_only=True):
    """One run of a job."""

    id: TaskId
    run: Callable[[], object]
    due: float
    priority: int = NORMAL
    every_seconds: float | None = None
    retry: bool = True


class Worker:
    """Runs jobs one at a time in a thread that begins with the first of them."""

    def __init__(self, name: str, *, health: Health) -> None:
        self.name = name
        self._health = health
        self._changed = threading.Condition()
        self._tasks: dict[TaskId, _Task] = {}
        self._running: _Task | None = None
        self._jobs: dict[str, JobState] = {}
        self._failures: dict[TaskId, int] = {}
        self._given_up: dict[TaskId, _Task] = {}
        self._restarts = 0
        self._is_closed = False
        self._thread: threading.Thread | None = None
        self._process = os.getpid()

    def submit(
        self,
        job: str,
        run: Callable[[], object],
        *,
        key: Hashable = None,
        delay_seconds: float = 0.0,
        retry: bool = True,
        max_waiting: int | None = None,
    ) -> None:
        """
        Ask for one run of a job, in place of one with the same key that still waits.

        Beyond `max_waiting` runs of the job, the oldest are dropped.
        """
        self._add(
            _Task(id=(job, key), run=run, due=time.monotonic() + delay_seconds, retry=retry), max_waiting
        )

    def every(self, seconds: float, job: str, run: Callable[[], object]) -> None:
        """Repeat a job, first after this many seconds, whenever nothing else is to be done."""
        with self._changed:
            running = self._running
            if (job, None) in self._tasks or (running is not None and running.id == (job, None)):
                return
        due = time.monotonic() + seconds
        self._add(_Task(id=(job, None), run=run, due=due, priority=IDLE, every_seconds=seconds))

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until nothing is due or under way; return False if that took too long."""
        if self._process != os.getpid():
            return True
        with self._changed:
            self._ensure_thread()
            return (
                self._changed.wait_for(lambda: self._is_idle() or self._is_dead(), seconds)
                and self._is_idle()
            )

    def restart(self) -> tuple[str, ...]:
        """Give the jobs that were given up another chance, and return their names."""
        with self._changed:
            names = tuple(name for name, job in self._jobs.items() if job.is_given_up)
            for name in names:
                self._jobs[name] = JobState(name=name, runs=self._jobs[name].runs)
            tasks, self._given_up, self._restarts = list(self._given_up.values()), {}, 0
        for task in tasks:
            self._add(replace(task, due=time.monotonic()))
        return names

    def close(self, seconds: float = CLOSE_SECONDS) -> str | None:
        """End the thread after the job under way, drop what waits, and return the job that did not end."""
        if self._process != os.getpid():
            return None
        with self._changed:
            self._is_closed = True
            self._tasks.clear()
            self._changed.notify_all()
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(seconds)
            with self._changed:
                if thread.is_alive() and self._running is not None:
                    return self._running.id[0]
        return None

    def state(self) -> WorkerState:
        """Return what the worker does, what waits, and how its jobs fare."""
        with self._changed:
            self._ensure_thread()
            now = time.monotonic()
            return WorkerState(
                name=self.name,
                is_alive=self._thread is not None and self._thread.is_alive(),
                running=None if self._running is None else self._running.id[0],
                waiting=sum(1 for task in self._tasks.values() if task.due <= now),
                restarts=self._restarts,
                jobs=tuple(self._jobs.values()),
            )

    def _is_idle(self) -> bool:
        now = time.monotonic()
        is_waiting = any(task.due <= now for task in self._tasks.values() if task.priority == NORMAL)
        return self._is_closed or (self._running is None and not is_waiting)

    def _add(self, task: _Task, max_waiting: int | None = None) -> None:
        if self._process != os.getpid():
            return
        job = task.id[0]
        with self._changed:
            state = self._jobs.setdefault(job, JobState(name=job))
            if self._is_closed or state.is_given_up:
                return
            self._tasks.pop(task.id, None)  # so that the latest request is the last in line
            self._tasks[task.id] = task
            if max_waiting is not None:
                of_job = [one for one in self._tasks if one[0] == job]
                for one in of_job[: max(0, len(of_job) - max_waiting)]:
                    del self._tasks[one]
            self._ensure_thread()
            self._changed.notify_all()

    def _ensure_thread(self) -> None:
        """Start the thread where there is something to do, again where it has died; the lock is held."""
        if self._is_closed or not self._tasks or self._process != os.getpid():
            return
        if self._thread is not None:
            if self._thread.is_alive() or self._restarts >= MAX_RESTARTS:
                return
            self._restarts += 1
            self._running = None
        self._thread = threading.Thread(target=self._supervise, name=f"engram-{self.name}", daemon=True)
        self._thread.start()

    def _is_dead(self) -> bool:
        return self._thread is not None and not self._thread.is_alive() and self._restarts >= MAX_RESTARTS

    def _supervise(self) -> None:
        """Work, and go on where the work on the work itself fails, for want of memory for example."""
        while True:
            try:
                self._loop()
            except BaseException as error:  # noqa: BLE001 - supervision: a thread that ends helps nobody
                with self._changed:
                    self._restarts += 1
                    self._running = None
                    is_over = self._is_closed or self._restarts >= MAX_RESTARTS
                    self._changed.notify_all()
                self._health.crashed(self.name, place_of(error))
                if is_over:
                    return
            else:
                return

    def _loop(self) -> None:
        while (task := self._next()) is not None:
            error = _attempt(task)
            with self._changed:
                self._running = None
                self._note(task, error)
                self._changed.notify_all()
            if error is not None and not isinstance(error, EngramError):
                self._health.crashed(task.id[0], place_of(error))

    def _next(self) -> _Task | None:
        """Return the next task when it is due; None when the worker is closed."""
        with self._changed:
            while not self._is_closed:
                now = time.monotonic()
                due = [task for task in self._tasks.values() if task.due <= now]
                if due:
                    self._running = min(due, key=lambda task: (task.priority, task.due))
                    del self._tasks[self._running.id]
                    return self._running
                soonest = min((task.due for task in self._tasks.values()), default=None)
                self._changed.wait(None if soonest is None else max(0.0, soonest - now))
        return None

    def _note(self, task: _Task, error: BaseException | None) -> None:
        """Count how a run ended, and put the next one in line where there is to be one."""
        job = task.id[0]
        state = self._jobs[job]
        if error is None:
            self._failures.pop(task.id, None)
            self._jobs[job] = replace(state, runs=state.runs + 1, crashes=0, failures=0, error=None)
            if task.every_seconds is not None:
                self._again(task, task.every_seconds)
            return
        is_crash = not isinstance(error, EngramError)
        crashes = state.crashes + 1 if is_crash else 0
        self._jobs[job] = replace(
            state,
            runs=state.runs + 1,
            failures=state.failures + 1,
            crashes=crashes,
            error=place_of(error) if is_crash else getattr(error, "code", None),
            is_given_up=crashes >= MAX_CRASHES,
        )
        if self._jobs[job].is_given_up:
            self._given_up |= {task.id: task} | {
                key: one for key, one in self._tasks.items() if key[0] == job
            }
            self._tasks = {key: one for key, one in self._tasks.items() if key[0] != job}
            self._failures = {key: n for key, n in self._failures.items() if key[0] != job}
        elif task.retry:
            failures = self._failures[task.id] = self._failures.get(task.id, 0) + 1
            pause = growing_pause(failures, first=FIRST_PAUSE_SECONDS, longest=LONGEST_PAUSE_SECONDS)
            self._again(task, max(pause, task.every_seconds or 0.0))

    def _again(self, task: _Task, seconds: float) -> None:
        """Put a task in line once more, unless a newer request for the same is there."""
        if not self._is_closed and task.id not in self._tasks:
            self._tasks[task.id] = replace(task, due=time.monotonic() + seconds)


def growing_pause(failures: int, *, first: float, longest: float) -> float:
    """Return how many seconds to wait after so many failures in a row: twice as long each time."""
    return min(first * float(2 ** min(failures - 1, 20)), longest)


def _attempt(task: _Task) -> BaseException | None:
    try:
        task.run()
    except BaseException as error:  # noqa: BLE001 - supervision: what ends one job must not end the others
        return error
    return None
