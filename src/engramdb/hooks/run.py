"""One hook from beginning to end, within its time limit."""

from __future__ import annotations

import io
import json
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, NoReturn

from msgspec import Struct

from engramdb.errors import EngramError
from engramdb.hooks import events, guards, transcript
from engramdb.hooks import guards as notes
from engramdb.hooks.events import PROGRAMS, parse_arguments
from engramdb.hooks.project import AUTO

if TYPE_CHECKING:
    from engramdb.engine.engram import Engram
    from engramdb.hooks.events import Call, Event
    from engramdb.settings import Settings


# Open the engine for an event, answer it, keep it, and say how that went.
#
# Called by `run`, in a process that nobody waits for longer than it may; the first to import the engine, and
# the one place of the hooks that catches what it did not foresee. A hook that was too late does not count as
# one that worked, though what it keeps is kept.


class Work(Struct, frozen=True, kw_only=True):
    """One event to answer, and until when somebody waits; by `time.monotonic`."""

    call: Call
    event: Event
    settings: Settings
    until: float


def do(work: Work, *, answer: Callable[[bytes], None], done: Callable[[], None]) -> None:
    """Answer, keep, say that it is done, and read; a failure is noted, and is an end as well."""
    try:
        with _opened(work) as engram:
            _do(work, engram, answer=answer, done=done)
    except EngramError as exc:
        guards.failed(work.settings.home, told(exc))
        done()
    except Exception as exc:  # noqa: BLE001 - an agent must not stop for a mistake of ours
        last = traceback.extract_tb(exc.__traceback__)[-1]
        where = f"{last.filename.rpartition('engram')[2]}:{last.lineno}"
        guards.failed(work.settings.home, f"a mistake in Engram itself: {type(exc).__name__} at {where}")
        done()


def told(error: EngramError) -> str:
    """Return an error as a note: its code and its message, which never quotes a memory."""
    return f"{error.code} {error.message}"


def _do(work: Work, engram: Engram, *, answer: Callable[[bytes], None], done: Callable[[], None]) -> None:
    from engramdb.hooks import respond as react  # noqa: PLC0415

    visit = react.Visit(
        engram=engram,
        settings=work.settings,
        event=work.event,
        program=PROGRAMS[work.call.client],
        is_by_folder=work.call.project == AUTO,
    )
    is_well = True
    try:
        block = react.answer(visit)
    except EngramError as exc:  # what was said is kept all the same
        guards.failed(work.settings.home, told(exc))
        block, is_well = "", False
    if block:
        answer(_output(work.call.event, block))
    turns = react.keep(visit)
    if is_well and time.monotonic() < work.until:
        engram.note_success(guards.PART)
    done()
    guards.deliver(engram, work.settings.home)
    react.afterwards(visit, turns)


def _opened(work: Work) -> Engram:
    """Open the store, made if need be: whoever connected an agent wants it to remember."""
    from engramdb.cli.commands import engine  # noqa: PLC0415
    from engramdb.values import Actor, ActorKind, Scope  # noqa: PLC0415

    return engine().open(
        settings=work.settings,
        scope=Scope(**work.call.scope_in(work.event.folder)),
        actor=Actor(name=work.call.agent or work.call.client, kind=ActorKind.AGENT),
        background=False,
    )


def _output(event: str, block: str) -> bytes:
    """Return the answer as programs take it, on one line; the event is called as the program calls it."""
    return json.dumps({"hookSpecificOutput": {"hookEventName": event, "additionalContext": block}}).encode()


# Go on behind an agent that does not wait, and let no end of it pass in silence.

LIFE_SECONDS: Final = 120.0
"""How long the work may go on when the agent has gone on."""


def go_on(
    act: Callable[[], None], *, home: Path, closing: int | None = None, most_seconds: float = LIFE_SECONDS
) -> NoReturn:
    """
    Do the work where the agent does not see it, and end this process.

    `closing` is a file that only the work may hold open, for somebody waits until it is closed.
    """
    try:
        _leave_the_agent()
        worker = os.fork()
        if worker == 0:
            _work(act, most_seconds)
        if closing is not None:
            os.close(closing)
        _, status = os.waitpid(worker, 0)
        code = os.waitstatus_to_exitcode(status)
        if code:
            guards.failed(home, _end_told(code, most_seconds))
    except OSError as exc:
        guards.failed(home, f"no process could be started for it: {exc.strerror}")
    finally:
        os._exit(0)


def _leave_the_agent() -> None:
    """Let go of the streams and the group of the process that the agent waits for."""
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)


def _work(act: Callable[[], None], most_seconds: float) -> NoReturn:
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # ends the process, whatever it is busy with
    signal.setitimer(signal.ITIMER_REAL, most_seconds)
    try:
        act()
        os._exit(0)
    finally:
        os._exit(1)


def _end_told(code: int, most_seconds: float) -> str:
    """Return how work ended that did not end well."""
    if code == -signal.SIGALRM:
        return f"it took more than {most_seconds:g} seconds and was ended"
    return f"it was ended by signal {-code}" if code < 0 else "it ended early"


# One hook from its beginning to its end, within its time.
#
# Called by `engram hook`. The process that the agent waits for stays small: it forks, and `behind` opens the
# engine, sends back the answer and then the word that all is stored. When both are there, or the time is up,
# the agent goes on, and what was said is read at leisure. Events that come all the time and have no answer
# are
# not waited for. Where there is no fork, everything happens in one process, which ends itself when its time
# is
# up.

MOST_BYTES: Final = 8_000_000
"""A prompt with pasted files is far smaller; of more, nothing is read."""
STDIN_SECONDS: Final = 2.0
"""How long the event itself may take to come in."""
TOO_LATE: Final = "it was not done in time, and the agent went on without memory"
_DONE, _ANSWER = b"D", b"A"


class _TimeIsUp(Exception):
    """Raised by the alarm clock and seen by nobody else."""


def run(call: Call, stdin: IO[bytes], stdout: IO[bytes], *, can_fork: bool = hasattr(os, "fork")) -> None:
    """Answer one event; whatever goes wrong is noted, and nothing is raised or written to stderr."""
    program = PROGRAMS.get(call.client)
    if guards.is_inside() or program is None or call.event not in program.events:
        return
    guards.mark_children()
    # No home, no file, no process to be had: there is no place for a note either.
    with suppress(OSError, RuntimeError):
        _run(call, program.events[call.event], stdin, stdout, can_fork=can_fork)


def run_here(call: Call) -> None:
    """Answer one event on the streams of this process, which may be closed."""
    stdin = io.BytesIO() if sys.stdin is None else sys.stdin.buffer
    stdout = io.BytesIO() if sys.stdout is None else sys.stdout.buffer
    # Unbuffered: what a closed pipe did not take would be tried again, and complained of, at the very end.
    run(call, stdin, getattr(stdout, "raw", stdout))


def run_words(words: Sequence[str]) -> None:
    """Answer the event that the command line names."""
    run_here(parse_arguments(words))


def _run(call: Call, name: str, stdin: IO[bytes], stdout: IO[bytes], *, can_fork: bool) -> None:
    begun = time.monotonic()
    home = _home(call)
    event = _event(name, stdin, home, until=begun + STDIN_SECONDS)
    if event is None or not _is_wanted(event):
        return
    settings = _settings(call, home)
    if settings is None:
        return
    work = Work(call=call, event=event, settings=settings, until=begun + settings.hook_timeout_seconds)
    (_forked if can_fork else _alone)(work, stdout)


def _event(name: str, stdin: IO[bytes], home: Path, *, until: float) -> Event | None:
    """Return the event, or None where standard input holds none or does not end."""
    try:
        with _alarm(until):
            raw = stdin.read(MOST_BYTES)
            rest = stdin.read(MOST_BYTES)
            while rest and stdin.read(MOST_BYTES):  # to its end: the agent is still writing it
                pass
        if rest:
            raise events.UnreadableEvent(f"the event is larger than {MOST_BYTES} bytes")
        return events.parse(raw, name=name)
    except events.UnreadableEvent as exc:
        notes.failed(home, str(exc))
    except _TimeIsUp:
        notes.failed(home, "the event on standard input did not end")
    return None


def _is_wanted(event: Event) -> bool:
    """Say whether there is anything to do, before it costs anything to find out."""
    if event.is_of_subagent or (event.name == events.STOPPED and event.has_stopped_before):
        return False
    if event.name == events.TOOL_USED:
        return transcript.outcome(event.tool, event.tool_input, event.tool_response) is not None
    return event.name != events.PROMPT or guards.is_typed(event.prompt)


def _home(call: Call) -> Path:
    """Return the folder for notes, also where the settings cannot be read."""
    return Path(call.home or os.environ.get("ENGRAM_HOME") or "~/.engram").expanduser()


def _settings(call: Call, home: Path) -> Settings | None:
    from engramdb.errors import EngramError  # noqa: PLC0415
    from engramdb.settings import Settings  # noqa: PLC0415

    try:
        return Settings.load(home=call.home, store=call.store)
    except EngramError as exc:
        notes.failed(home, told(exc))
        return None


def _forked(work: Work, stdout: IO[bytes]) -> None:
    reading, writing = os.pipe()
    try:
        is_child = os.fork() == 0
    except OSError as exc:
        notes.failed(work.settings.home, f"no process could be started for it: {exc.strerror}")
        return
    if is_child:
        os.close(reading)
        go_on(lambda: _answered(work, writing), home=work.settings.home, closing=writing)
    os.close(writing)
    if not _is_waited_for(work):
        os.close(reading)
        return
    with os.fdopen(reading, "rb") as pipe:
        is_done = _passed_on(pipe, stdout, work.until)
    if not is_done and time.monotonic() >= work.until:  # of any other end, `behind` knows more
        notes.failed(work.settings.home, TOO_LATE)


def _is_waited_for(work: Work) -> bool:
    """
    Say whether the agent waits until an event is kept.

    A reply that stands in a log is caught up on by the next event, should this one come to nothing.
    """
    if work.event.name == events.TOOL_USED:
        return False
    return work.event.name != events.STOPPED or not PROGRAMS[work.call.client].has_readable_log


def _passed_on(pipe: IO[bytes], stdout: IO[bytes], until: float) -> bool:
    """Pass the answer on as it comes, and say whether by that moment all was stored."""
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


def _answered(work: Work, writing: int) -> None:
    """Do the work, and send the answer and that it is done to the process that the agent waits for."""

    def send(kind: bytes, rest: bytes = b"") -> None:
        with suppress(OSError):  # the agent may have gone on
            os.write(writing, kind + rest + b"\n")

    do(work, answer=lambda text: send(_ANSWER, text), done=lambda: send(_DONE))


def _alone(work: Work, stdout: IO[bytes]) -> None:
    """Do the work here; the process ends itself when the time is up."""

    def give_up() -> None:
        if not is_done.is_set():
            notes.failed(work.settings.home, TOO_LATE)
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
