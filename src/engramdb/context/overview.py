"""
Overviews: what a window holds when a message asks for everything, and what it says of the rest when tiny.

The summary tree of the last dream comes first, at the breadth that there is room for. Where there is none,
or room is left beside it, memories are chosen as they are: by weight, and so that they cover different
topics. Which words two memories share tells topics apart as well as vectors did, and needs no embedder
(docs/lab/0054-context.md). The title says which of the two a reader has before it.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cache

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from engramdb.capture.actions import is_run_record
from engramdb.context.budget import NO_ROOM_REASON, Measure
from engramdb.context.lines import line_prefix, may_enter_window, one_line, text_at_level
from engramdb.store.contract import Transaction
from engramdb.text.lexicons import LANGUAGES, any_pattern
from engramdb.text.telling import weight
from engramdb.text.terms import query_terms
from engramdb.values import (
    Breadth,
    DetailLevel,
    Fate,
    Filters,
    Loss,
    Memory,
    Scope,
    Section,
    SectionName,
    ShownMemory,
    Summary,
)
from engramdb.values.insight import FACT_END
from engramdb.values.reading import Force, Lasting

MAX_ASKED_CHARACTERS = 120
"""A longer message brings along what it wants to have summed up."""
MAX_UNSPACED_REST = 8
"""Characters that may stand beside the request in a script without spaces."""
MEMORIES_CONSIDERED = 400
"""The newest memories that an extract is chosen from; of older ones the tree tells."""
RARE_WORD_TEXTS = 16
"""A word in so many texts is compared by its pairs: fewer than a row of all words would have cells."""
PASSING_DAYS = 3.0
"""What was only true for a while is over after so long."""
LESS_TELLING = 0.3
"""What is left of the weight of a memory whose time is over, or that only asks for something."""
TREE_SHARE = 0.6
"""Of the room, for summaries; the rest is for memories as they are."""

Summaries = Callable[[Breadth], Sequence[Summary]]
"""Returns the summaries of one breadth, the best first."""


# Does a message ask for everything?


def is_overview(message: str) -> bool:
    """Return whether a message asks for all that is known, and names nothing in particular."""
    asked = message.strip().casefold()
    if len(asked) > MAX_ASKED_CHARACTERS:
        return False
    spaced, unspaced, whole = _cues()
    if unspaced.search(asked):
        return len(re.sub(r"\W", "", unspaced.sub("", asked))) <= MAX_UNSPACED_REST
    rest, found = spaced.subn(" ", asked)
    return found > 0 and whole.issuperset(re.findall(r"[^\W_]+", rest))


@cache
def _cues() -> tuple[re.Pattern[str], re.Pattern[str], frozenset[str]]:
    spaced, unspaced = (
        re.compile(
            any_pattern([one.questions.overview for one in LANGUAGES.values() if one.spaced is is_spaced])
        )
        for is_spaced in (True, False)
    )
    words = " ".join(one.questions.whole for one in LANGUAGES.values())
    return spaced, unspaced, frozenset(words.casefold().split())


# Which memories stand for all of them?


def overview_memories(tx: Transaction, scope: Scope, now: datetime) -> list[Memory]:
    """Return the memories that an overview may tell, newest first."""
    newest = tx.memories.list(scope=scope, filters=Filters(), limit=MEMORIES_CONSIDERED, before=None)
    return [
        one
        for one in newest
        if may_enter_window(one) and not one.is_over(now) and not (one.is_derived or is_run_record(one))
    ]


def choose_spread(
    memories: Sequence[Memory],
    costs: Sequence[int],
    token_budget: int,
    *,
    now: datetime,
    told: Sequence[str] = (),
) -> list[int]:
    """
    Return the places of memories that cover most of the others for the tokens they cost, the best first.

    What a memory covers is what it shares words with, by how much that weighs and as far as nothing chosen
    before, and nothing of what is `told` already, covers it: greedy maximization of a facility location
    function, as in extractive summarization.
    """
    words = [frozenset(query_terms(text)) for text in (*(one.content for one in memories), *told)]
    alike = _likeness(words)[:, : len(memories)]
    weights = np.array([_overview_weight(one, now) for one in memories], np.float32)
    tokens = np.maximum(1, np.array(costs, np.float32))
    covered = alike[len(memories) :].max(axis=0, initial=0.0)
    alike = alike[: len(memories)]
    is_free = np.ones(len(memories), bool)
    chosen: list[int] = []
    while (is_able := is_free & (tokens <= token_budget)).any():
        gains = np.maximum(0, alike - covered) @ weights
        place = int(np.argmax(np.where(is_able, gains / tokens, -1)))
        chosen.append(place)
        is_free[place] = False
        token_budget -= costs[place]
        covered = np.maximum(covered, alike[place])
    return chosen


def _overview_weight(memory: Memory, now: datetime) -> float:
    """Return how much a memory weighs; what is over or only asks for something little."""
    is_passed = memory.lasting is Lasting.PASSING and (now - memory.last_stated_at).days >= PASSING_DAYS
    is_asked = memory.force in (Force.REQUEST, Force.QUESTION)
    return weight(memory) * (LESS_TELLING if is_passed or is_asked or memory.is_past(now) else 1.0)


def _likeness(words: Sequence[frozenset[str]]) -> NDArray[np.float32]:
    """Return the cosines of texts by the words that they are made of."""
    sizes = np.array([max(1, len(one)) for one in words], np.float32)
    shared = (_shared_words(words) / np.sqrt(np.outer(sizes, sizes))).astype(np.float32)
    np.fill_diagonal(shared, 1)  # one without a telling word still covers itself
    return shared


def _shared_words(words: Sequence[frozenset[str]]) -> NDArray[np.float32]:
    """Return how many words each two texts share; rare words by their pairs, since most words are rare."""
    holders: dict[str, list[int]] = {}
    for place, one in enumerate(words):
        for word in one:
            holders.setdefault(word, []).append(place)
    common = [places for places in holders.values() if len(places) > RARE_WORD_TEXTS]
    rows = np.zeros((len(words), len(common)), np.float32)
    for column, places in enumerate(common):
        rows[places, column] = 1
    pairs = np.zeros(len(words) ** 2, np.float32)
    for count in range(2, RARE_WORD_TEXTS + 1):
        rare = np.array([places for places in holders.values() if len(places) == count], np.intp)
        for first, second in itertools.combinations(range(count) if rare.size else (), 2):
            met = rare[:, first] * len(words) + rare[:, second]
            pairs += np.bincount(met, minlength=pairs.size).astype(np.float32)
    square = pairs.reshape(len(words), len(words))
    found: NDArray[np.float32] = rows @ rows.T + square + square.T
    return found


# Write it.


class _OverviewPage(Struct):
    """An overview while it is being written."""

    measure: Measure
    left: int
    lines: list[str]

    def add(self, line: str) -> bool:
        """Write a line if it fits, and return whether it does."""
        cost = self.measure.of(f"{line}\n")
        if cost > self.left:
            return False
        self.left -= cost
        self.lines.append(line)
        return True


def fill_overview(
    memories: Sequence[Memory],
    allowance: int,
    *,
    measure: Measure,
    now: datetime,
    summaries: Summaries | None = None,
) -> tuple[Section | None, list[Loss]]:
    """Return the overview: the summary tree where there is one, and memories as they are in what is left."""
    summed, told = list[str](), 0
    room = allowance - measure.of(f"{_title(len(memories), len(memories), 1)}\n")
    if summaries is not None:
        for share in (TREE_SHARE, 1.0):  # a tiny window may hold the tree alone
            if not summed:
                summed, told = tree_lines(summaries, round(room * share), measure=measure)
    page = _OverviewPage(measure, room - sum(measure.of(f"{line}\n") for line in summed), [])
    fresh = [one for one in memories if not any(_quotes(line, one) for line in summed)]
    lines = [overview_line(one) for one in fresh]
    costs, facts = (
        [measure.of(f"{line}\n") for line in lines],
        [f for line in summed for f in line.split(FACT_END)],
    )
    places = choose_spread(fresh, costs, page.left, now=now, told=facts)
    shown = [fresh[place] for place in sorted(places, reverse=True) if page.add(lines[place])]
    if not shown and not summed:
        return None, []
    title = _title(len(shown), len(memories), told)
    text = "\n".join([title, *summed, *page.lines])
    holds = tuple(ShownMemory(memory_id=one.id, level=DetailLevel.FULL) for one in shown)
    lost = len(fresh) - len(shown)
    loss = Loss(section=SectionName.RECALLED, fate=Fate.DROPPED, count=lost, reason=NO_ROOM_REASON)
    section = Section(
        name=SectionName.RECALLED, text=text, tokens=measure.of(f"{text}\n"), allowance=allowance, holds=holds
    )
    return section, [loss] if lost else []


def tree_lines(summaries: Summaries, token_budget: int, *, measure: Measure) -> tuple[list[str], int]:
    """
    Return the summaries of the narrowest breadth that fits whole, and how many memories they sum up.

    Where not even the widest does, it is cut between two of its facts; no fact is ever cut.
    """
    widest: list[Summary] = []
    for breadth in Breadth:
        found = list(summaries(breadth))
        lines = [summary_line(one) for one in found]
        if lines and sum(measure.of(f"{line}\n") for line in lines) <= token_budget:
            return lines, sum(one.members for one in found)
        widest = found or widest
    lines = _cut_line(widest, token_budget, measure)
    return lines, widest[0].members if lines else 0


def nearest_lines(summaries: Summaries, token_budget: int, *, measure: Measure) -> list[str]:
    """
    Return summaries that are near a message, of the narrowest breadth of which any fits.

    Where none fits whole, the nearest of the narrowest is cut between two of its facts.
    """
    nearest: list[Summary] = []
    for breadth in Breadth:
        found = list(summaries(breadth))
        nearest = nearest or found
        page = _OverviewPage(measure, token_budget, [])
        for one in found:
            page.add(summary_line(one))
        if page.lines:
            return page.lines
    return _cut_line(nearest, token_budget, measure)


def _cut_line(found: Sequence[Summary], token_budget: int, measure: Measure) -> list[str]:
    """Return the first summary as a line with as many of its facts as fit."""
    for one in found[:1]:
        facts = one.text.split(FACT_END)
        while facts:
            line = summary_line(one, FACT_END.join(facts))
            if measure.of(f"{line}\n") <= token_budget:
                return [line]
            facts.pop()
    return []


def summary_line(summary: Summary, text: str | None = None) -> str:
    """Return a summary as a line that says how many memories it stands for."""
    return f"- summary of {summary.members} memories: {one_line(text or summary.text)}"


def overview_line(memory: Memory) -> str:
    """Return a memory as a line of an overview, which has no days."""
    return f"- {line_prefix(memory)}: {one_line(text_at_level(memory, DetailLevel.FULL))}"


def _title(shown: int, known: int, summed: int) -> str:
    if summed:
        return f"# Overview: summary, and {shown} of {known} memories"
    return f"# Overview: extract, {shown} of {known} memories"


def _quotes(line: str, memory: Memory) -> bool:
    return memory.content.rstrip(" .;") in line
