"""The tokenizer: the same ids as the reference, on every script, within bounds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engramdb.models.wordpiece import WordPieces, bert_uncased

RECORD = json.loads((Path(__file__).parent / "token_ids.json").read_bytes())


@pytest.mark.parametrize("row", RECORD, ids=lambda row: ascii(row["text"])[:40])
def test_ids_equal_those_of_the_reference(row: dict[str, object]) -> None:
    """Many scripts, code, addresses, emoji and control characters are cut as the reference cuts them."""
    tokenizer = bert_uncased()

    ids = [piece for word in tokenizer.words(str(row["text"])) for piece in tokenizer.pieces(word)]

    assert ids == row["ids"]


def test_an_encoded_text_is_framed_and_cut_to_length() -> None:
    """The start and end marks are always there, however long the text is."""
    tokenizer = bert_uncased()

    short = tokenizer.encode("hello", most_tokens=512)
    long = tokenizer.encode("hello world " * 1000, most_tokens=512)

    assert short == [tokenizer.start, *tokenizer.pieces("hello"), tokenizer.end]
    assert len(long) == 512
    assert (long[0], long[-1]) == (tokenizer.start, tokenizer.end)


def test_a_text_that_just_fits_is_kept_whole() -> None:
    """Two tokens of room less than the limit are for the marks; the rest is for the text."""
    tokenizer = bert_uncased()

    assert len(tokenizer.encode("hello " * 6, most_tokens=8)) == 8
    assert tokenizer.encode("hello " * 6, most_tokens=8) == tokenizer.encode("hello " * 7, most_tokens=8)


def test_a_long_word_at_the_limit_is_cut_inside() -> None:
    """A word of several pieces does not push the end mark out."""
    tokenizer = bert_uncased()

    ids = tokenizer.encode("antidisestablishmentarianism", most_tokens=4)

    assert ids == [tokenizer.start, *tokenizer.pieces("antidisestablishmentarianism")[:2], tokenizer.end]


def test_lone_surrogates_are_dropped() -> None:
    """Half a character, as broken JSON leaves it, does not stop the rest from being read."""
    assert bert_uncased().words("good\ud800 morning\udfff") == ["good", "morning"]


def test_a_spelled_out_special_token_is_ordinary_text() -> None:
    """Nobody can end the text early for the model by writing the end mark into a message."""
    tokenizer = bert_uncased()

    assert tokenizer.end not in tokenizer.encode("one [SEP] two", most_tokens=512)[:-1]


def test_the_caches_stay_bounded() -> None:
    """A stream of words that never repeat does not fill the memory, and answers stay right."""
    vocabulary = {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "a": 3, "##a": 4, "á": 5}
    tokenizer = WordPieces(vocabulary, most_words=10, most_characters=10)

    lengths = [len(tokenizer.pieces("a" * length)) for length in range(1, 40)]
    tokenizer.words("".join(map(chr, range(0x400, 0x500))))

    assert lengths == list(range(1, 40))
    assert len(tokenizer._known) <= 10
    assert len(tokenizer._characters) <= 10
