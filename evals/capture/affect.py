"""
How often our affect agrees with a person's: positive, negative or neutral, and strong or mild.

Run by `python -m evals.capture affect`; calls `engram.text.affect` on the text alone, without outcome or
history. Rows: both halves, then English and other languages of each, then what was written after tuning.
Write-up: docs/lab/0008-affect-and-topics.md.
"""

from __future__ import annotations

from typing import Any

from engram.text.affect import HIGH_AROUSAL, affect, sentiment
from engram.text.polarity import language_of
from evals.capture.labelled import HALVES, cases, scores


def measure() -> list[dict[str, Any]]:
    """Return a row per half, and per half one for English and one for the rest."""
    rows = []
    for half in HALVES:
        every = cases("affect", half)
        rows.append({"half": half, "language": "all", **_agreement(every)})
        english = [case for case in every if language_of(case["text"]) == "en"]
        rows.append({"half": half, "language": "English", **_agreement(english)})
        others = [case for case in every if case not in english]
        rows.append({"half": half, "language": "other", **_agreement(others)})
    return rows


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
