"""
Which file stands for which memory.

Asked by the engine's sync before anything is read or written. The id inside a file counts, wherever the file
was moved to; a file that lost its id is known by its place. What cannot be told is left alone and named:
two files of one id, and files that cannot be read.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from engram.values.notebook import NotebookAct, NotebookChange

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.portability.notebook.folder import Found
    from engram.portability.notebook.note import Note
    from engram.portability.notebook.state import Entry
    from engram.values import MemoryId


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A file that stands for a memory, and how the last sync left it, if it did."""

    memory_id: MemoryId
    found: Found
    note: Note
    entry: Entry | None = None


@dataclass(slots=True)
class Pairing:
    """Every file in its place."""

    claims: dict[MemoryId, Claim] = field(default_factory=dict)
    fresh: list[tuple[Found, Note]] = field(default_factory=list)
    """Files that name no memory: new ones."""
    held: set[MemoryId] = field(default_factory=set)
    """Memories whose files are there, but not to be touched."""
    missing: list[MemoryId] = field(default_factory=list)
    """Memories that had a file and have none any more."""
    duplicates: list[Claim] = field(default_factory=list)
    """Files with the id of another that stands for the memory."""
    troubles: list[NotebookChange] = field(default_factory=list)


def pair(
    found: Sequence[Found], entries: Mapping[MemoryId, Entry], heirs: Mapping[MemoryId, MemoryId]
) -> Pairing:
    """
    Return what each file stands for.

    `heirs` are the memories that took the place of ids in files: an editor that was open while a memory was
    corrected saves the old id again.
    """
    pairing = Pairing()
    by_path = {_same(entry.path): memory_id for memory_id, entry in entries.items()}
    by_id: defaultdict[MemoryId, list[tuple[Found, Note]]] = defaultdict(list)
    without: list[tuple[Found, Note]] = []
    for one in found:
        if one.note is None:
            _set_aside(pairing, one, by_path)
        elif one.note.id is None:
            without.append((one, one.note))
        else:
            told = one.note.id
            by_id[told if told in entries else heirs.get(told, told)].append((one, one.note))
    for memory_id, files in by_id.items():
        _claim(pairing, memory_id, files, entries.get(memory_id))
    for file, note in without:
        known = by_path.get(_same(file.path))
        if known is None or known in by_id:
            pairing.fresh.append((file, note))
        else:
            _claim(pairing, known, [(file, note)], entries[known])
    there = pairing.claims.keys() | pairing.held
    pairing.held -= pairing.claims.keys()
    pairing.missing = [memory_id for memory_id in entries if memory_id not in there]
    return pairing


def _claim(
    pairing: Pairing, memory_id: MemoryId, files: Sequence[tuple[Found, Note]], entry: Entry | None
) -> None:
    """Let the file that was there before stand for the memory; the others are copies of it."""
    first = files[0]
    if len(files) > 1:
        in_place = [one for one in files if entry is not None and _same(one[0].path) == _same(entry.path)]
        others = [one for one in files if one not in in_place]
        pairing.troubles += [
            NotebookChange(act=NotebookAct.DUPLICATE, path=file.path, memory_id=memory_id)
            for file, _ in others
        ]
        if not in_place:
            pairing.held.add(memory_id)
            return
        pairing.duplicates += [Claim(memory_id=memory_id, found=file, note=note) for file, note in others]
        first = in_place[0]
    pairing.claims[memory_id] = Claim(memory_id=memory_id, found=first[0], note=first[1], entry=entry)


def _set_aside(pairing: Pairing, file: Found, by_path: Mapping[str, MemoryId]) -> None:
    known = by_path.get(_same(file.path))
    pairing.troubles.append(
        NotebookChange(act=NotebookAct.UNREADABLE, path=file.path, memory_id=known, why=file.why)
    )
    if known is not None:
        pairing.held.add(known)


def _same(path: str) -> str:
    """Return the form in which two spellings of a path are equal: some systems take letters apart."""
    return unicodedata.normalize("NFC", path)
