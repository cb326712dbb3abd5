"""
What happens to a store while nobody asks: dreams, ageing, and embedding what waits.

Part of `Engram`; says what the jobs of the `Scheduler` are, when they are due and what counts as use of the
store. The thread runs in `serve` and `mcp`, and in the library where it is asked for. Across processes the
leases of the jobs decide who does them.
"""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from engram import engine
from engram.engine.dreaming import Dreams
from engram.engine.health import CHAT, EMBEDDER
from engram.engine.listening import READING
from engram.engine.reads import READ_NOTES
from engram.engine.scheduler import IN_BACKGROUND, SCHEDULER, Job, Scheduler
from engram.engine.upkeep import Upkeep
from engram.errors import EmbeddingError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from engram.engine.assemble import Parts
    from engram.values import Actor, Scope, StatusReport

EXTRACTIONS = 3
"""After so many readings of turns a dream is due."""
AGEING_HOURS = 24.0
"""A sweep a day: no rule of any policy counts in less than days."""
BACKFILL_MINUTES = 1.0
BACKFILL_SECONDS = 30.0
"""How long one stretch of embedding may take before something else gets its turn."""
NOT_USE = frozenset({EMBEDDER, CHAT, READING, READ_NOTES, SCHEDULER, "ageing", "dream", "index snapshot"})
"""Parts of `health` that are at work without anybody waiting for them."""


class Background(Dreams, Upkeep):
    """The slow work that a store gets by itself."""

    def __init__(self, parts: Parts, *, scope: Scope, actor: Actor) -> None:
        super().__init__(parts, scope=scope, actor=actor)
        self._scheduler = Scheduler(
            self._jobs(), clock=parts.clock, health=parts.health, last_use=self._last_use, stop=parts.stop
        )
        self._listener.on_read = self._scheduler.extracted

    def close(self) -> None:
        """Finish what is under way and let go of the store; slow work stops at its next small write."""
        self._scheduler.close()
        super().close()

    def status(self) -> StatusReport:
        """Return a look at the whole: counts, sizes, what waits, what fails, what the background does."""
        return replace(super().status(), scheduler=self._scheduler.state())

    def schedule(self, reason: str = "") -> None:
        """Say that something happened after which slow work may be due, such as the end of a turn."""
        self._scheduler.schedule(reason)

    def _jobs(self) -> Sequence[Job]:
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
                run=self.dream,
                every=timedelta(minutes=settings.dream_minutes),
                after_extractions=EXTRACTIONS,
                idle=timedelta(minutes=settings.dream_idle_minutes),
                has_news=self._has_changed,
                last_done=self._last_dream,
            ),
            Job(
                name="ageing",
                run=self.age,
                every=timedelta(hours=AGEING_HOURS),
                needs_news=False,
                last_done=self._last_sweep,
            ),
        )

    def _last_use(self) -> datetime | None:
        """Return when somebody last waited for this store, in this process."""
        moments = [self._listener.heard_at]
        for part in self._parts.health.parts():
            if part.name not in NOT_USE and not part.name.endswith(IN_BACKGROUND):
                moments += [part.last_success, part.last_failure]
        return max((moment for moment in moments if moment is not None), default=None)

    def _last_dream(self) -> datetime | None:
        with self._parts.store.read() as tx:
            latest = tx.dreams.latest()
        return None if latest is None else latest.finished_at

    def _last_sweep(self) -> datetime | None:
        with self._parts.store.read() as tx:
            latest = tx.sweeps.latest()
        return None if latest is None else latest.finished_at

    def _has_changed(self) -> bool:
        """Say whether a memory has changed since the last dream, whichever process changed it."""
        with self._parts.store.read() as tx:
            return engine.dream_wiring.has_news(tx)

    def _has_unembedded(self) -> bool:
        try:
            identity = self._parts.embedder.identity
        except EmbeddingError:  # noted in health by the embedder itself
            return False
        with self._parts.store.read() as tx:
            return bool(tx.vectors.pending(tx.vectors.space(identity), limit=1))

    def _embed_a_stretch(self) -> None:
        """Embed what waits, batch by batch, until somebody uses the store or the stretch is over."""
        begun, used = time.monotonic(), self._last_use()

        def is_over() -> bool:
            is_long = time.monotonic() - begun > BACKFILL_SECONDS
            return self._parts.stop.is_set() or is_long or self._last_use() != used

        engine.derived.embed_pending(self._parts.store, self._parts.embedder, stop=_Until(is_over))


class _Until(threading.Event):
    """An event that has happened when a question is answered with yes."""

    def __init__(self, is_over: Callable[[], bool]) -> None:
        super().__init__()
        self._is_over = is_over

    def is_set(self) -> bool:
        """Say whether it has happened."""
        return self._is_over()
