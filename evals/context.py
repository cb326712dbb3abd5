"""
Is what a question needs in the window? Evidence on LoCoMo at several budgets, against two simple ways.

    python -m evals.context --data FILE [--embedder static] [--only conv-26 …] [--every 3] [--try NAME=VALUE]

Every turn of a conversation is a memory, as in `evals.locomo`. For every question a window of 500, 2,000,
8,000 and 32,000 tokens is built and the turns that answer it are looked for in it: *whole* in all words,
*words* as the share of their telling words that is left of them, and *answer* as the share of the words of
the right answer that its memories, dates and speakers hold. Beside it: the last messages that fit, and the
best hits that fit, whole, each with its date and speaker. All of it is counted by the exact tokenizer.
Conversations 42 and 43 were kept out of every choice and are reported apart.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from engramdb import Engram, Settings
from engramdb.models.capabilities import exact_counter
from engramdb.models.registry import open_embedder
from engramdb.testing import ManualClock
from engramdb.text.terms import terms
from engramdb.values import DetailLevel
from evals.locomo import RememberingEmbedder, read
from evals.report import keep, show

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from engramdb.models.capabilities import TokenCounter
    from engramdb.models.embedder import Embedder
    from engramdb.values import Memory, Recall, Window
    from evals.locomo import Conversation, Question

BUDGETS = (500, 2_000, 8_000, 32_000)
HELD_OUT = ("conv-42", "conv-43")
MOST_HITS = 1000
WAYS = ("window", "top-k", "last")


@dataclass(frozen=True, slots=True)
class Score:
    """How much of what one question needs one way of filling has in it."""

    way: str
    budget: int
    is_held_out: bool
    whole: float
    words: float
    answer: float
    memories: int
    tokens: int
    milliseconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Shelf:
    """What a way of filling put in: the words that are left of each memory, by its id."""

    shown: dict[str, str]
    tokens: int


def of_window(window: Window, memories: dict[str, Memory], counter: TokenCounter) -> Shelf:
    """Return what a window holds."""
    shown = {held.memory_id: _at(memories[held.memory_id], held.level) for held in window.holds}
    parts = (window.standing, window.conversation, window.present)
    return Shelf(shown, sum(counter.count(part) for part in parts))


def of_lines(memories: Iterable[Memory], budget: int, counter: TokenCounter) -> Shelf:
    """Return the memories that fit, one after the other until one does not, each with date and speaker."""
    used, shown = 0, {}
    for memory in memories:
        line = f"- [{memory.when:%Y-%m-%d}] {memory.provenance.speaker}: {memory.content}"
        cost = counter.count(f"{line}\n")
        if used + cost > budget:
            break
        used += cost
        shown[memory.id] = memory.content
    return Shelf(shown, used)


def _at(memory: Memory, level: DetailLevel) -> str:
    detail = memory.detail
    words = {
        DetailLevel.FULL: memory.content,
        DetailLevel.SUMMARY: detail.summary,
        DetailLevel.KEY_FACT: detail.key_fact,
        DetailLevel.TAG: detail.tag,
    }
    return words[level] or memory.content


def ask_all(
    conversation: Conversation,
    answers: dict[str, str],
    embedder: Embedder,
    folder: Path,
    changed: dict[str, Any],
) -> list[Score]:
    """Store the conversation and fill every budget for every question in every way."""
    settings = Settings(home=folder, durability="relaxed", overrides={"context": changed})
    counter, scores = exact_counter("o200k"), []
    path = folder / f"{conversation.name}.db"
    clock = ManualClock()
    with Engram.open(path, settings=settings, clock=clock, embedder=embedder, background=False) as engram:
        stored = engram.remember_many(conversation.drafts.values())
        engram.enrich()
        clock.advance(days=30)  # nothing of it was stored today
        memories = {
            memory.id: engram.get(memory.id) for memory in stored
        }  # with the levels that enriching made
        place: defaultdict[str, set[str]] = defaultdict(set)  # the same words said twice are one memory
        for turn_id, memory in zip(conversation.drafts, stored, strict=True):
            place[turn_id].add(memory.id)
        for question in conversation.questions:
            scores += _asked(
                engram,
                question,
                answers=answers,
                memories=memories,
                place=place,
                counter=counter,
                name=conversation.name,
            )
    return scores


def _asked(
    engram: Engram,
    question: Question,
    *,
    answers: dict[str, str],
    memories: dict[str, Memory],
    place: dict[str, set[str]],
    counter: TokenCounter,
    name: str,
) -> list[Score]:
    found = engram.recall(question.text, limit=MOST_HITS)

    def again(limit: int) -> Recall:
        return msgspec.structs.replace(found, hits=found.hits[:limit])

    scores = []
    for budget in BUDGETS:
        began = time.perf_counter()
        window = engram.context(question.text, budget=budget, recalled=again, counter=counter)
        spent = (time.perf_counter() - began) * 1000
        shelves = {
            "window": of_window(window, memories, counter),
            "top-k": of_lines((hit.memory for hit in found.hits), budget, counter),
            "last": of_lines(reversed(memories.values()), budget, counter),
        }
        for way, shelf in shelves.items():
            assert shelf.tokens <= budget, (way, shelf.tokens, budget)  # noqa: S101
            whole, words = _evidence(question, shelf, memories, place)
            score = Score(
                way,
                budget,
                name in HELD_OUT,
                whole,
                words,
                _answered(answers[question.text], shelf, memories),
                len(shelf.shown),
                shelf.tokens,
                spent if way == "window" else 0.0,
            )
            scores.append(score)
    return scores


def _evidence(
    question: Question, shelf: Shelf, memories: dict[str, Memory], place: dict[str, set[str]]
) -> tuple[float, float]:
    """Return the share of evidence that is there in all its words, and the share of its words."""
    whole = words = 0.0
    for turn_id in question.evidence:
        (memory_id,) = place[turn_id]
        left = shelf.shown.get(memory_id)
        if left is None:
            continue
        said = _words(memories[memory_id].content)
        kept = len(said & _words(left)) / len(said) if said else 1.0
        whole += kept == 1.0
        words += kept
    return whole / len(question.evidence), words / len(question.evidence)


def _answered(answer: str, shelf: Shelf, memories: dict[str, Memory]) -> float:
    """Return the share of the answer's words that the window's memories, their dates and speakers hold."""
    wanted = set(terms(answer))
    found: set[str] = set()
    for memory_id, words in shelf.shown.items():
        memory = memories[memory_id]
        found |= _words(f"{memory.when.day} {memory.when:%B %Y} {memory.provenance.speaker}") | _words(words)
    return len(wanted & found) / len(wanted) if wanted else 1.0


@lru_cache(maxsize=100_000)
def _words(text: str) -> frozenset[str]:
    return frozenset(terms(text))


def _row(way: str, scores: Sequence[Score]) -> dict[str, Any]:
    row: dict[str, Any] = {"": way}
    for budget in BUDGETS:
        some = [one for one in scores if one.way == way and one.budget == budget]
        for name in ("whole", "words", "answer"):
            row[f"{name} {budget}"] = sum(getattr(one, name) for one in some) / max(1, len(some))
        row[f"memories {budget}"] = round(sum(one.memories for one in some) / max(1, len(some)))
    return row


def read_answers(path: Path) -> dict[str, str]:
    """Return the right answers by question."""
    return {
        asked["question"]: str(asked.get("answer", ""))
        for one in json.loads(path.read_text())
        for asked in one["qa"]
    }


def measure(
    path: Path, embedder: Embedder, changed: dict[str, Any], only: Sequence[str], *, every: int = 1
) -> dict[str, Any]:
    """Return the tables for all conversations and for those that were kept out."""
    answers = read_answers(path)
    remembering = RememberingEmbedder(embedder)
    scores: list[Score] = []
    with tempfile.TemporaryDirectory() as folder:
        for conversation in read(path):
            if not only or conversation.name in only:
                some = replace(conversation, questions=conversation.questions[::every])
                scores += ask_all(some, answers, remembering, Path(folder), changed)
    parts = {
        "tuned on": [one for one in scores if not one.is_held_out],
        "held out": [one for one in scores if one.is_held_out],
    }
    return {
        "embedder": str(embedder.identity),
        "changed": changed,
        "questions": len(scores) // (len(BUDGETS) * len(WAYS)),
        "milliseconds": _middle([one.milliseconds for one in scores if one.way == "window"]),
        "tables": {part: [_row(way, some) for way in WAYS] for part, some in parts.items() if some},
    }


def _middle(numbers: Sequence[float]) -> float:
    return sorted(numbers)[len(numbers) // 2] if numbers else 0.0


def main() -> None:
    """Measure, print the tables and keep the JSON."""
    parser = argparse.ArgumentParser(prog="python -m evals.context", description=__doc__.split("\n")[1])
    parser.add_argument("--data", type=Path, required=True, help="a file of LoCoMo's form")
    parser.add_argument("--embedder", default="static", help="auto, static or e5-small")
    parser.add_argument("--home", type=Path, default=Settings.load().home, help="folder with the model packs")
    parser.add_argument("--only", nargs="*", default=[], help="names of conversations, such as conv-26")
    parser.add_argument("--every", type=int, default=1, help="ask every so-manieth question only")
    parser.add_argument("--json", type=Path, help="where to write the numbers")
    parser.add_argument("--try", dest="tried", nargs="*", default=[], metavar="NAME=VALUE")
    arguments = parser.parse_args()
    changed = {name: json.loads(text) for name, text in (one.split("=", 1) for one in arguments.tried)}
    embedder = open_embedder(arguments.embedder, arguments.home)
    found = measure(arguments.data, embedder, changed, arguments.only, every=arguments.every)
    for part, rows in found["tables"].items():
        show(f"LoCoMo, what a window holds, {embedder.identity.name}: {part}", rows)
    print(f"\n{found['questions']} questions, {found['milliseconds']:.1f} ms a window beside recall")
    print(f"Written to {keep('context', found, path=arguments.json)}")


if __name__ == "__main__":
    main()
