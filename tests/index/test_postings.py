"""What is kept of the text index says what the index itself would say, whatever has changed meanwhile."""

from __future__ import annotations

import random
from contextlib import suppress
from itertools import islice
from pathlib import Path

import pytest

from engramdb import Draft, Engram, Settings
from engramdb.erasable_cache import clear_caches
from engramdb.index import postings as module
from engramdb.index.postings import Postings
from engramdb.testing import TinyEmbedder
from engramdb.text.terms import query_terms
from engramdb.values import Filters, Scope
from evals.natural import natural_statements

ANN, BOB = Scope(user="ann"), Scope(user="bob")
LIMIT = 8


def open_store(path: Path) -> Engram:
    return Engram.open(path, settings=Settings(home=path.parent), embedder=TinyEmbedder(), background=False)


def assert_same(engram: Engram, kept: Postings, said: list[str], rng: random.Random) -> None:
    """Ask both for the words of some statements, in each scope, with and without a filter."""
    for text in rng.sample(said, 4):
        weights = {term: rng.random() for term in query_terms(text)}
        for scope in (Scope(), ANN, BOB):
            for filters in (Filters(), Filters(categories=frozenset({"fact"}))):
                with engram._parts.store.read() as tx:
                    found = kept.search(tx, weights, scope=scope, filters=filters, limit=LIMIT)
                    wanted = tx.terms.search(weights, scope=scope, filters=filters, limit=LIMIT)
                assert [one.key for one in found] == [one.key for one in wanted]
                assert [one.score for one in found] == pytest.approx([one.score for one in wanted])


@pytest.mark.parametrize("most_changed", [500, 3])
@pytest.mark.parametrize("has_roster", [True, False])
def test_kept_postings_follow_every_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most_changed: int, *, has_roster: bool
) -> None:
    """Adding, forgetting, correcting and erasing, here and through another handle of the same file."""
    monkeypatch.setattr(module, "MAX_CHANGED", most_changed)
    rng = random.Random(3)  # noqa: S311 - the same every time
    said = list(islice(natural_statements(), 160))
    with open_store(tmp_path / "m.db") as engram, open_store(tmp_path / "m.db") as other:
        stored, kept = [], Postings(engram._parts.spaces if has_roster else None)
        for start in range(0, 160, 16):
            drafts = [
                Draft(content=one, scope=rng.choice((Scope(), ANN, BOB))) for one in said[start : start + 16]
            ]
            stored += (engram if start % 32 else other).remember_many(drafts)
            assert_same(engram, kept, said[: start + 16], rng)
            gone = stored.pop(rng.randrange(len(stored)))
            engram.forget(gone.id, scope=gone.scope)
            changed = stored.pop(rng.randrange(len(stored)))
            other.correct(changed.id, f"{changed.content} And more.", scope=changed.scope)
            assert_same(engram, kept, said[: start + 16], rng)


def test_a_write_under_way_leaves_nothing_behind(tmp_path: Path) -> None:
    """What a write that is taken back would have changed is not kept."""
    kept = Postings()
    with open_store(tmp_path / "m.db") as engram:
        engram.remember("The heron nests by the mill.")
        store = engram._parts.store
        with suppress(RuntimeError), store.atomic() as tx:
            tx.terms.put(1, ["otter"])
            assert kept.search(tx, {"otter": 1.0}, scope=Scope(), filters=Filters(), limit=LIMIT)
            raise RuntimeError
        with store.read() as tx:
            assert not kept.search(tx, {"otter": 1.0}, scope=Scope(), filters=Filters(), limit=LIMIT)
            assert kept.search(tx, {"heron": 1.0}, scope=Scope(), filters=Filters(), limit=LIMIT)


def test_erasing_empties_what_is_kept(tmp_path: Path) -> None:
    """Terms are words, and words that were erased stay nowhere."""
    kept = Postings()
    with open_store(tmp_path / "m.db") as engram:
        engram.remember("The heron nests by the mill.")
        with engram._parts.store.read() as tx:
            kept.search(tx, {"heron": 1.0}, scope=Scope(), filters=Filters(), limit=LIMIT)
    assert kept._kept

    clear_caches()

    assert not kept._kept
