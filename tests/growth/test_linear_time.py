"""
Linear time: four times the text takes about four times as long, whatever the text, in every parser.

Measured in processor time, with the garbage collector off. Only what takes noticeable time at all is looked
at more closely, and only what grows like a square in every one of several tries is a failure: a square takes
sixteen times as long where a straight line takes four.
"""

from __future__ import annotations

import gc
import re
import time
import warnings
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from surfaces.serving import opened

from engramdb.text.sentences import sentences
from growth.parsers import OURS, Parser, functions, is_ours, modules, parser_of
from growth.patterns import patterns_of, pumps
from growth.shapes import repeated, texts

if TYPE_CHECKING:
    from pathlib import Path

LENGTH = 4_000
"""Characters of the longer text: a square of it takes hundredths of a second and more."""
NOTICEABLE_SECONDS = 0.008
"""Below this, nothing is a square: at this length a square step would have to take half a nanosecond."""
MAX_GROWTH = 9.0
"""How much longer four times the text may take."""
MAX_SECONDS = 0.5
TRIES = 4
PUMPS_PER_MODULE = 150
"""How many of the texts that are made from a module's own patterns are tried, spread over all of them."""
REQUEST_CHARACTERS, REQUEST_SECONDS = 16_000, 0.5
TEXT_CHARACTERS, TEXT_SECONDS = 250_000, 5.0
LONG_SHAPES = {
    *(repr(run) for run in ("a", " ", ".", "中", "a\n", "a: b\n", "- a\n", "I am ", "http://", '{"a":')),
    *("real text", "real text, one line", "many names", "numbers"),
}
"""What is pasted by the hundred kilobytes: books, logs, lists, tables, and one character without end."""
SLOWER = 3.0
"""How much slower than the one that was measured a machine may be."""

Shape = tuple[str, str, str]
"""A name, a text, and the same shape at a quarter of its length."""


def shapes() -> list[Shape]:
    """Return the hostile shapes at both lengths."""
    pairs = zip(texts(LENGTH), texts(LENGTH // 4), strict=True)
    return [(name, text, short) for (name, text), (_, short) in pairs]


def own_shapes(module: str) -> list[Shape]:
    """Return texts that almost match the patterns of a module."""
    found = [
        (f"{lead[:20]!r} and {body[:20]!r}…", repeated(lead, body, LENGTH), repeated(lead, body, LENGTH // 4))
        for pattern, flags in patterns_of(module).items()
        for lead, body in pumps(pattern, flags)
    ]
    return found[:: max(1, len(found) // PUMPS_PER_MODULE)]


def seconds(parse: Parser, text: str) -> float:
    """Return the processor time of one call; what it yields is read to the end, a refusal is an answer."""
    start = time.thread_time()
    with suppress(Exception):
        made = parse(text)
        if isinstance(made, Iterator):
            deque(made, maxlen=0)
    return time.thread_time() - start


def growth(parse: Parser, text: str, short: str) -> float:
    """Return the least growth of several tries; 0 where it takes no noticeable time."""
    least = float("inf")
    for _ in range(TRIES):
        took = seconds(parse, text)
        if took < NOTICEABLE_SECONDS:
            return 0.0
        least = min(least, took / max(seconds(parse, short), 1e-6))
        if least <= MAX_GROWTH and took < MAX_SECONDS:
            return least
    return least


@pytest.fixture(autouse=True)
def _no_collector() -> Iterator[None]:
    gc.disable()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    gc.enable()


def test_every_parser_has_a_case() -> None:
    """A new function that takes text is called by its types, has an entry, or meets no foreign text."""
    unknown = [
        name
        for module in modules()
        for name, function in functions(module)
        if not is_ours(name) and parser_of(name, function) is None
    ]

    assert unknown == [], "add a call to growth.parsers.CALLS"


def test_what_is_left_out_exists() -> None:
    """An entry for a function that is gone would hide the next one of that name."""
    known = {name for module in modules() for name, _ in functions(module)}

    assert {name for names in OURS.values() for name in names} <= known


def test_the_measure_finds_a_square() -> None:
    """A loop that looks back over everything before it is caught, one that does not is not."""
    square = growth(re.compile(r"\s*b").findall, " " * 8_000, " " * 2_000)
    straight = growth(lambda text: [sum(range(2_000)) for _ in text], "a" * 8_000, "a" * 2_000)

    assert square > MAX_GROWTH
    assert 0 < straight <= MAX_GROWTH


def test_patterns_are_pumped() -> None:
    """The text that is made from a pattern is what that pattern is slow on."""
    assert ("", "a") in pumps(r"(?:a+)+b")
    assert ("<", " ") in pumps(r"<\s*>")
    assert ("my ", "a") in pumps(r"my \w+ is")


@pytest.mark.slow
@pytest.mark.parametrize("module", modules())
def test_time_grows_with_the_text(module: str) -> None:
    """No public function of a module takes the square of a hostile text."""
    tried = [*shapes(), *own_shapes(module)]
    slow = [
        f"{name} on {shape}: {grown:.0f} times as long"
        for name, function in functions(module)
        if not is_ours(name) and (parse := parser_of(name, function))
        for shape, text, short in tried
        if (grown := growth(parse, text, short)) > MAX_GROWTH
    ]

    assert slow == []


@pytest.mark.parametrize("shape", ["'.'", "x '?' y", "' '", "'[['", "real text"])
def test_sentences_are_split_in_linear_time(shape: str) -> None:
    """The quickest of the checks above, for every run of the tests."""
    _, text, short = next(one for one in shapes() if one[0] == shape)

    assert growth(sentences, text, short) <= MAX_GROWTH


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["observe", "remember", "recall", "context", "timeline", "reason"])
def test_a_request_of_sixteen_kilobytes_is_answered_soon(tmp_path: Path, verb: str) -> None:
    """Whatever it holds, it does not keep the processor for longer than half a second."""
    slow = []
    with opened(tmp_path) as engram:
        asks: dict[str, Parser] = {
            "observe": lambda text: (engram.observe(text), engram.flush()),
            "remember": engram.remember,
            "recall": engram.recall,
            "context": engram.context,
            "timeline": engram.timeline,
            "reason": engram.reason,
        }
        asks[verb]("I moved to Lisbon.")  # what is loaded once is not counted
        for shape, text in texts(REQUEST_CHARACTERS, with_ends=False):
            took = seconds(asks[verb], text)
            if took > SLOWER * REQUEST_SECONDS:
                slow.append(f"{shape}: {took:.2f} s")

    assert slow == []


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_quarter_of_a_megabyte_is_read_within_seconds(tmp_path: Path) -> None:
    """A pasted log, a book chapter and a run of one character are read in the same order of time."""
    slow = []
    with opened(tmp_path) as engram:
        for shape, text in texts(TEXT_CHARACTERS, with_ends=False):
            if shape not in LONG_SHAPES:
                continue
            took = seconds(lambda text: (engram.observe(text), engram.flush()), text)
            if took > SLOWER * TEXT_SECONDS:
                slow.append(f"{shape}: {took:.1f} s")

    assert slow == []
