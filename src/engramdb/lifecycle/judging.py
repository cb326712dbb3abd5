"""
Judge what came in without being judged: in bulk, or faster than a judge could follow.

Each waiting memory is held against those that came in before it. What the judge is sure of is carried out as
admission would have done; the rest stays as it is.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from datetime import datetime

from engramdb.errors import EmbeddingError
from engramdb.lifecycle.admission import WritePipeline, near_floor
from engramdb.lifecycle.candidates import Candidate
from engramdb.lifecycle.merging import may_merge, merge
from engramdb.lifecycle.neighbors import gather, judged
from engramdb.lifecycle.settle import Neighbor, StatementOrder, Verdict, settle
from engramdb.lifecycle.transitions import MemoryWriter
from engramdb.lifecycle.write import dispute
from engramdb.store.contract import Transaction
from engramdb.text.terms import passage
from engramdb.values import Actor, ActorKind, Memory, Status

JUDGING = Actor(name="judge", kind=ActorKind.RULE)
BATCH = 8
"""Memories judged between two looks at whether to stop."""


def judge_pending(
    pipeline: WritePipeline,
    *,
    now: Callable[[], datetime],
    stop: threading.Event | None = None,
    progress: Callable[[int], None] | None = None,
) -> int:
    """Judge what waits, and return how many memories that were; ends early where the judge cannot work."""
    done = 0
    while pipeline.judge is not None and (stop is None or not stop.is_set()):
        with pipeline.store.read() as tx:
            waiting = tx.memories.unjudged(limit=BATCH)
        if not waiting or not _judge(waiting, pipeline, now()):
            break
        done += len(waiting)
        if progress is not None:
            progress(len(waiting))
    return done


def _judge(waiting: dict[int, Memory], pipeline: WritePipeline, now: datetime) -> bool:
    """Judge some memories and write what follows; return whether the judge could work."""
    near = _earlier(waiting, pipeline)
    if near is None or pipeline.judge is None:
        return False
    for key, memory in waiting.items():
        views, is_done = judged(memory, near.get(key, []), pipeline.judge, pipeline.policy)
        if not is_done:
            return False
        with pipeline.store.atomic() as tx:
            _carry_out(MemoryWriter(tx, JUDGING, now), memory, views, pipeline)
            tx.memories.mark_judged(key)
    return True


def _earlier(waiting: dict[int, Memory], pipeline: WritePipeline) -> dict[int, list[Neighbor]] | None:
    """Return for each memory those near it that came in before it, or None where nothing can be embedded."""
    try:
        rows = pipeline.embedder.embed_documents([passage(one) for one in waiting.values()])
    except EmbeddingError:  # noted in health by the embedder itself
        return None
    candidates = {key: _candidate(memory) for key, memory in waiting.items()}
    with pipeline.store.read() as tx:
        found, _ = gather(
            tx,
            candidates,
            dict(zip(waiting, rows, strict=True)),
            index=pipeline.index,
            floor=near_floor(pipeline.embedder.similarity_floor),
            likeness=pipeline.likeness,
        )
    return {
        key: [one for one in near if _came_before(one.memory, waiting[key])] for key, near in found.items()
    }


def _came_before(one: Memory, other: Memory) -> bool:
    """Return whether a memory came in first; ids are made in the order of time."""
    return one.status is Status.ACTIVE and one.id < other.id


def _candidate(memory: Memory) -> Candidate:
    return Candidate(
        memory=memory,
        fingerprint=b"",
        topics=frozenset(),
        entities=(),
        said_at=memory.last_stated_at,
        has_importance=True,
    )


def _carry_out(
    writer: MemoryWriter,
    memory: Memory,
    views: Sequence[Neighbor],
    pipeline: WritePipeline,
) -> None:
    """Settle a stored memory against its neighbors, where both are still what they were."""
    current = _active(writer.tx, memory)
    if current is None:
        return
    order = StatementOrder(writer.tx)
    settlement = settle(
        current,
        views,
        pipeline.policy,
        likeness=pipeline.likeness,
        is_later=lambda known: order.is_later(known, current.last_stated_at),
    )
    other = None if settlement.target is None else _active(writer.tx, settlement.target)
    if other is None:
        return
    if settlement.verdict in (Verdict.REINFORCE, Verdict.REPEAT):
        if may_merge(writer.tx, other, current):
            merge(writer, other, [current], policy=pipeline.merging, reason=settlement.reason)
    elif settlement.verdict is Verdict.SUPERSEDE:
        writer.supersede(other, current, reason=settlement.reason)
    elif settlement.verdict is Verdict.PRECEDE:
        writer.supersede(current, other, reason=settlement.reason)
    elif settlement.verdict is Verdict.WEAKEN:
        dispute(writer, current, other, settlement.reason)


def _active(tx: Transaction, memory: Memory) -> Memory | None:
    found = tx.memories.get(memory.id, scope=memory.scope)
    return found if found is not None and found.status is Status.ACTIVE else None
