"""
The verbs of import: bring in what other programs know, and say where a memory came from.

Part of `Engram`; calls `portability` for the records and `engine.intake` to take them in. Conversations
become turns, which are read as if they had just been said; everything else goes through the gate as imported.
"""

from __future__ import annotations

from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from engram import capture, engine
from engram.capture.change import find
from engram.capture.draft import chosen
from engram.engine.handle import BULK_ROWS, READER, Handle
from engram.engine.listening import READING
from engram.values import ImportKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from os import PathLike

    from engram.engine.intake import Intake
    from engram.portability.read import Kinded
    from engram.values import ImportOrigin, ImportReport, MemoryId, Scope


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
        intake = engine.intake.Intake(
            self._parts.gate,
            scope=self._in(scope),
            actor=self._actor,
            embeds_later=self._parts.embedder.batch < QUICK_BATCH,
            speaker=speaker,
            may_enter=may_enter,
        )
        report = progress or (lambda _more: None)
        with closing(engine.intake.records_of(Path(path).expanduser(), kind=told, mapping=mapping)) as source:
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
            while count := capture.pipeline.read_turns(
                self._parts.capture, actor=READER, now=self._now()
            ).turns:
                total += count
                report(count)
        if total:
            self._listener.on_read()
        return total


def _batches(source: Iterator[Kinded]) -> Iterator[list[Kinded]]:
    while batch := list(islice(source, BULK_ROWS)):
        yield batch
