"""Working memory is a handful of slots: what is used stays, the weakest gives way, notes give way last."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from engramdb.context.working_memory import (
    add_slots,
    boost_slots,
    fade_slots,
    remaining_share,
    slot_capacity,
    sort_by_strength,
)
from engramdb.policy.context import AttentionPolicy
from engramdb.values import Slot, SlotSource

NOW = datetime(2026, 1, 1, tzinfo=UTC)
POLICY = AttentionPolicy()


def slot(
    name: str, activation: float = 0.5, *, source: SlotSource = SlotSource.RECALL, tokens: int = 10
) -> Slot:
    """A slot that stands for a memory, or for words if it is explicit."""
    is_words = source is SlotSource.EXPLICIT
    return Slot(
        source=source,
        activation=activation,
        tokens=tokens,
        used_at=NOW,
        memory_id=None if is_words else name,
        text=name if is_words else "",
    )


def names(slots: tuple[Slot, ...]) -> list[str]:
    """What the slots stand for."""
    return [one.key for one in slots]


def test_the_weakest_gives_way() -> None:
    """A tenth thing comes to mind, and the faintest of the nine is gone."""
    held = add_slots((), [slot(f"m{number}", 0.3 + number / 20) for number in range(9)], POLICY)

    after = add_slots(held, [slot("new", 0.5)], POLICY)

    assert len(after) == 9
    assert "m0" not in names(after)
    assert "new" in names(after)


def test_what_was_noted_on_purpose_gives_way_last() -> None:
    """The faintest note outlives the strongest memory."""
    note = slot("in a hurry", 0.01, source=SlotSource.EXPLICIT)

    after = add_slots((note,), [slot(f"m{number}", 1.0) for number in range(20)], POLICY)

    assert "in a hurry" in names(after)


def test_nine_small_things_fit_and_five_large_ones() -> None:
    """Seven, give or take two, by what they cost together."""
    small, middling, large = (
        [slot(f"m{number}", tokens=size) for number in range(9)] for size in (5, 150, 400)
    )

    assert [slot_capacity(slots, POLICY) for slots in (small, middling, large)] == [9, 7, 5]
    assert [len(add_slots((), slots, POLICY)) for slots in (small, large)] == [9, 5]


def test_the_same_memory_is_held_once_and_grows_stronger() -> None:
    """What comes up again is more active, and what is then asked for on purpose is explicit."""
    (once,) = add_slots((), [slot("tea", 0.4)], POLICY)

    (twice,) = add_slots((once,), [slot("tea", 0.1)], POLICY)

    assert twice.activation > once.activation


def test_use_strengthens_what_was_used_and_nothing_else() -> None:
    """A reply that leans on one slot boosts that one."""
    used, other = boost_slots((slot("used", 0.5), slot("other", 0.5)), {"used"}, now=NOW + timedelta(hours=1))

    assert used.activation > other.activation == 0.5
    assert used.used_at > other.used_at


def test_what_fades_leaves_unless_it_was_put_there_on_purpose() -> None:
    """Below the least activation a memory is gone from mind; a note stays."""
    note = slot("note", 0.2, source=SlotSource.EXPLICIT)

    after = fade_slots((slot("faint", 0.2), slot("strong", 0.9), note), 0.3)

    assert names(after) == ["strong", "note"]


def test_an_hour_halves_activation_and_a_clock_that_went_back_takes_none() -> None:
    """Time is an argument, and it may be wrong."""
    assert remaining_share(timedelta(hours=1), POLICY) == 0.5
    assert remaining_share(timedelta(hours=-1), POLICY) == 1.0


def test_the_strongest_is_shown_first() -> None:
    """A prompt that is cut short loses the faintest."""
    slots = [slot("faint", 0.2), slot("strong", 0.9), slot("note", 0.1, source=SlotSource.EXPLICIT)]

    assert [one.key for one in sort_by_strength(slots)] == ["note", "strong", "faint"]


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.integers(0, 15), st.floats(0, 1), st.integers(1, 900), st.booleans()), max_size=40)
)
def test_whatever_comes_up_there_are_never_too_many(events: list[tuple[int, float, int, bool]]) -> None:
    """Slots are distinct, within the room there is for them, and active between 0 and 1."""
    held: tuple[Slot, ...] = ()
    for number, activation, tokens, is_note in events:
        source = SlotSource.EXPLICIT if is_note else SlotSource.RECALL
        held = add_slots(held, [slot(f"m{number}", activation, source=source, tokens=tokens)], POLICY)
        held = fade_slots(held, 0.95)

        assert len(held) <= slot_capacity(held, POLICY)
        assert len(set(names(held))) == len(held)
        assert all(0 <= one.activation <= 1 for one in held)
