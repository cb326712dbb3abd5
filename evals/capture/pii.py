"""
How well personal and secret content is found.

    python -m evals.capture pii

A row per half over all kinds, one for each batch that was written after the code, then rows per kind. A case
is right for a kind when that kind is claimed exactly where the label has it; "exact" is the share of cases
in which every kind is right, "tier" that of right tiers.
"""

from __future__ import annotations

from typing import Any

from engramdb.text.pii import classify, tier_of
from engramdb.values.privacy import PiiKind
from evals.capture.labelled import HALVES, cases, scores

LATER = {2: "written after, then learned from", 3: "written after that"}
Row = dict[str, Any]
Judged = list[tuple[frozenset[PiiKind], frozenset[PiiKind]]]


def measure() -> list[Row]:
    """Return precision and recall of both halves and of the later cases, overall and by kind."""
    every = {half: cases("pii", half) for half in HALVES}
    sets: dict[str, Judged] = {
        half: judge([case for case in every[half] if "batch" not in case]) for half in HALVES
    }
    for batch, name in LATER.items():
        sets[name] = judge([case for half in HALVES for case in every[half] if case.get("batch") == batch])
    rows = [_overall(name, found) for name, found in sets.items()]
    for kind in PiiKind:
        rows += [{"half": name, "kind": kind.value, **_tally(found, {kind})} for name, found in sets.items()]
    return rows


def judge(labelled: list[Row]) -> Judged:
    """Return what each case is labelled with and what was found in it."""
    return [
        (frozenset(PiiKind(kind) for kind in case["kinds"]), classify(case["text"]).kinds)
        for case in labelled
    ]


def _overall(half: str, judged: Judged) -> Row:
    exact = sum(expected == found for expected, found in judged) / len(judged)
    tiers = sum(tier_of(expected) == tier_of(found) for expected, found in judged) / len(judged)
    return {"half": half, "kind": "all", **_tally(judged, set(PiiKind)), "exact": exact, "tier": tiers}


def _tally(judged: Judged, kinds: set[PiiKind]) -> Row:
    right = sum(len(expected & found & kinds) for expected, found in judged)
    wrong = sum(len((found - expected) & kinds) for expected, found in judged)
    missed = sum(len((expected - found) & kinds) for expected, found in judged)
    return {"labelled": right + missed, **scores(right, wrong, missed)}
