"""
Which memories fit a prompt well enough to be put before the agent unasked.

A recall gives the best that there is; nobody has asked, so being the best is not enough. Words that the
prompt and the memory share, apart from those that every prompt is made of, are evidence; so are a name, how
well it fits, how much it matters, and whether it is a rule. What each weighs was fitted on 656 hits of 90
prompts that a blind reader had judged (docs/lab/0041-sessions.md). A memory that stands clear of the crowd
in meaning needs no shared word.
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
from engramdb.values import EntityType, Hit, Memory, Voice
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
_OUTPUT: Final = (Voice.LOG, Voice.CODE)
_CROWD: Final = 3


def fitting(prompt: str, hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits that are about what the prompt is about, in their order, a few at most."""
    words = frozenset(query_terms(prompt))
    told = [hit for hit in hits if says_something(hit.memory) and hit.trust.relevance >= MAY_FIT]
    chances = {hit.memory.id: chance_of_helping(hit, words) for hit in told}
    sure = [hit for hit in told if chances[hit.memory.id] >= LEAST_CHANCE]
    if words - _generic_words():
        sure += [hit for hit in _standing_out(told) if hit not in sure]
    best = sorted(sure, key=lambda hit: chances[hit.memory.id], reverse=True)[:MAX_LINES]
    return [hit for hit in told if hit in best]


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
