"""Feedback: a memory of no help is not given again to such questions, and to others it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import apsw
import pytest

from engramdb import Engram, Scope, Settings
from engramdb.errors import AccessDenied
from engramdb.values import Action

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from engramdb import Recall
    from engramdb.testing import ManualClock

QUESTION = "which editor do I use?"


@pytest.fixture
def engram(store_path: Path, clock: ManualClock) -> Iterator[Engram]:
    """Open a store with two memories about one person."""
    settings = Settings(policy="notebook", embedder="static")
    with Engram.open(store_path, settings=settings, clock=clock, background=False) as opened:
        opened.remember("The editor that I use is vim")
        opened.remember("My editor at the newspaper was Mrs Lang")
        yield opened


def contents(answer: Recall) -> list[str]:
    """What was found, best first."""
    return [hit.memory.content for hit in answer.hits]


def test_what_did_not_help_is_left_out_for_such_questions_only(engram: Engram) -> None:
    """The same question and one like it do without it; another one finds it."""
    vim = engram.recall(QUESTION).hits[0].memory

    engram.feedback(vim.id, helpful=False, query=QUESTION)

    assert vim.content not in contents(engram.recall(QUESTION))
    assert vim.content not in contents(engram.recall("what editor do I use?"))
    assert vim.content in contents(engram.recall("vim"))


def test_it_wears_off(engram: Engram, clock: ManualClock) -> None:
    """After ninety days the memory may be given again."""
    vim = engram.recall(QUESTION).hits[0].memory
    engram.feedback(vim.id, helpful=False, query=QUESTION)

    clock.advance(days=91)

    assert vim.content in contents(engram.recall(QUESTION))


def test_help_is_counted_and_told(engram: Engram) -> None:
    """Counts, history and trust follow; confidence does not."""
    vim = engram.recall(QUESTION).hits[0]

    changed = engram.feedback(vim.memory.id, helpful=True, query=QUESTION)

    after = engram.recall(QUESTION).hits[0]
    assert (changed.helped, changed.unhelpful, changed.confidence) == (1, 0, vim.memory.confidence)
    assert after.trust.accuracy > vim.trust.accuracy
    assert engram.history(vim.memory.id)[-1].action is Action.FEEDBACK


def test_the_words_of_the_question_are_not_kept(engram: Engram, store_path: Path) -> None:
    """Only a fingerprint and a vector of it lie in the file."""
    vim = engram.recall(QUESTION).hits[0].memory

    engram.feedback(vim.id, helpful=False, query="a very peculiar zanzibar question")

    rows = apsw.Connection(str(store_path)).execute("SELECT * FROM feedback").fetchall()
    assert len(rows) == 1
    assert b"zanzibar" not in store_path.read_bytes() + store_path.with_name("memory.db-wal").read_bytes()


def test_feedback_stays_inside_its_scope(engram: Engram) -> None:
    """A reader who only sees a memory cannot mark it for everybody."""
    vim = engram.recall(QUESTION).hits[0].memory

    with pytest.raises(AccessDenied):
        engram.feedback(vim.id, helpful=False, query=QUESTION, scope=Scope(project="p"))
