"""Bytes into messages: lines in any cut, the limit, ids of what is refused, halves of characters."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engramdb.mcp.frames import Lines, TooLong, mended, request_id

LINES = st.lists(st.binary(max_size=12).map(lambda one: one.replace(b"\n", b"")), max_size=6)


@given(LINES, st.integers(1, 9))
@settings(max_examples=40)
def test_lines_come_out_whole_however_they_are_cut(lines: list[bytes], size: int) -> None:
    """Pipes cut anywhere; every line that ended is given once, in its order."""
    whole = b"".join(line + b"\n" for line in lines)
    reader = Lines()

    found = [
        line for start in range(0, len(whole), size) for line in reader.feed(whole[start : start + size])
    ]

    assert [*found, *reader.rest()] == lines


@pytest.mark.parametrize("size", [1_000, 7_000, 100_000])
def test_a_line_beyond_the_limit_is_let_go_and_the_next_is_read(size: int) -> None:
    """Only its ends are kept, whatever its length, and they still tell its id."""
    long = b'{"method":"x","params":"' + b"y" * 50_000 + b'","id":7}'
    reader = Lines(most_bytes=10_000)
    whole = long + b"\nnext\n"

    found = [
        line for start in range(0, len(whole), size) for line in reader.feed(whole[start : start + size])
    ]

    refused, following = found
    assert isinstance(refused, TooLong)
    assert len(refused.start) + len(refused.end) < 10_000
    assert request_id(refused.start, refused.end) == 7
    assert following == b"next"


@pytest.mark.parametrize(
    ("parts", "number"),
    [
        ((b'{"id":1,"params":{"id":"inner"', b'..."}}'), 1),
        ((b'{"params":{"id":"inner"', b'..."},"id":"outer"}'), "outer"),
        ((b'{"id" : -3,',), -3),
        ((b'{"id":"a\\"b"}',), 'a"b'),
        ((b"rubbish",), None),
    ],
)
def test_the_id_of_what_is_refused_is_found(parts: tuple[bytes, ...], number: int | str | None) -> None:
    """Clients write it first or last; without one, nobody waits for an answer."""
    assert request_id(*parts) == number


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (r'"a\ud83d b"', "a\ufffd b"),
        (r'"\udf89"', "\ufffd"),
        (r'"\uD83D\uDF89"', "\U0001f789"),
        (r'"\ud83d\ud83d\ude00"', "\ufffd\U0001f600"),
        (r'"\\ud83d"', r"\ud83d"),
        (r'"plain é \n"', "plain é \n"),
    ],
)
def test_half_a_character_becomes_a_mark(written: str, meant: str) -> None:
    """
    A text that a client cut inside an emoji is read; whole characters and backslashes stay as they are.
    """
    assert json.loads(mended(written.encode())) == meant
