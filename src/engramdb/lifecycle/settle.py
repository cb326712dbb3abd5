"""Settle a new statement against what is known: weigh what contradicts or repeats it, say what follows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from engramdb.lifecycle.pair_rules import (
    ComparesStatements,
    conflict,
    is_change,
    is_single,
    may_be_same,
    may_share_subject,
    same_relation,
    same_slot,
    same_specifics,
    understood,
)
from engramdb.models.calibration import overlap
from engramdb.policy import CapturePolicy
from engramdb.store.contract import Transaction
from engramdb.text.relations import says_more
from engramdb.values import Memory, MemoryId
from engramdb.values.reading import PairJudgment

MAX_LINKS = 3
"""To how many of its neighbors a new memory is linked."""
SURPRISE_NEIGHBORS = 5
"""How many neighbors say how new a statement is."""

# Which of two statements was made later?


class StatementOrder:
    """Says what was stated after what, inside one write; remembers the turns that it looked up."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx
        self._said: dict[MemoryId, datetime] = {}

    def is_later(self, memory: Memory, than: datetime) -> bool:
        """Return whether a memory was stated, or stated again, after a moment."""
        confirmed = memory.confirmed_at
        if memory.created_at <= than and (confirmed is None or confirmed <= than):
            return False  # so it is for all that is said now: nothing needs to be looked up
        said = self._said_at(memory)
        return max(said, confirmed or said) > than

    def _said_at(self, memory: Memory) -> datetime:
        if memory.id not in self._said:
            self._said[memory.id] = min(self._turn_of(memory) or _held_from(memory), memory.created_at)
        return self._said[memory.id]

    def _turn_of(self, memory: Memory) -> datetime | None:
        """Return when the turn was said that a memory was read out of; a correction of it has none."""
        if memory.extractor is None or not memory.provenance.turns:
            return None
        return self._tx.turns.time_of(memory.provenance.turns[0], scope=memory.scope)


def _held_from(memory: Memory) -> datetime:
    return memory.valid_from or memory.when


# Decide what a new statement does to what is already known: reinforce, replace, weaken, or stand beside it.
#
# Called by admission for each candidate with its neighbors. Pure: it returns a decision and changes nothing.
# Similarity finds the neighbors; `conflict` decides. A statement that says things have changed replaces the
# old one however well that was supported, because the old one was true in its time; a plain contradiction is
# weighed by evidence. Of two that contradict each other the one that was made later holds, in whatever order
# they come in: docs/decisions/0011-moments.md.


class Verdict(StrEnum):
    """What becomes of the new statement and of its neighbor."""

    CREATE = "create"
    REINFORCE = "reinforce"
    REPEAT = "repeat"
    """It says the same in other words, in a judge's view: kept, as evidence of its neighbor."""
    SUPERSEDE = "supersede"
    WEAKEN = "weaken"
    PRECEDE = "precede"
    """It was made before its neighbor, which holds: it comes in as history."""


class Neighbor(Struct, frozen=True):
    """A memory near a statement, how alike the two are, and what a judge makes of them, if one was asked."""

    memory: Memory
    similarity: float
    judgment: PairJudgment | None = None


class Settlement(Struct, frozen=True):
    """The decision, the neighbor that it is about, and the neighbors to link to."""

    verdict: Verdict
    target: Memory | None = None
    reason: str = ""
    links: tuple[Neighbor, ...] = ()


def settle(
    new: Memory,
    neighbors: Sequence[Neighbor],
    policy: CapturePolicy,
    *,
    likeness: ComparesStatements,
    is_later: Callable[[Memory], bool] = lambda _: False,
) -> Settlement:
    """Return what to do with the statement; `is_later` says which neighbors were stated after it."""
    nearest = [(one, understood(one.memory)) for one in sorted(neighbors, key=lambda one: -one.similarity)]
    against = _contradicted(new, nearest, policy, is_later)
    links = _links([one for one, _ in nearest], policy)
    if against is not None:
        old, reason, by_judge = against
        verdict = _against(new, old, policy, is_later, by_judge=by_judge)
        return Settlement(verdict, None if verdict is Verdict.CREATE else old, reason, links)
    settles = policy.conflict_above < 1
    may_repeat = settles and is_single(new)
    for one, known in nearest:
        is_same = may_repeat and same_relation(new, known)
        if is_same and not says_more(new.told, one.memory.told):
            return Settlement(Verdict.REINFORCE, one.memory, f"the same {one.memory.predicate}")
        if settles and one.judgment is not None and one.judgment.is_same and may_be_same(new, known):
            return Settlement(Verdict.REPEAT, one.memory, f"the same, says {one.judgment.by}")
        is_near = one.similarity > policy.same_above and may_share_subject(new, one.memory)
        if is_near and same_specifics(new, known, likeness):
            return Settlement(Verdict.REINFORCE, one.memory, f"says the same, {one.similarity:.2f} alike")
        if policy.version_overlap_above < 1 and _is_version(new, one, policy):
            verdict = Verdict.PRECEDE if is_later(one.memory) else Verdict.SUPERSEDE
            return Settlement(verdict, one.memory, "a new version", links)
    return Settlement(Verdict.CREATE, links=links)


def _against(
    new: Memory,
    old: Memory,
    policy: CapturePolicy,
    is_later: Callable[[Memory], bool],
    *,
    by_judge: bool,
) -> Verdict:
    """
    Return what becomes of two statements that contradict each other; what only one says stays.

    A judge's word alone does not retire what is pinned, or what a more trusted source has said.
    """
    mine, theirs = new.told, old.told
    if is_later(old):
        stays = says_more(mine, theirs) or (by_judge and (new.pinned or _is_weaker(old, new)))
        return Verdict.CREATE if stays else Verdict.PRECEDE
    stays = old.evidence_count >= policy.evidence_to_coexist and not is_change(new)
    stays = stays or (by_judge and (old.pinned or _is_weaker(new, old)))
    return Verdict.WEAKEN if stays or says_more(theirs, mine) else Verdict.SUPERSEDE


def _is_weaker(new: Memory, old: Memory) -> bool:
    return new.provenance.source.trust < old.provenance.source.trust


def _is_version(new: Memory, near: Neighbor, policy: CapturePolicy) -> bool:
    return overlap(new.told, near.memory.told) > policy.version_overlap_above


def surprise(nearness: Sequence[float]) -> float | None:
    """Return how new a statement is, 0 to 1, or None where too little is known to say."""
    if len(nearness) < SURPRISE_NEIGHBORS:
        return None
    nearest = sorted(nearness, reverse=True)[:SURPRISE_NEIGHBORS]
    return 1 - sum(nearest) / len(nearest)


def _contradicted(
    new: Memory,
    nearest: Sequence[tuple[Neighbor, Memory]],
    policy: CapturePolicy,
    is_later: Callable[[Memory], bool],
) -> tuple[Memory, str, bool] | None:
    """Return the memory that the statement contradicts or is contradicted by, why, and if a judge says so."""
    if policy.conflict_above >= 1:
        return None
    for one, known in nearest:
        later, earlier = (known, new) if is_later(one.memory) else (new, known)
        # A named replacement needs no likeness: "moved to Paris" and "lives in Berlin" need not sound alike.
        # Nor does what can have one value only: an employer, a deadline.
        if one.similarity > policy.conflict_above or is_change(later) or same_slot(later, earlier):
            reason = conflict(later, earlier)
            is_harmless = one.judgment is not None and one.judgment.is_harmless
            if reason is not None and not is_harmless:
                return one.memory, reason, False
    for one, _ in nearest:
        if one.judgment is not None and one.judgment.is_conflict:
            return one.memory, f"contradicted, says {one.judgment.by}", True
    return None


def _links(nearest: Sequence[Neighbor], policy: CapturePolicy) -> tuple[Neighbor, ...]:
    fitting = [one for one in nearest if policy.link_above < one.similarity <= policy.same_above]
    return tuple(fitting[:MAX_LINKS])
