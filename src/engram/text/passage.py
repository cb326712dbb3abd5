"""
Write a memory the way that an embedder should read it: `[8 May 2023] Caroline: text`.

Called by the gate and by the backfill, which must agree, or a rebuilt vector would differ.
On LoCoMo the speaker and the date are worth more than the choice of model: docs/lab/0002-passage.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from engram.values import Memory

_MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]


def passage(memory: Memory) -> str:
    """Return the text to embed: the day it is about and the speaker, where known, then the content."""
    day = f"[{long_date(memory.occurred_at)}] " if memory.occurred_at else ""
    speaker = f"{memory.provenance.speaker}: " if memory.provenance.speaker else ""
    return f"{day}{speaker}{memory.content}"


def long_date(moment: datetime) -> str:
    """Return a date with its month in words, in English whatever the machine's language is."""
    return f"{moment.day} {_MONTHS[moment.month - 1]} {moment.year}"
