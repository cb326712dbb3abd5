"""
What of the memory fits a prompt, as the block that is put beside it; nothing where nothing fits.

Called by `react` for every prompt. A recall answers with its best even where they are poor, which is right
for somebody who asked and noise for an agent that did not: here only what stands clear of chance is given.
Nor is what stands whatever the prompt, or was stored today: a session begins with that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from engram.context.fill import fill
from engram.context.isolation import BLOCK, NOTICE, framed
from engram.context.measure import Measure
from engram.context.recalled import recalled
from engram.providers.tokenizers import counter_for
from engram.text.mentions import mentions
from engram.text.terms import terms
from engram.text.tokens import USUAL
from engram.values import SectionName

if TYPE_CHECKING:
    from collections.abc import Sequence, Set

    from engram.engine.engram import Engram
    from engram.policy import ContextPolicy
    from engram.values import Hit

MOST_HITS: Final = 10
FITS: Final = 0.25
"""What fits a prompt no better is chance with the built-in embedder: the best of strangers reached 0.23."""
NEAR_BEST: Final = 0.5
"""Nor is less than this share of the best given: among hundreds of memories chance reaches further."""
LONG_CHARACTERS: Final = 150
"""A prompt of several sentences fits everything less, most of all with `e5-small`."""
MAY_FIT: Final = 0.08
"""So little is enough where the prompt names what the memory names, or is long and one stands out."""
STANDS_OUT: Final = 2.0
"""That one does if it fits so many times as well as the next one: strangers come in crowds."""


def fitting(prompt: str, hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits that are about what the prompt is about, in their order."""
    words = frozenset(terms(prompt))
    floor = max(FITS, NEAR_BEST * max((hit.trust.relevance for hit in hits), default=0.0))
    sure = [hit for hit in hits if hit.trust.relevance >= floor or _is_named(hit, words)]
    return sure or (_standing_out(hits) if len(prompt) >= LONG_CHARACTERS else [])


def _is_named(hit: Hit, words: Set[str]) -> bool:
    """Say whether the prompt names a person or thing that the memory names: chance seldom does."""
    if hit.trust.relevance < MAY_FIT:
        return False
    names = (frozenset(terms(mention.text)) for mention in mentions(hit.memory.content))
    return any(name and name <= words for name in names)


def _standing_out(hits: Sequence[Hit]) -> list[Hit]:
    """Return the one hit that is far ahead of the others, if there is one."""
    if not hits:
        return []
    best, *others = sorted(hits, key=lambda hit: -hit.trust.relevance)
    next_best = others[0].trust.relevance if others else 0.0
    return [best] if best.trust.relevance >= max(MAY_FIT, STANDS_OUT * next_best) else []


def block(engram: Engram, prompt: str, *, session: str, tokens: int, policy: ContextPolicy) -> str:
    """Return the memories that fit a prompt, framed as data, within so many tokens."""
    hits = fitting(prompt, engram.recall(prompt, limit=MOST_HITS, session=session).hits)
    measure = Measure(counter_for(USUAL))
    room = tokens - measure.of(framed(" ", tag=BLOCK, notice=NOTICE))
    section, _ = fill(SectionName.RECALLED, recalled(hits), room, measure=measure, policy=policy)
    return "" if section is None else framed(section.text, tag=BLOCK, notice=NOTICE)
