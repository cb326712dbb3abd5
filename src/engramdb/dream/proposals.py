"""Proposals of steps, and the small writes that apply them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, ClassVar

from msgspec import Struct, field

from engramdb.dream.derive import Pen, prepare, state
from engramdb.errors import EdgeNotAllowed, StatusNotAllowed
from engramdb.lifecycle.merging import Dropped, Result, Writing, merge, supersede
from engramdb.policy import DreamPolicy
from engramdb.store.contract import Store, Transaction
from engramdb.store.moves import move
from engramdb.values import (
    Action,
    AuditEvent,
    DreamChange,
    Edge,
    EdgeType,
    Kind,
    Layer,
    Memory,
    MemoryId,
    MemoryType,
    Status,
)

# What a step of the dream may want changed: small values that say what, to which memories, and why.
#
# Made by the steps, applied by `apply` in a write of its own each, shown by a dry run. A proposal names
# memories by id and carries what the step saw of them, so that one whose ground has shifted since is dropped
# instead of applied. Reasons never quote memories.


class Proposal(Struct, frozen=True, kw_only=True):
    """One change, and why; `action` is what reports call it."""

    action: ClassVar[str] = ""
    reason: str


class Derive(Proposal, frozen=True, kw_only=True):
    """
    State something that follows from memories of one scope.

    The new memory belongs to exactly their scope, is protected as the strictest of them is, flagged as any of
    them is, and linked to each. Said before, from the same sources, it changes nothing; with further sources
    it gains evidence.
    """

    action: ClassVar[str] = "derive"
    content: str
    sources: tuple[Memory, ...]
    layer: Layer = Layer.SEMANTIC
    type: MemoryType = MemoryType.FACT
    kind: Kind = Kind.NOTE
    category: str = "general"
    confidence: float = 0.6
    importance: float | None = None
    """None takes the highest of its sources."""
    stability: float = 1.0
    edge: EdgeType = EdgeType.DERIVED_FROM
    maker: str = ""
    """Which step and version states it, kept as the memory's extractor, such as `dream.patterns/1`."""
    replaces: Memory | None = None
    """An earlier statement by the same step that this one is the new version of."""


class Merge(Proposal, frozen=True, kw_only=True):
    """Let one memory stand for others that say the same; it takes over their evidence, they become merged."""

    action: ClassVar[str] = "merge"
    keep: Memory
    lose: tuple[Memory, ...]


class Supersede(Proposal, frozen=True, kw_only=True):
    """Let one memory replace another that it contradicts."""

    action: ClassVar[str] = "supersede"
    winner: Memory
    loser: Memory


class Restatus(Proposal, frozen=True, kw_only=True):
    """Move a memory to another status, such as challenged or invalidated."""

    action: ClassVar[str] = "restatus"
    memory: Memory
    status: Status
    along: tuple[Memory, ...] = ()
    """Others that move with it, in the same write: all of them or none."""


class Adjust(Proposal, frozen=True, kw_only=True):
    """Set numbers of a memory: strength, stability, importance, confidence; or its layer. Never its words."""

    action: ClassVar[str] = "adjust"
    memory: Memory
    changes: Mapping[str, object] = field(default_factory=dict)


class AddLink(Proposal, frozen=True, kw_only=True):
    """Link two memories; a directed inference that would close a circle is dropped."""

    action: ClassVar[str] = "link"
    source: Memory
    target: Memory
    type: EdgeType = EdgeType.SIMILAR_TO
    weight: float = 1.0


class SideWrite(Proposal, frozen=True, kw_only=True):
    """Write something that is not a memory: a question, a node of the tree, a profile; by a function."""

    what: str
    """In a word, for the report: `question`, `domain`, `profile`."""
    about: tuple[MemoryId, ...] = ()
    write: Callable[[Transaction], bool]
    """Writes it, and says whether anything changed."""


# Make one proposal true, in a small write of its own, or drop it where its ground has shifted.
#
# Called by `run` for each proposal before the step is asked for the next. Every memory is read again inside
# the
# write: one that is gone, no longer what the step saw, of another scope, or pinned where it would lose, drops
# the whole proposal. What changes leaves a row in its history and in the audit trail with the step's name.

NUMBERS = frozenset({"strength", "stability", "importance", "confidence"})
"""What an adjustment may set, besides the layer."""


class Applier(Struct, frozen=True, kw_only=True):
    """Applies the proposals of one run."""

    store: Store
    policy: DreamPolicy
    now: datetime
    pen: Pen = Pen()
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
        draft = prepare(proposal, applier.pen, now=applier.now) if isinstance(proposal, Derive) else None
        with applier.store.atomic() as tx:
            started = time.perf_counter()
            applier.in_write(tx)
            writing = Writing(tx, applier.policy, step, applier.now)
            if isinstance(proposal, Derive) and draft is not None:
                result = state(writing, proposal, draft, applier.pen)
            else:
                result = _WAYS[type(proposal)](writing, proposal)
    except Dropped:
        return Applied(None, is_dropped=True, seconds=time.perf_counter() - started)
    seconds = time.perf_counter() - started
    if not result.is_changed:
        return Applied(None, seconds=seconds)
    return Applied(described(proposal, step=step, made=result.made), seconds=seconds)


def described(proposal: Proposal, *, step: str, made: MemoryId | None = None) -> DreamChange:
    """Return what a report says of a proposal."""
    action = proposal.what if isinstance(proposal, SideWrite) else proposal.action
    return DreamChange(step=step, action=action, memories=_named(proposal), reason=proposal.reason, made=made)


def _named(proposal: Proposal) -> tuple[MemoryId, ...]:
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


def _restatus(writing: Writing, proposal: Restatus) -> Result:
    for memory in writing.again(proposal.memory, *proposal.along):
        writing.refuse_protected(memory)
        try:
            move(
                writing.tx,
                memory,
                proposal.status,
                action=Action.DREAM,
                reason=proposal.reason,
                actor=writing.actor,
                now=writing.now,
            )
        except StatusNotAllowed as exc:
            raise Dropped("no rule may move it there") from exc
    return Result(is_changed=True)


def _adjust(writing: Writing, proposal: Adjust) -> Result:
    """Set numbers or the layer; a pinned memory never loses by it, a layer chosen by hand stays."""
    (memory,) = writing.again(proposal.memory)
    changes: dict[str, Any] = dict(proposal.changes)
    if memory.status.is_terminal or not set(changes) <= NUMBERS | {"layer"}:
        raise Dropped("it is gone, or more than numbers would change")
    if "layer" in changes:
        changes["layer"] = memory.layer if memory.layer_held else Layer(changes["layer"])
    if memory.pinned and any(changes[name] < getattr(memory, name) for name in NUMBERS & set(changes)):
        raise Dropped("it is pinned")
    changed = writing.change(memory, Action.DREAM, proposal.reason, **changes)
    return Result(is_changed=changed is not memory)


def _link(writing: Writing, proposal: AddLink) -> Result:
    source, target = writing.again(proposal.source, proposal.target)
    if source.status.is_terminal or target.status.is_terminal:
        raise Dropped("an end of it is gone")
    edge = Edge(
        source=source.id,
        target=target.id,
        type=proposal.type,
        weight=proposal.weight,
        created_at=writing.now,
    )
    known = {(one.source, one.target, one.type): one.weight for one in writing.tx.edges.of(source.id)}
    if known.get((source.id, target.id, proposal.type)) == proposal.weight:
        return Result(is_changed=False)
    try:
        writing.tx.edges.add(edge)
    except EdgeNotAllowed as exc:
        raise Dropped("it would close a circle") from exc
    detail = {"reason": proposal.reason, "type": proposal.type, "to": target.id}
    writing.tx.audit.add(
        AuditEvent(at=writing.now, action=Action.RELATE, actor=writing.actor, target=source.id, detail=detail)
    )
    return Result(is_changed=True)


def _note(writing: Writing, proposal: SideWrite) -> Result:
    return Result(is_changed=proposal.write(writing.tx))


_WAYS: dict[type[Proposal], Callable[[Writing, Any], Result]] = {
    Merge: merge,
    Supersede: supersede,
    Restatus: _restatus,
    Adjust: _adjust,
    AddLink: _link,
    SideWrite: _note,
}
