"""An embedder that fails, changes or is missing costs meaning for a while, never a memory."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import pytest

from engramdb import Engram, Scope, Settings, Status
from engramdb.errors import EmbedderUnavailable, InvalidSettings, MissingExtra
from engramdb.models.embedder import AbsentEmbedder
from engramdb.testing import TinyEmbedder
from engramdb.values import EmbedderIdentity

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from engramdb.testing import ManualClock


class OtherEmbedder(TinyEmbedder):
    """The same arithmetic under another name: another space."""

    identity = EmbedderIdentity(name="other", dimension=64, revision="1")


class RacingEmbedder(TinyEmbedder):
    """Lets something happen once, just when the background has looked and found nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.before_batch: Callable[[], None] | None = None

    @property
    def batch(self) -> int:  # type: ignore[override]
        """How many texts at once; asked for after the background's snapshot was taken."""
        act, self.before_batch = self.before_batch, None
        if act is not None and threading.current_thread().name == "engram-index":
            act()
        return 256


def engram_threads() -> list[str]:
    """The names of Engram's own background threads."""
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("engram")]


def test_a_memory_is_saved_while_the_embedder_fails(engram: Engram, embedder: TinyEmbedder) -> None:
    """It is found by its words at once, and both the answer and the status say what is missing."""
    embedder.failure = "the server is down"

    stored = engram.remember("I like tea")
    answer = engram.recall("tea")
    status = engram.status()

    assert [hit.memory.id for hit in answer.hits] == [stored.id]
    assert [missing.index for missing in answer.quality.missing] == ["vector"]
    assert "the server is down" in answer.quality.missing[0].reason
    assert status.awaiting_embedding == 1
    assert any(part.name == "embedder" and part.is_failing for part in status.parts)


def test_an_answer_says_how_many_memories_wait(engram: Engram, embedder: TinyEmbedder) -> None:
    """After the embedder has recovered, what it missed is named until it is embedded."""
    engram.remember("I like coffee")
    embedder.failure = "the server is down"
    engram.remember("I like tea")
    embedder.failure = None

    before = engram.recall("tea")
    embedded = engram.embed_pending()
    after = engram.recall("tea")

    assert before.quality.is_degraded
    assert "1 memory waits" in before.quality.missing[0].reason
    assert embedded == 1
    assert not after.quality.is_degraded
    assert engram.status().awaiting_embedding == 0


def test_the_background_embeds_the_little_that_another_process_left(
    store_path: Path, embedder: TinyEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does not wait for a dream, an idle machine or the next opening."""
    monkeypatch.setattr("engramdb.engine.parts.UPKEEP_SECONDS", 0.05)
    with Engram.open(store_path, embedder=embedder) as server:
        server.flush()
        failing = TinyEmbedder()
        failing.failure = "the server is down"
        with Engram.open(store_path, embedder=failing, background=False) as other:
            other.remember("I like tea")
        deadline = time.monotonic() + 30
        while server.status().awaiting_embedding and time.monotonic() < deadline:
            time.sleep(0.05)

        assert server.status().awaiting_embedding == 0


def test_what_waits_in_another_scope_is_not_counted(engram: Engram, embedder: TinyEmbedder) -> None:
    """An answer is not called incomplete because of memories that the reader may not see."""
    embedder.failure = "the server is down"
    engram.remember("a secret of Ann's", scope=scope_of("ann"))
    embedder.failure = None

    answer = engram.recall("secret", scope=scope_of("bob"))

    assert not answer.hits
    assert not answer.quality.is_degraded


def test_the_background_embeds_what_waits_once_the_embedder_recovers(
    store_path: Path, embedder: TinyEmbedder
) -> None:
    """Nobody has to ask for it: within seconds the answer is whole again."""
    embedder.failure = "the server is down"
    with Engram.open(store_path, embedder=embedder) as engram:
        engram.remember("I like tea")
        embedder.failure = None

        wait_until(lambda: engram.status().awaiting_embedding == 0)

        assert not engram.recall("tea").quality.is_degraded


def test_a_correction_is_embedded_in_the_background_too(store_path: Path, embedder: TinyEmbedder) -> None:
    """Every verb that writes text wakes the background after a failure, not `remember` alone."""
    with Engram.open(store_path, embedder=embedder) as engram:
        memory = engram.remember("I like tea")
        embedder.failure = "the server is down"
        engram.correct(memory.id, "I like coffee")
        embedder.failure = None

        wait_until(lambda: engram.status().awaiting_embedding == 0)


def test_what_waited_before_the_start_is_embedded_after_it(store_path: Path) -> None:
    """A process that ended while the embedder was down leaves no memory without a vector for good."""
    failing = TinyEmbedder()
    failing.failure = "the server is down"
    with Engram.open(store_path, embedder=failing, background=False) as engram:
        engram.remember("I like tea")

    with Engram.open(store_path, embedder=TinyEmbedder()) as engram:
        wait_until(lambda: engram.status().awaiting_embedding == 0)


def test_a_call_that_comes_while_the_background_is_ending_is_heard(store_path: Path) -> None:
    """A memory that begins to wait just after the background saw nothing waiting is not left over."""
    embedder = RacingEmbedder()
    with Engram.open(store_path, embedder=embedder) as engram:
        engram.remember("I like tea")
        wait_until(lambda: engram._parts._workers["index"].wait(0))

        def store_one_more() -> None:
            embedder.failure = "the server is down"
            engram.remember("I like coffee")
            embedder.failure = None

        embedder.before_batch = store_one_more
        engram.set_status(engram.list()[0].id, Status.CHALLENGED)  # wakes the background, with nothing to do
        wait_until(lambda: embedder.before_batch is None)

        wait_until(lambda: engram.status().memories == 2 and engram.status().awaiting_embedding == 0)


def test_without_background_no_thread_is_started(engram: Engram, embedder: TinyEmbedder) -> None:
    """`background=False` means it, whatever fails: scripts and tests rely on it."""
    embedder.failure = "the server is down"

    memory = engram.remember("I like tea")
    engram.correct(memory.id, "I like coffee")
    engram.set_status(engram.list()[0].id, Status.ARCHIVED)

    assert engram_threads() == []


def test_another_embedder_begins_a_new_space(store_path: Path) -> None:
    """Vectors of two embedders are never compared: the new space fills, and then answers are whole."""
    with Engram.open(store_path, embedder=TinyEmbedder(), background=False) as engram:
        engram.remember("I like tea")
        engram.remember("Lisbon is in Portugal")

    with Engram.open(store_path, embedder=OtherEmbedder(), background=False) as engram:
        before = engram.recall("tea")
        embedded = engram.embed_pending()
        after = engram.recall("tea")

        assert before.hits[0].memory.content == "I like tea"
        assert before.quality.is_degraded
        assert embedded == 2
        assert not after.quality.is_degraded
        assert {reason.index for reason in after.hits[0].reasons} == {"lexical", "vector"}


def test_the_first_embedders_vectors_are_still_there(store_path: Path) -> None:
    """Going back to the earlier embedder finds its space as it was, with the new memories waiting."""
    with Engram.open(store_path, embedder=TinyEmbedder(), background=False) as engram:
        engram.remember("I like tea")
    with Engram.open(store_path, embedder=OtherEmbedder(), background=False) as engram:
        engram.remember("I like coffee")

    with Engram.open(store_path, embedder=TinyEmbedder(), background=False) as engram:
        assert engram.status().awaiting_embedding == 1


@pytest.mark.parametrize(
    "reason", [EmbedderUnavailable("no pack"), MissingExtra("no onnxruntime")], ids=["no pack", "no extra"]
)
def test_a_store_works_without_any_embedder(
    store_path: Path, reason: EmbedderUnavailable | MissingExtra
) -> None:
    """Whatever the reason that there is none, memories are saved, found by words, corrected and counted."""
    with Engram.open(store_path, embedder=AbsentEmbedder(reason), background=False) as engram:
        memory = engram.remember("I like tea")
        engram.correct(memory.id, "I like green tea")

        answer = engram.recall("tea")
        status = engram.status()
        report = engram.doctor()

        assert answer.hits[0].memory.content == "I like green tea"
        assert reason.message in answer.quality.missing[0].reason
        assert status.awaiting_embedding == 2
        assert any(reason.message in advice for advice in status.advice)
        assert [check.name for check in report.checks if not check.ok] == ["embedder"]


def test_the_doctor_mends_the_text_index_without_an_embedder(engram: Engram, embedder: TinyEmbedder) -> None:
    """A broken embedder does not keep the other index from being repaired."""
    engram.remember("I like tea")
    with engram._parts.store.atomic() as tx:
        tx.terms.remove(1)
    embedder.failure = "the server is down"

    report = engram.doctor(fix=True)

    assert [check.name for check in report.checks if check.repaired] == ["text index complete"]
    assert engram.recall("tea").hits


class OnceEmbedder(TinyEmbedder):
    """Answers one question, then is gone."""

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return vectors, for the last time."""
        vectors = super().embed_queries(texts)
        self.failure = "the server is down"
        return vectors


def test_the_doctor_reports_no_repair_that_did_not_happen(store_path: Path) -> None:
    """What it could not look at again is as it was found."""
    embedder = OnceEmbedder()
    embedder.failure = "the server is down"
    with Engram.open(store_path, embedder=embedder, background=False) as engram:
        engram.remember("I like tea")
        embedder.failure = None

        report = engram.doctor(fix=True)

    found = {check.name: check for check in report.checks}
    assert not found["embedded"].ok
    assert not found["embedded"].repaired
    assert not report.ok


def test_an_embedder_without_its_address_is_refused_before_a_store_is_made(store_path: Path) -> None:
    """A setting that cannot work is an error at the door, and leaves no file behind."""
    settings = Settings(embedder="openai:some-model")

    with pytest.raises(InvalidSettings):
        Engram.open(store_path, settings=settings, background=False)

    assert not store_path.exists()


def test_a_failed_part_is_healthy_again_after_its_next_success(
    engram: Engram, embedder: TinyEmbedder, clock: ManualClock
) -> None:
    """Status shows the last success, the last failure and its reason, and which of them came last."""
    embedder.failure = "the server is down"
    engram.remember("I like tea")
    clock.advance(seconds=5)
    embedder.failure = None
    engram.remember("I like coffee")

    (part,) = [part for part in engram.status().parts if part.name == "embedder"]

    assert not part.is_failing
    assert part.failures == 1
    assert part.failure is not None
    assert "the server is down" in part.failure


def scope_of(user: str) -> Scope:
    """The scope of one user."""
    return Scope(user=user)


def wait_until(is_true: Callable[[], bool], seconds: float = 60) -> None:
    """Return once it is true; fails after some seconds."""
    deadline = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)
