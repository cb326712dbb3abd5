"""Counting the tokens of a text as a given model would."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engramdb.errors import MissingExtra
from engramdb.models.capabilities import (
    EXACT,
    STAND_INS,
    EstimatedCounter,
    counter_for,
    exact_counter,
    known_tokenizers,
    registry,
)
from engramdb.text.tokens import TOKENIZERS

if TYPE_CHECKING:
    from conftest import RunChild

SENTENCE = "I switched from vim to Helix last month, and I don't miss the configuration files at all."

WITHOUT_THE_EXTRA = """
    import sys
    import engramdb
    from engramdb.models.capabilities import counter_for, exact_counter
    print("rs_bpe" in sys.modules)
    sys.modules["rs_bpe"] = None    # as if it were not installed
    counter = counter_for("gpt-4o")
    print(counter.name, counter.is_exact, counter.count("I like tea.") <= counter.most("I like tea."))
    try:
        exact_counter("o200k")
    except engramdb.EngramError as error:
        print(error.hint)
"""


@pytest.mark.parametrize(
    ("model", "tokenizer"),
    [
        ("gpt-4o-2024-08-06", "o200k"),
        ("openai:gpt-5.2", "o200k"),
        ("gpt-4-turbo", "cl100k"),
        ("claude-opus-4-6-20260101", "claude3"),
        ("claude-opus-5-5", "claude5"),
        ("models/gemini-3.1-pro", "gemini"),
        ("llama3.2:3b", "llama3"),
        ("llama2:7b", "mistral"),
        ("mistral-nemo", "tekken"),
        ("qwen3:8b", "qwen"),
        ("deepseek-v3.2", "deepseek"),
        ("a-model-of-my-own", "unknown"),
        ("o200k", "o200k"),
        ("llama4", "llama4"),
    ],
)
def test_each_model_has_its_counter(model: str, tokenizer: str) -> None:
    """By the model's name, or by that of the tokenizer."""
    counter = counter_for(model)

    assert counter.name == tokenizer
    assert counter.count(SENTENCE) <= counter.most(SENTENCE)
    assert 18 <= counter.count(SENTENCE) <= 36


def test_only_two_tokenizers_are_exact() -> None:
    """Whatever is an estimate says so."""
    pytest.importorskip("rs_bpe")

    exact = {name for name in known_tokenizers() if counter_for(name).is_exact}

    assert exact == set(EXACT)


@pytest.mark.parametrize(
    ("text", "o200k", "cl100k"),
    [
        ("", 0, 0),
        (SENTENCE, 20, 21),
        ("<|endoftext|>", 7, 7),
        ("我喜欢喝绿茶，不喜欢咖啡", 10, 22),
        ("🙂\n\n\t x", 4, 5),
    ],
)
def test_exact_counts_are_those_that_were_recorded(text: str, o200k: int, cl100k: int) -> None:
    """Special tokens that are spelled out are ordinary text: a memory cannot end a prompt."""
    pytest.importorskip("rs_bpe")

    assert exact_counter("o200k").count(text) == o200k
    assert exact_counter("cl100k").count(text) == exact_counter("cl100k").most(text) == cl100k


@settings(max_examples=25)
@given(st.text(st.characters(), max_size=60))
def test_every_text_can_be_counted_exactly(text: str) -> None:
    """Half a surrogate pair too, and never to more tokens than bytes."""
    pytest.importorskip("rs_bpe")

    assert exact_counter("o200k").count(text) <= len(text.encode("utf-8", "surrogatepass"))


def test_half_a_surrogate_pair_is_counted() -> None:
    """Such text comes from broken JSON; it must not break a prompt."""
    pytest.importorskip("rs_bpe")

    assert exact_counter("o200k").count("a\ud800b") == exact_counter("o200k").count("a?b")


def test_threads_share_one_vocabulary() -> None:
    """The first count loads it, whichever thread comes first, and all get the same answer."""
    pytest.importorskip("rs_bpe")
    counts: list[int] = []
    threads = [
        threading.Thread(target=lambda: counts.append(counter_for("cl100k").count("hello " * 500)))
        for _ in range(8)
    ]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(counts) == 8
    assert len(set(counts)) == 1
    assert counter_for("gpt-4") is counter_for("cl100k")


def test_without_the_extra_there_is_an_estimate(child: RunChild) -> None:
    """Nothing is imported before it is needed, nothing fails without it, and the hint names it."""
    lines = child(WITHOUT_THE_EXTRA).splitlines()

    assert lines == ["False", "o200k False True", "pip install 'engramdb[tokens]'"]


def test_no_other_tokenizer_has_an_exact_counter() -> None:
    """Asking for one is an error that says so."""
    with pytest.raises(MissingExtra, match="gemini"):
        exact_counter("gemini")


def test_an_own_model_may_name_its_tokenizer() -> None:
    """Known ones are used; a name that nobody knows counts as unknown."""
    own = {"mine": {"tokenizer": "llama3"}, "theirs": {"tokenizer": "no-such"}}

    assert counter_for("mine:7b", overrides=own).name == "llama3"
    assert counter_for("theirs", overrides=own).name == "unknown"


def test_a_stand_in_is_a_tenth_above_what_it_stands_on() -> None:
    """What nobody measured is reckoned higher, and called an estimate."""
    text = SENTENCE * 20

    for name, column in STAND_INS.items():
        counter = counter_for(name)
        assert not counter.is_exact
        assert counter.count(text) == round(1.1 * EstimatedCounter(column, column).count(text))


def test_every_tokenizer_is_measured_or_stands_on_one_that_is() -> None:
    """And every model of the registry names one of them."""
    assert set(STAND_INS.values()) <= set(TOKENIZERS)
    assert set(EXACT) <= set(TOKENIZERS)
    assert {entry.tokenizer for entry in registry().values()} <= set(known_tokenizers())
