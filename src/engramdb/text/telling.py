"""
How much a statement tells, by its words: a reason or a finding more than a scrap of talk or a report.

Without a reader, importance hardly tells these apart. Used where a few statements are chosen to stand for
many: what a session begins with, and what is told of one that is over.
"""

from __future__ import annotations

import re

from engramdb.text.normalize import lazy
from engramdb.values import Memory, Source

_REASON = lazy(
    r"\b(?:always|never|must|don'?t|do not|only|otherwise|because|caused?|causes|so that|instead|from now on|"
    r"no longer|unless|needs?|has to|have to|before you|nobody|no one|none of|allow(?:ed)?|requires?|until|"
    r"decided|turns out|root)\b",
    re.IGNORECASE,
)
_REPORT = lazy(
    r"(?:done|fixed|applied|changed|committed|great|fine|understood|sounds good|found it|"
    r"i(?:'ve| have)? (?:added|removed|put|changed|started|left|noticed|updated|moved|ran|pushed|created))\b",
    re.IGNORECASE,
)
_REASON_FACTOR, _REPORT_FACTOR, _SCRAP_FACTOR = 1.2, 0.7, 0.7
_SCRAP_WORDS = 6
_AROUSAL_ADDS = 0.2
_KIND_ADDS = 0.3
"""A statement of a kind that does not fade, and one that somebody repeated, weighs so much more."""


def telling_factor(memory: Memory) -> float:
    """Return by how much a memory weighs more, or less, than its importance says."""
    words = memory.content
    if len(words.split()) < _SCRAP_WORDS:
        return _SCRAP_FACTOR
    if _REASON.search(words):
        return _REASON_FACTOR
    is_report = memory.provenance.source is Source.ASSISTANT and _REPORT.match(words)
    return _REPORT_FACTOR if is_report else 1.0


def weight(memory: Memory) -> float:
    """Return how much a memory weighs among others of its time."""
    is_more = memory.endures or memory.pinned or memory.reinforcements > 0
    moved = 1 + _AROUSAL_ADDS * memory.affect.arousal + _KIND_ADDS * is_more
    return memory.importance * telling_factor(memory) * moved
