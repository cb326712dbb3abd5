"""
Say truly what the text index found a memory by: its own words, or only a topic inferred from them.

Called by `recall.pipeline` for the hits of an answer; calls `text` to cut question and memory alike.
Topics stand in the text index beside the words, so "deploy" finds what speaks of a staging server. That is
a find, but "found by words" would be untrue of it. Only the name of the reason changes, never a score.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from engram.recall.gather import LEXICAL
from engram.text.passage import passage
from engram.text.terms import terms

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from engram.values import Memory, Reason

TOPIC = "topic"


def named_truly(
    reasons: tuple[Reason, ...], memory: Memory, *, asked: AbstractSet[str]
) -> tuple[Reason, ...]:
    """Return the reasons, the text index's called `topic` where the memory holds none of the asked terms."""
    if not any(reason.index == LEXICAL for reason in reasons) or shares_word(memory, asked):
        return reasons
    return tuple(replace(one, index=TOPIC) if one.index == LEXICAL else one for one in reasons)


def shares_word(memory: Memory, asked: AbstractSet[str]) -> bool:
    """Say whether one of the terms is in what was said, in its day, or in the name of who said it."""
    return not asked.isdisjoint(terms(passage(memory)))
