"""The mark that a memory is known by: two that say the same have the same one."""

from __future__ import annotations

from engramdb.text.normalize import fingerprint
from engramdb.values import Memory

FORGOTTEN_WORDS = "[forgotten]"
"""Stands in a memory for words that it leaned on and that were forgotten since."""


def fingerprint_of(memory: Memory) -> bytes:
    """Return the mark of what a memory says: its words and, where they lean on others, those too."""
    context = [words for words in (memory.answers, *memory.refers_to) if words]
    alone = [memory.id] if FORGOTTEN_WORDS in context else []  # what it meant is gone, so it equals nothing
    words = "\n".join([memory.content, *context, *alone])
    return fingerprint(words, speaker=memory.provenance.speaker, days=memory.days_meant)
