"""
One sweep of ageing over the whole store.

Called by `Engram.age`; hands `dream.age` what it needs, and sees to it that one process sweeps at a time.
Loaded when somebody ages: most processes never do.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from engram.dream.age import Sweeper, sweep
from engram.dream.lease import held
from engram.errors import EmbeddingError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from engram.engine.assemble import Parts
    from engram.values import AgeReport, EmbedderIdentity


def age_once(
    parts: Parts,
    *,
    dry_run: bool,
    summarise: Callable[[Mapping[tuple[int, str], int]], dict[tuple[int, str], str]],
    progress: Callable[[int], None] | None,
) -> AgeReport:
    """Let the store age once; a dry run only tells, and needs no lease."""
    policy, clock = parts.policy, parts.clock
    sweeper = Sweeper(
        store=parts.store,
        policy=policy.aging,
        policy_name=policy.name,
        now=clock.now(),
        dry_run=dry_run,
        identity=_identity(parts),
        summarise=summarise,
        stop=parts.stop,
        progress=progress,
    )
    with parts.health.watch("ageing"):
        if dry_run:
            return sweep(sweeper)
        with held(parts.store, "age", minutes=policy.dream.lease_minutes, clock=clock.now) as lease:
            return sweep(replace(sweeper, progress=lease.renewed_by(parts.store, progress)))


def _identity(parts: Parts) -> EmbedderIdentity | None:
    """Return whose vectors the store holds; None while the embedder cannot say."""
    try:
        return parts.embedder.identity
    except EmbeddingError:
        return None
