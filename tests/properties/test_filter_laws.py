"""A filter lets the same memories through wherever it is applied: in SQL, in the roster, in plain Python."""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from engram import Draft, Engram, Filters, Kind, Layer, Memory, MemoryType, Scope, Settings, Status
from engram.index.roster import Roster
from engram.testing import ManualClock, TinyEmbedder

START = datetime(2026, 1, 1, tzinfo=UTC)
CATEGORIES = ["fact", "preference", "my-own", "general"]

names = st.sampled_from([None, "a", "b"])
scopes = st.builds(Scope, project=names, user=names)
# Around the same microsecond, where rounding would show.
moments = st.integers(-3, 3).map(lambda n: START + timedelta(microseconds=n * 333_333))
marks = st.tuples(
    scopes,
    st.sampled_from(Layer),
    st.sampled_from(MemoryType),
    st.sampled_from(Kind),
    st.sampled_from(CATEGORIES),
    st.sampled_from([Status.ACTIVE, Status.ACTIVE, Status.ARCHIVED, Status.CHALLENGED, Status.SUPERSEDED]),
    st.none() | moments,
)
filters = st.builds(
    Filters,
    statuses=st.frozensets(st.sampled_from(Status)),
    layers=st.frozensets(st.sampled_from(Layer), max_size=2),
    types=st.frozensets(st.sampled_from(MemoryType), max_size=2),
    kinds=st.frozensets(st.sampled_from(Kind), max_size=1),
    categories=st.frozensets(st.sampled_from([*CATEGORIES, "unheard-of"]), max_size=2),
    since=st.none() | moments,
    until=st.none() | moments,
)


def passes(memory: Memory, filters: Filters, scope: Scope) -> bool:
    """The filter in plain Python, as its documentation reads."""
    return (
        scope.sees(memory.scope)
        and memory.status in filters.statuses
        and (not filters.layers or memory.layer in filters.layers)
        and (not filters.types or memory.type in filters.types)
        and (not filters.kinds or memory.kind in filters.kinds)
        and (not filters.categories or memory.category in filters.categories)
        and (filters.since is None or memory.when >= filters.since)
        and (filters.until is None or memory.when < filters.until)
    )


@given(stored=st.lists(marks, min_size=1, max_size=14), asked=filters, scope=scopes)
def test_the_roster_the_store_and_the_definition_agree(
    stored: list[tuple[Scope, Layer, MemoryType, Kind, str, Status, datetime | None]],
    asked: Filters,
    scope: Scope,
) -> None:
    """For random memories and random filters three implementations choose the same memories."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Engram.open(
            Path(folder) / "memory.db",
            settings=Settings(durability="relaxed", policy="notebook"),
            clock=ManualClock(START),
            embedder=TinyEmbedder(),
            background=False,
        ) as engram,
    ):
        drafts = [
            Draft(
                content=f"tea {number}",
                scope=where,
                layer=layer,
                type=type_,
                kind=kind,
                category=category,
                occurred_at=at,
            )
            for number, (where, layer, type_, kind, category, _, at) in enumerate(stored)
        ]
        for memory, (*_, status, _at) in zip(list(engram.remember_many(drafts)), stored, strict=True):
            if status is not Status.ACTIVE:
                engram.set_status(memory.id, status, scope=memory.scope)

        with engram._parts.store.read() as tx:
            memories = tx.memories.by_keys(list(range(1, len(stored) + 1)))
            expected = {key for key, memory in memories.items() if passes(memory, asked, scope)}
            listed = {m.id for m in tx.memories.list(scope=scope, filters=asked, limit=50, before=None)}
            searched = {one.key for one in tx.terms.newest("tea", scope=scope, filters=asked, limit=50)}
            roster, space = Roster(), tx.vectors.space(TinyEmbedder.identity)
            assert space is not None
            roster.apply(tx.vectors.changes(space, dimension=64, since=0, limit=50))
            columns = roster.columns()
            mask = roster.mask(columns, scopes=tx.scopes.visible(scope), filters=asked)
        recalled = {hit.memory.id for hit in engram.recall("tea", scope=scope, filters=asked, limit=50).hits}

        assert set(columns.keys[mask].tolist()) == expected
        assert searched == expected
        assert listed == {memories[key].id for key in expected}
        assert recalled == listed
