"""Group the lines of a text into blocks of one kind: prose, code, output, chat, mail headers, rules."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from enum import StrEnum
from itertools import pairwise

from msgspec import Struct

from engramdb.text.lexicons import voice_cues
from engramdb.text.line_shapes import (
    LineShape,
    chat_prefix,
    chat_sender,
    is_attribution,
    is_comment,
    is_indented,
    is_section,
    is_tagged,
    is_yaml,
    reads_as_prose,
    shape_of,
)
from engramdb.text.normalize import lazy
from engramdb.text.voice_signs import signs
from engramdb.values.memory import Voice


class BlockKind(StrEnum):
    """How a block was found."""

    PROSE = "prose"
    MARKED = "marked"
    RULE = "rule"
    MAIL = "mail"
    """The head of a mail; its body follows."""
    CHAT = "chat"
    SHAPED = "shaped"
    """Code or output."""


class Block(Struct, frozen=True, kw_only=True):
    """A stretch of a text; without a voice it is still to be judged."""

    start: int
    end: int
    voice: Voice | None = None
    kind: BlockKind = BlockKind.PROSE
    sender: str | None = None
    is_joined: bool = False
    """Whether no blank line stands before it."""
    is_same_line: bool = False
    """Whether it goes on in the line of the one before."""
    is_after_colon: bool = False
    """Whether a colon stands between the two."""
    is_introduced: bool = False
    """Whether the words before it in the same line say that somebody else's follow."""


class TextLine(Struct):
    """A line, where it stands and what it looks like."""

    start: int
    end: int
    text: str
    shape: LineShape


_LINE_BREAK = lazy(r"\r\n|\r|\n")
_ME = lazy(rf"(?:{voice_cues('me')})\Z", re.IGNORECASE)
_OWN_LABELS = lazy(rf"(?:{voice_cues('own_labels')})\Z", re.IGNORECASE)
_FIRST_FIELD = lazy(r"\W*(?:from|von|de|van) ?:", re.IGNORECASE)
_MAIL_SENDER = lazy(r"\W*(?:from|von|de|van) ?:[*_]*\s*\"?(?P<sender>[^<\"\n(]{1,60})", re.IGNORECASE)
_WRITER = lazy(
    r"(?:,|\d|at|um|à) (?P<sender>[^\W\d_][^\d,<>:\n]{1,50}?)(?: <[^>]*>)? "
    rf"(?:{voice_cues('wrote')})(?!\w)",
    re.IGNORECASE,
)
_SPOKEN = ("small start", "small i", "chat words", "question", "I")
MAX_HEAD_CHARACTERS = 120
"""A single line that begins with "From:" is the head of a mail if it is no longer."""


def line_blocks(text: str, start: int, end: int) -> Iterator[Block]:
    """Yield the blocks of a part of a text in their order."""
    paragraph: list[TextLine] = []
    for line in _lines(text, start, end):
        if line.shape is LineShape.BLANK:
            yield from _paragraph_blocks(paragraph)
            paragraph = []
        else:
            paragraph.append(line)
    yield from _paragraph_blocks(paragraph)


def looks_like(text: str, otherwise: Voice = Voice.CODE) -> Voice:
    """Return whether set-off text is code, output of a program, or prose that was put in."""
    lines = _lines(text, 0, len(text))
    inner = [line for line in lines if line.shape is not LineShape.BLANK][1:-1]
    _settle(inner)
    shapes = Counter(line.shape for line in inner)
    if shapes[LineShape.LOG] * 2 >= max(len(inner), 1):
        return Voice.LOG
    if shapes[LineShape.CODE] * 2 >= max(len(inner), 1):
        return Voice.CODE
    return Voice.PASTED if len(inner) > 1 else otherwise


def _lines(text: str, start: int, end: int) -> list[TextLine]:
    found = []
    while start < end:
        broken = _LINE_BREAK.search(text, start, end)
        stop, following = broken.span() if broken else (end, end)
        content = text[start:stop]
        found.append(TextLine(start, stop, content, shape_of(content)))
        start = following
    return found


def _paragraph_blocks(lines: list[TextLine]) -> Iterator[Block]:
    _settle(lines)
    begin = 0
    for place in range(1, len(lines) + 1):
        if place == len(lines) or _kind(lines[place]) != _kind(lines[begin]):
            yield from _run(lines[begin:place], is_joined=begin > 0)
            begin = place


def _kind(line: TextLine) -> LineShape:
    is_prose = line.shape in (LineShape.LIST, LineShape.HEADING, LineShape.LABEL)
    return LineShape.PROSE if is_prose else line.shape


def _run(lines: list[TextLine], *, is_joined: bool) -> Iterator[Block]:
    """Yield a run of lines of one kind as blocks."""
    shape, start, end = _kind(lines[0]), lines[0].start, lines[-1].end
    if shape is LineShape.CHAT:
        yield from _chat(lines)
        return
    kinds = {
        LineShape.RULE: (BlockKind.RULE, Voice.PASTED),
        LineShape.QUOTE: (BlockKind.MARKED, Voice.QUOTED),
        LineShape.HEADER: (BlockKind.MAIL, Voice.FORWARDED),
        LineShape.CODE: (BlockKind.SHAPED, Voice.CODE),
        LineShape.LOG: (BlockKind.SHAPED, Voice.LOG),
    }
    kind, voice = kinds.get(shape, (BlockKind.PROSE, None))
    if (
        kind is BlockKind.SHAPED
        and len(lines) == 1
        and reads_as_prose(lines[0].text)
        and _is_spoken(lines[0].text)
    ):
        kind, voice = BlockKind.PROSE, None
    sender = _mail_sender(lines) if kind is BlockKind.MAIL else None
    yield Block(start=start, end=end, voice=voice, kind=kind, sender=sender, is_joined=is_joined)


def _is_spoken(line: str) -> bool:
    return not signs(line).keys().isdisjoint(_SPOKEN)


def _chat(lines: list[TextLine]) -> Iterator[Block]:
    """Yield the lines of a copied chat; what the writer said there is the writer's own."""
    for line in lines:
        sender = chat_sender(line.text)
        if sender and _ME.match(sender):
            words = line.start + chat_prefix(line.text)
            yield Block(start=line.start, end=words, voice=Voice.FORWARDED, kind=BlockKind.CHAT)
            yield Block(start=words, end=line.end, voice=Voice.OWN, kind=BlockKind.CHAT)
        else:
            yield Block(
                start=line.start, end=line.end, voice=Voice.FORWARDED, kind=BlockKind.CHAT, sender=sender
            )


def _mail_sender(lines: list[TextLine]) -> str | None:
    for line in lines:
        if found := _MAIL_SENDER.match(line.text) or _WRITER.search(line.text[:300]):
            return found["sender"].strip(" *_") or None
    return None


# What a line is also depends on its neighbors: a comment among code is code.


def _settle(lines: list[TextLine]) -> None:
    _settle_headers(lines)
    _settle_chat(lines)
    _settle_code(lines)


def _settle_headers(lines: list[TextLine]) -> None:
    headers = [line for line in lines if line.shape is LineShape.HEADER]
    is_mail = len(headers) >= 2 or any(is_attribution(line.text) for line in headers)
    is_mail |= any(
        _FIRST_FIELD.match(line.text) and len(line.text) <= MAX_HEAD_CHARACTERS and line is lines[0]
        for line in headers
    )
    if not is_mail:
        for line in headers:
            line.shape = LineShape.LABEL


def _settle_chat(lines: list[TextLine]) -> None:
    """Take names before colons for a chat where one of them says more than one line, or the writer is one."""
    names = [
        chat_sender(line.text) or "" for line in lines if line.shape in (LineShape.LABEL, LineShape.CHAT)
    ]
    stamped = any(line.shape is LineShape.CHAT for line in lines)
    again = any(count > 1 for name, count in Counter(names).items() if not _OWN_LABELS.match(name))
    has_me = any(_ME.match(name) for name in names) and len(names) > 1
    for place, line in enumerate(lines):
        is_named = line.shape is LineShape.LABEL and (again or has_me or stamped)
        if is_named or (place and line.shape is LineShape.PROSE and _is_chat_head(lines[place - 1])):
            line.shape = LineShape.CHAT


def _is_chat_head(line: TextLine) -> bool:
    """Return whether a line has a name and a time alone, with the words below."""
    return line.shape is LineShape.CHAT and chat_prefix(line.text) >= len(line.text.rstrip())


def _settle_code(lines: list[TextLine]) -> None:
    if sum(is_tagged(line.text, has_words=True) for line in lines) >= 2:
        for line in lines:
            if is_tagged(line.text) and line.shape is not LineShape.CODE:
                line.shape = LineShape.LOG
    keyed = sum(is_yaml(line.text) or line.shape is LineShape.CODE for line in lines)
    if keyed and keyed + sum(is_section(line.text) for line in lines) >= 2:
        for line in lines:
            if is_yaml(line.text) or is_section(line.text):
                line.shape = LineShape.CODE
    for order in (lines, lines[::-1]):
        for previous, line in pairwise(order):
            if previous.shape in _OF_MACHINES and line.shape in _OPEN and _belongs(line.text):
                line.shape = previous.shape
    _settle_output(lines)


def _settle_output(lines: list[TextLine]) -> None:
    """Take lines below code or output for a part of it, unless somebody speaks in them."""
    last = max((place for place, line in enumerate(lines) if line.shape in _OF_MACHINES), default=-1)
    for place, (previous, line) in enumerate(pairwise(lines), start=1):
        if previous.shape in _OF_MACHINES and line.shape in _OPEN:
            is_inside = place < last and not reads_as_prose(line.text)
            line.shape = previous.shape if is_inside or not _is_spoken(line.text) else line.shape


_OF_MACHINES = (LineShape.CODE, LineShape.LOG)
_OPEN = (LineShape.PROSE, LineShape.HEADING, LineShape.LIST, LineShape.LABEL, LineShape.CHAT)


def _belongs(line: str) -> bool:
    """Return whether a line beside code or output is part of it."""
    return is_comment(line) or is_indented(line) or is_section(line) or is_yaml(line)
