"""
Open the engine for an event, answer it, keep it, and say how that went.

Called by `run`, in a process that nobody waits for longer than it may; the first to import the engine, and
the one place of the hooks that catches what it did not foresee. A hook that was too late does not count as
one that worked, though what it keeps is kept.
"""

from __future__ import annotations

import json
import time
import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engram.errors import EngramError
from engram.surfaces.hooks import notes
from engram.surfaces.hooks.program import PROGRAMS
from engram.surfaces.hooks.project import AUTO

if TYPE_CHECKING:
    from collections.abc import Callable

    from engram.engine.engram import Engram
    from engram.settings import Settings
    from engram.surfaces.hooks.call import Call
    from engram.surfaces.hooks.event import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
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
        notes.failed(work.settings.home, told(exc))
        done()
    except Exception as exc:  # noqa: BLE001 - an agent must not stop for a mistake of ours
        last = traceback.extract_tb(exc.__traceback__)[-1]
        where = f"{last.filename.rpartition('engram')[2]}:{last.lineno}"
        notes.failed(work.settings.home, f"a mistake in Engram itself: {type(exc).__name__} at {where}")
        done()


def told(error: EngramError) -> str:
    """Return an error as a note: its code and its message, which never quotes a memory."""
    return f"{error.code} {error.message}"


def _do(work: Work, engram: Engram, *, answer: Callable[[bytes], None], done: Callable[[], None]) -> None:
    from engram.surfaces.hooks import react  # noqa: PLC0415 - as heavy as the engine

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
        notes.failed(work.settings.home, told(exc))
        block, is_well = "", False
    if block:
        answer(_output(work.call.event, block))
    turns = react.keep(visit)
    if is_well and time.monotonic() < work.until:
        engram.note_success(notes.PART)
    done()
    notes.deliver(engram, work.settings.home)
    react.afterwards(visit, turns)


def _opened(work: Work) -> Engram:
    """Open the store, made if need be: whoever connected an agent wants it to remember."""
    from engram.surfaces.cli.loading import engine  # noqa: PLC0415 - heavy
    from engram.values import Actor, ActorKind, Scope  # noqa: PLC0415

    return engine().open(
        settings=work.settings,
        scope=Scope(**work.call.scope_in(work.event.folder)),
        actor=Actor(work.call.agent or work.call.client, ActorKind.AGENT),
        background=False,
    )


def _output(event: str, block: str) -> bytes:
    """Return the answer as programs take it, on one line; the event is called as the program calls it."""
    return json.dumps({"hookSpecificOutput": {"hookEventName": event, "additionalContext": block}}).encode()
