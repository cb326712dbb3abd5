"""
Evidence recall on LongMemEval: does `recall` find the sessions and turns that answer each question?

    python -m evals.longmemeval --data FILE [--embedder e5-small] [--way observe] [--limit 50] [--resume FILE]

FILE is your own copy, a JSON list of questions with their haystacks. It is read one question at a time and
never copied. Each question has a store of its own, filled session by session in the order of their dates and
asked at the date of the question. `remember` stores every turn as a memory; `observe` tells the turns to an
agent that remembers, as its users do, and counts what `recall` adds from the conversation after the memories.
Sessions are ranked by their best hit. Beside it, in the same run: every turn by the embedder alone, and BM25
over whole sessions. Questions without an answer ("_abs" in the id) have no evidence to find; of them is told
whether `quality.is_known` says so. With `--resume` each answer is appended to that file, and those in it are
not asked again. Turns that the store refuses, as those that read like an attack on the agent, are counted.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import Counter, defaultdict
from datetime import UTC, datetime
from itertools import groupby, islice
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from msgspec import Struct

from engramdb import Draft, Engram, EngramError, Settings, Source
from engramdb.importing.json_stream import RawObject, raw_objects
from engramdb.models.registry import open_embedder
from engramdb.testing import ManualClock
from engramdb.text.sentences import sentences
from engramdb.text.terms import query_terms, terms
from engramdb.values import Provenance
from evals.locomo import MODELS, turns_by_memory
from evals.ranking import bm25, distinct, share_found, share_of_distinct
from evals.report import keep, show

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from engramdb import Memory
    from engramdb.models.embedder import Embedder

WAYS = ("remember", "observe")
CUTS = (5, 10)
HITS = 100
"""How many hits are asked for: enough for ten different sessions."""
MAX_PIECE_CHARACTERS = 2_000
"""A memory holds 8,192 bytes, and a character takes four at most."""
MEANING, WORDS = "turns by meaning alone", "BM25 over sessions"


class Turn(Struct, frozen=True):
    """One message of a session, by its place: session id and number."""

    id: str
    session: str
    role: str
    text: str
    at: datetime


class Question(Struct, frozen=True):
    """A question with its haystack, and the sessions and turns that answer it."""

    id: str
    type: str
    text: str
    at: datetime
    turns: tuple[Turn, ...]
    sessions: frozenset[str]
    evidence: frozenset[str]

    @property
    def is_abstention(self) -> bool:
        """Whether the haystack does not answer it."""
        return "_abs" in self.id


class Found(Struct, frozen=True):
    """How much of a question's evidence one way finds: shares of sessions and turns by cut."""

    sessions: dict[int, float]
    turns: dict[int, float]


class Answer(Struct, frozen=True):
    """What became of one question; a line of the file that is resumed from."""

    question: str
    type: str
    way: str
    embedder: str
    is_abstention: bool
    is_known: bool
    found: dict[str, Found]
    refused: int
    cpu_seconds: float


def read(path: Path) -> Iterator[Question]:
    """Yield the questions of a file, one at a time."""
    with path.open("rb") as stream:
        for one in raw_objects(stream):
            if not isinstance(one, RawObject):
                message = f"{path}: a question is cut off or too large"
                raise ValueError(message)  # noqa: TRY004 - the file is wrong, not the type
            yield _question(json.loads(one.content))


def _question(raw: dict[str, Any]) -> Question:
    told = zip(raw["haystack_session_ids"], raw["haystack_dates"], raw["haystack_sessions"], strict=True)
    dated = [(_moment(date), str(name), turns) for name, date, turns in told]
    numbered = [
        (Turn(f"{name}:{number}", name, one["role"], one["content"], at), bool(one.get("has_answer")))
        for at, name, turns in sorted(dated, key=itemgetter(0))
        for number, one in enumerate(turns)
        if one["content"].strip()
    ]
    return Question(
        id=str(raw["question_id"]),
        type=raw["question_type"],
        text=raw["question"],
        at=_moment(raw["question_date"]),
        turns=tuple(turn for turn, _ in numbered),
        sessions=frozenset(map(str, raw["answer_session_ids"])),
        evidence=frozenset(turn.id for turn, has_answer in numbered if has_answer),
    )


def _moment(date: str) -> datetime:
    return datetime.strptime(date, "%Y/%m/%d (%a) %H:%M").replace(tzinfo=UTC)


def ask(question: Question, way: str, embedder: Embedder, settings: Settings) -> Answer:
    """Fill a store with the haystack, ask the question, and ask the baselines too."""
    began = time.process_time()
    clock = ManualClock()
    with Engram.open(settings=settings, clock=clock, embedder=embedder, background=False) as engram:
        fill = _remembered if way == "remember" else _observed
        turns_of, refused = fill(engram, question.turns, clock)
        clock.set(question.at)
        answer = engram.recall(question.text, limit=HITS)
    ranked = [turns_of.get(hit.memory.id, set()) for hit in answer.hits]
    ranked += [turns_of[said.turn_id] for said in answer.said if said.turn_id in turns_of]
    spent = time.process_time() - began
    found = {}
    if not question.is_abstention:
        found = {
            f"engram, {way}": _found(question, ranked),
            MEANING: _found(question, by_meaning(question, embedder)),
            WORDS: _found_sessions(question, by_words(question)),
        }
    return Answer(
        question=question.id,
        type=question.type,
        way=way,
        embedder=embedder.identity.name,
        is_abstention=question.is_abstention,
        is_known=answer.quality.is_known,
        found=found,
        refused=refused,
        cpu_seconds=spent,
    )


def _remembered(engram: Engram, turns: Iterable[Turn], clock: ManualClock) -> tuple[dict[str, set[str]], int]:
    """Store every turn as it stands, a long one in pieces; return the turns of each memory."""
    turns_of: defaultdict[str, set[str]] = defaultdict(set)
    refused = 0
    for at, session in groupby(turns, key=attrgetter("at")):
        clock.set(at)
        drafts = [(turn.id, draft) for turn in session for draft in _drafts(turn)]
        memories = _stored(engram, [draft for _, draft in drafts])
        for (turn_id, _), memory in zip(drafts, memories, strict=True):
            if memory is None:
                refused += 1
            else:
                turns_of[memory.id].add(turn_id)
    engram.enrich()
    return turns_of, refused


def _stored(engram: Engram, drafts: Sequence[Draft]) -> list[Memory | None]:
    """Store a session, singly if something in it is refused; a refused draft gives None."""
    try:
        return list(engram.remember_many(drafts))
    except EngramError:
        if len(drafts) == 1:
            return [None]
        return [memory for draft in drafts for memory in _stored(engram, [draft])]


def _drafts(turn: Turn) -> Iterator[Draft]:
    made = Provenance(source=Source.INGEST, speaker=turn.role, session=turn.session)
    for piece in pieces(turn.text):
        yield Draft(content=piece, provenance=made, occurred_at=turn.at)


def _observed(engram: Engram, turns: Iterable[Turn], clock: ManualClock) -> tuple[dict[str, set[str]], int]:
    """Tell the turns; return the turns of each memory, and of each turn, which is its own."""
    names = {}
    for turn in turns:
        clock.set(turn.at)
        told = engram.observe(turn.text, role=turn.role, session=turn.session, occurred_at=turn.at)
        names[told.id] = turn.id
    engram.flush()
    engram.enrich()
    return turns_by_memory(engram, names) | {told: {name} for told, name in names.items()}, 0


def pieces(text: str) -> list[str]:
    """Return a turn whole, or cut between sentences where it is too long for a memory."""
    if len(text) <= MAX_PIECE_CHARACTERS:
        return [text]
    cut: list[str] = []
    for sentence in sentences(text):
        for start in range(0, len(sentence), MAX_PIECE_CHARACTERS):
            part = sentence[start : start + MAX_PIECE_CHARACTERS]
            if cut and len(cut[-1]) + len(part) < MAX_PIECE_CHARACTERS:
                cut[-1] += f" {part}"
            else:
                cut.append(part)
    return cut


def by_meaning(question: Question, embedder: Embedder) -> list[set[str]]:
    """Return the turns by the embedder alone, best first."""
    texts = [turn.text for turn in question.turns]
    vectors = np.concatenate(
        [
            embedder.embed_documents(texts[start : start + embedder.batch])
            for start in range(0, len(texts), embedder.batch)
        ]
    )
    order = np.argsort(-(vectors @ embedder.embed_queries([question.text])[0]), kind="stable")
    return [{question.turns[place].id} for place in order]


def by_words(question: Question) -> list[str]:
    """Return the sessions by BM25, best first."""
    texts: defaultdict[str, list[str]] = defaultdict(list)
    for turn in question.turns:
        texts[turn.session].append(turn.text)
    counts = [Counter(terms("\n".join(told))) for told in texts.values()]
    (scores,) = bm25(counts, [query_terms(question.text)])
    names = list(texts)
    return [names[place] for place in np.argsort(-scores, kind="stable")]


def _found(question: Question, ranked: Sequence[set[str]]) -> Found:
    session_of = {turn.id: turn.session for turn in question.turns}
    sessions = distinct({session_of[turn] for turn in turns} for turns in ranked)
    turns = {cut: share_found(ranked, question.evidence, cut) for cut in CUTS if question.evidence}
    return msgspec.structs.replace(_found_sessions(question, sessions), turns=turns)


def _found_sessions(question: Question, sessions: Sequence[str]) -> Found:
    ranked = [{one} for one in sessions]
    return Found({cut: share_of_distinct(ranked, question.sessions, cut) for cut in CUTS}, {})


def row(label: str, found: Sequence[Found]) -> dict[str, Any]:
    """Return one row of a table: any session, every session, and the share of turns."""
    asked = max(1, len(found))
    whole = {f"any@{cut}": sum(one.sessions[cut] > 0 for one in found) / asked for cut in CUTS}
    whole |= {f"all@{cut}": sum(one.sessions[cut] == 1 for one in found) / asked for cut in CUTS}
    told = [one.turns for one in found if one.turns]
    turns = {f"turn R@{cut}": sum(one[cut] for one in told) / len(told) for cut in CUTS} if told else {}
    return {"": label, "questions": len(found), **whole, **turns}


def tables(answers: Sequence[Answer]) -> dict[str, list[dict[str, Any]]]:
    """Return a table for all questions, one for each type, and one for what is not known."""
    answered = [one for one in answers if not one.is_abstention]
    ways = list(dict.fromkeys(name for one in answered for name in one.found))
    parts: dict[str, list[Answer]] = {"all": answered}
    for one in answered:
        parts.setdefault(one.type, []).append(one)
    found = {
        part: [row(name, [one.found[name] for one in asked if name in one.found]) for name in ways]
        for part, asked in parts.items()
    }
    kinds = {"answerable": answered, "not answerable": [one for one in answers if one.is_abstention]}
    found["told by quality.is_known"] = [
        {"": kind, "questions": len(asked), "called not known": sum(not one.is_known for one in asked)}
        for kind, asked in kinds.items()
    ]
    return found


def earlier_answers(path: Path | None, way: str, embedder: str) -> dict[str, Answer]:
    """Return the answers in a file that were given in this way."""
    if path is None or not path.exists():
        return {}
    lines = path.read_bytes().splitlines()
    answers = (msgspec.json.decode(line, type=Answer) for line in lines)
    return {one.question: one for one in answers if one.way == way and one.embedder == embedder}


def measure(
    path: Path,
    way: str,
    embedder: Embedder,
    *,
    home: Path,
    limit: int | None = None,
    resume: Path | None = None,
) -> list[Answer]:
    """Return the answer to each question, after those that stand in the file to resume from."""
    known, answers = earlier_answers(resume, way, embedder.identity.name), []
    for number, question in enumerate(islice(read(path), limit), start=1):
        answer = known.get(question.id)
        if answer is None:
            with tempfile.TemporaryDirectory() as folder:
                if (home / MODELS).exists():
                    (Path(folder) / MODELS).symlink_to((home / MODELS).resolve())
                settings = Settings(home=Path(folder), durability="relaxed")
                answer = ask(question, way, embedder, settings)
            if resume is not None:
                with resume.open("ab") as lines:
                    lines.write(msgspec.json.encode(answer) + b"\n")
        answers.append(answer)
        print(f"{number}: {answer.type}, {answer.cpu_seconds:.1f} s of CPU", flush=True)
    return answers


def main() -> None:
    """Measure, print the tables and keep the JSON."""
    parser = argparse.ArgumentParser(prog="python -m evals.longmemeval", description=__doc__.split("\n")[1])
    parser.add_argument("--data", type=Path, required=True, help="a file of LongMemEval's form")
    parser.add_argument("--embedder", default="auto", help="auto, static or e5-small")
    parser.add_argument("--way", choices=WAYS, default="remember", help="store every turn, or tell them")
    parser.add_argument("--limit", type=int, help="ask only the first questions")
    parser.add_argument("--home", type=Path, default=Settings.load().home, help="folder with the model packs")
    parser.add_argument("--resume", type=Path, help="append answers to this file and skip those in it")
    parser.add_argument("--json", type=Path, help="where to write the numbers")
    arguments = parser.parse_args()
    embedder = open_embedder(arguments.embedder, arguments.home)
    answers = measure(
        arguments.data,
        arguments.way,
        embedder,
        home=arguments.home,
        limit=arguments.limit,
        resume=arguments.resume,
    )
    found = tables(answers)
    for part, rows in found.items():
        show(f"LongMemEval, {arguments.way}, {embedder.identity.name}: {part}", rows)
    refused = sum(one.refused for one in answers)
    print(f"\n{refused} turns or parts of turns were refused.")
    print(f"Written to {keep('longmemeval', {'tables': found, 'refused': refused}, path=arguments.json)}")


if __name__ == "__main__":
    main()
