"""Shorter forms of a statement, and what each costs."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engramdb.text.detail import KEY_FACT_WORDS, SUMMARY_WORDS, TAG_WORDS, levels
from engramdb.text.tokens import count_tokens

LONG = (
    "I switched from vim to Helix last month because the selection-first model suits me, "
    "the startup is instant, and I was tired of maintaining three hundred lines of configuration for it."
)


def test_a_short_statement_is_its_own_summary() -> None:
    """Nothing is shortened that is short already."""
    detail = levels("User prefers dark mode.")

    assert detail.summary == "User prefers dark mode."
    assert detail.key_fact == "User prefers dark mode"
    assert detail.tag == "dark mode"


def test_a_long_sentence_is_cut_between_clauses() -> None:
    """A summary ends where a clause ends and says that more followed."""
    detail = levels(LONG)

    assert detail.summary is not None
    assert detail.summary.endswith("the startup is instant…")
    assert detail.key_fact == "I switched from vim to Helix last month"


def test_whole_sentences_are_kept() -> None:
    """As many sentences as fit, none of them cut."""
    text = "The migration is done. It took four hours. " + "The old server stays on for a week " * 4

    assert levels(text).summary == "The migration is done. It took four hours."


def test_the_parts_of_a_fact_make_its_key_fact_and_its_tag() -> None:
    """Subject, predicate and object say it best when they are known."""
    detail = levels(LONG, subject="User", predicate="switched_to", object="Helix")

    assert detail.key_fact == "User switched to Helix"
    assert detail.tag == "Helix"


def test_a_fact_does_not_lose_its_negation() -> None:
    """The telling words include the one that turns the meaning round."""
    text = (
        "Whatever else may happen in the coming years we will never again store customer passwords "
        "in the spreadsheet that everybody in the company can open"
    )

    assert "never" in str(levels(text).key_fact)


def test_scripts_without_spaces_are_shortened_too() -> None:
    """Chinese has no spaces to count words by, but clauses to cut at; what is not so yet stays."""
    beginning = "我下个月去上海出差，酒店已经订好了，在外滩附近，客户想看新产品的演示"
    text = f"{beginning}，去上海的高铁票还没有买，所以明天要早点去车站。"

    detail = levels(text)

    assert detail.summary == f"{beginning}，去上海的高铁票还没有买…"
    assert detail.key_fact == "我下个月去上海出差，酒店已经订好了 … 去上海的高铁票还没有买…"


def test_nothing_gives_nothing() -> None:
    """Empty content has empty levels that cost nothing."""
    assert set(levels("").tokens.values()) == {0}


@given(
    content=st.text(max_size=400) | st.lists(st.sampled_from(LONG.split()), max_size=80).map(" ".join),
    subject=st.none() | st.text(max_size=20),
    object_=st.none() | st.text(max_size=20),
)
def test_no_level_is_longer_than_the_one_before(
    content: str, subject: str | None, object_: str | None
) -> None:
    """In characters and in tokens, full ≥ summary ≥ key fact ≥ tag."""
    detail = levels(content, subject=subject, predicate="likes", object=object_)
    texts = [content, str(detail.summary), str(detail.key_fact), str(detail.tag)]

    assert [len(text) for text in texts] == sorted((len(text) for text in texts), reverse=True)
    assert list(detail.tokens.values()) == sorted(detail.tokens.values(), reverse=True)
    assert list(detail.tokens) == ["full", "summary", "key_fact", "tag"]


@given(st.lists(st.sampled_from([*LONG.split(), "x."]), min_size=1, max_size=80).map(" ".join))
def test_levels_keep_to_their_length(content: str) -> None:
    """A summary has 25 words at most, a key fact ten, a tag three, where nothing qualifies the statement."""
    detail = levels(content)

    assert len(str(detail.summary).split()) <= SUMMARY_WORDS
    assert len(str(detail.key_fact).split()) <= KEY_FACT_WORDS
    assert len(str(detail.tag).split()) <= TAG_WORDS


@pytest.mark.parametrize(
    ("text", "o200k"),
    [
        ("The quick brown fox jumps over the lazy dog.", 10),
        ("def embed(self, texts: list[str]) -> list[float]:\n    return [0.0 for _ in texts]", 25),
        ("我喜欢喝绿茶，不喜欢咖啡", 10),
        ("Встреча в понедельник в десять часов.", 12),
    ],
)
def test_the_estimate_is_near_a_real_tokenizer(text: str, o200k: int) -> None:
    """Within a fifth of what o200k counts, in words, code and other scripts."""
    assert abs(count_tokens(text) - o200k) <= 0.2 * o200k


def test_something_costs_at_least_a_token() -> None:
    """Only nothing is free."""
    assert count_tokens("") == 0
    assert count_tokens(" ") == 1


@pytest.mark.usefixtures("collector_at_rest")
@pytest.mark.parametrize(
    "text", ["a/" * 4000, ", " * 4000, ". " * 4000, "a " * 4000, "一" * 8000, "\n" * 8000]
)
def test_hostile_text_costs_no_more_than_other_text(text: str) -> None:
    """Eight kilobytes made to be slow are read in a moment."""
    levels("warm up")
    started = time.thread_time()

    levels(text)

    assert time.thread_time() - started < 0.2


@pytest.mark.parametrize(
    ("content", "triple"),
    [
        ("User never puts sugar into coffee", ("User", "puts", "sugar into coffee")),
        ("User used to use vim", ("User", "uses", "vim")),
        ("User might move to Paris", ("User", "plans", "move to Paris")),
        ("User doesn't eat meat", ("User", "eats", "meat")),
    ],
)
def test_a_key_fact_does_not_say_the_opposite(content: str, triple: tuple[str, str, str]) -> None:
    """Where subject, predicate and object alone would be false, the statement's own words stand."""
    subject, predicate, what = triple

    assert levels(content, subject=subject, predicate=predicate, object=what).key_fact == content
