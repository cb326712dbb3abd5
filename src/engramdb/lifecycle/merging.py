"""Let one memory stand for others, by merging or superseding; and take a merge apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from engramdb.errors import EdgeNotAllowed, StatusNotAllowed
from engramdb.policy import DreamPolicy
from engramdb.store.contract import MergeRecord, Transaction
from engramdb.store.moves import differences
from engramdb.values import (
    Action,
    Actor,
    ActorKind,
    AuditEvent,
    Edge,
    EdgeType,
    HistoryEvent,
    Kind,
    Layer,
    Memory,
    MemoryId,
    SecurityTier,
    Status,
)

if TYPE_CHECKING:
    from engramdb.dream.proposals import Merge, Supersede

REINFORCE_BY = 0.1
"""What being said again in other words adds to confidence, once for each merge."""
INHERIT_CONFIDENCE = 0.2
"""The share of the superseded statement's confidence that its successor is given (seed 003)."""


# One write of a dream: the memories as they are now, and the rows that tell what happened to them.
#
# Handed by `apply` to whatever makes a proposal true. Raising `Dropped` undoes the whole write: the ground
# of a
# proposal has shifted since the step looked, and nothing of it may stay.

ALSO_RECORDED = ("security", "stability", "strength", "supersedes", "version")
"""What a dream changes besides what every change notes."""


class Dropped(Exception):
    """A proposal cannot be made true any more; the message says why, without quoting a memory."""


class Result(Struct, frozen=True):
    """What came of a proposal: whether anything changed, and the memory that was made or gained by it."""

    is_changed: bool
    made: MemoryId | None = None


class Writing(Struct, frozen=True):
    """An open write of one step."""

    tx: Transaction
    policy: DreamPolicy
    step: str
    now: datetime

    @property
    def actor(self) -> Actor:
        """The step, as history and audit name it."""
        return Actor(name=f"dream.{self.step}", kind=ActorKind.RULE)

    def again(self, *seen: Memory) -> list[Memory]:
        """Return the memories as they are now; drops the proposal where one is not what the step saw."""
        found = []
        for one in seen:
            current = self.tx.memories.get(one.id, scope=one.scope)
            if current is None or current.scope != seen[0].scope:
                raise Dropped("a memory is gone or of another scope")
            if current.content != one.content or current.status is not one.status:
                raise Dropped("a memory has changed")
            found.append(current)
        return found

    def standing(self, *seen: Memory) -> list[Memory]:
        """Return the memories as they are now; drops the proposal unless all of them are active."""
        found = self.again(*seen)
        if any(one.status is not Status.ACTIVE for one in found):
            raise Dropped("a memory is not active")
        return found

    def refuse_protected(self, memory: Memory) -> None:
        """Drop the proposal where a person holds the memory: pinned it, or brought it back from a rule."""
        if memory.pinned:
            raise Dropped("it is pinned")
        for event in self.tx.history.of(memory.id):
            is_back = event.new_status is Status.ACTIVE and event.old_status is not None
            if is_back and event.actor.kind is not ActorKind.RULE:
                raise Dropped("somebody brought it back")

    def change(
        self, old: Memory, action: Action, reason: str, *, actor: Actor | None = None, **changes: Any
    ) -> Memory:
        """Store a memory with these fields changed, and note it; where nothing changes, nothing is noted."""
        new = old.evolve(**changes)
        if new == old:
            return old
        new = new.evolve(updated_at=self.now)
        self.tx.memories.replace(new)
        self.note(old, new, action, reason, actor=actor)
        return new

    def note(
        self, old: Memory, new: Memory, action: Action, reason: str, *, actor: Actor | None = None
    ) -> None:
        """Record a change in the memory's history and in the audit trail."""
        who, moved = actor or self.actor, old.status is not new.status
        also = {
            name: (getattr(old, name), getattr(new, name))
            for name in ALSO_RECORDED
            if getattr(old, name) != getattr(new, name)
        }
        self.tx.history.add(
            HistoryEvent(
                memory_id=old.id,
                at=self.now,
                action=action,
                actor=who,
                old_status=old.status if moved else None,
                new_status=new.status if moved else None,
                reason=reason,
                changes=differences(old, new) | also,
            )
        )
        detail = {"reason": reason, **({"status": new.status} if moved else {})}
        self.tx.audit.add(AuditEvent(at=self.now, action=action, actor=who, target=old.id, detail=detail))


def strictest(tiers: Iterable[SecurityTier]) -> SecurityTier:
    """Return the tier that protects most."""
    order = list(SecurityTier)
    return max(tiers, key=order.index)


def joined(*some: Iterable[str]) -> tuple[str, ...]:
    """Return every one of these once, in the order of first appearance: new ones stand at the end."""
    return tuple(dict.fromkeys(one for each in some for one in each))


def last_stated(memory: Memory) -> datetime:
    """Return when it was last said, or the moment that it is about where nobody said it again."""
    return max(memory.when, memory.confirmed_at or memory.when)


def evidence(memory: Memory) -> int:
    """Return how often a memory has been stated."""
    return max(1 + memory.reinforcements, len(memory.provenance.turns), len(memory.provenance.episodes))


# Let one memory stand for others: by merging what says the same, by superseding what it contradicts; and
# back.
#
# Called by `apply` inside a write, and by the engine to undo a merge. The keeper takes over the evidence of
# each memory that it stands for, and exactly what it was given is noted, so that undoing takes exactly that
# away again, also after further evidence has come in.

REDUNDANT = "redundant"
"""Admission's flag for what repeats something: merging is the answer to it, so the keeper is not given it."""
_EVIDENCE = ("turns", "episodes")
_MEASURES = ("confidence", "importance")


def merge(writing: Writing, proposal: Merge) -> Result:
    """Let the keeper stand for the others; said in enough variations, it is knowledge."""
    keeper, *losers = writing.standing(proposal.keep, *proposal.lose)
    apart = writing.tx.dreams.kept_apart([keeper.id])
    if any(one.pinned or frozenset((keeper.id, one.id)) in apart for one in losers):
        raise Dropped("one is pinned or was taken apart")
    said = 1 + len(writing.tx.dreams.merges_into(keeper.id))
    kept = keeper
    for number, loser in enumerate(losers, start=1):
        before = kept
        kept = _with_evidence_of(before, loser, boost=REINFORCE_BY if number == 1 else 0.0)
        if said + number >= writing.policy.pattern_least:
            kept = _as_knowledge(kept)
        given = _given(before, kept, loser) | {"edges": _take_over_disputes(writing, kept, loser)}
        writing.change(loser, Action.MERGE, proposal.reason, status=Status.MERGED, superseded_by=keeper.id)
        writing.tx.dreams.add_merge(
            MergeRecord(keeper=keeper.id, loser=loser.id, at=writing.now, given=given)
        )
    writing.tx.memories.replace(kept.evolve(updated_at=writing.now))
    writing.note(keeper, kept, Action.MERGE, proposal.reason)
    return Result(is_changed=True, made=keeper.id)


def _as_knowledge(memory: Memory) -> Memory:
    """Return what was stated in many variations as semantic; what happened once stays an episode."""
    is_passing = memory.layer in (Layer.WORKING, Layer.EPISODIC) and memory.kind is Kind.NOTE
    return memory.evolve(layer=Layer.SEMANTIC) if is_passing and not memory.layer_held else memory


def supersede(writing: Writing, proposal: Supersede) -> Result:
    """Let the winner replace the loser, from the moment that the winner holds."""
    winner, loser = writing.standing(proposal.winner, proposal.loser)
    writing.refuse_protected(loser)
    retire(writing, loser, winner, proposal.reason)
    sure = min(1.0, winner.confidence + INHERIT_CONFIDENCE * loser.confidence)
    writing.change(
        winner,
        Action.SUPERSEDE,
        proposal.reason,
        confidence=sure,
        supersedes=winner.supersedes or loser.id,
    )
    return Result(is_changed=True, made=winner.id)


def retire(writing: Writing, old: Memory, new: Memory, reason: str) -> None:
    """Let a memory be superseded by another; a circle of replacements drops the proposal."""
    edge = Edge(source=new.id, target=old.id, type=EdgeType.SUPERSEDES, weight=1.0, created_at=writing.now)
    try:
        writing.tx.edges.add(edge)
    except EdgeNotAllowed as exc:
        raise Dropped("it would close a circle") from exc
    writing.change(
        old,
        Action.SUPERSEDE,
        reason,
        status=Status.SUPERSEDED,
        superseded_by=new.id,
        valid_to=new.occurred_at or writing.now,
    )


def unmerge(writing: Writing, memory: Memory, *, actor: Actor, reason: str) -> list[Memory]:
    """
    Bring back what was merged into a memory, or the memory itself where it was the one merged.

    The keeper gives back what it was given; no rule merges the two again. Returns what was brought back.
    """
    if memory.status is Status.MERGED:
        one = writing.tx.dreams.merge_of(memory.id)
        merges = [one] if one is not None else []
    else:
        merges = list(writing.tx.dreams.merges_into(memory.id))
    back = [_undone(writing, merged, memory, actor, reason) for merged in reversed(merges)]
    found = [one for one in back if one is not None]
    if not found:
        raise StatusNotAllowed(f"nothing that was merged with memory {memory.id} can be brought back")
    return found


def _undone(
    writing: Writing, merged: MergeRecord, memory: Memory, actor: Actor, reason: str
) -> Memory | None:
    tx = writing.tx
    keeper = tx.memories.get(merged.keeper, scope=memory.scope)
    loser = tx.memories.get(merged.loser, scope=memory.scope)
    if keeper is None or loser is None or loser.status is not Status.MERGED:
        return None
    if tx.memories.has_active_twin(loser.id):
        raise StatusNotAllowed(
            f"memory {loser.id} cannot become active: another active memory says the same",
            hint="Use the other one.",
        )
    writing.change(keeper, Action.UNMERGE, reason, actor=actor, **_without(keeper, merged.given))
    for source, target in merged.given.get("edges", ()):
        tx.edges.remove(source, target, EdgeType.CONTRADICTS)
    tx.dreams.undo_merge(merged.key, at=writing.now)
    return writing.change(
        loser, Action.UNMERGE, reason, actor=actor, status=Status.ACTIVE, superseded_by=None
    )


def _with_evidence_of(keeper: Memory, loser: Memory, *, boost: float) -> Memory:
    mine, theirs = keeper.provenance, loser.provenance
    latest = max(last_stated(keeper), last_stated(loser))
    return keeper.evolve(
        provenance=replace(
            mine, turns=joined(mine.turns, theirs.turns), episodes=joined(mine.episodes, theirs.episodes)
        ),
        reinforcements=keeper.reinforcements + 1 + loser.reinforcements,
        confidence=min(1.0, max(keeper.confidence, loser.confidence) + boost),
        importance=max(keeper.importance, loser.importance),
        confirmed_at=latest if latest > last_stated(keeper) else keeper.confirmed_at,
        security=strictest((keeper.security, loser.security)),
        flags=joined(keeper.flags, (flag for flag in loser.flags if flag != REDUNDANT)),
    )


def _given(before: Memory, after: Memory, loser: Memory) -> dict[str, Any]:
    """Return what the keeper took over from one memory: the pieces, and the numbers before and after."""
    pieces = {
        name: [one for one in getattr(loser.provenance, name) if one not in getattr(before.provenance, name)]
        for name in _EVIDENCE
    }
    measures = {name: (getattr(before, name), getattr(after, name)) for name in _MEASURES}
    return {
        **pieces,
        **measures,
        "reinforcements": after.reinforcements - before.reinforcements,
        "confirmed_at": (before.confirmed_at, after.confirmed_at),
        "security": (before.security, after.security),
        "layer": (before.layer, after.layer),
        "flags": [flag for flag in after.flags if flag not in before.flags],
    }


def _without(keeper: Memory, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keeper's fields without what it was given; what came in since stays."""
    made = keeper.provenance
    changes: dict[str, Any] = {
        "provenance": replace(
            made,
            turns=tuple(one for one in made.turns if one not in given["turns"]),
            episodes=tuple(one for one in made.episodes if one not in given["episodes"]),
        ),
        "reinforcements": max(0, keeper.reinforcements - given["reinforcements"]),
        "flags": tuple(flag for flag in keeper.flags if flag not in given["flags"]),
    }
    for name in _MEASURES:
        before, after = given[name]
        now = getattr(keeper, name)
        changes[name] = before if now == after else min(1.0, max(0.0, now - (after - before)))
    old, new = (None if at is None else datetime.fromisoformat(at) for at in given["confirmed_at"])
    changes["confirmed_at"] = old if keeper.confirmed_at == new else keeper.confirmed_at
    for name, kind in (("security", SecurityTier), ("layer", Layer)):
        was, became = map(kind, given[name])
        changes[name] = was if getattr(keeper, name) is became else getattr(keeper, name)
    return changes


def _take_over_disputes(writing: Writing, keeper: Memory, loser: Memory) -> list[tuple[str, str]]:
    """Let what the loser disputes, or is disputed by, be the keeper's affair; return the new links."""
    known = {(edge.source, edge.target) for edge in writing.tx.edges.of(keeper.id)}
    taken = []
    for edge in writing.tx.edges.of(loser.id):
        if edge.type is not EdgeType.CONTRADICTS:
            continue
        ends = tuple(keeper.id if end == loser.id else end for end in (edge.source, edge.target))
        if ends[0] != ends[1] and ends not in known:
            writing.tx.edges.add(replace(edge, source=ends[0], target=ends[1], created_at=writing.now))
            taken.append((ends[0], ends[1]))
    return taken
