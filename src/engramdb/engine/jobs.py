"""
What happens to a store while nobody asks: dreams, aging, and embedding what waits.

Says what the jobs of the scheduler are, when they are due and what counts as use of the store. They run in
`serve` and `mcp`, and in the library where that is asked for. Across processes the leases of the jobs decide
who does them.
"""

from __future__ import annotations

import time
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from engramdb.engine.scheduler import IN_BACKGROUND, SCHEDULER, Job
from engramdb.health import CHAT, EMBEDDER, GUARD_MODEL, JUDGE, READER

if TYPE_CHECKING:  # a cycle: the parts hold the scheduler, whose jobs work on the parts
    from engramdb.engine.parts import Parts

EXTRACTIONS = 3
"""Readings of turns after which a dream is due."""
AGING_HOURS = 24.0
"""A sweep a day: no rule of any policy counts in less than days."""
BACKFILL_MINUTES = 1.0
BACKFILL_SECONDS = 30.0
"""How long one stretch of embedding may take before something else gets its turn."""
NOT_USE = frozenset(
    {
        *(EMBEDDER, READER, GUARD_MODEL, JUDGE, CHAT, SCHEDULER),
        *("reading", "read notes", "aging", "dream", "index snapshot"),
    }
)
"""Parts of `health` that are at work without anybody waiting for them."""


class Maintenance:
    """The slow work that a store gets by itself, as jobs of a scheduler."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def jobs(self) -> tuple[Job, ...]:
        """Return what there is to do, and when."""
        settings = self._parts.settings
        return (
            Job(
                name="backfill",
                run=self._embed_a_stretch,
                every=timedelta(minutes=BACKFILL_MINUTES),
                needs_news=False,
                is_wanted=self._has_unembedded,
            ),
            Job(
                name="dream",
                run=self._dream,
                every=timedelta(minutes=settings.dream_minutes),
                after_extractions=EXTRACTIONS,
                idle=timedelta(minutes=settings.dream_idle_minutes),
                has_news=self._has_changed,
                last_done=self._last_dream,
            ),
            Job(
                name="aging",
                run=self._age,
                every=timedelta(hours=AGING_HOURS),
                needs_news=False,
                last_done=self._last_sweep,
            ),
        )

    def last_use(self) -> datetime | None:
        """Return when somebody last waited for this store, in this process."""
        moments = [self._parts.last_turn_at]
        for part in self._parts.health.parts():
            if part.name not in NOT_USE and not part.name.endswith(IN_BACKGROUND):
                moments += [part.last_success, part.last_failure]
        return max((moment for moment in moments if moment is not None), default=None)

    def _dream(self) -> None:
        from engramdb.dream.service import dream_once  # noqa: PLC0415 - loaded with the first dream

        self._parts.write_notes()
        dream_once(self._parts, scope=None, steps=None, dry_run=False, progress=None)

    def _age(self) -> None:
        from engramdb.lifecycle.aging import age_once  # noqa: PLC0415 - loaded with the first sweep

        self._parts.write_notes()
        age_once(self._parts, dry_run=False, progress=None)

    def _last_dream(self) -> datetime | None:
        with self._parts.store.read() as tx:
            latest = tx.dreams.latest()
        return None if latest is None else latest.finished_at

    def _last_sweep(self) -> datetime | None:
        with self._parts.store.read() as tx:
            latest = tx.sweeps.latest()
        return None if latest is None else latest.finished_at

    def _has_changed(self) -> bool:
        """Return whether a memory has changed since the last dream, whichever process changed it."""
        from engramdb.dream.service import has_news  # noqa: PLC0415 - loaded with the first dream

        with self._parts.store.read() as tx:
            return has_news(tx)

    def _has_unembedded(self) -> bool:
        return self._parts.backlog.has_unembedded()

    def _embed_a_stretch(self) -> None:
        """Embed what waits, batch by batch, until somebody uses the store or the stretch is over."""
        from engramdb.index.rebuild import embed_pending  # noqa: PLC0415 - loaded when something waits

        begun, used = time.monotonic(), self.last_use()

        def is_over() -> bool:
            is_long = time.monotonic() - begun > BACKFILL_SECONDS
            return self._parts.stop.is_set() or is_long or self.last_use() != used

        with self._parts.store.background_writes():
            embed_pending(self._parts.store, self._parts.embedder, is_stopped=is_over)
