"""
Which memories are guarded: what is pinned or about somebody's health changes only by a person's own act.

The words decide, each time anew, so that it holds as well for what waits to be enriched and in old stores.
"""

from __future__ import annotations

from typing import Final

from engramdb.erasable_cache import cached
from engramdb.text.force import bare_words, has_cue
from engramdb.values.memory import Layer, Memory

HEALTH: Final = "health"
"""The category of what somebody files as being about health, and the name of the words that speak of it."""


def is_guarded(memory: Memory) -> bool:
    """Return whether a memory is pinned or about somebody's health; what a codebase tells is about nobody."""
    if memory.pinned or memory.category == HEALTH:
        return True
    said = (memory.content, memory.statement, memory.answers)
    return memory.layer is not Layer.CODEBASE and any(is_of_health(words) for words in said if words)


@cached(20_000)
def is_of_health(text: str) -> bool:
    """Return whether a text speaks of somebody's health: a condition, a medicine, an operation."""
    return has_cue(HEALTH, bare_words(text))
