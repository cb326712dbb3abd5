"""
Check what is claimed about files against the folders that the user opened for it.

A step of the dream, for memories about code that name files. A claim whose files are all gone is invalidated,
with a reason that names no file; where only some are gone, or the memory is pinned, a question is asked. What
lies outside of the folders is neither looked at nor doubted, and what tells of a removal is no claim.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from engram.dream.insight.gaps import asking
from engram.dream.insight.paths import Sight, look
from engram.dream.insight.questions import moved
from engram.dream.proposal import Restatus
from engram.dream.step import Skipped
from engram.values import Status

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from engram.dream.proposal import Proposal
    from engram.dream.step import Dreaming
    from engram.values import Memory

PAGE_ROWS = 200
PRIORITY = 0.6
GONE = "drift: the files that it speaks of are no longer there"

_SPEAKS_OF_ABSENCE = re.compile(
    r"\b(?:delet|remov|renam|moved?\b|mov(?:ing|es)\b|no longer|not? exist|doesn't exist|missing|used to"
    r"|obsolete|gone\b|dropped|replaced|will (?:be|add|create)|to be (?:added|created)|should (?:be|create)"
    r"|plan(?:s|ned)? to|ignored?\b|generated|temporary|todo\b|gitignore)",
    re.IGNORECASE,
)
"""Words by which a file need not be there for the statement to hold."""


class DriftStep:
    """The step `drift`."""

    name = "drift"

    def propose(self, dreaming: Dreaming) -> Iterator[Proposal]:
        """Yield the end of every claim about files that are gone, and a question where it is not so clear."""
        roots = _open_roots(dreaming)
        after = 0
        while not dreaming.is_stopped():
            with dreaming.store.read() as tx:
                keys = tx.replays.naming_files(after_key=after, limit=PAGE_ROWS)
                memories = tx.memories.by_keys(keys)
            if not keys:
                return
            after = keys[-1]
            for key in keys:
                yield from _judged(dreaming, memories[key], roots)


def _open_roots(dreaming: Dreaming) -> list[Path]:
    if not dreaming.roots:
        raise Skipped("no folders may be looked at: name them in `dream_roots`")
    found = [root for root in dreaming.roots if root.is_absolute() and root.is_dir()]
    if not found:
        raise Skipped("none of the folders in `dream_roots` is there")
    return found


def _judged(dreaming: Dreaming, memory: Memory, roots: Sequence[Path]) -> Iterator[Proposal]:
    if _SPEAKS_OF_ABSENCE.search(memory.content):
        return
    sights = [_sight(roots, path) for path in memory.traits.paths]
    if Sight.ABSENT not in sights:
        return
    if all(sight is Sight.ABSENT for sight in sights) and not memory.pinned:
        yield Restatus(memory=memory, status=Status.INVALIDATED, reason=GONE)
        return
    gap = moved(memory, priority=PRIORITY, now=dreaming.now)
    with dreaming.store.read() as tx:
        is_news = tx.gaps.is_news(gap)
    if is_news:
        yield asking(gap)


def _sight(roots: Sequence[Path], path: str) -> Sight:
    """Return what the folders together say: there in one is there, and absent only where one must know."""
    seen = {look(root, path) for root in roots}
    for sight in (Sight.THERE, Sight.ABSENT):
        if sight in seen:
            return sight
    return Sight.UNKNOWN
