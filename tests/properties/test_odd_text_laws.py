"""Any text can be remembered and asked for: nothing in it is an operator, and nothing in it crashes."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engramdb import Engram, EngramError, Scope, Settings
from engramdb.testing import TinyEmbedder
from engramdb.text.terms import query_terms, terms

SYNTAX = [
    '"',
    "*",
    "NEAR(",
    "AND",
    "OR",
    "NOT",
    "-",
    "^",
    ":",
    "(",
    ")",
    "{",
    "}",
    "+",
    "\x00",
    "'",
    "%",
    ";",
]

any_text = st.text(st.characters(), max_size=80)  # half surrogates and unassigned characters included
syntax = st.lists(st.sampled_from([*SYNTAX, "tea", "words:tea", "a*b"]), min_size=1, max_size=8).map(" ".join)


@given(content=any_text | syntax, query=any_text | syntax)
def test_any_text_is_remembered_or_refused_and_found(content: str, query: str) -> None:
    """What is accepted is stored as given, found by itself, and never makes a question fail."""
    with tempfile.TemporaryDirectory() as folder, open_relaxed(Path(folder)) as engram:
        engram.remember("an ordinary note")
        stored = None
        with suppress(EngramError):
            stored = engram.remember(content)
        with suppress(EngramError):
            engram.observe(content)
        with suppress(EngramError):
            engram.recall(query)

        if stored is not None:
            assert engram.get(stored.id).content == stored.content
            assert stored.id in {hit.memory.id for hit in engram.recall(stored.content).hits}
        assert engram.doctor().ok


@given(text=any_text)
def test_other_texts_of_a_call_are_stored_or_refused(text: str) -> None:
    """Speakers, sessions, reasons and categories may be anything: the answer is a memory or our error."""
    with tempfile.TemporaryDirectory() as folder, open_relaxed(Path(folder)) as engram:
        memory = engram.remember("an ordinary note")
        with suppress(EngramError):
            stored = engram.remember("spoken", speaker=text, session=text)
            assert engram.get(stored.id) == stored
        with suppress(EngramError):
            turn = engram.observe("spoken", speaker=text, session=text)
            assert engram.turns() == [turn]
        for call in (
            lambda: engram.remember("a categorised note", category=text),
            lambda: engram.get(text),
            lambda: engram.list(before=text),
            lambda: engram.turns(session=text),
            lambda: engram.remember("scoped", scope=Scope(project=text)),
            lambda: engram.pin(memory.id),
            lambda: engram.forget(memory.id, reason=text),
        ):
            with suppress(EngramError):
                call()


@pytest.mark.parametrize("query", SYNTAX)
def test_search_operators_are_plain_words(engram: Engram, query: str) -> None:
    """A query of nothing but syntax matches nothing and raises nothing but our error for an empty one."""
    engram.remember('AND the NEAR( thing: "quoted" * ^ - OR NOT')

    answer = engram.recall(f"{query} thing {query}")

    assert len(answer.hits) == 1
    assert answer.quality.answered == ("lexical", "vector", "turns")


def test_a_statement_of_eight_kilobytes_is_kept_whole(engram: Engram) -> None:
    """The largest memory that is allowed is stored, found and given back to the last character."""
    content = ("word " * 1637 + "zyxomma").strip()
    assert len(content.encode()) == 8192

    stored = engram.remember(content)

    assert engram.recall("zyxomma").hits[0].memory.content == content
    assert engram.get(stored.id).content == content


def test_a_statement_of_one_word_of_eight_kilobytes_is_kept(engram: Engram) -> None:
    """A text without a space is no reason to fail."""
    stored = engram.remember("é" * 4096)

    assert engram.get(stored.id).content == "é" * 4096


@given(text=any_text)
def test_terms_are_words_that_the_index_will_not_cut_again(text: str) -> None:
    """No term is empty, holds a space, or is asked for without having been indexed."""
    indexed = terms(text)

    assert all(term and not any(c.isspace() for c in term) for term in indexed)
    assert set(query_terms(text)) <= set(indexed)


@given(text=st.text(st.characters(exclude_categories=["Cs"]), max_size=40))
def test_the_store_counts_every_term_that_it_was_given(text: str) -> None:
    """The database's own tokenizer splits at spaces only: each of our terms is one of its terms."""
    cut = sorted(set(terms(text)))
    with tempfile.TemporaryDirectory() as folder, open_relaxed(Path(folder)) as engram:
        engram.remember("a note")
        with engram._parts.store.atomic() as tx:
            tx.terms.put(1, cut)
            counted = tx.terms.statistics(cut, scope=Scope())
            found = [tx.terms.holders(term, scope=Scope()) for term in cut]

        assert counted.frequencies == dict.fromkeys(cut, 1)
        assert found == [[1]] * len(cut)


def open_relaxed(folder: Path) -> Engram:
    """Open without background threads and without waiting for the disk."""
    return Engram.open(
        folder / "memory.db",
        settings=Settings(durability="relaxed", policy="notebook"),
        embedder=TinyEmbedder(),
        background=False,
    )
