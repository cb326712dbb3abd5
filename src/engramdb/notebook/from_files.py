"""
The first half of a sync: what a person changed in the files becomes a change of the memories.

Edited words are a correction, edited labels a change of labels, a new file a new statement, a deleted one a
memory to be forgotten where that was asked for. Words that the store does not hold afterwards are kept in a
copy beside the file before anything is written over it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Self

from msgspec import Struct, field

from engramdb.errors import AccessDenied, InvalidContent, MemoryChanged, SecurityError, StatusNotAllowed
from engramdb.notebook.folder import Folder
from engramdb.notebook.memories import ScopeMemories
from engramdb.notebook.note import (
    EDITABLE,
    SHOWN_ONLY,
    FoundFile,
    Note,
    labels_of,
    same_label,
    truth,
    words_mark,
)
from engramdb.notebook.state import FileClaim, NoteEntry, Pairing, Passed, State
from engramdb.text.fields import share
from engramdb.text.front_matter import Value
from engramdb.values import Layer, Memory, MemoryId, NotebookAct, NotebookChange, Status
from engramdb.vault.masking import stays_out_of_files

# Which labels in a note's front matter a person has changed.

STATUSES = frozenset(
    {Status.ACTIVE, Status.CHALLENGED, Status.FORGOTTEN, Status.ARCHIVED, Status.INVALIDATED}
)
"""What a person may say of a memory in a note; erasing is too final for a typing mistake."""


def changed_labels(note: Note, before: Mapping[str, str], memory: Memory) -> tuple[dict[str, str], list[str]]:
    """Return the labels to change, and the names of those that cannot be changed so."""
    now = labels_of(memory, entities=())
    edited = {
        name: value
        for name, value in note.fields.items()
        if name in (*EDITABLE, *SHOWN_ONLY)
        and not same_label(name, value, before.get(name))
        and (name == "entities" or not same_label(name, value, now.get(name)))
    }
    usable = {name: _usable(name, value) for name, value in edited.items() if name in EDITABLE}
    wanted = {name: value for name, value in usable.items() if value is not None}
    return wanted, [name for name in edited if name not in wanted]


def _usable(name: str, value: Value) -> str | None:
    """Return a label as the engine takes it; None for what it would not understand."""
    if not isinstance(value, str):
        return None
    word = value.strip().lower()
    if name == "layer":
        return word if word in {str(one) for one in Layer} else None
    if name == "status":
        return word if word in {str(one) for one in STATUSES} else None
    if name == "importance":
        return word if share(word) is not None else None
    if name == "pinned":
        told = truth(value)
        return None if told is None else str(told).lower()
    return word.replace(" ", "_") or None


# Memories that had a file and seem to have none: is it gone, or only not where it was?

MAX_GONE = 5
"""Notes that may go from a larger notebook without a question, whatever share of it they are."""
MAX_SHARE_GONE = 0.2


class Deletions(Enum):
    """What it means that a file was deleted."""

    UNDONE = "its memory is written again"
    FORGET = "its memory is forgotten"
    FORGET_MANY = "its memory is forgotten, also where most are gone"

    @classmethod
    def of(cls, *, delete: bool, many: bool) -> Self:
        """Return what a caller has said."""
        return cls.FORGET_MANY if many else cls.FORGET if delete else cls.UNDONE

    @property
    def are_meant(self) -> bool:
        """Whether memories are to be forgotten."""
        return self is not Deletions.UNDONE

    def check(self, missing: Sequence[MemoryId], *, of: int) -> None:
        """Raise where so many files of a notebook are gone that it may be an accident."""
        if self is Deletions.FORGET and _is_too_many(len(missing), of):
            raise InvalidContent(
                f"{len(missing)} of {of} notes are gone, too many to forget without asking",
                hint="Sync without --delete to have them back, or with --delete-many to forget them.",
            )


def hold_what_is_elsewhere(pairing: Pairing, folder: Folder, entries: Mapping[MemoryId, NoteEntry]) -> None:
    """Take from the missing what stands in another form in its place, or elsewhere in the folder."""
    if not pairing.missing:
        return
    outside = folder.outside()
    for memory_id in list(pairing.missing):
        path, moved = entries[memory_id].path, outside.get(memory_id)
        if folder.is_taken(path):
            _hold(pairing, memory_id, NotebookAct.UNREADABLE, path, why="it is not a plain file any more")
        elif moved is not None:
            _hold(pairing, memory_id, NotebookAct.OUTSIDE, moved)


def _hold(pairing: Pairing, memory_id: MemoryId, act: NotebookAct, path: str, *, why: str = "") -> None:
    pairing.missing.remove(memory_id)
    pairing.held.add(memory_id)
    pairing.troubles.append(NotebookChange(act=act, path=path, memory_id=memory_id, why=why))


def _is_too_many(gone: int, total: int) -> bool:
    return gone > 1 and (2 * gone > total or (gone > MAX_GONE and gone > MAX_SHARE_GONE * total))


EDITED = "edited in the notebook"
DELETED = "deleted from the notebook"
_KNOWN = "known"
_SAID = frozenset(
    {
        NotebookAct.ADDED,
        NotebookAct.CORRECTED,
        NotebookAct.RELABELED,
        NotebookAct.CONFLICT,
        NotebookAct.NOT_TAKEN,
    }
)


class FromFiles(Struct):
    """Files on their way into the store, and what is known about them afterwards."""

    memories: ScopeMemories
    living: dict[MemoryId, Memory]
    """What is held to be true, as it was when the sync began."""
    folder: Folder
    state: State
    pairing: Pairing
    dry_run: bool
    delete: bool
    files: dict[MemoryId, FileClaim] = field(default_factory=dict)
    """Which file stands for which memory now."""
    leaving: list[FileClaim] = field(default_factory=list)
    """Files whose memory is gone, or has another file."""
    restoring: set[MemoryId] = field(default_factory=set)
    passed: dict[str, Passed] = field(default_factory=dict)
    changes: list[NotebookChange] = field(default_factory=list)
    has_changed: bool = False
    """Whether anything was written to the store."""
    said: set[str] = field(default_factory=set)
    """Files of which enough is said: that they are then written is no news."""
    touched: set[MemoryId] = field(default_factory=set)
    """What a dry run would have changed, and so cannot say more about."""

    def run(self) -> None:
        """Take every file."""
        self.changes += self.pairing.troubles
        for memory_id in self.pairing.missing:
            self._missed(memory_id)
        claims = sorted(self.pairing.claims.values(), key=lambda claim: claim.found.path)
        for claim in claims:
            self._take(claim)
        for found, note in self.pairing.fresh:
            self._fresh(found, note)
        for claim in self.pairing.duplicates:
            self._copied(claim)

    # --- one file -------------------------------------------------------------------------------------------

    def _take(self, claim: FileClaim) -> None:
        is_same = claim.entry is not None and claim.entry.file == claim.found.mark
        if is_same and claim.memory_id in self.living:
            self.files[claim.memory_id] = claim
            return
        standing = self.memories.standing(claim.memory_id)
        if standing is None:
            self._gone(claim)
        elif not claim.note.body:
            self._hold(claim, NotebookAct.NOT_TAKEN, why="there are no words in it")
        elif self._is_passed(claim.found):
            self._hold(claim, NotebookAct.REFUSED, why=self.passed[claim.found.path].why)
        else:
            self._edited(claim, standing)

    def _edited(self, claim: FileClaim, standing: Memory) -> None:
        """Take what differs from how the last sync left the file."""
        entry, words = claim.entry, words_mark(claim.note.body)
        current = words_mark(standing.content)
        is_edited = words != current and (entry is None or words != entry.words)
        is_moved_on = entry is None or standing.id != claim.memory_id or current != entry.words
        if is_edited and is_moved_on:
            self._conflict(claim, standing)
        elif is_edited:
            corrected = self._corrected(claim, standing)
            if corrected is None:
                return
            standing = corrected
        if entry is not None:
            standing = self._relabeled(claim, standing)
        self._settle(claim, standing)

    def _corrected(self, claim: FileClaim, standing: Memory) -> Memory | None:
        """Return what stands for the file's words now; None where nothing is left to do for the file."""
        path = claim.found.path
        if self.dry_run:
            self.touched.add(standing.id)
            self._note(NotebookAct.CORRECTED, path, standing.id)
            return standing
        self.has_changed = True
        try:
            corrected = self.memories.correct(standing, claim.note.body, reason=EDITED)
        except MemoryChanged:  # since it was looked at, by another program: look again
            self._take(claim)
            return None
        except (SecurityError, StatusNotAllowed) as exc:
            self.passed[path] = Passed(file=claim.found.mark, why=exc.code, memory_id=standing.id)
            self._hold(claim, NotebookAct.REFUSED, why=exc.code)
            return None
        self._note(NotebookAct.CORRECTED, path, corrected.id)
        if words_mark(corrected.content) != words_mark(claim.note.body):  # taken for a repetition of another
            self._conflict(claim, corrected)
        return corrected

    def _relabeled(self, claim: FileClaim, standing: Memory) -> Memory:
        """Apply the labels that were edited, and name what cannot be changed in a note."""
        path, entry = claim.found.path, claim.entry
        labels = {} if entry is None else entry.labels
        wanted, refused = changed_labels(claim.note, labels, standing)
        for name in refused:
            self._note(NotebookAct.NOT_TAKEN, path, standing.id, why=name)
        for name, value in wanted.items():
            self.touched.add(standing.id)
            self.has_changed = True
            try:
                standing = (
                    standing if self.dry_run else self.memories.label(standing, name, value, reason=EDITED)
                )
            except (SecurityError, StatusNotAllowed) as exc:
                self._note(NotebookAct.NOT_TAKEN, path, standing.id, why=f"{name}: {exc.code}")
            else:
                self._note(NotebookAct.RELABELED, path, standing.id, why=name)
        return standing

    def _fresh(self, found: FoundFile, note: Note) -> None:
        """Take a new file to the write pipeline, once for the same words."""
        if not note.body:
            return
        if self._is_passed(found):
            told = self.passed[found.path]
            act = NotebookAct.KNOWN if told.why == _KNOWN else NotebookAct.REFUSED
            self._note(act, found.path, told.memory_id, why="" if told.why == _KNOWN else told.why)
            return
        if self.dry_run:
            self._note(NotebookAct.ADDED, found.path)
            return
        self.has_changed = True
        try:
            memory = self.memories.admit(note)
        except SecurityError as exc:
            self.passed[found.path] = Passed(file=found.mark, why=exc.code)
            self._note(NotebookAct.REFUSED, found.path, why=exc.code)
            return
        claims = self.pairing.claims.keys() | self.pairing.held | self.files.keys()
        if memory.id in claims or words_mark(memory.content) != words_mark(note.body):
            self.passed[found.path] = Passed(file=found.mark, why=_KNOWN, memory_id=memory.id)
            self._note(NotebookAct.KNOWN, found.path, memory.id)
            return
        self.files[memory.id] = FileClaim(memory_id=memory.id, found=found, note=note)
        self._note(NotebookAct.ADDED, found.path, memory.id)

    def _missed(self, memory_id: MemoryId) -> None:
        """Forget what was deleted, if that was asked for and the person had seen it as it is."""
        entry = self.state.memories[memory_id]
        memory = self.memories.standing(memory_id)
        if memory is None or memory.id != memory_id:
            return
        if not self.delete or words_mark(memory.content) != entry.words:
            self.restoring.add(memory_id)
            return
        try:
            if not self.dry_run:
                self.memories.forget(memory, reason=DELETED)
        except (MemoryChanged, AccessDenied):  # nobody has seen it as it is, or an agent may not: it stays
            self.restoring.add(memory_id)
            return
        self._note(NotebookAct.FORGOTTEN, entry.path, memory_id)
        self.touched.add(memory_id)
        self.has_changed = True

    def _copied(self, claim: FileClaim) -> None:
        """Let the copy of a note go where its memory must not stand in a file any more."""
        standing = self.memories.standing(claim.memory_id)
        if standing is not None and stays_out_of_files(standing):
            if words_mark(claim.note.body) != words_mark(standing.content):
                self._conflict(claim, standing)
            self.leaving.append(claim)

    # --- the pieces -----------------------------------------------------------------------------------------

    def _gone(self, claim: FileClaim) -> None:
        """Let go of a file whose memory went; one that no sync has written is not ours to remove."""
        if claim.entry is None or not self.memories.is_known(claim.memory_id):
            self._hold(claim, NotebookAct.UNKNOWN)
            return
        self._keep_words(claim)
        self.leaving.append(claim)

    def _settle(self, claim: FileClaim, standing: Memory) -> None:
        """Let the file stand for the memory, unless that has a file of its own."""
        others = (self.pairing.claims.keys() | self.pairing.held) - {claim.memory_id}
        if standing.id in others or standing.id in self.files:
            self.leaving.append(claim)
        else:
            self.files[standing.id] = claim

    def _keep_words(self, claim: FileClaim) -> None:
        """Keep a file's words where the store has never seen them."""
        is_seen = claim.entry is not None and words_mark(claim.note.body) == claim.entry.words
        if claim.note.body and not is_seen:
            self._conflict(claim, None)

    def _conflict(self, claim: FileClaim, standing: Memory | None) -> None:
        path = claim.found.path
        copy = None if self.dry_run else self.folder.keep(path, claim.found.content)
        self._note(NotebookAct.CONFLICT, path, None if standing is None else standing.id, copy=copy)
        if standing is not None:
            self.touched.add(standing.id)

    def _hold(self, claim: FileClaim, act: NotebookAct, *, why: str = "") -> None:
        """Leave a file as it is, and say so."""
        self.pairing.held.add(claim.memory_id)
        self._note(act, claim.found.path, claim.memory_id, why=why)

    def _is_passed(self, found: FoundFile) -> bool:
        """Return whether a file was looked at before as it is, and remember it for the next time."""
        told = self.state.passed.get(found.path)
        if told is None or told.file != found.mark:
            return False
        self.passed[found.path] = told
        return True

    def _note(
        self,
        act: NotebookAct,
        path: str,
        memory_id: MemoryId | None = None,
        *,
        why: str = "",
        copy: str | None = None,
    ) -> None:
        self.changes.append(NotebookChange(act=act, path=path, memory_id=memory_id, why=why, copy=copy))
        if act in _SAID:
            self.said.add(path)
