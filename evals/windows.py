"""
What a window gives: overviews, lines that fit, history word for word, and shorter forms that stay true.

    python -m evals.windows [--part overview tiny lines history shortened speed] [--embedder static]
                            [--half first|second] [--preset balanced …] [--milliseconds 100]

Measured through `engram.context` and the hooks, on text that was written blind (`abstention_data`,
`conversations/open`, `sessions/open*`, `period_data`), beside the best hits of a recall and the newest
memories, as many as fit into the same frame. What was chosen was chosen on the first half of the stores.

*overview*: of a store's questions, the share whose answer is in a window for "Give me an overview"; of many
stores in one, the share of their lives and projects that it has a line of, before and after a dream. Whose
life a memory is of was settled by the writer, and by no clustering of ours. *tiny*: in windows of up to 400
tokens over these stores after a dream, whether the tree is there, and whether the answer still is. *lines*:
what questions are given that are answered, nearly answered and unrelated. *history*: the messages that are
not in a window as they were said, though they would fit. *shortened*: the share of sentences that lose a
negation or a qualifier in a shorter form. *speed*: processor time of a window with every count of tokens
forgotten, and again. The write-up is docs/lab/0054-context.md.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from statistics import mean, median
from typing import Any, TypeAlias

from msgspec import Struct

from engramdb import Draft, Engram, Settings
from engramdb.context.lines import BLOCK, NOTICE, frame_block
from engramdb.hooks.respond import PROMPT_TOKENS, memory_block
from engramdb.models.capabilities import counter_for
from engramdb.policy import NAMES
from engramdb.testing import ManualClock
from engramdb.text import tokens
from engramdb.text.sentences import sentences
from engramdb.text.tokens import USUAL
from engramdb.values import DetailLevel, SectionName
from evals.abstention import questions, stores
from evals.made_up import Sentences
from evals.report import holds, keep, show

HERE = Path(__file__).parent
OVERVIEWS = (
    "Give me an overview",
    "what do you know about me?",
    "summarise the project",
    "where do things stand?",
    "Can you recap everything we have so far?",
    "fass mal zusammen, was du alles weißt",
)
BUDGETS = (150, 300, 600)
TINY_BUDGETS = (150, 300, 400)
LINES_BUDGET = 1_000
TOP = 5
DAYS_LATER = 3
TREE = "summary of "
LONG_REQUESTS = ("Please read the log. " * 60,) * 3
"""The last exchanges of a history, so long that those before them become lines."""
Columns: TypeAlias = defaultdict[str, defaultdict[str, list[float]]]
STANDING = tuple(name for name in SectionName if name.is_stable)
"""Shown whatever the message; told apart from what a message is given."""

QUALIFIERS = re.compile(
    r"\b(?:not|never|no|none|nobody|nothing|neither|nor|without|cannot|except|unless|until|only|"
    r"at least|at most|might|maybe|perhaps|probably|instead of|no longer|hardly|if)\b|\w+n['’]t\b|"
    r"\b\d+(?:[.,:]\d+)*\s?(?:%|€|euros?|k|kg|g|km|m|cm|mm|ms|s|sec\w*|min\w*|h|hours?|days?|weeks?|months?|years?|"
    r"GB|MB|KB|K|am|pm)(?!\w)",
    re.IGNORECASE,
)
"""What a shorter form must not lose."""


# Stores of memories that somebody else wrote.


@contextmanager
def opened(settings: Settings, memories: Sequence[str], *, dreams: bool = False) -> Iterator[Engram]:
    """Open a store that was told these memories some days ago, some minutes apart."""
    clock = ManualClock()
    with (
        tempfile.TemporaryDirectory() as folder,
        Engram.open(Path(folder) / "memory.db", settings=settings, clock=clock, background=False) as engram,
    ):
        begun = clock.now()
        drafts = [
            Draft(content=one, occurred_at=begun + timedelta(minutes=20 * place))
            for place, one in enumerate(memories)
        ]
        engram.remember_many(drafts)
        engram.enrich()
        clock.advance(days=DAYS_LATER)
        if dreams:
            engram.dream()
        yield engram


def mixed(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return the memories of several stores as one, in an order that mixes them."""
    told = [memory for row in rows for memory in row["memories"]]
    random.Random(17).shuffle(told)
    return told


def fitting_lines(memories: Iterable[str], budget: int) -> list[str]:
    """Return the baseline: memories in their order, a line each in the same frame, until one does not fit."""
    count, lines = counter_for(USUAL), list[str]()
    budget -= count.most(frame_block(" ", tag=BLOCK, notice=NOTICE))
    for one in memories:
        budget -= count.most(f"- {one}\n")
        if budget < 0:
            break
        lines.append(one)
    return lines


def ways(engram: Engram, prompt: str, budget: int) -> dict[str, list[str]]:
    """Return the lines of a window, and of the two simple ways to fill one."""
    window = engram.context(prompt, budget=budget)
    hits = engram.recall(prompt, limit=100).hits
    newest = engram.list(limit=100)
    return {
        "window": window.text.split("\n"),
        "best hits": fitting_lines((hit.memory.content for hit in hits), budget),
        "newest": fitting_lines((one.content for one in newest), budget),
    }


def answered(row: dict[str, Any], lines: Sequence[str]) -> float:
    """Return the share of a store's questions whose answer some line holds."""
    told = [
        any(holds(line, row["memories"][place]) for line in split(lines) for place in one["answers"])
        for one in row["answerable"]
    ]
    return mean(told)


def split(lines: Sequence[str]) -> list[str]:
    """Return lines, and each fact of a summary by itself: one memory must be told by one of them."""
    return [fact for line in lines for fact in (line.split("; ") if TREE in line else [line])]


def overview(rows: Sequence[dict[str, Any]], settings: Settings) -> list[dict[str, Any]]:
    """Return how much of what is known an overview holds."""
    found: Columns = defaultdict(lambda: defaultdict(list))
    for row in rows:
        with opened(settings, row["memories"]) as engram:
            for budget in BUDGETS:
                for prompt in OVERVIEWS:
                    for way, lines in ways(engram, prompt, budget).items():
                        found[way][f"answers {budget}"].append(answered(row, lines))
    for name, dreams in (("mixed", False), ("dreamt", True)):
        with opened(settings, mixed(rows), dreams=dreams) as engram:
            for budget in BUDGETS:
                for prompt in OVERVIEWS:
                    for way, lines in ways(engram, prompt, budget).items():
                        told = mean(is_told_of(row, split(lines)) for row in rows)
                        found[way][f"{name}: topics {budget}"].append(told)
    return means(found)


def is_told_of(row: dict[str, Any], lines: Sequence[str]) -> bool:
    """Return whether any line holds a memory of a store."""
    return any(holds(line, memory) for line in lines for memory in row["memories"])


def means(found: Columns) -> list[dict[str, Any]]:
    """Return a row for each way, with the mean of each column."""
    return [
        {"": way, **{name: mean(all_) for name, all_ in columns.items() if all_}}
        for way, columns in found.items()
    ]


def tiny(rows: Sequence[dict[str, Any]], settings: Settings) -> list[dict[str, Any]]:
    """Return what small windows hold for questions that are answered, and that are not."""
    found: Columns = defaultdict(lambda: defaultdict(list))
    with opened(settings, mixed(rows), dreams=True) as engram:
        for row in rows:
            for kind, question, answers in questions(row):
                for budget in TINY_BUDGETS:
                    for way, lines in ways(engram, question, budget).items():
                        if kind == "answerable":
                            is_told = any(holds(line, answer) for line in split(lines) for answer in answers)
                            found[way][f"answer {budget}"].append(is_told)
                        if way == "window" and kind != "near":
                            has_tree = any(TREE in line for line in lines)
                            found[way][f"{kind}: tree {budget}"].append(has_tree)
    return means(found)


# What a message is given.


class Given(Struct, frozen=True):
    """What a message was given: memories for it, those that stand anyway, and whether all is unknown."""

    fitting: Sequence[str]
    standing: Sequence[str] = ()
    is_denied: bool = False


def given_by_window(engram: Engram, question: str) -> Given:
    """Return the memories that a window holds for a question."""
    window = engram.context(question, budget=LINES_BUDGET)
    shown = [
        (section.name in STANDING, engram.get(held.memory_id).content)
        for section in window.sections
        for held in section.holds
        if held.level is not DetailLevel.TAG
    ]
    return Given(
        fitting=[content for stands, content in shown if not stands],
        standing=[content for stands, content in shown if stands],
        is_denied="nothing in memory" in window.present,
    )


def given_by_hook(engram: Engram, question: str) -> Given:
    """Return the memories that a prompt is given by a hook."""
    block = memory_block(
        engram, question, session="eval", tokens=PROMPT_TOKENS, is_known=lambda _memory_id: False
    )
    return Given([engram.get(one).content for one in (block.memories if block else ())])


def given_by_recall(engram: Engram, question: str) -> Given:
    """Return the baseline: the best hits."""
    return Given([hit.memory.content for hit in engram.recall(question, limit=TOP).hits])


def lines(rows: Sequence[dict[str, Any]], settings: Settings) -> list[dict[str, Any]]:
    """Return how many lines questions are given, and how many of them are right."""
    asked: dict[str, Callable[[Engram, str], Given]] = {
        "window": given_by_window,
        "hook": given_by_hook,
        f"best {TOP} hits": given_by_recall,
    }
    found: Columns = defaultdict(lambda: defaultdict(list))
    for row in rows:
        with opened(settings, row["memories"]) as engram:
            for kind, question, answers in questions(row):
                for way, ask in asked.items():
                    given, columns = ask(engram, question), found[way]
                    if kind == "answerable":
                        every = (*given.fitting, *given.standing)
                        columns["answer given"].append(any(one in answers for one in every))
                        columns["lines that are right"] += [one in answers for one in given.fitting]
                    columns[f"{kind}: lines"].append(len(given.fitting))
                    columns[f"{kind}: said to be unknown"].append(given.is_denied)
                    if kind == "far":
                        columns["far: left alone"].append(not given.fitting)
    return means(found)


# What was said before.


def talks() -> Iterator[list[dict[str, str]]]:
    """Yield conversations and working sessions that somebody else wrote, as histories."""
    for path in sorted((HERE / "conversations" / "open").glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            yield [{"role": turn["by"], "content": turn["text"]} for turn in json.loads(line)["turns"]]
    for path in sorted((HERE / "sessions").glob("open*.json")):
        project = json.loads(path.read_text(encoding="utf-8"))
        yield [said for session in project["sessions"] for step in session["steps"] for said in _said(step)]


def _said(step: dict[str, Any]) -> Iterator[dict[str, str]]:
    if tool := step.get("tool"):
        yield {"role": "tool", "content": f"$ {tool['command']}\n{tool['stdout']}"}
    for role, name in (("user", "prompt"), ("assistant", "reply")):
        if step.get(name):
            yield {"role": role, "content": step[name]}


def history(settings: Settings) -> list[dict[str, Any]]:
    """Return how many messages are not in a window as they were said."""
    told = list(talks())
    with opened(settings, [said["content"] for one in told[:40] for said in one][:300]) as engram:
        rows = []
        for budget in (4_000, 16_000, 100_000):
            lost = fits = 0
            for one in told:
                size = sum(counter_for(USUAL).most(said["content"]) + 8 for said in one)
                if size * 2 <= budget:  # it takes less than half, so it fits beside everything else
                    fits += len(one)
                    window = engram.context(one[-1]["content"], budget=budget, history=one[:-1])
                    lost += sum(not is_verbatim(said["content"], window.conversation) for said in one[:-1])
            rows.append({"budget": budget, "messages that fit": fits, "not word for word": lost})
    return rows


def is_verbatim(said: str, conversation: str) -> bool:
    words = re.findall(r"\w+", said)
    return " ".join(words) in " ".join(re.findall(r"\w+", conversation.replace("\n| ", "\n")))


# Shorter forms.


def qualified() -> list[str]:
    """Return the sentences of the open data that say not, except, until, at least or how much."""
    texts = [said["content"] for one in talks() for said in one if said["role"] != "tool"]
    texts += [memory for row in stores(None) for memory in row["memories"]]
    for line in (HERE / "period_data" / "talk.jsonl").read_text(encoding="utf-8").splitlines():
        texts.append(json.loads(line)["text"])
    found = {one.strip() for text in texts for one in sentences(text) if "`" not in one}
    return sorted(one for one in found if QUALIFIERS.search(one) and len(one.split()) > 5)


def qualifiers(text: str) -> list[str]:
    """Return the negations and qualifiers of a text."""
    return [" ".join(one.casefold().split()) for one in QUALIFIERS.findall(text)]


def losses(full: str, short: str) -> int:
    """Return how many of the qualifiers of a text are not in its shorter form."""
    left = qualifiers(short)
    return sum(full_count > left.count(one) for one, full_count in _counted(qualifiers(full)))


def _counted(words: Sequence[str]) -> list[tuple[str, int]]:
    return [(one, words.count(one)) for one in dict.fromkeys(words)]


def _exchange(words: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": words}, {"role": "assistant", "content": "ok"}]


def shortened(settings: Settings) -> list[dict[str, Any]]:
    """Return the share of sentences that lost a qualifier in each shorter form, and how long it is."""
    texts = qualified()
    forms: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    with opened(settings, ["The tea is in the cupboard"]) as engram:
        stored = engram.remember_many(Draft(content=one) for one in texts)
        engram.enrich()
        for memory in {one.id: one for one in stored}.values():
            detail = engram.get(memory.id).detail
            forms["summary"].append((memory.content, str(detail.summary)))
            forms["key fact"].append((memory.content, str(detail.key_fact)))
        for start in range(0, len(texts), 8):
            some = texts[start : start + 8]
            said = [
                {"role": role, "content": words}
                for one in some
                for role, words in (("user", one), ("assistant", "ok"))
            ]
            said += [
                {"role": "user", "content": "Please read the log. " * 60},
                {"role": "assistant", "content": "ok"},
            ] * 3
            window = engram.context("go on", budget=1_400, history=said)
            told = [line for line in window.conversation.split("\n") if line.startswith("- ")]
            written = [next((line for line in told if one[:25] in line), None) for one in some]
            forms["line of history"] += [(one, line) for one, line in zip(some, written, strict=True) if line]
    return [
        {
            "": form,
            "sentences": len(pairs),
            "lost a qualifier": mean(losses(full, short) > 0 for full, short in pairs),
            "shorter than the sentence": mean(len(short) < len(full) - 2 for full, short in pairs),
            "words left": mean(len(short.split()) / len(full.split()) for full, short in pairs),
        }
        for form, pairs in forms.items()
    ]


# How long a window takes.

MODELS = ("gpt-5", "claude-opus-4-6", "mistral-large")
SPEED_BUDGETS = (2_000, 8_000, 32_000)
MESSAGES = 200
MEMORIES = 3_000


def speed(settings: Settings) -> list[dict[str, Any]]:
    """Return what a window costs by model and budget, over made-up memories and 200 messages."""
    make = Sentences(11).next
    said = [
        {"role": "assistant" if place % 2 else "user", "content": " ".join(make() for _ in range(8))}
        for place in range(MESSAGES)
    ]
    rows = []
    with opened(settings, [make() for _ in range(MEMORIES)]) as engram:
        asked = [*(" ".join(one.content.split()[:5]) for one in engram.list(limit=6)), *OVERVIEWS[:2]]
        engram.context(asked[0], budget=SPEED_BUDGETS[0], history=said)  # loads what is loaded once
        for model in MODELS:
            for budget in SPEED_BUDGETS:
                anew, again = list[float](), list[float]()
                for question in asked:
                    tokens.forget_counts()
                    for spent in (anew, again):
                        began = time.process_time()
                        engram.context(question, model=model, budget=budget, history=said)
                        spent.append(1000 * (time.process_time() - began))
                rows.append(
                    {"model": model, "budget": budget, "ms anew": median(anew), "ms again": median(again)}
                )
    return rows


PARTS = ("overview", "tiny", "lines", "history", "shortened", "speed")


def main() -> None:
    """Print a table for each part, by preset where presets may differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", nargs="*", choices=PARTS, default=PARTS[:-1])
    parser.add_argument("--embedder", default="static")
    parser.add_argument("--home", type=Path, default=Settings.load().home)
    parser.add_argument("--half", choices=("first", "second"))
    parser.add_argument("--preset", nargs="*", choices=NAMES, default=["balanced"])
    parser.add_argument("--milliseconds", type=int, default=100, help="for the judge to read; 0 turns it off")
    arguments = parser.parse_args()
    rows, kept = stores(arguments.half), dict[str, Any]()
    for part in arguments.part:
        for preset in arguments.preset:
            settings = Settings(
                home=arguments.home,
                embedder=arguments.embedder,
                policy=preset,
                answering_milliseconds=arguments.milliseconds,
                durability="relaxed",
            )
            measured = {
                "overview": lambda chosen: overview(rows, chosen),
                "tiny": lambda chosen: tiny(rows, chosen),
                "lines": lambda chosen: lines(rows, chosen),
                "history": history,
                "shortened": shortened,
                "speed": speed,
            }[part](settings)
            kept[f"{part} {preset}"] = measured
            show(f"{part}, {preset}, {arguments.embedder}", measured)
    keep("windows", kept)


if __name__ == "__main__":
    main()
