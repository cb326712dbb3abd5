"""
Ripples of a change: what rested on the old fact is marked as possibly outdated, and asked about.

After a move the commute, the gym around the corner and the badge of the old office may no longer hold. A
judge reads what stands near the old fact beside the change; what it finds doubtful is challenged, with a link
from the change, and stays in every answer. Needs the judge of the model pack, and runs after the write.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from engramdb.errors import EmbeddingError
from engramdb.lifecycle.admission import WritePipeline, near_floor
from engramdb.lifecycle.candidates import Candidate, stored_candidate
from engramdb.lifecycle.neighbors import gather
from engramdb.lifecycle.transitions import MemoryWriter
from engramdb.store.contract import Transaction
from engramdb.values import Action, Actor, ActorKind, EdgeType, Memory, SecurityTier, Status
from engramdb.values.reading import Lasting
from engramdb.vault.indexing import passage

RIPPLING = Actor(name="ripples", kind=ActorKind.RULE)
MAX_CHANGES = 2
"""Of what one statement ended, so many changes are followed."""
MAX_DEPENDANTS = 3
"""So many memories one change makes doubtful; more would say that nothing is sure any more."""
REASON = "it may have depended on something that changed"
_CHANGING = (EdgeType.SUPERSEDES, EdgeType.CONTRADICTS)


def follow_ripples(memory: Memory, pipeline: WritePipeline, *, now: datetime) -> list[Memory]:
    """Mark what rested on what a memory has ended or disputes, and return what is challenged now."""
    found: list[Memory] = []
    with pipeline.store.read() as tx:
        ended = list(_ended_by(tx, memory))[:MAX_CHANGES]
    for old in ended:
        near = _around(old, memory, pipeline)
        if not near or pipeline.judge is None:
            continue
        flags = pipeline.judge.makes_doubtful((old.told, memory.told), [one.told for one in near])
        doubtful = [one for one, flag in zip(near, flags or [], strict=False) if flag][:MAX_DEPENDANTS]
        if doubtful:
            with pipeline.store.atomic() as tx:
                found += _mark(MemoryWriter(tx, RIPPLING, now), memory, doubtful)
    return found


def _ended_by(tx: Transaction, memory: Memory) -> Iterator[Memory]:
    """Yield what a memory superseded or disputes."""
    for edge in tx.edges.of(memory.id):
        if edge.source == memory.id and edge.type in _CHANGING:
            old = tx.memories.get(edge.target, scope=memory.scope)
            if old is not None and old.status in (Status.SUPERSEDED, Status.CHALLENGED):
                yield old


def _around(old: Memory, new: Memory, pipeline: WritePipeline) -> list[Memory]:
    """Return the memories near an old fact that may have rested on it, the nearest first."""
    try:
        rows = pipeline.embedder.embed_queries([passage(old), passage(new)])
    except EmbeddingError:  # noted in health by the embedder itself
        return []
    candidates: dict[int, Candidate] = {place: stored_candidate(one) for place, one in enumerate((old, new))}
    with pipeline.store.read() as tx:
        found, _ = gather(
            tx,
            candidates,
            dict(enumerate(rows)),
            index=pipeline.index,
            floor=near_floor(pipeline.embedder.similarity_floor),
            likeness=pipeline.likeness,
            words=pipeline.words,
        )
    near = {one.memory.id: one.memory for place in candidates for one in found[place]}
    is_remote = pipeline.judge is not None and pipeline.judge.is_remote
    return [one for one in near.values() if _may_depend(one, old, new, is_remote=is_remote)]


def _may_depend(memory: Memory, old: Memory, new: Memory, *, is_remote: bool) -> bool:
    """Return whether a memory was stated before the change, still holds, and is no fact for good."""
    is_before = memory.last_stated_at < new.last_stated_at and memory.id not in (old.id, new.id)
    is_open = memory.status is Status.ACTIVE and memory.lasting is not Lasting.PERMANENT
    is_stated = not memory.is_derived and not memory.is_session_summary and not memory.is_rule
    is_secret = SecurityTier.CONFIDENTIAL in (memory.security, old.security, new.security)
    is_by_same = memory.provenance.speaker == old.provenance.speaker
    return is_before and is_open and is_stated and is_by_same and not (is_secret and is_remote)


def _mark(writer: MemoryWriter, change: Memory, doubtful: list[Memory]) -> Iterator[Memory]:
    """Challenge what a change makes doubtful, each with a link from the change."""
    current = writer.tx.memories.get(change.id, scope=change.scope)
    if current is None or current.status.is_terminal:
        return
    for one in doubtful:
        standing = writer.tx.memories.get(one.id, scope=one.scope)
        if standing is not None and standing.status is Status.ACTIVE:
            writer.link(current, standing, EdgeType.DOUBTS)
            yield writer.set_status(standing, Status.CHALLENGED, action=Action.WEAKEN, reason=REASON)
