"""
How many injected instructions are stopped, and how much ordinary talk is stopped with them.

    python -m evals.capture injection

A row per half, and one for each batch of cases that was written after the code: how many attacks and
poisonings reach the flag line, how many of each reach the reject line, and how many clean texts reach either.
The lines are those of the default policy.
"""

from __future__ import annotations

from typing import Any

from engramdb.policy import CapturePolicy
from engramdb.text.injection import scan
from evals.capture.labelled import HALVES, cases

LATER = {2: "written after, then learned from", 3: "written after that"}
FLAG_AT = CapturePolicy().injection_flag_above
REJECT_AT = CapturePolicy().injection_reject_above


def measure() -> list[dict[str, Any]]:
    """Return detection and false-positive rates of both halves and of the later cases."""
    every = {half: cases("injection", half) for half in HALVES}
    rows = [_row(half, [case for case in every[half] if "batch" not in case]) for half in HALVES]
    for batch, name in LATER.items():
        later = [case for half in HALVES for case in every[half] if case.get("batch") == batch]
        rows.append(_row(name, later))
    return rows


def _row(half: str, labelled: list[dict[str, Any]]) -> dict[str, Any]:
    scored: dict[str, list[float]] = {"attack": [], "poison": [], "clean": []}
    for case in labelled:
        scored[case["label"]].append(scan(case["text"]).score)
    hostile = scored["attack"] + scored["poison"]
    return {
        "half": half,
        "hostile": len(hostile),
        "clean": len(scored["clean"]),
        "detected": _share(hostile, FLAG_AT),
        "attacks flagged": _share(scored["attack"], FLAG_AT),
        "attacks rejected": _share(scored["attack"], REJECT_AT),
        "poison flagged": _share(scored["poison"], FLAG_AT),
        "poison rejected": _share(scored["poison"], REJECT_AT),
        "clean flagged": _share(scored["clean"], FLAG_AT),
        "clean rejected": _share(scored["clean"], REJECT_AT),
    }


def _share(scores: list[float], line: float) -> float:
    return sum(score >= line for score in scores) / len(scores)
