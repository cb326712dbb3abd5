"""
Cut running text into passages, each small enough to be one memory.

Used for plain text, PDF pages and long paragraphs of notes. A paragraph is a passage; one that is longer than
a prompt can bear is cut between sentences. Lines that were wrapped are joined again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.text.lazy import lazy
from engram.text.sentences import sentences

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_CHARACTERS = 800
"""About 200 tokens: long enough for a thought, short enough to be recalled among others."""
FEWEST_LETTERS = 3
"""A page number, a rule or a stray bracket says nothing."""

_BLANK_LINES = lazy(r"\n[ \t]*(?:\n[ \t]*)+")
_HYPHENATED = lazy(r"(?<=[^\W\d_])-\n(?=[^\W\d_A-Z])")
_WRAPPED = lazy(r"[ \t]*\n[ \t]*")


def paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """Yield the paragraphs of a text and the lines that they begin on."""
    text, start = text.replace("\r\n", "\n").replace("\r", "\n"), 0
    line = 1
    for gap in [*_BLANK_LINES.finditer(text), None]:
        end = len(text) if gap is None else gap.start()
        paragraph = text[start:end]
        if paragraph.strip():
            lead = len(paragraph) - len(paragraph.lstrip())
            yield line + paragraph[:lead].count("\n"), paragraph.strip()
        if gap is not None:
            line += text.count("\n", start, gap.end())
            start = gap.end()


def unwrapped(paragraph: str) -> str:
    """Return a paragraph as one line, with words that were hyphenated at a line's end whole again."""
    return _WRAPPED.sub(" ", _HYPHENATED.sub("", paragraph))


def passages(paragraph: str) -> Iterator[str]:
    """Yield the paragraph, or where it is long, runs of its sentences."""
    if len(paragraph) <= MOST_CHARACTERS:
        if says_something(paragraph):
            yield paragraph
        return
    waiting = ""
    for sentence in sentences(paragraph):
        for part in _cut(sentence):
            if waiting and len(waiting) + 1 + len(part) > MOST_CHARACTERS:
                yield waiting
                waiting = ""
            waiting = f"{waiting} {part}".strip()
    if says_something(waiting):
        yield waiting


def says_something(text: str) -> bool:
    """Say whether a text holds more than marks and a digit or two."""
    return sum(map(str.isalpha, text[:200])) >= FEWEST_LETTERS


def _cut(sentence: str) -> Iterator[str]:
    """Yield a sentence, or where even that is too long, parts of it cut at blanks."""
    while len(sentence) > MOST_CHARACTERS:
        at = sentence.rfind(" ", 1, MOST_CHARACTERS)
        at = at if at > 0 else MOST_CHARACTERS
        yield sentence[:at]
        sentence = sentence[at:].strip()
    if sentence:
        yield sentence
