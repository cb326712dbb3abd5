"""
Labelled sets and their two halves.

Used by every measurement of capture. A case belongs to the held-out half by a hash of its text, so the split
does not move when cases are added, and nobody can choose what is held out.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, Literal

Half = Literal["tune", "held out"]
HALVES: tuple[Half, Half] = ("tune", "held out")
DATA = Path(__file__).parent / "data"


def cases(name: str, half: Half) -> list[dict[str, Any]]:
    """Return one half of a labelled set, each case with at least a `text`."""
    every: list[dict[str, Any]] = json.loads((DATA / f"{name}.json").read_text("utf-8"))
    return [case for case in every if half_of(case["text"]) == half]


def half_of(text: str) -> Half:
    """Return the half that a case with this text belongs to."""
    return HALVES[hashlib.sha256(text.encode()).digest()[0] % 2]


def scores(true_positives: int, false_positives: int, false_negatives: int) -> dict[str, float]:
    """Return precision, recall and F1; 1 where there was nothing to find or nothing was claimed."""
    claimed, actual = true_positives + false_positives, true_positives + false_negatives
    precision = true_positives / claimed if claimed else 1.0
    recall = true_positives / actual if actual else 1.0
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return {"precision": precision, "recall": recall, "F1": f1}
