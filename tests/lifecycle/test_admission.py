"""The write pipeline: what every memory goes through, alone or in bulk, and what it costs."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from engramdb import Draft, Engram, Layer, Source
from engramdb.capture.writer import BULK_ROWS
from engramdb.errors import ContentTooLarge, InvalidContent
from engramdb.lifecycle.admission import prepare, save
from engramdb.testing import TinyEmbedder
from engramdb.values import Provenance

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray


class CountingEmbedder(TinyEmbedder):
    """Remembers which texts it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Note the texts, then embed them."""
        self.texts += texts
        return super().embed_documents(texts)


class WaitingEmbedder(TinyEmbedder):
    """Holds every call until it is let go, as a slow server would."""

    def __init__(self) -> None:
        super().__init__()
        self.is_asked = threading.Event()
        self.may_answer = threading.Event()

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Wait, then embed."""
        self.is_asked.set()
        assert self.may_answer.wait(30)
        return super().embed_documents(texts)


def test_what_is_known_is_not_embedded_again(store_path: Path) -> None:
    """A repetition costs no model call, nor does a statement that stands twice in one bulk."""
    embedder = CountingEmbedder()
    with Engram.open(store_path, embedder=embedder, background=False) as engram:
        engram.remember("I like tea")
        engram.remember("i like tea.")
        engram.remember_many([Draft(content=text) for text in ("I like tea", "coffee", "Coffee!")])

        assert embedder.texts == ["I like tea", "coffee"]


def test_a_slow_embedder_does_not_hold_up_other_writers(store_path: Path) -> None:
    """Embedding happens before the write begins, so others write meanwhile."""
    embedder = WaitingEmbedder()
    with Engram.open(store_path, embedder=embedder, background=False) as engram:
        writer = threading.Thread(target=lambda: engram.remember("I like tea"))
        writer.start()
        assert embedder.is_asked.wait(30)

        turn = engram.observe("hello")
        embedder.may_answer.set()
        writer.join()

        assert engram.turns() == [turn]
        assert [memory.content for memory in engram.list()] == ["I like tea"]


def test_a_bulk_is_stored_by_the_call_itself(engram: Engram) -> None:
    """As a statement it stores everything; what it returns is a list in the order of the drafts."""
    engram.remember_many(Draft(content=f"note {number}") for number in range(300))
    stored = engram.remember_many([Draft(content="tea"), Draft(content="coffee")])

    assert engram.status().memories == 302
    assert [memory.content for memory in stored] == ["tea", "coffee"]


@pytest.mark.parametrize("bad", [0, 255, 256, 280, 599])
def test_an_invalid_draft_stops_its_bulk_and_keeps_what_came_before(engram: Engram, bad: int) -> None:
    """Of the write with the bad draft nothing is stored, of those before it everything; the error says so."""
    drafts = [Draft(content=f"note {number}") for number in range(600)]
    drafts[bad] = Draft(content=" ")

    with pytest.raises(InvalidContent) as refused:
        engram.remember_many(drafts)

    kept = bad // BULK_ROWS * BULK_ROWS
    contents = {memory.content for memory in engram.list(limit=1000)}
    assert contents == {f"note {number}" for number in range(kept)}
    assert refused.value.hint.count("are stored") == (kept > 0)
    assert kept == 0 or f"The first {kept} drafts are stored." in str(refused.value)
    assert engram.doctor().ok


def test_a_stream_is_lazy(engram: Engram) -> None:
    """Drafts are taken and stored only as the result is read, and progress is reported as it is made."""
    told: list[int] = []
    taken: list[int] = []

    def drafts() -> Iterator[Draft]:
        for number in range(600):
            taken.append(number)
            yield Draft(content=f"note {number}")

    stored = engram.remember_stream(drafts(), progress=told.append)
    before = engram.status().memories
    next(stored)
    after_one, read = engram.status().memories, len(taken)
    rest = sum(1 for _ in stored)

    assert (before, after_one, read, rest) == (0, BULK_ROWS, BULK_ROWS, 599)
    assert told == [256, 256, 88]
    assert engram.status().memories == 600


def test_a_bulk_reinforces_what_it_repeats(engram: Engram) -> None:
    """The order of drafts is the order of memories, and a repetition yields the memory that was there."""
    first, second, third = engram.remember_many(
        [Draft(content="I like tea"), Draft(content="coffee"), Draft(content="I LIKE TEA")]
    )

    assert third.id == first.id
    assert third.reinforcements == 1
    assert second.reinforcements == 0


def test_a_twin_that_is_forgotten_meanwhile_does_not_swallow_the_statement(engram: Engram) -> None:
    """Between the look and the write another may forget the twin: the statement is then a new memory."""
    twin = engram.remember("I like tea")
    pipeline = engram._parts.pipeline
    prepared = prepare([Draft(content="I like tea")], pipeline, now=engram._now())
    engram.forget(twin.id)

    with pipeline.store.atomic() as tx:
        (admission,) = save(tx, prepared, pipeline, actor=engram.actor, now=engram._now(), is_explicit=True)
    embedded = engram.embed_pending()

    assert admission.memory.id != twin.id
    assert not admission.is_embedded
    assert embedded == 1
    assert engram.recall("tea").hits[0].memory.id == admission.memory.id


def test_a_huge_text_is_refused_before_any_work(engram: Engram) -> None:
    """A pasted book costs no embedding and no normalising."""
    with pytest.raises(ContentTooLarge, match="50000000"):
        engram.remember("x" * 50_000_000)


@pytest.mark.parametrize("content", [None, 7, b"bytes", ["list"]])
def test_what_is_not_text_is_refused(engram: Engram, content: object) -> None:
    """Another type than text is an error of ours, with the type's name."""
    with pytest.raises(InvalidContent, match=type(content).__name__):
        engram.remember(content)  # type: ignore[arg-type]


def test_evidence_of_a_repetition_is_kept(engram: Engram) -> None:
    """Turns and episodes that support a statement add up, each once."""
    first, second = engram.observe("I like tea"), engram.observe("I do like tea")
    said = (first.id, second.id, first.id)

    *_, memory = engram.remember_many(
        [Draft(content="I like tea", provenance=Provenance(turns=(turn,))) for turn in said]
    )

    assert memory.provenance.turns == (first.id, second.id)


@pytest.mark.parametrize(
    "draft",
    [
        Draft(content="I like tea", layer="attic"),  # type: ignore[arg-type]
        Draft(content="I like tea", type="rumour"),  # type: ignore[arg-type]
        Draft(content="I like tea", kind="sort"),  # type: ignore[arg-type]
        Draft(content="I like tea", provenance=Provenance(source="gossip")),  # type: ignore[arg-type]
    ],
    ids=["layer", "type", "kind", "source"],
)
def test_an_unknown_mark_never_reaches_the_file(engram: Engram, draft: Draft) -> None:
    """A row that could not be read again would make every list fail; admission names the word instead."""
    with pytest.raises(InvalidContent) as refused:
        engram.remember_many([draft])

    assert "Use one of" in refused.value.hint
    assert engram.list() == []


def test_a_mark_may_be_given_as_a_plain_word(engram: Engram) -> None:
    """Callers from JSON have words, not our types; what is stored and returned is the type."""
    memory = engram.remember("I like tea", layer="semantic", source="ingest")  # type: ignore[arg-type]

    assert memory.layer is Layer.SEMANTIC
    assert memory.provenance.source is Source.INGEST


def test_an_unknown_word_is_an_error_of_ours_for_every_verb(engram: Engram) -> None:
    """Neither `remember` nor `set_status` lets Python's own error out."""
    memory = engram.remember("I like tea")

    with pytest.raises(InvalidContent, match="attic"):
        engram.remember("I like coffee", layer="attic")  # type: ignore[arg-type]
    with pytest.raises(InvalidContent, match="asleep"):
        engram.set_status(memory.id, "asleep")  # type: ignore[arg-type]
