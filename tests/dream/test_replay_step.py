"""Replay keeps what is used and fades, connects what belongs together, and comes to rest."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import numpy as np
import pytest
from msgspec.structs import replace

from engramdb.dream.replay import (
    REPLAY_REASON,
    ReplayStep,
    arousal_after_insight,
    differ_in_a_detail,
    replay_priority,
    strengthening_changes,
)
from engramdb.dream.step import AddLink
from engramdb.lifecycle.curves import retention_of
from engramdb.policy import PRESETS, InsightPolicy
from engramdb.values import Affect, EdgeType, GapKind, Memory, Scope, Source
from engramdb.values.population import population_of

from .dreamt import NOW
from .insighted import counts, proposed, take, used

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engramdb import Engram
    from engramdb.dream.step import Proposal
    from engramdb.testing import ManualClock

POLICY = InsightPolicy()
BELIEFS = PRESETS["beliefs"].aging
HARBOURS = (
    "The harbour crane lifts containers in the morning",
    "The harbour crane lifts containers in the evening",
    "The harbour crane lifts containers at noon",
    "The harbour crane lifts containers at night",
)


def aged(days: float, **fields: object) -> Memory:
    """A memory of some days ago, recalled often then."""
    then = NOW - timedelta(days=days)
    return Memory(id="m", content="a statement", created_at=then, updated_at=then).evolve(**fields)


def links(proposals: Sequence[Proposal]) -> list[AddLink]:
    """The links among proposals."""
    return [one for one in proposals if isinstance(one, AddLink)]


@pytest.mark.parametrize("preset", [name for name in PRESETS if PRESETS[name].aging.curve != "none"])
@pytest.mark.parametrize("days", [3, 30, 90])
@pytest.mark.parametrize("strength", [0.5, 1.0, 1.4])
def test_a_replayed_memory_fades_a_quarter_more_slowly(preset: str, days: float, strength: float) -> None:
    """Under every curve it keeps for four days what it would have kept for three."""
    policy = PRESETS[preset].aging
    plain = aged(0, strength=strength)
    replayed = plain.evolve(**strengthening_changes(plain, max_stability=policy.stability_most))

    before = retention_of(plain, policy, NOW + timedelta(days=days))
    after = retention_of(replayed, policy, NOW + timedelta(days=days * 4 / 3))

    assert after >= before - 1e-9


def test_a_replay_brings_back_full_strength_and_a_fifth_more_up_to_the_policys_most() -> None:
    """What is as strong as can be gains nothing, and so is not changed at all."""
    gained = strengthening_changes(aged(0, strength=0.5), max_stability=5.0)
    full = strengthening_changes(aged(0, strength=2.0, stability=5.0), max_stability=5.0)

    assert gained["strength"] == pytest.approx(1.2)
    assert full == {}


def test_a_moving_memory_is_chosen_twice_as_readily() -> None:
    """Arousal above 0.6 doubles the claim of an otherwise equal memory."""
    plain, moving = aged(30), aged(30, affect=Affect(arousal=0.7))
    columns = population_of([used_often(plain), used_often(moving)])

    ready = replay_priority(columns, np.full(2, 0.5))

    assert ready[1] == pytest.approx(2 * ready[0])


def used_often(memory: Memory) -> Memory:
    """The same, recalled nine times."""
    return memory.evolve(access=replace(memory.access, count=9))


def test_what_is_used_and_fades_is_strengthened_and_then_rests(engram: Engram, clock: ManualClock) -> None:
    """A second run at the same moment, or an hour later, replays nobody again; the next day may."""
    memory = used(engram, engram.remember("The deployment key rotates on Mondays"), 8)
    engram.remember("Nobody ever asks for this remark")
    clock.advance(days=600)

    take(engram, ReplayStep())
    once = engram.get(memory.id)
    again = take(engram, ReplayStep())
    clock.advance(hours=1)
    soon = take(engram, ReplayStep())
    clock.advance(days=2)
    take(engram, ReplayStep())

    assert (once.strength, round(once.stability, 2)) == (1.2, 1.33)
    assert counts(again) == counts(soon) == {}
    assert engram.get(memory.id).strength == pytest.approx(1.4)
    assert [event.reason for event in engram.history(memory.id)].count(REPLAY_REASON) == 2


def test_an_interrupted_run_goes_on_with_its_own_choice(engram: Engram, clock: ManualClock) -> None:
    """Killed after the choice or in the middle, the same memories end as strong as without a kill."""
    some = [used(engram, engram.remember(f"Fact {name} about the harbour"), 8) for name in ("A7", "B9", "C4")]
    clock.advance(days=600)
    steps = 0

    def stops() -> bool:
        nonlocal steps
        steps += 1
        return steps > 4

    first = take(engram, ReplayStep(), is_stopped=stops)
    halfway = [engram.get(memory.id).strength for memory in some]
    take(engram, ReplayStep())

    assert not first.finished
    assert min(halfway) == 1.0
    assert {engram.get(memory.id).strength for memory in some} == {1.2}


def test_alike_memories_of_one_scope_are_linked(engram: Engram) -> None:
    """What is said elsewhere is never linked, however alike, and neither is what is about something else."""
    here = [engram.remember(text) for text in HARBOURS[:2]]
    engram.remember("A heap of unrelated things, such as yoghurt")
    engram.remember(HARBOURS[2], scope=Scope(user="other"))
    for memory in here:
        unlink(engram, memory)

    found = links(proposed(engram, ReplayStep(), policy=EASY))

    assert {frozenset((link.source.id, link.target.id)) for link in found} == {
        frozenset(memory.id for memory in here)
    }


def test_new_links_are_an_insight_once(engram: Engram) -> None:
    """Three new links or more move the memory they meet in, by a tenth each and up to 0.8, one time."""
    kept = [engram.remember(text) for text in HARBOURS]
    for memory in kept:
        unlink(engram, memory)

    take(engram, ReplayStep(), policy=EASY)
    moved = [engram.get(memory.id).affect.arousal for memory in kept]
    again = take(engram, ReplayStep(), policy=EASY)

    assert max(moved) == pytest.approx(kept[0].affect.arousal + 0.3, abs=0.01)
    assert counts(again) == {}


EASY = replace(
    PRESETS["balanced"], insight=InsightPolicy(replay_link_above=0.5, interference_above=1.0, replay_most=10)
)


def unlink(engram: Engram, memory: Memory) -> None:
    """Take away the links that capture made."""
    with engram._parts.store.atomic() as tx:
        for edge in tx.edges.of(memory.id):
            tx.edges.remove(edge.source, edge.target, edge.type)


def test_an_insight_needs_three_links_and_ends_at_its_most() -> None:
    """Two are company; with many the arousal stops at 0.8."""
    memory = aged(0, affect=Affect(arousal=0.1))

    assert arousal_after_insight(memory, 2) is None
    assert arousal_after_insight(memory, 3) == pytest.approx(0.4)
    assert arousal_after_insight(memory, 20) == 0.8
    assert arousal_after_insight(aged(0, affect=Affect(arousal=0.9)), 5) is None


@pytest.mark.parametrize(
    ("first", "second", "is_confusing"),
    [
        ("The staging server listens on port 8080", "The staging server listens on port 8090", True),
        ("The backup of Atlas runs on Monday", "The backup of Borealis runs on Friday", True),
        ("Our client in Oslo pays by invoice", "Our client in Bergen pays by invoice", True),
        ("I drink coffee in the morning", "In the morning I drink coffee", False),
        ("Anna likes tea", "Anna loves tea", False),
        ("The server listens on port 8080", "The server in Oslo listens on port 8080", False),
    ],
)
def test_memories_that_differ_in_a_detail_are_easily_confused(
    first: str, second: str, is_confusing: bool
) -> None:
    """Each holds a name or number that the other lacks; more detail or other words are no confusion."""
    assert differ_in_a_detail(first, second) is is_confusing
    assert differ_in_a_detail(second, first) is is_confusing


def test_easily_confused_memories_become_a_question(engram: Engram) -> None:
    """They are not linked as alike, which would make the confusion worse."""
    first = engram.remember("The backup of the Atlas archive runs on Monday at noon")
    second = engram.remember("The backup of the Borealis archive runs on Friday at noon")
    unlink(engram, first)
    sharp = replace(PRESETS["balanced"], insight=InsightPolicy(replay_link_above=0.4, interference_above=0.4))

    take(engram, ReplayStep(), policy=sharp)
    again = take(engram, ReplayStep(), policy=sharp)

    (gap,) = engram.gaps()
    assert gap.kind is GapKind.INTERFERENCE
    assert set(gap.memories) == {first.id, second.id}
    assert counts(again) == {}
    with engram._parts.store.read() as tx:
        assert not [edge for edge in tx.edges.of(first.id) if edge.type is EdgeType.SIMILAR_TO]


def test_what_came_from_others_is_replayed_first(engram: Engram, clock: ManualClock) -> None:
    """With room for one, a delivered memory goes before a fading one."""
    used(engram, engram.remember("The deployment key rotates on Mondays"), 8)
    received = engram.remember("The partner team freezes its release in May", source=Source.INGEST)
    clock.advance(days=600)
    one = replace(PRESETS["balanced"], insight=InsightPolicy(replay_most=1))

    take(engram, ReplayStep(), policy=one)

    with engram._parts.store.read() as tx:
        replayed = tx.memories.by_keys(list(tx.replays.since(NOW - timedelta(days=3650))))
    assert [memory.id for memory in replayed.values()] == [received.id]


def test_the_first_dream_links_what_is_older_than_a_day(engram: Engram, clock: ManualClock) -> None:
    """An old store that never dreamt is connected too, and not only what came in yesterday."""
    for harbour in HARBOURS:
        engram.remember(harbour)
    clock.advance(days=90)

    assert links(proposed(engram, ReplayStep()))


def test_what_one_dream_had_no_room_for_is_linked_by_later_ones(engram: Engram, clock: ManualClock) -> None:
    """The newest come first, and nothing waits for ever."""
    told = [engram.remember(harbour).id for harbour in HARBOURS]
    policy = PRESETS["balanced"]
    small = replace(policy, insight=replace(policy.insight, replay_most=1))
    clock.advance(days=90)
    for _ in told:
        take(engram, ReplayStep(), policy=small)
        clock.advance(days=2)

    with engram._parts.store.read() as tx:
        replayed = tx.memories.by_keys(list(tx.replays.since(NOW - timedelta(days=3650))))
    assert {memory.id for memory in replayed.values()} == set(told)
