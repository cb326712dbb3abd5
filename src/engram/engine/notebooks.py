"""
The verbs of portability outward: keep a folder of Markdown in step with a scope, and export what is known.

Part of `Engram`; calls `engine.notebook.sync`, loaded when a notebook is first asked for. A notebook
is of exactly one scope, because what belongs to a wider one is not this reader's to change; what is
sensitive is never written to it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from engram import engine, portability, values
from engram.capture.relate import SAID
from engram.engine.handle import Handle
from engram.text.pii import is_withheld
from engram.values import BELIEVED, Filters, SecurityTier, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from os import PathLike

    from engram.engine.notebook.hand import Hand
    from engram.store.contract import Transaction
    from engram.values import Exported, Memory, MemoryId, NotebookReport, Scope

PAGE = 100
"""Memories of an export that are read in one go: a few milliseconds, so that nobody waits for it."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """What an export is to hold."""

    filters: Filters
    tiers: frozenset[SecurityTier]
    history: bool = field(kw_only=True)

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
        done = engine.notebook.sync.synced(
            Path(folder),
            self._hand(self._in(scope)),
            dry_run=dry_run,
            deletions=engine.notebook.missing.Deletions.of(delete=delete, many=delete_many),
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
        return f"{engine.notebook.sync.folder_at(Path(folder)).signature()}:{change}"

    def export(
        self,
        *,
        filters: Filters | None = None,
        tiers: Collection[SecurityTier] = (SecurityTier.CLEARTEXT,),
        history: bool = False,
        narrower: bool = False,
        scope: Scope | None = None,
    ) -> Iterator[Exported]:
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

    def _exported(self, place: Scope, asked: _Asked) -> Iterator[Exported]:
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
            yield from page if asked.is_open else map(portability.export.discreet, page)

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
        return engine.notebook.hand.Hand(
            gate=self._parts.gate,
            clock=self._parts.clock,
            actor=self._actor,
            scope=scope,
            admits=self._admit,
        )


def _exported(
    tx: Transaction, memory: Memory, scope: Scope, *, among: Collection[MemoryId], history: bool
) -> Exported:
    return values.Exported(
        memory=memory,
        entities=tuple(one.name for one in tx.entities.of_memory(memory.id, scope=scope)),
        history=tuple(tx.history.of(memory.id)) if history else (),
        links=tuple(
            edge
            for edge in tx.edges.of(memory.id)
            if edge.source == memory.id and edge.target in among and edge.type in SAID
        ),
    )
