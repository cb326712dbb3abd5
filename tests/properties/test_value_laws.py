"""Laws of the values: statuses, edges, ids, vectors and fused lists."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engramdb.errors import EdgeNotAllowed, StatusNotAllowed
from engramdb.recall.fuse import fuse
from engramdb.store.contract import ScoredKey
from engramdb.store.sqlite.precision import quantize
from engramdb.values import Actor, ActorKind, Edge, EdgeType, Status, check_edge, check_move, new_id

NOW = datetime(2026, 1, 1, tzinfo=UTC)
RULE = Actor(name="aging", kind=ActorKind.RULE)


@given(path=st.lists(st.sampled_from(Status), min_size=1, max_size=12))
def test_rules_never_bring_a_memory_back(path: list[Status]) -> None:
    """Whatever moves rules try, a memory that left the living statuses never returns to them."""
    status, was_terminal = Status.ACTIVE, False
    for wanted in path:
        try:
            check_move(status, wanted, actor=RULE, reason="because")
        except StatusNotAllowed:
            continue
        status = wanted
        was_terminal = was_terminal or status.is_terminal

        assert not (was_terminal and status in (Status.ACTIVE, Status.CHALLENGED))


@given(old=st.sampled_from(Status), new=st.sampled_from(Status), kind=st.sampled_from(ActorKind))
def test_bringing_back_needs_a_reason_and_a_person(old: Status, new: Status, kind: ActorKind) -> None:
    """Without a reason nobody revives a memory, from `erased` nobody does, and a rule never does."""
    is_revival = old.is_terminal and not new.is_terminal
    if is_revival:
        with pytest.raises(StatusNotAllowed):
            check_move(old, new, actor=Actor(name="someone", kind=kind), reason=" ")
    if is_revival and kind is ActorKind.RULE:
        with pytest.raises(StatusNotAllowed):
            check_move(old, new, actor=Actor(name="someone", kind=kind), reason="a good one")
    if old is Status.ERASED or old is new:
        with pytest.raises(StatusNotAllowed):
            check_move(old, new, actor=Actor(name="someone", kind=kind), reason="a good one")


@given(
    wanted=st.lists(
        st.tuples(st.sampled_from("abcdef"), st.sampled_from("abcdef"), st.sampled_from(EdgeType)),
        max_size=30,
    )
)
def test_inference_never_runs_in_a_circle(wanted: list[tuple[str, str, EdgeType]]) -> None:
    """However many links are asked for, those that are allowed never lead back to where they began."""
    leads_to: dict[str, set[str]] = {name: set() for name in "abcdef"}
    for source, target, type_ in wanted:
        edge = Edge(source=source, target=target, type=type_, weight=0.5, created_at=NOW)
        try:
            check_edge(edge, lambda name: leads_to[name])
        except EdgeNotAllowed:
            continue
        if type_.is_inference:
            leads_to[source].add(target)

    assert all(name not in reachable(name, leads_to) for name in "abcdef")


def reachable(start: str, leads_to: dict[str, set[str]]) -> set[str]:
    """Every name that can be reached from one, by at least one step."""
    found: set[str] = set()
    waiting = [start]
    while waiting:
        for target in leads_to[waiting.pop()] - found:
            found.add(target)
            waiting.append(target)
    return found


@given(steps=st.lists(st.integers(0, 5), min_size=2, max_size=50))
def test_ids_sort_by_the_time_they_were_made(steps: list[int]) -> None:
    """With a clock that stands or moves on, every id is larger than those before it."""
    moments = [NOW + timedelta(milliseconds=sum(steps[:count])) for count in range(len(steps))]

    made = [new_id(moment) for moment in moments]

    assert made == sorted(made)
    assert len(set(made)) == len(made)
    assert all(len(one) == 36 and one[14] == "7" and one[19] in "89ab" for one in made)


def test_ten_thousand_ids_of_one_moment_sort_in_the_order_of_making() -> None:
    """A clock that stands still, as in a test or a bulk write, is no reason to lose the order."""
    made = [new_id(NOW) for _ in range(10_000)]

    assert made == sorted(made)


@given(rows=st.lists(st.lists(st.floats(-1, 1, width=32), min_size=16, max_size=16), min_size=1, max_size=8))
def test_eight_bits_are_off_by_half_a_step_at_most(rows: list[list[float]]) -> None:
    """Each number comes back within half of the row's largest number over 127."""
    vectors = np.array(rows, np.float32)

    stored = quantize(vectors)
    back = stored.numbers.astype(np.float32) * stored.scales[:, None]

    step = np.abs(vectors).max(axis=1, keepdims=True) / 127
    assert np.all(np.abs(back - vectors) <= step * 0.501 + 1e-7)


found = st.dictionaries(st.integers(1, 40), st.floats(0, 1), max_size=12).map(
    lambda scores: sorted((ScoredKey(key, score) for key, score in scores.items()), key=lambda f: -f.score)
)


@given(words=found, meaning=found, weight=st.floats(0, 1))
def test_fusing_loses_nothing(words: list[ScoredKey], meaning: list[ScoredKey], weight: float) -> None:
    """Every memory that an index found is in the fused list once, best first, scored in [0, 1]."""
    fused = fuse({"lexical": words, "vector": meaning}, {"lexical": 1 - weight, "vector": weight})

    keys = [one.key for one in fused]
    scores = [one.score for one in fused]
    assert sorted(keys) == sorted({one.key for one in (*words, *meaning)})
    assert scores == sorted(scores, reverse=True)
    assert all(-1e-9 <= score <= 1 + 1e-9 for score in scores)


@given(words=found, weight=st.floats(0, 1))
def test_one_index_alone_decides_alone(words: list[ScoredKey], weight: float) -> None:
    """Where only one index answered its scores are the result: a perfect match stays perfect."""
    fused = fuse({"lexical": words}, {"lexical": 1 - weight, "vector": weight})

    assert {one.key: one.score for one in fused} == pytest.approx({one.key: one.score for one in words})
