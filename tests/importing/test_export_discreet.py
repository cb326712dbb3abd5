"""An export without what is sensitive holds none of it, wherever beside a statement it stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from engramdb import Engram
from engramdb.exporting.export import discreet, line_of
from engramdb.testing import TinyEmbedder
from engramdb.values import ExportedMemory, SecurityTier, Status

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KEY = "sk-proj-abcdEFGH1234567890abcdEFGH"


@pytest.fixture
def engram(store_path: Path) -> Iterator[Engram]:
    """An engine on an empty store."""
    with Engram.open(store_path, embedder=TinyEmbedder(), background=False) as opened:
        yield opened


def test_a_key_does_not_leave_beside_a_name(engram: Engram) -> None:
    """Said in one sentence, the name is exported and the key is not, not even as the exact words."""
    engram.observe(f"My name is Maya and I use `export API_KEY={KEY}` daily", session="s")
    engram.flush()

    written = b"".join(line_of(one) for one in engram.export(history=True))

    assert b"Maya" in written
    assert KEY.encode() not in written


def test_a_sentence_is_kept_word_for_word_where_it_says_no_more(engram: Engram) -> None:
    """Commands are what exact words are for."""
    engram.observe("Please always run `make check` before you commit", session="s")
    engram.flush()

    (memory,) = engram.list()

    assert "`make check`" in memory.content


def test_a_memory_of_an_earlier_version_is_exported_without_its_secret_sentence(engram: Engram) -> None:
    """Those have such words in the store; whoever asks for what is confidential gets them."""
    memory = engram.remember("My name is Maya").evolve(verbatim=f"My name is Maya, key {KEY}")

    shown = discreet(ExportedMemory(memory=memory))

    assert shown.memory.verbatim is None
    assert shown.memory.content == "My name is Maya"


def test_a_reason_may_be_private_too(engram: Engram) -> None:
    """It is left out of an export for everybody, and is in one for the owner."""
    memory = engram.remember("I like tea")
    engram.set_status(memory.id, Status.ARCHIVED, reason="ask maya@example.org")
    engram.set_status(memory.id, Status.ACTIVE, reason="was right")

    plain = b"".join(line_of(one) for one in engram.export(history=True))
    whole = b"".join(line_of(one) for one in engram.export(history=True, tiers=list(SecurityTier)))

    assert (b"maya@example.org" in plain, b"was right" in plain) == (False, True)
    assert b"maya@example.org" in whole
