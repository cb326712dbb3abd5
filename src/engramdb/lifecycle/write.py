"""Write one settled candidate: row, history, audit, indexes, links, entities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace
from numpy.typing import NDArray

from engramdb.errors import StatementForgotten
from engramdb.lifecycle.candidates import Candidate
from engramdb.lifecycle.drafts import REDUNDANT
from engramdb.lifecycle.merging import may_absorb, merge
from engramdb.lifecycle.neighbors import echoes
from engramdb.lifecycle.pair_rules import ComparesStatements
from engramdb.lifecycle.questions import hold_both
from engramdb.lifecycle.settle import (
    MAX_UNSURE,
    Conflict,
    Neighbor,
    Settlement,
    Verdict,
    is_weaker,
    settle,
    surprise,
    weigh,
)
from engramdb.lifecycle.transitions import DISPUTING, MemoryWriter, inherited
from engramdb.lifecycle.valid_time import find_place, put_in_chain, restated, said_again
from engramdb.policy import CapturePolicy, DreamPolicy
from engramdb.store.contract import Transaction
from engramdb.text.guarded import is_guarded
from engramdb.text.normalize import counted
from engramdb.text.traits import overlap
from engramdb.values import (
    BELIEVED,
    Action,
    ActorKind,
    Box,
    EdgeType,
    Memory,
    MemoryId,
    Provenance,
    Scope,
    Source,
    Status,
    new_id,
)
from engramdb.values.memory import DOCUMENT_EXTRACTOR

WEAKEN_BY = 0.2
"""What a contradiction takes from the confidence of a statement that stays (seed 003)."""
MIN_WEAKENED = 0.1
"""No contradiction takes confidence below this."""
BOX_OVERLAP = 0.35
"""A statement that shares less with the open box's topics starts a new box (seed 000)."""
BOX_MINUTES = 30.0
"""After so much silence a new box is started (seed 000)."""

# Put memories of one topic into one box, and follow a topic from box to box.

_TRACED_BOXES = 50
_LATEST_BOXES = 5
"""Looked at first: a topic that comes back was mostly left a moment ago, and reading a box takes a while."""
_MOST_TOPICS = 60
_RECENT_STATEMENTS = 4  # one shared word means little in a box of fifty


def place(
    tx: Transaction, topics: frozenset[str], *, scope: Scope, policy: CapturePolicy, said: datetime
) -> str:
    """
    Return the id of the box that a memory with these topics belongs to, opened or sealed as needed.

    A stretch of talk is one by when things were said, also where it is imported.
    """
    current = tx.boxes.open_in(scope)
    if current is not None and _is_over(current, topics, policy, said):
        sealed_at = max(said, current.last_at)
        tx.boxes.put(replace(current, sealed_at=sealed_at, trace=_trace(tx, current)))
        current = None
    if current is None:
        box_id = new_id(said)
        current = Box(
            id=box_id, trace=box_id, topics=frozenset(), opened_at=said, last_at=said, memories=0, scope=scope
        )
    filled = replace(
        current,
        topics=frozenset(sorted(current.topics | topics)[:_MOST_TOPICS]),
        recent=(*current.recent, topics)[-_RECENT_STATEMENTS:],
        last_at=max(said, current.last_at),
        memories=current.memories + 1,
    )
    tx.boxes.put(filled)
    return filled.id


def _is_over(box: Box, topics: frozenset[str], policy: CapturePolicy, said: datetime) -> bool:
    is_apart = abs(said - box.last_at) > timedelta(minutes=BOX_MINUTES)
    if is_apart or box.memories >= policy.box_memories:
        return True
    recent = frozenset[str]().union(*box.recent)
    return bool(topics and recent) and overlap(recent, topics) < BOX_OVERLAP


def _trace(tx: Transaction, box: Box) -> str:
    for most in (_LATEST_BOXES, _TRACED_BOXES):
        for earlier in tx.boxes.sealed(box.scope, limit=most):
            if overlap(earlier.topics, box.topics) >= BOX_OVERLAP:
                return earlier.trace
    return box.trace


# Write one settled candidate: the memory, its indexes, links, entities, box, history and audit.
#
# Called by admission for each candidate inside one write. What was prepared outside may be stale by now,
# so a neighbor is read again before it is changed.


RELAYED = "an agent said so, and it disputes what is guarded"
_SAYING = frozenset({Action.REMEMBER, Action.REINFORCE})


class AdmissionOutcome(StrEnum):
    """What became of a draft."""

    CREATED = "created"
    REINFORCED = "reinforced"
    REPLACED = "replaced"
    DISPUTED = "disputed"
    PRECEDED = "preceded"
    ECHOED = "echoed"
    WITHHELD = "withheld"
    """Not stored: it says what the person asked to forget."""


_OUTCOMES = {
    Verdict.SUPERSEDE: AdmissionOutcome.REPLACED,
    Verdict.CHALLENGE: AdmissionOutcome.DISPUTED,
    Verdict.PRECEDE: AdmissionOutcome.PRECEDED,
    Verdict.YIELD: AdmissionOutcome.DISPUTED,
}


class Admission(Struct, frozen=True):
    """The memory that now stands for the draft, and what became of the draft."""

    memory: Memory
    """Of a draft that was withheld, the one that was not stored."""
    outcome: AdmissionOutcome
    is_embedded: bool = True
    """Whether its vector was stored with it; if not, the backfill has something to do."""
    is_judged: bool = True
    """Whether it was compared with what was known before; if not, that is done later."""
    forgotten_at: datetime | None = None
    """When the person asked to forget what it says, where they did."""
    disputed: MemoryId | None = None
    """What it was to replace and may only dispute."""

    @property
    def is_withheld(self) -> bool:
        """Whether nothing was stored."""
        return self.outcome is AdmissionOutcome.WITHHELD


def refuse_forgotten(admissions: Sequence[Admission], *, is_bulk: bool = False) -> None:
    """Raise where a draft was not stored because the person had asked to forget what it says."""
    withheld = [one for one in admissions if one.is_withheld]
    if not withheld:
        return
    days = sorted({one.forgotten_at.date().isoformat() for one in withheld if one.forgotten_at})
    when = f" on {', '.join(days)}" if days else ""
    if len(admissions) == 1 and not is_bulk:
        raise StatementForgotten(f"not stored: the person asked to forget this{when}")
    raise StatementForgotten(
        f"{counted(len(withheld), 'statement was', 'statements were')} not stored: the person asked to "
        f"forget this{when}; all others are stored"
    )


class Write(Struct):
    """One write of the pipeline, and what it has stored so far."""

    writer: MemoryWriter
    policy: CapturePolicy
    likeness: ComparesStatements
    merging: DreamPolicy
    has_judge: bool = False
    """Whether something stronger than the rules looks at what was written later."""
    is_objection: bool = False
    """Whether it says that something known is wrong, and so is no echo of it."""
    vectors: dict[int, NDArray[np.float32]] = field(default_factory=dict)
    fresh: dict[int, Memory] = field(default_factory=dict)
    """What this write has made of its candidates, by place: later ones are settled against them too."""

    @property
    def tx(self) -> Transaction:
        """The open transaction."""
        return self.writer.tx

    @property
    def now(self) -> datetime:
        """The moment of the write."""
        return self.writer.now


def store_candidate(
    write: Write,
    candidate: Candidate,
    number: int,
    *,
    neighbors: Sequence[Neighbor],
    far: int,
    siblings: Mapping[int, float],
    vector: NDArray[np.float32] | None,
    is_judged: bool = True,
) -> Admission:
    """Settle a candidate and write what follows; `number` is its place among the candidates of this write."""
    stored = ((write.fresh[place], alike) for place, alike in siblings.items() if place in write.fresh)
    near = [*neighbors, *(Neighbor(memory, alike) for memory, alike in stored)]
    admission = _settled(write, candidate, near, far=far, vector=vector, is_judged=is_judged)
    write.fresh[number] = admission.memory
    return admission


def _settled(
    write: Write,
    candidate: Candidate,
    near: Sequence[Neighbor],
    *,
    far: int,
    vector: NDArray[np.float32] | None,
    is_judged: bool,
) -> Admission:
    memory = candidate.memory
    echoed = None if write.is_objection else echoes(write.tx, memory, write.likeness, now=write.now)
    if echoed is not None:
        return Admission(echoed, AdmissionOutcome.ECHOED)
    twin = write.tx.memories.twin(candidate.fingerprint, scope=memory.scope)
    settlement = (
        Settlement(Verdict.REINFORCE, twin, "said again")
        if twin is not None
        else _settle_with_active(write, candidate, near)
    )
    settlement, known = _in_order_of_saying(write, candidate, settlement)
    if known is not None:
        return _reinforce(write, known, candidate, reason=settlement.reason)
    nearness = [one.similarity for one in near] + [0.0] * far
    # What rests on what it ends is looked at after the write, with what is left to judge.
    is_judged = is_judged and not (settlement.effects and write.has_judge)
    if twin is not None:
        write.writer.make_way(twin)  # the same, said before something else held
    admission = _create(write, candidate, settlement, nearness, vector, is_judged=is_judged)
    if twin is not None:
        write.writer.stand_again(twin)
    return admission


def _in_order_of_saying(
    write: Write, candidate: Candidate, settlement: Settlement
) -> tuple[Settlement, Memory | None]:
    """
    Return the settlement, and the memory that says the same, with regard to what was said in between.

    What is said again may have been said before something else held, and is history then; what is history
    may have been said already.
    """
    known, is_same = settlement.target, settlement.verdict is Verdict.REINFORCE
    if known is None or not (is_same or settlement.verdict is Verdict.PRECEDE):
        return settlement, None
    if is_same and candidate.said_at >= known.stated_at:
        return settlement, known
    place = find_place(write.writer, candidate.memory, known, is_same=is_same)
    return replace(settlement, verdict=Verdict.PRECEDE), place.same


def _settle_with_active(write: Write, candidate: Candidate, near: Sequence[Neighbor]) -> Settlement:
    """Settle against memories that hold now: one that has gone since it was found does not count."""
    left = list(near)
    while True:
        settlement = settle(
            candidate.memory,
            left,
            write.policy,
            likeness=write.likeness,
            is_later=lambda known: known.last_stated_at > candidate.said_at,
            is_persons_act=_is_persons_act(write, candidate.memory),
        )
        stale = [target for target in settlement.targets if _current(write, target) != target]
        if not stale:
            return settlement
        gone = {target.id for target in stale}
        others = [one for one in left if one.memory.id not in gone]
        for target in stale:
            current = _current(write, target)
            if current is not None and current.status in BELIEVED:  # changed meanwhile: look at it again
                others += [replace(one, memory=current) for one in left if one.memory.id == target.id]
        left = others


def _current(write: Write, memory: Memory) -> Memory | None:
    return write.tx.memories.get(memory.id, scope=memory.scope)


def _is_persons_act(write: Write, memory: Memory) -> bool:
    """Return whether a person asked by name to remember it, so that it may change what is guarded."""
    is_stated = memory.extractor is None and memory.provenance.source is Source.HUMAN
    return is_stated and write.writer.actor.kind is ActorKind.PERSON


def settle_again(write: Write, candidate: Candidate, near: Sequence[Neighbor]) -> Memory:
    """
    Settle a memory that is stored already, as if it came in now; return what stands for it.

    What was judged since is in `near`; what somebody said holds beside it is left alone.
    """
    memory = candidate.memory
    undecided = [one for one in near if not hold_both(write.tx, memory, one.memory)]
    settlement = _settle_with_active(write, candidate, undecided)
    heirs = inherited_from(memory, settlement)
    if heirs:
        memory = write.writer.update(memory, Action.LINK, **heirs)
    return _join(write, memory, settlement)


def inherited_from(memory: Memory, settlement: Settlement) -> dict[str, Any]:
    """Return what a memory takes over from the first that it supersedes, if it supersedes any."""
    retired = [one.target for one in settlement.effects if one.verdict is Verdict.SUPERSEDE]
    return inherited(memory, retired[0]) if retired else {}


def _create(
    write: Write,
    candidate: Candidate,
    settlement: Settlement,
    nearness: Sequence[float],
    vector: NDArray[np.float32] | None,
    *,
    is_judged: bool,
) -> Admission:
    memory = candidate.memory
    learnt = _weights(candidate, nearness, write.policy)
    if memory.provenance.session is not None:  # a box is a stretch of talk; single statements have none
        learnt["box"] = place(
            write.tx, candidate.topics, scope=memory.scope, policy=write.policy, said=candidate.said_at
        )
    memory = memory.evolve(**learnt) if learnt else memory
    memory = memory.evolve(**inherited_from(memory, settlement))
    key = write.writer.create(
        memory,
        fingerprint=candidate.fingerprint,
        names=candidate.entities,
        is_enriched=candidate.is_enriched,
        is_judged=is_judged,
    )
    if vector is not None:
        write.vectors[key] = vector
    joined = _join(write, memory, settlement)
    if joined.id != memory.id:
        return Admission(joined, AdmissionOutcome.REINFORCED, is_embedded=vector is not None)
    write.writer.link_related(joined, {one.memory.id: min(1.0, one.similarity) for one in settlement.links})
    verdicts = [one.verdict for one in settlement.effects] or [settlement.verdict]
    became = next((_OUTCOMES[one] for one in _OUTCOMES if one in verdicts), AdmissionOutcome.CREATED)
    return Admission(joined, became, is_embedded=vector is not None, is_judged=is_judged)


def _weights(candidate: Candidate, nearness: Sequence[float], policy: CapturePolicy) -> dict[str, Any]:
    """Return the surprise of a memory, and the importance and flags that follow from it, where it has one."""
    memory = candidate.memory
    found = surprise(nearness)
    if found is None:
        return {}
    flags = memory.flags
    if max(nearness) > policy.same_above:
        flags = (*flags, REDUNDANT)
    importance = memory.importance
    if not candidate.has_importance and policy.novelty_boost:
        gain = policy.novelty_boost * (2 * found - 1) if found > 0.5 else 0.0
        change = -policy.novelty_boost / 3 if REDUNDANT in flags else gain
        importance = min(1.0, max(0.0, importance + change))
    return {"surprise": found, "flags": flags, "importance": importance}


def _join(write: Write, new: Memory, settlement: Settlement) -> Memory:
    """Let the new memory repeat, precede, supersede or challenge known ones; return what stands for it."""
    old = settlement.target
    if old is not None:
        if settlement.verdict in (Verdict.REINFORCE, Verdict.REPEAT, Verdict.PRECEDE):
            return _take_place(write, new, old, settlement)
        if settlement.verdict is Verdict.YIELD:
            return challenge(write.writer, new, by=old, reason=settlement.reason, chance=settlement.chance)
    for effect in settlement.effects:
        if effect.verdict is Verdict.SUPERSEDE:
            write.writer.supersede(effect.target, new, reason=effect.reason)
        else:
            challenge(write.writer, effect.target, by=new, reason=effect.reason, chance=effect.chance)
            new = _current(write, new) or new
    return new


def _take_place(write: Write, new: Memory, old: Memory, settlement: Settlement) -> Memory:
    """Let a stored memory be evidence of one that says the same, or history before one that holds."""
    is_same, same = settlement.verdict is not Verdict.PRECEDE, old
    if not is_same or new.stated_at < old.stated_at:
        place = find_place(write.writer, new, old, is_same=is_same)
        if place.same is None:
            return put_in_chain(write.writer, new, place, reason=settlement.reason)
        same = place.same
    if not may_absorb(write.tx, same, new):
        return new
    return merge(write.writer, same, [new], policy=write.merging, reason=settlement.reason)


def challenge(writer: MemoryWriter, memory: Memory, *, by: Memory, reason: str, chance: float) -> Memory:
    """
    Mark a memory as disputed by a newer one, and return it; both stay.

    It loses confidence once: not again to the same memory, nor to others of a source no stronger.
    What an agent reports as the person's word against something guarded counts as the agent's.
    """
    by = _as_agents_word(writer, by) if is_guarded(memory) else by
    counted = [one for one in writer.disputers(memory) if one.id == by.id or not is_weaker(one, by)]
    if memory.status is Status.CHALLENGED and counted:
        writer.link(by, memory, EdgeType.CONTRADICTS, weight=chance)
        return memory
    weaker = max(min(MIN_WEAKENED, memory.confidence), memory.confidence - WEAKEN_BY)
    writer.link(by, memory, EdgeType.CONTRADICTS, weight=chance)
    changed = memory.evolve(status=Status.CHALLENGED, confidence=weaker, updated_at=writer.now)
    return writer.write(memory, changed, action=Action.WEAKEN, reason=writer.open_reason(reason, memory, by))


def _as_agents_word(writer: MemoryWriter, memory: Memory) -> Memory:
    """Return a memory as stated by an assistant where nobody but agents has stated it."""
    stated = [
        one for one in writer.tx.history.of(memory.id) if one.old_status is None or one.action in _SAYING
    ]
    is_relayed = memory.provenance.relayed_by is not None
    is_relayed |= bool(stated) and all(one.actor.kind is ActorKind.AGENT for one in stated)
    if memory.provenance.source is not Source.HUMAN or not is_relayed:
        return memory
    said = replace(memory.provenance, source=Source.ASSISTANT)
    return writer.update(memory, Action.WEAKEN, reason=RELAYED, provenance=said)


def _acknowledge(write: Write, memory: Memory, again: Memory) -> None:
    """
    Let a disputed memory that was stated again hold; what disputed it is now the older of the two.

    That is weighed as if only now was said what the memory says: it is superseded where it may be.
    """
    is_act = _is_persons_act(write, again)
    for edge in write.tx.edges.of(memory.id):
        if edge.target != memory.id or edge.type not in DISPUTING:
            continue
        write.writer.unlink(edge.source, edge.target, edge.type)
        write.writer.unask(edge.source, edge.target, edge.type, scope=memory.scope)
        other = write.tx.memories.get(edge.source, scope=memory.scope)
        if other is None or other.status is not Status.ACTIVE or edge.type is not EdgeType.CONTRADICTS:
            continue
        reason, found = "the other was stated again", Conflict(edge.weight, edge.weight > MAX_UNSURE, "")
        verdict = weigh(again, other, found, write.policy, is_persons_act=is_act)
        if verdict is Verdict.SUPERSEDE:
            write.writer.supersede(other, memory, reason=reason)
        elif not is_guarded(other):
            challenge(write.writer, other, by=memory, reason=reason, chance=edge.weight)


def _reinforce(write: Write, known: Memory, candidate: Candidate, *, reason: str) -> Admission:
    """Strengthen the memory that says the same, and keep the new evidence with it."""
    new = candidate.memory
    is_own_word = new.is_believed and not is_weaker(new, known)
    is_revived = known.status is Status.CHALLENGED and is_own_word
    stronger = known.evolve(
        confidence=_surer(known, new, write.policy.reinforce_confidence_by),
        importance=max(known.importance, new.importance if candidate.has_importance else 0.0),
        reinforcements=known.reinforcements + 1,
        **said_again(write.tx, known, new),
        pinned=known.pinned or new.pinned,
        provenance=_with_evidence(known.provenance, new.provenance),
        status=Status.ACTIVE if is_revived else known.status,
        updated_at=write.now,
    )
    if known.extractor == DOCUMENT_EXTRACTOR != new.extractor:
        stronger = _own_statement(stronger, new)
    elif known.extractor is not None and _is_stated(new):
        stronger = _stated(stronger, new)
    noted = restated(known, new)
    write.writer.write(known, stronger, action=Action.REINFORCE, reason=reason, noted=noted)
    if stronger.holds_from < known.holds_from:
        write.writer.end_earlier(stronger, stronger.holds_from)
    if is_revived:
        _acknowledge(write, stronger, new)
    return Admission(stronger, AdmissionOutcome.REINFORCED)


def _surer(known: Memory, new: Memory, gain: float) -> float:
    """Return how far a memory is believed that was stated again: no repetition exceeds its best source."""
    limit = max(known.provenance.max_confidence, new.provenance.max_confidence)
    return max(known.confidence, min(limit, known.confidence + gain))


def _own_statement(memory: Memory, new: Memory) -> Memory:
    """Return a memory that only documents stated as one that somebody has: it no longer leaves with them."""
    said = new.provenance
    provenance = replace(
        memory.provenance, source=said.source, session=said.session or memory.provenance.session
    )
    return memory.evolve(extractor=new.extractor, forget_after=new.forget_after, provenance=provenance)


def _is_stated(new: Memory) -> bool:
    return new.extractor is None and new.provenance.source is Source.HUMAN and new.is_believed


def _stated(memory: Memory, new: Memory) -> Memory:
    """Return what was only heard, or concluded, as a person has now asked to remember it."""
    return memory.evolve(
        extractor=None,
        confidence=max(memory.confidence, new.confidence),
        force=new.force,
        provenance=replace(
            memory.provenance,
            source=Source.HUMAN,
            voice=new.provenance.voice,
            relayed_by=new.provenance.relayed_by,
        ),
    )


def _with_evidence(known: Provenance, new: Provenance) -> Provenance:
    return replace(
        known,
        turns=tuple(dict.fromkeys((*known.turns, *new.turns))),
        episodes=tuple(dict.fromkeys((*known.episodes, *new.episodes))),
    )
