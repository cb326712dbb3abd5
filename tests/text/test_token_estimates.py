"""What a text costs in tokens, without a tokenizer."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engramdb.text.tokens import (
    COSTS,
    KINDS,
    MARGINS,
    SCRIPTS,
    TOKENIZERS,
    TONGUES,
    USUAL,
    composition,
    count_tokens,
    margin_class,
    most_tokens,
)

PIECES = (
    *(
        "the",
        "The",
        "don't",
        "don’t",
        "won'",
        "it's",
        "HTTPServer",
        "parseJSON",
        "caf",
        "café",
        "über",
        "Zażółć",
    ),
    *(
        "der",
        "nie",
        "się",
        "szczęście",
        "12",
        "2026-05-08",
        "3.14",
        "0x1f",
        " ",
        "  ",
        "\n",
        "\n\n",
        "\t",
        "\n    ",
    ),
    *(
        "(",
        "()",
        "->",
        "'",
        "''",
        "----",
        "…",
        "’",
        "。",
        "你好",
        "臺灣",
        "ありがとう",
        "감사",
        "привет",
        "ґанок",
        "ы",
    ),
    *("नमस्ते", "ສະບາຍດີ", "🙂", "🙂🙂", "é", "\u0301", "\u00a0", "\x00", "\ud800", "ⓘ", "─", "──", "a" * 40),
)
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=20).map("".join)


@pytest.mark.parametrize(
    ("text", "o200k", "cl100k"),
    [
        ("I switched from vim to Helix last month, and I don't miss the configuration files at all.", 20, 21),
        ("def embed(self, texts: list[str]) -> list[float]:\n    return [0.0 for _ in texts]", 25, 24),
        ('{"name": "engram", "version": "0.1.0", "tags": ["memory", "agents"]}', 27, 26),
        ("我上周把数据库迁移到了新的服务器，整个过程花了三天，但是查询速度明显变快了。", 25, 37),
        ("На прошлой неделе мы перенесли базу данных на новый сервер, и запросы стали быстрее.", 21, 30),
        ("Letzte Woche haben wir die Datenbank auf einen neuen Server umgezogen.", 15, 17),
    ],
)
def test_an_estimate_is_near_the_truth(text: str, o200k: int, cl100k: int) -> None:
    """One sentence within a fifth, or a third by a vocabulary that is poor outside English."""
    assert abs(count_tokens(text, "o200k") - o200k) <= 0.2 * o200k
    assert abs(count_tokens(text, "cl100k") - cl100k) <= (0.2 if text.isascii() else 0.34) * cl100k


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
def test_only_nothing_is_free(tokenizer: str) -> None:
    """No text, no tokens; the smallest text has one."""
    assert count_tokens("", tokenizer) == most_tokens("", tokenizer) == 0
    assert count_tokens(" ", tokenizer) == 1


@settings(max_examples=40)
@given(text=TEXTS, more=TEXTS, tokenizer=st.sampled_from(TOKENIZERS))
def test_a_longer_text_never_costs_less(text: str, more: str, tokenizer: str) -> None:
    """Whatever is appended, and wherever a text is cut: a prefix that fits is found by trying."""
    assert count_tokens(text + more, tokenizer) >= count_tokens(text, tokenizer)
    assert most_tokens(text + more, tokenizer) >= most_tokens(text, tokenizer)


@settings(max_examples=40)
@given(text=TEXTS, tokenizer=st.sampled_from(TOKENIZERS))
def test_the_bound_is_above_the_estimate_and_below_the_bytes(text: str, tokenizer: str) -> None:
    """A careful budget never reckons with less than a plain one, nor with more than is possible."""
    most = most_tokens(text, tokenizer)

    assert count_tokens(text, tokenizer) <= most
    assert most <= 1 + len(text.encode("utf-8", "surrogatepass"))


@settings(max_examples=40)
@given(TEXTS)
def test_every_piece_has_a_cost(text: str) -> None:
    """No text holds a kind of piece that was never measured, and a text that goes on keeps its pieces."""
    whole = composition(text)

    assert whole.keys() <= COSTS.keys() == KINDS
    assert all(count >= 0 for count in whole.values())


def test_every_script_has_a_cost() -> None:
    """Whatever block of Unicode a letter is from, it can be counted by every tokenizer."""
    letters = [chr(code) for code in range(32, 0x11000, 7)] + [chr(start) for start, _ in SCRIPTS]

    for tokenizer in TOKENIZERS:
        assert min(count_tokens(letter, tokenizer) for letter in letters) == 1


@pytest.mark.parametrize("column", range(len(TOKENIZERS)), ids=TOKENIZERS)
def test_costs_keep_what_growing_needs(column: int) -> None:
    """None is negative, and the end of "don't" is never dearer than the word that it may become."""
    costs = {kind: row[column] for kind, row in COSTS.items()}
    words = [costs[kind] for tongue in TONGUES for kind in (tongue, f"{tongue} glued")]

    assert min(costs.values()) >= 0
    assert costs["contraction"] <= min(words)
    assert all(row[column] >= 1 for row in MARGINS.values())


def test_every_kind_has_a_margin_of_its_class() -> None:
    """Four classes, each with kinds in it."""
    assert {margin_class(kind) for kind in COSTS} == MARGINS.keys()
    assert margin_class("english over 3") == margin_class("mark") == "plain"
    assert margin_class("accent") == margin_class("near glued") == "near"
    assert margin_class("two accents") == margin_class("far over 8") == "far"
    assert margin_class("kana") == margin_class("emoji") == "script"


def test_words_are_counted_in_the_language_that_was_spoken_before() -> None:
    """A small word or an accent turns the words after it, and an English one turns them back."""
    assert composition("Datenbank")["english"] == 1
    assert composition("die Suche ist der Datenbank")["near"] == 2
    assert composition("się Datenbank")["far"] == 1
    assert composition("się the Datenbank")["english"] == 2


def test_running_words_without_a_small_word_are_not_english() -> None:
    """Languages that nobody listed are noticed by what they lack."""
    text = "umfana omkhulu wathenga isinkwa esishisayo ekuseni kakhulu namhlanje enkundleni yethu"

    assert composition(text)["far"] > 0


def test_russian_and_its_neighbours_are_told_apart() -> None:
    """By letters that only one of them has."""
    assert composition("новый дом")["russian"] == 1
    assert composition("ґанок новий")["other cyrillic"] == 1
    assert composition("дом")["cyrillic"] == 1


def test_the_usual_tokens_are_those_of_the_levels_of_detail() -> None:
    """What is stored with a memory does not depend on what is installed."""
    assert USUAL == "o200k"
    assert count_tokens("I like tea.") == count_tokens("I like tea.", USUAL) == 4


@pytest.mark.usefixtures("collector_at_rest")
@pytest.mark.parametrize(
    "text", ["a" * 60_000, "a " * 30_000, "'" * 60_000, "一" * 60_000, "\n " * 30_000, "é" * 60_000]
)
def test_hostile_text_is_counted_in_time(text: str) -> None:
    """Sixty thousand characters made to be slow take no longer than others of that length."""
    count_tokens("warm up")
    started = time.thread_time()

    count_tokens(text)

    assert time.thread_time() - started < 1
