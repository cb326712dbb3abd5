"""
One hook from beginning to end, within its time limit.

The process that the agent waits for stays small: it forks, and `detached` opens the engine, sends back the
answer and then that everything is stored. When both have come, or the time is up, the agent goes on. Frequent
events without an answer are not waited for. Where there is no fork, everything happens in one process, which
ends itself when its time is up.
"""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, NoReturn

from engramdb.errors import EngramError
from engramdb.hooks import events, filters
from engramdb.hooks.detached import HookWork, as_note, detach, do
from engramdb.hooks.events import PROGRAMS, AgentProgram, HookCall, HookEvent, parse_arguments
from engramdb.hooks.state import note_failure

if TYPE_CHECKING:  # loaded only by a hook that has something to do
    from engramdb.settings import Settings

MAX_BYTES: Final = 8_000_000
"""A prompt with pasted files is far smaller; of more, nothing is read."""
STDIN_SECONDS: Final = 2.0
"""How long the event itself may take to come in."""
TOO_LATE: Final = "it was not done in time, and the agent went on without memory"
_DONE, _ANSWER = b"D", b"A"


class _TimeIsUp(Exception):
    """Raised by the alarm clock and seen by nobody else."""


def run(call: HookCall, stdin: IO[bytes], stdout: IO[bytes], *, can_fork: bool = hasattr(os, "fork")) -> None:
    """Answer one event; what goes wrong is written down, and nothing is raised or printed to stderr."""
    program = PROGRAMS.get(call.client)
    if filters.is_inside() or program is None or call.event not in program.events:
        return
    filters.mark_children()
    # No home, no file, no process to be had: there is no place for a note either.
    with suppress(OSError, RuntimeError):
        _run(call, program.events[call.event], stdin, stdout, can_fork=can_fork)


def run_here(call: HookCall) -> None:
    """Answer one event on the streams of this process, which may be closed."""
    stdin = io.BytesIO() if sys.stdin is None else sys.stdin.buffer
    stdout = io.BytesIO() if sys.stdout is None else sys.stdout.buffer
    # Unbuffered: what a closed pipe did not take would be tried again, and complained of, at the very end.
    run(call, stdin, getattr(stdout, "raw", stdout))


def run_words(words: Sequence[str]) -> None:
    """Answer the event that the command line names."""
    run_here(parse_arguments(words))


def _run(call: HookCall, name: str, stdin: IO[bytes], stdout: IO[bytes], *, can_fork: bool) -> None:
    begun = time.monotonic()
    home = _home(call)
    event = _read_event(name, stdin, home, until=begun + STDIN_SECONDS)
    if event is None or not is_wanted(event, PROGRAMS[call.client]):
        return
    settings = _settings(call, home)
    if settings is None:
        return
    work = HookWork(call=call, event=event, settings=settings, until=begun + settings.hook_timeout_seconds)
    (_run_forked if can_fork else _run_alone)(work, stdout)


def _read_event(name: str, stdin: IO[bytes], home: Path, *, until: float) -> HookEvent | None:
    """Return the event, or None where standard input holds none or does not end."""
    try:
        with _alarm(until):
            raw = stdin.read(MAX_BYTES)
            rest = stdin.read(MAX_BYTES)
            while rest and stdin.read(MAX_BYTES):  # to its end: the agent is still writing it
                pass
        if rest:
            raise events.UnreadableEvent(f"the event is larger than {MAX_BYTES} bytes")
        return events.parse(raw, name=name)
    except events.UnreadableEvent as exc:
        note_failure(home, str(exc))
    except _TimeIsUp:
        note_failure(home, "the event on standard input did not end")
    return None


def is_wanted(event: HookEvent, program: AgentProgram) -> bool:
    """Return whether there is anything to do, before it costs anything to find out."""
    if event.is_of_subagent or (event.name == events.STOPPED and event.has_stopped_before):
        return False
    if event.name == events.TOOL_USED:
        return event.tool in program.task_tools or filters.command_run(event, program) is not None
    return event.name != events.PROMPT or filters.is_typed(event.prompt)


def _home(call: HookCall) -> Path:
    """Return the folder for notes, also where the settings cannot be read."""
    return Path(call.home or os.environ.get("ENGRAM_HOME") or "~/.engram").expanduser()


def _settings(call: HookCall, home: Path) -> Settings | None:
    from engramdb.settings import Settings  # noqa: PLC0415

    try:
        return Settings.load(home=call.home, store=call.store)
    except EngramError as exc:
        note_failure(home, as_note(exc))
        return None


def _run_forked(work: HookWork, stdout: IO[bytes]) -> None:
    reading, writing = os.pipe()
    try:
        is_child = os.fork() == 0
    except OSError as exc:
        note_failure(work.settings.home, f"no process could be started for it: {exc.strerror}")
        return
    if is_child:
        os.close(reading)
        detach(lambda: _work_and_send(work, writing), home=work.settings.home, closing=writing)
    os.close(writing)
    if not _is_waited_for(work):
        os.close(reading)
        return
    with os.fdopen(reading, "rb") as pipe:
        is_done = _pass_on(pipe, stdout, work.until)
    if not is_done and time.monotonic() >= work.until:  # of any other end, `detached` knows more
        note_failure(work.settings.home, TOO_LATE)


def _is_waited_for(work: HookWork) -> bool:
    """
    Return whether the agent waits until an event is kept.

    A reply that stands in a log is caught up on by the next event, should this one come to nothing.
    """
    if work.event.name == events.TOOL_USED:
        return False
    return work.event.name != events.STOPPED or not PROGRAMS[work.call.client].has_readable_log


def _pass_on(pipe: IO[bytes], stdout: IO[bytes], until: float) -> bool:
    """Pass the answer on as it comes, and return whether everything was stored by that moment."""
    with suppress(_TimeIsUp), _alarm(until):
        for line in pipe:
            if line[:1] == _DONE:
                return True
            with suppress(OSError):  # an agent that has gone wants no answer
                stdout.write(line.removeprefix(_ANSWER))
                stdout.flush()
    return False


@contextmanager
def _alarm(until: float) -> Iterator[None]:
    """Raise in the block when the moment has come, where the system has such a clock."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def ring(_number: int, _frame: object) -> NoReturn:
        raise _TimeIsUp

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, max(0.001, until - time.monotonic()))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _work_and_send(work: HookWork, writing: int) -> None:
    """Do the work, and send the answer and that it is done to the process that the agent waits for."""

    def send(kind: bytes, rest: bytes = b"") -> None:
        with suppress(OSError):  # the agent may have gone on
            os.write(writing, kind + rest + b"\n")

    do(work, answer=lambda text: send(_ANSWER, text), done=lambda: send(_DONE))


def _run_alone(work: HookWork, stdout: IO[bytes]) -> None:
    """Do the work here; the process ends itself when the time is up."""

    def give_up() -> None:
        if not is_done.is_set():
            note_failure(work.settings.home, TOO_LATE)
        os._exit(0)

    def write(text: bytes) -> None:
        with suppress(OSError):  # an agent that has gone wants no answer
            stdout.write(text + b"\n")
            stdout.flush()

    is_done = threading.Event()
    clock = threading.Timer(max(0.0, work.until - time.monotonic()), give_up)
    clock.daemon = True
    clock.start()
    do(work, answer=write, done=is_done.set)
    clock.cancel()
