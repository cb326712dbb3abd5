"""
A note: one memory as one file, with front matter above and nothing but its words below.

The body is the memory's content to the letter, so an edit of the body is a correction and nothing else. A
note that shows what it should is left as its owner formatted it; only what differs is a reason to write.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime

from msgspec import Struct, field

from engramdb.errors import InvalidContent
from engramdb.text import fields as loose
from engramdb.text import front_matter
from engramdb.text.front_matter import Value
from engramdb.text.normalize import clean, is_text
from engramdb.values import Memory

EDITABLE = ("category", "layer", "status", "importance", "pinned")
"""What a person may change in front matter."""
SHOWN_ONLY = ("confidence", "source", "created", "occurred", "entities")
"""What is shown there and cannot be changed there."""
KEYS = ("id", *EDITABLE, *SHOWN_ONLY, "tags")
MAX_NOTE_BYTES = 4_000_000
"""A larger file is no note: the write pipeline takes far less."""
_SHARES = frozenset({"importance", "confidence"})
_MOMENTS = frozenset({"created", "occurred"})
_TRUE, _FALSE = frozenset({"true", "yes", "on", "1"}), frozenset({"false", "no", "off", "0", ""})


class Note(Struct, frozen=True, kw_only=True):
    """What a file says: its words, our names in its front matter, and the lines that are its owner's."""

    body: str
    fields: Mapping[str, Value] = field(default_factory=dict)
    extras: tuple[str, ...] = ()

    @property
    def id(self) -> str | None:
        """The memory that it says it is of."""
        told = self.fields.get("id")
        return told.strip().lower() or None if isinstance(told, str) else None

    @property
    def tags(self) -> tuple[str, ...]:
        """Its tags, however they are written."""
        told = self.fields.get("tags", ())
        many = told.replace(",", " ").split() if isinstance(told, str) else told
        return tuple(one.strip().lstrip("#") for one in many if one.strip().lstrip("#"))


class FoundFile(Struct, frozen=True, kw_only=True):
    """One file below `facts`; without a note, `why` says what is wrong with it."""

    path: str
    content: bytes = b""
    note: Note | None = None
    why: str = ""

    @property
    def mark(self) -> str:
        """What its bytes are known by."""
        return file_mark(self.content)


def read_note(content: bytes) -> Note:
    """Return what a file says; raises `InvalidContent` where it cannot be taken for a note."""
    if len(content) > MAX_NOTE_BYTES:
        raise InvalidContent(f"the file is larger than {MAX_NOTE_BYTES:,} bytes")
    try:
        text = content.decode("utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except UnicodeDecodeError as exc:
        raise InvalidContent("the file is not UTF-8") from exc
    if not is_text(text) or "\0" in text:
        raise InvalidContent("the file is not text")
    lines, body = front_matter.split(text)
    if lines is None:
        return Note(body=clean(body))
    found = front_matter.read(lines, KEYS)
    if not isinstance(found.fields.get("id", ""), str):
        raise InvalidContent("the front matter gives a list for an id")
    return Note(body=clean(body), fields=found.fields, extras=found.extras)


def write_note(memory: Memory, *, entities: Sequence[str], like: Note | None, old_tags: Sequence[str]) -> str:
    """Return the file of a memory, with what its owner had added to it and without tags that it outgrew."""
    own = () if like is None else like.tags
    tags = tags_of(memory)
    kept = [tag for tag in own if tag not in tags and tag not in old_tags]
    shown = shown_fields(memory, entities=entities) | {"tags": (*tags, *kept)}
    if not shown["tags"]:
        del shown["tags"]
    extras = () if like is None else like.extras
    return f"{front_matter.write(shown, extras)}\n\n{clean(memory.content)}\n"


def shown_fields(memory: Memory, *, entities: Sequence[str]) -> dict[str, Value]:
    """Return what a memory's front matter says, tags excepted."""
    shown: dict[str, Value] = {
        "id": memory.id,
        "category": memory.category,
        "layer": str(memory.layer),
        "status": str(memory.status),
        "importance": _share(memory.importance),
        "pinned": "true" if memory.pinned else "false",
        "confidence": _share(memory.confidence),
        "source": str(memory.provenance.source),
        "created": _moment(memory.created_at),
    }
    if memory.occurred_at is not None:
        shown["occurred"] = _moment(memory.occurred_at)
    if entities:
        shown["entities"] = tuple(entities)
    return shown


def labels_of(memory: Memory, *, entities: Sequence[str]) -> dict[str, str]:
    """Return the same, and tags, as the state keeps it: a mark in the place of names from its words."""
    shown = shown_fields(memory, entities=entities) | {"tags": tags_of(memory)}
    del shown["id"]
    return {name: _label(name, value) for name, value in shown.items()}


def tags_of(memory: Memory) -> tuple[str, ...]:
    """Return the topics of a memory as tags."""
    return tuple(topic.replace(" ", "-") for topic in memory.traits.topics)


def shows(note: Note, text: str) -> bool:
    """Return whether a note already says what the text of a file would: then it need not be written."""
    wanted = read_note(text.encode())
    same = all(same_value(name, note.fields.get(name), value) for name, value in wanted.fields.items())
    return same and note.body == wanted.body and note.fields.keys() == wanted.fields.keys()


def same_value(name: str, one: Value | None, other: Value | None) -> bool:
    """Return whether two values of a field mean the same, however an editor writes them."""
    if one is None or other is None or name in ("tags", "entities"):
        return _listed(one) == _listed(other)
    if name in _SHARES:
        return _rounded(one) == _rounded(other)
    if name == "pinned":
        return truth(one) is truth(other)
    if name in _MOMENTS:
        return loose.moment(one) == loose.moment(other)
    return isinstance(one, str) and isinstance(other, str) and one.strip().lower() == other.strip().lower()


def same_label(name: str, value: Value, label: str | None) -> bool:
    """Return whether a note still has the label that the state tells of."""
    if name == "entities":
        return (_label(name, value) if _listed(value) else None) == label
    return same_value(name, value, label)


def truth(value: Value) -> bool | None:
    """Return whether a value means yes; None for what means neither."""
    word = value.strip().lower() if isinstance(value, str) else "?"
    return True if word in _TRUE else False if word in _FALSE else None


def words_mark(words: str) -> str:
    """Return what words are known by in the notebook's state, which holds none of them."""
    return file_mark(clean(words).encode())


def file_mark(content: bytes) -> str:
    """Return what a file's bytes are known by."""
    return hashlib.sha256(content).hexdigest()[:32]


def _listed(value: Value | None) -> tuple[str, ...]:
    return () if value is None or value == "" else (value,) if isinstance(value, str) else tuple(value)


def _label(name: str, value: Value) -> str:
    listed = _listed(value)
    return words_mark("\n".join(listed)) if name in ("entities", "tags") else "".join(listed)


def _rounded(value: Value) -> float | None:
    found = loose.share(value)
    return None if found is None else round(found, 2)


def _share(number: float) -> str:
    """Return a share as editors leave it: two digits at most, and no zero at the end."""
    return f"{number:.2f}".rstrip("0").rstrip(".")


def _moment(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%S}Z"
