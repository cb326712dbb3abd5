"""
Report how well the reader reads, from logits of text that it was not trained on.

    python -m training.report OUT [--held-out held-….npz] [--baseline newer=OTHER …] [--likeness FILE]

Temperatures and thresholds are fitted on the domains that were left out one after the other; text that was
kept out of everything is then judged with them as they are. Shares come with Wilson's 95 % interval.
`--baseline` adds models that see one text only. `--likeness` is a cache of how alike the embedder finds
questions and memories, filled where it has gaps (needs the pack).
"""

from __future__ import annotations

import argparse
import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from training.tasks import HARMLESS, RELATIONS, TASKS

Floats = NDArray[np.float64]
Places = NDArray[np.int64]
Flags = NDArray[np.bool_]
TEMPERATURES = np.geomspace(0.5, 4.0, 40)
PRECISION = {"conflict": 0.97, "same": 0.95, "keep": 0.95}
CHOSEN = {"premise": 0.7, "doubtful": 0.62}
"""Chosen where candidates compete, on the open half of `evals.beliefs`: docs/lab/0052-reader-four.md."""
LEAST_CHOSEN = 0.05
"""Of all that is right; a threshold that passes fewer is luck."""
MAX_FALSE_ALARMS = 0.01
"""On the left-out domains; text of another hand gives more, and one in fifty is what is promised."""
MESSAGES = "utterances"
BACKWARDS = "backwards"
"""Logits of the relation with the two texts the other way round."""


class Predictions:
    """Logits of examples, with what is known of each."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self.rows: list[Any] = []
        logits: defaultdict[str, list[Any]] = defaultdict(list)
        for path in paths:
            with np.load(path) as stored:
                self.rows += json.loads(stored["rows"].tobytes().decode())
                for name in stored.files:
                    if name != "rows":
                        logits[name].append(stored[name].astype(np.float64))
        self.logits = {name: np.concatenate(found) for name, found in logits.items()}

    def known(
        self, task: str, *, sure: bool = True, where: Callable[[str, str], bool] = lambda _domain, _kind: True
    ) -> Places:
        """Return where a label of this task is known; with `sure`, only one; never what is implied."""
        wanted = [
            place
            for place, row in enumerate(self.rows)
            if task in row[4]
            and (not sure or len(row[4][task]) == 1)
            and row[3] != "implied"
            and where(row[2], row[3])
        ]
        return np.array(wanted, np.int64)

    def labels(self, task: str, places: Places) -> Places:
        """Return the one label of each place."""
        return np.array([self.rows[place][4][task][0] for place in places], np.int64)


def softmax(logits: Floats, temperature: float) -> Floats:
    """Return probabilities."""
    scaled = logits / temperature
    scaled = np.exp(scaled - scaled.max(axis=-1, keepdims=True))
    return np.asarray(scaled / scaled.sum(axis=-1, keepdims=True))


def fit_temperature(logits: Floats, labels: Places) -> float:
    """Return the temperature with the least cross-entropy; without examples the logits stay as they are."""
    if not len(labels):
        return 1.0
    rows = np.arange(len(labels))
    losses = [-np.log(softmax(logits, one)[rows, labels] + 1e-12).mean() for one in TEMPERATURES]
    return float(TEMPERATURES[int(np.argmin(losses))])


def threshold_for_precision(scores: Floats, right: Flags, wanted: float) -> float:
    """Return the lowest threshold above which at least `wanted` of the scores are right, if any are many."""
    order = np.argsort(-scores)
    hits = np.cumsum(right[order])
    precision = hits / np.arange(1, len(order) + 1)
    enough = np.flatnonzero((precision >= wanted) & (hits >= LEAST_CHOSEN * right.sum()))
    return float(scores[order][enough[-1]]) if len(enough) else 1.0


def threshold_for_false_alarms(scores: Floats, right: Flags, allowed: float) -> float:
    """Return the threshold that at most this share of the negatives passes."""
    return float(np.quantile(scores[~right], 1 - allowed))


def average_precision(scores: Floats, right: Flags) -> float:
    """Return the mean of the precisions at each right one, best score first."""
    ordered = right[np.argsort(-scores)]
    precision = np.cumsum(ordered) / np.arange(1, len(ordered) + 1)
    return float(precision[ordered].mean())


def area_under_curve(scores: Floats, right: Flags) -> float:
    """Return the chance that a right one scores above a wrong one; equal ones count half."""
    _, ranks, counts = np.unique(scores, return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - (counts - 1) / 2
    positives, negatives = int(right.sum()), int((~right).sum())
    above = middle[ranks][right].sum() - positives * (positives + 1) / 2
    return float(above / max(1, positives * negatives))


def interval(hits: int, total: int) -> str:
    """Return a share with its 95 % interval."""
    if not total:
        return "–"
    share, z = hits / total, 1.96
    center = (share + z * z / (2 * total)) / (1 + z * z / total)
    spread = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total)) / (1 + z * z / total)
    return f"{share:.3f} ({max(0.0, center - spread):.3f}–{min(1.0, center + spread):.3f}, n={total})"


def _is_message(domain: str, _kind: str) -> bool:
    return domain.endswith(MESSAGES)


def _is_dialogue(domain: str, _kind: str) -> bool:
    return "dialogues" in domain


def fit(found: Predictions) -> dict[str, Any]:
    """Return temperatures and thresholds."""
    temperatures = {}
    for task in TASKS:
        places = found.known(task)
        temperatures[task] = fit_temperature(found.logits[task][places], found.labels(task, places))
    thresholds: dict[str, float] = {}
    for name in ("conflict", "same"):
        scores, right = _scores(found, "relation", RELATIONS.index(name), temperatures)
        thresholds[name] = threshold_for_precision(scores, right, PRECISION[name])
    messages = _scores(found, "keep", 1, temperatures, where=_is_message)
    thresholds["keep"] = threshold_for_precision(*messages, PRECISION["keep"])
    thresholds["hostile"] = threshold_for_false_alarms(
        *_scores(found, "hostile", 1, temperatures), MAX_FALSE_ALARMS
    )
    return {"temperatures": temperatures, "thresholds": thresholds | CHOSEN}


def _scores(
    found: Predictions,
    task: str,
    index: int,
    temperatures: dict[str, float],
    *,
    where: Callable[[str, str], bool] = lambda _domain, _kind: True,
) -> tuple[Floats, Flags]:
    places = found.known(task, where=where)
    if not len(places):
        return np.zeros(0), np.zeros(0, bool)
    return _chances(found, places, task, index, temperatures), found.labels(task, places) == index


def _chances(
    found: Predictions, places: Places, task: str, index: int, temperatures: dict[str, float]
) -> Floats:
    """Return the chance of one class; that of a conflict is the lesser of both directions."""
    chances = softmax(found.logits[task][places], temperatures[task])[:, index]
    if (task, index) == ("relation", RELATIONS.index("conflict")) and BACKWARDS in found.logits:
        back = softmax(found.logits[BACKWARDS][places], temperatures[task])[:, index]
        chances = np.minimum(chances, back)
    return chances


def describe(found: Predictions, fitted: dict[str, Any], likeness: Likeness | None = None) -> list[str]:
    """Return the lines of a report."""
    temperatures, thresholds = fitted["temperatures"], fitted["thresholds"]
    lines = ["| measure | figure |", "|---|---|"]
    for name, task, index, where in (
        ("conflict", "relation", 1, _any),
        ("same", "relation", 0, _any),
        ("keep, messages", "keep", 1, _is_message),
        ("keep, sentences of dialogues", "keep", 1, _is_dialogue),
    ):
        scores, right = _scores(found, task, index, temperatures, where=where)
        if not right.any():
            continue
        threshold = thresholds[name.partition(",")[0]]
        chosen = scores >= threshold
        lines.append(f"| {name}: precision at p ≥ {threshold:.2f} | {_share(right[chosen])} |")
        lines.append(f"| {name}: recall | {_share(chosen[right])} |")
        lines.append(f"| {name}: average precision | {average_precision(scores, right):.3f} |")
    lines += _harmless(found, temperatures, thresholds)
    for task in ("hostile", "premise", "doubtful"):
        scores, right = _scores(found, task, 1, temperatures)
        if right.any():
            flagged = scores >= thresholds[task]
            lines.append(f"| {task}: recall at p ≥ {thresholds[task]:.2f} | {_share(flagged[right])} |")
            lines.append(f"| {task}: false alarms | {_share(flagged[~right])} |")
    for task in ("relation", "keep", "force", "lasting", "category"):
        places = found.known(task)
        if len(places):
            best = found.logits[task][places].argmax(axis=1)
            lines.append(f"| {task}: accuracy | {_share(best == found.labels(task, places))} |")
    return lines + _answers(found, likeness)


def _any(_domain: str, _kind: str) -> bool:
    return True


def _harmless(found: Predictions, temperatures: dict[str, float], thresholds: dict[str, float]) -> list[str]:
    allowed = {RELATIONS.index(name) for name in HARMLESS}
    places = np.array(
        [
            place
            for place in found.known("relation", sure=False)
            if set(found.rows[place][4]["relation"]) <= allowed
        ],
        np.int64,
    )
    if not len(places):
        return []
    lines = []
    for name in ("conflict", "same"):
        chances = _chances(found, places, "relation", RELATIONS.index(name), temperatures)
        lines.append(f"| harmless pairs judged {name} | {_share(chances >= thresholds[name])} |")
    return lines


class Likeness:
    """How alike the embedder finds a question and a memory, remembered in a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[str, float] = json.loads(path.read_text()) if path.exists() else {}

    def of(self, rows: Sequence[Any]) -> Floats:
        """Return the cosine of each row's two texts."""
        missing = [row for row in rows if f"{row[0]}\t{row[1]}" not in self._known]
        if missing:
            self._add(missing)
        return np.array([self._known[f"{row[0]}\t{row[1]}"] for row in rows])

    def _add(self, rows: Sequence[Any]) -> None:
        from engramdb.models.registry import open_embedder  # noqa: PLC0415 - needs the pack
        from engramdb.settings import Settings  # noqa: PLC0415

        embedder = open_embedder("e5-small", Settings.load().home)
        questions, memories = sorted({row[0] for row in rows}), sorted({row[1] for row in rows})
        asked = dict(
            zip(
                questions,
                embedder.embed_queries([one.removeprefix("question: ") for one in questions]),
                strict=True,
            )
        )
        told = dict(
            zip(
                memories,
                embedder.embed_documents([one.removeprefix("memory: ") for one in memories]),
                strict=True,
            )
        )
        self._known |= {f"{row[0]}\t{row[1]}": round(float(asked[row[0]] @ told[row[1]]), 4) for row in rows}
        self._path.write_text(json.dumps(self._known), encoding="utf-8")


BLEND = 20.0
"""How much a cosine counts beside the logit of *answers*: a guess, not tuned, for this report alone."""


def _answers(found: Predictions, likeness: Likeness | None) -> list[str]:
    places = found.known("answers", where=lambda domain, _kind: "groups" in domain)
    if not len(places):
        return []
    rows = [found.rows[place] for place in places]
    logits = found.logits["answers"][places]
    scores = {"reader": logits[:, 1] - logits[:, 0]}
    if likeness is not None:
        scores["embedder"] = likeness.of(rows)
        scores["both"] = scores["reader"] + BLEND * scores["embedder"]
    kinds = np.array([row[3] for row in rows])
    lines = []
    for kind in ("near", "far"):
        chosen = (kinds == "hit") | (kinds == kind)
        figures = ", ".join(
            f"{name} {area_under_curve(one[chosen], kinds[chosen] == 'hit'):.3f}"
            for name, one in scores.items()
        )
        lines.append(f"| answers: AUC against {kind} misses (n={int(chosen.sum())}) | {figures} |")
    firsts = ", ".join(f"{name} {_first(rows, one)}" for name, one in scores.items())
    return [*lines, f"| answers: right memory first of its six | {firsts} |"]


def _first(rows: Sequence[Any], scores: Floats) -> str:
    best: dict[str, tuple[float, bool]] = {}
    answerable: set[str] = set()
    for (question, _, _, kind, *_), score in zip(rows, scores, strict=True):
        if kind in ("hit", "near"):
            best[question] = max(best.get(question, (-math.inf, False)), (float(score), kind == "hit"))
            answerable |= {question} if kind == "hit" else set()
    hits = [best[question][1] for question in answerable]
    return interval(sum(hits), len(hits))


def _share(hits: Flags) -> str:
    return interval(int(hits.sum()), len(hits))


def main() -> None:
    """Print the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--held-out", type=Path, nargs="*", default=[])
    parser.add_argument("--baseline", nargs="*", default=[], help="NAME=FOLDER of a model that sees less")
    parser.add_argument("--likeness", type=Path)
    parser.add_argument("--domains", action="store_true", help="also each fold and each kept-out domain")
    parser.add_argument("--fitted", type=Path, help="where to write temperatures and thresholds")
    arguments = parser.parse_args()
    likeness = Likeness(arguments.likeness) if arguments.likeness else None
    paths = sorted(arguments.folder.glob("fold-*.npz"))
    everything = Predictions(paths)
    fitted = fit(everything)
    _print("## Domains left out, one after the other", everything, fitted, likeness)
    for one in arguments.baseline:
        name, _, folder = one.partition("=")
        found = Predictions(sorted(Path(folder).glob("fold-*.npz")))
        _print(f"## {name}, on the domains left out", found, fitted, None)
    for path in arguments.held_out:
        _print(f"## Kept out of everything: {path.stem}", Predictions([path]), fitted, likeness)
    if arguments.domains:
        for path in paths:
            _print(f"### {path.stem}", Predictions([path]), fitted, None)
        for path in arguments.held_out:
            whole = Predictions([path])
            for domain in sorted({row[2].partition("/")[0] for row in whole.rows}):
                _print(f"### kept out: {domain}", _only(whole, domain), fitted, None)
    if arguments.fitted:
        arguments.fitted.write_text(json.dumps(fitted, indent=2), encoding="utf-8")


def _only(whole: Predictions, domain: str) -> Predictions:
    part = Predictions([])
    places = [place for place, row in enumerate(whole.rows) if row[2].startswith(f"{domain}/")]
    part.rows = [whole.rows[place] for place in places]
    part.logits = {name: one[places] for name, one in whole.logits.items()}
    return part


def _print(title: str, found: Predictions, fitted: dict[str, Any], likeness: Likeness | None) -> None:
    print(title, "", *describe(found, fitted, likeness), "", sep="\n")


if __name__ == "__main__":
    main()
