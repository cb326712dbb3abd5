"""
What the last sync left, and which file stands for which memory.

The state is one small file in the folder, by which the next sync tells who has changed what. It holds ids,
paths, labels and marks of words, never the words. When it is lost, the folder must be adopted again, and what
differs is a conflict.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

import msgspec
from msgspec import Struct, field

from engramdb.errors import EngramError, InvalidContent
from engramdb.notebook.note import FoundFile, Note
from engramdb.values import MemoryId, Scope
from engramdb.values.notebook import NotebookAct, NotebookChange

STATE_FILE = ".engram-notebook.json"
FORMAT = 1
_BROKEN = "Move the file away and sync with adopt: what differs is then shown as a conflict."


class NoteEntry(Struct, frozen=True, kw_only=True):
    """A memory's file as the last sync left it."""

    path: str
    file: str
    """The mark of its bytes."""
    words: str
    """The mark of its body."""
    version: int
    labels: dict[str, str]
    """What a person may change in front matter."""
    named: str
    """The memory that the file got its name from."""


class Passed(Struct, frozen=True, kw_only=True):
    """A file that was looked at and not taken: the mark of its bytes, and why."""

    file: str
    why: str
    memory_id: str | None = None


class State(Struct, frozen=True, kw_only=True):
    """Everything that a sync wants to know of the one before."""

    format: int = FORMAT
    scope: Scope = Scope()
    memories: dict[str, NoteEntry] = field(default_factory=dict)
    pages: dict[str, str] = field(default_factory=dict)
    """Generated pages, and the marks of their bytes."""
    passed: dict[str, Passed] = field(default_factory=dict)
    """Files that need not be tried again while they stay as they are."""


_DECODER = msgspec.json.Decoder(State)


def read_state(content: bytes) -> State:
    """Return the state; raises `InvalidContent` for what is none, or of a later version."""
    try:
        state = _DECODER.decode(content)
    except (msgspec.DecodeError, ValueError, EngramError) as exc:
        raise InvalidContent(f"{STATE_FILE} cannot be read", hint=_BROKEN) from exc
    if state.format != FORMAT:
        raise InvalidContent(f"{STATE_FILE} has format {state.format}", hint="Use a newer version of Engram.")
    paths = [*(one.path for one in state.memories.values()), *state.pages, *state.passed]
    if not all(map(is_inside, paths)):
        raise InvalidContent(f"{STATE_FILE} names a file outside the folder", hint=_BROKEN)
    return state


def write_state(state: State) -> bytes:
    """Return the state as a file, the same for the same state."""
    return msgspec.json.format(msgspec.json.encode(state, order="sorted"), indent=1) + b"\n"


def is_inside(path: str) -> bool:
    """Return whether a relative path stays in its folder and names a note."""
    parts = PurePosixPath(path).parts
    is_plain = bool(parts) and not path.startswith("/") and "\\" not in path and ":" not in parts[0]
    return is_plain and path.lower().endswith(".md") and not any(part.startswith(".") for part in parts)


# The id inside a file counts, wherever the file was moved to; a file that lost its id is known by its place.
# What cannot be told is left alone and named: two files of one id, and files that cannot be read.


class FileClaim(Struct, frozen=True, kw_only=True):
    """A file that stands for a memory, and how the last sync left it, if it did."""

    memory_id: MemoryId
    found: FoundFile
    note: Note
    entry: NoteEntry | None = None


class Pairing(Struct):
    """Every file in its place."""

    claims: dict[MemoryId, FileClaim] = field(default_factory=dict)
    fresh: list[tuple[FoundFile, Note]] = field(default_factory=list)
    """Files that name no memory: new ones."""
    held: set[MemoryId] = field(default_factory=set)
    """Memories whose files are there, but not to be touched."""
    missing: list[MemoryId] = field(default_factory=list)
    """Memories that had a file and have none any more."""
    duplicates: list[FileClaim] = field(default_factory=list)
    """Files with the id of another that stands for the memory."""
    troubles: list[NotebookChange] = field(default_factory=list)


def pair(
    found: Sequence[FoundFile], entries: Mapping[MemoryId, NoteEntry], heirs: Mapping[MemoryId, MemoryId]
) -> Pairing:
    """
    Return what each file stands for.

    `heirs` are the memories that took the place of ids in files: an editor that was open while a memory was
    corrected saves the old id again.
    """
    pairing = Pairing()
    by_path = {_same(entry.path): memory_id for memory_id, entry in entries.items()}
    by_id: defaultdict[MemoryId, list[tuple[FoundFile, Note]]] = defaultdict(list)
    without: list[tuple[FoundFile, Note]] = []
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
    pairing: Pairing, memory_id: MemoryId, files: Sequence[tuple[FoundFile, Note]], entry: NoteEntry | None
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
        pairing.duplicates += [FileClaim(memory_id=memory_id, found=file, note=note) for file, note in others]
        first = in_place[0]
    pairing.claims[memory_id] = FileClaim(memory_id=memory_id, found=first[0], note=first[1], entry=entry)


def _set_aside(pairing: Pairing, file: FoundFile, by_path: Mapping[str, MemoryId]) -> None:
    known = by_path.get(_same(file.path))
    pairing.troubles.append(
        NotebookChange(act=NotebookAct.UNREADABLE, path=file.path, memory_id=known, why=file.why)
    )
    if known is not None:
        pairing.held.add(known)


def _same(path: str) -> str:
    """Return the form in which two spellings of a path are equal: some systems take letters apart."""
    return unicodedata.normalize("NFC", path)
