"""
Read the labelled files into examples: token ids, and for each task a label, or a set of labels that it may
be.

    python -m training.examples --data training/data --out examples.jsonl

A file is named by its folder (the domain) and its kind. Text goes in as a user would have typed it, with
the speaker before it; a second text follows after a separator. What one example does not say about a task
is left out of that task's loss.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from engramdb.models.wordpiece import bert_uncased
from engramdb.text.sentences import sentences
from training.tasks import HARMLESS, Example, label, write_examples

MAX_TOKENS = 160
"""Of one example; longer texts are cut in the middle of the first one."""
FAR_NEGATIVES = 2
"""Memories of other topics per question."""


def encode(first: str, second: str) -> list[int]:
    """Return the ids of one or two texts, cut to `MAX_TOKENS`."""
    pieces = bert_uncased()
    ids = [
        [piece for word in pieces.words(text) for piece in pieces.pieces(word)] for text in (first, second)
    ]
    room = MAX_TOKENS - 3
    if len(ids[0]) + len(ids[1]) > room:
        share = max(room // 2, room - len(ids[1]))
        ids[0] = ids[0][:share]
        ids[1] = ids[1][: room - len(ids[0])]
    tail = [*ids[1], pieces.end] if second else []
    return [pieces.start, *ids[0], pieces.end, *tail]


def load(folder: Path, *, seed: int = 7) -> list[Example]:
    """Return all examples below a folder, in a fixed order."""
    chance = random.Random(seed)
    found: list[Example] = []
    for path in sorted(folder.glob("*/*.jsonl")):
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        name = f"{path.parent.name}/{path.stem}"
        reader = _READERS.get(path.stem) or _READERS[path.parent.name]
        found.extend(reader(rows, name, chance))
    for one in found:
        one.tokens = encode(one.first, one.second)
    return found


def said(by: str | None, text: str) -> str:
    """Return a text with its speaker before it."""
    return f"{by or 'user'}: {text}"


def _pairs(rows: list[dict[str, Any]], name: str, _chance: random.Random) -> Iterator[Example]:
    for row in rows:
        yield _pair(row["old"], row.get("old_by"), row["new"], row.get("new_by"), name, row["relation"])


def _quads(rows: list[dict[str, Any]], name: str, _chance: random.Random) -> Iterator[Example]:
    for row, new in ((one, new) for one in rows for new in one["news"]):
        yield _pair(row["old"], row.get("old_by"), new["new"], new.get("new_by"), name, new["relation"])


def _pair(old: str, old_by: str | None, new: str, new_by: str | None, name: str, *relations: str) -> Example:
    return Example(said(old_by, old), said(new_by, new), name, "pair", label("relation", *relations))


def _utterances(rows: list[dict[str, Any]], name: str, _chance: random.Random) -> Iterator[Example]:
    for row in rows:
        labels = label("keep", "yes" if row["keep"] else "no") | label("force", row["force"])
        labels |= (
            label("lasting", row["lasting"]) | label("category", row["category"]) | label("hostile", "no")
        )
        yield Example(said(row.get("by"), row["text"]), row.get("before") or "", name, "reading", labels)


def _dialogues(rows: list[dict[str, Any]], name: str, _chance: random.Random) -> Iterator[Example]:
    """Yield every sentence of every turn, with the turn before it."""
    for row in rows:
        for number, turn in enumerate(row["turns"]):
            before = row["turns"][number - 1]["text"] if number else ""
            kept = [one for one in row["keep"] if one["turn"] == number]
            for sentence in sentences(turn["text"]):
                yield _sentence(sentence, turn["by"], before, kept, name)


def _sentence(text: str, by: str, before: str, kept: list[dict[str, Any]], name: str) -> Example:
    labels = label("keep", "no")
    for one in kept:
        if _overlap(text, one["words"]):
            labels = label("keep", "yes") | label("force", one["force"]) | label("lasting", one["lasting"])
            labels |= label("category", one["category"])
    return Example(said(by, text), before, name, "reading", labels)


def _overlap(text: str, words: str) -> bool:
    """
    Whether a sentence holds at least half of what was marked, or the mark at least half of the
    sentence.
    """
    ours, theirs = set(text.casefold().split()), set(words.casefold().split())
    shared = len(ours & theirs)
    return text in words or words in text or shared >= 0.6 * min(len(ours), len(theirs))


def _injection(rows: list[dict[str, Any]], name: str, _chance: random.Random) -> Iterator[Example]:
    for row in rows:
        yield Example(
            said("user", row["text"]), "", name, "scan", label("hostile", "yes" if row["hostile"] else "no")
        )


def _questions(rows: list[dict[str, Any]], name: str, chance: random.Random) -> Iterator[Example]:
    """
    Yield answers, and answers of other questions; the near misses of this form give themselves away by
    style.
    """
    others = [answer for row in rows for answer in row["answers"]]
    for row in rows:
        for answer in row["answers"]:
            yield _answer(row["question"], answer, name, "yes")
        for other in chance.sample(others, FAR_NEGATIVES + len(row["answers"])):
            if other not in row["answers"]:
                yield _answer(row["question"], other, name, "no", kind="far")


def _groups(rows: list[dict[str, Any]], name: str, chance: random.Random) -> Iterator[Example]:
    for number, row in enumerate(rows):
        others = [memory for one in rows[:number] + rows[number + 1 :] for memory in one["memories"]]
        for asked in row["questions"]:
            for place, memory in enumerate(row["memories"]):
                right = place in asked["answers"]
                yield _answer(
                    asked["q"], memory, name, "yes" if right else "no", kind="near" if not right else "hit"
                )
            for memory in chance.sample(others, FAR_NEGATIVES):
                yield _answer(asked["q"], memory, name, "no", kind="far")
        for question, memory in itertools.product(row["unanswerable"], row["memories"]):
            yield _answer(question, memory, name, "no", kind="near")
        for old, new in itertools.combinations(row["memories"], 2):
            yield _pair(old, "user", new, "user", name, *HARMLESS)


def _answer(question: str, memory: str, name: str, right: str, *, kind: str = "hit") -> Example:
    return Example(f"question: {question}", f"memory: {memory}", name, kind, label("answers", right))


def _stories(rows: Iterable[dict[str, Any]], name: str, _chance: random.Random) -> Iterator[Example]:
    """Yield what stands beside what changes: no story says which of its turns contradict one another."""
    for row in rows:
        texts = [(by, text) for _day, by, text in row["turns"]]
        for (by, old), new in itertools.product(texts, row.get("stands", ())):
            if old != new:
                yield _pair(new, "user", old, by, name, *HARMLESS)


_READERS = {
    "pairs": _pairs,
    "quads": _quads,
    "utterances": _utterances,
    "dialogues": _dialogues,
    "injection": _injection,
    "questions": _questions,
    "groups": _groups,
    "stories": _stories,
}


def main() -> None:
    """Write all examples to a file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    write_examples(arguments.out, load(arguments.data))


if __name__ == "__main__":
    main()
