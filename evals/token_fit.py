"""
Fit what each kind of piece costs, and write it down for the product.

Used by `tokens --fit` on the tune half; writes text/data/token_costs.tsv. Least squares of the relative
error, pulled towards its mean by weighing far-off texts less, with no cost below zero: then a longer text
cannot cost less. The margins of the bound are quantiles of what passages cost beyond the estimate.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from engramdb.text.lexicons import DATA
from engramdb.text.tokens import KINDS, MARGINS, TONGUES, composition, margin_class
from evals.token_samples import RARE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

Array: TypeAlias = NDArray[np.float64]

WEIGHTS = {
    **dict.fromkeys(("chat", "statements", "our code", "standard library", "32 languages"), 1.5),
    "messages, 43 languages": 2.5,
    RARE: 1.0,
    "keys and hashes": 1.0,
}
"""How much each kind of text counts, whatever the number of its samples; 0.7 for the others."""
ROUNDS, STEPS = 4, 1500
NEAR_ENOUGH = 0.03
"""Relative error below which texts are all weighed alike."""
ABOVE = 0.001
"""Share of passages that may lie above the bound."""
DOMINATED = 0.6
"""Share of a passage's cost that has to be of one class for its margin to be measured on it."""


def fit(texts: Mapping[str, Sequence[str]], count: Callable[[str], int]) -> dict[str, float]:
    """Return what each kind of piece costs by this counter."""
    rows, exact, weights = [], [], []
    for kind, some in texts.items():
        counted = [(composition(text), count(text)) for text in some]
        counted = [(pieces, tokens) for pieces, tokens in counted if tokens]
        rows += [pieces for pieces, _ in counted]
        exact += [tokens for _, tokens in counted]
        weights += [WEIGHTS.get(kind, 0.7) / len(counted)] * len(counted)
    kinds = sorted({kind for row in rows for kind in row})
    if missing := KINDS - set(kinds):
        raise SystemExit(f"no text holds {', '.join(sorted(missing))}: give --data and --messages")
    counts = np.array([[row.get(kind, 0) for kind in kinds] for row in rows], float)
    costs = _solve(counts, np.array(exact, float), np.array(weights))
    fitted = dict(zip(kinds, costs.tolist(), strict=True))
    # "don't" that goes on ("don'twine") is a word again, and must not become cheaper by that.
    words = [fitted[kind] for tongue in TONGUES for kind in (tongue, f"{tongue} glued")]
    return fitted | {"contraction": min(fitted["contraction"], *words)}


def _solve(counts: Array, exact: Array, weights: Array) -> Array:
    """Return non-negative costs by multiplicative steps, which never leave the positive side."""
    by_error = weights / exact**2
    costs, weighed = np.full(counts.shape[1], 0.3), by_error
    for _ in range(ROUNDS):
        target = counts.T @ (weighed * exact)
        product = counts.T @ (counts * weighed[:, None])
        for _ in range(STEPS):
            costs *= (target + 1e-15) / (product @ costs + 1e-15)
        errors = np.abs(counts @ costs - exact) / exact
        weighed = by_error / np.maximum(errors, NEAR_ENOUGH)
    return costs


def margins(
    passages: Sequence[str], costs: Mapping[str, float], count: Callable[[str], int]
) -> dict[str, float]:
    """Return by class of pieces how far above the estimate passages go, but for one in a thousand."""
    beyond: dict[str, list[float]] = {name: [] for name in MARGINS}
    for passage in passages:
        pieces = composition(passage)
        if "rare byte" in pieces:  # reckoned at one token a byte, whatever it usually costs
            continue
        by_class = dict.fromkeys(beyond, 0.0)
        for kind, number in pieces.items():
            by_class[margin_class(kind)] += costs[kind] * number
        strongest = max(by_class, key=lambda name: by_class[name])
        whole = sum(by_class.values())
        if by_class[strongest] >= DOMINATED * whole:
            beyond[strongest].append(count(passage) / whole)
    return {name: float(np.quantile(found, 1 - ABOVE)) for name, found in beyond.items()}


def write(fitted: Mapping[str, tuple[Mapping[str, float], Mapping[str, float]]]) -> Path:
    """Write the table of the product and return where it is."""
    path = DATA / "token_costs.tsv"
    comments = [line for line in path.read_text("utf-8").splitlines() if line.startswith("#")]
    kinds = sorted({kind for costs, _ in fitted.values() for kind in costs})
    rows = [["kind", *fitted]]
    rows += [[kind, *(f"{costs[kind]:.3f}" for costs, _ in fitted.values())] for kind in kinds]
    rows += [[f"margin {name}", *(f"{most[name]:.2f}" for _, most in fitted.values())] for name in MARGINS]
    path.write_text("\n".join([*comments, *("\t".join(row) for row in rows)]) + "\n", "utf-8")
    return path
