"""
How often we notice that the talk has moved on to another topic, and how often we only think so.

Run by `python -m evals.capture topics`; calls `engram.text.topics`, with and without the built-in embedder's
similarity. A change closes a memory box, so both kinds of mistake cost: a box cut in two, or two in one.
Write-up: docs/lab/0008-affect-and-topics.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engram.providers.static import StaticEmbedder
from engram.text.topics import TOPIC_CHANGED_BELOW, overlap, topic_terms
from evals.capture.labelled import HALVES, cases, scores

if TYPE_CHECKING:
    from collections.abc import Callable


def measure() -> list[dict[str, Any]]:
    """Return a row per half for words alone and for words with the built-in embedder."""
    ways: dict[str, Callable[[dict[str, Any]], float]] = {"words": by_words, "words + static": by_both}
    return [
        {"half": half, "way": name, **_score(cases("topics", half), way)}
        for half in HALVES
        for name, way in ways.items()
    ]


def by_words(case: dict[str, Any]) -> float:
    """Return the overlap of a statement with the terms of everything said before."""
    box = frozenset[str]().union(*(topic_terms(text) for text in case["before"]))
    return overlap(topic_terms(case["text"]), box)


def by_both(case: dict[str, Any]) -> float:
    """Return the overlap with the similarity to the nearest statement before."""
    box = frozenset[str]().union(*(topic_terms(text) for text in case["before"]))
    return overlap(topic_terms(case["text"]), box, similarity=_similarity(case))


_EMBEDDER = StaticEmbedder()


def _similarity(case: dict[str, Any]) -> float:
    """Return the cosine to the nearest earlier statement, with unrelated texts at 0."""
    rows = _EMBEDDER.embed_documents([case["text"], *case["before"]])
    floor = _EMBEDDER.similarity_floor
    return max(0.0, (float((rows[1:] @ rows[0]).max()) - floor) / (1 - floor))


def _score(labelled: list[dict[str, Any]], way: Callable[[dict[str, Any]], float]) -> dict[str, Any]:
    pairs = [(case["changed"], way(case) < TOPIC_CHANGED_BELOW) for case in labelled]
    right = sum(changed == said for changed, said in pairs)
    found = scores(
        sum(changed and said for changed, said in pairs),
        sum(said and not changed for changed, said in pairs),
        sum(changed and not said for changed, said in pairs),
    )
    return {"cases": len(labelled), "accuracy": right / len(labelled), **found}
