"""File names of notes."""

from __future__ import annotations

import unicodedata

from engramdb.text.normalize import lazy
from engramdb.values import Memory, MemoryId

FACTS, BOXES, ENTITIES, PROFILE = "facts", "boxes", "entities", "profile.md"
SUFFIX = ".md"
SHORT_ID = 8
"""Characters of an id that name a memory everywhere."""
MAX_WORDS = 8
MAX_SLUG_BYTES = 80
"""Far below the 255 bytes that a name may have: sync services add to names, and paths stay short."""
_COPY = ".conflict-"
_COPY_NAME = lazy(r".*\.conflict-[0-9a-f]{8}\.md\Z")
_PARTS = lazy(r"[^\w]+|_+")
_RESERVED = frozenset(
    {"con", "prn", "aux", "nul", *(f"{port}{number}" for port in ("com", "lpt") for number in range(10))}
)


def slug(text: str, *, otherwise: str = "memory") -> str:
    """Return the first words of a text as a name: small letters and digits of any script, and dashes."""
    folded = unicodedata.normalize("NFC", text[:400].casefold())
    words = [word for word in _PARTS.split(folded) if word][:MAX_WORDS]
    kept = ""
    for word in words:
        longer = f"{kept}-{word}" if kept else _cut(word)
        if len(longer.encode()) > MAX_SLUG_BYTES:
            break
        kept = longer
    return otherwise if not kept or kept in _RESERVED else kept


def short_id(memory_id: MemoryId) -> str:
    """Return the end of an id, by which a person names a memory."""
    return memory_id[-SHORT_ID:]


def fact_path(memory: Memory, *, in_full: bool = False) -> str:
    """Return where a memory's file is put at first; with the whole id where the end of it is taken."""
    ending = memory.id if in_full else short_id(memory.id)
    return f"{FACTS}/{memory.created_at:%Y-%m-%d}/{slug(memory.content)}-{ending}{SUFFIX}"


def copy_path(path: str, mark: str) -> str:
    """Return the name beside a file under which its words are kept; the same words get the same name."""
    return f"{path.removesuffix(SUFFIX)}{_COPY}{mark[:8]}{SUFFIX}"


def is_copy(path: str) -> bool:
    """Return whether a file is such a copy, which no sync reads."""
    return bool(_COPY_NAME.match(path))


def wiki_link(path: str, label: str) -> str:
    """Return a link to a page as note editors write it in front matter."""
    plain = "".join(" " if character in "[]|#^\n" else character for character in label)
    return f"[[{path.removesuffix(SUFFIX)}|{' '.join(plain.split())}]]"


def _cut(word: str) -> str:
    """Return as much of one long word as fits, and no half character."""
    return word.encode()[:MAX_SLUG_BYTES].decode("utf-8", "ignore")
