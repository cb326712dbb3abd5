"""
Which memories fit a prompt well enough to be put before the agent unasked.

A recall gives the best that there is; nobody has asked, so being the best is not enough. Words that the
prompt and the memory share, apart from those that every prompt is made of, are evidence; so is a name, and so
is a memory that stands clear of the crowd in meaning. The numbers were chosen on evals/sessions/open.json,
tests/hooks/hook_prompts.py and the open coding conversations (docs/lab/0041-sessions.md).
"""

from __future__ import annotations

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
MATTERS: Final = 0.5
"""Nor is what is less important: nobody has asked. It is what a statement gets that nobody weighed."""
MANY_WORDS: Final = 3
MANY_SHARE: Final = 0.15
"""So many telling words are enough where they cover this share of the prompt."""
FEW_WORDS: Final = 2
FEW_SHARE: Final = 0.35
"""For the best hit so many words are enough, one of them telling, where they cover this;"""
WHOLE_SHARE: Final = 0.6
WHOLE_FITS: Final = 0.5
"""any words, where they are most of the prompt and it fits so well;"""
ABOUT_IT_FITS: Final = 0.3
ABOUT_IT_SHARE: Final = 0.25
"""half of its own telling words, where it fits so well or covers this."""
STANDS_OUT: Final = 0.45
"""A memory that is so near in meaning"""
CLEAR_OF_CROWD: Final = 0.15
"""and so much nearer than the median of the others is given without a shared word."""
_OUTPUT: Final = (Voice.LOG, Voice.CODE)
_CROWD: Final = 3


def fitting(prompt: str, hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits that are about what the prompt is about, in their order, a few at most."""
    words = frozenset(query_terms(prompt))
    told = [hit for hit in hits if says_something(hit.memory) and hit.trust.relevance >= MAY_FIT]
    usable = [hit for hit in told if hit.memory.importance >= MATTERS]
    if not usable:
        return []
    best = max(told, key=lambda hit: hit.trust.relevance)
    sure = [hit for hit in usable if _shares_much(hit, words) or _is_named(hit, words)]
    if best in usable and _shares_enough(best, words):
        sure.append(best)
    if words - _generic_words():
        sure += _standing_out(told)
    chosen = {hit.memory.id for hit in sorted(sure, key=_strength, reverse=True)[:MAX_LINES]}
    return [hit for hit in usable if hit.memory.id in chosen]


def says_something(memory: Memory) -> bool:
    """Return whether a memory states anything by itself: no count, no summary, no request, no output."""
    is_told = memory.force not in (Force.REQUEST, Force.QUESTION) and memory.provenance.voice not in _OUTPUT
    return is_told and not is_run_record(memory) and not memory.is_session_summary


@cache
def _generic_words() -> frozenset[str]:
    path = Path(text.__file__).parent / "data" / "generic_words.txt"
    lines = (line for line in path.read_text("utf-8").splitlines() if not line.startswith("#"))
    return frozenset(query_terms(" ".join(lines)))


def _shares_much(hit: Hit, prompt: Set[str]) -> bool:
    """Return whether prompt and memory share many words that tell something."""
    shared = prompt & frozenset(query_terms(hit.memory.content))
    return len(shared - _generic_words()) >= MANY_WORDS and _score(hit, "lexical") >= MANY_SHARE


def _shares_enough(hit: Hit, prompt: Set[str]) -> bool:
    """Return whether prompt and memory share enough for the one that fits best."""
    told, generic = frozenset(query_terms(hit.memory.content)), _generic_words()
    shared, share, fit = told & prompt, _score(hit, "lexical"), hit.trust.relevance
    telling = len(shared - generic)
    if len(shared) >= FEW_WORDS and share >= WHOLE_SHARE and fit >= WHOLE_FITS:
        return True
    is_about_it = len(told - generic) <= 2 * telling and (fit >= ABOUT_IT_FITS or share >= ABOUT_IT_SHARE)
    return telling > 0 and (is_about_it or (len(shared) >= FEW_WORDS and share >= FEW_SHARE))


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


def _strength(hit: Hit) -> float:
    return hit.trust.relevance + _score(hit, "lexical")


def _score(hit: Hit, index: str) -> float:
    return next((reason.score for reason in hit.reasons if reason.index == index), 0.0)
