"""
Notes in Markdown, such as an Obsidian vault: each paragraph and each point of a list is a statement.

A statement carries the title of its note or the heading that it stands under, because alone it would not say
what it is about. Links keep their words. Front matter gives title, date and category; a daily note is dated
by its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import PurePosixPath

from msgspec import Struct, field

from engramdb.errors import InvalidContent
from engramdb.importing import record
from engramdb.importing.json_stream import Piece
from engramdb.importing.record import Record, Statement, passages, says_something
from engramdb.text import front_matter
from engramdb.text.front_matter import Value
from engramdb.text.normalize import lazy
from engramdb.values import CATEGORIES

SUFFIXES = frozenset({".md", ".markdown", ".mdx"})

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


class _Note(Struct):
    """A note on its way through the lines: where it stands and what waits to be a statement."""

    title: str
    heading: str | None = None
    waiting: list[str] = field(default_factory=list)
    begun_at: int = 0
    is_code: bool = False


def read(piece: Piece, _mapping: Mapping[str, str]) -> Iterator[Record]:
    """Yield the statements of a note."""
    lines = piece.text().replace("\r\n", "\n").split("\n")
    front, start = _front_matter(lines)
    stem = PurePosixPath(piece.name).stem
    title = record.text(front.get("title")) or stem
    for number, content in _blocks(lines[start:], title, first_line=start + 1):
        yield Statement(
            content=content,
            place=f"{piece.name}: line {number}",
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


def _category(front: Mapping[str, Value]) -> str:
    """Return the category that the note gives itself, by name or by a tag that is one."""
    told = record.category(front.get("category"))
    if told != "general":
        return told
    given = front.get("tags", ())
    tags = given.replace(",", " ").split() if isinstance(given, str) else given
    return next((tag for tag in (one.strip("#").lower() for one in tags) if tag in CATEGORIES), "general")


def _date(front: Mapping[str, Value], stem: str) -> datetime | None:
    told = (record.moment(front.get(name)) for name in _DATES)
    named = _DAY.match(stem)
    return next(filter(None, told), None) or (record.moment(named.group()) if named else None)


def _blocks(lines: list[str], title: str, *, first_line: int) -> Iterator[tuple[int, str]]:
    """Yield the statements of a note's body, and the lines that they begin on."""
    note = _Note(title)
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
            note.heading = _plain(told.rstrip("#").rstrip() or told)
        elif line.strip() and not _RULE.match(line):
            _wait(note, line, number)
    yield from _finished(note)


def _without_comments(lines: list[str]) -> list[str]:
    """Return the lines without comments; a comment of several lines leaves as many empty ones."""
    return _COMMENT.sub(_lines_only, "\n".join(lines)).split("\n")


def _lines_only(comment: re.Match[str]) -> str:
    is_closed = comment["end"] or comment["mark"]
    return "\n" * comment.group().count("\n") if is_closed else comment.group()


def _wait(note: _Note, line: str, number: int) -> None:
    if not note.waiting:
        note.begun_at = number
    note.waiting.append(line)


def _finished(note: _Note) -> Iterator[tuple[int, str]]:
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
    text = text if has_code else _plain(text)
    for part in passages(text):
        if says_something(part):
            yield note.begun_at, f"{_about(note)}: {box}{part.strip()}"


def _about(note: _Note) -> str:
    if note.heading is None or note.heading.casefold() == note.title.casefold():
        return note.title
    return f"{note.title}, {note.heading}" if not _DAY.match(note.title) else note.heading


def _plain(text: str) -> str:
    """Return a text without the marks of links and emphasis, but with all their words."""
    text = _WIKI_LINK.sub(lambda link: link[3] or link[1] or link[2] or "", _PICTURE.sub("", text))
    text = _MARKUP.sub(r"\2", _LINK.sub(r"\1", text))
    return _BLOCK_NAME.sub("", text).removeprefix("> ").strip()
