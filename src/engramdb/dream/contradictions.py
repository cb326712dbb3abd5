"""
The step `contradictions`: decide what capture left open, by evidence and by how fresh it is.

Capture leaves two statements side by side where it is not sure, or where the older one was well supported:
the older one is challenged. Here each weighs what it was stated, halved for every half-life without
confirmation: a clear winner supersedes, unless the loser is guarded or better trusted; otherwise a question
is asked, and both stay. What says more than its winner stays beside it. Under a policy that settles nothing
at capture, contradictions among notes are looked for as well, and the newer note wins.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from datetime import datetime

from msgspec import Struct

from engramdb.dream.gaps import ask_question
from engramdb.dream.neighbors import MAX_BUCKET, ScopeStatements, changed_scopes
from engramdb.dream.step import Dreaming, Proposal, Restatus, Supersede
from engramdb.lifecycle.pair_rules import contradicts
from engramdb.lifecycle.questions import CONTRADICTED, contradiction_question, hold_both
from engramdb.lifecycle.settle import MAX_UNSURE, is_weaker
from engramdb.policy import DreamPolicy
from engramdb.text.guarded import is_guarded
from engramdb.text.normalize import normalize_text
from engramdb.text.relations import says_more
from engramdb.values import BELIEVED, EdgeType, Kind, Memory, Status

DAY_SECONDS = 86_400


class ContradictionsStep(Struct, frozen=True):
    """Settles statements that cannot both hold."""

    name: str = "contradictions"

    def propose(self, dreaming: Dreaming) -> Iterator[Proposal]:
        """Yield a winner for each open contradiction, oldest first, or a question where there is none."""
        if dreaming.policy.dream.reconsolidates_notes:
            for scene in changed_scopes(dreaming):
                yield from _supersede_older_notes(scene, dreaming)
        with dreaming.store.read() as tx:
            pairs = tx.dreams.open_contradictions(scope=dreaming.scope)
        for keys in map(sorted, pairs):
            with dreaming.store.read() as tx:
                read = tx.memories.by_keys(keys)
            both = [read[key] for key in keys if key in read and read[key].status in BELIEVED]
            if len(both) == len(keys):
                yield from _settle_pair(both[0], both[1], dreaming)


def evidence_weight(memory: Memory, policy: DreamPolicy, now: datetime) -> float:
    """Return the evidence for a statement: how often it was stated, by whom, and how recently."""
    age = max(0.0, (now - memory.last_stated_at).total_seconds()) / DAY_SECONDS
    return float(
        memory.evidence_count * memory.provenance.source.trust * 0.5 ** (age / policy.evidence_half_life_days)
    )


def _settle_pair(one: Memory, other: Memory, dreaming: Dreaming) -> Iterator[Proposal]:
    policy, now = dreaming.policy.dream, dreaming.now
    heavier, lighter = sorted(
        (one, other), key=lambda m: (m.pinned, evidence_weight(m, policy, now), m.when, m.id), reverse=True
    )
    is_clear = evidence_weight(heavier, policy, now) >= policy.clear_winner * evidence_weight(
        lighter, policy, now
    )
    may_lose = not is_guarded(lighter) and not is_weaker(heavier, lighter)
    if is_clear and may_lose and _is_sure(one, other, dreaming) and not says_more(lighter.told, heavier.told):
        yield Supersede(winner=heavier, loser=lighter, reason="stated more often or more lately")
        return
    gap = contradiction_question(one, other, priority=CONTRADICTED, now=now)
    with dreaming.store.read() as tx:
        is_news = tx.gaps.is_news(gap)
    if is_news:
        yield ask_question(gap)
    older = min(one, other, key=lambda m: (m.last_stated_at, m.id))
    if Status.CHALLENGED not in (one.status, other.status) and not older.pinned:
        yield Restatus(memory=older, status=Status.CHALLENGED, reason="a newer statement contradicts it")


def _is_sure(one: Memory, other: Memory, dreaming: Dreaming) -> bool:
    """Return whether it is sure that two cannot both hold; a doubt is for the person to settle."""
    with dreaming.store.read() as tx:
        return any(
            edge.type is EdgeType.CONTRADICTS and other.id in (edge.source, edge.target)
            for edge in tx.edges.of(one.id)
            if edge.weight > MAX_UNSURE
        )


def _supersede_older_notes(scene: ScopeStatements, dreaming: Dreaming) -> Iterator[Proposal]:
    """Let newer notes supersede older ones that they contradict, the oldest first."""
    files: defaultdict[Hashable, list[int]] = defaultdict(list)
    for place, (outline, wording) in enumerate(zip(scene.outlines, scene.wordings, strict=True)):
        if outline.subject and outline.predicate:
            files[normalize_text(outline.subject), outline.predicate].append(place)
        files[outline.speaker, wording.bag].append(place)  # a denial has the same words
    pairs = {
        pair
        for file in files.values()
        if 1 < len(file) <= MAX_BUCKET
        for pair in itertools.combinations(file, 2)
        if any(scene.outlines[place].is_fresh for place in pair)
    }
    gone: set[str] = set()
    for first, second in sorted(pairs, key=lambda pair: (pair[1], pair[0])):
        keys = [scene.outlines[place].key for place in (first, second)]
        with dreaming.store.read() as tx:
            read = tx.memories.by_keys(keys)
        both = sorted(
            (memory for memory in read.values() if memory.id not in gone), key=lambda one: one.last_stated_at
        )
        if _is_contradicted(both) and not _are_kept(dreaming, both):
            gone.add(both[0].id)
            yield Supersede(winner=both[1], loser=both[0], reason="a newer note contradicts it")


def _are_kept(dreaming: Dreaming, both: Sequence[Memory]) -> bool:
    """Return whether somebody has said that both hold."""
    with dreaming.store.read() as tx:
        return hold_both(tx, *both)


def _is_contradicted(both: Sequence[Memory]) -> bool:
    """Return whether the first of two notes is contradicted by the second."""
    are_notes = len(both) == 2 and all(one.kind is Kind.NOTE and one.status is Status.ACTIVE for one in both)
    if not are_notes or both[0].pinned or says_more(both[0].told, both[1].told):
        return False
    return contradicts(both[1], both[0])
