"""What is derived can be thrown away: made anew from the memories, it gives the same answers."""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engramdb import Engram, Settings, Status
from engramdb.testing import ManualClock, TinyEmbedder

Answer: TypeAlias = list[tuple[str, float]]

words = st.sampled_from(["tea", "coffee", "Lisbon", "JWT", "猫", "naïve", "running", "v2.0", "🎉", "the"])
texts = st.lists(words, min_size=1, max_size=5).map(" ".join)
zones = st.integers(-12, 14).map(lambda hours: timezone(timedelta(hours=hours)))
moments = st.datetimes(datetime(2020, 1, 1), datetime(2025, 1, 1), timezones=zones)  # noqa: DTZ001
drafts = st.tuples(texts, st.sampled_from([None, "Ann", "Bob"]), st.none() | moments)
verbs = st.lists(st.tuples(st.sampled_from(["forget", "correct", "archive", "pin"]), texts), max_size=4)


@given(stored=st.lists(drafts, min_size=1, max_size=10), changes=verbs, query=texts)
def test_rebuilding_changes_no_answer(
    stored: list[tuple[str, str | None, datetime | None]], changes: list[tuple[str, str]], query: str
) -> None:
    """Dropping both indexes and making them anew gives the same hits with the same scores."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        with open_relaxed(path) as engram:
            for text, speaker, occurred_at in stored:
                engram.remember(text, speaker=speaker, occurred_at=occurred_at)
            change(engram, changes)
            before = [ask(engram, question) for question in (query, "tea", "May 2023 Ann")]

        with open_relaxed(path) as engram:
            with engram._parts.store.atomic() as tx:
                tx.terms.clear(version=0)
                tx.vectors.clear()
            engram.rebuild()
            after = [ask(engram, question) for question in (query, "tea", "May 2023 Ann")]

            assert after == before
            assert engram.doctor().ok


@given(stored=st.lists(drafts, min_size=1, max_size=8), changes=verbs)
@settings(max_examples=30)
def test_a_restart_changes_no_answer(
    stored: list[tuple[str, str | None, datetime | None]], changes: list[tuple[str, str]]
) -> None:
    """
    The index that grew with the writes and the one that is loaded from the file find the same; scores
    may differ a little, because how common a word is need not be counted anew after every write.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        with open_relaxed(path) as engram:
            for text, speaker, occurred_at in stored:
                engram.remember(text, speaker=speaker, occurred_at=occurred_at)
                ask(engram, "tea")
            change(engram, changes)
            before = ask(engram, "tea Lisbon")

        with open_relaxed(path) as engram:
            assert dict(ask(engram, "tea Lisbon")) == pytest.approx(dict(before), abs=0.1)


@given(stored=st.lists(drafts, min_size=1, max_size=10))
@settings(max_examples=30)
def test_replaying_the_same_history_gives_the_same_memory(
    stored: list[tuple[str, str | None, datetime | None]],
) -> None:
    """Two stores that were told the same in the same order hold and answer the same."""
    answers = []
    for _ in range(2):
        with tempfile.TemporaryDirectory() as folder, open_relaxed(Path(folder) / "memory.db") as engram:
            for text, speaker, occurred_at in stored:
                engram.remember(text, speaker=speaker, occurred_at=occurred_at)
            answers.append([(hit.memory.content, hit.score) for hit in engram.recall("tea Lisbon").hits])

    assert answers[0] == answers[1]


def open_relaxed(path: Path) -> Engram:
    """Open without background threads and without waiting for the disk."""
    return Engram.open(
        path,
        settings=Settings(durability="relaxed", policy="notebook"),
        clock=ManualClock(datetime(2026, 1, 1, tzinfo=UTC)),
        embedder=TinyEmbedder(),
        background=False,
    )


def change(engram: Engram, changes: list[tuple[str, str]]) -> None:
    """Make some changes to the newest memory, if one is left."""
    for verb, text in changes:
        active = engram.list(limit=1)
        if not active:
            return
        if verb == "correct":
            engram.correct(active[0].id, text)
        elif verb == "forget":
            engram.forget(active[0].id)
        elif verb == "pin":
            engram.pin(active[0].id)
        else:
            engram.set_status(active[0].id, Status.ARCHIVED)


def ask(engram: Engram, query: str) -> Answer:
    """The ids and scores of an answer, which must be whole."""
    answer = engram.recall(query, limit=50)
    assert not answer.quality.is_degraded
    return [(hit.memory.id, hit.score) for hit in answer.hits]
