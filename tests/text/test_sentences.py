"""Where a sentence ends, and where it does not."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engramdb.text.sentences import is_code_block, sentences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I live here. You do too!", ["I live here.", "You do too!"]),
        ("Dr. Chen works at St. Mary's. He is in.", ["Dr. Chen works at St. Mary's.", "He is in."]),
        ("It costs 3.50 today. Fine.", ["It costs 3.50 today.", "Fine."]),
        ("See fig. 3 for more. I like art. It helps.", ["See fig. 3 for more.", "I like art.", "It helps."]),
        (
            "We met at 5 p.m. and talked. At 6 p.m. Tom left.",
            ["We met at 5 p.m. and talked.", "At 6 p.m.", "Tom left."],
        ),
        (
            "J. Smith came, e.g. by bus. So did I. Then we ate.",
            ["J. Smith came, e.g. by bus.", "So did I.", "Then we ate."],
        ),
        ("i like tea. i live in rome.", ["i like tea.", "i live in rome."]),
        ("Well... maybe. Really?! Yes", ["Well... maybe.", "Really?!", "Yes"]),
    ],
)
def test_marks_end_sentences_and_abbreviations_do_not(text: str, expected: list[str]) -> None:
    """A full stop ends a sentence unless it belongs to an abbreviation, an initial or a number."""
    assert sentences(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "See https://a.example/b.html?x=1. Then open app.py.",
            ["See https://a.example/b.html?x=1.", "Then open app.py."],
        ),
        ('She said "Stop. Go home." and left. Bye.', ['She said "Stop. Go home." and left.', "Bye."]),
        ("Run `a. b` first. (It works. Really.) Done", ["Run `a. b` first.", "(It works. Really.)", "Done"]),
        ("Before\n```\nx. y\nz\n```\nAfter. End", ["Before", "```\nx. y\nz\n```", "After.", "End"]),
    ],
)
def test_what_belongs_together_is_kept_whole(text: str, expected: list[str]) -> None:
    """Urls, file names, quotations, parentheses and code are never cut."""
    assert sentences(text) == expected


def test_each_point_of_a_list_is_a_sentence() -> None:
    """Bullets and numbers go; what they introduce stays apart."""
    text = "Tools:\n- I use Neovim\n* I use tmux\n1. one\n2) two\n- [x] done"

    assert sentences(text) == ["Tools:", "I use Neovim", "I use tmux", "one", "two", "done"]


def test_a_wrapped_line_continues_and_a_short_line_does_not() -> None:
    """A long line without a mark at its end was wrapped by a machine; a short one was ended by a person."""
    wrapped = "This line is long enough that somebody's mail program must have broken it\nin the middle."

    assert len(sentences(wrapped)) == 1
    assert sentences("i like tea\ni like rum") == ["i like tea", "i like rum"]


def test_chinese_and_japanese_marks_end_sentences_without_a_space() -> None:
    """Full-width marks need no space after them."""
    assert sentences("我住在上海。我喜欢茶！好吗？") == ["我住在上海。", "我喜欢茶！", "好吗？"]
    assert sentences("東京です。「はい。」と言う。") == ["東京です。", "「はい。」と言う。"]


def test_a_code_block_is_known_as_one() -> None:
    """Extraction leaves code alone, so it must be able to tell."""
    assert is_code_block("```py\nx = 1\n```")
    assert not is_code_block("use `x` here")


@given(st.text(max_size=300))
def test_no_word_is_lost_or_invented(text: str) -> None:
    """Every sentence stands in the text, trimmed and not empty."""
    found = sentences(text)

    assert all(sentence and sentence == sentence.strip() for sentence in found)
    letters = "".join(character for character in "".join(found) if character.isalpha())
    assert letters == "".join(character for character in text if character.isalpha())


@pytest.mark.usefixtures("collector_at_rest")
@pytest.mark.parametrize("piece", ['"', "(", "`", "“", ". ", "a.", "1) ", "- ", "\n", " ", "… "])
def test_a_hostile_text_costs_little(piece: str) -> None:
    """Eight kilobytes of the same mark are cut in a blink."""
    text = (piece * 8192)[:8192]
    begin = time.thread_time()

    sentences(text)

    assert time.thread_time() - begin < 0.5
