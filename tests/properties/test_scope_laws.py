"""Whatever is stored where and asked from wherever: no verb ever shows a memory from outside the scope."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from speaking import say

from engramdb import Engram, Filters, Scope, Settings, Status
from engramdb.errors import MemoryNotFound
from engramdb.testing import TinyEmbedder

if TYPE_CHECKING:
    from collections.abc import Iterator

WORDS = ["tea", "coffee", "the", "Lisbon", "猫", "v2.0"]

names = st.sampled_from([None, "a", "b"])
scopes = st.builds(Scope, project=names, squad=names, agent=names, channel=names, user=names)
statements = st.tuples(scopes, st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join))
queries = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)
EVERY_STATUS = Filters(statuses=frozenset(Status))


@contextmanager
def opened() -> Iterator[Engram]:
    """A memory in a folder of its own, gone afterwards."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Engram.open(
            Path(folder) / "memory.db",
            settings=Settings(durability="relaxed", policy="notebook"),
            embedder=TinyEmbedder(),
            background=False,
        ) as engram,
    ):
        yield engram


@given(stored=st.lists(statements, min_size=1, max_size=12), asked=scopes, query=queries)
def test_nothing_from_outside_the_scope_is_ever_shown(
    stored: list[tuple[Scope, str]], asked: Scope, query: str
) -> None:
    """Recall and list return memories that `Scope.sees` allows, and list returns all of those."""
    with opened() as engram:
        memories = {m.id: m for m in (engram.remember(text, scope=scope) for scope, text in stored)}

        recalled = engram.recall(query, scope=asked, limit=50, filters=EVERY_STATUS)
        listed = engram.list(scope=asked, limit=50)

        assert all(asked.sees(hit.memory.scope) for hit in recalled.hits)
        assert {one.id for one in listed} == {i for i, m in memories.items() if asked.sees(m.scope)}


@given(stored=st.lists(statements, min_size=1, max_size=8), asked=scopes)
def test_an_id_from_outside_the_scope_does_not_exist(stored: list[tuple[Scope, str]], asked: Scope) -> None:
    """Every verb that takes an id, whole or short, answers as if an invisible memory were not there."""
    with opened() as engram:
        memories = [engram.remember(text, scope=scope) for scope, text in stored]

        for memory in memories:
            if asked.sees(memory.scope):
                assert engram.get(memory.id, scope=asked).id == memory.id
                continue
            for verb in (engram.get, engram.history, engram.forget, engram.pin, engram.unpin):
                with pytest.raises(MemoryNotFound):
                    verb(memory.id, scope=asked)
            with pytest.raises(MemoryNotFound):
                engram.get(memory.id[-8:], scope=asked)
            with pytest.raises(MemoryNotFound):
                engram.correct(memory.id, "other", scope=asked)
            with pytest.raises(MemoryNotFound):
                engram.list(before=memory.id, scope=asked)


@given(stored=st.lists(statements, min_size=1, max_size=10), asked=scopes, other=scopes)
@settings(max_examples=30)
def test_an_answer_does_not_depend_on_what_others_stored(
    stored: list[tuple[Scope, str]], asked: Scope, other: Scope
) -> None:
    """What a scope may not see does not change which memories it is given, nor how the answer is judged."""
    visible = [(scope, text) for scope, text in stored if asked.sees(scope)]
    with opened() as alone, opened() as together:
        for scope, text in visible:
            alone.remember(text, scope=scope)
        for scope, text in stored:
            together.remember(text, scope=scope)

        first = alone.recall("tea Lisbon", scope=asked, limit=50)
        second = together.recall("tea Lisbon", scope=asked, limit=50)

        contents = [sorted(hit.memory.content for hit in answer.hits) for answer in (first, second)]
        assert contents[0] == contents[1]
        assert first.quality.missing == second.quality.missing


@given(said=st.lists(statements, min_size=1, max_size=12), asked=scopes, query=queries)
def test_nothing_that_was_said_outside_the_scope_is_ever_told(
    said: list[tuple[Scope, str]], asked: Scope, query: str
) -> None:
    """What recall tells of turns is the same, score for score, where nobody else ever said anything."""
    with opened() as alone, opened() as together:
        for engram, turns in ((alone, [one for one in said if asked.sees(one[0])]), (together, said)):
            for scope, text in turns:
                say(engram, text, scope=scope)

        first, second = (engram.recall(query, scope=asked) for engram in (alone, together))
        with together._parts.store.read() as tx:
            heard = [tx.turns.get(one.turn_id, scope=asked) for one in second.said]

        assert all(turn is not None and asked.sees(turn.scope) for turn in heard)
        assert [(one.excerpt, one.score) for one in first.said] == [
            (one.excerpt, one.score) for one in second.said
        ]


@given(first=scopes, second=scopes)
def test_visible_scopes_are_those_that_are_seen(first: Scope, second: Scope) -> None:
    """`visible` and `sees` are two ways to say the same."""
    assert (second in set(first.visible())) == first.sees(second)
