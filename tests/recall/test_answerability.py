"""What answers a question comes first, and an answer that is not known says so."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from engramdb import Engram, Settings
from engramdb.health import JUDGE
from engramdb.models.reader import GuardedModel, Judge, Utterance
from engramdb.values.reading import PairJudgment

ABOUT_MIA = ("Mia loves her dog Rufus", "Mia paints on weekends", "no meat or cheese for Mia since spring")


class Understanding:
    """A judge that knows which words answer, and counts what it was asked."""

    name = "understanding"
    is_remote = False

    def __init__(self) -> None:
        self.right = "no meat"
        self.asked: list[str] = []
        self.fails = False
        self.chance = 0.95

    def relate(
        self, newer: Utterance, older: Sequence[Utterance], *, seconds: float | None = None
    ) -> list[PairJudgment | None]:
        """It has no opinion on pairs."""
        return [None] * len(older)

    def answers(self, question: str, memories: Sequence[str], *, seconds: float | None = None) -> list[float]:
        """What holds the right words answers."""
        if self.fails:
            raise RuntimeError(question)
        self.asked += memories
        return [self.chance if self.right in one else 0.02 for one in memories]

    def rests_on(self, question: str, changes: Sequence[tuple[str, str]]) -> list[bool] | None:
        """It does not say."""

    def makes_doubtful(self, change: tuple[str, str], statements: Sequence[str]) -> list[bool] | None:
        """It does not say."""


@pytest.fixture
def judge() -> Understanding:
    """A judge that can be told what answers."""
    return Understanding()


@pytest.fixture(params=["balanced", "cortex"])
def engram(
    request: pytest.FixtureRequest, store_path: Path, judge: Understanding, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Engram]:
    """A store that asks this judge, under presets that order by score and by rank."""
    monkeypatch.setattr(
        "engramdb.engine.assemble.choose_judge",
        lambda parts: GuardedModel[Judge](lambda: judge, parts.guard, JUDGE, name=judge.name),
    )
    settings = Settings(policy=request.param, embedder="static")
    with Engram.open(store_path, settings=settings, background=False) as opened:
        for said in ABOUT_MIA:
            opened.remember(said)
        yield opened


def test_what_answers_comes_before_what_only_sounds_like_the_question(engram: Engram) -> None:
    """It shares the name with the question and nothing else; a judge has read both."""
    answer = engram.recall("What shall I cook for Mia?")

    assert answer.hits[0].memory.content == ABOUT_MIA[2]
    assert "answers" in {reason.index for reason in answer.hits[0].reasons}
    assert answer.quality.answerable == pytest.approx(0.95)
    assert answer.quality.is_known


def test_where_nothing_answers_the_hits_say_that_they_are_only_near(
    engram: Engram, judge: Understanding
) -> None:
    """They are given all the same; who asks to abstain gets none."""
    judge.right = "nothing holds this"

    near = engram.recall("When is Mia's birthday?")
    none = engram.recall("When is Mia's birthday?", abstain=True)

    assert near.hits
    assert not near.quality.is_known
    assert (none.hits, none.quality.answerable) == ((), near.quality.answerable)


def test_what_replaced_an_answer_answers_by_it(engram: Engram, judge: Understanding) -> None:
    """The words of the change alone do not say what it is about."""
    judge.right = "editor"
    old = engram.remember("My editor is vim")
    engram.correct(old.id, "I ditched it for Zed")

    answer = engram.recall("Which one do I type code in?")

    assert answer.hits[0].memory.content == "I ditched it for Zed"
    assert answer.quality.is_known


def test_an_answer_from_another_time_is_none(engram: Engram, judge: Understanding) -> None:
    """Nothing is of the year that was asked for, whatever the words say."""
    judge.right = "paints"

    assert not engram.recall("What did Mia do in 2019?").quality.is_known
    assert engram.recall("What did Mia do in 2019?", abstain=True).hits == ()


def test_a_state_that_held_then_answers_for_a_time(engram: Engram, judge: Understanding) -> None:
    """It was said before, and is no event of that time."""
    judge.right = "Porto"
    engram.remember("I live in Porto, in a small flat", occurred_at=datetime(2025, 3, 1, tzinfo=UTC))

    answer = engram.recall("Where was I living in October 2025?")

    assert any("Porto" in hit.memory.content for hit in answer.hits)
    assert answer.quality.is_known


def test_without_hits_nothing_is_known(engram: Engram) -> None:
    """What a judge has read counts only where it is shown."""
    past = datetime(2020, 1, 1, tzinfo=UTC)

    believed = engram.recall("What shall I cook for Mia?", as_of=past)
    true = engram.recall("What shall I cook for Mia?", valid_at=past)

    for answer in (believed, true):
        assert (answer.hits, answer.quality.is_known) == ((), False)


def test_a_judge_that_returns_no_number_is_not_believed(engram: Engram, judge: Understanding) -> None:
    """The answer is there as if nobody had read it."""
    judge.chance, judge.right = float("nan"), "Mia"

    answer = engram.recall("What does Mia do on weekends?")

    assert answer.hits
    assert "answers" in {one.index for one in answer.quality.missing}


def test_a_judge_that_fails_leaves_the_order_of_scores(engram: Engram, judge: Understanding) -> None:
    """The answer is there, and health tells what failed."""
    judge.fails = True

    answer = engram.recall("What does Mia do on weekends?")

    assert answer.hits
    assert "answers" in {one.index for one in answer.quality.missing}
    assert next(part for part in engram.status().parts if part.name == "judge").is_failing


def test_no_time_means_that_nothing_is_read(
    store_path: Path, judge: Understanding, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever wants the last milliseconds turns it off."""
    monkeypatch.setattr(
        "engramdb.engine.assemble.choose_judge",
        lambda parts: GuardedModel[Judge](lambda: judge, parts.guard, JUDGE, name=judge.name),
    )
    settings = Settings(embedder="static", answering_milliseconds=0)
    with Engram.open(store_path, settings=settings, background=False) as engram:
        engram.remember(ABOUT_MIA[0])
        engram.recall("Who is Rufus?")

    assert judge.asked == []


def test_no_chat_model_is_asked_while_somebody_waits(
    store_path: Path, judge: Understanding, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A remote judge settles in the background, and never stands in the way of an answer."""
    monkeypatch.setattr(
        "engramdb.engine.assemble.choose_judge",
        lambda parts: GuardedModel[Judge](lambda: judge, parts.guard, JUDGE, name=judge.name, is_remote=True),
    )
    with Engram.open(store_path, settings=Settings(embedder="static"), background=False) as engram:
        engram.remember(ABOUT_MIA[0])
        answer = engram.recall("Who is Rufus?")

    assert (judge.asked, answer.quality.is_known, answer.quality.missing) == ([], True, ())


def test_without_a_judge_only_what_is_far_from_everything_is_unknown(store_path: Path) -> None:
    """The fit of the best tells what a store knows nothing of; near misses it cannot tell."""
    with Engram.open(store_path, settings=Settings(embedder="static"), background=False) as engram:
        for said in ABOUT_MIA:
            engram.remember(said)

        assert not engram.recall("airspeed velocity of an unladen swallow").quality.is_known
        assert engram.recall("Which dog does Mia have?").quality.is_known
