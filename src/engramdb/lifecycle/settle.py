"""
Settle a new statement against what is known: judge each close pair, weigh it, and say what follows.

Belief revision. Rules and a judge say what two statements are to each other; who says it, how surely, how
often and of what time decides what follows. Uncertain means that both stay, the newer one first and the older
one challenged. Pure: it returns a decision and changes nothing. docs/decisions/0021-belief-revision.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum

from msgspec import Struct

from engramdb.lifecycle.pair_rules import (
    ComparesStatements,
    changes_value,
    conflict,
    is_change,
    is_single,
    may_be_same,
    may_bear_on,
    may_settle,
    may_share_subject,
    same_relation,
    same_slot,
    same_specifics,
    understood,
)
from engramdb.models.calibration import overlap
from engramdb.policy import CapturePolicy
from engramdb.text.guarded import is_guarded
from engramdb.text.relations import says_more
from engramdb.values import Kind, Memory, Status
from engramdb.values.reading import PairJudgment

MAX_LINKS = 3
"""To how many of its neighbors a new memory is linked."""
MAX_RETIRED = 3
"""How many memories one statement may supersede; what else it contradicts is challenged."""
MAX_DOUBTED = 1
"""How many memories one statement may challenge on a mere doubt, the likeliest: what seems to end many things
is more often about none of them (docs/lab/0048-reader-three.md)."""
_LEAST_CHANCE, _LEAST_CHANCE_SHORT, _SHORT_WORDS, _DOUBT_FROM = 0.2, 0.4, 9, 0.6
"""From this chance of a conflict, a higher one between short statements, and this sum of it and of the
likeness, one statement makes another one doubtful. Of 160 changes 124 are found, with 49 statements doubted
wrongly; by the chance alone 119 with 56 (docs/lab/0052-reader-four.md)."""
LIKELY = 0.8
"""From this chance on a doubt counts that comes from a weaker source, or from what was not plainly said."""
UNSURE = 0.5
"""The chance of a conflict that rules suspect and nothing confirms."""
MAX_UNSURE = 0.85
"""A conflict that may not retire anything is never surer than this, so that a dream can tell."""
SURPRISE_NEIGHBORS = 5
"""How many neighbors say how new a statement is."""

# What a statement does to what is already known.


class Verdict(StrEnum):
    """What becomes of a new statement and of one that is known."""

    CREATE = "create"
    REINFORCE = "reinforce"
    REPEAT = "repeat"
    """It says the same in other words, in a judge's view: kept, as evidence of its neighbor."""
    SUPERSEDE = "supersede"
    CHALLENGE = "challenge"
    """Both stay, and the known one is marked as possibly outdated."""
    PRECEDE = "precede"
    """It was made before its neighbor, which holds: it comes in as history."""
    YIELD = "yield"
    """It was made before its neighbor, which may contradict it: it comes in challenged."""


class Neighbor(Struct, frozen=True, gc=False):
    """A memory near a statement, how alike the two are, and what a judge makes of them, if one was asked."""

    memory: Memory
    similarity: float
    judgment: PairJudgment | None = None


class Effect(Struct, frozen=True):
    """What a new statement does to one known memory, and why."""

    verdict: Verdict
    target: Memory
    reason: str
    chance: float = 1.0
    """How likely it is that both cannot hold."""


class Settlement(Struct, frozen=True):
    """What becomes of the statement, the neighbor that decides that, and what it does to others."""

    verdict: Verdict
    target: Memory | None = None
    reason: str = ""
    chance: float = 1.0
    effects: tuple[Effect, ...] = ()
    links: tuple[Neighbor, ...] = ()

    @property
    def targets(self) -> list[Memory]:
        """The known memories that it decides about."""
        return [*([self.target] if self.target else []), *(one.target for one in self.effects)]


class Conflict(Struct, frozen=True):
    """That two statements cannot both hold, as far as can be told."""

    chance: float
    is_sure: bool
    """Whether it may retire the older one; otherwise it is a doubt."""
    reason: str


def settle(
    new: Memory,
    neighbors: Sequence[Neighbor],
    policy: CapturePolicy,
    *,
    likeness: ComparesStatements,
    is_later: Callable[[Memory], bool] = lambda _: False,
    is_persons_act: bool = False,
) -> Settlement:
    """
    Return what to do with the statement; `is_later` says which neighbors were stated after it.

    A `is_persons_act` is one that a person asked for by name, in place of words read out of a conversation.
    """
    nearest = [(one, understood(one.memory)) for one in sorted(neighbors, key=lambda one: -one.similarity)]
    if not may_settle(new):
        return Settlement(Verdict.CREATE, effects=tuple(_doubts(new, neighbors, is_later)))
    links = _links([one for one, _ in nearest], policy)
    against = _contradicted(new, nearest, policy, is_later)
    for one, found in against:
        if is_later(one.memory):
            verdict = weigh_against_later(new, one.memory, found)
            if verdict is not Verdict.CREATE:
                return Settlement(verdict, one.memory, found.reason, found.chance, links=links)
    effects = tuple(_effects(new, against, policy, is_later, is_persons_act=is_persons_act))
    retires = any(effect.verdict is Verdict.SUPERSEDE for effect in effects)
    apart = {effect.target.id for effect in effects}
    others = [pair for pair in nearest if pair[0].memory.id not in apart]
    if retires:  # a disputed one that is stated again is weighed against what disputes it
        others = [] if is_change(new) else [pair for pair in others if pair[1].status is Status.CHALLENGED]
    repeated = _repeated(new, others, policy, likeness)
    if repeated is not None:
        return repeated
    if effects:
        return Settlement(Verdict.CREATE, effects=effects, links=links)
    return _version(new, nearest, policy, is_later, links)


def _repeated(
    new: Memory,
    nearest: Sequence[tuple[Neighbor, Memory]],
    policy: CapturePolicy,
    likeness: ComparesStatements,
) -> Settlement | None:
    """
    Return which known memory says the same, where that is certain.

    What a small network alone holds to be the same is left for the dream, where all wordings bear witness.
    """
    settles = policy.conflict_above < 1
    may_repeat = settles and is_single(new)
    for one, known in nearest:
        is_close = one.similarity > policy.same_above
        if not (is_close or may_repeat or one.judgment is not None) or is_weaker(known, new):
            continue  # whoever says it outright has said it: an agent's words do not stand for a person's
        is_same = may_repeat and same_relation(new, known)
        if is_same and not says_more(new.told, one.memory.told):
            return Settlement(Verdict.REINFORCE, one.memory, f"the same {one.memory.predicate}")
        is_judged = one.judgment is not None and one.judgment.is_same and one.judgment.is_certain
        if settles and one.judgment is not None and is_judged and may_be_same(new, known):
            return Settlement(Verdict.REPEAT, one.memory, f"the same, says {one.judgment.by}")
        if is_close and may_share_subject(new, one.memory) and same_specifics(new, known, likeness):
            return Settlement(Verdict.REINFORCE, one.memory, f"says the same, {one.similarity:.2f} alike")
    return None


def _version(
    new: Memory,
    nearest: Sequence[tuple[Neighbor, Memory]],
    policy: CapturePolicy,
    is_later: Callable[[Memory], bool],
    links: tuple[Neighbor, ...],
) -> Settlement:
    """Return the statement as a new version of a near one, where the policy knows versions, or by itself."""
    has_versions = policy.version_overlap_above < 1 and not new.is_restatement
    for one, _ in nearest if has_versions else ():
        is_free = not (one.memory.pinned or one.memory.is_restatement)
        may_replace = is_free and not is_weaker(new, one.memory)
        if may_replace and overlap(new.told, one.memory.told) > policy.version_overlap_above:
            if is_later(one.memory):
                return Settlement(Verdict.PRECEDE, one.memory, "a new version", links=links)
            effect = Effect(Verdict.SUPERSEDE, one.memory, "a new version")
            return Settlement(Verdict.CREATE, effects=(effect,), links=links)
    return Settlement(Verdict.CREATE, links=links)


# Judge: what rules and a judge make of a pair.


def _contradicted(
    new: Memory,
    nearest: Sequence[tuple[Neighbor, Memory]],
    policy: CapturePolicy,
    is_later: Callable[[Memory], bool],
) -> list[tuple[Neighbor, Conflict]]:
    """Return the neighbors that the statement contradicts or is contradicted by, the surest first."""
    if policy.conflict_above >= 1:
        return []
    found = []
    tells_change = is_change(new)
    for one, known in nearest:
        if not (tells_change or _may_contradict(new, known, one, policy)):
            continue
        later, earlier = (known, new) if is_later(one.memory) else (new, known)
        judged = judge_pair(later, earlier, one, policy)
        if judged is not None:
            found.append((one, judged))
    return sorted(found, key=lambda pair: (not pair[1].is_sure, -pair[1].chance - pair[0].similarity))


def _may_contradict(new: Memory, known: Memory, near: Neighbor, policy: CapturePolicy) -> bool:
    """Return whether a pair is worth a look: in a bulk most neighbors only have some words in common."""
    is_near = near.judgment is not None or near.similarity > policy.conflict_above
    return is_near or is_change(known) or same_slot(new, known)


def judge_pair(later: Memory, earlier: Memory, near: Neighbor, policy: CapturePolicy) -> Conflict | None:
    """
    Return whether two statements contradict each other, by rules and by what a judge made of them.

    Each may be wrong alone. What the judge finds harmless is no more than a doubt, whatever the rules say;
    what only a small model finds contradicted is one, too, unless the words swap a value as a change.
    """
    if later.kind is Kind.EPISODE and earlier.kind is Kind.EPISODE:
        return None  # what happened, happened
    judgment = near.judgment
    # A named replacement needs no likeness: "moved to Paris" and "lives in Berlin" need not sound alike.
    # Nor does what can have one value only: an employer, a deadline.
    is_close = near.similarity > policy.conflict_above or is_change(later) or same_slot(later, earlier)
    ruled = conflict(later, earlier) if is_close else None
    if ruled is not None:
        is_denied = judgment is not None and judgment.is_harmless
        # "I was married" ends no "I'm not married", and tense is more than rules can tell.
        is_over = earlier.is_negated and not later.is_negated and not is_change(later)
        is_sure = not is_denied and not is_over
        return Conflict(1.0 if is_sure else UNSURE, is_sure=is_sure, reason=ruled)
    is_swapped = changes_value(later, earlier)
    is_weighty = is_swapped or may_bear_on(later, earlier, near.similarity)
    if judgment is None or not (judgment.is_certain or is_weighty):
        reason = "said with another value, as a change"
        return Conflict(UNSURE, is_sure=False, reason=reason) if is_swapped else None
    if judgment.is_conflict:
        is_sure = judgment.is_certain or is_swapped
        chance = judgment.conflict if is_sure else min(judgment.conflict, MAX_UNSURE)
        return Conflict(chance, is_sure=is_sure, reason=f"contradicted, says {judgment.by}")
    is_short = max(len(one.told.split()) for one in (later, earlier)) <= _SHORT_WORDS
    is_doubt = _is_doubt(judgment, near.similarity, is_short=is_short)
    if is_doubt or (is_swapped and not judgment.is_harmless):
        chance = min(max(judgment.conflict, UNSURE if is_swapped else 0.0), MAX_UNSURE)
        return Conflict(chance, is_sure=False, reason=f"may be outdated, says {judgment.by}")
    return None


def _is_doubt(judgment: PairJudgment, likeness: float, *, is_short: bool) -> bool:
    """
    Return whether a judge that is not sure is believed: the less two sound alike, the surer it must be.

    Of a few words it knows little: "Mia is seven" makes "two kids, Mia and Ben" no doubtful fact.
    """
    least = _LEAST_CHANCE_SHORT if is_short else _LEAST_CHANCE
    return judgment.conflict >= least and judgment.conflict + likeness >= _DOUBT_FROM


# Weigh: what a contradiction may do.


def _doubts(
    new: Memory, neighbors: Sequence[Neighbor], is_later: Callable[[Memory], bool]
) -> Iterator[Effect]:
    """Yield what is made doubtful by words that were hedged, reported or a request: a judge is quite sure."""
    judged = [(one.judgment.conflict, one) for one in neighbors if one.judgment is not None]
    for chance, one in sorted(judged, key=lambda pair: -pair[0])[:MAX_DOUBTED]:
        old = one.memory
        is_open = not (is_later(old) or old.pinned or is_weaker(new, old)) and _is_by_same(new, old)
        is_open = is_open and may_bear_on(new, old, one.similarity)
        if chance >= LIKELY and is_open and one.judgment is not None:
            reason = f"may be outdated, says {one.judgment.by}"
            yield Effect(Verdict.CHALLENGE, old, reason, min(chance, MAX_UNSURE))


def _effects(
    new: Memory,
    against: Sequence[tuple[Neighbor, Conflict]],
    policy: CapturePolicy,
    is_later: Callable[[Memory], bool],
    *,
    is_persons_act: bool,
) -> list[Effect]:
    """Return what the statement does to each older one that it contradicts."""
    found: list[Effect] = []
    retired = doubted = 0
    for one, conflict_ in against:
        if is_later(one.memory):
            continue
        doubted += not conflict_.is_sure
        if not conflict_.is_sure and doubted > MAX_DOUBTED:
            continue
        verdict = weigh(new, one.memory, conflict_, policy, is_persons_act=is_persons_act)
        if verdict is Verdict.SUPERSEDE:
            retired += 1
            verdict = Verdict.SUPERSEDE if retired <= MAX_RETIRED else Verdict.CHALLENGE
        if verdict is not Verdict.CREATE:
            found.append(Effect(verdict, one.memory, conflict_.reason, conflict_.chance))
    return found


def weigh(
    new: Memory, old: Memory, found: Conflict, policy: CapturePolicy, *, is_persons_act: bool = False
) -> Verdict:
    """
    Return what becomes of an older statement that a newer one contradicts: superseded, challenged, or left.

    A weaker source and another speaker may at most challenge. A mere doubt of theirs does nothing: it must be
    likely, of what is not guarded and by nobody else, such as an agent that reports what it did. What is
    pinned or about health gives way only to a person who asks for it in words that tell of a change, what
    was stated often only to such words. What says more than is contradicted stays.
    """
    if is_weaker(new, old) or not _is_by_same(new, old):
        is_report = found.chance >= LIKELY and _is_by_same(new, old) and not is_guarded(old)
        return Verdict.CHALLENGE if found.is_sure or is_report else Verdict.CREATE
    if is_guarded(old) and not (is_persons_act and is_change(new)):
        return Verdict.CHALLENGE
    is_supported = old.evidence_count >= policy.evidence_to_coexist and not is_change(new)
    if not found.is_sure or is_supported or says_more(old.told, new.told):
        return Verdict.CHALLENGE
    return Verdict.SUPERSEDE


def weigh_against_later(new: Memory, later: Memory, found: Conflict) -> Verdict:
    """Return what becomes of a statement that comes in after one that was made later and contradicts it."""
    if is_weaker(later, new) or not _is_by_same(new, later) or (is_guarded(new) and not is_guarded(later)):
        return Verdict.CREATE
    if not found.is_sure or says_more(new.told, later.told):
        return Verdict.YIELD
    return Verdict.PRECEDE


def is_weaker(new: Memory, old: Memory) -> bool:
    """Return whether a memory comes from a source that is trusted less than that of another."""
    return new.provenance.source.trust < old.provenance.source.trust


def _is_by_same(new: Memory, old: Memory) -> bool:
    """
    Return whether nobody else speaks.

    Words without a speaker are the user's own, or an agent's about them; what somebody by name says counts as
    the user's where the scope is theirs.
    """
    speaker, known = new.provenance.speaker, old.provenance.speaker
    if speaker is None or speaker == known:
        return True
    return known is None and new.scope.user is not None and speaker.casefold() == new.scope.user.casefold()


def surprise(nearness: Sequence[float]) -> float | None:
    """Return how new a statement is, 0 to 1, or None where too little is known to say."""
    if len(nearness) < SURPRISE_NEIGHBORS:
        return None
    nearest = sorted(nearness, reverse=True)[:SURPRISE_NEIGHBORS]
    return 1 - sum(nearest) / len(nearest)


def _links(nearest: Sequence[Neighbor], policy: CapturePolicy) -> tuple[Neighbor, ...]:
    fitting = [one for one in nearest if policy.link_above < one.similarity <= policy.same_above]
    return tuple(fitting[:MAX_LINKS])
