"""What a judge decides becomes of memories: at once, or in the background for what came in bulk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import islice, product
from pathlib import Path

import pytest

from engramdb import Draft, Engram, Filters, Scope, Source, Status
from engramdb.capture.writer import BULK_ROWS
from engramdb.errors import ChatUnavailable
from engramdb.health import JUDGE
from engramdb.models.reader import GuardedModel, Judge, Utterance
from engramdb.testing import ManualClock
from engramdb.values import EdgeType
from engramdb.values.reading import PairJudgment, PairRelation


class FakeJudge:
    """Says what it was told to say of two texts, and `related` of all others; counts what it was asked."""

    name = "fake/1"
    is_remote = True

    def __init__(self) -> None:
        self.says: dict[frozenset[str], PairRelation] = {}
        self.asked: list[tuple[str, str]] = []
        self.fails: Exception | None = None
        self.most = 100

    def relate(
        self, newer: Utterance, older: Sequence[Utterance], *, seconds: float | None = None
    ) -> list[PairJudgment | None]:
        """Return as many judgments as it has time for."""
        if self.fails is not None:
            raise self.fails
        few = older if seconds is None else older[: self.most]
        self.asked += [(newer.text, one.text) for one in few]
        told = (self.says.get(frozenset((newer.text, one.text))) for one in few)
        return [PairJudgment.certain(one, by=self.name) if one else None for one in told]

    def answers(self, question: str, memories: Sequence[str], *, seconds: float | None = None) -> list[float]:
        """Say that nothing answers."""
        return [0.0 for _ in memories if question]

    def rests_on(self, question: str, changes: Sequence[tuple[str, str]]) -> list[bool] | None:
        """It does not say."""

    def makes_doubtful(self, change: tuple[str, str], statements: Sequence[str]) -> list[bool] | None:
        """It does not say."""


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
        "engramdb.engine.assemble.choose_judge",
        lambda parts: GuardedModel[Judge](lambda: judge, parts.guard, JUDGE, name=judge.name, is_remote=True),
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


def test_what_is_hedged_is_judged_after_the_write_and_may_challenge(engram: Engram, judge: FakeJudge) -> None:
    """It retires nothing, however sure the judge is; a supposition is not even judged."""
    hedged, supposed = "I think green tea is off my list, water every morning", "What if I gave up green tea?"
    judge.says[frozenset((TEA, hedged))] = judge.says[frozenset((TEA, supposed))] = PairRelation.CONFLICT
    old = engram.remember(TEA)
    engram.remember(supposed)
    engram.judge_pending()
    assert engram.get(old.id).status is Status.ACTIVE

    engram.remember(hedged)
    engram.judge_pending()

    assert engram.get(old.id).status is Status.CHALLENGED
    assert (hedged, TEA) in judge.asked
    assert (supposed, TEA) not in judge.asked


def test_what_leaves_open_what_it_is_about_may_challenge_and_retires_nothing(
    engram: Engram, judge: FakeJudge
) -> None:
    """A remark that leans on what was said before is no fact by itself, whatever a judge makes of it."""
    before, after = "we're nine people on the team", "it's 11 people on the team now"
    judge.says[frozenset((before, after))] = PairRelation.CONFLICT
    for said in (before, after):
        engram.observe(said, session="s")
        engram.flush()

    engram.judge_pending()

    found = {one.content: one.status for one in engram.list()}
    assert found == {before: Status.CHALLENGED, after: Status.ACTIVE}


def test_a_short_statement_beside_others_is_judged_like_any(engram: Engram, judge: FakeJudge) -> None:
    """What names two things says what it is about, however short it is and whatever was said before."""
    before, after = "We host on AWS", "We're hosted on Azure"
    judge.says[frozenset((before, after))] = PairRelation.CONFLICT
    for said in (before, after):
        engram.observe(said, session="s")
        engram.flush()

    assert [one.content for one in engram.list()] == [after]


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


def test_a_later_judgment_does_not_overrule_that_both_hold(engram: Engram, judge: FakeJudge) -> None:
    """Somebody was asked before the judge had its say."""
    old = engram.remember(TEA)
    judge.most = 0
    new = engram.remember(NO_TEA)
    engram.link(new.id, old.id, type=EdgeType.CONTRADICTS)
    engram.answer(engram.gaps()[0].id, "both")

    engram.judge_pending()

    assert {one.content for one in engram.list()} == {TEA, NO_TEA}
    assert engram.gaps() == []


def test_what_there_was_no_time_for_is_judged_later(engram: Engram, judge: FakeJudge) -> None:
    """A write does not wait for a slow judge."""
    engram.remember(TEA)
    judge.most = 0

    engram.remember(NO_TEA)

    assert engram.status().awaiting_judgment == 1
    assert len(engram.list()) == 2
    engram.judge_pending()
    assert [one.content for one in engram.list()] == [NO_TEA]


@pytest.mark.parametrize("failure", [ChatUnavailable("gone"), KeyError(f"boom {TEA}")])
def test_a_judge_that_fails_costs_nothing_and_is_asked_again(
    engram: Engram, judge: FakeJudge, failure: Exception
) -> None:
    """The write is stored, `status` says what fails but not what was said, and what waits is judged later."""
    engram.remember(TEA)
    judge.fails = failure

    engram.remember(NO_TEA)

    report = engram.status()
    failing = next(part for part in report.parts if part.name == JUDGE)
    assert len(engram.list()) == 2
    assert report.awaiting_judgment == 1
    assert failing.is_failing
    assert "tea" not in (failing.failure or "")
    assert engram.judge_pending() == 0
    assert engram.status().awaiting_judgment == 1
    judge.fails = None
    assert engram.judge_pending() == 1
    assert [one.content for one in engram.list()] == [NO_TEA]


def test_judged_later_is_judged_alike(engram: Engram, judge: FakeJudge, clock: ManualClock) -> None:
    """The successor is the same whether a conflict is seen at once or afterwards."""
    at_once, later = Scope(user="at once"), Scope(user="later")
    made = []
    for scope, most in ((at_once, 100), (later, 0)):
        judge.most = most
        engram.remember(TEA, importance=0.9, scope=scope)
        clock.advance(hours=1)
        made.append(engram.remember(NO_TEA, scope=scope))
    engram.judge_pending()

    one, other = (engram.get(memory.id, scope=memory.scope) for memory in made)
    assert one.supersedes is not None
    assert other.supersedes is not None
    assert (one.version, one.importance, one.confidence) == (
        other.version,
        other.importance,
        other.confidence,
    )


def test_one_pair_that_cannot_be_settled_does_not_stop_the_others(engram: Engram, judge: FakeJudge) -> None:
    """A link that a person drew forbids to retire one of two; the rest is judged."""
    judge.most = 0
    old, new = engram.remember(TEA), engram.remember(NO_TEA)
    engram.link(old.id, new.id, type=EdgeType.CAUSED_BY)
    bread = [
        engram.remember(text)
        for text in ("User bakes rye bread on Sundays", "Rye bread is baked by the user on Sundays")
    ]
    judge.says[frozenset(one.content for one in bread)] = PairRelation.SAME

    engram.judge_pending()

    assert engram.status().awaiting_judgment == 0
    assert engram.get(bread[1].id).status is Status.MERGED


def test_words_once_merged_strengthen_their_keeper(engram: Engram) -> None:
    """No second copy is made of them, and the merge can still be taken apart."""
    old = engram.remember(TEA)
    for _ in range(3):
        engram.remember(TEA_AGAIN)

    assert len(engram.list(filters=Filters(statuses=frozenset({Status.MERGED})))) == 1
    assert [one.content for one in engram.unmerge(old.id)] == [TEA_AGAIN]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The user was born in 1984", "The user was born in 1985"),
        ("Alice reports to Bob", "Bob reports to Alice"),
        ("Tom owes Anna 50 euros", "Anna owes Tom 50 euros"),
        ("The user never eats fish", "The user eats fish"),
        (
            "So glad you came, it was a lovely day. See you!",
            "What a lovely day it was. So glad that you came!",
        ),
    ],
)
def test_a_judge_is_not_believed_that_other_specifics_are_the_same(
    engram: Engram, judge: FakeJudge, old: str, new: str
) -> None:
    """Other numbers, names, their order or a denial are another fact; warm words are no fact at all."""
    judge.says[frozenset((old, new))] = PairRelation.SAME

    engram.remember(old)
    engram.remember(new)

    assert not engram.list(filters=Filters(statuses=frozenset({Status.MERGED})))


def test_what_a_person_said_is_not_absorbed_by_what_leaves_or_weighs_less(
    engram: Engram, clock: ManualClock
) -> None:
    """Else it would leave with it."""
    engram.remember(TEA, source=Source.INGEST, forget_after=clock.now() + timedelta(days=1))

    engram.remember(TEA_AGAIN)

    assert {one.content for one in engram.list()} == {TEA, TEA_AGAIN}


def test_what_came_in_late_and_is_pinned_is_not_retired(engram: Engram, clock: ManualClock) -> None:
    """Also where the other one was stated afterwards."""
    engram.remember(TEA, source=Source.ASSISTANT)

    late = engram.remember(NO_TEA, pinned=True, occurred_at=clock.now() - timedelta(days=400))

    assert engram.get(late.id).status is Status.ACTIVE


def test_a_pin_set_while_the_judge_thinks_counts(engram: Engram, judge: FakeJudge) -> None:
    """What is written is settled against what is there then."""
    old = engram.remember(TEA)
    relate = judge.relate

    def pin_and_relate(
        newer: Utterance, older: Sequence[Utterance], *, seconds: float | None = None
    ) -> list[PairJudgment | None]:
        engram.pin(old.id)
        return relate(newer, older, seconds=seconds)

    judge.relate = pin_and_relate  # type: ignore[method-assign]
    engram.observe(NO_TEA)
    engram.flush()

    assert engram.get(old.id).status is Status.CHALLENGED


def test_confidential_words_are_not_sent_to_a_judge(engram: Engram, judge: FakeJudge) -> None:
    """Nor judged by it; the rules decide alone."""
    engram.remember("The card number for the hotel is 4111 1111 1111 1111")

    engram.remember("The card number for the hotel is 5500 0055 5555 5559")

    assert judge.asked == []


def test_the_words_of_one_person_do_not_retire_those_of_another(engram: Engram, judge: FakeJudge) -> None:
    """Whatever a judge makes of them."""
    engram.remember(TEA, speaker="Ann")

    engram.remember(NO_TEA, speaker="Bob")

    assert judge.asked == []
    assert len(engram.list()) == 2


def test_a_pinned_statement_outlives_a_judge(engram: Engram) -> None:
    """Both stand until the person says which."""
    old = engram.remember(TEA, pinned=True)

    engram.observe(NO_TEA)
    engram.flush()

    assert engram.get(old.id).status is Status.CHALLENGED


def test_status_names_the_judge(engram: Engram) -> None:
    """So that a person can see who decides."""
    assert engram.status().judge == "rules, fake/1"
