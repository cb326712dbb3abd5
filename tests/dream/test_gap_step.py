"""What should be known and is not becomes a question, which closes when the answer comes in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from engramdb.dream.gaps import EXPECTED_FIELDS, GapsStep
from engramdb.dream.service import dreaming_of
from engramdb.lifecycle.questions import gap_id
from engramdb.policy import PRESETS, InsightPolicy
from engramdb.values import Edge, EdgeType, GapKind, Scope, Status

from .dreamt import NOW
from .insighted import counts, rewritten, take

if TYPE_CHECKING:
    from engramdb import Engram
    from engramdb.testing import ManualClock
    from engramdb.values import Memory

LENA = (
    "Lena plays the cello",
    "Lena speaks Finnish and Dutch",
    "Lena prefers green tea",
    "Lena drives a van",
)


def tell(engram: Engram, *statements: str, scope: Scope | None = None) -> list[Memory]:
    """Remember these."""
    return [engram.remember(statement, scope=scope) for statement in statements]


def questions(engram: Engram, scope: Scope | None = None) -> list[str]:
    """What is asked now, sorted."""
    return sorted(gap.question for gap in engram.gaps(scope=scope))


def contradict(engram: Engram, first: Memory, second: Memory) -> None:
    """Link two memories as contradicting."""
    with engram._parts.store.atomic() as tx:
        edge = Edge(source=first.id, target=second.id, type=EdgeType.CONTRADICTS, weight=1.0, created_at=NOW)
        tx.edges.add(edge)


def test_missing_fields_of_a_person_who_is_often_spoken_of_are_asked_for(engram: Engram) -> None:
    """Who is named once is nobody's business yet."""
    tell(engram, *LENA, "Otto plays the cello")

    take(engram, GapsStep())

    assert questions(engram) == [
        "How do you know Lena?",
        "What does Lena do for a living?",
        "When is the birthday of Lena?",
        "Where does Lena live?",
    ]


@pytest.mark.parametrize(
    ("answer", "closed"),
    [
        ("Lena lives in Turku", "Where does Lena live?"),
        ("Lena's birthday is 4 May", "When is the birthday of Lena?"),
        ("Lena works as a carpenter", "What does Lena do for a living?"),
        ("Lena is my cousin", "How do you know Lena?"),
    ],
)
def test_a_question_closes_when_the_field_appears(engram: Engram, answer: str, closed: str) -> None:
    """By the relation that extraction reads, or by words that say as much."""
    tell(engram, *LENA)
    take(engram, GapsStep())
    assert closed in questions(engram)

    tell(engram, answer)
    take(engram, GapsStep())

    assert closed not in questions(engram)
    assert len(questions(engram)) >= 2


def test_asking_twice_changes_nothing(engram: Engram, clock: ManualClock) -> None:
    """The same question is the same row, now and a week later."""
    tell(engram, *LENA)
    take(engram, GapsStep())

    again = take(engram, GapsStep())
    clock.advance(days=7)
    later = take(engram, GapsStep())

    assert counts(again) == counts(later) == {}


def test_a_contradiction_is_a_question_until_it_is_settled(engram: Engram) -> None:
    """It quotes both, the first that was said first; settling the memories settles it at once."""
    first, second = tell(engram, "The depot opens at seven", "Deliveries begin at nine")
    contradict(engram, first, second)

    take(engram, GapsStep())
    (gap,) = engram.gaps()
    engram.set_status(second.id, Status.INVALIDATED, reason="wrong")
    at_once = engram.gaps()
    report = take(engram, GapsStep())

    assert gap.kind is GapKind.CONTRADICTION
    assert gap.question == (
        "You said “The depot opens at seven” (1 January 2026) and “Deliveries begin at nine” "
        "(1 January 2026). Which holds now?"
    )
    assert at_once == []
    assert counts(report) == {"answer": 1}


def test_a_disputed_memory_alone_is_a_question(engram: Engram) -> None:
    """A challenged belief wants somebody to say whether it is right."""
    (memory,) = tell(engram, "The depot opens at seven")
    engram.set_status(memory.id, Status.CHALLENGED, reason="somebody doubts it")

    take(engram, GapsStep())

    assert [gap.memories for gap in engram.gaps()] == [(memory.id,)]


def test_scopes_ask_for_themselves(engram: Engram) -> None:
    """Two statements here and two there are not four anywhere, and no scope sees another's questions."""
    one, other = Scope(user="one"), Scope(user="other")
    tell(engram, *LENA[:2], scope=one)
    tell(engram, *LENA[2:], scope=other)
    take(engram, GapsStep())
    assert questions(engram, one) == questions(engram, other) == []

    tell(engram, *LENA, scope=other)
    take(engram, GapsStep())

    assert questions(engram, one) == []
    assert len(questions(engram, other)) == 4


def test_flagged_sources_raise_no_question(engram: Engram) -> None:
    """What may be an instruction in disguise does not decide what is asked."""
    for memory in tell(engram, *LENA):
        rewritten(engram, memory, flags=("injection",))

    report = take(engram, GapsStep())

    assert counts(report) == {}


def test_forgetting_a_memory_takes_its_questions_along(engram: Engram) -> None:
    """No question outlives what it was made from, and no word of it stays in the file."""
    memories = tell(engram, *LENA)
    take(engram, GapsStep())
    before = questions(engram)

    engram.forget(memories[0].id)

    assert before
    assert questions(engram) == []
    with engram._parts.store.read() as tx:
        assert tx.gaps.open_in(Scope()) == []


def test_a_question_about_what_is_gone_is_not_stored(engram: Engram) -> None:
    """A step may have looked before somebody forgot; its proposal then comes to nothing."""
    tell(engram, *LENA)
    proposals = list(GapsStep().propose(dreaming_of(engram._parts)))
    for memory in engram.list():
        engram.forget(memory.id)

    with engram._parts.store.atomic() as tx:
        written = [proposal.write(tx) for proposal in proposals]  # type: ignore[attr-defined]

    assert written
    assert not any(written)


def test_only_so_many_questions_are_open_and_the_weightiest_are(engram: Engram) -> None:
    """The policy bounds what a scope is asked."""
    tell(engram, *LENA)
    two = replace(PRESETS["balanced"], insight=InsightPolicy(gap_most=2))

    take(engram, GapsStep(), policy=two)

    assert questions(engram) == ["How do you know Lena?", "What does Lena do for a living?"]


def test_the_id_of_a_question_depends_on_all_that_it_is_about() -> None:
    """Scope, kind and parts each make another question."""
    ids = {
        gap_id(Scope(), GapKind.STALE, "a", "b"),
        gap_id(Scope(user="x"), GapKind.STALE, "a", "b"),
        gap_id(Scope(), GapKind.CONTRADICTION, "a", "b"),
        gap_id(Scope(), GapKind.STALE, "ab"),
    }

    assert len(ids) == 4


def test_every_template_asks_in_words_and_matters() -> None:
    """A field has a question with a place for the name, predicates and a weight."""
    fields = [field for fields in EXPECTED_FIELDS.values() for field in fields]

    assert all("{}" in field.question and field.predicates and 0 < field.weight <= 1 for field in fields)
