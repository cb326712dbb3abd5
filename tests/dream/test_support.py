"""What a judge holds to be the same becomes evidence of one statement, and comes apart again."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from engramdb import Engram, Filters, Scope, Settings, Source, Status
from engramdb.testing import ManualClock
from engramdb.values import EdgeType, Kind, Memory, Moment, Provenance, SecurityTier

from .dreamt import NOW, active, every, keep
from .judged import AgreeingJudge, asking

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PLAIN = "The billing service is written in Kotlin."
CODED = "kotlin, that's what the billing service is coded in"
SOURCE = "source of the billing service? all kotlin"
TOUCHED = "if you touch the billing service you will be writing Kotlin"
WORDINGS = (CODED, PLAIN, SOURCE, TOUCHED)
NEAR = "The tests of the billing service are written in Kotlin."


@pytest.fixture
def judge() -> AgreeingJudge:
    """A judge that knows four wordings of one fact."""
    judge = AgreeingJudge()
    judge.holds_same(*WORDINGS)
    return judge


@pytest.fixture
def engram(store_path: Path, judge: AgreeingJudge, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engram]:
    """A store whose dreams ask the judge."""
    with asking(store_path, judge, monkeypatch, ManualClock(NOW)) as engram:
        yield engram


def told(engram: Engram, *texts: str, **fields: Any) -> list[Memory]:
    """Store statements as they are, a day apart, past the write pipeline."""
    found = [
        keep(engram, text, at=NOW + timedelta(days=number), **fields) for number, text in enumerate(texts)
    ]
    engram.embed_pending()
    return found


def merged(engram: Engram) -> set[str]:
    """What is out of sight because something stands for it."""
    statuses = frozenset({Status.MERGED})
    return {one.content for one in engram.list(filters=Filters(statuses=statuses), limit=100)}


# --- one statement ------------------------------------------------------------------------------------------


def test_four_wordings_become_evidence_of_the_plainest(engram: Engram) -> None:
    """It counts all of them, is recalled alone, and shows the others when it is asked."""
    told(engram, *WORDINGS)

    engram.dream(steps=["merge"])

    assert active(engram) == [PLAIN]
    (kept,) = engram.list()
    assert kept.evidence_count == 4
    assert [hit.memory.content for hit in engram.recall("What is billing written in?").hits] == [PLAIN]
    shown = engram.evidence(kept.id)
    assert shown.memory == kept
    assert {one.content for one in shown.wordings} == set(WORDINGS) - {PLAIN}
    assert any("says agreeing/1" in event.reason for event in engram.history(kept.id))


def test_the_turns_of_every_wording_are_shown(engram: Engram, judge: AgreeingJudge) -> None:
    """Whoever doubts the statement can read where each wording was said."""
    turns = [engram.observe(text, role="user", session="s") for text in (PLAIN, CODED)]
    for text, turn in zip((PLAIN, CODED), turns, strict=True):
        keep(engram, text, provenance=Provenance(turns=(turn.id,)))
    engram.embed_pending()

    engram.dream(steps=["merge"])

    (kept,) = engram.list()
    assert [turn.content for turn in engram.evidence(kept.id).turns] == [PLAIN, CODED]


def test_taking_it_apart_gives_everything_back(engram: Engram) -> None:
    """Numbers, moments and evidence are as they were, and no dream merges the two again."""
    told(engram, CODED, PLAIN)
    before = {one.content: one for one in every(engram).values()}
    engram.dream(steps=["merge"])
    (kept,) = engram.list()
    assert kept.stated_at == before[CODED].stated_at
    assert kept.last_stated_at == before[PLAIN].last_stated_at
    assert kept.holds_from == before[CODED].holds_from

    engram.unmerge(kept.id)

    after = {one.content: one for one in every(engram).values()}
    for content, memory in before.items():
        assert after[content].evolve(updated_at=memory.updated_at) == memory
    engram.dream(steps=["merge"])
    assert active(engram) == sorted((CODED, PLAIN))


def test_it_holds_from_when_its_first_wording_did(engram: Engram) -> None:
    """What was true before the keeper was said is still answered."""
    first, _ = told(engram, CODED, PLAIN)
    engram.dream(steps=["merge"])

    (kept,) = engram.list()
    assert kept.content == PLAIN
    assert kept.holds_at(first.holds_from)


def test_a_later_wording_joins_what_is_one_already(engram: Engram) -> None:
    """The next dream compares the newcomer alone."""
    told(engram, CODED, PLAIN, SOURCE)
    engram.dream(steps=["merge"])

    told(engram, TOUCHED)
    engram.dream(steps=["merge"])

    assert active(engram) == [PLAIN]
    (kept,) = engram.list()
    assert len(kept.provenance.wordings) == 3


# --- witnesses ----------------------------------------------------------------------------------------------


@pytest.fixture
def doubtful(judge: AgreeingJudge) -> AgreeingJudge:
    """The judge, as a small network: its word alone is not enough."""
    judge.is_certain = False
    return judge


def test_two_wordings_are_not_one_on_the_word_of_a_small_network(
    engram: Engram, doubtful: AgreeingJudge
) -> None:
    """The third that agrees bears witness for both."""
    told(engram, PLAIN, CODED)
    engram.dream(steps=["merge"])
    assert len(engram.list()) == 2

    told(engram, SOURCE)
    engram.dream(steps=["merge"])

    assert active(engram) == [PLAIN]
    assert doubtful.asked


def test_nor_is_what_is_just_being_stored(engram: Engram, doubtful: AgreeingJudge) -> None:
    """Where the judge is certain it is merged at once."""
    first, second = engram.remember(PLAIN), engram.remember(CODED)
    assert first.id != second.id

    doubtful.is_certain = True
    assert engram.remember(SOURCE).id in (first.id, second.id)


def test_what_is_not_the_same_as_the_one_that_sounds_most_like_it_stays_apart(
    engram: Engram, doubtful: AgreeingJudge
) -> None:
    """A near miss is told from the plain wording, and confused with those that are far from plain."""
    near = "The billing service was written in Kotlin."
    doubtful.holds_same(near, CODED, SOURCE, TOUCHED)
    told(engram, CODED, SOURCE, TOUCHED, PLAIN, near)

    engram.dream(steps=["merge"])

    assert near in active(engram)


# --- what stays apart ---------------------------------------------------------------------------------------


def test_a_near_miss_that_one_wording_alone_agrees_with_stays_apart(
    engram: Engram, judge: AgreeingJudge
) -> None:
    """The wordings have a vote: the judge was wrong once, and not three times."""
    judge.same.add(frozenset((NEAR, SOURCE)))
    told(engram, *WORDINGS, NEAR)

    engram.dream(steps=["merge"])

    assert active(engram) == sorted((PLAIN, NEAR))


def test_a_chain_does_not_become_one(engram: Engram, judge: AgreeingJudge) -> None:
    """Every member is the same as the statement that stands for it, not only as its neighbor."""
    judge.same = {frozenset((CODED, PLAIN)), frozenset((PLAIN, SOURCE)), frozenset((SOURCE, TOUCHED))}
    told(engram, *WORDINGS)

    engram.dream(steps=["merge"])

    gone = merged(engram)
    for one in every(engram).values():
        if one.content in gone:
            (stands_for_it,) = [other for other in every(engram).values() if other.id == one.superseded_by]
            assert frozenset((one.content, stands_for_it.content)) in judge.same


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("I pay 240 euros for daycare.", "daycare costs me 420 euros"),
        ("My husband Tomasz is a nurse.", "nursing is what Piotr, my husband, does"),
        ("The review is on Tuesday.", "we do the review on Thursday"),
        ("I'm allergic to peanuts.", "I'm not allergic to peanuts, I just dislike them"),
        ("My husband Tomasz is a nurse.", "my husband Tomasz used to be a nurse"),
        ("CI fails on every pull request.", "CI fails now and then on a pull request"),
        ("We release on the first Monday.", "we plan a release on the first Monday"),
        ("Alice reports to Bob.", "Bob reports to Alice, as we know"),
    ],
)
def test_a_judge_is_not_believed_that_other_specifics_are_the_same(
    engram: Engram, judge: AgreeingJudge, first: str, second: str
) -> None:
    """Numbers, names, days, denials and what is over are read from the words."""
    judge.holds_same(first, second)
    told(engram, first, second)

    engram.dream(steps=["merge"])

    assert len(engram.list()) == 2
    assert judge.asked == []


FIELDS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "another speaker": (
        {"provenance": Provenance(speaker="Ann")},
        {"provenance": Provenance(speaker="Bob")},
    ),
    "both pinned": ({"pinned": True}, {"pinned": True}),
    "only one secret": ({}, {"security": SecurityTier.CONFIDENTIAL}),
    "told of different times": (
        {"kind": Kind.EPISODE, "occurred_at": NOW},
        {"kind": Kind.EPISODE, "occurred_at": NOW + timedelta(days=3)},
    ),
    "leaves earlier": (
        {"forget_after": NOW + timedelta(days=90)},
        {"forget_after": NOW + timedelta(days=30)},
    ),
}


@pytest.mark.parametrize("case", FIELDS)
def test_what_must_not_stand_for_the_other_stays(engram: Engram, case: str) -> None:
    """Whatever the judge says."""
    first, second = FIELDS[case]
    keep(engram, PLAIN, **first)
    keep(engram, CODED, **second)
    engram.embed_pending()

    engram.dream(steps=["merge"])

    assert len(engram.list()) == 2


def test_events_that_name_the_same_day_are_one(engram: Engram) -> None:
    """Told a week apart, both say when it was."""
    day = Moment(words="in June 2016", start=NOW - timedelta(days=30), end=NOW)
    told(engram, PLAIN, CODED, kind=Kind.EPISODE, moments=(day,))

    engram.dream(steps=["merge"])

    assert active(engram) == [PLAIN]


def test_the_words_of_the_person_stand_for_those_of_an_assistant(engram: Engram) -> None:
    """However well the assistant has put it; and what the person said is never behind a weaker source."""
    keep(engram, CODED, provenance=Provenance(source=Source.HUMAN), category="health")
    keep(engram, PLAIN, provenance=Provenance(source=Source.ASSISTANT))
    engram.embed_pending()

    engram.dream(steps=["merge"])

    assert active(engram) == [CODED]


def test_a_pinned_statement_stands_for_the_others(engram: Engram) -> None:
    """It stays pinned, and none of the others was."""
    keep(engram, CODED, pinned=True)
    keep(engram, PLAIN)
    engram.embed_pending()

    engram.dream(steps=["merge"])

    assert [(one.content, one.pinned) for one in engram.list()] == [(CODED, True)]


def test_what_disputes_the_other_is_not_merged(engram: Engram) -> None:
    """A contradiction that somebody found is not settled by likeness."""
    first, second = told(engram, PLAIN, CODED)
    engram.link(second.id, first.id, type=EdgeType.CONTRADICTS)

    engram.dream(steps=["merge"])

    assert len(engram.list()) == 2


def test_a_secret_is_not_shown_to_a_judge_over_the_network(
    store_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stays as it is."""
    judge = AgreeingJudge(is_remote=True)
    judge.holds_same(*WORDINGS)
    with asking(store_path, judge, monkeypatch, ManualClock(NOW)) as engram:
        told(engram, PLAIN, CODED, security=SecurityTier.CONFIDENTIAL)
        engram.dream(steps=["merge"])

        assert len(every(engram)) == 2
        assert not any(one.status is Status.MERGED for one in every(engram).values())
    assert judge.asked == []


def test_scopes_stay_apart(engram: Engram) -> None:
    """The same words of two users are two statements."""
    for user, text in (("a", PLAIN), ("b", CODED)):
        keep(engram, text, scope=Scope(user=user))
    engram.embed_pending()

    engram.dream(steps=["merge"])

    assert [len(engram.list(scope=Scope(user=user))) for user in ("a", "b")] == [1, 1]


def test_a_policy_that_wants_more_wordings_waits_for_them(
    store_path: Path, judge: AgreeingJudge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two are not enough where it merges five."""
    settings = Settings(policy="layered", durability="relaxed")
    with asking(store_path, judge, monkeypatch, ManualClock(NOW), settings) as engram:
        told(engram, *WORDINGS)
        engram.dream(steps=["merge"])

        assert len(engram.list()) == 4


# --- time and progress --------------------------------------------------------------------------------------


def test_what_there_is_no_time_for_is_compared_by_the_next_dream(
    engram: Engram, judge: AgreeingJudge
) -> None:
    """Nothing is decided on half of what there is to know."""
    told(engram, *WORDINGS)
    judge.left = 4
    engram.dream(steps=["merge"])
    assert len(engram.list()) == 4

    judge.left = 1_000
    engram.dream(steps=["merge"])

    assert active(engram) == [PLAIN]


def test_what_was_compared_is_not_compared_again_by_the_same_judge(
    engram: Engram, judge: AgreeingJudge
) -> None:
    """A newer version of the judge looks again."""
    judge.same.clear()
    told(engram, *WORDINGS)
    engram.dream(steps=["merge"])
    assert judge.asked
    judge.asked.clear()

    engram.dream(steps=["merge"])
    assert judge.asked == []

    judge.name = "agreeing/2"
    engram._parts.pipeline.judge._name = judge.name  # type: ignore[union-attr]
    judge.holds_same(*WORDINGS)
    engram.dream(steps=["merge"])
    assert active(engram) == [PLAIN]


def test_a_rehearsal_merges_nothing_and_notes_nothing(engram: Engram) -> None:
    """It tells what a dream would do."""
    told(engram, *WORDINGS)

    report = engram.dream(steps=["merge"], dry_run=True)

    assert [change.action for change in report.changes] == ["merge"]
    assert len(engram.list()) == 4
    engram.dream(steps=["merge"])
    assert active(engram) == [PLAIN]


def test_without_a_judge_words_alone_decide(store_path: Path) -> None:
    """Wordings that share little stay: none that is wrong is worth more than all that are right."""
    settings = Settings(reader="rules", durability="relaxed")
    with Engram.open(store_path, settings=settings, clock=ManualClock(NOW), background=False) as engram:
        told(engram, *WORDINGS, NEAR)
        engram.dream(steps=["merge"])

        assert len(engram.list()) == 5


# --- what rests on it ---------------------------------------------------------------------------------------


def test_a_list_of_what_has_become_one_is_withdrawn(engram: Engram, judge: AgreeingJudge) -> None:
    """A dream that listed five wordings takes the list back when they are one statement."""
    told(engram, *PREFERRED, category="preference")
    engram.dream(steps=["profiles"])
    (listed,) = [one for one in engram.list(limit=50) if one.content.startswith("Profile of the user")]
    assert listed.content.count("bullet") == len(PREFERRED)
    judge.holds_same(*PREFERRED)

    engram.dream()

    assert engram.get(listed.id).status is Status.INVALIDATED
    assert [one.content for one in engram.list(limit=50) if "bullet" in one.content] == [PREFERRED[0]]


PREFERRED = (
    "I prefer answers without bullet points.",
    "I like it better when there are no bullet points in answers",
    "skip the bullet points when you answer",
    "My preference for answers: without bullet points",
    "answers without bullet points, that is what I like best",
)
ALLERGY = (
    "I'm allergic to peanuts.",
    "I have a peanut allergy",
    "peanuts set off an allergy in me",
    "Peanut allergy here, please keep that in mind",
    "my body doesn't tolerate peanuts, I'm allergic",
    "when it comes to peanuts: I'm allergic",
    "I can't eat peanuts because of my allergy",
)


def test_seven_wordings_of_one_allergy_are_one_memory_after_three_dreams(
    store_path: Path, e5_home: Path
) -> None:
    """With the model pack: one memory that has all seven behind it, and no list of them."""
    clock = ManualClock(NOW)
    settings = Settings(home=e5_home, reader="pack", durability="relaxed")
    with Engram.open(store_path, settings=settings, clock=clock, background=False) as engram:
        for text in ALLERGY:
            engram.remember(text)
            clock.advance(days=3)
        engram.judge_pending()
        for _ in range(3):
            engram.dream()
            clock.advance(days=1)

        (kept,) = [one for one in engram.list(limit=50) if "allerg" in one.content.casefold()]
        assert kept.content == ALLERGY[0]
        assert kept.evidence_count == len(ALLERGY)
        assert {one.content for one in engram.evidence(kept.id).wordings} == set(ALLERGY[1:])
