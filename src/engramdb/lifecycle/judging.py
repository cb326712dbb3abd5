"""
Judge what came in without being judged: in bulk, or faster than a judge could follow.

Each waiting memory is held against those that came in before it, and settled once more as if it came in now.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from datetime import datetime

from engramdb.errors import EmbeddingError, EngramError
from engramdb.lifecycle.admission import WritePipeline, near_floor
from engramdb.lifecycle.candidates import stored_candidate
from engramdb.lifecycle.neighbors import ask_judge, gather
from engramdb.lifecycle.ripples import follow_ripples
from engramdb.lifecycle.settle import Neighbor
from engramdb.lifecycle.transitions import MemoryWriter
from engramdb.lifecycle.write import Write, settle_again
from engramdb.values import BELIEVED, Actor, ActorKind, Memory
from engramdb.vault.indexing import passage

JUDGING = Actor(name="judge", kind=ActorKind.RULE)
LATER_ONES = 4
"""So many times as many neighbors are looked for, since what came in later waits for its own turn."""
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
        judged = _judge(waiting, pipeline, now())
        done += judged
        if progress is not None:
            progress(judged)
        if judged < BATCH:
            break
    return done


def _judge(waiting: Mapping[int, Memory], pipeline: WritePipeline, now: datetime) -> int:
    """Judge some memories, write what follows, and return how many the judge got through."""
    near = _earlier(waiting, pipeline)
    if near is None or pipeline.judge is None:
        return 0
    for number, (key, memory) in enumerate(waiting.items()):
        found, is_done = ask_judge(memory, near.get(key, []), pipeline.judge, pipeline.policy)
        if not is_done:
            return number
        try:
            _settle(key, memory, found, pipeline, now)
            follow_ripples(memory, pipeline, now=now)
        except EngramError:  # a link that must not be drawn, say: this pair stays as it is
            with pipeline.store.atomic() as tx:
                tx.memories.mark_judged(key)
    return len(waiting)


def _settle(key: int, memory: Memory, near: list[Neighbor], pipeline: WritePipeline, now: datetime) -> None:
    with pipeline.store.atomic() as tx:
        tx.memories.mark_judged(key)
        current = tx.memories.get(memory.id, scope=memory.scope)
        if current is None or current.status not in BELIEVED:
            return
        writer = MemoryWriter(tx, JUDGING, now)
        write = Write(writer, pipeline.policy, pipeline.likeness, pipeline.merging)
        settle_again(write, stored_candidate(current), near)


def _earlier(waiting: Mapping[int, Memory], pipeline: WritePipeline) -> dict[int, list[Neighbor]] | None:
    """Return for each memory those near it that came in before it, or None where nothing can be embedded."""
    if not waiting:
        return {}
    try:
        # As questions: what ends a fact rarely sounds like it (docs/lab/0048-reader-three.md).
        rows = pipeline.embedder.embed_queries([passage(one) for one in waiting.values()])
    except EmbeddingError:  # noted in health by the embedder itself
        return None
    with pipeline.store.read() as tx:
        found, _ = gather(
            tx,
            {key: stored_candidate(memory) for key, memory in waiting.items()},
            dict(zip(waiting, rows, strict=True)),
            index=pipeline.index,
            floor=near_floor(pipeline.embedder.similarity_floor),
            likeness=pipeline.likeness,
            words=pipeline.words,
            reach=LATER_ONES,
        )
    return {
        key: [one for one in near if _came_before(one.memory, waiting[key])] for key, near in found.items()
    }


def _came_before(one: Memory, other: Memory) -> bool:
    """Return whether a memory came in first; ids are made in the order of time."""
    return one.status in BELIEVED and one.id < other.id
