"""A memory with every field set goes into the file and comes back equal."""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from engramdb import Engram, Memory, Scope, Settings
from engramdb.store.sqlite.rows import COLUMNS
from engramdb.testing import TinyEmbedder
from engramdb.values import (
    AccessLog,
    Affect,
    Detail,
    Provenance,
    SecurityTier,
    Source,
    Status,
    Traits,
    new_id,
)

texts = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12)
moments = st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
shares = st.floats(0, 1)
names = st.none() | st.text("abcé猫", min_size=1, max_size=5)
texts_tuple = st.lists(texts, max_size=3).map(tuple)

memories = st.builds(
    Memory,
    id=st.just(datetime(2026, 1, 1, tzinfo=UTC)).map(new_id),
    content=texts,
    created_at=moments,
    updated_at=moments,
    scope=st.builds(Scope, project=names, squad=names, agent=names, channel=names, user=names),
    status=st.sampled_from(Status),
    category=st.sampled_from(["fact", "my-own"]),
    subject=st.none() | texts,
    predicate=st.none() | texts,
    object=st.none() | texts,
    provenance=st.builds(
        Provenance,
        source=st.sampled_from(Source),
        speaker=st.none() | texts,
        session=st.none() | texts,
        turns=texts_tuple,
        episodes=texts_tuple,
    ),
    occurred_at=st.none() | moments,
    valid_from=st.none() | moments,
    valid_to=st.none() | moments,
    forget_after=st.none() | moments,
    confidence=shares,
    importance=shares,
    stability=st.floats(0, 1e6),
    strength=st.floats(0, 1e6),
    surprise=st.none() | shares,
    reinforcements=st.integers(0, 1000),
    affect=st.builds(Affect, valence=st.floats(-1, 1), intensity=shares, arousal=shares),
    access=st.builds(
        AccessLog,
        count=st.integers(0, 10**9),
        last_at=st.none() | moments,
        recent=st.lists(moments, max_size=20).map(tuple),
        sessions=st.integers(0, 100),
    ),
    pinned=st.booleans(),
    version=st.integers(1, 100),
    supersedes=st.none() | texts,
    superseded_by=st.none() | texts,
    security=st.sampled_from(SecurityTier),
    detail=st.builds(
        Detail,
        summary=st.none() | texts,
        key_fact=st.none() | texts,
        tag=st.none() | texts,
        tokens=st.dictionaries(texts, st.integers(0, 10_000), max_size=3),
    ),
    traits=st.builds(
        Traits,
        people=texts_tuple,
        technologies=texts_tuple,
        paths=texts_tuple,
        dates=texts_tuple,
        urls=texts_tuple,
        topics=texts_tuple,
        language=st.none() | texts,
        sentiment=st.none() | texts,
    ),
)


@given(memory=memories)
@settings(max_examples=80)
def test_a_memory_comes_back_as_it_went_in(memory: Memory) -> None:
    """Every field survives the file, through `add` and through `replace`."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Engram.open(
            Path(folder) / "memory.db",
            settings=Settings(durability="relaxed", policy="notebook"),
            embedder=TinyEmbedder(),
            background=False,
        ) as engram,
        engram._parts.store.atomic() as tx,
    ):
        tx.memories.add(memory, fingerprint=b"any")
        added = tx.memories.get(memory.id, scope=memory.scope)
        tx.memories.replace(msgspec.structs.replace(memory, version=memory.version + 1))
        replaced = tx.memories.get(memory.id, scope=memory.scope)

        assert added == memory
        assert replaced == msgspec.structs.replace(memory, version=memory.version + 1)


def test_every_field_of_a_memory_has_a_column() -> None:
    """A field that is added to `Memory` and not to the rows would be lost quietly; this says so."""
    flattened = {"provenance", "affect", "access", "scope"}
    parts = {*Provenance.__struct_fields__, *Affect.__struct_fields__}
    access = {f"access_{name}" for name in AccessLog.__struct_fields__}

    fields = set(Memory.__struct_fields__) - flattened | parts | access

    assert fields == set(COLUMNS)
