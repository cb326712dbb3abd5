"""
The verbs for the whole store: its state, its health, its derived data, its ageing and what will become of it.

Part of `Engram`; each is a few lines that call one room. They look at the whole store whatever the scope, and
answer with counts and ids; only a forecast shows memories, and those of its scope alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from engram import capture, engine
from engram.capture.change import find
from engram.engine.handle import Handle
from engram.errors import EngramError
from engram.values import Action, AuditEvent, Backup
from engram.values.query import check_limit, check_number

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from os import PathLike

    from engram.values import (
        AgeReport,
        Census,
        DoctorReport,
        Forecast,
        MemoryId,
        Scope,
        StatusReport,
    )


class Upkeep(Handle):
    """Verbs that look after the whole store."""

    def status(self) -> StatusReport:
        """Return a look at the whole: counts, sizes, what waits, what fails."""
        return engine.overview.overview(self._parts)

    def doctor(self, *, fix: bool = False, progress: Callable[[int], None] | None = None) -> DoctorReport:
        """Examine the store and its parts; with `fix`, rebuild what is derived and wrong."""
        return engine.doctor.examine(self._parts.store, self._parts.embedder, fix=fix, progress=progress)

    def backup(self, path: str | PathLike[str]) -> Backup:
        """
        Write a whole copy of the store to a path where nothing is, while others go on using it.

        It is as the store is at one moment, with the same key, and its owner's alone.
        """
        self._reads.write(self._now())
        target = Path(path).expanduser().absolute()
        self._parts.store.back_up(target)
        with self._parts.store.atomic() as tx:
            tx.audit.add(AuditEvent(at=self._now(), action=Action.BACK_UP, actor=self._actor))
        return Backup(path=str(target), size_bytes=target.stat().st_size)

    def audit(self, *, limit: int = 50, before: int | None = None) -> Sequence[AuditEvent]:
        """
        Return who did what in the store, newest first: ids, counts and reasons, never a memory's words.

        `before` an event's `number` gives the page after it.
        """
        check_limit(limit)
        if before is not None:
            check_number("before", before)
        with self._parts.store.read() as tx:
            return tx.audit.recent(limit=limit, before=before)

    def embed_pending(self, *, progress: Callable[[int], None] | None = None) -> int:
        """Embed now what waits for it, and return how many memories that were."""
        return engine.derived.embed_pending(self._parts.store, self._parts.embedder, progress=progress)

    def enrich(self, *, progress: Callable[[int], None] | None = None) -> int:
        """Infer now what waits to be inferred from statements that came in bulk, and return how many."""
        return capture.enrich.enrich_pending(self._parts.store, now=self._now(), progress=progress)

    def rebuild(self, *, progress: Callable[[int], None] | None = None) -> int:
        """Make every derived index anew from the memories, and return how many there were."""
        done = engine.derived.rebuild(self._parts.store, self._parts.embedder, progress=progress)
        self._parts.spaces.rebuild(self._parts.store)
        return done

    def age(self, *, dry_run: bool = False, progress: Callable[[int], None] | None = None) -> AgeReport:
        """
        Let the whole store age once: layers change, and what a rule of the policy is due for leaves.

        Works in small writes beside everything else; an interrupted sweep goes on where it stopped. With
        `dry_run` it only tells what it would do. `restore` brings back what a rule removed.
        """
        self._reads.write(self._now())
        return engine.sweeping.age_once(
            self._parts, dry_run=dry_run, summarise=self._summarise_sessions, progress=progress
        )

    def forecast(
        self,
        memory_id: MemoryId | None = None,
        *,
        days: float = 365,
        everywhere: bool = False,
        scope: Scope | None = None,
    ) -> Forecast:
        """
        Say what will fade, move and leave within so many days if nothing happens, of one memory or of all.

        Covers what the scope sees; `everywhere` counts the whole store instead and shows no memory.
        """
        policy, now, place = self._parts.policy, self._now(), self._in(scope)
        self._reads.write(now)
        if memory_id is not None:
            target = self._resolve(memory_id, scope)
            with self._parts.store.read() as tx:
                memory = find(tx, target, place)
                ends = engine.ageing.session_ends(tx, [memory], policy.aging)
            return engine.ageing.forecast_one(
                memory, policy.aging, policy.name, now=now, days=days, ends=ends
            )
        return engine.ageing.forecast(
            self._parts.store,
            policy.aging,
            policy.name,
            scope=None if everywhere else place,
            now=now,
            days=days,
        )

    def compare_policies(
        self,
        *,
        days: Sequence[float] = (30, 90, 365),
        everywhere: bool = False,
        scope: Scope | None = None,
    ) -> Mapping[str, Sequence[Census]]:
        """Say what each preset would keep of these memories after so many days each, if nothing happens."""
        policy = self._parts.policy
        self._reads.write(self._now())
        return engine.ageing.compare(
            self._parts.store,
            engine.ageing.presets_with(policy.name, policy.aging),
            scope=None if everywhere else self._in(scope),
            now=self._now(),
            days=days,
        )

    def _summarise_sessions(self, ends: Mapping[tuple[int, str], int]) -> dict[tuple[int, str], str]:
        """Summarise the sessions that are about to lose their episodes, and return which failed, and why."""
        failed = {}
        for number, session in ends:
            with self._parts.store.read() as tx:
                place = tx.scopes.get(number)
            try:
                self._summarise(session, place)
            except EngramError as exc:
                failed[number, session] = f"{exc.code}: a session could not be summarised"
        return failed
