"""What statements are about, and when the talk has moved on."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engramdb.text.traits import TOPIC_CHANGED_BELOW, overlap, topic_terms


def box(*statements: str) -> frozenset[str]:
    """Return the topic terms of everything said so far."""
    return frozenset[str]().union(*map(topic_terms, statements))


def test_going_on_about_the_same_thing_is_no_change() -> None:
    """A statement that shares a telling word stays in the box."""
    said = box("We adopted a kitten called Miso.", "She sleeps on the radiator all day.")

    assert overlap(topic_terms("Miso is afraid of the vacuum cleaner."), said) >= TOPIC_CHANGED_BELOW


def test_another_subject_is_a_change() -> None:
    """Nothing in common closes the box."""
    said = box("We adopted a kitten called Miso.", "She sleeps on the radiator all day.")

    assert overlap(topic_terms("The quarterly tax return is due on the tenth."), said) < TOPIC_CHANGED_BELOW


def test_a_topic_in_common_holds_where_no_word_is_shared() -> None:
    """Two editors are one topic, whatever they are called."""
    said = box("I use Helix as my editor now")

    assert overlap(topic_terms("I tried Neovim before"), said) >= TOPIC_CHANGED_BELOW


def test_small_words_days_and_numbers_are_no_topic() -> None:
    """What every conversation contains says nothing about this one."""
    assert topic_terms("We will do it on Monday at 10:30, maybe twice") == frozenset()


def test_a_similarity_stands_in_where_the_words_differ() -> None:
    """What an embedder finds related stays together; what it finds unrelated changes nothing."""
    one, other = topic_terms("The solar panels are new"), topic_terms("The inverter hums")

    assert overlap(one, other) < TOPIC_CHANGED_BELOW
    assert overlap(one, other, similarity=0.6) >= TOPIC_CHANGED_BELOW
    assert overlap(one, other, similarity=0.1) < TOPIC_CHANGED_BELOW


def test_scripts_without_spaces_share_topics_too() -> None:
    """Chinese and Japanese statements are compared by pairs of characters."""
    assert overlap(topic_terms("高铁票还没有买"), topic_terms("我要买高铁票")) >= TOPIC_CHANGED_BELOW
    assert overlap(topic_terms("富士山に登る"), topic_terms("会社は渋谷駅の近く")) < TOPIC_CHANGED_BELOW


sets = st.frozensets(st.sampled_from(["cat", "dog", "vet", "tax", "#pets", "#money", "#home"]))


@given(a=sets, b=sets, similarity=st.none() | st.floats(-1, 2))
def test_overlap_is_a_share_and_does_not_mind_the_order(
    a: frozenset[str], b: frozenset[str], similarity: float | None
) -> None:
    """Between 0 and 1, the same both ways, and 0 where nothing is shared."""
    both = overlap(a, b, similarity=similarity)

    assert 0 <= both <= 1
    assert both == overlap(b, a, similarity=similarity)
    if not a & b:
        assert overlap(a, b) == 0
