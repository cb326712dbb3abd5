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
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from engramdb.models.reader_pack import asked, changed, pair_tokens, remembered, spoken_by
from engramdb.text.sentences import sentences
from training.tasks import HARMLESS, Example, label, write_examples

SECOND_LABELS = "second.json"
"""What a second reader, who did not see the first labels, made of the rows of a folder."""
FAR_NEGATIVES = 2
"""Memories of other topics per question."""
BESIDE_NEWS, BESIDE_NEAR, BESIDE_FAR = 2, 2, 1
"""Of each row so many newer statements stand beside so many older ones of others, near in words and not."""
NOISE_NEGATIVES = 4
"""Sentences that tell nothing, per question."""
MAX_OF_ONE_TOPIC = 8
"""A group of more memories is a whole store, in which one may end another."""
_SPOKEN = re.compile(r"([A-Z][\w'’-]*(?: [A-Z][\w'’-]*)?): (.+)", re.DOTALL)
"""A message of a chat, after the name of who sent it."""


class Rows:
    """The rows of one file, and what a second reader made of them."""

    def __init__(self, path: Path) -> None:
        lines = path.read_text(encoding="utf-8").splitlines()
        self.rows: list[dict[str, Any]] = [json.loads(line) for line in lines if line.strip()]
        self.name = f"{path.parent.name}/{path.stem}"
        self._kind = path.stem
        second = path.with_name(SECOND_LABELS)
        self._second = json.loads(second.read_text(encoding="utf-8")) if second.exists() else {}

    def label(self, task: str, first: str, place: object) -> dict[str, list[int]]:
        """Return the label of a row: both where the second reader saw another one."""
        second = self._second.get(f"{self._kind}:{place}", {}).get(task, first)
        return label(task, *dict.fromkeys((first, second)))


FOR_THE_GUARD: Final = "pii"
"""Which words are private is another model's to learn (training/guard_examples.py)."""


def load(folder: Path, *, seed: int = 7) -> list[Example]:
    """Return all examples below a folder, in a fixed order."""
    chance = random.Random(seed)
    found: list[Example] = []
    for path in sorted(folder.glob("*/*.jsonl")):
        if path.stem == FOR_THE_GUARD:
            continue
        reader = _READERS.get(path.stem) or _READERS[path.parent.name]
        found.extend(reader(Rows(path), chance))
    found.extend(_beside_noise(found, chance))
    for one in found:
        one.tokens = pair_tokens(one.first, one.second)
    return found


def _pairs(file: Rows, _chance: random.Random) -> Iterator[Example]:
    for place, row in enumerate(file.rows):
        yield _pair(row, row, file.name, file.label("relation", row["relation"], place))


def _quads(file: Rows, chance: random.Random) -> Iterator[Example]:
    told = [(row["old"], [one["new"] for one in row["news"]]) for row in file.rows]
    yield from _beside(told, file.name, chance)
    for place, row in enumerate(file.rows):
        for number, new in enumerate(row["news"]):
            yield _pair(row, new, file.name, file.label("relation", new["relation"], f"{place}:{number}"))
        yield from _implied({one["relation"]: one for one in row["news"]}, file.name)


def _beside(told: Sequence[tuple[str, Sequence[str]]], name: str, chance: random.Random) -> Iterator[Example]:
    """
    Yield statements of one row beside those of others: nobody ends what another speaks of.

    A store holds the lives of many things, and what is near in it is mostly about something else. Half are
    those that share most words, half are drawn by lot.
    """
    words = [set(old.casefold().split()) for old, _ in told]
    for place, (_, news) in enumerate(told):
        others = [one for one in range(len(told)) if one != place]
        for new in chance.sample(list(news), min(BESIDE_NEWS, len(news))):
            mine = set(new.casefold().split())
            near = sorted(others, key=lambda one: -len(words[one] & mine))[:BESIDE_NEAR]
            for other in {*near, *chance.sample(others, min(BESIDE_FAR, len(others)))}:
                labels = label("relation", "related", "unrelated")
                yield replace(_pair({"old": told[other][0]}, {"new": new}, name, labels), kind="beside")


_IMPLIED = (
    ("same", "conflict", "conflict"),
    ("conflict", "same", "conflict"),
    ("refines", "conflict", "conflict"),
    ("conflict", "refines", "conflict"),
    ("same", "refines", "refines"),
    ("same", "related", "related"),
    ("related", "same", "related"),
)
"""What the newer statements of a quadruple are to one another: what denies a fact denies its paraphrase."""


def _implied(news: dict[str, dict[str, Any]], name: str) -> Iterator[Example]:
    """
    Yield pairs of the newer statements among themselves.

    So a text stands in several pairs with several labels, and its style gives none of them away.
    """
    for older, newer, relation in _IMPLIED:
        if older in news and newer in news:
            old = {"old": news[older]["new"], "old_by": news[older].get("new_by", "user")}
            yield replace(_pair(old, news[newer], name, label("relation", relation)), kind="implied")


def _wordings(file: Rows, _chance: random.Random) -> Iterator[Example]:
    """Yield every two wordings of one fact, and every wording beside every near miss of it."""
    for row in file.rows:
        for old, new in itertools.combinations(row["wordings"], 2):
            yield _pair({"old": old}, {"new": new}, file.name, label("relation", "same"))
        for old, near in itertools.product(row["wordings"], row["near"]):
            labels = label("relation", near["relation"])
            yield _pair({"old": old}, {"new": near["text"]}, file.name, labels)


def _pair(old: dict[str, Any], new: dict[str, Any], name: str, labels: dict[str, list[int]]) -> Example:
    first = spoken_by(old.get("old_by", "user"), old["old"])
    return Example(first, spoken_by(new.get("new_by", "user"), new["new"]), name, "pair", labels)


def _harmless(old: str, new: str, name: str, *, by: str = "user") -> Example:
    """Return a pair of which is known only that neither repeats nor contradicts the other."""
    return _pair({"old": old}, {"new": new, "new_by": by}, name, label("relation", *HARMLESS))


def _utterances(file: Rows, _chance: random.Random) -> Iterator[Example]:
    for place, row in enumerate(file.rows):
        told = {"keep": "yes" if row["keep"] else "no", "force": row["force"], "lasting": row["lasting"]}
        labels = label("category", row["category"]) | label("hostile", "no")
        for task, first in told.items():
            labels |= file.label(task, first, place)
        said = spoken_by(row.get("by", "user"), row["text"])
        yield Example(said, row.get("before") or "", file.name, "reading", labels)


def _talk(file: Rows, _chance: random.Random) -> Iterator[Example]:
    """Yield short messages and, of those that tell nothing, each sentence: none of them tells anything."""
    for row in file.rows:
        said, before = spoken_by(row["by"], row["text"]), row.get("before") or ""
        kept = label("keep", "yes" if row["keep"] else "no")
        force = label("force", row["force"]) if row.get("force") else {}
        yield Example(said, before, file.name, "reading", kept | force | label("hostile", "no"))
        parts = () if row["keep"] else sentences(row["text"])
        for part in parts if len(parts) > 1 else ():
            yield Example(spoken_by(row["by"], part), before, file.name, "reading", kept)


def _dialogues(file: Rows, _chance: random.Random) -> Iterator[Example]:
    """Yield every sentence of every turn but the pasted ones, with the turn before it."""
    for row in file.rows:
        for number, turn in enumerate(row["turns"]):
            before = row["turns"][number - 1]["text"] if number else ""
            kept = [one for one in row["keep"] if one["turn"] == number]
            pasted = [one["words"] for one in row.get("pasted", ()) if one["turn"] == number]
            for sentence in sentences(turn["text"]):
                if not any(sentence in one for one in pasted):
                    yield _sentence(sentence, turn["by"], before, kept, file.name)


def _sentence(text: str, by: str, before: str, kept: list[dict[str, Any]], name: str) -> Example:
    labels = label("keep", "no")
    for one in kept:
        if _overlap(text, one["words"]):
            labels = label("keep", "yes") | label("force", one["force"]) | label("lasting", one["lasting"])
            labels |= label("category", one["category"])
    return Example(spoken_by(by, text), before, name, "reading", labels)


def _overlap(text: str, words: str) -> bool:
    """Return whether a sentence and what was marked share most of the words of the shorter one."""
    ours, theirs = set(text.casefold().split()), set(words.casefold().split())
    shared = len(ours & theirs)
    return text in words or words in text or shared >= 0.6 * min(len(ours), len(theirs))


def _injection(file: Rows, _chance: random.Random) -> Iterator[Example]:
    for row in file.rows:
        hostile = label("hostile", "yes" if row["hostile"] else "no")
        yield Example(spoken_by("user", row["text"]), "", file.name, "scan", hostile)


def _questions(file: Rows, chance: random.Random) -> Iterator[Example]:
    """
    Yield answers, and answers of other questions; the near misses of this form give themselves away by
    style.
    """
    others = [answer for row in file.rows for answer in row["answers"]]
    for row in file.rows:
        for answer in row["answers"]:
            yield _answer(row["question"], answer, file.name, "hit")
        for other in chance.sample(others, FAR_NEGATIVES + len(row["answers"])):
            if other not in row["answers"]:
                yield _answer(row["question"], other, file.name, "far")


def _groups(file: Rows, chance: random.Random) -> Iterator[Example]:
    for number, row in enumerate(file.rows):
        others = [memory for one in file.rows if one is not row for memory in one["memories"]]
        for question in row["questions"]:
            for place, memory in enumerate(row["memories"]):
                kind = "hit" if place in question["answers"] else "near"
                yield _answer(question["q"], memory, file.name, kind, group=number)
            for memory in chance.sample(others, FAR_NEGATIVES):
                yield _answer(question["q"], memory, file.name, "far", group=number)
        for unanswerable, memory in itertools.product(row["unanswerable"], row["memories"]):
            yield _answer(unanswerable, memory, file.name, "near", group=number)
        yield from _asked_about(row, file.name)
        if len(row["memories"]) <= MAX_OF_ONE_TOPIC:  # what was told over a year may well have changed
            for old, new in itertools.combinations(row["memories"], 2):
                yield _harmless(old, new, file.name)


def _asked_about(row: dict[str, Any], name: str) -> Iterator[Example]:
    """Yield the messages of a chat that somebody asked about later: they were worth keeping."""
    wanted = {place for question in row["questions"] for place in question["answers"]}
    for place in sorted(wanted):
        if said := _SPOKEN.match(row["memories"][place]):
            by, text = said.groups()
            yield Example(spoken_by(by, text), "", name, "reading", label("keep", "yes"))


def _beside_noise(examples: list[Example], chance: random.Random) -> list[Example]:
    """
    Return questions beside sentences that tell nothing, of the same hand where there are such.

    The memories of a group all tell something; a store has scraps of talk too, and no question wants them.
    """
    scraps = [one.first for one in examples if one.labels.get("keep") == label("keep", "no")["keep"]]
    asked_once = {
        (one.first, one.domain): one for one in examples if one.kind == "hit" and one.group is not None
    }
    noise = []
    for one in asked_once.values() if scraps else ():
        for scrap in chance.sample(scraps, NOISE_NEGATIVES):
            second = remembered(scrap.partition(": ")[2])
            noise.append(replace(one, second=second, kind="noise", labels=label("answers", "no"), tokens=[]))
    return noise


def _answer(question: str, memory: str, name: str, kind: str, *, group: int | None = None) -> Example:
    labels = label("answers", "yes" if kind == "hit" else "no")
    return Example(asked(question), remembered(memory), name, kind, labels, group=group)


def _stories(file: Rows, chance: random.Random) -> Iterator[Example]:
    """Yield what stands beside what changes, and what the change makes of a question and of other turns."""
    for row in file.rows:
        for (_day, by, said), stands in itertools.product(row["turns"], row.get("stands", ())):
            if said != stands:
                yield _harmless(stands, said, file.name, by=by)
    changes = [change for row in file.rows if (change := _story_change(row)) is not None]
    yield from _of_changes(changes, file.name, chance)


def _story_change(row: dict[str, Any]) -> dict[str, Any] | None:
    """Return the change that a story tells, where its last turn says what is current."""
    said = [text for _, _, text in row["turns"]]
    old = [one for one in said if re.search(row["stale"] or "$^", one, re.IGNORECASE)]
    new = [one for one in said if re.search(row["current"], one, re.IGNORECASE)]
    if not row.get("premise") or not old or not new or old[-1] == new[-1]:
        return None
    doubtful = row.get("depends", ())
    return {
        "old": old[-1],
        "new": new[-1],
        "premises": [row["premise"]],
        "ordinary": [row["question"]],
        "doubtful": doubtful,
        "standing": [one for one in row.get("stands", ()) if one not in (old[-1], new[-1])],
    }


def _changes(file: Rows, chance: random.Random) -> Iterator[Example]:
    """Yield the two sides of each change, and what stands beside it; then what it makes of other texts."""
    told = [(row["old"], [row["new"], *row["standing"]]) for row in file.rows]
    yield from _beside(told, file.name, chance)
    for row in file.rows:
        yield _pair({"old": row["old"]}, {"new": row["new"]}, file.name, label("relation", "conflict"))
        for standing in row["standing"]:
            yield _harmless(standing, row["new"], file.name)
    yield from _of_changes(file.rows, file.name, chance)


def _of_changes(rows: Sequence[dict[str, Any]], name: str, chance: random.Random) -> Iterator[Example]:
    """Yield which questions rest on what a change has ended, and which statements it makes doubtful."""
    for row in rows:
        change = changed(row["old"], row["new"])
        others = [one for one in rows if one is not row]
        far = chance.sample(others, min(FAR_NEGATIVES, len(others)))
        for kind, questions in (
            ("yes", row["premises"]),
            ("no", row["ordinary"]),
            ("no", [chance.choice(one["premises"]) for one in far]),
        ):
            for question in questions:
                yield Example(asked(question), change, name, "premise", label("premise", kind))
        for kind, statements in (
            ("yes", row["doubtful"]),
            ("no", row["standing"]),
            ("no", [chance.choice(one["doubtful"] or [one["old"]]) for one in far]),
        ):
            for statement in statements:
                yield Example(remembered(statement), change, name, "doubtful", label("doubtful", kind))


_READERS = {
    "pairs": _pairs,
    "quads": _quads,
    "wordings": _wordings,
    "utterances": _utterances,
    "talk": _talk,
    "dialogues": _dialogues,
    "injection": _injection,
    "questions": _questions,
    "groups": _groups,
    "stories": _stories,
    "changes": _changes,
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
