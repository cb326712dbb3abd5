"""
Take erased memories out of a notebook: their notes, whatever was made of those, and the pages.

What a person wrote into a note instead of the words stays, without the rest, unless it holds them. Pages are
generated; the next sync writes them again. Links are not followed, nothing outside is touched.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from msgspec.structs import replace

from engramdb.errors import InvalidContent
from engramdb.notebook.file_names import FACTS, SUFFIX, copy_path, is_copy, short_id
from engramdb.notebook.folder import SECTIONS, Folder, ids_outside, notes_below, translate_errors
from engramdb.notebook.note import file_mark, read_note
from engramdb.notebook.state import STATE_FILE, State, read_state, write_state
from engramdb.text.normalize import normalize_text
from engramdb.values import ErasedFile, FileKind, FileOutcome, MemoryId, Scope

GONE = "there is no notebook any more; if you have moved it, sync it where it is, or delete it"
UNREADABLE = "its state cannot be read, so nothing was touched: delete what is in it yourself"
AGAIN = "the next sync writes its pages again"


def erase_from_notebook(
    root: Path,
    ids: Collection[MemoryId],
    texts: Collection[str],
    *,
    user_scope: Scope | None,
    dry_run: bool,
) -> ErasedFile:
    """Remove what a notebook holds of memories; of a user who is erased, all that is in the user's scope."""
    folder = Folder(root)
    content = folder.read(STATE_FILE)
    if content is None:
        return _done(root, FileOutcome.NAMED, GONE)
    try:
        state = read_state(content)
    except InvalidContent:
        return _done(root, FileOutcome.NAMED, UNREADABLE)
    with translate_errors():
        if user_scope is not None and state.scope.sees(user_scope):
            return _remove_all(folder, state, dry_run=dry_run)
        found = _Holders(folder, state, frozenset(ids), texts).paths()
        if not found:
            return _done(root, FileOutcome.CLEANED, "nothing of it was there")
        pages = set(state.pages)
        if not dry_run:
            folder.clear_away()
            edits = [edit for one in found if (edit := _edit_to_keep(folder, state, one, texts))]
            for path in (*found, *pages):
                _unlink(folder, path)
            for path, words in edits:
                folder.put(path, words, instead_of=None)
            folder.set_state(write_state(_without(state, ids, {*found, *pages})))
    return _done(root, FileOutcome.CLEANED, f"{len(found)} notes or copies; {AGAIN}")


def _edit_to_keep(
    folder: Folder, state: State, path: str, texts: Collection[str]
) -> tuple[str, bytes] | None:
    """
    Return what a person wrote into a note in place of the erased words, and a name that tells nothing.

    Words that no store has seen are theirs; where they hold the erased ones, they go.
    """
    entry = next(((one, entry) for one, entry in state.memories.items() if entry.path == path), None)
    content = folder.read(path)
    if entry is None or content is None or file_mark(content) == entry[1].file:
        return None
    try:
        words = read_note(content).body
    except InvalidContent:
        return None
    plain = normalize_text(words)
    if not plain or any(normalize_text(text) in plain for text in texts):
        return None
    kept = words.encode()
    return copy_path(f"{FACTS}/edit-of-{short_id(entry[0])}{SUFFIX}", file_mark(kept)), kept


class _Holders:
    """Finds the files of a notebook that hold erased words."""

    def __init__(
        self, folder: Folder, state: State, ids: frozenset[MemoryId], texts: Collection[str]
    ) -> None:
        self._folder = folder
        self._state = state
        self._ids = ids
        self._texts = [normalize_text(text) for text in texts if len(text.split()) > 1]
        self._ends = [short_id(one) for one in ids]

    def paths(self) -> list[str]:
        """Return the notes and copies, wherever in the folder they are, each once."""
        return list(dict.fromkeys(path for path in self._candidates() if self._folder.is_taken(path)))

    def _candidates(self) -> Iterator[str]:
        state, folder = self._state, self._folder
        yield from (entry.path for one, entry in state.memories.items() if one in self._ids)
        yield from (path for path, one in state.passed.items() if one.memory_id in self._ids)
        yield from (path for one, path in ids_outside(folder.root).items() if one in self._ids)
        own = {entry.path: one for one, entry in state.memories.items()}
        notes = [path for section in SECTIONS for path in notes_below(folder.root, section)]
        for path in (*notes, *(one.name for one in folder.root.glob(f"*{SUFFIX}"))):
            if path in state.pages or own.get(path, "") not in {"", *self._ids}:
                continue
            if is_copy(path) or path not in own:
                yield from (path,) if self._holds(path) else ()

    def _holds(self, path: str) -> bool:
        if any(end in path for end in self._ends):
            return True
        content = self._folder.read(path)
        plain = normalize_text((content or b"").decode("utf-8", "replace"))
        return any(one in plain for one in (*self._ids, *self._texts))


def _remove_all(folder: Folder, state: State, *, dry_run: bool) -> ErasedFile:
    """Remove everything of a notebook that was all of the user's; what others put there stays."""
    paths = [*(entry.path for entry in state.memories.values()), *state.pages, *state.passed]
    copies = [path for path in folder.copies() if is_copy(path)]
    if not dry_run:
        folder.clear_away()
        for path in (*paths, *copies, STATE_FILE):
            _unlink(folder, path)
    return _done(folder.root, FileOutcome.REMOVED, f"{len(paths) + len(copies)} files of the user")


def _unlink(folder: Folder, path: str) -> None:
    """Remove a file, whatever it says by now, and the folders that it leaves empty."""
    if folder.read(path) is None:
        return
    target = folder.root.joinpath(*path.split("/"))
    target.unlink(missing_ok=True)
    for above in target.parents[: path.count("/")]:
        if any(above.iterdir()):
            break
        above.rmdir()


def _without(state: State, ids: Collection[MemoryId], paths: Collection[str]) -> State:
    """Return the state without what is gone: names of files hold words, too."""
    return replace(
        state,
        memories={one: entry for one, entry in state.memories.items() if one not in ids},
        pages={path: mark for path, mark in state.pages.items() if path not in paths},
        passed={path: one for path, one in state.passed.items() if path not in paths},
    )


def noted_ids(root: Path) -> frozenset[MemoryId] | None:
    """Return the memories that a notebook has notes of; None where that cannot be read."""
    content = Folder(root).read(STATE_FILE)
    try:
        return None if content is None else frozenset(read_state(content).memories)
    except InvalidContent:
        return None


def _done(root: Path, outcome: FileOutcome, why: str) -> ErasedFile:
    return ErasedFile(kind=FileKind.NOTEBOOK, path=str(root), outcome=outcome, why=why)
