"""
How often our affect agrees with a person's: positive, negative or neutral, and strong or mild.

Run by `python -m evals.capture affect`; calls `engramdb.text.affect` on the text alone, without outcome or
history. Rows: both halves, then English and other languages of each, then what was written after tuning.
Write-up: docs/lab/0008-affect-and-topics.md.
"""

from __future__ import annotations

from typing import Any

from engramdb.text.affect import HIGH_AROUSAL, affect, language_of, sentiment
from evals.capture.labelled import HALVES, cases, scores

LAST_BATCH = 3
"""Cases written after the word lists were done: the only ones whose words cannot have shaped the lists."""


def measure() -> list[dict[str, Any]]:
    """Return rows for each half, and for the last batch: all, English, other languages."""
    every = {half: cases("affect", half) for half in HALVES}
    sets: dict[str, list[dict[str, Any]]] = {
        half: [case for case in labelled if case["batch"] < LAST_BATCH] for half, labelled in every.items()
    }
    sets["after"] = [case for labelled in every.values() for case in labelled if case["batch"] == LAST_BATCH]
    return [row for name, labelled in sets.items() for row in _rows(name, labelled)]


def _rows(name: str, labelled: list[dict[str, Any]]) -> list[dict[str, Any]]:
    english = [case for case in labelled if language_of(case["text"]) == "en"]
    others = [case for case in labelled if case not in english]
    groups = {"all": labelled, "English": english, "other": others}
    return [{"half": name, "language": group, **_agreement(chosen)} for group, chosen in groups.items()]


def _agreement(labelled: list[dict[str, Any]]) -> dict[str, Any]:
    found = [affect(case["text"]) for case in labelled]
    agreed = sum(sentiment(felt) == case["sentiment"] for case, felt in zip(labelled, found, strict=True))
    pairs = [
        (case["arousal"] == "high", felt.arousal >= HIGH_AROUSAL)
        for case, felt in zip(labelled, found, strict=True)
    ]
    strong = scores(
        sum(said and is_high for is_high, said in pairs),
        sum(said and not is_high for is_high, said in pairs),
        sum(is_high and not said for is_high, said in pairs),
    )
    return {
        "cases": len(labelled),
        "sentiment": agreed / len(labelled),
        "arousal": sum(said == is_high for is_high, said in pairs) / len(labelled),
        "high arousal F1": strong["F1"],
    }
