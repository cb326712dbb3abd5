"""
Make one proposal true, in a small write of its own, or drop it where its ground has shifted.

Called by `run` for each proposal before the step is asked for the next. Every memory is read again inside the
write: one that is gone, no longer what the step saw, of another scope, or pinned where it would lose, drops
the whole proposal. What changes leaves a row in its history and in the audit trail with the step's name.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from engramdb.dream.step import (
    AddLink,
    Adjust,
    Derive,
    Merge,
    Proposal,
    Restatus,
    SaveProgress,
    SideWrite,
    Supersede,
)
from engramdb.errors import EdgeNotAllowed, EmbeddingError, SecurityError, StatusNotAllowed
from engramdb.lifecycle import merging
from engramdb.lifecycle.drafts import REDUNDANT
from engramdb.lifecycle.merging import joined
from engramdb.lifecycle.transitions import MemoryWriter, inherited
from engramdb.policy import DreamPolicy
from engramdb.store.contract import Store, Transaction
from engramdb.text.identity import fingerprint_of
from engramdb.text.normalize import clean
from engramdb.values import (
    BELIEVED,
    Action,
    Actor,
    ActorKind,
    DreamChange,
    EmbedderIdentity,
    Layer,
    Memory,
    MemoryId,
    Provenance,
    Scope,
    SecurityTier,
    Status,
    new_id,
)
from engramdb.values.memory import RETURNED
from engramdb.vault.indexing import passage

NUMBERS = frozenset({"strength", "stability", "importance", "confidence"})
"""What an adjustment may set, besides the layer."""
_PASSING = (Layer.WORKING, Layer.EPISODIC)
_FADED = (Status.ARCHIVED, Status.PRUNED)


class Dropped(Exception):
    """A proposal cannot be made true any more; the message says why, without quoting a memory."""


class Result(Struct, frozen=True):
    """What came of a proposal: whether anything changed, and the memory that was made or gained by it."""

    is_changed: bool
    made: MemoryId | None = None


class StatementTools(Struct, frozen=True, kw_only=True):
    """What it takes to state something as admission would."""

    screen: Callable[[Memory], Memory] = lambda memory: memory
    """Returns the memory with what is inferred from its words; raises `SecurityError` for an attack."""
    embed: Callable[[Sequence[str]], NDArray[np.float32]] | None = None
    identity: EmbedderIdentity | None = None


class DerivedDraft(Struct, frozen=True):
    """A statement that is ready to be written."""

    memory: Memory
    fingerprint: bytes
    identity: EmbedderIdentity | None
    vector: NDArray[np.float32] | None


class Applier(Struct, frozen=True, kw_only=True):
    """Applies the proposals of one run."""

    store: Store
    policy: DreamPolicy
    now: datetime
    tools: StatementTools = StatementTools()
    scope: Scope | None = None
    """The one scope that may be changed; None for any."""
    in_write: Callable[[Transaction], None] = lambda _tx: None
    """Called first in every write; raising ends the run, as when another process has taken it over."""


class Applied(Struct, frozen=True):
    """What came of a proposal: the change, or None where there was none, and whether it was dropped."""

    change: DreamChange | None
    is_dropped: bool = False
    seconds: float = 0.0
    """How long the write held the store."""


def apply(proposal: Proposal, applier: Applier, *, step: str) -> Applied:
    """Make a proposal true."""
    started = time.perf_counter()
    try:
        statement = None
        if isinstance(proposal, Derive):
            statement = _prepare(proposal, applier.tools, now=applier.now)
        with applier.store.atomic() as tx:
            started = time.perf_counter()
            applier.in_write(tx)
            write = StepWrite(tx, applier.policy, step, applier.now, applier.scope)
            if isinstance(proposal, Derive) and statement is not None:
                result = _state(write, proposal, statement)
            else:
                result = _WAYS[type(proposal)](write, proposal)
    except Dropped:
        return Applied(None, is_dropped=True, seconds=time.perf_counter() - started)
    seconds = time.perf_counter() - started
    if not result.is_changed:
        return Applied(None, seconds=seconds)
    return Applied(describe_proposal(proposal, step=step, made=result.made), seconds=seconds)


def describe_proposal(proposal: Proposal, *, step: str, made: MemoryId | None = None) -> DreamChange:
    """Return what a report says of a proposal."""
    action = proposal.what if isinstance(proposal, SideWrite) else proposal.action
    return DreamChange(
        step=step, action=action, memories=_affected_memories(proposal), reason=proposal.reason, made=made
    )


def _affected_memories(proposal: Proposal) -> tuple[MemoryId, ...]:
    """Return the memories that a proposal is about, those that it changes most first."""
    match proposal:
        case Derive():
            memories = proposal.sources
        case Merge():
            memories = (proposal.keep, *proposal.lose)
        case Supersede():
            memories = (proposal.winner, proposal.loser)
        case Restatus():
            memories = (proposal.memory, *proposal.along)
        case Adjust():
            memories = (proposal.memory,)
        case AddLink():
            memories = (proposal.source, proposal.target)
        case _:
            return proposal.about if isinstance(proposal, SideWrite) else ()
    return tuple(one.id for one in memories)


class StepWrite(Struct, frozen=True):
    """An open write of one step; raising `Dropped` undoes it as a whole."""

    tx: Transaction
    policy: DreamPolicy
    step: str
    now: datetime
    scope: Scope | None = None

    @property
    def writer(self) -> MemoryWriter:
        """Changes memories in the name of the step, as history and audit tell it."""
        return MemoryWriter(self.tx, Actor(name=f"dream.{self.step}", kind=ActorKind.RULE), self.now)

    def again(self, *seen: Memory) -> list[Memory]:
        """Return the memories as they are now; drops the proposal where one is not what the step saw."""
        found = []
        for one in seen:
            current = self.tx.memories.get(one.id, scope=one.scope)
            is_elsewhere = self.scope is not None and self.scope != one.scope
            if current is None or is_elsewhere or current.scope != seen[0].scope:
                raise Dropped("a memory is gone or of another scope")
            if current.content != one.content or current.status is not one.status:
                raise Dropped("a memory has changed")
            found.append(current)
        return found

    def standing(self, *seen: Memory) -> list[Memory]:
        """Return the memories as they are now; drops the proposal unless all of them are active."""
        found = self.again(*seen)
        if any(one.status not in BELIEVED for one in found):
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

    def supersede(self, old: Memory, new: Memory, reason: str) -> None:
        """Let a memory be superseded by another; a circle of replacements drops the proposal."""
        try:
            self.writer.supersede(old, new, reason=reason)
        except EdgeNotAllowed as exc:
            raise Dropped("it would close a circle") from exc


def _merge(write: StepWrite, proposal: Merge) -> Result:
    keeper, *losers = write.standing(proposal.keep, *proposal.lose)
    try:
        merging.merge(write.writer, keeper, losers, policy=write.policy, reason=proposal.reason)
    except StatusNotAllowed as exc:
        raise Dropped("one is pinned or was taken apart") from exc
    return Result(is_changed=True, made=keeper.id)


def _supersede(write: StepWrite, proposal: Supersede) -> Result:
    """Let the winner replace the loser, from the moment that the winner holds."""
    winner, loser = write.standing(proposal.winner, proposal.loser)
    write.refuse_protected(loser)
    write.supersede(loser, winner, proposal.reason)
    winner = write.tx.memories.get(winner.id, scope=winner.scope) or winner  # no longer disputed, maybe
    write.writer.update(winner, Action.SUPERSEDE, reason=proposal.reason, **inherited(winner, loser))
    return Result(is_changed=True, made=winner.id)


def _restatus(write: StepWrite, proposal: Restatus) -> Result:
    for memory in write.again(proposal.memory, *proposal.along):
        write.refuse_protected(memory)
        try:
            write.writer.set_status(memory, proposal.status, action=Action.DREAM, reason=proposal.reason)
        except StatusNotAllowed as exc:
            raise Dropped("no rule may move it there") from exc
    return Result(is_changed=True)


def _adjust(write: StepWrite, proposal: Adjust) -> Result:
    """Set numbers or the layer; a pinned memory never loses by it, a layer chosen by hand stays."""
    (memory,) = write.again(proposal.memory)
    changes: dict[str, Any] = dict(proposal.changes)
    if memory.status.is_terminal or not set(changes) <= NUMBERS | {"layer"}:
        raise Dropped("it is gone, or more than numbers would change")
    if "layer" in changes:
        changes["layer"] = memory.layer if memory.layer_held else Layer(changes["layer"])
    if memory.pinned and any(changes[name] < getattr(memory, name) for name in NUMBERS & set(changes)):
        raise Dropped("it is pinned")
    changed = write.writer.update(memory, Action.DREAM, reason=proposal.reason, **changes)
    return Result(is_changed=changed is not memory)


def _link(write: StepWrite, proposal: AddLink) -> Result:
    source, target = write.again(proposal.source, proposal.target)
    if source.status.is_terminal or target.status.is_terminal:
        raise Dropped("an end of it is gone")
    known = {(one.source, one.target, one.type): one.weight for one in write.tx.edges.of(source.id)}
    if known.get((source.id, target.id, proposal.type)) == proposal.weight:
        return Result(is_changed=False)
    try:
        write.writer.link(source, target, proposal.type, weight=proposal.weight)
    except EdgeNotAllowed as exc:
        raise Dropped("it would close a circle") from exc
    write.writer.audit_link(source, target, proposal.type, reason=proposal.reason)
    return Result(is_changed=True)


def _note(write: StepWrite, proposal: SideWrite) -> Result:
    return Result(is_changed=proposal.write(write.tx))


def _save_progress(write: StepWrite, proposal: SaveProgress) -> Result:
    proposal.write(write.tx)
    return Result(is_changed=False)


_WAYS: dict[type[Proposal], Callable[[StepWrite, Any], Result]] = {
    Merge: _merge,
    Supersede: _supersede,
    Restatus: _restatus,
    Adjust: _adjust,
    AddLink: _link,
    SideWrite: _note,
    SaveProgress: _save_progress,
}


# State what follows from memories of one scope.


def _prepare(proposal: Derive, tools: StatementTools, *, now: datetime) -> DerivedDraft:
    """Return the memory that the proposal would make; raises `Dropped` where it may not be stated at all."""
    sources = proposal.sources
    if not sources or len({one.scope for one in sources}) != 1 or not clean(proposal.content):
        raise Dropped("its sources are none, or of several scopes")
    try:
        memory = tools.screen(_new_memory(proposal, now))
    except SecurityError as exc:
        raise Dropped("admission would refuse it") from exc
    memory = memory.evolve(
        security=SecurityTier.strictest((memory.security, *(one.security for one in sources))),
        flags=tuple(
            one
            for one in joined(memory.flags, *(one.flags for one in sources))
            if not one.startswith(RETURNED)
        ),
    )
    return DerivedDraft(
        memory,
        fingerprint_of(memory),
        tools.identity,
        _vector(memory, tools),
    )


def _new_memory(proposal: Derive, now: datetime) -> Memory:
    sources = proposal.sources
    speakers = {one.provenance.speaker for one in sources}
    return Memory(
        id=new_id(now),
        content=clean(proposal.content),
        created_at=now,
        updated_at=now,
        scope=sources[0].scope,
        layer=proposal.layer,
        type=proposal.type,
        kind=proposal.kind,
        category=proposal.category,
        provenance=Provenance(
            source=min((one.provenance.source for one in sources), key=lambda source: source.trust),
            speaker=speakers.pop() if len(speakers) == 1 else None,
            episodes=joined(one.id for one in sources),
        ),
        said_at=min(now, max(one.last_stated_at for one in sources)),
        valid_from=min(now, max(one.holds_from for one in sources)),
        confidence=proposal.confidence,
        importance=max(one.importance for one in sources)
        if proposal.importance is None
        else proposal.importance,
        stability=proposal.stability,
        extractor=proposal.maker or None,
    )


def _vector(memory: Memory, tools: StatementTools) -> NDArray[np.float32] | None:
    if tools.embed is None or tools.identity is None:
        return None
    try:
        (row,) = tools.embed([passage(memory)])
    except EmbeddingError:  # noted by the engine's health; found by its words until it is embedded later
        return None
    return np.asarray(row, np.float32)


def _state(write: StepWrite, proposal: Derive, statement: DerivedDraft) -> Result:
    """Store the statement, or give its evidence to the memory that says it already."""
    sources = write.standing(*proposal.sources)
    old = None if proposal.replaces is None else write.again(proposal.replaces, sources[0])[0]
    if old is not None and (old.status is not Status.ACTIVE or old.pinned):
        raise Dropped("what it replaces is pinned or gone")
    twin = write.tx.memories.active_twin(statement.fingerprint, scope=statement.memory.scope)
    if twin is not None:
        return _given_evidence(write, proposal, twin, sources, old)
    _refuse_what_was_taken_back(write, statement, sources)
    memory = statement.memory
    if old is not None:
        memory = memory.evolve(supersedes=old.id, version=old.version + 1)
    _store(write, proposal, replace(statement, memory=memory))
    if old is not None:
        write.supersede(old, memory, proposal.reason)
    _link_sources(write, proposal, memory, sources)
    return Result(is_changed=True, made=memory.id)


def _store(write: StepWrite, proposal: Derive, statement: DerivedDraft) -> None:
    key = write.writer.create(
        statement.memory,
        fingerprint=statement.fingerprint,
        action=Action.DERIVE,
        reason=proposal.reason,
        is_introduced=proposal.is_introduced,
    )
    if statement.vector is not None and statement.identity is not None:
        write.writer.embed(statement.identity, [key], np.stack([statement.vector]))


def _given_evidence(
    write: StepWrite, proposal: Derive, twin: Memory, sources: Sequence[Memory], old: Memory | None
) -> Result:
    """Let the memory that says it already rest on the sources too; knowledge does not stay an episode."""
    others = [one for one in sources if one.id != twin.id]
    rises = twin.layer in _PASSING and proposal.layer not in _PASSING and not twin.layer_held
    changes: dict[str, Any] = {
        "provenance": replace(
            twin.provenance, episodes=joined(twin.provenance.episodes, (one.id for one in others))
        ),
        "security": SecurityTier.strictest((twin.security, *(one.security for one in others))),
        "flags": joined(twin.flags, *(_warnings(one) for one in others)),
    }
    if rises and others:
        changes["layer"] = proposal.layer
    changed = write.writer.update(twin, Action.DERIVE, reason=proposal.reason, **changes)
    linked = _link_sources(write, proposal, twin, others)
    if old is not None and old.id != twin.id:
        write.supersede(old, changed, proposal.reason)
        return Result(is_changed=True, made=twin.id)
    return Result(is_changed=changed is not twin or linked > 0, made=twin.id)


def _warnings(memory: Memory) -> tuple[str, ...]:
    return tuple(flag for flag in memory.flags if flag != REDUNDANT)


def _link_sources(write: StepWrite, proposal: Derive, memory: Memory, sources: Sequence[Memory]) -> int:
    """AddLink the statement to its sources, and return how many links are new; circles are left out."""
    known = {(edge.target, edge.type) for edge in write.tx.edges.of(memory.id) if edge.source == memory.id}
    added = 0
    for one in sources:
        if one.id == memory.id or (one.id, proposal.edge) in known:
            continue
        try:
            write.writer.link(memory, one, proposal.edge)
        except EdgeNotAllowed:
            continue
        added += 1
    return added


def _refuse_what_was_taken_back(write: StepWrite, statement: DerivedDraft, sources: Sequence[Memory]) -> None:
    """Drop what was said once and taken back; what only faded may be said again on new ground."""
    for gone in write.tx.dreams.withdrawn_memories(statement.fingerprint, scope=statement.memory.scope):
        if gone.status in _FADED and max(one.created_at for one in sources) > gone.updated_at:
            continue
        if not _left_by_a_dream(write.tx, gone):
            raise Dropped("it was said before and taken back")


def _left_by_a_dream(tx: Transaction, memory: Memory) -> bool:
    """Return whether a dream stated it and a rule took it back, which a better ground may overrule."""
    if not memory.is_derived:
        return False
    moves = [event for event in tx.history.of(memory.id) if event.new_status is memory.status]
    return bool(moves) and moves[-1].actor.kind is ActorKind.RULE
