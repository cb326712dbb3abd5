"""Activation spreads over links: the strongest way counts, and nothing passes what the reader may not see."""

from __future__ import annotations

import tempfile
import threading
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import apsw
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engramdb.errors import StoreCorrupt
from engramdb.index.graph import STEP_ROWS, Graph, GraphIndex, Steps
from engramdb.store.contract import EdgeColumns
from engramdb.store.sqlite.edges import MAX_REMOVAL_AGE_CHANGES
from engramdb.store.sqlite.store import SqliteStore
from engramdb.values import (
    GLOBAL,
    Edge,
    EdgeType,
    Entity,
    EntityType,
    Filters,
    Layer,
    Memory,
    Scope,
    Status,
    new_id,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from engramdb.store.contract import ScoredKey

NOW = datetime(2026, 1, 1, tzinfo=UTC)
RELATED = EdgeType.SUPPORTS
ANN, BOB = Scope(user="ann"), Scope(user="bob")
EVERY_STATUS = Filters(statuses=frozenset(Status))


@dataclass
class World:
    """A store to link memories in, which are named by their keys: 1, 2, 3 and so on."""

    path: Path
    ids: list[str] = field(default_factory=lambda: [""])

    def __post_init__(self) -> None:
        self.store = SqliteStore.open(str(self.path), now=NOW, is_durable=False)

    def keep(
        self,
        count: int = 1,
        *,
        scope: Scope = GLOBAL,
        status: Status = Status.ACTIVE,
        layer: Layer = Layer.EPISODIC,
    ) -> None:
        """Store so many memories."""
        with self.store.atomic() as tx:
            for _ in range(count):
                memory = Memory(
                    id=new_id(NOW),
                    content="A statement.",
                    created_at=NOW,
                    updated_at=NOW,
                    scope=scope,
                    status=status,
                    layer=layer,
                )
                assert tx.memories.add(memory, fingerprint=memory.id.encode()) == len(self.ids)
                self.ids.append(memory.id)

    def link(self, a: int, b: int, weight: float = 1.0, *, kind: EdgeType = RELATED) -> None:
        """Link one memory to another."""
        edge = Edge(source=self.ids[a], target=self.ids[b], type=kind, weight=weight, created_at=NOW)
        with self.store.atomic() as tx:
            tx.edges.add(edge)

    def unlink(self, a: int, b: int, *, kind: EdgeType = RELATED) -> None:
        """Take a link away."""
        with self.store.atomic() as tx:
            tx.edges.remove(self.ids[a], self.ids[b], kind)

    def mention(self, name: str, *keys: int) -> None:
        """Let memories speak of a new entity."""
        entity = Entity(
            id=new_id(NOW),
            name=name,
            type=EntityType.PERSON,
            scope=GLOBAL,
            first_seen=NOW,
            last_seen=NOW,
            mentions=0,
        )
        with self.store.atomic() as tx:
            tx.entities.add(entity)
            for key in keys:
                tx.entities.link(entity.id, self.ids[key], name=name, at=NOW)

    def pass_time(self, changes: int) -> None:
        """Let so many changes of links go by, as if others had made and undone them."""
        with closing(apsw.Connection(str(self.path))) as connection:
            sql = "UPDATE counters SET value = value + ? WHERE name = 'edge_change'"
            connection.execute(sql, (changes,))

    def activate(
        self,
        seeds: Mapping[int, float],
        *,
        index: GraphIndex | None = None,
        scope: Scope = GLOBAL,
        filters: Filters = Filters(),
        limit: int = 50,
        hops: int = 2,
        types: frozenset[EdgeType] | None = None,
        through_entities: bool = False,
    ) -> dict[int, float]:
        """What is reached, strongest first, by an index that has not read anything yet if none is given."""
        with self.store.read() as tx:
            found = (index or GraphIndex()).activate(
                tx,
                seeds,
                scope=scope,
                filters=filters,
                limit=limit,
                hops=hops,
                types=types,
                through_entities=through_entities,
            )
        return as_dict(found)


def as_dict(found: Sequence[ScoredKey]) -> dict[int, float]:
    """Keys and scores, in order."""
    return {one.key: one.score for one in found}


@pytest.fixture
def world(store_path: Path) -> Iterator[World]:
    """An empty world."""
    made = World(store_path)
    yield made
    made.store.close()


def test_every_hop_costs_the_decay_and_the_weight_of_the_link(world: World) -> None:
    """Two links away a memory has 0.36 of the seed's activation, times both weights."""
    world.keep(3)
    world.link(1, 2, 0.9)
    world.link(2, 3, 0.8)

    reached = world.activate({1: 0.5})

    assert reached == pytest.approx({2: 0.5 * 0.6 * 0.9, 3: 0.5 * 0.36 * 0.9 * 0.8})


def test_links_are_walked_both_ways(world: World) -> None:
    """Where a link began does not matter to what belongs together."""
    world.keep(3)
    world.link(2, 1)
    world.link(3, 2)

    assert list(world.activate({1: 1.0})) == [2, 3]


def test_the_strongest_way_counts_and_not_the_sum(world: World) -> None:
    """Three weak ways to a memory are no better than the best of them."""
    world.keep(5)
    for seed, weight in ((1, 0.5), (2, 0.25), (3, 0.75)):
        world.link(seed, 5, weight)

    reached = world.activate({1: 1.0, 2: 1.0, 3: 0.5, 4: 1.0})

    assert reached == pytest.approx({5: 0.6 * 0.5})


def test_a_longer_way_may_be_the_stronger(world: World) -> None:
    """A weak direct link does not hide two strong ones."""
    world.keep(3)
    world.link(1, 3, 0.25)
    world.link(1, 2)
    world.link(2, 3)

    assert world.activate({1: 1.0}) == pytest.approx({2: 0.6, 3: 0.36})


def test_it_goes_as_many_hops_as_asked(world: World) -> None:
    """Two hops as a rule, three for a chain of causes."""
    world.keep(5)
    for key in range(1, 5):
        world.link(key, key + 1)

    assert list(world.activate({1: 1.0}, hops=1)) == [2]
    assert list(world.activate({1: 1.0}, hops=2)) == [2, 3]
    assert list(world.activate({1: 1.0}, hops=3)) == [2, 3, 4]


def test_what_falls_below_the_floor_goes_no_further(world: World) -> None:
    """A memory with too little activation is not found, nor is what only it leads to."""
    world.keep(4)
    world.link(1, 2, 0.15)  # 0.09
    world.link(2, 3)
    world.link(4, 3)

    assert world.activate({1: 1.0}) == {}
    assert world.activate({1: 1.0, 4: 0.09}) == {}


def test_a_circle_comes_to_an_end(world: World) -> None:
    """However many hops are asked for, nobody's activation grows by going round."""
    world.keep(3)
    for a, b in ((1, 2), (2, 3), (3, 1)):
        world.link(a, b)

    assert world.activate({1: 1.0}, hops=10_000) == pytest.approx({2: 0.6, 3: 0.6})


def test_seeds_are_not_found_by_their_own_activation(world: World) -> None:
    """What the caller has already is not returned, though it passes on what reaches it."""
    world.keep(3)
    world.link(1, 2)
    world.link(2, 3)

    assert world.activate({1: 1.0, 2: 0.2}) == pytest.approx({3: 0.36})


def test_what_was_replaced_leads_to_what_replaced_it_and_never_back(world: World) -> None:
    """Even a reader who may see old statements is not led to them by the correction."""
    world.keep(1)
    world.keep(1, status=Status.SUPERSEDED)
    world.link(1, 2, kind=EdgeType.SUPERSEDES)

    assert world.activate({1: 1.0}, filters=EVERY_STATUS) == {}
    assert world.activate({2: 1.0}, filters=EVERY_STATUS) == pytest.approx({1: 0.6})


def test_a_dispute_counts_half(world: World) -> None:
    """What contradicts a memory is shown with it, from either side, but seldom leads further."""
    world.keep(2)
    world.link(1, 2, kind=EdgeType.CONTRADICTS)

    assert world.activate({1: 1.0}) == pytest.approx({2: 0.3})
    assert world.activate({2: 1.0}) == pytest.approx({1: 0.3})


def test_only_the_types_that_are_asked_for_are_walked(world: World) -> None:
    """A question for causes follows causes."""
    world.keep(3)
    world.link(1, 2, kind=EdgeType.CAUSED_BY)
    world.link(1, 3)

    assert list(world.activate({1: 1.0}, types=frozenset({EdgeType.CAUSED_BY}))) == [2]
    assert world.activate({1: 1.0}, types=frozenset()) == {}


def test_the_strongest_come_first_and_the_limit_cuts_the_rest(world: World) -> None:
    """Equal ones come in the order they were stored, so the same question gives the same answer."""
    world.keep(6)
    for key, weight in ((2, 0.5), (3, 0.75), (4, 0.5), (5, 0.25), (6, 1.0)):
        world.link(1, key, weight)

    assert list(world.activate({1: 1.0})) == [6, 3, 2, 4, 5]
    assert list(world.activate({1: 1.0}, limit=3)) == [6, 3, 2]


def test_of_many_equals_the_limit_keeps_the_first(world: World) -> None:
    """Where more are equally strong than are wanted, the order they were stored in decides."""
    world.keep(9)
    for key in (9, 3, 8, 2, 7, 4, 6, 5):
        world.link(1, key)

    assert list(world.activate({1: 1.0}, limit=2)) == [2, 3]


def test_a_strong_memory_further_away_is_preferred_to_a_weak_one_next_door(world: World) -> None:
    """Having found as many as are wanted does not stop the search for stronger ones."""
    world.keep(4)
    world.link(1, 2)
    world.link(1, 3, 0.25)
    world.link(2, 4)

    assert list(world.activate({1: 1.0}, limit=2)) == [2, 4]


def test_nothing_passes_through_what_the_reader_may_not_see(world: World) -> None:
    """Bob's memory between two of everyone's is no bridge for Ann, but is one for Bob."""
    world.keep(1)
    world.keep(1, scope=BOB)
    world.keep(1)
    world.link(1, 2)
    world.link(2, 3)

    assert world.activate({1: 1.0}, scope=ANN) == {}
    assert list(world.activate({1: 1.0}, scope=BOB)) == [2, 3]


def test_a_seed_that_the_reader_may_not_see_gives_nothing(world: World) -> None:
    """Knowing a key is not permission to look around from there."""
    world.keep(1, scope=BOB)
    world.keep(1)
    world.link(1, 2)

    assert world.activate({1: 1.0}, scope=ANN) == {}


@pytest.mark.parametrize("status", [Status.FORGOTTEN, Status.SUPERSEDED, Status.ARCHIVED])
def test_nothing_passes_through_what_is_not_asked_for_in_its_status(world: World, status: Status) -> None:
    """A forgotten memory does not go on linking others."""
    world.keep(1)
    world.keep(1, status=status)
    world.keep(1)
    world.link(1, 2)
    world.link(2, 3)

    assert world.activate({1: 1.0}) == {}
    assert list(world.activate({1: 1.0}, filters=EVERY_STATUS)) == [2, 3]


def test_other_filters_choose_what_is_returned_and_not_what_is_passed(world: World) -> None:
    """A procedure is found through an episode, which the filter keeps out of the answer."""
    world.keep(2)
    world.keep(1, layer=Layer.PROCEDURAL)
    world.link(1, 2)
    world.link(2, 3)

    found = world.activate({1: 1.0}, filters=Filters(layers=frozenset({Layer.PROCEDURAL})))

    assert found == pytest.approx({3: 0.36})


def test_many_hidden_neighbours_do_not_crowd_out_a_visible_one(world: World) -> None:
    """The limit counts what the reader may see, however strong the rest is."""
    world.keep(1)
    world.keep(200, scope=BOB)
    world.keep(1)
    for key in range(2, 202):
        world.link(1, key)
    world.link(1, 202, 0.25)

    assert world.activate({1: 1.0}, limit=1) == pytest.approx({202: 0.15})


def test_memories_that_speak_of_the_same_are_linked_if_asked(world: World) -> None:
    """A name that only two memories share leads from one to the other, at 0.6 times 0.63."""
    world.keep(2)
    world.mention("Anna", 1, 2)

    assert world.activate({1: 1.0}) == {}
    assert world.activate({1: 1.0}, through_entities=True) == pytest.approx({2: 0.6 / np.log2(3)})


def test_the_more_speak_of_an_entity_the_less_it_links(world: World) -> None:
    """A name that seven share leads less far than one that two do, and one that seventy do leads nowhere."""
    world.keep(80)
    world.mention("Anna", *range(1, 3))
    world.mention("Maria", 1, *range(3, 9))
    world.mention("Everyone", 1, *range(9, 79))

    reached = world.activate({1: 1.0}, through_entities=True, limit=100)

    assert list(reached) == list(range(2, 9))
    assert reached[3] == pytest.approx(0.6 / np.log2(8))


def test_entities_do_not_link_what_the_reader_may_not_see(world: World) -> None:
    """Neither is a hidden memory found through a name, nor what lies behind it."""
    world.keep(1)
    world.keep(1, scope=BOB)
    world.keep(1)
    world.mention("Anna", 1, 2)
    world.link(2, 3)

    assert world.activate({1: 1.0}, scope=ANN, through_entities=True) == {}


def test_changes_of_another_open_store_are_seen_by_the_next_question(world: World) -> None:
    """A link that is made, weighed anew or taken away elsewhere counts at once, also when it comes back."""
    world.keep(30)
    for key in range(3, 30):
        world.link(key, key + 1)
    index = GraphIndex()
    before = world.activate({1: 1.0}, index=index)
    other = World(world.path, world.ids)

    other.link(1, 2, 0.5)
    made = world.activate({1: 1.0}, index=index)
    other.link(1, 2, 1.0)
    weighed = world.activate({1: 1.0}, index=index)
    other.unlink(1, 2)
    removed = world.activate({1: 1.0}, index=index)
    other.link(2, 1, 0.25)
    back = world.activate({1: 1.0}, index=index)
    other.store.close()

    assert (before, removed) == ({}, {})
    assert [one.get(2) for one in (made, weighed, back)] == pytest.approx([0.3, 0.6, 0.15])


def test_an_index_that_missed_a_removal_reads_everything_again(world: World) -> None:
    """However long a process slept, a link that was taken away meanwhile is gone."""
    world.keep(3)
    world.link(1, 2)
    world.link(1, 3)
    index = GraphIndex()
    world.activate({1: 1.0}, index=index)

    world.unlink(1, 2)
    world.pass_time(MAX_REMOVAL_AGE_CHANGES)
    world.unlink(1, 3)
    with world.store.read() as tx:
        _, in_the_feed = tx.edges.changes(since=0, limit=10)

    assert (1, 2) not in list(zip(in_the_feed.sources, in_the_feed.targets, strict=True))
    assert world.activate({1: 1.0}, index=index) == {}
    assert index.state().edges == 0


def test_a_graph_that_is_not_loaded_yet_answers_from_the_store(world: World) -> None:
    """While much is still to be read, the answers are the same, and nothing is read for them."""
    world.keep(5)
    for a, b, weight in ((1, 2, 0.75), (3, 2, 0.5), (3, 4, 1.0), (1, 5, 0.5)):
        world.link(a, b, weight)
    small = world.activate({1: 1.0}, hops=3)
    world.pass_time(STEP_ROWS)
    index = GraphIndex()

    meanwhile = world.activate({1: 1.0}, index=index, hops=3)
    was_loaded = index.state().is_loaded
    index.load(world.store, stop=threading.Event())

    assert meanwhile == small
    assert not was_loaded
    assert index.state().is_loaded
    assert index.state().edges == 4
    assert world.activate({1: 1.0}, index=index, hops=3) == small


def test_loading_stops_when_it_is_told_to(world: World) -> None:
    """Closing does not wait for a graph to be read."""
    world.keep(2)
    world.link(1, 2)
    index, stop = GraphIndex(), threading.Event()
    stop.set()

    index.load(world.store, stop=stop)

    assert not index.state().is_loaded


def test_a_question_that_was_first_is_not_undone_by_loading(world: World) -> None:
    """An index that has caught up by itself stays where it is when the background comes late."""
    world.keep(3)
    world.link(1, 2)
    index = GraphIndex()
    world.activate({1: 1.0}, index=index)

    index.load(world.store, stop=threading.Event())
    world.link(1, 3)

    assert list(world.activate({1: 1.0}, index=index)) == [2, 3]


def test_a_snapshot_finds_what_it_can_see(world: World) -> None:
    """A question inside an older snapshot does not meet a memory that the index knows and it does not."""
    world.keep(2)
    world.link(1, 2)
    index = GraphIndex()

    with world.store.read() as old:
        old.memories.count()
        writer = threading.Thread(target=link_one_more, args=(world, index))
        writer.start()
        writer.join()
        found = index.activate(old, {1: 1.0}, scope=GLOBAL, filters=Filters(), limit=10)

    assert as_dict(found) == pytest.approx({2: 0.6})
    assert list(world.activate({1: 1.0}, index=index)) == [2, 3]


def link_one_more(world: World, index: GraphIndex) -> None:
    """Store a third memory, link it, and bring the index up to it."""
    world.keep(1)
    world.link(1, 3)
    world.activate({1: 1.0}, index=index)


def test_a_link_of_unknown_type_is_damage(world: World) -> None:
    """A file that was changed from outside is not walked as if nothing were wrong."""
    world.keep(2)
    world.link(1, 2)
    with closing(apsw.Connection(str(world.path))) as connection:
        connection.execute("UPDATE edges SET type = 'owes_money_to'")

    with pytest.raises(StoreCorrupt):
        world.activate({1: 1.0})


# What follows are laws, tried on random small graphs.

WEIGHTS = st.integers(0, 16).map(
    lambda sixteenths: sixteenths / 16
)  # exact in the index, where they are short
COUNT = 9
keys = st.integers(1, COUNT)
links = st.tuples(keys, keys, st.sampled_from([RELATED, EdgeType.NEXT, EdgeType.CONTRADICTS]), WEIGHTS)
marks = st.tuples(
    st.sampled_from([GLOBAL, ANN, BOB]), st.sampled_from([Status.ACTIVE, Status.ACTIVE, Status.FORGOTTEN])
)
LinkMap = dict[tuple[int, int, EdgeType], float]


def spread_plainly(
    edges: LinkMap, seeds: Mapping[int, float], *, among: set[int], hops: int
) -> dict[int, float]:
    """The definition: round after round over all links between the memories that may be seen."""
    levels = {key: level for key, level in seeds.items() if key in among and level >= 0.1}
    for _ in range(hops):
        after = dict(levels)
        for (source, target, kind), weight in edges.items():
            share = 0.5 if kind is EdgeType.CONTRADICTS else 1.0
            for a, b in ((source, target), (target, source)):
                gain = levels.get(a, 0.0) * 0.6 * share * weight
                if b in among and gain >= 0.1:
                    after[b] = max(after.get(b, 0.0), gain)
        levels = after
    return {key: level for key, level in levels.items() if key not in seeds}


@given(
    marked=st.lists(marks, min_size=COUNT, max_size=COUNT),
    linked=st.lists(links, max_size=24),
    seeds=st.dictionaries(keys, st.sampled_from([1.0, 0.75, 0.25, 0.05]), max_size=4),
    scope=st.sampled_from([GLOBAL, ANN, BOB]),
    size=st.tuples(st.integers(0, 4), st.integers(1, COUNT)),
)
def test_only_what_can_be_reached_through_visible_memories_is_found(
    marked: list[tuple[Scope, Status]],
    linked: list[tuple[int, int, EdgeType, float]],
    seeds: dict[int, float],
    scope: Scope,
    size: tuple[int, int],
) -> None:
    """As if hidden memories and their links did not exist: same memories, same activation, same order."""
    hops, limit = size
    edges = {(a, b, kind): weight for a, b, kind, weight in linked if a != b}
    visible = {
        key
        for key, (owner, status) in enumerate(marked, start=1)
        if scope.sees(owner) and status is Status.ACTIVE
    }
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder) / "memory.db")
        for owner, status in marked:
            world.keep(scope=owner, status=status)
        for (a, b, kind), weight in edges.items():
            world.link(a, b, weight, kind=kind)

        reached = world.activate(seeds, scope=scope, hops=hops, limit=limit)
        world.store.close()

    expected = spread_plainly(edges, seeds, among=visible, hops=hops)
    best = sorted(expected, key=lambda key: (-expected[key], key))[:limit]
    assert set(reached) <= visible
    assert list(reached) == best
    assert reached == pytest.approx({key: expected[key] for key in best})


@given(
    before=st.lists(links, max_size=12),
    batches=st.lists(st.lists(links, min_size=1, max_size=6), max_size=5),
    seed=keys,
)
def test_catching_up_is_the_same_as_reading_everything(
    before: list[tuple[int, int, EdgeType, float]],
    batches: list[list[tuple[int, int, EdgeType, float]]],
    seed: int,
) -> None:
    """An index that asked after every batch of changes knows what one that reads all of it knows."""
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder) / "memory.db")
        world.keep(COUNT + 40)
        for key in range(COUNT + 1, COUNT + 40):  # so many that the few which change are set apart
            world.link(key, key + 1)
        follower = GraphIndex()
        edges: LinkMap = {}
        for batch in [before, *batches]:
            edges |= change(world, batch)
            followed = world.activate({seed: 1.0}, index=follower, hops=3)
        anew = world.activate({seed: 1.0}, hops=3)
        counts = follower.state().edges
        world.store.close()

    everything = set(range(1, COUNT + 41))
    assert followed == anew
    assert followed == pytest.approx(spread_plainly(edges, {seed: 1.0}, among=everything, hops=3))
    assert counts == 39 + sum(weight > 0 for weight in edges.values())


def change(world: World, batch: Sequence[tuple[int, int, EdgeType, float]]) -> LinkMap:
    """Make, weigh anew or, where the weight is 0, take away links, and return them as they are now."""
    edges = {}
    for a, b, kind, weight in batch:
        if a == b:
            continue
        if weight > 0:
            world.link(a, b, weight, kind=kind)
        else:
            world.unlink(a, b, kind=kind)
        edges[a, b, kind] = weight
    return edges


@given(batches=st.lists(st.lists(links, min_size=1, max_size=8), min_size=1, max_size=12))
def test_a_graph_holds_the_last_word_on_every_link(
    batches: list[list[tuple[int, int, EdgeType, float]]],
) -> None:
    """However changes are cut into batches, and whoever is set apart, each link is as it was last told."""
    ring = [(key, key + 1, EdgeType.SUPPORTS, 1.0) for key in range(COUNT + 1, COUNT + 100)]
    graph = Graph().after(Steps.along(columns(ring)))
    told = {(a, b, kind): weight for a, b, kind, weight in ring}

    for batch in batches:
        graph = graph.after(Steps.along(columns(batch)))
        told |= {(a, b, kind): weight for a, b, kind, weight in batch}

    every = np.arange(COUNT + 102)
    alive = {link: weight for link, weight in told.items() if weight > 0}
    there = sorted((a, b, weight) for (a, b, _), weight in alive.items())
    back = sorted((b, a, weight) for (a, b, _), weight in alive.items())
    steps = graph.steps_from(every)
    walked = zip(steps.origins.tolist(), steps.others.tolist(), steps.weights.tolist(), strict=True)
    assert sorted(walked) == sorted(there + back)
    assert len(graph) == len(alive)


def columns(rows: Sequence[tuple[int, int, EdgeType, float]]) -> EdgeColumns:
    """Links as the store tells them."""
    sources, targets, types, weights = zip(*rows, strict=True)
    return EdgeColumns(
        np.array(sources, np.int64), np.array(targets, np.int64), list(types), np.array(weights, np.float32)
    )


@pytest.mark.parametrize("likeness", [EdgeType.RELATED_TO, EdgeType.SIMILAR_TO])
def test_a_link_of_likeness_carries_less(world: World, likeness: EdgeType) -> None:
    """What is linked for being alike was mostly found for being alike."""
    world.keep(3)
    world.link(1, 2)
    world.link(1, 3, kind=likeness)

    found = world.activate({1: 1.0})

    assert found == pytest.approx({2: 0.6, 3: 0.18})
