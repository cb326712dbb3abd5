"""
The merge rule: let one memory stand for others that say the same, and take a merge apart.

The keeper takes over the evidence of each memory that it stands for. Exactly what it was given is noted, so
that undoing takes exactly that away again, also after further evidence has come in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from msgspec.structs import replace

from engramdb.errors import StatusNotAllowed
from engramdb.lifecycle.drafts import REDUNDANT
from engramdb.lifecycle.transitions import MemoryWriter
from engramdb.lifecycle.valid_time import restated, said_again
from engramdb.policy import DreamPolicy
from engramdb.store.contract import MergeRecord, Transaction
from engramdb.text.specifics import covers_specifics
from engramdb.values import (
    Action,
    EdgeType,
    Kind,
    Layer,
    Memory,
    MemoryId,
    Provenance,
    SecurityTier,
    Status,
)
from engramdb.values.memory import DOCUMENT_EXTRACTOR

REINFORCE_BY = 0.1
"""What being said again in other words adds to confidence, once for each merge."""
SAME_EVENT_WINDOW = timedelta(hours=12)
"""Told of moments further apart, the same words describe two events."""
_EVIDENCE = ("turns", "episodes", "wordings")
_MEASURES = ("confidence", "importance")
_TIMES = frozenset({"said_at", "confirmed_at", "valid_from", "valid_to"})


def merge(
    writer: MemoryWriter, keeper: Memory, losers: Sequence[Memory], *, policy: DreamPolicy, reason: str
) -> Memory:
    """
    Let the keeper stand for the others, and return it; said in enough variations, it is knowledge.

    Raises `StatusNotAllowed` where one of the others is pinned or was taken apart from the keeper before.
    """
    apart = writer.tx.dreams.split_pairs([keeper.id])
    if any(one.pinned or frozenset((keeper.id, one.id)) in apart for one in losers):
        raise StatusNotAllowed("a memory that is pinned, or was taken apart, is not merged")
    said = 1 + len(writer.tx.dreams.merges_into(keeper.id))
    kept = keeper
    for number, loser in enumerate(losers, start=1):
        before = kept
        kept = _with_evidence_of(writer.tx, before, loser, boost=REINFORCE_BY if number == 1 else 0.0)
        if said + number >= policy.pattern_least:
            kept = _as_knowledge(kept)
        given = _given(before, kept) | {"edges": _take_over_disputes(writer, kept, loser)}
        gone = loser.evolve(status=Status.MERGED, superseded_by=keeper.id, updated_at=writer.now)
        writer.write(loser, gone, action=Action.MERGE, reason=reason)
        writer.tx.dreams.add_merge(MergeRecord(keeper=keeper.id, loser=loser.id, at=writer.now, given=given))
    noted, kept = restated(keeper, kept), kept.evolve(updated_at=writer.now)
    merged = writer.write(keeper, kept, action=Action.MERGE, reason=reason, noted=noted)
    if merged.holds_from < keeper.holds_from:
        writer.end_earlier(merged, merged.holds_from)
    return merged


def may_absorb(tx: Transaction, keeper: Memory, loser: Memory) -> bool:
    """Return whether a newcomer may become evidence of a known memory that says the same."""
    if not may_stand_for(keeper, loser):
        return False
    return frozenset((keeper.id, loser.id)) not in tx.dreams.split_pairs([keeper.id])


def may_stand_for(keeper: Memory, loser: Memory) -> bool:
    """
    Return whether one memory may stand for another that says the same.

    The other one must not be pinned, outlive or outrank it, name anything that it does not, or tell of what
    happened another time.
    """
    is_outranked = keeper.provenance.source.trust < loser.provenance.source.trust
    leaves_first = keeper.forget_after is not None and keeper.forget_after != loser.forget_after
    is_document = keeper.extractor == DOCUMENT_EXTRACTOR != loser.extractor
    if loser.pinned or is_outranked or leaves_first or is_document or is_other_event(keeper, loser):
        return False
    return covers_specifics(keeper.told, loser.told)


def is_other_event(one: Memory, other: Memory) -> bool:
    """Return whether both tell of something that happened, at different times as far as one can tell."""
    if one.kind is not Kind.EPISODE or other.kind is not Kind.EPISODE:
        return False
    is_same_day = any(
        mine.start < theirs.end and theirs.start < mine.end
        for mine in one.moments
        for theirs in other.moments
    )
    return not is_same_day and abs(one.when - other.when) >= SAME_EVENT_WINDOW


def _as_knowledge(memory: Memory) -> Memory:
    """Return what was stated in many variations as semantic; what happened once stays an episode."""
    is_passing = memory.layer in (Layer.WORKING, Layer.EPISODIC) and memory.kind is Kind.NOTE
    return memory.evolve(layer=Layer.SEMANTIC) if is_passing and not memory.layer_held else memory


def unmerge(
    writer: MemoryWriter, memory: Memory, *, reason: str, status: Status = Status.ACTIVE
) -> list[Memory]:
    """
    Bring back what was merged into a memory, or the memory itself where it was the one merged.

    The keeper gives back what it was given; no rule merges the two again. Returns what was brought back, in
    the status given.
    """
    if memory.status is Status.MERGED:
        one = writer.tx.dreams.merge_of(memory.id)
        merges = [one] if one is not None else []
    else:
        merges = list(writer.tx.dreams.merges_into(memory.id))
    back = [_taken_apart(writer, merged, memory, reason, status) for merged in reversed(merges)]
    found = [one for one in back if one is not None]
    if not found:
        raise StatusNotAllowed(f"nothing that was merged with memory {memory.id} can be brought back")
    return found


def _taken_apart(
    writer: MemoryWriter, merged: MergeRecord, memory: Memory, reason: str, status: Status
) -> Memory | None:
    tx = writer.tx
    keeper = tx.memories.get(merged.keeper, scope=memory.scope)
    loser = tx.memories.get(merged.loser, scope=memory.scope)
    if keeper is None or loser is None or loser.status is not Status.MERGED:
        return None
    if status is Status.ACTIVE:
        writer.refuse_active_twin(loser)
    writer.update(keeper, Action.UNMERGE, reason=reason, **_without(keeper, merged.given))
    for source, target in merged.given.get("edges", ()):
        writer.unlink(source, target, EdgeType.CONTRADICTS)
    tx.dreams.undo_merge(merged.key, at=writer.now)
    back = loser.evolve(status=status, superseded_by=None, updated_at=writer.now)
    return writer.write(loser, back, action=Action.UNMERGE, reason=reason)


def merge_again(writer: MemoryWriter, loser: MemoryId) -> None:
    """Note that a merge holds after all that was taken apart; the memories are put back by who calls this."""
    writer.tx.dreams.redo_merge(loser)


def joined(*some: Iterable[str]) -> tuple[str, ...]:
    """Return every one of these once, in the order of first appearance: new ones stand at the end."""
    return tuple(dict.fromkeys(one for each in some for one in each))


def _with_evidence_of(tx: Transaction, keeper: Memory, loser: Memory, *, boost: float) -> Memory:
    return keeper.evolve(
        provenance=_joined_provenance(keeper, loser),
        reinforcements=keeper.reinforcements + 1 + loser.reinforcements,
        confidence=_joined_confidence(keeper, loser, boost),
        importance=max(keeper.importance, loser.importance),
        **said_again(tx, keeper, loser),
        security=SecurityTier.strictest((keeper.security, loser.security)),
        flags=joined(keeper.flags, (flag for flag in loser.flags if flag != REDUNDANT)),
    )


def _joined_confidence(keeper: Memory, loser: Memory, boost: float) -> float:
    """Return how far two that say the same are believed: no further than the better source allows."""
    surest = max(keeper.confidence, loser.confidence)
    limit = max(keeper.provenance.max_confidence, loser.provenance.max_confidence)
    return max(surest, min(limit, surest + boost))


def _joined_provenance(keeper: Memory, loser: Memory) -> Provenance:
    """Return what both rest on, and the loser and all that it stood for as wordings; no memory is its own."""
    mine, theirs = keeper.provenance, loser.provenance
    found = {
        "turns": joined(mine.turns, theirs.turns),
        "episodes": joined(mine.episodes, theirs.episodes),
        "wordings": joined(mine.wordings, (loser.id,), theirs.wordings),
    }
    return replace(
        mine, **{name: tuple(one for one in some if one != keeper.id) for name, some in found.items()}
    )


def _given(before: Memory, after: Memory) -> dict[str, Any]:
    """Return what the keeper took over from one memory: the pieces, and the numbers before and after."""
    pieces = {
        name: [one for one in getattr(after.provenance, name) if one not in getattr(before.provenance, name)]
        for name in _EVIDENCE
    }
    changed = {
        name: (getattr(before, name), getattr(after, name))
        for name in (*_MEASURES, *sorted(_TIMES), "security", "layer")
    }
    return {
        **pieces,
        **changed,
        "reinforcements": after.reinforcements - before.reinforcements,
        "flags": [flag for flag in after.flags if flag not in before.flags],
    }


def _without(keeper: Memory, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keeper's fields without what it was given; what came in since stays."""
    made = keeper.provenance
    left = {
        name: tuple(one for one in getattr(made, name) if one not in given.get(name, ()))
        for name in _EVIDENCE
    }
    changes: dict[str, Any] = {
        "provenance": replace(made, **left),
        "reinforcements": max(0, keeper.reinforcements - given["reinforcements"]),
        "flags": tuple(flag for flag in keeper.flags if flag not in given["flags"]),
    }
    for name in _MEASURES:
        before, after = given[name]
        now = getattr(keeper, name)
        changes[name] = before if now == after else min(1.0, max(0.0, now - (after - before)))
    for name in _TIMES & given.keys():  # a merge of an older version gave fewer of them
        old, new = (None if at is None else datetime.fromisoformat(at) for at in given[name])
        changes[name] = old if getattr(keeper, name) == new else getattr(keeper, name)
    for name, kind in (("security", SecurityTier), ("layer", Layer)):
        was, became = map(kind, given[name])
        changes[name] = was if getattr(keeper, name) is became else getattr(keeper, name)
    return changes


def _take_over_disputes(writer: MemoryWriter, keeper: Memory, loser: Memory) -> list[tuple[str, str]]:
    """Let what the loser disputes, or is disputed by, be the keeper's affair; return the new links."""
    known = {(edge.source, edge.target) for edge in writer.tx.edges.of(keeper.id)}
    taken = []
    for edge in writer.tx.edges.of(loser.id):
        if edge.type is not EdgeType.CONTRADICTS:
            continue
        source, target = (keeper.id if end == loser.id else end for end in (edge.source, edge.target))
        if source != target and (source, target) not in known:
            writer.copy_link(edge, source=source, target=target)
            taken.append((source, target))
    return taken
