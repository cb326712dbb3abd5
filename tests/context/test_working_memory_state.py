"""A mind follows the talk: it leans on what was said, notices another topic, and finds back to an old one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np
import pytest
from msgspec.structs import replace

from engramdb.context.attention import (
    MAX_MOMENTUM,
    AnticipatedAnswer,
    Momentum,
    blend_with_momentum,
    is_usable_for,
    is_vague,
    momentum_center,
    momentum_share,
    similarity_to_recent,
    update_momentum,
)
from engramdb.context.working_memory import (
    DRIFT_DECAY,
    MAX_TOPICS,
    TURN_DECAY,
    AttendedMessage,
    AttentionState,
    TurnExperience,
    attend_to,
    settle_turn,
    wake_up,
    wipe_state,
)
from engramdb.errors import InvalidSettings
from engramdb.models.calibration import IDENTITY
from engramdb.policy.context import AttentionPolicy
from engramdb.testing import TinyEmbedder
from engramdb.values import Query, Recall, Restored, Slot, SlotSource, TopicShift

if TYPE_CHECKING:
    from numpy.typing import NDArray

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
POLICY = AttentionPolicy()
BILLING = "the billing service runs in the cluster beside the database"
GARDEN = "tomatoes and beans want rain, sun, compost and patience"


def message(text: str) -> AttendedMessage:
    """A message with its vector."""
    return AttendedMessage(text=text, vector=vector_of(text))


def vector_of(text: str) -> NDArray[np.float32]:
    """The vector of a text."""
    (vector,) = TinyEmbedder().embed_queries([text])
    found: NDArray[np.float32] = vector
    return found


def said(
    mind: AttentionState, text: str, *slots: Slot, at: datetime = NOW
) -> tuple[AttentionState, TopicShift]:
    """The mind after a whole turn."""
    attending, shift = attend_to(mind, message(text), IDENTITY, POLICY, now=at)
    return settle_turn(
        attending, TurnExperience(message=message(text), found=slots), IDENTITY, POLICY, now=at
    ), shift


def memory(name: str, *, source: SlotSource = SlotSource.RECALL) -> Slot:
    """A slot that stands for a memory."""
    return Slot(source=source, activation=0.8, tokens=10, used_at=NOW, memory_id=name)


def keys(mind: AttentionState) -> set[str]:
    """What is in mind."""
    return {slot.key for slot in mind.slots}


# --- momentum -----------------------------------------------------------------------------------------------


def test_a_vague_message_leans_on_what_was_said() -> None:
    """The words “ok, now deploy it” are drawn to the billing service, by no more than the policy's share."""
    text = "ok, now deploy it"
    vague = vector_of(text)
    momentum = update_momentum(Momentum(), vector_of(BILLING), IDENTITY)

    leaned = blend_with_momentum(vague, momentum, text, POLICY)

    assert similarity_to_recent(leaned, momentum, IDENTITY) > similarity_to_recent(vague, momentum, IDENTITY)
    assert momentum_share(momentum, text, POLICY) == MAX_MOMENTUM
    assert float(leaned @ vague) > float(leaned @ momentum_center(momentum)) > 0
    assert np.linalg.norm(leaned) == pytest.approx(1)


def test_a_message_that_speaks_for_itself_is_left_alone() -> None:
    """By default; a policy may let it lean as far as the talk is settled."""
    telling = message("which database does the invoicing team keep its ledgers in?")
    momentum = update_momentum(Momentum(), vector_of(GARDEN), IDENTITY)
    always = replace(POLICY, leans_only_when_vague=False)

    assert momentum_share(momentum, telling.text, POLICY) == 0
    assert 0 < momentum_share(momentum, telling.text, always) < MAX_MOMENTUM
    assert momentum_share(momentum, "deploy it", replace(POLICY, uses_momentum=False)) == 0


def test_nothing_leans_before_anything_was_said_or_in_another_space() -> None:
    """A changed embedder makes other vectors; they are not mixed."""
    vague = vector_of("ok, now deploy it")
    other = Momentum(np.ones((2, 7), np.float32), 0.5)

    assert blend_with_momentum(vague, Momentum(), "ok, now deploy it", POLICY) is vague
    assert blend_with_momentum(vague, other, "ok, now deploy it", POLICY) is vague


def test_confidence_grows_while_the_talk_stays_on_its_topic() -> None:
    """The same again makes it surer; something else makes it less sure."""
    vector, other = vector_of(BILLING), vector_of(GARDEN)
    once = update_momentum(Momentum(), vector, IDENTITY)

    again, elsewhere = update_momentum(once, vector, IDENTITY), update_momentum(once, other, IDENTITY)

    assert once.confidence < again.confidence < 1
    assert elsewhere.confidence < again.confidence


def test_the_newest_weighs_most_in_the_centre() -> None:
    """And what was said long ago is not kept at all."""
    momentum = Momentum()
    for number in range(8):
        momentum = update_momentum(momentum, np.eye(8, dtype=np.float32)[number], IDENTITY)

    weights = momentum_center(momentum)

    assert list(np.flatnonzero(weights)) == [4, 5, 6, 7]
    assert weights[7] > weights[6] > weights[5]


@pytest.mark.parametrize("text", ["ok", "yes, do it", "and now?", "go on", "はい", ""])
def test_words_that_tell_nothing_are_vague(text: str) -> None:
    """They have no topic of their own."""
    assert is_vague(text, POLICY)


# --- topics -------------------------------------------------------------------------------------------------


def test_more_of_the_same_is_a_continuation() -> None:
    """The slots stay; they only fade a little with the turn."""
    mind, first = said(AttentionState(), BILLING, memory("helm"))

    mind, second = said(mind, BILLING + " today")

    assert [first, second] == [TopicShift.CONTINUATION] * 2
    assert keys(mind) == {"helm"}


def test_a_drift_lets_everything_fade_faster() -> None:
    """Half of the words are new."""
    policy = replace(POLICY, continues_above=0.7, drifts_above=0.3)
    mind, _ = said(AttentionState(), "billing service cluster database", memory("helm"))

    drifted, shift = attend_to(mind, message("billing service invoices customers"), IDENTITY, policy, now=NOW)

    assert shift is TopicShift.DRIFT
    assert drifted.slots[0].activation == pytest.approx(0.8 * TURN_DECAY * DRIFT_DECAY)


def test_another_topic_clears_the_slots_and_the_old_one_brings_them_back() -> None:
    """Billing, then the garden, then billing again: what was in mind for it is there."""
    mind, _ = said(AttentionState(), BILLING, memory("helm"), memory("go"))

    away, switch = said(mind, GARDEN, memory("tomatoes"))
    back, returned = said(away, BILLING)

    assert (switch, keys(away), len(away.topics)) == (TopicShift.SWITCH, {"tomatoes"}, 1)
    assert (returned, keys(back)) == (TopicShift.RETURN, {"helm", "go"})
    assert [{slot.key for slot in topic.slots} for topic in back.topics] == [{"tomatoes"}]


def test_what_was_noted_on_purpose_stays_through_a_change_of_topic() -> None:
    """Whether the topic changed is a guess; the note is not."""
    note = Slot(source=SlotSource.EXPLICIT, activation=1, tokens=4, used_at=NOW, text="answer in French")
    mind, _ = said(AttentionState(), BILLING, memory("helm"), note)

    away, _ = said(mind, GARDEN)

    assert keys(away) == {"answer in French"}


def test_a_word_of_assent_is_no_turn_away() -> None:
    """The words “ok, do it” have nothing in common with anything, and change no topic."""
    mind, _ = said(AttentionState(), BILLING, memory("helm"))

    after, shift = said(mind, "ok, do it")

    assert shift is TopicShift.CONTINUATION
    assert keys(after) == {"helm"}
    assert np.array_equal(after.momentum.rows, mind.momentum.rows)


def test_only_so_many_topics_are_kept() -> None:
    """The one that was left first is let go of first."""
    mind = AttentionState()
    for number in range(MAX_TOPICS + 3):
        words = " ".join(f"word{number}x{place}" for place in range(6))
        mind, _ = said(mind, words, memory(f"m{number}"))

    assert len(mind.topics) == MAX_TOPICS
    assert {slot.key for slot in mind.topics[0].slots} == {"m2"}


# --- sleep --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hours", "restored", "activation"),
    [(3.9, Restored.FULL, 0.8), (4.0, Restored.DECAYED, 0.8), (14, Restored.DECAYED, 0.48)],
)
def test_a_short_sleep_changes_nothing_and_a_longer_one_dims(
    hours: float, restored: Restored, activation: float
) -> None:
    """Up to four hours as it was; then fainter with every hour."""
    mind, _ = said(AttentionState(), BILLING, memory("helm"))

    woken, state = wake_up(mind, POLICY, now=NOW + timedelta(hours=hours))

    assert state is restored
    assert woken.slots[0].activation == pytest.approx(activation)
    assert np.array_equal(woken.momentum.rows, mind.momentum.rows)


def test_after_a_day_nothing_is_left() -> None:
    """The day begins anew."""
    mind, _ = said(AttentionState(), BILLING, memory("helm"))

    woken, state = wake_up(mind, POLICY, now=NOW + timedelta(hours=24))

    assert (state, woken.slots, woken.momentum.is_empty) == (Restored.FRESH, (), True)


def test_a_wiped_mind_holds_no_number_of_what_was_said() -> None:
    """Not even in the topics that it had left."""
    mind, _ = said(AttentionState(), BILLING)
    mind, _ = said(mind, GARDEN)
    rows = [mind.momentum.rows, *(topic.momentum.rows for topic in mind.topics)]
    assert all(each.any() for each in rows)

    wipe_state(mind)

    assert len(rows) == 2
    assert not any(each.any() for each in rows)
    assert mind.momentum.is_empty


# --- anticipation -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "seconds", "expected"),
    [(BILLING, 59, True), (BILLING, 61, False), (GARDEN, 1, False), (BILLING, -1, False)],
)
def test_what_was_prepared_serves_what_was_expected_and_soon(
    text: str, seconds: float, expected: bool
) -> None:
    """A question like what was said, within a minute; anything else is a miss."""
    momentum = update_momentum(Momentum(), vector_of(BILLING), IDENTITY)
    prepared = AnticipatedAnswer(expected=momentum, answer=Recall(query=Query(text="x")), made_at=NOW)

    is_served = is_usable_for(prepared, vector_of(text), IDENTITY, now=NOW + timedelta(seconds=seconds))

    assert is_served is expected


@pytest.mark.parametrize(
    "fields",
    [{"slots": 2}, {"drifts_above": 0.9}, {"full_hours": 30.0}, {"most_minds": 0}, {"idle_minutes": 0.0}],
)
def test_numbers_that_make_no_sense_are_refused(fields: dict[str, float]) -> None:
    """When the policy is made, not when it is used."""
    with pytest.raises(InvalidSettings):
        AttentionPolicy(**fields)  # type: ignore[arg-type]
