"""Dreams of single steps over a whole Engram, and memories as those steps find them worth a look."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from engramdb.dream.run import DreamRunner, dream
from engramdb.dream.service import dreaming_of, statement_tools
from engramdb.values import AccessLog, Memory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engramdb import Engram
    from engramdb.dream.step import DreamStep, Proposal
    from engramdb.policy import Policy
    from engramdb.values import DreamReport


def take(engram: Engram, *steps: DreamStep, policy: Policy | None = None, **dreaming: Any) -> DreamReport:
    """Dream these steps and apply what they propose."""
    given = dreaming_of(engram._parts)
    return dream(
        DreamRunner(
            dreaming=replace(given, policy=policy or given.policy, **dreaming),
            steps=steps,
            policy_name="balanced",
            clock=engram._now,
            tools=statement_tools(engram._parts),
        )
    )


def proposed(engram: Engram, step: DreamStep, **dreaming: Any) -> Sequence[Proposal]:
    """What a step would change, without applying anything."""
    return list(step.propose(replace(dreaming_of(engram._parts), **dreaming)))


def rewritten(engram: Engram, memory: Memory, **changes: Any) -> Memory:
    """A memory with fields as time would have made them."""
    changed = memory.evolve(**changes)
    with engram._parts.store.atomic() as tx:
        tx.memories.replace(changed)
    return changed


def used(engram: Engram, memory: Memory, times: int) -> Memory:
    """A memory that was recalled so often when it was stored."""
    log = AccessLog(count=times, last_at=memory.created_at, recent=(memory.created_at,), sessions=1)
    return rewritten(engram, memory, access=log)


def counts(report: DreamReport) -> dict[str, int]:
    """How often each action was taken, over all steps."""
    found: dict[str, int] = {}
    for step in report.steps:
        for action, number in step.counts.items():
            found[action] = found.get(action, 0) + number
    return found
