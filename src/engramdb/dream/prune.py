"""
The step `prune`: let go of old notes about what was done, a few hundred rows to a write.

Last of all steps. Notes of who was given what, of who did what, of recalls of memories that are gone, and old
reports; how long each is retained is policy. What happened to a memory that is still there is never pruned.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from msgspec import Struct

from engramdb.dream.step import Dreaming, Proposal, SideWrite, Skipped
from engramdb.policy import DreamPolicy
from engramdb.store.contract import Transaction

ROWS_AT_ONCE = 300
"""Notes that one write drops: a few milliseconds."""


class PruneStep(Struct, frozen=True):
    """Drops notes that are older than the policy keeps them."""

    name: str = "prune"

    def propose(self, dreaming: Dreaming) -> Iterator[Proposal]:
        """Yield as many small writes as it takes, table by table."""
        if dreaming.scope is not None:
            raise Skipped("notes are kept for the whole store, and this dream is of one scope")
        policy = dreaming.policy.dream
        for table, (days, keep) in retention_limits(policy).items():
            before = dreaming.now - timedelta(days=days)
            with dreaming.store.read() as tx:
                left = tx.dreams.count_old(table, before=before, keep=keep)
            while left > 0:
                yield _propose_drop(table, before, keep)
                left -= ROWS_AT_ONCE


def retention_limits(policy: DreamPolicy) -> dict[str, tuple[float, int]]:
    """Return for each table how many days its rows are retained, and how many of the latest in any case."""
    return {
        "handed_out": (policy.keep_handed_out_days, 0),
        "recall_sessions": (policy.keep_handed_out_days, 0),
        "audit": (policy.keep_audit_days, 0),
        "dreams": (policy.keep_runs_days, policy.keep_runs),
        "sweeps": (policy.keep_runs_days, policy.keep_runs),
    }


def _propose_drop(table: str, before: datetime, keep: int) -> SideWrite:
    def write(tx: Transaction) -> bool:
        return tx.dreams.drop_old(table, before=before, keep=keep, limit=ROWS_AT_ONCE) > 0

    return SideWrite(what=f"prune_{table}", write=write, reason="older than the policy keeps them")
