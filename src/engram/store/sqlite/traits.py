"""
The table `memory_traits`: what memories mention, how they feel and who said them, ready to be looked up.

Written by `memories` with every memory, so that no door can forget it; read by `filters`. Derived from
the `traits` and `speaker` of a memory: without it, a filter on a trait would read the JSON of every
memory (docs/lab/0017-entities-in-recall.md). Words are folded here, on their way in and when they are
asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from engram import text
from engram.store.sqlite.connection import only
from engram.store.sqlite.failures import readable
from engram.values import EntityType, Traits

if TYPE_CHECKING:
    from collections.abc import Iterator

    import apsw

    from engram.values import Memory

TRAITS_VERSION = 1
"""Of the folding below; a store with another number is filled anew when it is opened."""

TECHNOLOGY, PATH, LANGUAGE, SENTIMENT, SPEAKER = "technology", "path", "language", "sentiment", "speaker"
_INSERT = "INSERT OR IGNORE INTO memory_traits (kind, value, memory) VALUES (?, ?, ?)"
_VERSION = "SELECT value FROM counters WHERE name = 'traits_version'"
_TOLD = "SELECT key, traits, speaker FROM memories"
_read_traits = msgspec.json.Decoder(Traits).decode

Mark = tuple[str, str]
"""A kind and a folded word."""


def fold_trait(kind: str, word: str) -> str:
    """Return a word in the form in which two ways of writing it are equal."""
    if kind == PATH:
        return fold_path(word)
    if kind in (TECHNOLOGY, LANGUAGE):
        return text.entity_names.fold_name(word, EntityType.TECHNOLOGY)
    return " ".join(text.entity_names.fold(word).split())


def fold_path(path: str) -> str:
    """Return a path with plain slashes, without `./` before it or a slash behind it."""
    parts = [
        part
        for part in text.entity_names.fold(path.strip()).replace("\\", "/").split("/")
        if part not in ("", ".")
    ]
    start = "/" if path.strip().startswith(("/", "\\")) else ""
    return start + "/".join(parts)


def marks(traits: Traits, speaker: str | None) -> Iterator[Mark]:
    """Yield what a memory can be found by."""
    told = {
        TECHNOLOGY: traits.technologies,
        PATH: traits.paths,
        LANGUAGE: (traits.language,),
        SENTIMENT: (traits.sentiment,),
        SPEAKER: (speaker,),
    }
    for kind, words in told.items():
        yield from ((kind, fold_trait(kind, word)) for word in words if word)


class TraitsTable:
    """Memories by what they mention."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    @property
    def is_current(self) -> bool:
        """Whether the table was filled by these rules."""
        version: int = only(self._connection, _VERSION)
        return version == TRAITS_VERSION

    def put(self, key: int, memory: Memory) -> None:
        """Enter a memory, in place of what was entered of it earlier."""
        self.remove(key)
        self.add(key, memory)

    def add(self, key: int, memory: Memory) -> None:
        """Enter a memory of which nothing was entered yet."""
        rows = [(kind, word, key) for kind, word in marks(memory.traits, memory.provenance.speaker)]
        self._connection.executemany(_INSERT, rows)

    def remove(self, key: int) -> None:
        """Take a memory out."""
        self._connection.execute("DELETE FROM memory_traits WHERE memory = ?", (key,))

    def rebuild(self) -> int:
        """Fill the table anew from the memories, inside a write, and return how many rows it has."""
        self._connection.execute("DELETE FROM memory_traits")
        self._connection.executemany(_INSERT, sorted(self._told()))
        self._connection.execute(
            "UPDATE counters SET value = ? WHERE name = 'traits_version'", (TRAITS_VERSION,)
        )
        return self._count()

    def count_wrong(self) -> int:
        """Return how many rows are missing or should not be there, which is none in a sound store."""
        stored = set(self._connection.execute("SELECT kind, value, memory FROM memory_traits"))
        return len(stored ^ set(self._told()))

    def _told(self) -> Iterator[tuple[str, str, int]]:
        rows: list[Any] = self._connection.execute(_TOLD).fetchall()
        with readable("memories"):
            for key, traits, speaker in rows:
                yield from ((kind, word, key) for kind, word in marks(_read_traits(traits), speaker))

    def _count(self) -> int:
        total: int = only(self._connection, "SELECT count(*) FROM memory_traits")
        return total
