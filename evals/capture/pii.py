"""
How well personal and secret content is found.

    python -m evals.capture pii

A row per half over all kinds, then a row per kind. A case is right for a kind when that kind is claimed exactly
where the label has it; "exact" is the share of cases in which every kind is right, "tier" that of right tiers.
"""

from __future__ import annotations

from typing import Any

from engram.text.pii import PiiKind, classify, tier_of
from evals.capture.labelled import HALVES, Half, cases, scores

Row = dict[str, Any]
Judged = list[tuple[frozenset[PiiKind], frozenset[PiiKind]]]


def measure() -> list[Row]:
    """Return precision and recall of both halves, overall and by kind."""
    judged = {half: judge(half) for half in HALVES}
    rows = [_overall(half, judged[half]) for half in HALVES]
    for kind in PiiKind:
        rows += [{"half": half, "kind": kind.value, **_tally(judged[half], {kind})} for half in HALVES]
    return rows


def judge(half: Half) -> Judged:
    """Return what each case is labelled with and what was found in it."""
    return [
        (frozenset(PiiKind(kind) for kind in case["kinds"]), classify(case["text"]).kinds)
        for case in cases("pii", half)
    ]


def _overall(half: Half, judged: Judged) -> Row:
    exact = sum(expected == found for expected, found in judged) / len(judged)
    tiers = sum(tier_of(expected) == tier_of(found) for expected, found in judged) / len(judged)
    return {"half": half, "kind": "all", **_tally(judged, set(PiiKind)), "exact": exact, "tier": tiers}


def _tally(judged: Judged, kinds: set[PiiKind]) -> Row:
    right = sum(len(expected & found & kinds) for expected, found in judged)
    wrong = sum(len((found - expected) & kinds) for expected, found in judged)
    missed = sum(len((expected - found) & kinds) for expected, found in judged)
    return {"labelled": right + missed, **scores(right, wrong, missed)}
