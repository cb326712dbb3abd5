"""
Leave out of an answer what another hit says better: the episode that a fact was made of, the same words
twice.

Called by `recall.pipeline` on the memories that it fetched. Knowledge wins over the event that it rests
on; of the same words the more lasting layer wins, and then the higher place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from engram.text.normal import normalise
from engram.values import Layer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from engram.values import Memory

    One = TypeVar("One")

_REPEATING = "dream.patterns"
"""The step of the dream that says once what was said often."""
_LASTING = {Layer.SEMANTIC: 0, Layer.PROCEDURAL: 0, Layer.CODEBASE: 1, Layer.EPISODIC: 2, Layer.WORKING: 3}


def collapse(hits: Sequence[One], memory_of: Callable[[One], Memory]) -> list[One]:
    """Return the hits without those that another of them stands for, in the same order."""
    memories = [memory_of(hit) for hit in hits]
    told = {episode for one in memories if _stands_for_sources(one) for episode in one.provenance.episodes}
    said = [_words(memory) for memory in memories]
    best: dict[tuple[str, str], Memory] = {}
    for memory, words in zip(memories, said, strict=True):
        known = best.get(words)
        if known is None or _LASTING[memory.layer] < _LASTING[known.layer]:
            best[words] = memory
    return [
        hit
        for hit, memory, words in zip(hits, memories, said, strict=True)
        if memory.id not in told and best[words].id == memory.id
    ]


def _stands_for_sources(memory: Memory) -> bool:
    """Say whether a memory says what its sources say; a profile or a story of them is something else."""
    is_other = memory.is_derived and not (memory.extractor or "").startswith(_REPEATING)
    return memory.layer is Layer.SEMANTIC and not is_other


def _words(memory: Memory) -> tuple[str, str]:
    """Return who said what, in the form in which two ways of writing it are equal."""
    return normalise(memory.content), normalise(memory.provenance.speaker or "")
