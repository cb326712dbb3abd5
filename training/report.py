"""
Report how well the reader reads, from logits of examples that it was not trained on.

    python -m training.report OUT [--held-out HELD.npz] [--write docs/lab/…]

Temperatures and thresholds are fitted on the domains that were left out one after the other; the text that
was kept out of everything is then judged with them as they are. Shares come with Wilson's 95 % interval.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from training.tasks import HARMLESS, TASKS

Floats = NDArray[np.float64]
TEMPERATURES = np.geomspace(0.5, 4.0, 40)
PRECISION = {"conflict": 0.95, "same": 0.95, "keep": 0.95}
MAX_FALSE_ALARMS = 0.02


class Predictions:
    """Logits of examples, with what is known of each."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self.rows: list[Any] = []
        logits: dict[str, list[Any]] = {task: [] for task in TASKS}
        for path in paths:
            with np.load(path) as stored:
                self.rows += json.loads(stored["rows"].tobytes().decode())
                for task, found in logits.items():
                    found.append(stored[task])
        self.logits = {task: np.concatenate(found).astype(np.float64) for task, found in logits.items()}

    def known(self, task: str, *, sure: bool = True) -> NDArray[np.int64]:
        """Return the places of examples that have a label of this task; with `sure`, only one."""
        wanted = [
            place
            for place, row in enumerate(self.rows)
            if task in row[4] and (not sure or len(row[4][task]) == 1)
        ]
        return np.array(wanted, np.int64)

    def labels(self, task: str, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the one label of each place."""
        return np.array([self.rows[place][4][task][0] for place in places], np.int64)


def softmax(logits: Floats, temperature: float) -> Floats:
    """Return probabilities."""
    scaled = logits / temperature
    scaled = np.exp(scaled - scaled.max(axis=-1, keepdims=True))
    return np.asarray(scaled / scaled.sum(axis=-1, keepdims=True))


def fit_temperature(logits: Floats, labels: NDArray[np.int64]) -> float:
    """Return the temperature with the least cross-entropy."""
    rows = np.arange(len(labels))
    losses = [-np.log(softmax(logits, one)[rows, labels] + 1e-12).mean() for one in TEMPERATURES]
    return float(TEMPERATURES[int(np.argmin(losses))])


def threshold_for_precision(scores: Floats, right: NDArray[np.bool_], wanted: float) -> float:
    """Return the lowest threshold above which at least `wanted` of the scores are right."""
    order = np.argsort(-scores)
    precision = np.cumsum(right[order]) / np.arange(1, len(order) + 1)
    enough = np.flatnonzero(precision >= wanted)
    return float(scores[order][enough[-1]]) if len(enough) else 1.0


def threshold_for_false_alarms(scores: Floats, right: NDArray[np.bool_], allowed: float) -> float:
    """Return the threshold that at most this share of the negatives passes."""
    return float(np.quantile(scores[~right], 1 - allowed))


def area_under_curve(scores: Floats, right: NDArray[np.bool_]) -> float:
    """Return the chance that a right one scores above a wrong one."""
    order = np.argsort(scores)
    ranks = np.empty(len(scores))
    ranks[order] = np.arange(1, len(scores) + 1)
    positives = int(right.sum())
    negatives = len(right) - positives
    return float((ranks[right].sum() - positives * (positives + 1) / 2) / max(1, positives * negatives))


def interval(hits: int, total: int) -> str:
    """Return a share with its 95 % interval."""
    if not total:
        return "–"
    share, z = hits / total, 1.96
    center = (share + z * z / (2 * total)) / (1 + z * z / total)
    spread = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total)) / (1 + z * z / total)
    return f"{share:.3f} ({center - spread:.3f}–{center + spread:.3f}, n={total})"


def fit(found: Predictions) -> dict[str, Any]:
    """Return temperatures and thresholds."""
    temperatures = {}
    for task in TASKS:
        places = found.known(task)
        temperatures[task] = fit_temperature(found.logits[task][places], found.labels(task, places))
    thresholds: dict[str, float] = {}
    for name, index in (("conflict", 1), ("same", 0)):
        scores, right = _scores(found, "relation", index, temperatures)
        thresholds[name] = threshold_for_precision(scores, right, PRECISION[name])
    thresholds["keep"] = threshold_for_precision(*_scores(found, "keep", 1, temperatures), PRECISION["keep"])
    thresholds["hostile"] = threshold_for_false_alarms(
        *_scores(found, "hostile", 1, temperatures), MAX_FALSE_ALARMS
    )
    return {"temperatures": temperatures, "thresholds": thresholds}


def _scores(
    found: Predictions, task: str, index: int, temperatures: dict[str, float]
) -> tuple[Floats, NDArray[np.bool_]]:
    places = found.known(task)
    return (
        softmax(found.logits[task][places], temperatures[task])[:, index],
        found.labels(task, places) == index,
    )


def describe(found: Predictions, fitted: dict[str, Any]) -> list[str]:
    """Return the lines of a report."""
    temperatures, thresholds = fitted["temperatures"], fitted["thresholds"]
    lines = ["| measure | figure |", "|---|---|"]
    for name, task, index in (("conflict", "relation", 1), ("same", "relation", 0), ("keep", "keep", 1)):
        scores, right = _scores(found, task, index, temperatures)
        chosen = scores >= thresholds[name]
        lines.append(f"| {name} precision at p ≥ {thresholds[name]:.2f} | {_share(right[chosen])} |")
        lines.append(f"| {name} recall | {_share(chosen[right])} |")
    lines += _harmless(found, temperatures, thresholds)
    scores, right = _scores(found, "hostile", 1, temperatures)
    flagged = scores >= thresholds["hostile"]
    lines.append(f"| hostile recall at p ≥ {thresholds['hostile']:.2f} | {_share(flagged[right])} |")
    lines.append(f"| hostile false alarms | {_share(flagged[~right])} |")
    for task in ("relation", "keep", "force", "lasting", "category"):
        places = found.known(task)
        best = found.logits[task][places].argmax(axis=1)
        lines.append(f"| {task} accuracy | {_share(best == found.labels(task, places))} |")
    return lines + _answers(found)


def _harmless(found: Predictions, temperatures: dict[str, float], thresholds: dict[str, float]) -> list[str]:
    allowed = {TASKS["relation"].index(name) for name in HARMLESS}
    places = np.array(
        [
            place
            for place in found.known("relation", sure=False)
            if set(found.rows[place][4]["relation"]) <= allowed
        ]
    )
    scores = softmax(found.logits["relation"][places], temperatures["relation"])
    return [
        f"| harmless pairs judged {name} | {_share(scores[:, index] >= thresholds[name])} |"
        for name, index in (("conflict", 1), ("same", 0))
    ]


def _answers(found: Predictions) -> list[str]:
    places = found.known("answers")
    scores = found.logits["answers"][places][:, 1] - found.logits["answers"][places][:, 0]
    kinds = np.array([found.rows[place][3] for place in places])
    forms = np.array(["groups" in found.rows[place][2] for place in places])
    lines = []
    for kind in ("near", "far"):
        chosen = forms & ((kinds == "hit") | (kinds == kind))
        if chosen.any():
            area = area_under_curve(scores[chosen], kinds[chosen] == "hit")
            lines.append(f"| answers: AUC against {kind} misses | {area:.3f} (n={int(chosen.sum())}) |")
    return [*lines, f"| answers: right memory first in its group | {_first(found, places, scores, forms)} |"]


def _first(found: Predictions, places: NDArray[np.int64], scores: Floats, forms: NDArray[np.bool_]) -> str:
    best: dict[str, tuple[float, bool]] = {}
    answerable: set[str] = set()
    for place, score, is_group in zip(places, scores, forms, strict=True):
        question, _, _, kind, _ = found.rows[place]
        if is_group and kind in ("hit", "near"):
            best[question] = max(best.get(question, (-math.inf, False)), (float(score), kind == "hit"))
            answerable |= {question} if kind == "hit" else set()
    hits = [best[question][1] for question in answerable]
    return interval(sum(hits), len(hits))


def _share(hits: NDArray[np.bool_]) -> str:
    return interval(int(hits.sum()), len(hits))


def main() -> None:
    """Print the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--held-out", type=Path)
    parser.add_argument("--fitted", type=Path, help="where to write temperatures and thresholds")
    arguments = parser.parse_args()
    paths = sorted(arguments.folder.glob("fold-*.npz"))
    everything = Predictions(paths)
    fitted = fit(everything)
    print("## Domains left out, one after the other", "", *describe(everything, fitted), "", sep="\n")
    for path in paths:
        print(f"### {path.stem}", "", *describe(Predictions([path]), fitted), "", sep="\n")
    if arguments.held_out:
        print("## Kept out of everything", "", *describe(Predictions([arguments.held_out]), fitted), sep="\n")
    if arguments.fitted:
        arguments.fitted.write_text(json.dumps(fitted, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
