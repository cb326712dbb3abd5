"""What a judge decides becomes of memories: at once, or in the background for what came in bulk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, product
from pathlib import Path

import pytest

from engramdb import Draft, Engram, Status
from engramdb.capture.writer import BULK_ROWS
from engramdb.engine.assemble import WatchedJudge
from engramdb.errors import ChatUnavailable
from engramdb.health import READER
from engramdb.models.reader import Utterance
from engramdb.testing import ManualClock
from engramdb.values.reading import PairJudgment, PairRelation


class FakeJudge:
    """Says what it was told to say of two texts, and `related` of all others; counts what it was asked."""

    name = "fake/1"

    def __init__(self) -> None:
        self.says: dict[frozenset[str], PairRelation] = {}
        self.asked: list[tuple[str, str]] = []
        self.is_down = False
        self.most = 100

    def relate(
        self, newer: Utterance, older: Sequence[Utterance], *, seconds: float | None = None
    ) -> list[PairJudgment]:
        """Return as many views as it has time for."""
        if self.is_down:
            raise ChatUnavailable("gone")
        few = older if seconds is None else older[: self.most]
        self.asked += [(newer.text, one.text) for one in few]
        return [self._view(self.says.get(frozenset((newer.text, one.text)))) for one in few]

    def answers(self, question: str, memories: Sequence[str]) -> list[float]:
        """Say that nothing answers."""
        return [0.0 for _ in memories if question]

    @staticmethod
    def _view(relation: PairRelation | None) -> PairJudgment:
        return PairJudgment(
            by="fake/1",
            relation=relation or PairRelation.RELATED,
            conflict=float(relation is PairRelation.CONFLICT),
            same=float(relation is PairRelation.SAME),
            is_conflict=relation is PairRelation.CONFLICT,
            is_same=relation is PairRelation.SAME,
        )


SYLLABLES = ("ka", "lu", "mi", "no", "pe", "ra", "si", "tu", "vo", "wa", "xe", "zu")
TEA = "User drinks two cups of green tea every morning"
NO_TEA = "User gave green tea up, water every morning"
TEA_AGAIN = "Two cups of green tea is how every morning of the user starts"


@pytest.fixture
def judge() -> FakeJudge:
    """A judge that can be told what to say."""
    judge = FakeJudge()
    judge.says[frozenset((TEA, NO_TEA))] = PairRelation.CONFLICT
    judge.says[frozenset((TEA, TEA_AGAIN))] = PairRelation.SAME
    return judge


@pytest.fixture
def engram(
    store_path: Path, clock: ManualClock, judge: FakeJudge, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Engram]:
    """A store that asks the fake judge."""
    monkeypatch.setattr(
        "engramdb.engine.assemble.stronger_judge", lambda parts: WatchedJudge(judge, parts.health, READER)
    )
    with Engram.open(store_path, clock=clock, background=False) as engram:
        yield engram


def test_a_judged_conflict_retires_the_older_statement(engram: Engram) -> None:
    """History says who judged so."""
    old = engram.remember(TEA)

    new = engram.remember(NO_TEA)

    assert engram.get(old.id).status is Status.SUPERSEDED
    assert engram.get(old.id).superseded_by == new.id
    assert any("says fake/1" in event.reason for event in engram.history(old.id))


def test_a_judged_repetition_is_kept_as_evidence_and_can_be_taken_apart(engram: Engram) -> None:
    """Nothing that was said is lost to a wrong judgment: it comes back with one verb."""
    old = engram.remember(TEA)

    kept = engram.remember(TEA_AGAIN)

    assert kept.id == old.id
    assert kept.evidence_count == 2
    (again,) = engram.unmerge(old.id)
    assert again.content == TEA_AGAIN
    assert again.status is Status.ACTIVE
    assert engram.get(old.id).evidence_count == 1
    assert {one.content for one in engram.list()} == {TEA, TEA_AGAIN}


def test_bulk_is_judged_later_and_status_counts_it(engram: Engram, judge: FakeJudge) -> None:
    """`enrich` does now what a background would do."""
    names = map("".join, islice(product(("Ba", "Do"), SYLLABLES, SYLLABLES), BULK_ROWS - 2))
    others = [Draft(content=f"{name} keeps bees") for name in names]
    old, new, *_ = engram.remember_many([Draft(content=TEA), Draft(content=NO_TEA), *others])

    assert judge.asked == []
    assert engram.status().awaiting_judgment == len(others) + 2

    assert engram.judge_pending() == len(others) + 2
    assert engram.status().awaiting_judgment == 0
    assert engram.get(old.id).superseded_by == new.id


def test_bulk_that_repeats_is_merged_when_it_is_judged(engram: Engram) -> None:
    """As at admission."""
    engram.remember_many([Draft(content=TEA), Draft(content=TEA_AGAIN)])

    engram.judge_pending()

    (kept,) = engram.list()
    assert kept.content == TEA
    assert kept.evidence_count == 2


def test_what_there_was_no_time_for_is_judged_later(engram: Engram, judge: FakeJudge) -> None:
    """A write does not wait for a slow judge."""
    engram.remember(TEA)
    judge.most = 0

    engram.remember(NO_TEA)

    assert engram.status().awaiting_judgment == 1
    assert len(engram.list()) == 2
    engram.judge_pending()
    assert [one.content for one in engram.list()] == [NO_TEA]


def test_a_judge_that_fails_costs_nothing_and_is_asked_again(engram: Engram, judge: FakeJudge) -> None:
    """The write is stored, `status` says what fails, and what waits is judged when it is back."""
    engram.remember(TEA)
    judge.is_down = True

    engram.remember(NO_TEA)

    report = engram.status()
    assert len(engram.list()) == 2
    assert report.awaiting_judgment == 1
    assert next(part for part in report.parts if part.name == READER).is_failing
    assert engram.judge_pending() == 0
    assert engram.status().awaiting_judgment == 1
    judge.is_down = False
    assert engram.judge_pending() == 1
    assert [one.content for one in engram.list()] == [NO_TEA]


def test_a_pinned_statement_outlives_a_judge(engram: Engram) -> None:
    """Both stand, whatever the way in."""
    old = engram.remember(TEA, pinned=True)

    engram.remember(NO_TEA)

    assert engram.get(old.id).status is Status.ACTIVE


def test_status_names_the_judge(engram: Engram) -> None:
    """So that a person can see who decides."""
    assert engram.status().reader == "fake/1"
