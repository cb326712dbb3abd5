"""Whatever kind of question is asked, under whatever policy: nothing from outside the scope is shown."""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engramdb import Engram, Scope, Settings
from engramdb.policy import PRESETS
from engramdb.policy.recall import STRATEGIES
from engramdb.testing import ManualClock, TinyEmbedder
from engramdb.values import Edge, EdgeType

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engramdb import Memory

WORDS = ["Anna", "Oslo", "tea", "harbour", "because", "March"]
QUESTIONS = ["Anna tea", "why Oslo?", "what happened in March?", "everything about Anna", "harbour"]

names = st.sampled_from([None, "a", "b"])
scopes = st.builds(Scope, project=names, user=names)
statements = st.tuples(
    scopes, st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join), st.sampled_from("st")
)


def link(one: Memory, two: Memory) -> Edge:
    """A strong link between two memories."""
    return Edge(source=one.id, target=two.id, type=EdgeType.RELATED_TO, weight=1.0, created_at=one.created_at)


def shown(engram: Engram, question: str, asked: Scope, clock: ManualClock) -> Iterator[Memory]:
    """Every memory that any way of asking shows."""
    for strategy in STRATEGIES:
        answer = engram.recall(question, scope=asked, limit=50, strategy=strategy, explain=True)
        yield from (hit.memory for hit in (*answer.hits, *answer.also_considered))
    past = engram.recall(question, scope=asked, limit=50, as_of=clock.now())
    yield from (hit.memory for hit in past.hits)
    for entry in engram.timeline(question, scope=asked).entries:
        yield entry.memory
        yield from (one for one in (entry.replaced, entry.disputed) if one is not None)
    yield from (outlook.memory for outlook in engram.forecast(days=400, scope=asked).soonest)


@pytest.mark.parametrize("policy", PRESETS)
@given(stored=st.lists(statements, min_size=2, max_size=8), asked=scopes, question=st.sampled_from(QUESTIONS))
@settings(max_examples=12, deadline=None)
def test_no_kind_of_question_shows_a_memory_of_another_scope(
    policy: str, stored: list[tuple[Scope, str, str]], asked: Scope, question: str
) -> None:
    """Sessions, links, the past, the future: every way leads only to what the scope may see."""
    clock = ManualClock()
    with (
        tempfile.TemporaryDirectory() as folder,
        Engram.open(
            Path(folder) / "memory.db",
            settings=Settings(durability="relaxed", policy=policy),
            embedder=TinyEmbedder(),
            clock=clock,
            background=False,
        ) as engram,
    ):
        memories = [engram.remember(text, scope=scope, session=session) for scope, text, session in stored]
        with engram._parts.store.atomic() as tx:  # links that cross scopes, as another agent's dream may make
            for one, two in itertools.pairwise(memories):
                if one.id != two.id:
                    tx.edges.add(link(one, two))

        for memory in shown(engram, question, asked, clock):
            assert asked.sees(memory.scope)
