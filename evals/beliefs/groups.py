"""
Wordings of one fact become support of one memory, and near misses stay apart.

Five groups share a scope; the wordings of a group are told on different days, the near misses among them. An
answer is what recall gives for the first wording, before and after a dream.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from msgspec import Struct

from engramdb import Engram, Memory, Scope, Settings, Status
from engramdb.models.capabilities import counter_for
from engramdb.text.tokens import USUAL
from engramdb.values import BELIEVED
from evals.beliefs.counting import Share, Tally
from evals.beliefs.telling import (
    BASELINES,
    RETIRED,
    Answers,
    Told,
    baseline,
    day,
    memories_in,
    opened,
    rows,
    tell,
    told_by,
)

PER_SCOPE = 5
DAYS_BETWEEN = 9
FIRST_DAY = "2025-09-01"
ANSWER_HITS = 10
WANTED: dict[str, Share] = {
    "groups down to one": ("≥", 0.7),
    "near misses merged": ("≤", 0.01),
    "groups lost": ("≤", 0.0),
}
STORES_EVERY_STATEMENT = frozenset({"remember", "notes"})
"""Ways by which a statement that has no memory of its own was taken for a repetition."""


class GroupScope(Struct, frozen=True):
    """Some groups of one scope: what is told, and which statements are wordings and near misses of each."""

    name: str
    talk: Sequence[Told]
    groups: Sequence[tuple[Sequence[int], Sequence[int]]]


def scopes(half: str, limit: int) -> list[GroupScope]:
    """Return the groups, a few to a scope."""
    every = rows("groups", half)[:limit]
    return [
        _scope(f"groups {start}", every[start : start + PER_SCOPE])
        for start in range(0, len(every), PER_SCOPE)
    ]


def _scope(name: str, every: Sequence[Mapping[str, Any]]) -> GroupScope:
    told = []
    for number, row in enumerate(every):
        first, *others = row["wordings"]
        texts = [first, row["near"][0], *others[:2], row["near"][1], *others[2:]]
        for place, text in enumerate(texts):
            at = day(FIRST_DAY) + timedelta(days=DAYS_BETWEEN * place, hours=number)
            told.append((Told(at, "user", text), number, text in row["near"]))
    told.sort(key=lambda one: one[0].at)
    groups = [
        (
            [place for place, (_, of, is_near) in enumerate(told) if of == number and not is_near],
            [place for place, (_, of, is_near) in enumerate(told) if of == number and is_near],
        )
        for number in range(len(every))
    ]
    return GroupScope(name, [one for one, _, _ in told], groups)


def measure(half: str, ways: Sequence[str], settings: Settings, limit: int) -> dict[str, dict[str, Tally]]:
    """Return a column for each way after a dream, and one for each baseline."""
    every = scopes(half, limit)
    talks = {one.name: one.talk for one in every}
    columns: dict[str, Tally] = {}
    for way in ways:
        tally = columns[way] = Tally()
        with opened(settings) as (engram, clock):
            tell(engram, clock, talks, way)
            for scope in every:
                _weigh_answers(engram, scope, tally, "before the dream")
                _note(engram, scope, tally, way, "before the dream: ")
            engram.dream()
            for scope in every:
                _note(engram, scope, tally, way, "")
                _weigh_answers(engram, scope, tally, "after the dream")
    for title in BASELINES:
        tally = columns[title] = Tally()
        for scope in every:
            _weigh_baseline(baseline(title, settings, {scope.name: scope.talk})[scope.name], scope, tally)
    return {"groups": columns}


def _note(engram: Engram, scope: GroupScope, tally: Tally, way: str, when: str) -> None:
    found = told_by(memories_in(engram, Scope(user=scope.name)), [one.text for one in scope.talk])
    every = {memory.id: memory for some in found.values() for memory in some}
    for wordings, near in scope.groups:
        left = [one for place in wordings for one in found[place] if one.status in BELIEVED]
        stored = [one for place in wordings for one in found[place]]
        tally.note(f"{when}groups down to one", len(left) == 1)
        tally.numbers[f"{when}memories of a group"].append(len(left))
        if when:
            continue
        texts = [scope.talk[place].text for place in wordings]
        tally.note("groups lost", bool(stored) and not _has_stand_in(left, stored, every), held=f"{texts}")
        for place in near:
            is_merged = _is_merged(found[place], stored, way)
            tally.note("near misses merged", is_merged, held=f"{scope.talk[place].text!r} with {texts[0]!r}")
            tally.note("near misses retired otherwise", any(_is_gone(one) for one in found[place]))
            tally.note("near misses not stored by themselves", not found[place])


def _has_stand_in(left: Sequence[Memory], stored: Sequence[Memory], every: Mapping[str, Memory]) -> bool:
    """Return whether something still tells the fact, if only a memory that it was merged into."""
    heirs = [every.get(one.superseded_by or "") for one in stored]
    return bool(left) or any(one is not None and one.status in BELIEVED for one in heirs)


def _is_merged(own: Sequence[Memory], wordings: Sequence[Memory], way: str) -> bool:
    """Return whether a near miss was merged with something, or a wording with it."""
    ids = {one.id for one in own}
    is_keeper = any(one.status is Status.MERGED and one.superseded_by in ids for one in wordings)
    is_absorbed = way in STORES_EVERY_STATEMENT and not own
    return is_keeper or is_absorbed or any(one.status is Status.MERGED for one in own)


def _is_gone(memory: Memory) -> bool:
    return memory.status in RETIRED and memory.status is not Status.MERGED


def _weigh_answers(engram: Engram, scope: GroupScope, tally: Tally, when: str) -> None:
    count = counter_for(USUAL)
    for wordings, _near in scope.groups:
        question = scope.talk[wordings[0]].text
        answer = engram.recall(question, limit=ANSWER_HITS, turns=False, scope=Scope(user=scope.name))
        texts = [hit.memory.content for hit in answer.hits]
        owners = told_by([hit.memory for hit in answer.hits], [one.text for one in scope.talk])
        same = sum(len(owners[place]) for place in wordings)
        tally.numbers[f"{when}: hits that say the same"].append(same)
        tally.numbers[f"{when}: hits of an answer"].append(len(texts))
        tally.numbers[f"{when}: tokens of an answer"].append(count.most("\n".join(texts)))


def _weigh_baseline(asked: Answers, scope: GroupScope, tally: Tally) -> None:
    count = counter_for(USUAL)
    for wordings, _near in scope.groups:
        texts = [one.text for one in asked.best(scope.talk[wordings[0]].text)]
        same = {scope.talk[place].text for place in wordings}
        tally.numbers["hits that say the same, of five"].append(
            sum(any(text in whole for whole in same) for text in texts)
        )
        tally.numbers["tokens of five sentences"].append(count.most("\n".join(texts)))
