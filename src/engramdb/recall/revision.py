"""
Answers where beliefs were revised: successors, both sides of a dispute, and questions that rest on the past.

What was superseded or merged is searched too, and lends its fit to what stands in its place: whatever
question found the old statement finds the new one. A disputed memory comes with what disputes it, that one
first. A question that takes something outdated for granted is answered with the change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field
from msgspec.structs import replace

from engramdb.errors import EngramError
from engramdb.lifecycle.questions import open_questions_about
from engramdb.lifecycle.transitions import DISPUTING
from engramdb.recall.as_of import held_instead
from engramdb.recall.fuse import Fused, RankingSignal
from engramdb.recall.period import lies_in
from engramdb.store.contract import Transaction
from engramdb.text.changes import WordSort, difference, tells_change
from engramdb.text.force import has_cue
from engramdb.text.guarded import is_guarded
from engramdb.text.terms import query_terms
from engramdb.values import BELIEVED, Dispute, Edge, EdgeType, Filters, Hit, Memory, OutdatedPremise, Status
from engramdb.vault.indexing import open_memory

if TYPE_CHECKING:
    from engramdb.recall.pipeline import Asking

REPLACED: Final = "replaced"
"""The signal of what stands in the place of a memory that fits."""
PREMISES: Final = "premises"
"""What an answer calls the look at what a question takes for granted."""
DISPUTES: Final = "disputes"
"""Why a memory is there that the question did not find: it speaks against one that it found."""
GONE: Final = frozenset({Status.SUPERSEDED, Status.MERGED})
SUPERSEDED_LENDS: Final = 0.95
"""The share of its fit that a superseded memory lends: what says the same itself stands before its heir."""
LIKELY_OUTDATED: Final = 0.8
"""From this chance of a conflict the newer side stands first, however well each fits;"""
FITS_AS_WELL: Final = 0.8
"""below it, where it has so much of the other's score: a lookalike rarely fits the question."""
MAX_CHANGES: Final = 6
"""Changes that a question is held against."""
MAX_CANDIDATES: Final = 20
"""Candidates among which disputed memories are looked for: what a question rests on it need not name."""
MAX_LOOKED_AT: Final = 5
"""Hits whose own past is looked at."""


def with_past(filters: Filters) -> Filters:
    """Return the filters to search with, where only what counts now is asked for."""
    return replace(filters, statuses=BELIEVED | GONE) if filters.statuses == BELIEVED else filters


class Succession(Struct, frozen=True):
    """The candidates that count now, what their predecessors lend them, and which those are."""

    living: list[Fused]
    signal: RankingSignal
    heirs: dict[int, int]
    """By the key of what was superseded, best first."""
    stands_for: dict[int, int] = field(default_factory=dict)
    """By the key of what was superseded or merged."""


def succeed(tx: Transaction, fused: Sequence[Fused], asking: Asking, *, unfound: float) -> Succession:
    """Let what stands in the place of each candidate that is gone answer for it."""
    query = asking.query
    if asking.then.is_past:
        return Succession(list(fused), _of_then(tx, fused, asking, unfound=unfound), {})
    if query.filters.statuses != BELIEVED:
        return Succession(list(fused), RankingSignal(name=REPLACED), {})
    keys = [one.key for one in fused]
    heirs = tx.memories.heirs(keys)
    shown = tx.candidates.filter_keys(
        [*keys, *(heir for heir, _ in heirs.values())],
        scope=query.scope,
        filters=query.filters,
        at=asking.now,
    )
    own = {one.key: one.score for one in fused}
    gained: dict[int, float] = {}
    for key, (heir, is_same) in heirs.items():
        lent = own[key] * (1.0 if is_same else SUPERSEDED_LENDS) - own.get(heir, unfound)
        if heir in shown and lent > gained.get(heir, 0.0):
            gained[heir] = lent
    living = [one for one in fused if one.key in shown]
    left = {key: heir for key, (heir, is_same) in heirs.items() if heir in shown and not is_same}
    ordered = {one.key: left[one.key] for one in fused if one.key in left}
    every = {key: heir for key, (heir, _) in heirs.items() if heir in shown}
    return Succession(living, RankingSignal(name=REPLACED, gained=gained), ordered, every)


def _of_then(tx: Transaction, fused: Sequence[Fused], asking: Asking, *, unfound: float) -> RankingSignal:
    """Let what held then answer for what came before and after it."""
    own = {one.key: one.score for one in fused}
    query = asking.query
    lent = held_instead(tx, own, then=asking.then, scope=query.scope, filters=query.filters, now=asking.now)
    gained = {key: score * SUPERSEDED_LENDS - own.get(key, unfound) for key, score in lent.items()}
    return RankingSignal(name=REPLACED, gained={key: more for key, more in gained.items() if more > 0})


# Both sides of a dispute.


def both_sides(
    tx: Transaction, asking: Asking, hits: Sequence[Hit], weigh: Callable[[Memory, Hit], Hit]
) -> list[Hit]:
    """Return the hits with what disputes each of them, that one before it, and the question that is open."""
    doubted = [hit.memory.id for hit in hits if hit.memory.status is Status.CHALLENGED]
    if not doubted:
        return list(hits)
    sides = _Sides(tx, asking, weigh, {hit.memory.id: hit for hit in hits})
    sides.hold_back(hits)
    for hit in hits:
        sides.place(hit)
    return list(sides.placed.values())


class _Sides(Struct):
    """Places hits so that what likely ended one of them stands before it, through chains of changes."""

    tx: Transaction
    asking: Asking
    weigh: Callable[[Memory, Hit], Hit]
    given: dict[str, Hit]
    stronger: dict[str, list[Hit]] = field(default_factory=dict)
    """What each weaker side disputes and must stand behind."""
    placed: dict[str, Hit] = field(default_factory=dict)
    begun: set[str] = field(default_factory=set)

    def hold_back(self, hits: Sequence[Hit]) -> None:
        """Note which weaker sides stand behind what they dispute, however well they fit."""
        for hit in hits:
            for edge, other in _disputing(self.tx, self.asking, hit.memory):
                if edge.type is EdgeType.CONTRADICTS and _yields(other, hit.memory):
                    self.stronger.setdefault(other.id, []).append(hit)

    def place(self, hit: Hit) -> None:
        """Place a hit, before it what goes before it, and after it what else disputes it."""
        memory = hit.memory
        if memory.id in self.begun:
            return
        self.begun.add(memory.id)
        for other_hit in self.stronger.get(memory.id, ()):
            self.place(other_hit)
        disputing = list(_disputing(self.tx, self.asking, memory))
        behind: list[Hit] = []
        for edge, other in disputing:
            if edge.type is EdgeType.CONTRADICTS and self._is_of_the_time(other):
                found = self.given.get(other.id)
                shown = found or self.weigh(other, hit)
                if _goes_before(edge, hit, other, found):
                    self.place(shown)
                else:
                    behind.append(shown)
        self.placed[memory.id] = replace(hit, disputes=self._disputes(memory, disputing))
        for other_hit in behind:
            self.place(other_hit)

    def _is_of_the_time(self, other: Memory) -> bool:
        """Return whether a memory stands beside what it disputes: not where another time was asked for."""
        period = self.asking.plan.period
        return period is None or lies_in(period, other.when, other.stated_at)

    def _disputes(self, memory: Memory, disputing: Sequence[tuple[Edge, Memory]]) -> tuple[Dispute, ...]:
        """Return what disputes a memory with the open question, or that alone where nothing was said."""
        if memory.status is not Status.CHALLENGED:
            return ()
        questions = open_questions_about(self.tx, memory.id, self.asking.query.scope)
        if not disputing:
            return tuple(Dispute(question_id=one.id, question=one.question) for one in questions[:1])
        found = []
        for edge, other in disputing:
            asked = next((one for one in questions if other.id in one.memories), None)
            told = Dispute() if asked is None else Dispute(question_id=asked.id, question=asked.question)
            found.append(replace(told, by=other.id, kind=edge.type))
        return tuple(found)


def _goes_before(edge: Edge, hit: Hit, other: Memory, found: Hit | None) -> bool:
    """Return whether what disputes a hit stands before it: it is likely right, or fits about as well."""
    if _yields(other, hit.memory):
        return False
    return edge.weight >= LIKELY_OUTDATED or (found is not None and found.score >= FITS_AS_WELL * hit.score)


def _yields(newer: Memory, older: Memory) -> bool:
    """Return whether a weaker source speaks against what is guarded, or without telling of a change."""
    is_weaker = newer.provenance.source.trust < older.provenance.source.trust
    return is_weaker and (is_guarded(older) or not tells_change(newer.told))


def _disputing(tx: Transaction, asking: Asking, memory: Memory) -> Iterator[tuple[Edge, Memory]]:
    """Yield the memories that dispute one or make it doubtful, as far as this question may see them."""
    if memory.status is not Status.CHALLENGED:
        return
    until = asking.then.as_of or asking.now
    for edge in tx.edges.of(memory.id):
        if edge.target == memory.id and edge.type in DISPUTING and edge.created_at <= until:
            other = tx.memories.get(edge.source, scope=asking.query.scope)
            is_of_then = asking.then.valid_at is None or (other and other.holds_at(asking.then.valid_at))
            is_shown = tx.memories.passes(edge.source, scope=asking.query.scope, filters=asking.query.filters)
            if other is not None and is_shown and is_of_then and not other.is_over(until):
                yield edge, other


# Whose word goes first.

MIN_SHARED: Final = 0.5
"""So much of what one says the other must say, for the two to tell of the same."""
MAX_OTHER_WORDS: Final = 3
OWN_WORDS_REACH: Final = 10
"""How many places own words may climb past a weaker source: from further behind they fit less."""


def own_words_first(hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits with what a weaker source says otherwise behind what it speaks of, disputed or not."""
    ordered: list[Hit] = []
    for hit in hits:
        behind = [one for one in ordered[-OWN_WORDS_REACH:] if _says_otherwise(one.memory, hit.memory)]
        ordered = [one for one in ordered if one not in behind]
        ordered += [hit, *behind]
    return ordered


def _says_otherwise(one: Memory, other: Memory) -> bool:
    """Return whether a weaker source says what a stronger one says, with another value and no change told."""
    if not _yields(one, other):
        return False
    found = difference(other.content, one.content)
    is_same_matter = bool(found.shared) and found.shared_share >= MIN_SHARED
    return is_same_matter and found.swaps_value and len(found.only_old) <= MAX_OTHER_WORDS


# Questions that take for granted what no longer holds.


def outdated_premises(
    tx: Transaction, asking: Asking, hits: Sequence[Hit], succession: Succession, *, near: Sequence[int]
) -> tuple[OutdatedPremise, ...]:
    """Return the changes that the question overlooks, of its hits and of what is `near` by key."""
    changes = list(islice(_changes(tx, asking, hits, succession, near), MAX_CHANGES))
    if not changes or asking.then.is_past:
        return ()
    judge = asking.sources.judge
    said = [(open_memory(old).told, open_memory(new).told) for old, new in changes]
    judged = None
    try:
        judged = None if judge is None else judge.rests_on(asking.query.text, said)
    except EngramError as exc:
        asking.notes.failed(PREMISES, exc, "rules told what the question takes for granted")
    found = []
    for place, (old, new) in enumerate(changes):
        is_certain = old.status is not Status.CHALLENGED
        rests = judged is not None and judged[place]
        may_name = judged is None or is_certain
        if rests or (may_name and _names_the_past(asking.query.text, *said[place])):
            found.append(OutdatedPremise(was=old, now=new, is_certain=is_certain))
    return tuple(found)


def _changes(
    tx: Transaction, asking: Asking, hits: Sequence[Hit], succession: Succession, near: Sequence[int]
) -> Iterator[tuple[Memory, Memory]]:
    """Yield what was and what is now, of what fits the question, best first and each once."""
    seen: set[str] = set()
    for old, new in _all_changes(tx, asking, hits, succession, near):
        if old.id not in seen and asking.query.scope.sees(old.scope) and not old.is_suspicious:
            seen.add(old.id)
            yield old, new


def _all_changes(
    tx: Transaction, asking: Asking, hits: Sequence[Hit], succession: Succession, near: Sequence[int]
) -> Iterator[tuple[Memory, Memory]]:
    scope = asking.query.scope
    best = list(succession.heirs.items())[:MAX_LOOKED_AT]
    read = tx.memories.by_keys([key for pair in best for key in pair])
    for gone, heir in best:
        if gone in read and heir in read:
            yield read[gone], read[heir]
    given = {hit.memory.id: hit.memory for hit in hits}
    for hit in hits[:MAX_LOOKED_AT]:
        for dispute in hit.disputes:
            if dispute.by is None or dispute.kind is not EdgeType.CONTRADICTS:
                continue
            other = given.get(dispute.by) or tx.memories.get(dispute.by, scope=scope)
            if other is not None:
                yield hit.memory, other
        if hit.memory.supersedes is not None:
            old = tx.memories.get(hit.memory.supersedes, scope=scope)
            if old is not None and old.status is Status.SUPERSEDED:
                yield old, hit.memory
    for old in tx.memories.by_keys(near).values():
        for edge, new in _disputing(tx, asking, old):
            if edge.type is EdgeType.CONTRADICTS:
                yield old, new


def _names_the_past(question: str, old: str, new: str) -> bool:
    """Return whether a question names a value that only the old statement has, and asks not of the past."""
    asked = set(query_terms(question))
    values = {term for term, sort in difference(old, new).only_old.items() if sort is not WordSort.WORD}
    return bool(asked & values) and not has_cue("of_the_past", question.casefold())
