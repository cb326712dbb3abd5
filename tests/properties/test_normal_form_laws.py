"""One statement has one form, however it is written, and is stored once."""

from __future__ import annotations

import tempfile
import unicodedata
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from engramdb import Draft, Engram, Settings
from engramdb.testing import TinyEmbedder
from engramdb.text.normalize import clean, fingerprint, normalize_text

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)


@given(text=texts)
@example(text="ǰ̌ ﬃ İ ẞ ŉ")
def test_normalising_twice_is_normalising_once(text: str) -> None:
    """The normal form is its own normal form."""
    once = normalize_text(text)

    assert normalize_text(once) == once


@given(text=texts)
@example(text="e\x00\u0301")
def test_cleaning_twice_is_cleaning_once(text: str) -> None:
    """What is stored would be stored the same again, composed and without control characters."""
    once = clean(text)

    assert clean(once) == once
    assert unicodedata.is_normalized("NFC", once)


@given(text=texts)
def test_cleaning_does_not_change_the_meaning(text: str) -> None:
    """A statement that was cleaned counts as the statement that was given, control characters apart."""
    spoken = "".join(c for c in text if c.isspace() or unicodedata.category(c) != "Cc")

    assert normalize_text(clean(spoken)) == normalize_text(spoken)


@given(text=texts.filter(str.strip))
def test_writing_does_not_change_the_fingerprint(text: str) -> None:
    """Case, Unicode form and spacing do not make another statement."""
    assert fingerprint(unicodedata.normalize("NFD", text)) == fingerprint(text)
    assert fingerprint(f"  {text}\n") == fingerprint(text)


@given(
    contents=st.lists(
        st.sampled_from(["I like tea", "i like  TEA.", "I like tea!", "C++", "C", "c#"]), max_size=8
    ),
    is_bulk=st.booleans(),
)
def test_no_statement_is_active_twice(contents: list[str], is_bulk: bool) -> None:
    """However often and in however many writes something is said, one active memory says it."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Engram.open(
            Path(folder) / "memory.db",
            settings=Settings(durability="relaxed", policy="notebook"),
            embedder=TinyEmbedder(),
            background=False,
        ) as engram,
    ):
        if is_bulk:
            engram.remember_many([Draft(content=content) for content in contents])
        else:
            for content in contents:
                engram.remember(content)

        memories = engram.list(limit=50)
        assert {fingerprint(m.content) for m in memories} == {fingerprint(c) for c in contents}
        assert len(memories) == len({fingerprint(c) for c in contents})
        assert sum(1 + m.reinforcements for m in memories) == len(contents)
