"""A lease: the only dream or sweep of a store, across threads and processes."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

from msgspec import Struct

from engramdb.errors import StorageError, StoreBusy
from engramdb.store.contract import Store, Transaction

RENEWED_AFTER = 0.25
"""The share of its time after which a lease is renewed."""

_HELD: set[str] = set()
"""Who holds a lease in this process: a thread that failed without giving it back is not among them."""


class Lease(Struct):
    """A right to be the only one at something."""

    kind: str
    lasts: timedelta
    clock: Callable[[], datetime]
    owner: str
    _until: datetime = datetime.min.replace(tzinfo=UTC)

    def take(self, tx: Transaction) -> None:
        """Become the holder; raises `StoreBusy` where another one is at work."""
        now = self.clock()
        if not tx.leases.take(self.kind, self.owner, now=now, until=now + self.lasts, is_gone=is_gone):
            raise StoreBusy(
                f"another {self.kind} is at work on this store",
                hint=f"Try again when it is done; one that was killed makes way after {self.lasts}.",
            )
        self._until = now + self.lasts

    def check(self, tx: Transaction) -> None:
        """Renew it where that is due; raises `StoreBusy` where another one has taken over meanwhile."""
        now = self.clock()
        if not tx.leases.renew(self.kind, self.owner, until=now + self.lasts):
            raise StoreBusy(f"this {self.kind} was silent for too long, and another one has taken over")
        self._until = now + self.lasts

    def renewed_by(self, store: Store, progress: Callable[[int], None] | None) -> Callable[[int], None]:
        """Return a function that reports progress and shows, now and then, that this one is alive."""

        def report(more: int) -> None:
            if self.is_due:
                with store.atomic() as tx:
                    self.check(tx)
            if progress is not None:
                progress(more)

        return report

    @property
    def is_due(self) -> bool:
        """Whether it is time to renew it, also where nothing is written."""
        return self._until - self.clock() < (1 - RENEWED_AFTER) * self.lasts


@contextmanager
def held(store: Store, kind: str, *, minutes: float, clock: Callable[[], datetime]) -> Iterator[Lease]:
    """Hold the lease while the block runs; raises `StoreBusy` where another one is at work."""
    lease = Lease(kind, timedelta(minutes=minutes), clock, _owner())
    _HELD.add(lease.owner)  # before it is stored, or another thread would take it for left behind
    try:
        with store.atomic() as tx:
            lease.take(tx)
        try:
            yield lease
        finally:
            with (
                contextlib.suppress(StorageError),
                store.atomic() as tx,
            ):  # a closed store shows itself elsewhere
                tx.leases.release(kind, lease.owner)
    finally:
        _HELD.discard(lease.owner)


def is_gone(owner: str) -> bool:
    """Return whether a holder is known to be at work no more; of another machine's nothing is known."""
    machine, _, rest = owner.partition(":")
    process = rest.partition(":")[0]
    if machine != _machine() or not process.isdigit():
        return False
    if int(process) == os.getpid():
        return owner not in _HELD
    return not _is_running(int(process))


def _owner() -> str:
    return f"{_machine()}:{os.getpid()}:{secrets.token_hex(8)}"


def _machine() -> str:
    """Return a mark of this machine that does not tell its name."""
    return hashlib.sha256(platform.node().encode()).hexdigest()[:16]


def _is_running(process: int) -> bool:
    if os.name == "nt":
        return True  # there, asking a process for a sign of life may end it; its time runs out instead
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
