"""Records of other programs, how their loose fields are read, and how long texts are cut."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, TypeAlias

from msgspec import Struct

from engramdb.errors import ContentTooLarge, InvalidContent
from engramdb.text.normalize import lazy
from engramdb.text.sentences import sentences
from engramdb.values import GLOBAL, EdgeType, Kind, Layer, MemoryType, Role, Scope
from engramdb.values.scope import MAX_NAME_CHARACTERS

# Read fields out of JSON that nobody promised: each of these returns None for what is not what it should be.
#
# Used by every importer, so that an unknown or odd field costs that field and not the record.

_SECONDS, _MILLISECONDS, _MICROSECONDS = 1e11, 1e14, 1e17
"""Numbers below these are moments in that unit: all of them begin beyond the year 5000 in the unit before."""
_EARLIEST, _LATEST = 1900, 2200
_SLUG = lazy(r"[a-z][a-z0-9_-]{0,39}")


def text(value: object) -> str | None:
    """Return text that is not empty."""
    return value if isinstance(value, str) and value.strip() else None


def name(value: object) -> str | None:
    """Return a short name, made from a number if need be."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    found = text(value)
    if found is None:
        return None
    # Half a surrogate pair cannot be stored; without the name its owner's records would be everybody's.
    return found.strip()[:MAX_NAME_CHARACTERS].strip().encode("utf-8", "replace").decode("utf-8")


def mapping(value: object) -> Mapping[str, Any]:
    """Return an object, or an empty one."""
    return value if isinstance(value, dict) else {}


def sequence(value: object) -> list[Any]:
    """Return a list, or an empty one."""
    return value if isinstance(value, list) else []


def number(value: object) -> float:
    """Return a number, also one that is written as text; not a number for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return math.nan
    try:
        return float(value)
    except (ValueError, OverflowError):
        return math.nan


def share(value: object) -> float | None:
    """Return a number from 0 to 1."""
    found = number(value)
    return found if 0 <= found <= 1 else None


def category(value: object) -> str:
    """Return a category of the form that the write pipeline takes; `general` for anything else."""
    found = text(value)
    slug = "" if found is None else found.strip().lower().replace(" ", "_")
    return slug if _SLUG.fullmatch(slug) else "general"


def moment(value: object) -> datetime | None:
    """Return a moment given as ISO 8601 or as a number since 1970; one without a time zone counts as UTC."""
    if isinstance(value, str):
        found = _told(value.strip())
    elif isinstance(value, int | float) and not isinstance(value, bool):
        found = _counted(float(value))
    else:
        return None
    return found if found is not None and _EARLIEST <= found.year <= _LATEST else None


def _told(words: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(words)
    except ValueError:
        return _counted(float(words)) if words.replace(".", "", 1).isdecimal() and len(words) >= 9 else None
    try:
        return (found.replace(tzinfo=UTC) if found.tzinfo is None else found).astimezone(UTC)
    except (OverflowError, ValueError):
        return None


def _counted(number: float) -> datetime | None:
    for limit, per_second in ((_SECONDS, 1.0), (_MILLISECONDS, 1e3), (_MICROSECONDS, 1e6)):
        if abs(number) < limit:
            try:
                return datetime.fromtimestamp(number / per_second, UTC)
            except (OverflowError, OSError, ValueError):
                return None
    return None


def dig(value: object, path: str) -> object:
    """Return what lies at a dotted path, through objects by name and through lists by number."""
    for step in path.split("."):
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        else:
            return None
    return value


# What every importer makes of its source: statements, messages, and records that could not be read.
#
# Yielded by `portability.importers`, turned into drafts and turns by the engine. A place says where in the
# source a record stands ("notes/tea.md: line 12"), and is all that a report shows of it.

UNREADABLE = InvalidContent.code
TOO_LARGE = ContentTooLarge.code


class Link(Struct, frozen=True, kw_only=True):
    """That a statement has to do with another one, which is known by the source's own name for it."""

    to: str
    type: EdgeType
    weight: float


class Statement(Struct, frozen=True, kw_only=True):
    """A statement that some other memory, note or table holds."""

    content: str
    place: str
    key: str = ""
    """The source's own name for it; without one, its words are its name."""
    category: str = "general"
    speaker: str | None = None
    session: str | None = None
    occurred_at: datetime | None = None
    confidence: float | None = None
    importance: float | None = None
    user: str | None = None
    agent: str | None = None
    layer: Layer = Layer.EPISODIC
    type: MemoryType = MemoryType.FACT
    kind: Kind = Kind.NOTE
    pinned: bool = False
    forget_after: datetime | None = None
    scope: Scope = GLOBAL
    """Where it was known; each part counts where the import leaves it open."""
    links: tuple[Link, ...] = ()
    """What it has to do with, of the same source."""


class Message(Struct, frozen=True, kw_only=True):
    """One message of a conversation, as it was said."""

    content: str
    place: str
    role: Role = Role.USER
    key: str = ""
    speaker: str | None = None
    session: str | None = None
    occurred_at: datetime | None = None
    user: str | None = None
    agent: str | None = None


class Broken(Struct, frozen=True, kw_only=True):
    """A record or a file that could not be read, by its place and the code of the reason."""

    place: str
    code: str = UNREADABLE


class LeftOut(Struct, frozen=True, kw_only=True):
    """A file that is of no kind that can be imported."""

    place: str


Record: TypeAlias = Statement | Message | Broken


# Cut running text into passages, each small enough to be one memory.

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
