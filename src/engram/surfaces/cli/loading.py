"""
Load the engine for one command, and leave quickly afterwards.

Used by whatever opens a store, and by `main` at the end. While modules are loaded nothing becomes garbage,
and what they leave behind stays for good: the collector would only look through it again and again, and once
more when the process ends. And the threads of the arithmetic library, which begin with it, would spin in wait
of work that a short command never has. Numbers: docs/lab/0029-start-up.md.
"""

from __future__ import annotations

import gc
import os
import sys
from typing import TYPE_CHECKING

from engram.late import collector_at_rest

if TYPE_CHECKING:
    from engram.engine.engram import Engram

ENGINE = "engram.engine.engram"
THREAD_TIMEOUT = ("OPENBLAS_THREAD_TIMEOUT", "10")
"""Idle threads of OpenBLAS sleep after 2^10 cycles instead of 2^26; one that is woken costs microseconds."""


def engine() -> type[Engram]:
    """Return the class of the engine, loaded if need be without the collector in between."""
    os.environ.setdefault(*THREAD_TIMEOUT)
    is_first = ENGINE not in sys.modules and gc.isenabled()
    with collector_at_rest():
        from engram.engine.engram import Engram  # noqa: PLC0415 - heavy
    if is_first:
        gc.freeze()
    return Engram


def leave() -> None:
    """Let the process end without another look through everything; what must be closed has been closed."""
    gc.freeze()
