"""
What each embedder's similarity is worth on the labelled pairs: the scale, what it tells apart, the prefix.

    python -m evals.calibration [--embedder NAME …] [--home FOLDER] [--turns LOCOMO] [--json FILE]

Embedders are `statements` (the built-in without its small words, for comparing what is said), `static` and
`e5-small`. Prints the anchors to commit, where each kind of pair lands on the common scale, how well the
kinds separate (alone and mixed with shared words), what 0.70 and 0.85 catch, and what a date and a speaker
before the text do to it all; with a LoCoMo file also how alike whole turns look, which hardly ever repeat
each other. Anchors come from one half of the pairs; rows say which half they are measured on. The write-up is
docs/lab/0010-calibration.md.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from engramdb.models.calibration import Pair, cosines_of, fit_embedder, labelled_pairs
from engramdb.models.registry import open_embedder
from engramdb.models.static import StatementEmbedder, StaticEmbedder
from engramdb.text.terms import terms
from evals.capture.labelled import scores
from evals.locomo import read
from evals.report import keep, show

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from engramdb.models.calibration import Calibrated

    Numbers = NDArray[np.float64]

RELATIONS = ("unrelated", "same_topic", "related", "paraphrase", "contradiction")
SAME, CANDIDATE = 0.85, 0.70
# Written as `text.passage` writes them. The last row of a prefix table is the case that settling meets.
ANN, MARCO = "[8 May 2023] Ann: ", "[21 November 2024] Marco: "
PREFIXES = {"bare": ("", ""), "same prefix": (ANN, ANN), "other day and speaker": (ANN, MARCO)}
# One frame, another object, both true: memory is full of them, and to an embedder they look like repetitions.
SIBLINGS = (
    ("User likes jazz", "User likes hiking"),
    ("User speaks German", "User speaks French"),
    ("Ann has a son named Leo", "Ann has a daughter named Mia"),
    ("User visited Rome in 2019", "User visited Rome in 2022"),
    ("User's sister lives in Oslo", "User's brother lives in Bergen"),
    ("The API returns JSON", "The API returns HTTP 429 when it is busy"),
    ("Marco plays the cello", "Marco plays tennis"),
    ("User is allergic to peanuts", "User is allergic to cats"),
    ("The backend uses Redis", "The backend uses Kafka"),
    ("User read Dune", "User read Neuromancer"),
    ("Ann works with Ben", "Ann works with Carla"),
    ("User bought a bike", "User bought a tent"),
    ("The tests run on Linux", "The tests run on Windows"),
    ("Priya knows Python", "Priya knows Go"),
    ("User runs on Mondays", "User runs on Thursdays"),
    ("User dislikes coriander", "User dislikes olives"),
    ("The config file is read at start", "The cache file is read at start"),
    ("User's father is a doctor", "User's mother is a lawyer"),
    ("Tom met Sara in Paris", "Tom met Lena in Paris"),
    ("User has a dog", "User has a cat"),
)
HALVES: dict[str, Callable[[Pair], bool]] = {
    "fit": lambda pair: not pair.is_held_out,
    "held out": lambda pair: pair.is_held_out,
    "all": lambda _: True,
    "all English": lambda pair: pair.language == "en",
}


def chosen(values: Numbers, pairs: Sequence[Pair], *relations: str) -> Numbers:
    """Return the values of the pairs of these kinds."""
    return values[np.isin([pair.relation for pair in pairs], relations)]


def auc(positive: Numbers, negative: Numbers) -> float:
    """Return how often a pair of the first kind scores above one of the second; equals count half."""
    above = positive[:, None] > negative[None, :]
    equal = positive[:, None] == negative[None, :]
    return float(np.mean(above + equal / 2))


def jaccard(pairs: Sequence[Pair]) -> Numbers:
    """Return the share of common terms of each pair."""
    sets = [(set(terms(pair.a)), set(terms(pair.b))) for pair in pairs]
    return np.array([len(a & b) / max(1, len(a | b)) for a, b in sets])


def landing(embedder: Calibrated, name: str) -> list[dict[str, Any]]:
    """Return where each kind of pair lies on the common scale."""
    rows = []
    for half in ("fit", "held out"):
        pairs = [pair for pair in labelled_pairs() if HALVES[half](pair)]
        scaled = embedder.calibration.similarities(cosines_of(embedder, pairs))
        for relation in RELATIONS:
            values = chosen(scaled, pairs, relation)
            low, median, high = np.quantile(values, [0.1, 0.5, 0.9])
            row: dict[str, Any] = {"embedder": name, "half": half, "relation": relation, "pairs": len(values)}
            row |= {"10 %": float(low), "median": float(median), "90 %": float(high)}
            row |= {f"from {line}": float(np.mean(values >= line)) for line in (0.2, 0.4, 0.6, 0.7, 0.85)}
            rows.append(row)
    return rows


def separation(values: Numbers, pairs: Sequence[Pair]) -> dict[str, float]:
    """Return how well a score tells the kinds apart; 0.5 is a coin."""
    paraphrase, contradiction = (chosen(values, pairs, kind) for kind in ("paraphrase", "contradiction"))
    related, unrelated = (chosen(values, pairs, kind) for kind in ("related", "unrelated"))
    return {
        "paraphrase / related": auc(paraphrase, related),
        "paraphrase / contradiction": auc(paraphrase, contradiction),
        "either / rest": auc(
            np.concatenate([paraphrase, contradiction]),
            chosen(values, pairs, "related", "same_topic", "unrelated"),
        ),
        "related / unrelated": auc(related, unrelated),
    }


def separations(embedder: Calibrated, name: str) -> list[dict[str, Any]]:
    """Return the separation by the embedder alone, by shared words alone, and by both mixed."""
    rows = []
    for half in ("held out", "all", "all English"):
        pairs = [pair for pair in labelled_pairs() if HALVES[half](pair)]
        meaning, words = embedder.calibration.similarities(cosines_of(embedder, pairs)), jaccard(pairs)
        mixed = {
            name: meaning,
            "Jaccard": words,
            f"mean of {name}, Jaccard": (meaning + words) / 2,
            f"max of {name}, Jaccard": np.maximum(meaning, words),
        }
        rows += [
            {"score": score, "pairs of": half} | separation(values, pairs) for score, values in mixed.items()
        ]
    return rows


def lines(embedder: Calibrated, name: str) -> list[dict[str, Any]]:
    """Return what the two lines that settling reads catch, and what they catch wrongly."""
    rows = []
    for half in ("fit", "held out"):
        pairs = [pair for pair in labelled_pairs() if HALVES[half](pair)]
        scaled = embedder.calibration.similarities(cosines_of(embedder, pairs))
        for question, line, wanted in (
            ("says the same", SAME, ("paraphrase",)),
            ("says or denies the same", SAME, ("paraphrase", "contradiction")),
            ("says or denies the same", CANDIDATE, ("paraphrase", "contradiction")),
            ("contradicts", CANDIDATE, ("contradiction",)),
        ):
            is_wanted = np.isin([pair.relation for pair in pairs], wanted)
            found = scaled >= line
            counts = (np.sum(found & is_wanted), np.sum(found & ~is_wanted), np.sum(~found & is_wanted))
            row = {"embedder": name, "half": half, "question": question, "from": f"{line:.2f}"}
            rows.append(row | scores(*map(int, counts)))
    return rows


def prefixes(embedder: Calibrated, name: str) -> list[dict[str, Any]]:
    """Return what a date and a speaker before both texts do to the raw cosine and to the separation."""
    rows: list[dict[str, Any]] = []
    cosines = {}
    for kind, (before_a, before_b) in PREFIXES.items():
        pairs = [
            Pair(before_a + pair.a, before_b + pair.b, pair.relation, pair.language)
            for pair in labelled_pairs()
        ]
        cosines[kind] = cosines_of(embedder, pairs)
        medians = {
            relation: float(np.median(chosen(cosines[kind], pairs, relation))) for relation in RELATIONS
        }
        rows.append({"embedder": name, "texts": kind} | medians | separation(cosines[kind], pairs))
    repeated = chosen(cosines["other day and speaker"], pairs, "paraphrase")
    related = chosen(cosines["same prefix"], pairs, "related")
    mixed = {"paraphrase": float(np.median(repeated)), "related": float(np.median(related))}
    mixed["paraphrase / related"] = auc(repeated, related)
    return [*rows, {"embedder": name, "texts": "paraphrase on another day, related on the same"} | mixed]


def siblings(embedder: Calibrated, name: str) -> dict[str, Any]:
    """Return how many statements of one frame that are both true look the same to the embedder."""
    pairs = [Pair(a, b, "same_topic") for a, b in SIBLINGS]
    scaled = embedder.calibration.similarities(cosines_of(embedder, pairs))
    shares = {f"from {line}": float(np.mean(scaled >= line)) for line in (0.4, CANDIDATE, SAME)}
    words = float(np.median(jaccard(pairs)))
    return {"embedder": name, "pairs": len(pairs), "median": float(np.median(scaled)), **shares} | {
        "median Jaccard": words
    }


def turns(embedder: Calibrated, name: str, path: Path) -> dict[str, Any]:
    """Return how alike the turns of real conversations look: any two, and each to its nearest earlier one."""
    any_two, nearest = [], []
    for conversation in read(path):
        rows = embedder.embed_documents([draft.content for draft in conversation.drafts.values()])
        scaled = np.tril(embedder.calibration.similarities(rows @ rows.T), -1)
        any_two.append(scaled[np.tril_indices(len(rows), -1)])
        nearest.append(scaled[1:].max(axis=1))
    pairs, best = np.concatenate(any_two), np.concatenate(nearest)
    row: dict[str, Any] = {"embedder": name, "turns": len(best), "median of any two": float(np.median(pairs))}
    row |= {f"any two from {line}": float(np.mean(pairs >= line)) for line in (0.2, 0.4)}
    return row | {f"nearest from {line}": float(np.mean(best >= line)) for line in (0.4, CANDIDATE, SAME)}


def speed(embedder: Calibrated, name: str) -> dict[str, Any]:
    """Return the processor time of one bare text and of one conversion."""
    texts = [pair.a for pair in labelled_pairs()][:100]
    embedder.embed_documents(texts[:1])
    begin = time.process_time()
    embedder.embed_documents(texts)
    embedded = time.process_time()
    for _ in range(1000):
        embedder.calibration.similarity(0.8)
    converted = time.process_time()
    each = {"ms a text": (embedded - begin) * 10, "µs a conversion": (converted - embedded) * 1000}
    return {"embedder": name} | each


def measure(name: str, home: Path) -> dict[str, list[dict[str, Any]]]:
    """Return every table for one embedder."""
    embedder = _open(name, home)
    fitted, committed = fit_embedder(embedder).anchors, embedder.calibration.anchors
    return {
        "anchors": [{"embedder": name, "fitted": fitted, "committed": committed}],
        "landing": landing(embedder, name),
        "separation": separations(embedder, name),
        "lines": lines(embedder, name),
        "prefixes": prefixes(embedder, name),
        "siblings": [siblings(embedder, name)],
        "speed": [speed(embedder, name)],
    }


def _open(name: str, home: Path) -> Calibrated:
    return StatementEmbedder(StaticEmbedder()) if name == "statements" else open_embedder(name, home)


def main() -> None:
    """Measure, print the tables and keep the JSON."""
    parser = argparse.ArgumentParser(prog="python -m evals.calibration")
    parser.add_argument("--embedder", nargs="*", default=["statements", "static"])
    parser.add_argument("--home", type=Path, default=Path.home() / ".engram")
    parser.add_argument("--turns", type=Path, help="a LoCoMo file")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    found: dict[str, list[dict[str, Any]]] = {}
    for name in arguments.embedder:
        for table, rows in measure(name, arguments.home).items():
            found.setdefault(table, []).extend(rows)
        if arguments.turns:
            row = turns(_open(name, arguments.home), name, arguments.turns)
            found.setdefault("turns", []).append(row)
    for table, rows in found.items():
        show(table, rows)
    print(f"\nWritten to {keep('calibration', found, path=arguments.json)}")


if __name__ == "__main__":
    main()
