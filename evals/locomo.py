"""
Evidence recall on LoCoMo: does `recall` find the turns that answer each question?

    python -m evals.locomo --data FILE [--embedder e5-small] [--home FOLDER] [--try NAME=VALUE …]

Every turn of a conversation is stored as a memory with its speaker, session and time, one store per
conversation, and every question of categories 1 to 4 with evidence is asked through `Engram.recall`: by
words alone, by meaning alone, by both (*fused*), and with every signal of the policy (*full*). The
signals' weights were chosen on the first three conversations of the development file; the others were
kept out of that and are reported apart. `--try session_reach=[0.3,0.2]` measures the full policy with a
field changed. `--observe` tells the turns to an agent that remembers, as its users do, beside a store that
keeps every sentence, and `--presets` asks by either way under every preset; in both the model pack reads
along unless the embedder is the built-in one. Any file of LoCoMo's form will do; it is read, never copied.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from engramdb import Draft, Engram, Settings, Source
from engramdb.models.registry import open_embedder
from engramdb.models.static import NAME as STATIC
from engramdb.policy import NAMES
from engramdb.text.sentences import sentences
from engramdb.values import Provenance
from evals.ranking import share_found, share_of_distinct
from evals.report import keep, show

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from engramdb.models.calibration import Calibration
    from engramdb.models.embedder import Embedder
    from engramdb.values import EmbedderIdentity, Memory

CUTS = (5, 10, 20)
SESSION_CUT = 10
"""Session recall is the share of the evidence's sessions among the first ten different ones."""
TUNED_ON = ("conv-26", "conv-30", "conv-41")
"""The conversations whose questions the weights were chosen by."""
BARE: dict[str, Any] = {
    "session_reach": [],
    "subject_bonus": 0.0,
    "time_bonus": 0.0,
    "period_bonus": 0.0,
    "graph_bonus": 0.0,
    "late_bonus": 0.0,
    "relation_bonus": 0.0,
    "hop_bonus": 0.0,
    "entity_bonus": 0.0,
    "expand_aliases": 0,
    "plans_by_intent": False,
    "balances_by_shape": False,
}
MODES: dict[str, dict[str, Any]] = {
    "text only": BARE | {"vector_weight": 0.0},
    "vector only": BARE | {"vector_weight": 1.0},
    "fused": BARE,
    "full": {},
}
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
    is_tuned_on: bool
    recalls: dict[int, float]
    session_recall: float
    reciprocal_rank: float


class RememberingEmbedder:
    """Asks each question of the embedder once; otherwise the weights would each pay for it again."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[str, NDArray[np.float32]] = {}
        self.batch = embedder.batch
        self.similarity_floor = embedder.similarity_floor
        self.similarity_ceiling = getattr(embedder, "similarity_ceiling", 1.0)

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


def ask_all(
    conversation: Conversation, embedder: Embedder, folder: Path, modes: dict[str, dict[str, Any]]
) -> dict[str, list[Score]]:
    """Store the conversation once and ask every question in every mode."""
    path = folder / f"{conversation.name}.db"
    settings = Settings(home=folder, durability="relaxed")
    with Engram.open(path, settings=settings, embedder=embedder, background=False) as engram:
        turns_of = _remembered(engram, conversation)
        engram.enrich()
    scores = {}
    for name, changed in modes.items():
        chosen = replace(settings, overrides={"recall": changed})
        with Engram.open(path, settings=chosen, embedder=embedder, background=False) as engram:
            scores[name] = [_score(engram, conversation, one, turns_of) for one in conversation.questions]
    return scores


def ask_presets(conversation: Conversation, embedder: Embedder, folder: Path) -> dict[str, list[Score]]:
    """Store the conversation by either way, and ask every question under every preset."""
    scores = {}
    for way, store in (("remember", _remembered), ("observe", _observed)):
        path = folder / f"{conversation.name} {way}.db"
        settings = Settings(home=folder, durability="relaxed")
        with Engram.open(path, settings=settings, embedder=embedder, background=False) as engram:
            turns_of = store(engram, conversation)
            engram.enrich()
        for preset in NAMES:
            chosen = replace(settings, policy=preset)
            with Engram.open(path, settings=chosen, embedder=embedder, background=False) as engram:
                asked = [_score(engram, conversation, one, turns_of) for one in conversation.questions]
            scores[f"{way}, {preset}"] = asked
    return scores


def _remembered(engram: Engram, conversation: Conversation) -> dict[str, set[str]]:
    """Store every turn as a memory; the same words said twice are one."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    stored = engram.remember_many(conversation.drafts.values())
    for turn_id, memory in zip(conversation.drafts, stored, strict=True):
        found[memory.id].add(turn_id)
    return found


def observe_all(conversation: Conversation, embedder: Embedder, folder: Path) -> dict[str, list[Score]]:
    """Ask every question of a conversation that was observed, and of one kept sentence by sentence."""
    scores = {}
    for name, policy in (("observe", "balanced"), ("every sentence", "notebook")):
        settings = Settings(home=folder, durability="relaxed", policy=policy)
        path = folder / f"{conversation.name} {name}.db"
        with Engram.open(path, settings=settings, embedder=embedder, background=False) as engram:
            store = _observed if name == "observe" else _sentences
            turns_of = store(engram, conversation)
            engram.enrich()
            scores[name] = [_score(engram, conversation, one, turns_of) for one in conversation.questions]
    return scores


def _observed(engram: Engram, conversation: Conversation) -> dict[str, set[str]]:
    """Tell the turns as they were said; a memory stands for the turns that it was read from."""
    names = {}
    for turn_id, draft in conversation.drafts.items():
        made = draft.provenance
        turn = engram.observe(
            draft.content, speaker=made.speaker, session=made.session, occurred_at=draft.occurred_at
        )
        names[turn.id] = turn_id
    engram.flush()
    return turns_by_memory(engram, names)


def turns_by_memory(engram: Engram, names: Mapping[str, str]) -> dict[str, set[str]]:
    """Return for every memory the turns that it was read from, by the names that they have in the data."""
    found: dict[str, set[str]] = {}
    stored: Sequence[Memory] = engram.list(limit=PAGE)
    while stored:
        found |= {one.id: {names[turn] for turn in one.provenance.turns} for one in stored}
        stored = engram.list(limit=PAGE, before=stored[-1].id) if len(stored) == PAGE else []
    return found


def _sentences(engram: Engram, conversation: Conversation) -> dict[str, set[str]]:
    """Store every sentence of every turn as it was said."""
    told = [
        (turn_id, replace(draft, content=one))
        for turn_id, draft in conversation.drafts.items()
        for one in sentences(draft.content)
    ]
    found: defaultdict[str, set[str]] = defaultdict(set)
    for (turn_id, _), memory in zip(told, engram.remember_many(one for _, one in told), strict=True):
        found[memory.id].add(turn_id)
    return found


def _score(
    engram: Engram, conversation: Conversation, question: Question, turns_of: dict[str, set[str]]
) -> Score:
    ranked = [turns_of.get(hit.memory.id, set()) for hit in engram.recall(question.text, limit=100).hits]
    recalls = {cut: share_found(ranked, question.evidence, cut) for cut in CUTS}
    sessions = [_sessions(conversation, turns) for turns in ranked]
    in_sessions = share_of_distinct(sessions, _sessions(conversation, question.evidence), SESSION_CUT)
    ranks = (rank for rank, turns in enumerate(ranked, start=1) if turns & question.evidence)
    rank = 1 / next(ranks, float("inf"))
    return Score(question.category, conversation.name in TUNED_ON, recalls, in_sessions, rank)


def _sessions(conversation: Conversation, turns: Iterable[str]) -> set[str]:
    return {str(conversation.drafts[turn].provenance.session) for turn in turns}


def _row(label: str, scores: Sequence[Score]) -> dict[str, Any]:
    asked = max(1, len(scores))
    recalls = {f"R@{cut}": sum(score.recalls[cut] for score in scores) / asked for cut in CUTS}
    hits = {f"hit@{cut}": sum(score.recalls[cut] > 0 for score in scores) / asked for cut in CUTS}
    sessions = {f"session R@{SESSION_CUT}": sum(score.session_recall for score in scores) / asked}
    rank = sum(score.reciprocal_rank for score in scores) / asked
    return {"": label, "questions": len(scores), **recalls, **hits, **sessions, "MRR": rank}


def _is_held_out(score: Score) -> bool:
    return not score.is_tuned_on


def _is_of(category: int, score: Score, *, held_out: bool = False) -> bool:
    return score.category == category and not (held_out and score.is_tuned_on)


PAGE = 200
"""How many memories `list` gives at once."""
MODELS = "models"
"""The folder of installed packs in a home."""


def measure(
    path: Path,
    embedder: Embedder,
    tried: dict[str, dict[str, Any]] | None = None,
    *,
    packs: Path | None = None,
    observe: bool = False,
    presets: bool = False,
) -> dict[str, Any]:
    """
    Return the rows of the report for one embedder, a table for each part of the questions.

    The turns are observed, asked for under every preset, or asked for in every mode; `packs` is the folder of
    the model packs that read along.
    """
    modes = MODES | (tried or {})
    remembering = RememberingEmbedder(embedder)
    scores: defaultdict[str, list[Score]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        if packs and (packs / MODELS).exists():
            (Path(folder) / MODELS).symlink_to((packs / MODELS).resolve())
        for conversation in read(path):
            asked = (
                ask_presets(conversation, remembering, Path(folder))
                if presets
                else observe_all(conversation, remembering, Path(folder))
                if observe
                else ask_all(conversation, remembering, Path(folder), modes)
            )
            for name, found in asked.items():
                scores[name] += found
    parts: dict[str, Callable[[Score], bool]] = {"all": lambda _: True, "held out": _is_held_out}
    parts |= {name: partial(_is_of, number) for number, name in CATEGORIES.items()}
    parts |= {
        f"{name}, held out": partial(_is_of, number, held_out=True) for number, name in CATEGORIES.items()
    }
    return {
        "embedder": str(embedder.identity),
        "tables": {
            part: [_row(name, [one for one in found if belongs(one)]) for name, found in scores.items()]
            for part, belongs in parts.items()
        },
    }


def main() -> None:
    """Measure, print the tables and keep the JSON."""
    parser = argparse.ArgumentParser(prog="python -m evals.locomo", description=__doc__.split("\n")[1])
    parser.add_argument("--data", type=Path, required=True, help="a file of LoCoMo's form")
    parser.add_argument("--embedder", default="auto", help="auto, static or e5-small")
    parser.add_argument("--home", type=Path, default=Settings.load().home, help="folder with the model packs")
    parser.add_argument("--json", type=Path, help="where to write the numbers")
    parser.add_argument(
        "--observe", action="store_true", help="tell the turns, beside keeping every sentence"
    )
    parser.add_argument("--presets", action="store_true", help="every preset, by remember and by observe")
    parser.add_argument("--try", dest="tried", nargs="*", default=[], metavar="NAME=VALUE")
    arguments = parser.parse_args()
    embedder = open_embedder(arguments.embedder, arguments.home)
    changes = dict(one.split("=", 1) for one in arguments.tried)
    tried = {" ".join(arguments.tried): {name: json.loads(text) for name, text in changes.items()}}
    reads_along = (arguments.observe or arguments.presets) and embedder.identity.name != STATIC
    found = measure(
        arguments.data,
        embedder,
        tried if changes else None,
        packs=arguments.home if reads_along else None,
        observe=arguments.observe,
        presets=arguments.presets,
    )
    for part, rows in found["tables"].items():
        show(f"LoCoMo, turn evidence recall, {embedder.identity.name}: {part}", rows)
    print(f"\nWritten to {keep('locomo', found, path=arguments.json)}")


if __name__ == "__main__":
    main()
