"""Topics of a statement, and how far two statements share them."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

from engramdb.erasable_cache import cached
from engramdb.text.lexicons import registry
from engramdb.text.normalize import lazy
from engramdb.text.technologies import find_technologies
from engramdb.text.terms import STOP_WORDS, query_terms, terms

TOPIC_CHANGED_BELOW = 0.35
"""An overlap below this closes a box: the line of the notebook preset."""

TOPIC_MARK = "#"
"""Opens a term that names a topic of the list or a kind of technology; no word begins with it."""

SHARED_TOPIC = 0.4
"""What the only topic of a statement is worth when it is shared; one of four topics is worth half."""

SIMILARITY = 0.8
"""Share of a given similarity that counts: 0.44, just above "worth a link", is then enough alone."""

_DIGITS = lazy(r"[\d.,:%-]+\Z")
_CJK_GRAMMAR = lazy(
    "[的了是在有我他她你们这那很都也要去就和不没个来月着过吗呢吧はがをにでともへ]|です|ます|した|する|して|いる|ある|から|まで"
)


def topic_terms(text: str) -> frozenset[str]:
    """Return the stems, technologies and topics that say what a text is about."""
    technologies = find_technologies(text)
    stems = {stem for stem in query_terms(text) if tells(stem)}
    return frozenset(
        stems
        | {technology.name.casefold() for technology in technologies}
        | {TOPIC_MARK + technology.kind for technology in technologies}
        | {TOPIC_MARK + topic for topic in listed_topics(stems)}
    )


def listed_topics(stems: frozenset[str] | set[str]) -> list[str]:
    """Return the topics of the fixed list that these stems speak for, the best first."""
    votes: dict[str, int] = {}
    for stem in stems:
        for topic in _topics_by_stem().get(stem, ()):
            votes[topic] = votes.get(topic, 0) + 1
    return sorted(votes, key=lambda topic: (-votes[topic], topic))


def overlap(a: frozenset[str], b: frozenset[str], *, similarity: float | None = None) -> float:
    """
    Return how far two sets of topic terms are about the same, 0 to 1.

    Common terms count against the square root of the shorter side: one word in common says a lot about a
    sentence of four and something about one of eight. A topic in common counts less than a word. A similarity
    of the two texts, on the calibrated scale, stands in where the words differ.
    """
    shared = a & b
    if not shared and not similarity:
        return 0.0
    marks, a_marks, b_marks = _count_marks(shared), _count_marks(a), _count_marks(b)
    fewest_marks = min(a_marks, b_marks)
    fewest_words = min(len(a) - a_marks, len(b) - b_marks)
    by_words = min(1.0, (len(shared) - marks) / math.sqrt(fewest_words)) if fewest_words else 0.0
    by_topic = min(1.0, SHARED_TOPIC * marks / math.sqrt(fewest_marks)) if fewest_marks else 0.0
    by_similarity = SIMILARITY * max(0.0, min(1.0, similarity or 0.0))
    return max(by_similarity, 1 - (1 - by_words) * (1 - by_topic))


def _count_marks(found: frozenset[str]) -> int:
    return sum([term.startswith(TOPIC_MARK) for term in found])


@cached(20_000)
def tells(stem: str) -> bool:
    """Return whether a stem says something about the topic."""
    return stem not in _empty_stems() and not _DIGITS.match(stem) and not _is_grammar(stem)


def _is_grammar(stem: str) -> bool:
    """Return whether a pair of characters is held together by grammar only: 我去, です."""
    return len(stem) <= 2 and _CJK_GRAMMAR.search(stem) is not None


@cache
def _empty_stems() -> frozenset[str]:
    return frozenset(terms(_lists()["empty"])).union(terms(" ".join(STOP_WORDS)))


@cache
def _topics_by_stem() -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for topic, words in _lists()["topics"].items():
        for stem in dict.fromkeys(query_terms(words)):
            found.setdefault(stem, []).append(topic)
    return {stem: tuple(topics) for stem, topics in found.items()}


@cache
def _lists() -> dict[str, Any]:
    return registry("topics")
