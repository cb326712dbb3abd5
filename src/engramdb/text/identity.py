"""The mark that a memory is known by: two that say the same have the same one."""

from __future__ import annotations

from engramdb.text.normalize import fingerprint
from engramdb.text.pii import CONCEALED
from engramdb.values import Memory, Voice

FORGOTTEN_WORDS = "[forgotten]"
"""Stands in a memory for words that it leaned on and that were forgotten since."""
WITHHELD_WORDS = "[withheld]"
"""Stands in a memory for words that it leaned on and that try to give orders to a model."""
MISSING_WORDS = frozenset({FORGOTTEN_WORDS, WITHHELD_WORDS})


def fingerprint_of(memory: Memory) -> bytes:
    """Return the mark of what a memory says: its words and, where they lean on others, those too."""
    context = [words for words in (memory.answers, *memory.refers_to) if words]
    if memory.is_session_summary and memory.provenance.voice is not Voice.OWN:
        context.append(memory.provenance.session or "")  # a model's account, which confirms no statement
    is_partial = any(words in MISSING_WORDS or CONCEALED in words for words in context)
    alone = [memory.id] if is_partial else []  # what it meant is not known, so it equals nothing
    words = "\n".join([memory.content, *context, *alone])
    return fingerprint(words, speaker=memory.provenance.speaker, days=memory.days_meant)
