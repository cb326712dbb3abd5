"""A year of life in seconds, under every preset: what stays, what goes, and what the history says of it."""

from __future__ import annotations

import functools
import random
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engramdb.policy import PRESETS
from engramdb.store.contract import RecallCount
from engramdb.testing import ManualClock
from engramdb.values import Affect, Kind, Layer, Memory, MemoryId, Provenance, Scope, Source, Status, new_id

from .made import BORN, EXTRACTOR, keep, open_aging

if TYPE_CHECKING:
    from datetime import datetime

    from engramdb import Engram
    from engramdb.values import HistoryEvent

pytestmark = pytest.mark.slow

STEP_DAYS, STEPS, NEW_A_STEP = 5, 73, 35
"""A sweep every five days for 365, and 2,555 memories in all."""
CATEGORIES = ["fact"] * 5 + ["general"] * 6 + ["technical"] * 5
PROTECTED = ["preference", "decision", "principle", "correction"]
PROJECT_MOST = 250
"""A limit that this year reaches, in place of the ten thousand of `tiered`."""
LIVING = (Status.ACTIVE, Status.CHALLENGED)
EVERY_PRESET = pytest.mark.parametrize(
    "preset", [pytest.param(name, marks=pytest.mark.xdist_group(f"year-{name}")) for name in PRESETS]
)
"""Those of one preset run in one process, which lives its year once."""


@dataclass
class Year:
    """What was put in, what a person did, and what was there in the end."""

    made: dict[MemoryId, Memory] = field(default_factory=dict)
    favourites: set[MemoryId] = field(default_factory=set)
    """Recalled again and again as long as they are there."""
    forgotten: list[MemoryId] = field(default_factory=list)
    restored: list[MemoryId] = field(default_factory=list)
    taken_again: list[MemoryId] = field(default_factory=list)
    """What was restored and yet gone after the next sweep."""
    living: list[int] = field(default_factory=list)
    """How many there were after each sweep."""
    by_rule: Counter[str] = field(default_factory=Counter)
    end: dict[MemoryId, Memory] = field(default_factory=dict)
    histories: dict[MemoryId, list[HistoryEvent]] = field(default_factory=dict)


# --- what must hold -----------------------------------------------------------------------------------------


@EVERY_PRESET
def test_the_store_stays_bounded(preset: str) -> None:
    """As many come in the last quarter as in the first, and at most half as many more stay."""
    living = year(preset).living
    quarter = STEPS // 4

    assert living[-1] < 0.7 * len(year(preset).made)
    assert living[-1] - living[-1 - quarter] <= 0.5 * living[quarter]


@pytest.mark.xdist_group("year-tiered")
def test_a_project_never_holds_more_than_its_limit() -> None:
    """Under `tiered` no more working memory and episodes than the policy allows."""
    here = Counter(
        one.scope.project
        for one in year("tiered").end.values()
        if one.status in LIVING and one.layer in (Layer.WORKING, Layer.EPISODIC)
    )

    assert here
    assert max(here.values()) <= PROJECT_MOST


@EVERY_PRESET
def test_what_the_policy_protects_survives(preset: str) -> None:
    """Everything that is pinned, and whatever else this preset spares, unless a person let go of it."""
    lived = year(preset)
    spared = {one.id for one in lived.made.values() if is_protected(one, preset)} - set(lived.forgotten)

    assert len(spared) > 50
    assert [lived.end[one].status for one in spared if lived.end[one].status not in LIVING] == []


@EVERY_PRESET
def test_nothing_is_lost_without_a_row_that_names_the_rule(preset: str) -> None:
    """Whoever is not there was taken by a rule of this preset or by a person, and the history says which."""
    lived, rules = year(preset), set(PRESETS[preset].aging.rules)
    gone = [one.id for one in lived.end.values() if one.status not in LIVING]

    for one in gone:
        last = lived.histories[one][-1]
        assert last.new_status is lived.end[one].status
        assert (one in lived.forgotten) or (last.actor.name == "aging" and last.reason in rules)


@EVERY_PRESET
def test_the_reports_are_the_histories(preset: str) -> None:
    """As many rows name a rule as the sweeps said."""
    lived = year(preset)

    rows = Counter(
        event.reason for events in lived.histories.values() for event in events if event.actor.name == "aging"
    )

    assert rows == lived.by_rule


@EVERY_PRESET
def test_what_a_person_forgot_never_comes_back(preset: str) -> None:
    """It stays forgotten, and the person's is the last word in its history."""
    lived = year(preset)

    assert len(lived.forgotten) > 5
    assert {lived.end[one].status for one in lived.forgotten} == {Status.FORGOTTEN}
    assert {lived.histories[one][-1].actor.name for one in lived.forgotten} == {"user"}


@EVERY_PRESET
def test_what_a_person_brought_back_is_not_taken_at_once(preset: str) -> None:
    """What a rule had taken was there after the sweep that followed its restoring."""
    lived = year(preset)

    assert len(lived.restored) > 5
    assert lived.taken_again == []


@pytest.mark.xdist_group("year-tiered")
def test_the_same_year_twice_ends_the_same() -> None:
    """Nothing depends on luck: not on ids, not on how long a write took, not even where rules choose."""
    first, second = year("tiered"), live("tiered")

    assert first.living == second.living
    assert first.by_rule == second.by_rule


@EVERY_PRESET
def test_use_keeps_memories(preset: str) -> None:
    """Of those that are recalled every few days more are left than of the others that may go."""
    lived = year(preset)
    may_go = {one.id for one in lived.made.values() if not is_protected(one, preset)}
    kept = {one for one in may_go if lived.end[one].status in LIVING}
    used = may_go & lived.favourites
    unused = may_go - used

    assert len(kept & used) / len(used) > 1.2 * len(kept & unused) / len(unused)


def is_protected(memory: Memory, preset: str) -> bool:
    """Whether a preset never lets a memory go: not what merely happens to be used."""
    if memory.pinned:
        return True
    if memory.forget_after is not None:
        return False
    is_stated = memory.extractor is None and memory.provenance.source is Source.HUMAN
    is_sure = memory.confidence >= 0.4
    is_spared = memory.category in PROTECTED or (is_stated and memory.category != "commitment")
    return {
        "notebook": memory.category in PROTECTED and is_sure,
        "balanced": is_spared and is_sure,
        "layered": memory.layer in (Layer.SEMANTIC, Layer.PROCEDURAL),
        "cortex": is_stated or memory.importance > 0.9 or memory.affect.arousal >= 0.5,
        "beliefs": False,
        "tiered": False,
    }[preset]


# --- the year -----------------------------------------------------------------------------------------------


@functools.cache
def year(preset: str) -> Year:
    """One year under a preset, lived once for all tests."""
    return live(preset)


def live(preset: str) -> Year:
    """Let memories come, be recalled, forgotten and restored, and age, for a year."""
    chance, lived = random.Random(42), Year()  # noqa: S311 - a seed, no secret
    clock = ManualClock(BORN)
    with (
        tempfile.TemporaryDirectory() as folder,
        open_aging(Path(folder) / "memory.db", clock, preset, project_most=PROJECT_MOST) as engram,
    ):
        for step in range(STEPS):
            _come_in(engram, lived, chance, clock.now())
            _recall(engram, lived, chance, clock.now())
            clock.advance(days=STEP_DAYS)
            _sweep(engram, lived)
            lived.living.append(len(_here(engram, lived)))
            if step % 8 == 7:
                _change_minds(engram, lived, chance, clock)
        lived.end = everybody(engram)
        with engram._parts.store.read() as tx:
            lived.histories = {one: tx.history.of(one) for one in lived.made}
    return lived


def _come_in(engram: Engram, lived: Year, chance: random.Random, now: datetime) -> None:
    new = [_someone(chance, now) for _ in range(NEW_A_STEP)]
    keep(engram, *new)
    lived.made |= {one.id: one for one in new}
    lived.favourites |= {one.id for one in new if chance.random() < 0.06}


def _someone(chance: random.Random, now: datetime) -> Memory:
    """A memory as conversations leave them: mostly read out of turns, mostly of little importance."""
    is_extracted = chance.random() < 0.85
    ttl = now + timedelta(days=chance.randint(1, 100)) if chance.random() < 0.02 else None
    category = chance.choice(CATEGORIES if chance.random() < 0.85 else [*PROTECTED, "commitment"])
    one = new_id(now)
    return Memory(
        id=one,
        content=f"statement {int(one[-8:], 16)}",
        created_at=now,
        updated_at=now,
        scope=Scope(project=chance.choice(["one", "other"])),
        status=Status.CHALLENGED if chance.random() < 0.02 else Status.ACTIVE,
        layer=chance.choices(list(Layer)[:4], weights=[20, 65, 8, 7])[0],
        kind=chance.choice(list(Kind)),
        category=category,
        provenance=Provenance(source=chance.choices(list(Source), weights=[6, 3, 1])[0]),
        extractor=EXTRACTOR if is_extracted else None,
        confidence=chance.uniform(0.2, 1.0),
        importance=chance.random() ** 3,
        affect=Affect(arousal=chance.random() ** 3),
        pinned=chance.random() < 0.03,
        forget_after=ttl,
    )


def _recall(engram: Engram, lived: Year, chance: random.Random, now: datetime) -> None:
    """Favourites each time, a few of the rest by chance, some several times within the hour."""
    here = _here(engram, lived)
    asked = [one for one in here if one in lived.favourites] + chance.sample(here, min(6, len(here)))
    recalled = []
    for one in dict.fromkeys(asked):
        moments = [now + timedelta(minutes=chance.randint(0, 59)) for _ in range(chance.choice([1, 1, 1, 4]))]
        recalled.append(RecallCount(one, tuple(moments), frozenset({f"s{chance.randint(0, 30)}"})))
    policy = engram._parts.policy.aging
    with engram._parts.store.atomic() as tx:
        tx.ages.count_recalls(recalled, policy)


def _sweep(engram: Engram, lived: Year) -> None:
    lived.by_rule.update(engram.age().by_rule)


def _here(engram: Engram, lived: Year) -> list[MemoryId]:
    """Who is living, oldest first; keys are given in the order in which memories came."""
    ids = list(lived.made)
    with engram._parts.store.read() as tx:
        page = tx.ages.page(after_key=0, limit=10_000)
    return [ids[key - 1] for key in page.keys[page.has(*LIVING)].tolist()]


def _change_minds(engram: Engram, lived: Year, chance: random.Random, clock: ManualClock) -> None:
    """A person forgets two memories and brings back three that rules had taken; a sweep follows."""
    here = everybody(engram)
    active = [one for one in here.values() if one.status is Status.ACTIVE and not one.pinned]
    taken = [
        one
        for one in here.values()
        if one.status in (Status.ARCHIVED, Status.PRUNED, Status.FORGOTTEN)
        and one.id not in (*lived.forgotten, *lived.restored)
    ]
    for one in chance.sample(active, 2):
        engram.forget(one.id, scope=one.scope)
        lived.forgotten.append(one.id)
    back = chance.sample(taken, min(3, len(taken)))
    for one in back:
        engram.restore(one.id, scope=one.scope)
        lived.restored.append(one.id)
    clock.advance(hours=13)
    _sweep(engram, lived)
    after = set(_here(engram, lived))
    lived.taken_again += [one.id for one in back if one.id not in after]


def everybody(engram: Engram) -> dict[MemoryId, Memory]:
    """Every memory of the store by id."""
    with engram._parts.store.read() as tx:
        return {one.id: one for one in tx.memories.by_keys(list(range(1, 5_000))).values()}
