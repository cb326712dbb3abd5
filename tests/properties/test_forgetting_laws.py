"""Forgetting is immediate, reaches every index, and is final."""

from __future__ import annotations

import tempfile
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw
from hypothesis import given
from hypothesis import strategies as st

from engramdb import Engram, Scope, Settings, Status
from engramdb.testing import TinyEmbedder
from engramdb.text.terms import terms

if TYPE_CHECKING:
    from engramdb import Recall

SHADOW_TABLES = ("terms_data", "terms_idx", "terms_content", "terms_docsize", "scope_terms")

# Letters that are one letter in every Unicode form: ŀ would be cut in two, and a word would be several terms.
letters = st.characters(categories=["Ll"], max_codepoint=0x24F).filter(
    lambda letter: unicodedata.normalize("NFKC", letter) == letter
)
words = st.text(letters, min_size=4, max_size=9)


@given(codeword=words, others=st.lists(words, max_size=6, unique=True), is_corrected=st.booleans())
def test_a_forgotten_word_is_in_no_index(codeword: str, others: list[str], is_corrected: bool) -> None:
    """After forget the word is found by no verb and is in no row of the text index, whatever came before."""
    codeword = "zq" + codeword
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        with open_relaxed(path) as engram:
            for other in others:
                engram.remember(f"a note about {other}")
            memory = engram.remember(f"the codeword is {codeword}")
            if is_corrected:
                memory = engram.correct(memory.id, f"the right codeword is {codeword}zz")
            wanted = terms(memory.content)[-1]

            engram.forget(memory.id)

            assert memory.id not in ids_of(engram.recall(memory.content, limit=50))
            assert memory.id not in {one.id for one in engram.list(limit=50)}
            assert engram.get(memory.id).status is Status.FORGOTTEN
            with engram._parts.store.read() as tx:
                assert tx.terms.statistics([wanted], scope=Scope()).frequencies == {wanted: 0}
                space = tx.vectors.space(TinyEmbedder.identity)
                assert space is not None
                keys, _ = tx.vectors.fetch(space, list(range(1, 50)))
                assert len(keys) == tx.terms.statistics([], scope=Scope()).memories
        assert wanted.encode() not in text_index_bytes(path)


@given(text=words)
def test_a_forgotten_memory_stays_forgotten(text: str) -> None:
    """Neither a restart, nor a rebuild, nor the doctor brings it back; saying it again is a new memory."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        with open_relaxed(path) as engram:
            memory = engram.remember(f"a note about {text}")
            engram.remember("another note")
            engram.forget(memory.id)
        with open_relaxed(path) as engram:
            engram.rebuild()
            engram.doctor(fix=True)
            engram.embed_pending()

            after = engram.recall(memory.content, limit=50)
            again = engram.remember(memory.content)

            assert memory.id not in ids_of(after)
            assert engram.get(memory.id).status is Status.FORGOTTEN
            assert again.id != memory.id
            assert again.id in ids_of(engram.recall(memory.content))


def open_relaxed(path: Path) -> Engram:
    """Open without background threads and without waiting for the disk."""
    return Engram.open(
        path,
        settings=Settings(durability="relaxed", policy="notebook"),
        embedder=TinyEmbedder(),
        background=False,
    )


def ids_of(answer: Recall) -> set[str]:
    """The ids of the memories in an answer."""
    return {hit.memory.id for hit in answer.hits}


def text_index_bytes(path: Path) -> bytes:
    """Everything that the text index keeps in the file, in its own bytes."""
    connection = apsw.Connection(str(path))
    found = b""
    for table in SHADOW_TABLES:
        rows: list[Any] = connection.execute(f"SELECT * FROM {table}").fetchall()  # noqa: S608 - fixed names
        for value in (value for row in rows for value in row):
            found += value if isinstance(value, bytes) else str(value).encode()
    connection.close()
    return found
