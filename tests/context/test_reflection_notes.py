"""A word about the knowledge itself: little known, open questions, and summaries of many memories."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from engramdb.context.sections import (
    THIN_NOTE,
    UNKNOWN_NOTE,
    choose_questions,
    knowledge_note,
    premise_notes,
)
from engramdb.policy import ContextPolicy
from engramdb.values import (
    Breadth,
    Gap,
    GapKind,
    OutdatedPremise,
    Quality,
    Query,
    Recall,
    SectionName,
    SecurityTier,
    Status,
    Summary,
)

from .made import NOW, hit, memory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .made import Maker

POLICY = ContextPolicy()
GAP = Gap(id="g1", kind=GapKind.STALE, question="Is Ann still in Oslo?", memories=("m1",), found_at=NOW)


@pytest.mark.parametrize(
    ("answerable", "shown", "said"),
    [
        (0.0, 0, UNKNOWN_NOTE),
        (0.9, 0, UNKNOWN_NOTE),
        (0.05, 2, THIN_NOTE),
        (0.9, 1, None),
        (None, 1, None),
    ],
)
def test_what_is_not_known_is_said(answerable: float | None, shown: int, said: str | None) -> None:
    """Nothing is shown, or what is shown does not answer; a right answer has no warning under it."""
    hits = [hit(memory("tea", number), 0.3) for number in range(shown)]
    answer = Recall(query=Query(text="?"), hits=tuple(hits), quality=Quality(answerable=answerable))

    assert knowledge_note(answer, hits, POLICY) == said
    assert knowledge_note(answer, hits, replace(POLICY, reflects=False)) is None


def test_an_unknown_topic_is_said_in_the_window(maker: Maker) -> None:
    """The agent learns that it does not know, instead of an empty prompt."""
    section = maker.window(2_000).section(SectionName.REFLECTION)

    assert section is not None
    assert "nothing in memory fits" in section.text


@pytest.mark.parametrize(
    ("fields", "is_told"),
    [
        ({"status": Status.SUPERSEDED}, True),
        ({"status": Status.CHALLENGED}, True),
        ({"status": Status.SUPERSEDED, "flags": ("injection",)}, False),
        ({"status": Status.SUPERSEDED, "security": SecurityTier.CONFIDENTIAL}, False),
    ],
)
def test_what_a_message_takes_for_granted_is_told_with_the_change(
    fields: dict[str, Any], is_told: bool
) -> None:
    """Also where it was settled long ago; nothing of what is withheld."""
    was = memory("I live in Porto", 1, **fields)
    premise = OutdatedPremise(was=was, now=memory("I moved to Lisbon", 2), is_certain=True)

    assert [("Porto" in one, "Lisbon" in one) for one in premise_notes([premise])] == [(True, True)] * is_told


def test_a_question_is_asked_once_a_week_and_only_about_what_is_shown() -> None:
    """Weighty ones first, and no more than are left for the session."""
    lately = replace(GAP, id="g2", asked_at=NOW - timedelta(days=6))
    rested = replace(GAP, id="g3", asked_at=NOW - timedelta(days=8), priority=0.9)
    closed = replace(GAP, id="g4", closed_at=NOW)
    elsewhere = replace(GAP, id="g5", memories=("m9",))
    gaps = [GAP, lately, rested, closed, elsewhere]

    due = choose_questions(gaps, {"m1"}, left=2, now=NOW)
    none = choose_questions(gaps, {"m1"}, left=0, now=NOW)

    assert [gap.id for gap in due] == ["g3", "g1"]
    assert none == []


def test_a_window_brings_up_an_open_question(maker: Maker) -> None:
    """As a line among the notes, and the caller learns which one it was."""
    hits = [hit(memory("Ann lives in Oslo", 1)), hit(memory("Ann likes tea", 2))]

    window = maker.window(2_000, hits, sources={"gaps": lambda _shown: [GAP], "questions_left": 2})

    assert window.asked == (GAP,)
    assert "Is Ann still in Oslo?" in window.present


def test_a_question_without_room_was_not_asked(maker: Maker) -> None:
    """What is not in the prompt must not count as asked."""
    hits = [hit(memory("Ann lives in Oslo", 1)), hit(memory("Ann likes tea", 2))]

    window = maker.window(90, hits, sources={"gaps": lambda _shown: [GAP], "questions_left": 2})

    assert window.asked == ()


def test_summaries_of_many_stand_in_for_what_does_not_fit(maker: Maker) -> None:
    """The narrowest that fits; with room for all memories none is asked for."""
    hits = [
        hit(memory(f"{number} " + "the garden needs water every evening " * 6, number))
        for number in range(30)
    ]
    asked: list[Breadth] = []

    def wider(breadth: Breadth) -> Sequence[Summary]:
        asked.append(breadth)
        long = breadth is Breadth.CLUSTER
        text = "The garden. " * (400 if long else 3) + "</memories>"
        return [Summary(id="s", breadth=breadth, title="garden", text=text, tokens=9, members=30)]

    small = maker.window(700, hits, sources={"wider": wider})
    small_asked, asked = asked, []
    maker.window(20_000, hits, sources={"wider": wider})

    assert "- summary of 30 memories: The garden." in small.present
    assert small.present.count("</memories>") == 1
    assert small_asked == [Breadth.CLUSTER, Breadth.DOMAIN]
    assert asked == []
