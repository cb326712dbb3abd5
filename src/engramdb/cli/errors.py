"""Errors as exit codes, and loading the engine for one command."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from engramdb.cli.output import talk, visible
from engramdb.errors import EngramError
from engramdb.verbs.errors import BROKEN_PIPE, INTERRUPTED, UNEXPECTED, answer_for

if TYPE_CHECKING:
    from engramdb.engine.engram import Engram

ENGINE = "engramdb.engine.engram"
THREAD_TIMEOUT = ("OPENBLAS_THREAD_TIMEOUT", "10")
"""Idle threads of OpenBLAS sleep after 2^10 cycles instead of 2^26; one that is woken costs microseconds."""


def engine() -> type[Engram]:
    """Return the class of the engine, loaded if need be without the collector in between."""
    os.environ.setdefault(*THREAD_TIMEOUT)
    is_first = ENGINE not in sys.modules and gc.isenabled()
    gc.disable()
    try:
        from engramdb.engine.engram import Engram  # noqa: PLC0415
    finally:
        gc.enable()
    if is_first:
        gc.freeze()
    return Engram


def leave() -> None:
    """Let the process end without another look through everything; what must be closed has been closed."""
    gc.freeze()


TRACEBACK = "ENGRAM_TRACEBACK"


@contextmanager
def translated_errors() -> Iterator[None]:
    """Turn the errors of the block into exit codes; the only place that catches what nobody foresaw."""
    try:
        yield
        sys.stdout.flush()
    except EngramError as exc:
        talk(f"engram: {exc.code} {visible(exc.message)}")
        if exc.hint:
            talk(f"hint: {visible(exc.hint)}")
        raise click.exceptions.Exit(answer_for(exc).exit_code) from exc
    except KeyboardInterrupt as exc:
        raise click.exceptions.Exit(INTERRUPTED) from exc
    except BrokenPipeError as exc:
        _silence_stdout()
        raise click.exceptions.Exit(BROKEN_PIPE) from exc
    except (click.exceptions.Exit, click.Abort, click.UsageError):
        raise
    except Exception as exc:
        _admit_mistake(exc)
        raise click.exceptions.Exit(UNEXPECTED) from exc


def show_misuse(mistake: click.UsageError) -> None:
    """Say in two lines what is wrong with what was typed: the mistake, and how the command is used."""
    if isinstance(mistake, click.exceptions.NoArgsIsHelpError):
        mistake.show()
        return
    talk(f"engram: {visible(mistake.format_message())}")
    if mistake.ctx is not None:
        talk(f"{mistake.ctx.get_usage().replace('Usage', 'usage')}; --help says more")


def _silence_stdout() -> None:
    """Point stdout at nothing, so that Python's own flush at the end does not fail again."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, sys.stdout.fileno())
    os.close(nothing)


def _admit_mistake(exc: Exception) -> None:
    """Say what went wrong without the exception's text, which may quote a memory."""
    import traceback  # noqa: PLC0415 - only for a mistake of ours

    if os.environ.get(TRACEBACK):
        talk(traceback.format_exc())
    last = traceback.extract_tb(exc.__traceback__)[-1]
    talk(f"engram: a mistake in Engram itself: {type(exc).__name__} at {last.filename}:{last.lineno}")
    talk(f"hint: Please report it; {TRACEBACK}=1 shows the whole traceback, which may quote memories.")
