"""A question that a prompt brings up is answered in the conversation, where the reply is plain."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from engramdb import Scope
from engramdb.lifecycle.questions import stale_question
from engramdb.lifecycle.transitions import MemoryWriter
from engramdb.values import Actor, EdgeType, Memory, Status

if TYPE_CHECKING:
    from engramdb import Engram
    from engramdb.testing import ManualClock

ANN = Scope(user="ann")
SESSION = "s1"
WHICH = (
    "Done, the file is sorted. By the way, you said you have a flat in Hamburg and then that you are "
    "settling in in Leipzig. Which of the two holds now?"
)
STILL = "Sorted. You once told me that the gym around the corner costs 30 euros. Is that still so?"
GYM = "The gym around the corner costs 30 euros"


def say(engram: Engram, words: str, *, role: str = "user", scope: Scope = ANN) -> None:
    """One message of the conversation."""
    engram.observe(words, role=role, session=SESSION, scope=scope)


def shown(engram: Engram, message: str) -> int:
    """How many questions the prompt for a message brings up."""
    say(engram, message)
    return len(engram.context(message, session=SESSION, scope=ANN).asked)


def statuses(engram: Engram, *memories: Memory) -> list[Status]:
    """Where memories stand now."""
    return [engram.get(one.id, scope=ANN).status for one in memories]


@pytest.fixture
def homes(engram: Engram, clock: ManualClock) -> tuple[Memory, Memory]:
    """Two statements that contradict each other, and a prompt that has brought that up."""
    first = engram.remember("I have my flat in Hamburg", scope=ANN)
    clock.advance(days=60)
    second = engram.remember("We are settling in in Leipzig", scope=ANN)
    with engram._parts.store.atomic() as tx:
        MemoryWriter(tx, Actor(), clock.now()).link(second, first, EdgeType.CONTRADICTS)
    assert shown(engram, "settling in in my flat in Hamburg or Leipzig") == 1
    clock.advance(minutes=1)
    return first, second


@pytest.fixture
def gym(engram: Engram, clock: ManualClock) -> Memory:
    """An old belief, and a prompt that has brought it up."""
    memory = engram.remember(GYM, scope=ANN)
    clock.advance(days=200)
    with engram._parts.store.atomic() as tx:
        tx.gaps.put(stale_question(memory, priority=0.5, now=clock.now()))
    assert shown(engram, "what does the gym around the corner cost?") == 1
    clock.advance(minutes=1)
    return memory


@pytest.mark.parametrize("reply", ["the second one", "Leipzig", "Leipzig!", "No, the second one. Thanks!"])
def test_a_plain_reply_settles_a_contradiction(
    engram: Engram, homes: tuple[Memory, Memory], reply: str
) -> None:
    """By the next message of the person, without a verb."""
    say(engram, WHICH, role="assistant")
    say(engram, reply)

    assert statuses(engram, *homes) == [Status.SUPERSEDED, Status.ACTIVE]
    assert engram.gaps(scope=ANN) == []


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        ("yes", Status.ACTIVE),
        ("yep, still so", Status.ACTIVE),
        ("Nope. Can you sort the other file too?", Status.INVALIDATED),
        ("no, not any more", Status.INVALIDATED),
    ],
)
def test_yes_and_no_are_understood(engram: Engram, gym: Memory, reply: str, status: Status) -> None:
    """What is said after the answer does not matter."""
    say(engram, STILL, role="assistant")
    say(engram, reply)

    assert statuses(engram, gym) == [status]
    assert engram.gaps(scope=ANN) == []


def test_no_and_what_holds_instead_is_one_correction(engram: Engram, gym: Memory) -> None:
    """What was said is stored once, and stands in the place of the old statement."""
    say(engram, STILL, role="assistant")
    say(engram, "no, the gym costs 45 euros since March")

    known = [one.content for one in engram.list(scope=ANN) if "gym costs" in one.content]
    assert len(known) == 1
    assert "45 euros" in known[0]
    assert statuses(engram, gym) == [Status.SUPERSEDED]


def test_not_now_lets_it_rest(engram: Engram, gym: Memory) -> None:
    """It stays open, and is not brought up for a while."""
    say(engram, STILL, role="assistant")
    say(engram, "not now")

    (gap,) = engram.gaps(scope=ANN)
    assert gap.snoozed_until is not None
    assert statuses(engram, gym) == [Status.ACTIVE]


@pytest.mark.parametrize(
    "asked",
    [
        "Shall I sort the other file too?",
        "Is the file still open?",
        STILL + " And shall I sort the other file too?",
        "The gym around the corner costs 30 euros, so I booked it. Shall I go on?",
        "I have sorted the file.",
    ],
)
def test_a_yes_to_something_else_confirms_nothing(engram: Engram, gym: Memory, asked: str) -> None:
    """The question was in the prompt, but the assistant asked another, or two at once, or none."""
    before = engram.get(gym.id, scope=ANN)
    say(engram, asked, role="assistant")
    say(engram, "no")
    say(engram, "yes")

    assert engram.get(gym.id, scope=ANN).stated == before.stated
    assert len(engram.gaps(scope=ANN)) == 1


@pytest.mark.parametrize(
    "reply",
    ["ok", "yes, but only in winter", "Why do you ask?", "hm, let me think about that", "no?", "sure"],
)
def test_what_is_no_plain_answer_is_left(engram: Engram, gym: Memory, reply: str) -> None:
    """Ambiguous words change nothing."""
    before = engram.get(gym.id, scope=ANN)
    say(engram, STILL, role="assistant")
    say(engram, reply)

    assert engram.get(gym.id, scope=ANN).stated == before.stated
    assert len(engram.gaps(scope=ANN)) == 1


@pytest.mark.parametrize(
    "reply",
    [
        *("hm", "Busy", "no idea what you mean", "?", "Ghent", "not Leipzig", "Hamburg or Leipzig"),
        *("We meet Otto at the Acme office", "I have to call Otto first", "both, but not for long"),
    ],
)
@pytest.mark.parametrize("pinned", [True, False])
def test_vague_words_in_passing_leave_both_sides(
    engram: Engram, homes: tuple[Memory, Memory], reply: str, *, pinned: bool
) -> None:
    """Nor does a mere fragment, or what is about something else, say which of two holds."""
    if pinned:
        engram.pin(homes[0].id, scope=ANN)
    before = statuses(engram, *homes)
    say(engram, WHICH, role="assistant")
    say(engram, reply)

    assert statuses(engram, *homes) == before
    assert len(engram.gaps(scope=ANN)) == 1


@pytest.mark.parametrize("reply", ["neither", "the second one"])
def test_what_is_pinned_and_denied_in_passing_stays_in_question(
    engram: Engram, homes: tuple[Memory, Memory], reply: str
) -> None:
    """It is challenged, and the person is asked."""
    engram.pin(homes[0].id, scope=ANN)
    say(engram, WHICH, role="assistant")
    say(engram, reply)

    assert statuses(engram, homes[0]) == [Status.CHALLENGED]
    assert [homes[0].id in gap.memories for gap in engram.gaps(scope=ANN)] == [True]


@pytest.mark.parametrize("reply", ["no thanks", "No worries!"])
def test_a_polite_no_is_no_denial(engram: Engram, gym: Memory, reply: str) -> None:
    """It declines to talk about it."""
    say(engram, STILL, role="assistant")
    say(engram, reply)

    assert statuses(engram, gym) == [Status.ACTIVE]


def test_a_question_that_no_prompt_brought_up_is_not_answered(engram: Engram, clock: ManualClock) -> None:
    """The assistant may ask what it likes."""
    memory = engram.remember(GYM, scope=ANN)
    with engram._parts.store.atomic() as tx:
        tx.gaps.put(stale_question(memory, priority=0.5, now=clock.now()))
    say(engram, "sort my files")
    clock.advance(minutes=1)
    say(engram, STILL, role="assistant")
    say(engram, "no")

    assert statuses(engram, memory) == [Status.ACTIVE]


def test_words_in_passing_do_not_retire_what_is_pinned(engram: Engram, gym: Memory) -> None:
    """It is disputed, and the person is asked to say so by a verb."""
    engram.pin(gym.id, scope=ANN)
    say(engram, STILL, role="assistant")
    say(engram, "no")

    assert statuses(engram, gym) == [Status.CHALLENGED]
    assert len(engram.gaps(scope=ANN)) == 1


def test_another_user_cannot_answer(engram: Engram, gym: Memory) -> None:
    """The same session name in another scope is another session."""
    otto = Scope(user="otto")
    say(engram, STILL, role="assistant", scope=otto)
    say(engram, "no", scope=otto)

    assert statuses(engram, gym) == [Status.ACTIVE]
