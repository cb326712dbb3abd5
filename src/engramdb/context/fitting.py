"""
Which memories fit a message well enough to be put before a model.

A recall gives the best that there is, and being the best is not enough. Words that message and memory share,
apart from those that every message is made of, are evidence; so are a name, how well it fits, how much it
matters, and whether it is a rule. What each weighs was fitted on 656 hits of 90 prompts that a blind reader
had judged (docs/lab/0041-sessions.md). What a judge has read and holds for the answer needs no shared word,
nor does a memory that stands clear of the crowd in meaning. Hooks, which nobody has asked, are strict; a
window is generous where the answer is known.
"""

from __future__ import annotations

import math
from collections.abc import Sequence, Set
from functools import cache
from pathlib import Path
from typing import Final

from engramdb import text
from engramdb.capture.actions import is_run_record
from engramdb.text.mentions import mentions
from engramdb.text.terms import query_terms, terms
from engramdb.values import EntityType, Hit, Memory, Recall, Voice
from engramdb.values.reading import Force

MAX_LINES: Final = 3
MAY_FIT: Final = 0.15
"""What fits less is not looked at, whatever it shares."""
MAX_TELLING: Final = 3
"""More shared words are no more evidence."""
LEAST_CHANCE: Final = 0.33
"""From this chance of helping a line is given; half of those then do help (a higher one gains little)."""
STANDS_OUT: Final = 0.45
"""A memory that is so near in meaning"""
CLEAR_OF_CROWD: Final = 0.15
"""and so much nearer than the median of the others is given without a shared word;"""
MATTERS: Final = 0.5
"""if it matters so much."""
ANSWERS_FROM: Final = 0.7
"""What a judge gives so high a chance to answer the prompt is given too: docs/lab/0054-context.md."""
MAY_HELP: Final = 0.15
"""In a window, the chance of helping from which a line is shown whether the answer is known or not;"""
KEPT_BEST: Final = 5
"""where it may be known, so many of the best are shown,"""
LIKELY_KNOWN: Final = 0.5
"""and where that is as likely as not,"""
BESIDE_BEST: Final = 0.3
"""also whatever fits so well as a share of the best,"""
LEAST_FIT: Final = 0.15
"""and no less than this: docs/lab/0054-context.md."""
VAGUE_FITS: Final = 0.3
"""How well a memory must fit a message that has no topic of its own, and is searched for with another's."""
_OUTPUT: Final = (Voice.LOG, Voice.CODE)
_CROWD: Final = 3


def fitting(prompt: str, hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits that are about what the prompt is about, in their order, a few at most."""
    words = frozenset(query_terms(prompt))
    told = [hit for hit in hits if says_something(hit.memory) and hit.trust.relevance >= MAY_FIT]
    chances = {hit.memory.id: chance_of_helping(hit, words) for hit in told}
    sure = [hit for hit in told if chances[hit.memory.id] >= LEAST_CHANCE or _is_answer(hit)]
    if has_topic(prompt):
        sure += [hit for hit in _standing_out(told) if hit not in sure]
    best = sorted(sure, key=lambda hit: chances[hit.memory.id], reverse=True)[:MAX_LINES]
    return [hit for hit in told if hit in best]


def fitting_window(message: str, answer: Recall) -> list[Hit]:
    """Return the hits that belong into a window for a message, in their order; none where none fits."""
    words = frozenset(query_terms(message))
    if not has_topic(message):
        return [hit for hit in answer.hits if hit.trust.relevance >= VAGUE_FITS]
    best = max((hit.trust.relevance for hit in answer.hits), default=0.0)
    quality, least = answer.quality, max(LEAST_FIT, BESIDE_BEST * best)
    is_likely = quality.answerable is None or quality.answerable >= LIKELY_KNOWN
    return [
        hit
        for place, hit in enumerate(answer.hits)
        if (quality.is_known and place < KEPT_BEST)
        or (is_likely and hit.trust.relevance >= least)
        or (hit.trust.relevance >= MAY_FIT and chance_of_helping(hit, words) >= MAY_HELP)
    ]


def has_topic(message: str) -> bool:
    """Return whether a message is about something: "go on" and "looks good" are not."""
    return not _generic_words().issuperset(query_terms(message))


def chance_of_helping(hit: Hit, prompt: Set[str]) -> float:
    """Return how likely it is that a hit helps with a prompt, of which these are the words."""
    memory = hit.memory
    telling = len(prompt & frozenset(query_terms(memory.content)) - _generic_words())
    evidence = (
        (4.9, hit.trust.relevance),
        (2.9, _score(hit, "lexical")),
        (1.0, min(telling, MAX_TELLING)),
        (1.8, memory.importance),
        (0.4, memory.is_rule),
        (5.0, _is_named(hit, prompt)),
    )
    return 1 / (1 + math.exp(5.0 - sum(weight * found for weight, found in evidence)))


def says_something(memory: Memory) -> bool:
    """Return whether a memory states anything by itself: no count, no summary, no request, no output."""
    is_told = memory.force not in (Force.REQUEST, Force.QUESTION) and memory.provenance.voice not in _OUTPUT
    return is_told and not is_run_record(memory) and not memory.is_session_summary


@cache
def _generic_words() -> frozenset[str]:
    path = Path(text.__file__).parent / "data" / "generic_words.txt"
    lines = (line for line in path.read_text("utf-8").splitlines() if not line.startswith("#"))
    return frozenset(query_terms(" ".join(lines)))


def _is_named(hit: Hit, words: Set[str]) -> bool:
    """Return whether the prompt names somebody or something of its own that the memory names."""
    names = (
        frozenset(terms(mention.text))
        for mention in mentions(hit.memory.content)
        if mention.type is not EntityType.TECHNOLOGY
    )
    return any(name and name <= words for name in names)


def _is_answer(hit: Hit) -> bool:
    """Return whether a judge has read the memory beside the prompt and holds it for the answer."""
    return hit.answers is not None and hit.answers >= ANSWERS_FROM


def _standing_out(hits: Sequence[Hit]) -> list[Hit]:
    """Return the one hit that matters, is near in meaning, and far ahead of the others, if there is one."""
    if len(hits) < _CROWD:
        return []
    best = max(hits, key=lambda hit: _score(hit, "vector"))
    crowd = sorted(_score(hit, "vector") for hit in hits)[len(hits) // 2]
    is_clear = _score(best, "vector") >= max(STANDS_OUT, crowd + CLEAR_OF_CROWD)
    return [best] if is_clear and best.memory.importance >= MATTERS else []


def _score(hit: Hit, index: str) -> float:
    return next((reason.score for reason in hit.reasons if reason.index == index), 0.0)
