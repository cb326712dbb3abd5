"""Verbs of import, export and notebooks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import islice
from os import PathLike
from pathlib import Path

from msgspec import Struct

from engramdb import values
from engramdb.capture.pipeline import read_turns
from engramdb.engine.handle import BULK_ROWS, READER, Handle
from engramdb.engine.workers import READING
from engramdb.exporting.export import discreet
from engramdb.importing.intake import Intake, records_of
from engramdb.importing.read import Kinded
from engramdb.lifecycle.change import SAID, find
from engramdb.lifecycle.drafts import chosen
from engramdb.notebook.memories import Hand
from engramdb.notebook.sync import folder_at, synced
from engramdb.notebook.take import Deletions
from engramdb.store.contract import Transaction
from engramdb.text.pii import is_withheld
from engramdb.values import (
    BELIEVED,
    ExportedMemory,
    Filters,
    ImportKind,
    ImportOrigin,
    ImportReport,
    Memory,
    MemoryId,
    NotebookReport,
    Scope,
    SecurityTier,
    Status,
)

# The verbs of import: bring in what other programs know, and say where a memory came from.
#
# Part of `Engram`; calls `portability` for the records and `engine.intake` to take them in. Conversations
# become turns, which are read as if they had just been said; everything else goes through admission as
# imported.

QUICK_BATCH = 64
"""An embedder that takes fewer texts at once is a model: it embeds what came in bulk afterwards."""


class Imports(Handle):
    """Verbs that bring in what other programs know."""

    def import_from(
        self,
        path: str | PathLike[str],
        *,
        kind: str | None = None,
        mapping: Mapping[str, str] | None = None,
        speaker: str | None = None,
        dry_run: bool = False,
        progress: Callable[[int], None] | None = None,
        may_enter: Callable[[Scope], bool] | None = None,
        scope: Scope | None = None,
    ) -> ImportReport:
        """
        Take in a file, a folder or a zip archive that another program wrote; `dry_run` only counts.

        The kind is told from the content unless given. What an earlier import brought is passed over, also
        where it was corrected or forgotten since, so an import may be interrupted and repeated. `mapping`
        names the columns of a table: {"content": "text", "occurred_at": "date"}. A `speaker` is the name of
        whoever speaks as the user in conversations that do not say so. A record that cannot be
        taken in is reported by its place and does not stop the others; so is one that would go to a scope
        which `may_enter` says no to.
        """
        told = None if kind is None else chosen(ImportKind, kind)
        self._reads.write(self._now())
        intake = Intake(
            self._parts.pipeline,
            scope=self._in(scope),
            actor=self._actor,
            embeds_later=self._parts.embedder.batch < QUICK_BATCH,
            speaker=speaker,
            may_enter=may_enter,
        )
        report = progress or (lambda _more: None)
        with closing(records_of(Path(path).expanduser(), kind=told, mapping=mapping)) as source:
            for batch in _batches(source):
                self._take(intake, batch, dry_run=dry_run)
                report(len(batch))
        if dry_run:
            return intake.tally.report(dry_run=True)
        self._embed_later()
        return intake.tally.report(dry_run=False, turns_read=self._read_all(report))

    def imported_from(self, memory_id: MemoryId, *, scope: Scope | None = None) -> ImportOrigin | None:
        """Return which file a memory, or the conversation behind it, was imported from, if any."""
        target = self._resolve(memory_id, scope)
        with self._parts.store.read() as tx:
            return tx.imports.origin(find(tx, target, self._in(scope)).id)

    def _take(self, intake: Intake, batch: Sequence[Kinded], *, dry_run: bool) -> None:
        if dry_run:
            intake.foresee(batch, now=self._now())
            return
        with self._parts.health.watch("write"):
            intake.take(batch, now=self._now(), enrich=len(batch) < BULK_ROWS)

    def _read_all(self, report: Callable[[int], None]) -> int:
        """Read the turns that wait, also those that an interrupted import has left, and return how many."""
        total = 0
        with self._parts.health.watch(READING):
            while count := read_turns(self._parts.capture, actor=READER, now=self._now()).turns:
                total += count
                report(count)
        if total:
            self._listener.on_read()
        return total


def _batches(source: Iterator[Kinded]) -> Iterator[list[Kinded]]:
    while batch := list(islice(source, BULK_ROWS)):
        yield batch


# The verbs of portability outward: keep a folder of Markdown in step with a scope, and export what is known.
#
# Part of `Engram`; calls `engine.notebook.sync`, loaded when a notebook is first asked for. A notebook
# is of exactly one scope, because what belongs to a wider one is not this reader's to change; what is
# sensitive is never written to it.

PAGE = 100
"""Memories of an export that are read in one go: a few milliseconds, so that nobody waits for it."""


class _Asked(Struct, frozen=True):
    """What an export is to hold."""

    filters: Filters
    tiers: frozenset[SecurityTier]
    history: bool

    @property
    def is_open(self) -> bool:
        """Whether private things may be in it."""
        return self.tiers >= {SecurityTier.SENSITIVE, SecurityTier.CONFIDENTIAL}

    def covers(self, memory: Memory) -> bool:
        """Say whether a memory, as it is by now, is to be in it."""
        return memory.status in self.filters.statuses and self.admits(memory)

    def admits(self, memory: Memory) -> bool:
        """Say whether a memory's tier was asked for; a mere name or home town counts as cleartext."""
        if memory.security in self.tiers:
            return True
        return SecurityTier.CLEARTEXT in self.tiers and not is_withheld(memory.content, memory.security)


class Notebooks(Handle):
    """Verbs that write memories where people can read and take them."""

    def notebook_sync(
        self,
        folder: str | PathLike[str],
        *,
        dry_run: bool = False,
        delete: bool = False,
        delete_many: bool = False,
        adopt: bool = False,
        progress: Callable[[int], None] | None = None,
        scope: Scope | None = None,
    ) -> NotebookReport:
        """
        Bring a folder of Markdown files and the memories of a scope to the same state, both ways.

        Edits of a file become corrections, new files memories, and memories that are new or have changed are
        written. What both sides changed is kept twice, the person's words in a copy beside the file. A file
        that was deleted comes back, unless `delete` says that its memory is to be forgotten; where most are
        gone, that stops the sync, unless `delete_many` says so. A folder that holds other things is refused
        unless told to `adopt` it: then they are left alone.
        """
        self._reads.write(self._now())
        done = synced(
            Path(folder),
            self._hand(self._in(scope)),
            dry_run=dry_run,
            deletions=Deletions.of(delete=delete, many=delete_many),
            adopt=adopt,
            progress=progress,
        )
        if not dry_run:
            self._embed_later()
        return done

    def notebook_mark(self, folder: str | PathLike[str]) -> str:
        """Return what changes whenever a sync could have something to do; cheap enough to be asked often."""
        with self._parts.store.read() as tx:
            change = tx.vectors.latest_change()
        return f"{folder_at(Path(folder)).signature()}:{change}"

    def export(
        self,
        *,
        filters: Filters | None = None,
        tiers: Collection[SecurityTier] = (SecurityTier.CLEARTEXT,),
        history: bool = False,
        narrower: bool = False,
        scope: Scope | None = None,
    ) -> Iterator[ExportedMemory]:
        """
        Yield the memories that a scope may see, oldest first, with everything that is known of each.

        Without filters it is what is held to be true. What is sensitive is left out unless its tier is asked
        for, but for mere names and home towns. `narrower` adds those of every scope inside this one, scope by
        scope: of the global one, the whole store. `import_from` takes a file of these back, one JSON object
        to a line.
        """
        place, wanted = self._in(scope), filters or Filters(statuses=BELIEVED)
        asked = _Asked(wanted, frozenset(tiers), history=history)
        yield from self._exported(place, asked)
        if narrower:
            with self._parts.store.read() as tx:
                inside = [one for one in tx.erasures.scopes_within(place) if one != place]
            for one in inside:
                yield from (found for found in self._exported(one, asked) if found.memory.scope == one)

    def _exported(self, place: Scope, asked: _Asked) -> Iterator[ExportedMemory]:
        """Yield what one scope sees, some hundred at a time."""
        ids = list(self._exportable(place, asked))
        travelling = frozenset(ids)
        for start in range(0, len(ids), PAGE):
            with self._parts.store.read() as tx:
                some = [tx.memories.get(one, scope=place) for one in ids[start : start + PAGE]]
                page = [
                    _exported(tx, one, place, among=travelling, history=asked.history)
                    for one in some
                    if one is not None and asked.covers(one)
                ]
            yield from page if asked.is_open else map(discreet, page)

    def _exportable(self, scope: Scope, asked: _Asked) -> Iterator[MemoryId]:
        """Yield the ids to export, oldest first; what is erased has no words to give."""
        pages: list[list[MemoryId]] = []
        before: MemoryId | None = None
        while True:
            with self._parts.store.read() as tx:
                page = tx.memories.list(scope=scope, filters=asked.filters, limit=PAGE, before=before)
            kept = [one.id for one in page if asked.admits(one) and one.status is not Status.ERASED]
            pages.append(kept)
            if len(page) < PAGE:
                break
            before = page[-1].id
        for kept in reversed(pages):
            yield from reversed(kept)

    def _hand(self, scope: Scope) -> Hand:
        return Hand(
            pipeline=self._parts.pipeline,
            clock=self._parts.clock,
            actor=self._actor,
            scope=scope,
            admits=self._admit,
        )


def _exported(
    tx: Transaction, memory: Memory, scope: Scope, *, among: Collection[MemoryId], history: bool
) -> ExportedMemory:
    return values.ExportedMemory(
        memory=memory,
        entities=tuple(one.name for one in tx.entities.of_memory(memory.id, scope=scope)),
        history=tuple(tx.history.of(memory.id)) if history else (),
        links=tuple(
            edge
            for edge in tx.edges.of(memory.id)
            if edge.source == memory.id and edge.target in among and edge.type in SAID
        ),
    )
