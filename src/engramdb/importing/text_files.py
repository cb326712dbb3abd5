"""
Texts: Markdown notes such as an Obsidian vault, plain text and PDF, each cut into statements.

A statement of a note carries the note's title or the heading that it stands under, because alone it would not
say what it is about.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import PurePosixPath
from typing import Any

from msgspec import Struct, field

from engramdb.errors import InvalidContent, MissingExtra
from engramdb.importing.source import BrokenRecord, Record, SourceFile, SourceStatement
from engramdb.text import fields, front_matter
from engramdb.text.front_matter import Value
from engramdb.text.normalize import lazy
from engramdb.text.sentences import sentences
from engramdb.values import CATEGORIES

# Markdown: each paragraph and each point of a list is a statement. Links keep their words. Front matter gives
# title, date and category; a daily note is dated by its name.

MARKDOWN_SUFFIXES = frozenset({".md", ".markdown", ".mdx"})

# Each pattern stops at what could begin its next match, so that a hostile file takes linear time.
_FENCE = lazy(r"\s*(```|~~~)")
_HEADING = lazy(r"#{1,6}\s+(\S.*)\Z")
_POINT = lazy(r"(?:[-*+]|\d{1,3}[.)])\s+(?:\[(?P<box>[ xX])\]\s+)?(?P<text>.*)\Z")
_RULE = lazy(r"\s*(?:[-*_=]\s*){3,}\Z")
_COMMENT = lazy(r"(?:<!--.*?(?P<end>-->|\Z))|(?:%%.*?(?P<mark>%%|\Z))", re.DOTALL)
_PICTURE = lazy(r"!\[\[[^\[\]\n]*\]\]|!\[[^\[\]\n]*\]\([^)\[\n]*\)")
_WIKI_LINK = lazy(r"\[\[([^\[\]|#\n]*)(?:#([^\[\]|\n]*))?(?:\|([^\[\]\n]*))?\]\]")
_LINK = lazy(r"\[([^\[\]\n]+)\]\([^)\[\n]*\)")
_MARKUP = lazy(r"(\*\*|__|==|~~)(?=\S)((?:(?!\1).)+)(?<=\S)\1")
_BLOCK_NAME = lazy(r"(?<![ \t])[ \t]+\^[\w-]+$", re.MULTILINE)
_DAY = lazy(r"\d{4}-\d{2}-\d{2}")
_DATES = ("date", "created", "created_at")
_USED = frozenset({"title", "category", "tags", *_DATES})
"""The names of front matter that say something about a note's statements."""
_BOXES = {" ": "To do: ", "x": "Done: ", "X": "Done: "}


class _MarkdownNote(Struct):
    """A note on its way through the lines: where it stands and what waits to be a statement."""

    title: str
    heading: str | None = None
    waiting: list[str] = field(default_factory=list)
    begun_at: int = 0
    is_code: bool = False


def read_markdown(file: SourceFile, _mapping: Mapping[str, str]) -> Iterator[Record]:
    """Yield the statements of a note."""
    lines = file.text().replace("\r\n", "\n").split("\n")
    front, start = _front_matter(lines)
    stem = PurePosixPath(file.name).stem
    title = fields.text(front.get("title")) or stem
    for number, content in _statements(lines[start:], title, first_line=start + 1):
        yield SourceStatement(
            content=content,
            place=f"{file.name}: line {number}",
            category=_category(front),
            occurred_at=_date(front, stem),
        )


def _front_matter(lines: list[str]) -> tuple[dict[str, Value], int]:
    """Return the names that are of use here with their values, and the line after the front matter."""
    try:
        inside, _ = front_matter.split("\n".join(lines))
    except InvalidContent:
        return {}, 0  # never closed: it was a line of dashes
    if inside is None:
        return {}, 0
    found: dict[str, Value] = {}
    for name, block in front_matter.blocks(inside):
        if name.lower() in _USED:
            try:
                found[name.lower()] = front_matter.values_of({name: block})[name]
            except InvalidContent:  # people write `title: Tea: a guide`, which YAML refuses
                found[name.lower()] = block[0].partition(":")[2].strip().strip("\"'")
    return found, len(inside) + 2


def _category(front: Mapping[str, Value]) -> str | None:
    """Return the category that the note gives itself, by name or by a tag that is one."""
    told = fields.category(front.get("category"))
    if told is not None:
        return told
    given = front.get("tags", ())
    tags = given.replace(",", " ").split() if isinstance(given, str) else given
    return next((tag for tag in (one.strip("#").lower() for one in tags) if tag in CATEGORIES), None)


def _date(front: Mapping[str, Value], stem: str) -> datetime | None:
    told = (fields.moment(front.get(name)) for name in _DATES)
    named = _DAY.match(stem)
    return next(filter(None, told), None) or (fields.moment(named.group()) if named else None)


def _statements(lines: list[str], title: str, *, first_line: int) -> Iterator[tuple[int, str]]:
    """Yield the statements of a note's body, and the lines that they begin on."""
    note = _MarkdownNote(title)
    for number, line in enumerate(_without_comments(lines), start=first_line):
        is_fence = _FENCE.match(line) is not None
        if is_fence or note.is_code:
            _wait(note, line, number)
            note.is_code = note.is_code != is_fence
            continue
        heading = _HEADING.match(line)
        is_point = _POINT.match(line) is not None  # a nested one is indented, and belongs to its parent
        if heading or is_point or not line.strip() or _RULE.match(line):
            yield from _finished(note)
        if heading:
            told = heading.group(1).rstrip()
            note.heading = plain_markdown(told.rstrip("#").rstrip() or told)
        elif line.strip() and not _RULE.match(line):
            _wait(note, line, number)
    yield from _finished(note)


def _without_comments(lines: list[str]) -> list[str]:
    """Return the lines without comments; a comment of several lines leaves as many empty ones."""
    return _COMMENT.sub(_lines_only, "\n".join(lines)).split("\n")


def _lines_only(comment: re.Match[str]) -> str:
    is_closed = comment["end"] or comment["mark"]
    return "\n" * comment.group().count("\n") if is_closed else comment.group()


def _wait(note: _MarkdownNote, line: str, number: int) -> None:
    if not note.waiting:
        note.begun_at = number
    note.waiting.append(line)


def _finished(note: _MarkdownNote) -> Iterator[tuple[int, str]]:
    """Yield what waits, as statements under their heading."""
    lines, note.waiting = note.waiting, []
    if not lines:
        return
    point = _POINT.match(lines[0])
    box = ""
    if point:
        box, lines[0] = _BOXES.get(point.group("box") or "", ""), point.group("text")
    has_code = any(_FENCE.match(line) for line in lines)
    is_prose = not has_code and not any(line.lstrip().startswith(("|", "- ", "* ", "+ ")) for line in lines)
    text = (" " if is_prose else "\n").join(line.strip() if is_prose else line.rstrip() for line in lines)
    text = text if has_code else plain_markdown(text)
    for part in passages(text):
        if says_something(part):
            yield note.begun_at, f"{_about(note)}: {box}{part.strip()}"


def _about(note: _MarkdownNote) -> str:
    if note.heading is None or note.heading.casefold() == note.title.casefold():
        return note.title
    return f"{note.title}, {note.heading}" if not _DAY.match(note.title) else note.heading


def plain_markdown(text: str) -> str:
    """Return a text without the marks of links and emphasis, but with all their words."""
    text = _WIKI_LINK.sub(lambda link: link[3] or link[1] or link[2] or "", _PICTURE.sub("", text))
    text = _MARKUP.sub(r"\2", _LINK.sub(r"\1", text))
    return _BLOCK_NAME.sub("", text).removeprefix("> ").strip()


# Plain text: each paragraph is a statement, a long one as many as it takes.

TEXT_SUFFIXES = frozenset({".txt", ".text", ".rst", ".org"})


def read_text(file: SourceFile, _mapping: Mapping[str, str]) -> Iterator[Record]:
    """Yield the paragraphs of a text."""
    for line, paragraph in paragraphs(file.text()):
        for content in passages(unwrapped(paragraph)):
            yield SourceStatement(content=content, place=f"{file.name}: line {line}")


# PDF: the text of each page. Pages without text, such as scans, give nothing; a page that pypdf cannot read
# is named and the others go on.

MAX_PAGES = 5_000
_PYPDF_MISTAKES = (
    ValueError,
    TypeError,
    KeyError,
    IndexError,
    AttributeError,
    RecursionError,
    ArithmeticError,
)
"""What pypdf lets through of its own mistakes on malformed files, besides its own errors."""


def read_pdf(file: SourceFile, _mapping: Mapping[str, str]) -> Iterator[Record]:
    """Yield the passages of all pages."""
    content = file.whole()
    try:
        import pypdf  # noqa: PLC0415 - an extra
        from pypdf.errors import DependencyError, PyPdfError  # noqa: PLC0415
    except ImportError as exc:
        raise MissingExtra(
            "reading a PDF needs pypdf", hint="Install it: pip install 'engramdb[pdf]'."
        ) from exc
    failures = (PyPdfError, DependencyError, NotImplementedError, OSError, *_PYPDF_MISTAKES)
    try:
        reader = pypdf.PdfReader(io.BytesIO(content))
        count = min(len(reader.pages), MAX_PAGES)
        made_at = fields.moment(_creation_date(reader))
    except failures:
        yield BrokenRecord(place=file.name)
        return
    for number in range(1, count + 1):
        place = f"{file.name}: page {number}"
        try:
            text = reader.pages[number - 1].extract_text()
        except failures:
            yield BrokenRecord(place=place)
            continue
        for _, paragraph in paragraphs(text):
            for passage in passages(unwrapped(paragraph)):
                yield SourceStatement(content=passage, place=place, occurred_at=made_at)


def _creation_date(reader: Any) -> str | None:
    """Return when the document was made, if it says so."""
    about = reader.metadata
    moment = None if about is None else about.creation_date
    return None if moment is None else moment.isoformat()


# Passages, each small enough to be one memory.

MAX_PASSAGE_CHARACTERS = 800
"""About 200 tokens: long enough for a thought, short enough to be recalled among others."""
MIN_LETTERS = 3
"""A page number, a rule or a stray bracket says nothing."""

_BLANK_LINES = lazy(r"\n[ \t]*(?:\n[ \t]*)+")
_HYPHENATED = lazy(r"(?<=[^\W\d_])-\n(?=[^\W\d_A-Z])")
_WRAPPED = lazy(r"(?<![ \t])[ \t]*+\n[ \t]*")


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
    if len(paragraph) <= MAX_PASSAGE_CHARACTERS:
        if says_something(paragraph):
            yield paragraph
        return
    waiting = ""
    for sentence in sentences(paragraph):
        for part in _cut(sentence):
            if waiting and len(waiting) + 1 + len(part) > MAX_PASSAGE_CHARACTERS:
                yield waiting
                waiting = ""
            waiting = f"{waiting} {part}".strip()
    if says_something(waiting):
        yield waiting


def says_something(text: str) -> bool:
    """Return whether a text holds more than marks and a digit or two."""
    return sum(map(str.isalpha, text[:200])) >= MIN_LETTERS


def _cut(sentence: str) -> Iterator[str]:
    """Yield a sentence, or where even that is too long, parts of it cut at blanks."""
    while len(sentence) > MAX_PASSAGE_CHARACTERS:
        at = sentence.rfind(" ", 1, MAX_PASSAGE_CHARACTERS)
        at = at if at > 0 else MAX_PASSAGE_CHARACTERS
        yield sentence[:at]
        sentence = sentence[at:].strip()
    if sentence:
        yield sentence
