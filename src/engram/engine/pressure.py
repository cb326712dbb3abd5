"""
Ask the machine whether there is room for slow work: its load, and the memory that is free.

Called by the scheduler before a job; reads what the system offers and takes silence for room. Linux says
both, other Unixes the load, Windows neither.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

LOAD: Final = "load"
MEMORY: Final = "memory"
MOST_LOAD_PER_CORE: Final = 1.0
"""With more processes that want to run than there are cores, slow work would take from somebody."""
LEAST_FREE_SHARE: Final = 0.10
"""Below this share of memory the system begins to swap; seed 002 §21 calls 90 % used critical."""
MEMORY_FILE: Final = Path("/proc/meminfo")


def pressure() -> str:
    """Return what is short, `memory` before `load`, or an empty text where there is room."""
    if free_share() < LEAST_FREE_SHARE:
        return MEMORY
    return LOAD if load_per_core() > MOST_LOAD_PER_CORE else ""


def load_per_core() -> float:
    """Return how many processes wanted to run in the last minute, per core; 0 where nobody counts."""
    try:
        return os.getloadavg()[0] / (os.cpu_count() or 1)
    except (AttributeError, OSError):
        return 0.0


def free_share(file: Path = MEMORY_FILE) -> float:
    """Return the share of memory that can still be had; 1 where nobody says."""
    try:
        lines = file.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return 1.0
    found = {name: value.split() for name, _, value in (line.partition(":") for line in lines)}
    try:
        return int(found["MemAvailable"][0]) / int(found["MemTotal"][0])
    except (KeyError, IndexError, ValueError, ZeroDivisionError):
        return 1.0
