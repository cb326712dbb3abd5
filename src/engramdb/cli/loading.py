"""Load the engine for one command, and leave quickly afterwards."""

from __future__ import annotations

import gc
import os
import sys
from typing import TYPE_CHECKING

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
        from engramdb.engine.engram import Engram  # noqa: PLC0415 - heavy, and `--help` needs none of it
    finally:
        gc.enable()
    if is_first:
        gc.freeze()
    return Engram


def leave() -> None:
    """Let the process end without another look through everything; what must be closed has been closed."""
    gc.freeze()
