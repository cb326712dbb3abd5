"""
Which lexical score, and which way of mixing it with the vectors, finds most on LoCoMo?

    python -m evals.fusion --data FILE [--embedder e5-small] [--home FOLDER] [--json FILE]

Works on whole score matrices instead of stores, so that many mixes can be compared in a minute. The text is
cut and embedded exactly as the product does it; `--without date speaker` leaves those out, to see what they
are worth. Every weight is chosen on the other conversations. The write-ups are docs/lab/0002-passage.md and
0003-fusion.md; what won is `text.passage`, `index.lexical` and `recall.fuse`.
"""

from __future__ import annotations

import argparse
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from engramdb import Settings
from engramdb.index.lexical import coverage_shares
from engramdb.lifecycle.candidates import born
from engramdb.models.registry import open_embedder
from engramdb.policy import CapturePolicy
from engramdb.testing import ManualClock
from engramdb.text.terms import passage, query_terms, terms
from engramdb.values import Provenance
from evals.locomo import Conversation, read
from evals.ranking import Matrix, bm25
from evals.report import keep, show

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from engramdb.models.embedder import Embedder

WEIGHTS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
LISTED = 100
CUT = 10


@dataclass(frozen=True, slots=True)
class Scored:
    """One conversation as matrices: a row per question, a column per turn."""

    evidence: NDArray[np.bool_]
    cosines: Matrix
    bm25: Matrix
    coverage: Matrix


def stripped(conversation: Conversation, without: Sequence[str]) -> Conversation:
    """Return the conversation with the dates or the speakers of its turns left out."""
    drafts = conversation.drafts
    if "date" in without:
        drafts = {turn: msgspec.structs.replace(draft, occurred_at=None) for turn, draft in drafts.items()}
    if "speaker" in without:
        drafts = {
            turn: msgspec.structs.replace(draft, provenance=Provenance()) for turn, draft in drafts.items()
        }
    return replace(conversation, drafts=drafts)


def score(conversation: Conversation, embedder: Embedder) -> Scored:
    """Return every score of every turn for every question."""
    now, policy = ManualClock().now(), CapturePolicy()
    drafts = conversation.drafts
    passages = [passage(born(draft, draft.content, policy, now=now)) for draft in drafts.values()]
    questions = conversation.questions
    documents = embedder.embed_documents(passages)
    asked = embedder.embed_queries([question.text for question in questions])
    counts = [Counter(terms(text)) for text in passages]
    wanted = [query_terms(question.text) for question in questions]
    evidence = np.array([[turn in question.evidence for turn in drafts] for question in questions])
    cosines: Matrix = (asked @ documents.T).astype(np.float64)
    return Scored(evidence, cosines, bm25(counts, wanted), _coverage(counts, wanted))


def _coverage(counts: Sequence[Counter[str]], wanted: Sequence[Sequence[str]]) -> Matrix:
    """Return the share of each question that each turn covers, as the product computes it."""
    frequencies = Counter(term for count in counts for term in count)
    scores = np.zeros((len(wanted), len(counts)))
    for row, asked in enumerate(wanted):
        shares = coverage_shares({term: frequencies[term] for term in asked}, len(counts))
        for term, share in shares.items():
            scores[row] += share * np.array([term in count for count in counts])
    return scores


def stretched(scores: Matrix) -> Matrix:
    """Return each row's listed scores stretched to [0, 1], the rest 0."""
    best = np.sort(scores, axis=1)[:, ::-1][:, :LISTED]
    low, high = best[:, -1:], best[:, :1]
    return np.clip((scores - low) / np.maximum(high - low, 1e-12), 0, 1)


def by_rank(scores: Matrix, constant: int) -> Matrix:
    """Return `1 / (constant + rank)` for what is listed and scored above 0, the rest 0."""
    ranks = np.argsort(np.argsort(-scores, axis=1, kind="stable"), axis=1) + 1
    return np.where(
        (ranks <= LISTED) & (scores > scores.min(axis=1, keepdims=True)), 1 / (constant + ranks), 0.0
    )


def above(cosines: Matrix, floor: float) -> Matrix:
    """Return cosines as similarities above the embedder's floor."""
    return np.maximum(0.0, (cosines - floor) / (1 - floor))


def recall_at(scores: Matrix, evidence: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return per question the share of its evidence among the best ten."""
    best = np.argsort(-scores, axis=1, kind="stable")[:, :CUT]
    found = np.take_along_axis(evidence, best, axis=1).sum(axis=1)
    shares: NDArray[np.float64] = found / evidence.sum(axis=1)
    return shares


def reciprocal_rank(scores: Matrix, evidence: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return per question one over the rank of the first evidence."""
    order = np.argsort(-scores, axis=1, kind="stable")
    first = np.argmax(np.take_along_axis(evidence, order, axis=1), axis=1)
    ranks: NDArray[np.float64] = 1 / (first + 1)
    return ranks


def held_out(mix: Callable[[Scored, float], Matrix], scored: Sequence[Scored]) -> dict[str, Any]:
    """Return recall and reciprocal rank with every conversation's weight chosen on the others."""
    mixed = {weight: [mix(one, weight) for one in scored] for weight in WEIGHTS}
    recalls = {
        weight: [recall_at(scores, one.evidence) for scores, one in zip(mixed[weight], scored, strict=True)]
        for weight in WEIGHTS
    }
    found, ranks, chosen = [], [], []
    for held, one in enumerate(scored):
        others = [place for place in range(len(scored)) if place != held] or [held]
        best = max(WEIGHTS, key=lambda w: np.concatenate([recalls[w][place] for place in others]).mean())
        chosen.append(best)
        found.append(recalls[best][held])
        ranks.append(reciprocal_rank(mixed[best][held], one.evidence))
    return {
        "R@10": float(np.concatenate(found).mean()),
        "MRR": float(np.concatenate(ranks).mean()),
        "weights": chosen,
    }


def _mixed(vector: Matrix, lexical: Matrix, weight: float) -> Matrix:
    return weight * vector + (1 - weight) * lexical


def measure(path: Path, embedder: Embedder, without: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Return a row per way of scoring and mixing."""
    scored = [score(stripped(conversation, without), embedder) for conversation in read(path)]
    floor = embedder.similarity_floor
    ways: dict[str, Callable[[Scored, float], Matrix]] = {
        "vector alone": lambda one, _: one.cosines,
        "BM25 alone": lambda one, _: one.bm25,
        "coverage alone": lambda one, _: one.coverage,
        "by rank, k = 60, BM25": lambda one, w: (
            w * by_rank(one.cosines, 60) + (1 - w) * by_rank(one.bm25, 60)
        ),
        "by rank, k = 10, BM25": lambda one, w: (
            w * by_rank(one.cosines, 10) + (1 - w) * by_rank(one.bm25, 10)
        ),
        "stretched, BM25": lambda one, w: _mixed(stretched(one.cosines), stretched(one.bm25), w),
        "stretched, coverage": lambda one, w: _mixed(stretched(one.cosines), stretched(one.coverage), w),
        "as they are, coverage": lambda one, w: _mixed(above(one.cosines, floor), one.coverage, w),
    }
    return [{"": name, **held_out(mix, scored)} for name, mix in ways.items()]


def main() -> None:
    """Measure, print the table and keep the JSON."""
    parser = argparse.ArgumentParser(prog="python -m evals.fusion", description=__doc__.split("\n")[1])
    parser.add_argument("--data", type=Path, required=True, help="a file of LoCoMo's form")
    parser.add_argument("--embedder", default="auto")
    parser.add_argument("--home", type=Path, default=Settings.load().home)
    parser.add_argument("--without", nargs="*", default=[], choices=["date", "speaker"])
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    embedder = open_embedder(arguments.embedder, arguments.home)
    rows = measure(arguments.data, embedder, arguments.without)
    show(f"LoCoMo, turn evidence recall, {embedder.identity.name}", rows)
    print(f"\nWritten to {keep('fusion', {'rows': rows}, path=arguments.json)}")


if __name__ == "__main__":
    main()
