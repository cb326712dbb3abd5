"""
Write a memory the way that an embedder and the text index should read it: `[8 May 2023] Caroline: text`.

Called by the gate and by the backfill, which must agree, or a rebuilt index would differ.
On LoCoMo the speaker and the date are worth more than the choice of model: docs/lab/0002-passage.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.text.terms import terms

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


def index_terms(memory: Memory) -> list[str]:
    """Return what the text index finds the memory by: its words, its day, who said it, and its topics."""
    return terms(f"{passage(memory)} {' '.join(memory.traits.topics)}")


def long_date(moment: datetime) -> str:
    """Return a date with its month in words, in English whatever the machine's language is."""
    return f"{moment.day} {_MONTHS[moment.month - 1]} {moment.year}"
