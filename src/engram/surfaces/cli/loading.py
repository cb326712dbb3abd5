"""
Load the engine for one command, and leave quickly afterwards.

Used by whatever opens a store, and by `main` at the end. While modules are loaded nothing becomes garbage,
and what they leave behind stays for good: the collector would only look through it again and again, and once
more when the process ends. That costs a seventh of the time of a short command.
"""

from __future__ import annotations

import gc
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.engine.engram import Engram

ENGINE = "engram.engine.engram"


def engine() -> type[Engram]:
    """Return the class of the engine, loaded if need be without the collector in between."""
    is_first = ENGINE not in sys.modules and gc.isenabled()
    if is_first:
        gc.disable()
    try:
        from engram.engine.engram import Engram  # noqa: PLC0415 - heavy
    finally:
        if is_first:
            gc.freeze()
            gc.enable()
    return Engram


def leave() -> None:
    """Let the process end without another look through everything; what must be closed has been closed."""
    gc.freeze()
