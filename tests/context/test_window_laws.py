"""What holds for every window: within its budget, in its drop order, each section within its share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engramdb.context.budget import (
    DROP_ORDER,
    allocate_tokens,
    available_tokens,
    guaranteed_tokens,
    section_shares,
)
from engramdb.context.history import parse_history
from engramdb.context.lines import may_enter_window
from engramdb.errors import InvalidQuery, InvalidSettings
from engramdb.policy import ContextPolicy
from engramdb.values import DetailLevel, Fate, SectionName, WorkingLine

from .made import EXACT, cost, hit, memory
from .reading import read_block

if TYPE_CHECKING:
    from .made import Maker

POLICY = ContextPolicy()
WORDS = "deploy the otter server on Tuesday because Ann prefers quiet mornings and strong tea".split()  # noqa: SIM905

needs = st.dictionaries(st.sampled_from(SectionName), st.integers(0, 50_000))


def told(number: int, words: int) -> str:
    """A statement of so many words, unlike the others."""
    return f"Note {number}: " + " ".join(WORDS[(number + place) % len(WORDS)] for place in range(words))


def talk(exchanges: int, words: int) -> list[dict[str, str]]:
    """A conversation of so many exchanges."""
    return [
        {"role": role, "content": told(number, words)}
        for number in range(exchanges)
        for role in ("user", "assistant")
    ]


@settings(max_examples=40)
@given(
    budget=st.integers(0, 6_000),
    hits=st.integers(0, 60),
    words=st.integers(1, 80),
    exchanges=st.integers(0, 30),
    slots=st.integers(0, 5),
)
def test_no_window_is_over_its_budget(
    maker: Maker, *, budget: int, hits: int, words: int, exchanges: int, slots: int
) -> None:
    """By the exact tokenizer, as one prompt and as messages; working memory is whole or there is an error."""
    found = [hit(memory(told(number, words), number), 1 / (1 + number)) for number in range(hits)]
    held = [WorkingLine(text=told(number, 8), activation=0.5) for number in range(slots)]

    try:
        window = maker.window(budget, found, history=parse_history(talk(exchanges, words)), working=held)
    except InvalidQuery:
        assert slots
        assert budget < 80 + 40 * slots
        return

    assert cost(window) <= window.tokens <= budget
    assert EXACT.count(window.text) <= budget + EXACT.count(window.message) + 4
    assert (
        sum(EXACT.count(one.content) for one in window.messages) <= budget + EXACT.count(window.message) + 4
    )
    assert sum(told(number, 8) in window.text for number in range(slots)) == slots


@settings(max_examples=40)
@given(budget=st.integers(0, 200_000), wanted=needs, least=st.integers(1, 100))
def test_sections_go_in_the_drop_order(budget: int, wanted: dict[SectionName, int], least: int) -> None:
    """Who is left out wanted room, and so did nobody before it in the order who is still there."""
    wanted[SectionName.WORKING] = min(wanted.get(SectionName.WORKING, 0), budget)

    given_ = allocate_tokens(budget, wanted, minimums=dict.fromkeys(DROP_ORDER, least), policy=POLICY)

    wanting = [name for name in DROP_ORDER if wanted.get(name, 0)]
    is_there = [given_[name] > 0 for name in wanting]
    assert is_there == sorted(is_there)
    assert given_[SectionName.WORKING] == wanted[SectionName.WORKING]
    assert sum(given_.values()) <= budget


@settings(max_examples=40)
@given(budget=st.integers(2_000, 2_000_000))
def test_no_section_takes_from_another(budget: int) -> None:
    """Where everybody wants more than there is, each has its share and no more."""
    given_ = allocate_tokens(
        budget, dict.fromkeys(SectionName, budget) | {SectionName.WORKING: 0}, minimums={}, policy=POLICY
    )
    sure = guaranteed_tokens(budget, 0, POLICY)

    # What working memory leaves goes to the weightiest, which is identity; hints and notes live on leftovers.
    for name in DROP_ORDER[:-1]:
        assert given_[name] in (sure[name], 0)
    assert (
        given_[SectionName.IDENTITY] <= sure[SectionName.IDENTITY] + round(budget * POLICY.working_share) + 9
    )


def test_what_is_not_used_goes_on_by_priority() -> None:
    """Without a history its share is the recalled memories', and after them the others'."""
    alone = allocate_tokens(1_000, {SectionName.RECALLED: 5_000}, minimums={}, policy=POLICY)
    beside = allocate_tokens(
        1_000, {SectionName.RECALLED: 5_000, SectionName.TODAY: 900}, minimums={}, policy=POLICY
    )

    assert alone[SectionName.RECALLED] == 1_000
    assert beside[SectionName.TODAY] == 40
    assert beside[SectionName.RECALLED] == 960


def test_working_memory_takes_what_it_needs_from_the_least() -> None:
    """Beyond its own share it takes the roster's first, then today's, then that of skills."""
    usual, crowded = guaranteed_tokens(1_000, 0, POLICY), guaranteed_tokens(1_000, 250, POLICY)

    assert crowded[SectionName.ROSTER] == crowded[SectionName.TODAY] == 0
    assert crowded[SectionName.SKILLS] == usual[SectionName.SKILLS] - 30
    assert crowded[SectionName.IDENTITY] == usual[SectionName.IDENTITY]


def test_recalled_memories_grow_with_the_window() -> None:
    """At the cost of history, up to a third and a bit; the shares still make one."""
    small, large = section_shares(8_000, POLICY), section_shares(2_000_000, POLICY)

    assert small[SectionName.RECALLED] == pytest.approx(0.12)
    assert large[SectionName.RECALLED] == pytest.approx(0.35)
    assert sum(small.values()) == pytest.approx(sum(large.values())) == pytest.approx(1)


def test_larger_windows_pack_more_of_the_same_answer(maker: Maker) -> None:
    """There is no fixed number: 8 k holds a few, 200 k hundreds, 2 M all that one recall can find."""
    long = memory(told(3, 350))
    found = [
        hit(memory(f"{number} {long.content}", number, detail=long.detail), 0.9 - number / 2_000)
        for number in range(1_000)
    ]

    counts, sizes = {}, {}
    for budget in (8_000, 200_000, 2_000_000):
        window = maker.window(budget, found)
        full = [held for held in window.holds if held.level is DetailLevel.FULL]
        counts[budget], sizes[budget] = len(full), window.tokens

    assert 8 <= counts[8_000] < 25
    assert 15 < counts[200_000] / counts[8_000] < 60
    assert counts[2_000_000] == 1_000
    assert sizes[8_000] > 7_000
    assert sizes[200_000] > 180_000


def test_the_best_hits_get_the_most_detail(maker: Maker) -> None:
    """In a small window the first hit is whole and the last are shorter or left out, and that is said."""
    found = [hit(memory(told(number, 45), number), 0.9 - number / 50) for number in range(40)]

    window = maker.window(900, found)
    level = {held.memory_id: held.level for held in window.holds}
    records, _ = read_block(window.present)

    assert level["m0"] is level["m1"] is DetailLevel.FULL
    assert level.get("m39") is not DetailLevel.FULL
    assert {loss.fate for loss in window.losses} & {Fate.DROPPED, Fate.DEGRADED}
    assert len(records) == sum(one is not DetailLevel.TAG for one in level.values())


def test_fixed_parts_and_the_reply_are_paid_first() -> None:
    """A budget is the window less what is fixed and what the reply may take."""
    usual = available_tokens(200_000, output_limit=64_000, used_tokens=1_000, reserve=None, policy=POLICY)
    small = available_tokens(4_000, output_limit=4_000, used_tokens=0, reserve=None, policy=POLICY)
    asked = available_tokens(8_000, output_limit=4_000, used_tokens=500, reserve=2_000, policy=POLICY)

    assert (usual, small, asked) == (200_000 - 1_000 - 8_192, 3_000, 5_500)


@pytest.mark.parametrize(
    "wrong",
    [
        {"identity_share": 0.5},
        {"recalled_share_most": 0.9},
        {"gap_questions": -1},
        {"summary_tokens": 0},
    ],
)
def test_senseless_numbers_are_refused(wrong: dict[str, Any]) -> None:
    """Shares that do not make one, and counts that cannot be."""
    with pytest.raises(InvalidSettings):
        ContextPolicy(**wrong)


def test_erased_memories_are_not_allowed() -> None:
    """Only what is active or disputed may be shown at all."""
    assert may_enter_window(memory("I like tea"))
    assert not may_enter_window(memory("I like tea", flags=("injection",)))
