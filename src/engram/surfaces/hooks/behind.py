"""
Go on behind an agent that does not wait, and let no end of it pass in silence.

Called by `run` in a process that it has forked, with what is to be done there. That process lets go of the
agent's streams and group and forks once more: one works, under a limit that no code can outstay, the other
only waits for its end. Work that is killed or runs out of time can tell nobody itself; the other notes it.
"""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Final, NoReturn

from engram.surfaces.hooks import notes

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

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
            notes.failed(home, _end_told(code, most_seconds))
    except OSError as exc:
        notes.failed(home, f"no process could be started for it: {exc.strerror}")
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
