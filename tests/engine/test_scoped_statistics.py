"""How rare a word is follows from what the asker may see: no score tells how often others use it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from engramdb import Draft, Engram, Filters, Scope, Settings
from engramdb.index.lexical import LexicalIndex
from engramdb.testing import TinyEmbedder
from engramdb.text.terms import query_terms

if TYPE_CHECKING:
    from pathlib import Path

EVE, BOB, TEAM = Scope(user="eve"), Scope(user="bob"), Scope(project="falcon")
QUESTION = "harpsichord practice on Tuesday"
OWN = ("harpsichord practice is on Tuesday", "the bakery opens on Tuesday", "choir practice was moved")


def open_store(path: Path) -> Engram:
    return Engram.open(path, settings=Settings(home=path.parent), embedder=TinyEmbedder(), background=False)


def scores(engram: Engram, scope: Scope) -> list[tuple[str, float]]:
    with engram._parts.store.read() as tx:
        found = LexicalIndex().search(tx, QUESTION, scope=scope, filters=Filters(), limit=10)
        memories = tx.memories.by_keys([one.key for one in found])
    return [(memories[one.key].content, one.score) for one in found]


@pytest.mark.parametrize("many", [1, 40])
def test_a_score_does_not_tell_how_often_others_use_a_word(tmp_path: Path, many: int) -> None:
    """Bob's memories of a harpsichord change nothing about the order, the scores or the weights of Eve's."""
    with open_store(tmp_path / "m.db") as engram:
        for content in OWN:
            engram.remember(content, scope=EVE)
        engram.remember("practice makes perfect")
        before = scores(engram, EVE)
        words = query_terms(QUESTION)
        with engram._parts.store.read() as tx:
            rarity = LexicalIndex().rarity(tx, words, scope=EVE)
        for number in range(many):
            engram.remember(f"harpsichord lesson {number} with practice", scope=BOB)
            engram.remember(f"harpsichord plan {number}", scope=TEAM)

        assert scores(engram, EVE) == before
        with engram._parts.store.read() as tx:
            assert LexicalIndex().rarity(tx, words, scope=EVE) == rarity
        assert engram.doctor().ok


def test_what_is_common_elsewhere_is_still_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A word that fills Bob's store and stands once in Eve's is found in Eve's by its score."""
    monkeypatch.setattr("engramdb.index.lexical.MAX_HOLDERS", 10)
    with open_store(tmp_path / "m.db") as engram:
        engram.remember_many(
            [Draft(content=f"harpsichord lesson {number}", scope=BOB) for number in range(60)]
        )
        for content in OWN:
            engram.remember(content, scope=EVE)

        assert scores(engram, EVE)[0][0] == OWN[0]


def test_counts_follow_every_change_and_survive_a_rebuild(tmp_path: Path) -> None:
    """Remembered, corrected, forgotten and erased words are counted as the index holds them."""
    with open_store(tmp_path / "m.db") as engram:
        kept = [engram.remember(content, scope=EVE) for content in OWN]
        engram.correct(kept[1].id, "the bakery opens on Friday", scope=EVE)
        engram.forget(kept[2].id, scope=EVE)
        engram.erase(engram.remember("harpsichord for sale", scope=EVE).id, scope=EVE)
        words = query_terms("harpsichord practice tuesday friday choir sale bakery")
        with engram._parts.store.read() as tx:
            counted = tx.terms.statistics(words, scope=EVE)
        engram.rebuild()
        with engram._parts.store.read() as tx:
            again = tx.terms.statistics(words, scope=EVE)
            held = {word: len(tx.terms.holders(word, scope=EVE)) for word in words}

    assert counted == again
    assert counted.frequencies == held
    assert counted.frequencies["choir"] == counted.frequencies["sale"] == 0
