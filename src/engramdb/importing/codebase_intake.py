"""
Keep what is known of a repository in step with its files.

The place of a statement (file and part) is its name. What a file still says is left alone; what it says
otherwise now takes the place of what it said; and what is no longer there is invalidated, with a reason. A
person's hand comes first: what was forgotten, corrected or erased does not come back while the file says the
same, and what is pinned is not taken away.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from engramdb.errors import EngramError, SecurityError, StatementForgotten
from engramdb.importing.intake import ImportTally, draft_of, quarantine, without_settling
from engramdb.importing.source import BrokenRecord, Record, SkippedFile, SourceStatement
from engramdb.lifecycle.admission import Prepared, WritePipeline, prepare, save
from engramdb.lifecycle.transitions import MemoryWriter
from engramdb.store.contract import Imported, Transaction
from engramdb.values import Action, Actor, ActorKind, ImportKind, Memory, MemoryId, Scope, Status

KEEPING_UP = Actor(name="codebase", kind=ActorKind.RULE)
SAYS_OTHERWISE = "its file says something else now"
GONE = "its file, or that part of it, is no longer there"
BATCH = 32
"""Statements in one write."""


class CodebaseChange(Struct, frozen=True):
    """A statement to store: what stood in its place before, if that still holds, and what it is known by."""

    record: SourceStatement
    old: Memory | None
    mark: bytes


class CodebaseIntake:
    """An import of one repository into one scope."""

    def __init__(self, pipeline: WritePipeline, *, repository: str, scope: Scope, actor: Actor) -> None:
        # A file is no evidence against what somebody said: nothing is judged, nothing is settled.
        self._pipeline = replace(pipeline, judge=None)
        self._repository = repository
        self._scope = scope
        self._actor = actor
        self.tally = ImportTally()

    def take(self, records: Sequence[Record | SkippedFile], *, now: datetime, dry_run: bool) -> None:
        """Bring what is known in step with what was read."""
        statements = self._statements(records)
        with self._pipeline.store.read() as tx:
            known = self._known(tx)
            changes = self._changes(tx, statements, known)
            standing = self._standing(tx, known.keys() - _present(records, known), known)
        if dry_run:
            self._count(changes, standing)
            return
        for start in range(0, len(changes), BATCH):
            self._store(changes[start : start + BATCH], now=now)
        self._retire(standing, now=now)

    def _statements(self, records: Sequence[Record | SkippedFile]) -> list[SourceStatement]:
        for record in records:
            if isinstance(record, SkippedFile):
                self.tally.counts["left out"] += 1
            elif isinstance(record, BrokenRecord):
                self.tally.refuse(record.place, record.code)
        found = [record for record in records if isinstance(record, SourceStatement)]
        self.tally.by_kind[ImportKind.CODEBASE] += len(found)
        return found

    def _known(self, tx: Transaction) -> dict[str, MemoryId]:
        """Return what each place of this repository became last."""
        kind = ImportKind.CODEBASE
        below = tx.imports.latest_by_place(kind, scope=self._scope, under=f"{self._repository}/")
        return below | tx.imports.latest_by_place(kind, scope=self._scope, under=f"{self._repository}: ")

    def _changes(
        self, tx: Transaction, statements: Sequence[SourceStatement], known: dict[str, MemoryId]
    ) -> list[CodebaseChange]:
        """Return what is new or says something else than before; the rest is counted as known."""
        found = []
        for record in statements:
            last = tx.memories.get(known[record.place], scope=self._scope) if record.place in known else None
            if last is not None and last.content == record.content and not _was_gone(tx, last):
                self.tally.counts["already"] += 1
                continue
            old = None if last is None or last.status.is_terminal else last
            found.append(CodebaseChange(record, old, _mark(record, self._scope, last)))
        marks = tx.imports.known_marks([one.mark for one in found])
        self.tally.counts["already"] += sum(one.mark in marks for one in found)
        return [one for one in found if one.mark not in marks]

    def _standing(self, tx: Transaction, places: set[str], known: dict[str, MemoryId]) -> list[Memory]:
        """Return what still counts of the places that are gone; what is pinned stays."""
        found = [tx.memories.get(known[place], scope=self._scope) for place in sorted(places)]
        return [one for one in found if one is not None and not one.status.is_terminal and not one.pinned]

    def _count(self, changes: Sequence[CodebaseChange], standing: Sequence[Memory]) -> None:
        counts = self.tally.counts
        counts["statements"] += len(changes)
        counts["added"] += len(changes)
        counts["updated"] += sum(one.old is not None for one in changes)
        counts["retired"] += len(standing)
        if changes:
            self.tally.by_scope[str(self._scope)] += len(changes)

    def _store(self, changes: Sequence[CodebaseChange], *, now: datetime) -> None:
        admitted = [(one, prepared) for one in changes if (prepared := self._prepared(one, now)) is not None]
        with self._pipeline.store.atomic() as tx:
            marks = tx.imports.known_marks([one.mark for one, _ in admitted])
            fresh = [(one, prepared) for one, prepared in admitted if one.mark not in marks]
            saved = [(one, self._save(tx, one, prepared, now=now)) for one, prepared in fresh]
            stored = [(one, memory) for one, memory in saved if memory is not None]
            tx.imports.add([_imported(one, memory) for one, memory in stored], at=now)
        self._count([one for one, _ in stored], ())
        self.tally.counts["flagged"] += sum(memory.is_suspicious for _, memory in stored)

    def _prepared(self, change: CodebaseChange, now: datetime) -> Prepared | None:
        """Return a statement ready to be saved; one that may not enter is named by its place."""
        refusals: list[EngramError] = []
        draft = draft_of(change.record, self._scope)
        if change.old is not None:
            draft = replace(
                draft, pinned=change.old.pinned, supersedes=change.old.id, version=change.old.version + 1
            )
        prepared = prepare([draft], self._pipeline, now=now, on_rejection=refusals.append)
        for error in refusals:
            self.tally.refuse(change.record.place, getattr(error, "code", SecurityError.code))
        return None if refusals else quarantine(without_settling(prepared, frozenset({self._scope})))

    def _save(
        self, tx: Transaction, change: CodebaseChange, prepared: Prepared, *, now: datetime
    ) -> Memory | None:
        """Store a statement in the place of the last one; None where the person asked to forget it."""
        tx.acts.end()  # each statement can be undone by itself
        (admission,) = save(tx, prepared, self._pipeline, actor=self._actor, now=now)
        if admission.is_withheld:
            self.tally.refuse(change.record.place, StatementForgotten.code)
            return None
        old = None if change.old is None else tx.memories.get(change.old.id, scope=self._scope)
        if old is not None and not old.status.is_terminal and old.id != admission.memory.id:
            MemoryWriter(tx, KEEPING_UP, now).supersede(old, admission.memory, reason=SAYS_OTHERWISE)
        return admission.memory

    def _retire(self, standing: Sequence[Memory], *, now: datetime) -> None:
        with self._pipeline.store.atomic() as tx:
            writer = MemoryWriter(tx, KEEPING_UP, now)
            for seen in standing:
                memory = tx.memories.get(seen.id, scope=self._scope)
                if memory is not None and not memory.status.is_terminal and not memory.pinned:
                    writer.set_status(memory, Status.INVALIDATED, action=Action.SET_STATUS, reason=GONE)
                    self.tally.counts["retired"] += 1


def _present(records: Sequence[Record | SkippedFile], known: Iterable[str]) -> set[str]:
    """Return the places that are there, also those of files that could not be read this time."""
    unread = tuple(f"{one.place}: " for one in records if isinstance(one, BrokenRecord | SkippedFile))
    return {one.place for one in records} | {place for place in known if unread and place.startswith(unread)}


def _was_gone(tx: Transaction, memory: Memory) -> bool:
    """Return whether a memory was only taken away because its file was: a file that is back says it again."""
    if memory.status is not Status.INVALIDATED:
        return False
    moves = [event for event in tx.history.of(memory.id) if event.new_status is Status.INVALIDATED]
    return bool(moves) and moves[-1].actor.kind is ActorKind.RULE


def _mark(record: SourceStatement, scope: Scope, last: Memory | None) -> bytes:
    """Return what a step is known by: the same words may come back after others, and are new again then."""
    before = "" if last is None else last.id
    told = "\x1f".join((str(scope), ImportKind.CODEBASE, record.place, before, record.content))
    return hashlib.blake2b(told.encode("utf-8", "backslashreplace"), digest_size=16).digest()


def _imported(change: CodebaseChange, memory: Memory) -> Imported:
    return Imported(
        mark=change.mark, kind=ImportKind.CODEBASE, place=change.record.place, memory_id=memory.id
    )
