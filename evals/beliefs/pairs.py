"""
Pairs of statements: what ends an older one must retire or challenge it, and what only looks so must not.

Ten harmless and ten conflicting pairs share a scope, in the order of time: there are other candidates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from msgspec import Struct

from engramdb import Engram, Memory, Scope, Settings, Status
from engramdb.values import EdgeType
from evals.beliefs.counting import Share, Tally
from evals.beliefs.telling import (
    BASELINES,
    RETIRED,
    Answers,
    Told,
    answering,
    baseline,
    day,
    is_marked,
    memories_in,
    opened,
    rows,
    says,
    tell,
    told_by,
)

PER_SCOPE = 10
"""Pairs of each kind in a scope."""
LAST_DAY = "2026-06-01"
HARMLESS_WANTED: dict[str, Share] = {"wrongly retired": ("≤", 0.005)}
CONFLICT_WANTED: dict[str, Share] = {
    "retired or challenged": ("≥", 0.8),
    "textbook: retired or challenged": ("≥", 0.95),
}


class Pair(Struct, frozen=True):
    """One pair of a scope, and where its statements stand among those of the scope."""

    row: Mapping[str, Any]
    is_harmless: bool
    old: int
    new: int


class PairScope(Struct, frozen=True):
    """Twenty pairs, and their statements in the order of time."""

    name: str
    talk: Sequence[Told]
    pairs: Sequence[Pair]


def scopes(half: str, limit: int) -> list[PairScope]:
    """Return the pairs of both kinds, mixed."""
    harmless, conflict = rows("harmless", half)[:limit], rows("conflict", half)[:limit]
    return [
        _scope(f"pairs {start}", harmless[start : start + PER_SCOPE], conflict[start : start + PER_SCOPE])
        for start in range(0, len(harmless), PER_SCOPE)
    ]


def _scope(
    name: str, harmless: Sequence[Mapping[str, Any]], conflict: Sequence[Mapping[str, Any]]
) -> PairScope:
    last = day(LAST_DAY)
    every = [(row, True) for row in harmless] + [(row, False) for row in conflict]
    told = []
    for number, (row, _) in enumerate(every):
        said = last - timedelta(days=number % PER_SCOPE, minutes=number)
        told.append((Told(said - timedelta(days=row["days"]), "user", row["old"]), (number, "old")))
        told.append((Told(said, "user", row["new"]), (number, "new")))
    told.sort(key=lambda one: one[0].at)
    place = {key: position for position, (_, key) in enumerate(told)}
    pairs = [
        Pair(row, is_harmless, place[number, "old"], place[number, "new"])
        for number, (row, is_harmless) in enumerate(every)
    ]
    return PairScope(name, [one for one, _ in told], pairs)


def measure(half: str, ways: Sequence[str], settings: Settings, limit: int) -> dict[str, dict[str, Tally]]:
    """Return the columns of both suites."""
    every = scopes(half, limit)
    talks = {one.name: one.talk for one in every}
    harmless: dict[str, Tally] = {}
    conflict: dict[str, Tally] = {}
    for way in ways:
        harmless[way], conflict[way] = Tally(), Tally()
        with opened(settings) as (engram, clock):
            tell(engram, clock, talks, way)
            for scope in every:
                _what_became(engram, scope, harmless[way], conflict[way])
            _ask(every, answering(engram, talks), harmless[way], conflict[way])
    for name in BASELINES:
        harmless[name], conflict[name] = Tally(), Tally()
        _ask(every, baseline(name, settings, talks), harmless[name], conflict[name])
    return {"harmless": harmless, "conflict": conflict}


class Fate(Struct, frozen=True):
    """What became of the memories of one statement, and at the hands of which statements."""

    is_kept: bool
    is_retired: bool
    is_challenged: bool
    by: frozenset[int]

    @property
    def stands(self) -> bool:
        """Whether it is there and unchallenged."""
        return self.is_kept and not self.is_retired and not self.is_challenged


def _fates(engram: Engram, scope: PairScope) -> list[Fate]:
    place = Scope(user=scope.name)
    found = told_by(memories_in(engram, place), [one.text for one in scope.talk])
    owner = {memory.id: number for number, every in found.items() for memory in every}
    return [_fate(engram, place, found[number], owner) for number in range(len(scope.talk))]


def _fate(engram: Engram, place: Scope, memories: Sequence[Memory], owner: Mapping[str, int]) -> Fate:
    by = {owner[one.superseded_by] for one in memories if one.superseded_by and one.superseded_by in owner}
    for one in memories:
        if one.status is Status.CHALLENGED:
            edges = engram.links(one.id, scope=place)
            doubting = [edge.source for edge in edges if edge.type in (EdgeType.CONTRADICTS, EdgeType.DOUBTS)]
            by |= {owner[source] for source in doubting if source in owner and source != one.id}
    return Fate(
        is_kept=bool(memories),
        is_retired=any(one.status in RETIRED for one in memories),
        is_challenged=any(is_marked(one) for one in memories if one.status not in RETIRED),
        by=frozenset(by),
    )


def _what_became(engram: Engram, scope: PairScope, harmless: Tally, conflict: Tally) -> None:
    fates = _fates(engram, scope)
    for pair in scope.pairs:
        old, new = fates[pair.old], fates[pair.new]
        blame = "; ".join(
            f"{scope.talk[place].text!r} ← {[scope.talk[other].text for other in sorted(fates[place].by)]}"
            for place in (pair.old, pair.new)
            if not fates[place].stands
        )
        if pair.is_harmless:
            is_own = pair.new in old.by or pair.old in new.by
            _note_harmless(harmless, old, new, f"{pair.row['id']} {blame}", is_own=is_own)
        else:
            _note_conflict(conflict, pair, old, new, blame)


def _note_harmless(tally: Tally, old: Fate, new: Fate, example: str, *, is_own: bool) -> None:
    tally.note("wrongly retired", old.is_retired or new.is_retired, held=example)
    tally.note("… by the other of the pair", is_own and (old.is_retired or new.is_retired))
    tally.note("wrongly challenged", old.is_challenged or new.is_challenged, held=example)
    tally.note("one of the two not stored by itself", not (old.is_kept and new.is_kept), held=example)


def _note_conflict(tally: Tally, pair: Pair, old: Fate, new: Fate, blame: str) -> None:
    is_own = not old.by or pair.new in old.by  # otherwise a stranger has done it, by mistake
    retired, challenged = old.is_retired and is_own, old.is_challenged and is_own
    example = f"{pair.row['id']} {pair.row['form']}: {pair.row['old']!r} ← {pair.row['new']!r}"
    for form in ("", f"{pair.row['form']}: "):
        tally.note(f"{form}retired or challenged", retired or challenged, missed="" if form else example)
        tally.note(f"{form}retired", retired)
        tally.note(f"{form}challenged", challenged)
    tally.note("the newer retired", new.is_retired, held=f"{pair.row['id']} {blame}")
    tally.note("the newer challenged", new.is_challenged, held=f"{pair.row['id']} {blame}")
    tally.note("one of the two not stored by itself", not (old.is_kept and new.is_kept), held=example)


def _ask(
    every: Sequence[PairScope], answers: Mapping[str, Answers], harmless: Tally, conflict: Tally
) -> None:
    for scope in every:
        for pair in scope.pairs:
            found = answers[scope.name].best(pair.row["question"])
            if pair.is_harmless:
                right = [says(pair.row["answer"], one.text) for one in found]
                harmless.note("answer first", right[:1] == [True])
                harmless.note("answer in the top five", any(right))
                continue
            current = [says(pair.row["current"], one.text) for one in found]
            stale = [
                says(pair.row["stale"], one.text) and not now for one, now in zip(found, current, strict=True)
            ]
            unmarked = any(then and not one.is_marked for one, then in zip(found, stale, strict=True))
            conflict.note("current first", current[:1] == [True])
            conflict.note("current in the top five", any(current))
            conflict.note("stale shown unmarked", unmarked)
