"""
The work of a hook, in a process that the agent does not wait for longer than it may.

Opens the engine, answers the event, keeps it, and reports how that went; the one place of the hooks that
catches what it did not foresee. A hook that was too late does not count as one that worked, though what it
keeps stays.
"""

from __future__ import annotations

import json
import os
import signal
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

from msgspec import Struct

from engramdb.errors import EngramError
from engramdb.hooks.events import PROGRAMS, HookCall, HookEvent
from engramdb.hooks.project import AUTO
from engramdb.hooks.state import PART, deliver_failures, note_failure

if TYPE_CHECKING:  # loaded only by a hook that has something to do
    from engramdb.engine.engram import Engram
    from engramdb.settings import Settings


class HookWork(Struct, frozen=True, kw_only=True):
    """One event to answer, and until when somebody waits; by `time.monotonic`."""

    call: HookCall
    event: HookEvent
    settings: Settings
    until: float


def do(work: HookWork, *, answer: Callable[[bytes], None], done: Callable[[], None]) -> None:
    """Answer, keep, report that it is done, and read; a failure is written down, and ends it as well."""
    try:
        with _opened(work) as engram:
            serve(work, engram, answer=answer, done=done)
    except EngramError as exc:
        note_failure(work.settings.home, as_note(exc))
        done()
    except Exception as exc:  # noqa: BLE001 - an agent must not stop for a mistake of ours
        last = traceback.extract_tb(exc.__traceback__)[-1]
        where = f"{last.filename.rpartition('engramdb')[2]}:{last.lineno}"
        note_failure(work.settings.home, f"a mistake in Engram itself: {type(exc).__name__} at {where}")
        done()


def as_note(error: EngramError) -> str:
    """Return an error as a note: its code and its message, which never quotes a memory."""
    return f"{error.code} {error.message}"


def serve(
    work: HookWork, engram: Engram, *, answer: Callable[[bytes], None], done: Callable[[], None]
) -> None:
    """Answer, keep, report that it is done, and read, with an engine that is open."""
    from engramdb.hooks import respond  # noqa: PLC0415

    visit = respond.HookVisit(
        engram=engram,
        settings=work.settings,
        event=work.event,
        program=PROGRAMS[work.call.client],
        is_by_folder=work.call.project == AUTO,
    )
    is_well = True
    try:
        block = respond.answer(visit)
    except EngramError as exc:  # what was said is kept all the same
        note_failure(work.settings.home, as_note(exc))
        block, is_well = "", False
    if block:
        answer(_output(work.call.event, block))
    turns = respond.keep(visit)
    if is_well and time.monotonic() < work.until:
        engram.note_success(PART)
    done()
    deliver_failures(engram, work.settings.home)
    respond.afterwards(visit, turns)


def _opened(work: HookWork) -> Engram:
    """Open the store, created if need be: an agent that was connected is meant to remember."""
    from engramdb.engine.engram import Engram  # noqa: PLC0415
    from engramdb.values import Actor, ActorKind, Scope, Surface  # noqa: PLC0415

    return Engram.open(
        settings=work.settings,
        scope=Scope(**work.call.scope_in(work.event.folder)),
        actor=Actor(name=work.call.agent or work.call.client, kind=ActorKind.AGENT, surface=Surface.HOOK),
        background=False,
    )


def _output(event: str, block: str) -> bytes:
    """Return the answer as programs take it, on one line; the event is called as the program calls it."""
    return json.dumps({"hookSpecificOutput": {"hookEventName": event, "additionalContext": block}}).encode()


LIFE_SECONDS: Final = 120.0
"""How long the work may go on when the agent has gone on."""


def detach(
    act: Callable[[], None], *, home: Path, closing: int | None = None, max_seconds: float = LIFE_SECONDS
) -> NoReturn:
    """
    Do the work in a process that the agent does not wait for, write down a bad end, and end this process.

    `closing` is a file that only the work may hold open: somebody waits until it is closed.
    """
    try:
        _let_go_of_streams()
        worker = os.fork()
        if worker == 0:
            _work(act, max_seconds)
        if closing is not None:
            os.close(closing)
        _, status = os.waitpid(worker, 0)
        code = os.waitstatus_to_exitcode(status)
        if code:
            note_failure(home, _describe_end(code, max_seconds))
    except OSError as exc:
        note_failure(home, f"no process could be started for it: {exc.strerror}")
    finally:
        os._exit(0)


def _let_go_of_streams() -> None:
    """Let go of the streams and the group of the process that the agent waits for."""
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)


def _work(act: Callable[[], None], max_seconds: float) -> NoReturn:
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # ends the process, whatever it is busy with
    signal.setitimer(signal.ITIMER_REAL, max_seconds)
    try:
        act()
        os._exit(0)
    finally:
        os._exit(1)


def _describe_end(code: int, max_seconds: float) -> str:
    """Return how work ended that did not end well."""
    if code == -signal.SIGALRM:
        return f"it took more than {max_seconds:g} seconds and was ended"
    return f"it was ended by signal {-code}" if code < 0 else "it ended early"
