"""An export without what is sensitive holds none of it, wherever beside a statement it stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from engramdb import Engram
from engramdb.exporting.export import discreet, line_of
from engramdb.testing import TinyEmbedder
from engramdb.values import Action, ExportedMemory, HistoryEvent, Memory, SecurityTier, Status
from engramdb.values.memory import Claim, Detail, Moment, Traits

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


SAID = "I was diagnosed with epilepsy in March"


def test_what_a_memory_leans_on_is_left_out_where_it_is_private(engram: Engram) -> None:
    """The town of a brother is exported, the diagnosis before it in the same session is not."""
    engram.observe(SAID, session="s")
    engram.observe("my brother Paul lives in Braga with two dogs", session="s")
    engram.flush()
    leaning = next(one for one in engram.list() if "Braga" in one.content)

    plain = b"".join(line_of(one) for one in engram.export(history=True))
    whole = b"".join(line_of(one) for one in engram.export(tiers=list(SecurityTier)))

    assert leaning.refers_to == (SAID,)
    assert (b"Braga" in plain, b"epilepsy" in plain) == (True, False)
    assert b"epilepsy" in whole


def private_everywhere(memory: Memory) -> Memory:
    """Return a memory with a private sentence in every field that can hold words."""
    return memory.evolve(
        **dict.fromkeys(("verbatim", "statement", "answers", "replaces", "object"), SAID),
        refers_to=(SAID, "we spoke of tea"),
        claims=(Claim(subject="Maya", predicate="has", object="epilepsy since March, my diagnosis"),),
        moments=(Moment(words=SAID, start=memory.created_at, end=memory.updated_at),),
        detail=Detail(summary=SAID, key_fact=SAID, tag=SAID, tokens={"full": 4}),
        traits=Traits(people=("Maya",), topics=("tea", SAID), sentiment="neutral"),
    )


def test_no_field_of_a_line_holds_what_is_private(engram: Engram) -> None:
    """A field that is added to a memory and holds words has to be in this test."""
    memory = engram.remember("My name is Maya")
    event = HistoryEvent(memory_id=memory.id, at=memory.created_at, action=Action.REMEMBER, reason=SAID)
    exported = ExportedMemory(memory=private_everywhere(memory), entities=("Maya", SAID), history=(event,))

    line = line_of(discreet(exported))

    assert line_of(exported).count(b"epilepsy") == 14
    assert b"epilepsy" not in line
    assert b"Maya" in line
    assert b"we spoke of tea" in line
    assert b"neutral" in line
