"""
How often we notice that the talk has moved on to another topic, and how often we only think so.

Run by `python -m evals.capture topics`; calls `engramdb.text.traits`, with and without the
built-in similarity. A change closes a memory box, so both kinds of mistake cost: a box cut in two, or two
in one.
Write-up: docs/lab/0008-affect-and-topics.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engramdb.models.calibration import Likeness
from engramdb.models.static import StatementEmbedder, StaticEmbedder
from engramdb.text.traits import TOPIC_CHANGED_BELOW, overlap, topic_terms
from evals.capture.labelled import HALVES, cases, scores

if TYPE_CHECKING:
    from collections.abc import Callable


LAST_BATCH = 2
"""Cases written after the word lists were done: the only ones whose words cannot have shaped the lists."""


def measure() -> list[dict[str, Any]]:
    """Return rows for each half and for the last batch: words alone, and with the built-in embedder."""
    ways: dict[str, Callable[[dict[str, Any]], float]] = {"words": by_words, "words + static": by_both}
    every = {half: cases("topics", half) for half in HALVES}
    sets: dict[str, list[dict[str, Any]]] = {
        half: [case for case in labelled if case["batch"] < LAST_BATCH] for half, labelled in every.items()
    }
    sets["after"] = [case for labelled in every.values() for case in labelled if case["batch"] == LAST_BATCH]
    return [
        {"half": name, "way": way_name, **_score(labelled, way)}
        for name, labelled in sets.items()
        for way_name, way in ways.items()
    ]


def by_words(case: dict[str, Any]) -> float:
    """Return the overlap of a statement with the terms of everything said before."""
    box = frozenset[str]().union(*(topic_terms(text) for text in case["before"]))
    return overlap(topic_terms(case["text"]), box)


def by_both(case: dict[str, Any]) -> float:
    """Return the overlap with the similarity to the nearest statement before."""
    box = frozenset[str]().union(*(topic_terms(text) for text in case["before"]))
    return overlap(topic_terms(case["text"]), box, similarity=_similarity(case))


_LIKENESS = Likeness(StatementEmbedder(StaticEmbedder()))


def _similarity(case: dict[str, Any]) -> float:
    """Return the similarity to the nearest earlier statement, on the calibrated scale."""
    return max(_LIKENESS.between(case["text"], case["before"]))


def _score(labelled: list[dict[str, Any]], way: Callable[[dict[str, Any]], float]) -> dict[str, Any]:
    pairs = [(case["changed"], way(case) < TOPIC_CHANGED_BELOW) for case in labelled]
    right = sum(changed == said for changed, said in pairs)
    found = scores(
        sum(changed and said for changed, said in pairs),
        sum(said and not changed for changed, said in pairs),
        sum(changed and not said for changed, said in pairs),
    )
    return {"cases": len(labelled), "accuracy": right / len(labelled), **found}
