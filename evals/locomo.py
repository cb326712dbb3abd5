"""
Evidence recall on LoCoMo: does `recall` find the turns that answer each question?

    python -m evals.locomo --data FILE [--embedder e5-small] [--home FOLDER] [--json FILE]

Every turn of a conversation is stored as a memory with its speaker and time, one store per conversation,
and every question of categories 1 to 4 with evidence is asked through `Engram.recall`. The one tuned number,
the vector index's weight, is chosen for each conversation on the others, so no question is scored by a weight
that it helped to choose. Any file of LoCoMo's form will do; it is read, never copied.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections import defaultdict
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engram import Draft, Engram, Settings, Source
from engram.providers.models import open_embedder
from engram.values import Provenance
from evals.report import keep, show

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from engram.providers.calibration import Calibration
    from engram.providers.embedder import Embedder
    from engram.values import EmbedderIdentity

WEIGHTS = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
CUTS = (5, 10, 20)
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}


@dataclass(frozen=True, slots=True)
class Question:
    """A question, its category and the ids of the turns that answer it."""

    text: str
    category: int
    evidence: frozenset[str]


@dataclass(frozen=True, slots=True)
class Conversation:
    """Turns by id, as drafts, and the questions about them."""

    name: str
    drafts: dict[str, Draft]
    questions: list[Question]


@dataclass(frozen=True, slots=True)
class Score:
    """How well one question was answered."""

    category: int
    recalls: dict[int, float]
    reciprocal_rank: float


class RememberingEmbedder:
    """Asks each question of the embedder once; otherwise the weights would each pay for it again."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[str, NDArray[np.float32]] = {}
        self.batch = embedder.batch
        self.similarity_floor = embedder.similarity_floor

    @property
    def identity(self) -> EmbedderIdentity:
        """The identity of the embedder inside."""
        return self._embedder.identity

    @property
    def calibration(self) -> Calibration:
        """The calibration of the embedder inside."""
        return self._embedder.calibration

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text."""
        return self._embedder.embed_documents(texts)

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the row of the one question."""
        (text,) = texts
        if text not in self._known:
            self._known[text] = self._embedder.embed_queries([text])
        return self._known[text]


def read(path: Path) -> list[Conversation]:
    """Return the conversations of a LoCoMo file."""
    return [_conversation(one) for one in json.loads(path.read_text())]


def _conversation(one: dict[str, Any]) -> Conversation:
    drafts = dict(_drafts(one["conversation"]))
    questions = []
    for asked in one["qa"]:
        ids = re.findall(r"D\d+:\d+", " ".join(asked.get("evidence", [])))
        evidence = frozenset(ids) & drafts.keys()
        if asked["category"] in CATEGORIES and evidence:
            questions.append(Question(asked["question"], asked["category"], frozenset(evidence)))
    return Conversation(str(one["sample_id"]), drafts, questions)


def _drafts(conversation: dict[str, Any]) -> Iterator[tuple[str, Draft]]:
    for name, turns in conversation.items():
        if not re.fullmatch(r"session_\d+", name):
            continue
        moment = datetime.strptime(f"{conversation[f'{name}_date_time']} +0000", "%I:%M %p on %d %B, %Y %z")
        for turn in turns:
            made = Provenance(source=Source.INGEST, speaker=turn["speaker"], session=name)
            draft = Draft(content=turn["text"], provenance=made, occurred_at=moment)
            yield turn["dia_id"], draft


def ask_all(conversation: Conversation, embedder: Embedder, folder: Path) -> dict[float, list[Score]]:
    """Store the conversation once and ask every question at every weight."""
    path = folder / f"{conversation.name}.db"
    settings = Settings(home=folder, durability="relaxed")
    with Engram.open(path, settings=settings, embedder=embedder, background=False) as engram:
        stored = list(engram.remember_many(conversation.drafts.values()))
    turns_of: defaultdict[str, set[str]] = defaultdict(set)  # the same words said twice are one memory
    for turn_id, memory in zip(conversation.drafts, stored, strict=True):
        turns_of[memory.id].add(turn_id)
    scores = {}
    for weight in WEIGHTS:
        weighted = replace(settings, overrides={"recall": {"vector_weight": weight}})
        with Engram.open(path, settings=weighted, embedder=embedder, background=False) as engram:
            scores[weight] = [_score(engram, question, turns_of) for question in conversation.questions]
    return scores


def _score(engram: Engram, question: Question, turns_of: dict[str, set[str]]) -> Score:
    ranked = [turns_of[hit.memory.id] for hit in engram.recall(question.text, limit=100).hits]
    recalls = {
        cut: len(question.evidence & set().union(*ranked[:cut])) / len(question.evidence) for cut in CUTS
    }
    ranks = (rank for rank, turns in enumerate(ranked, start=1) if turns & question.evidence)
    return Score(question.category, recalls, 1 / next(ranks, float("inf")))


def held_out(scores: list[dict[float, list[Score]]]) -> tuple[list[Score], list[float]]:
    """Return every conversation's scores at the weight that the other conversations prefer."""
    chosen = []
    for held in range(len(scores)):
        others = [one for place, one in enumerate(scores) if place != held] or scores
        chosen.append(max(WEIGHTS, key=lambda weight: _mean([s for one in others for s in one[weight]])))
    return [score for one, weight in zip(scores, chosen, strict=True) for score in one[weight]], chosen


def _mean(scores: Sequence[Score], cut: int = 10) -> float:
    return sum(score.recalls[cut] for score in scores) / max(1, len(scores))


def _row(label: str, scores: Sequence[Score]) -> dict[str, Any]:
    rank = sum(score.reciprocal_rank for score in scores) / max(1, len(scores))
    return {"": label, "questions": len(scores), **{f"R@{c}": _mean(scores, c) for c in CUTS}, "MRR": rank}


def measure(path: Path, embedder: Embedder) -> dict[str, Any]:
    """Return the rows of the report for one embedder."""
    conversations = read(path)
    remembering = RememberingEmbedder(embedder)
    with tempfile.TemporaryDirectory() as folder:
        scores = [ask_all(conversation, remembering, Path(folder)) for conversation in conversations]
    fair, chosen = held_out(scores)
    rows = [_row("all, weight held out", fair)]
    rows += [_row(name, [s for s in fair if s.category == number]) for number, name in CATEGORIES.items()]
    by_weight = [_row(f"weight {weight}", [s for one in scores for s in one[weight]]) for weight in WEIGHTS]
    return {"embedder": str(embedder.identity), "rows": rows, "chosen": chosen, "by_weight": by_weight}


def main() -> None:
    """Measure, print the tables and keep the JSON."""
    parser = argparse.ArgumentParser(prog="python -m evals.locomo", description=__doc__.split("\n")[1])
    parser.add_argument("--data", type=Path, required=True, help="a file of LoCoMo's form")
    parser.add_argument("--embedder", default="auto", help="auto, static or e5-small")
    parser.add_argument("--home", type=Path, default=Settings.load().home, help="folder with the model packs")
    parser.add_argument("--json", type=Path, help="where to write the numbers")
    arguments = parser.parse_args()
    embedder = open_embedder(arguments.embedder, arguments.home)
    found = measure(arguments.data, embedder)
    show(f"LoCoMo, turn evidence recall, {embedder.identity.name}", found["rows"])
    show("The same weight for all (not held out)", found["by_weight"])
    print(f"\nWeights chosen on the other conversations: {found['chosen']}")
    print(f"Written to {keep('locomo', found, path=arguments.json)}")


if __name__ == "__main__":
    main()
