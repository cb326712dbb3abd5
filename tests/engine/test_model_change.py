"""A store whose embedding model was changed goes on answering by meaning while it is embedded anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engramdb import Engram, Settings

if TYPE_CHECKING:
    from pathlib import Path

STATEMENTS = [
    "The physician prescribed antibiotics for the infection",
    "The orchestra rehearses every Wednesday evening",
    "Rust is used for the storage engine",
    "The garden needs water twice a week in summer",
]
PARAPHRASE = "What medicine did the doctor give against the disease?"


def test_both_spaces_answer_until_the_new_one_is_complete(store_path: Path, e5_home: Path) -> None:
    """Nothing was embedded by the new model yet, and the paraphrase is found; the answer says what waits."""
    before = Settings(home=e5_home, embedder="static", policy="notebook")
    with Engram.open(store_path, settings=before, background=False) as engram:
        for statement in STATEMENTS:
            engram.remember(statement)

    after = Settings(home=e5_home, embedder="e5-small", policy="notebook")
    with Engram.open(store_path, settings=after, background=False) as engram:
        during = engram.recall(PARAPHRASE)
        embedded = engram.embed_pending()
        complete = engram.recall(PARAPHRASE)

    assert during.hits[0].memory.content == STATEMENTS[0]
    assert "vector" in {reason.index for reason in during.hits[0].reasons}
    assert [missing.index for missing in during.quality.missing] == ["vector"]
    assert embedded == len(STATEMENTS)
    assert complete.hits[0].memory.content == STATEMENTS[0]
    assert not complete.quality.is_degraded
