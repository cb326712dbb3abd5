"""
The verbs of the slow path: dream, see what dreams did, and take a merge back.

Part of `Engram`; what a dream is handed is in `dream_wiring`, which is loaded when somebody dreams: the
dream's room is the largest, and most processes never enter it. A dream concerns the whole store whatever the
scope, and its report names memories by id alone; undoing is for who may change the memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram import engine
from engram.engine.handle import Handle
from engram.values.query import check_limit, check_number

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from engram.values import DreamReport, Memory, MemoryId, Scope


class Dreams(Handle):
    """Verbs that consolidate."""

    def dream(
        self,
        *,
        dry_run: bool = False,
        steps: Sequence[str] | None = None,
        progress: Callable[[str, float], None] | None = None,
    ) -> DreamReport:
        """
        Consolidate the whole store once: merge, settle, conclude, connect, ask; all steps or those named.

        Works in small writes beside everything else, one dream at a time; an interrupted one goes on where it
        stopped. With `dry_run` it only tells what it would do first. `progress` is told each step and the
        share of them that is done.
        """
        self._reads.write(self._now())
        return engine.dream_wiring.dream_once(self._parts, steps=steps, dry_run=dry_run, progress=progress)

    def dreams(self, *, limit: int = 10, before: int | None = None) -> Sequence[DreamReport]:
        """
        Return the reports of the latest dreams, newest first; an unfinished one tells how far it came.

        `before` a report's `number` gives the page after it.
        """
        check_limit(limit)
        if before is not None:
            check_number("before", before)
        with self._parts.store.read() as tx:
            return [run.report for run in tx.dreams.recent(limit=limit, before=before)]

    def unmerge(
        self,
        memory_id: MemoryId,
        *,
        reason: str = "",
        if_still: Memory | None = None,
        scope: Scope | None = None,
    ) -> Sequence[Memory]:
        """
        Take back every merge into a memory, or the one by which it was merged itself; no dream repeats it.

        What was merged is active again with its own evidence, which the other one gives back. Returns what
        was brought back.
        """
        target, why = self._resolve(memory_id, scope), reason or "taken apart"
        back = engine.dream_wiring.take_apart(
            self._parts,
            target,
            scope=self._in(scope),
            actor=self._actor,
            reason=why,
            if_still=if_still,
        )
        self._embed_later()
        return back
