"""
Answer one query: plan → gather → fuse → add signals → rerank → fetch → weigh → explain.

Called by the engine; reads one snapshot of the store from beginning to end. An index that fails or has
only part of the memories is named in the answer with its reason, and the others answer without it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from engram.recall.as_of import believed, widened
from engram.recall.collapse import collapse
from engram.recall.entity import expansions, named_in
from engram.recall.events import happened_at
from engram.recall.fuse import explain, fuse, with_signals
from engram.recall.gather import LEXICAL, VECTOR, Notes, Sources, embed, gather
from engram.recall.period import resolve_anchor
from engram.recall.plan import plan
from engram.recall.quality import average, ndcg
from engram.recall.rerank import MMR_POOL, by_difference, by_model, by_rank
from engram.recall.signals import SUBJECT, signals
from engram.recall.suppress import unhelpful
from engram.recall.surround import crowd_score
from engram.recall.trust import belief_score, trust
from engram.text.tokens import count_tokens
from engram.values import EdgeType, Hit, Missing, Quality, Recall

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from numpy.typing import NDArray

    from engram.policy import RecallPolicy
    from engram.recall.fuse import Fused, Signal
    from engram.recall.plan import Planned
    from engram.store.contract import Found, Transaction
    from engram.values import Memory, Query, Reason

CONSIDERED = 20
"""With `explain`, so many candidates that were left out are shown."""
PAST_CANDIDATES = 4
"""Of the past so many times as many candidates are looked at, since many were not there yet."""
_SPARE = 3
"""Of the past so many more than asked are fetched, since some stand for the same thing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asking:
    """A query under way: what it is asked of, how it is to be answered, and what was noted so far."""

    query: Query
    sources: Sources
    notes: Notes
    now: datetime
    as_of: datetime | None
    strategy: str
    vector: NDArray[np.float32] | None
    plan: Planned

    @property
    def policy(self) -> RecallPolicy:
        """The numbers that it is answered by."""
        return self.sources.policy

    @property
    def search(self) -> Query:
        """What the indexes are asked: of the past, also what has another status or layer today."""
        if self.as_of is None:
            return self.query
        return replace(self.query, filters=widened(self.query.filters))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ranked:
    """Candidates in order, and where their scores come from."""

    order: list[Fused]
    answers: Mapping[str, list[Found]]
    weights: Mapping[str, float]
    signals: Sequence[Signal]

    def reasons(self, keys: Sequence[int]) -> dict[int, tuple[Reason, ...]]:
        """Return what each index and signal gave to each of these memories."""
        return explain(keys, self.answers, self.weights, self.signals)


def recall(
    query: Query,
    sources: Sources,
    *,
    now: datetime,
    as_of: datetime | None = None,
    strategy: str | None = None,
    with_explanation: bool = False,
    vector: NDArray[np.float32] | None = None,
) -> Recall:
    """
    Return the memories that fit the query, best first, and how the answer came about.

    With `as_of` the answer is what was believed at that moment: memories that were stored by then, with the
    status, the layer and the confidence that they had. A `vector` is searched for in place of the text's own.
    """
    notes, started = Notes(), time.perf_counter()
    with notes.timed("plan"):
        planned = plan(query.text, sources.policy, now=now)
    asking = _Asking(
        query=query,
        sources=sources,
        notes=notes,
        now=now,
        as_of=as_of,
        strategy=strategy or sources.policy.strategy,
        vector=embed(query.text, sources, notes) if vector is None else vector,
        plan=planned,
    )
    wanted = query.limit + (CONSIDERED if with_explanation else 0)
    with sources.store.read() as tx:
        asking = _dated(tx, asking)
        ranked = _reordered(tx, asking, _without_unhelpful(tx, asking, _rank(tx, asking)))
        with notes.timed("fetch"):
            best = _answering(asking, _fetch(tx, asking, ranked.order, wanted=wanted))
            disputed = _contradicted(tx, asking, best)
    with notes.timed("weigh"):
        hits = _weighed(asking, ranked, best, disputed)
    elapsed = (time.perf_counter() - started) * 1000
    shown = tuple(hits[: query.limit])
    quality = _quality(asking, ranked, shown, milliseconds=elapsed)
    return Recall(query=query, hits=shown, quality=quality, also_considered=tuple(hits[query.limit :]))


def with_missing(answer: Recall, index: str, reason: str) -> Recall:
    """Return the answer with one more thing that did not take part."""
    missing = (*answer.quality.missing, Missing(index=index, reason=reason))
    return replace(answer, quality=replace(answer.quality, missing=missing))


def _dated(tx: Transaction, asking: _Asking) -> _Asking:
    """Return the question with the event dated that its time hangs on; one that is not known is noted."""
    period = asking.plan.period
    if period is None or period.anchor is None:
        return asking
    with asking.notes.timed("events"):
        by = asking.as_of or asking.now
        at = happened_at(tx, period.anchor, asking.search, lexical=asking.sources.lexical, by=by)
    if at is None:
        asking.notes.lost("time", "no memory says when the event was that the question names")
        known = None if period.start is None and period.end is None else replace(period, anchor=None)
    else:
        known = resolve_anchor(period, at)
    return replace(asking, plan=replace(asking.plan, period=known))


def _rank(tx: Transaction, asking: _Asking) -> _Ranked:
    """Return the candidates in order of what the indexes and the signals give them."""
    notes, weights, query = asking.notes, asking.plan.weights, asking.search
    with notes.timed("names"):
        entities = named_in(tx, query.text, scope=query.scope) if asking.policy.uses_entities else []
        words = " ".join([query.text, *expansions(entities, query.text)[: asking.policy.expand_aliases]])
    answers = gather(
        tx,
        query,
        asking.vector,
        asking.sources,
        notes,
        words=words,
        candidates=asking.plan.candidates * (1 if asking.as_of is None else PAST_CANDIDATES),
    )
    with notes.timed("fuse"):
        fused = fuse(answers, weights)
    added = signals(tx, fused, query, asking.sources, plan=asking.plan, entities=entities, notes=notes)
    with notes.timed("add"):
        order = with_signals(fused, added, unfound=crowd_score(fused, asking.policy))
    return _Ranked(order=order, answers=answers, weights=weights, signals=added)


def _without_unhelpful(tx: Transaction, asking: _Asking, ranked: _Ranked) -> _Ranked:
    """Return the candidates without those that were of no help for such a question."""
    with asking.notes.timed("feedback"):
        gone = unhelpful(
            tx,
            [one.key for one in ranked.order],
            asking.query.text,
            asking.vector,
            embedder=asking.sources.embedder,
            policy=asking.policy,
            now=asking.now,
        )
    return replace(ranked, order=[one for one in ranked.order if one.key not in gone]) if gone else ranked


def _reordered(tx: Transaction, asking: _Asking, ranked: _Ranked) -> _Ranked:
    """Return the candidates in the order of the strategy; one that cannot be followed says so."""
    policy, order = asking.policy, ranked.order
    with asking.notes.timed("rerank"):
        if asking.strategy == "cross_encoder":
            order = _read_by_model(tx, asking, order)
        if asking.strategy in ("rrf", "rrf_then_mmr"):
            order = by_rank(order, ranked.answers, ranked.weights, constant=policy.rank_constant)
        if asking.strategy in ("mmr", "rrf_then_mmr") and asking.vector is not None:
            floor = asking.sources.embedder.similarity_floor
            vectors = _vectors(tx, asking, order)
            order = by_difference(order, vectors, relevance=policy.mmr_lambda, floor=floor)
    return replace(ranked, order=order)


def _read_by_model(tx: Transaction, asking: _Asking, order: list[Fused]) -> list[Fused]:
    model = asking.sources.reranker
    if model is None:
        asking.notes.lost("reranker", "no cross-encoder is available; the order of scores was kept")
        return order
    top = order[: max(asking.query.limit, asking.policy.candidates // 2)]
    memories = tx.memories.by_keys([one.key for one in top])
    texts = {key: memory.content for key, memory in memories.items()}
    try:
        return by_model(order, asking.query.text, texts, model)
    except Exception as exc:  # noqa: BLE001 - it is the user's own, and may fail in any way
        asking.notes.lost(
            "reranker", f"{model.name} failed ({type(exc).__name__}); the order of scores was kept"
        )
        return order


def _vectors(tx: Transaction, asking: _Asking, order: Sequence[Fused]) -> dict[int, NDArray[np.float32]]:
    space = tx.vectors.space(asking.sources.embedder.identity)
    if space is None:
        return {}
    keys, found = tx.vectors.fetch(space, [one.key for one in order[:MMR_POOL]])
    rows = found.numbers * found.scales[:, None]
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
    return dict(zip(keys, rows, strict=True))


def _answering(asking: _Asking, best: Sequence[tuple[Fused, Memory]]) -> list[tuple[Fused, Memory]]:
    """Return what fits well enough to be an answer, and a few at any rate: the best may be asked in vain."""
    policy = asking.policy
    return [
        pair
        for place, pair in enumerate(best)
        if pair[0].score >= (policy.nothing_below if place < policy.least_hits else policy.least_score)
    ]


def _fetch(
    tx: Transaction, asking: _Asking, order: Sequence[Fused], *, wanted: int
) -> list[tuple[Fused, Memory]]:
    """Return the best as memories; whatever an index remembers wrongly is left out here once more."""
    if asking.as_of is not None:
        return _fetch_past(tx, asking, order, asking.as_of, wanted=wanted)
    best: list[tuple[Fused, Memory]] = []
    for start in range(0, len(order), wanted):
        page = order[start : start + wanted]
        memories = tx.memories.by_keys([one.key for one in page])
        found = [(one, memories[one.key]) for one in page if one.key in memories]
        best += [(one, memory) for one, memory in found if _fits(memory, asking.query, asking.now)]
        best = collapse(best, lambda pair: pair[1])
        if len(best) >= wanted:
            break
    return best[:wanted]


def _fetch_past(
    tx: Transaction, asking: _Asking, order: Sequence[Fused], moment: datetime, *, wanted: int
) -> list[tuple[Fused, Memory]]:
    """Return the best as the memories that they were at that moment."""
    scored = {one.key: one for one in order}
    found = believed(
        tx,
        list(scored),
        moment=moment,
        scope=asking.query.scope,
        statuses=asking.query.filters.statuses,
        layers=asking.query.filters.layers,
        limit=wanted + _SPARE,
    )
    if len(found) < wanted and len(order) >= asking.plan.candidates * PAST_CANDIDATES:
        asking.notes.lost("past", "most candidates were stored later; older ones may be missing")
    return collapse([(scored[key], memory) for key, memory in found], lambda pair: pair[1])[:wanted]


def _fits(memory: Memory, query: Query, now: datetime) -> bool:
    """Say whether a memory may be shown; one whose last day is over counts as gone before a sweep comes."""
    is_over = memory.forget_after is not None and memory.forget_after <= now
    return not is_over and query.scope.sees(memory.scope) and memory.status in query.filters.statuses


def _contradicted(tx: Transaction, asking: _Asking, best: Sequence[tuple[Fused, Memory]]) -> set[str]:
    """Return which of these memories stand against another one, by the moment that is asked about."""
    until = asking.as_of or asking.now
    keys = [one.key for one, _ in best]
    linked = tx.edges.touching(keys)
    against = {
        key
        for source, target, kind in zip(linked.sources, linked.targets, linked.types, strict=True)
        if kind == EdgeType.CONTRADICTS
        for key in (int(source), int(target))
    }
    return {
        memory.id
        for one, memory in best
        if one.key in against
        and any(
            edge.type is EdgeType.CONTRADICTS and edge.created_at <= until for edge in tx.edges.of(memory.id)
        )
    }


def _weighed(
    asking: _Asking, ranked: _Ranked, best: Sequence[tuple[Fused, Memory]], disputed: set[str]
) -> list[Hit]:
    """Return the hits with their trust, in the order of the policy's formula."""
    reasons = ranked.reasons([one.key for one, _ in best])
    hits = [_hit(asking, one, memory, reasons[one.key], disputed) for one, memory in best]
    return hits if asking.policy.formula == "relevance" else sorted(hits, key=lambda hit: -hit.score)


def _hit(asking: _Asking, one: Fused, memory: Memory, reasons: tuple[Reason, ...], disputed: set[str]) -> Hit:
    policy, relevance = asking.policy, min(1.0, max(0.0, one.score))
    is_contradicted = memory.id in disputed
    believed = trust(
        memory,
        relevance=relevance,
        is_contradicted=is_contradicted,
        now=asking.as_of or asking.now,
        policy=policy,
    )
    score = believed.composite if policy.formula == "trust" else relevance
    if policy.formula == "beliefs":
        is_subject = any(reason.index == SUBJECT for reason in reasons)
        score = belief_score(
            memory, relevance=relevance, is_subject=is_subject, now=asking.as_of or asking.now
        )
    return Hit(memory=memory, score=score, trust=believed, reasons=reasons)


def _tokens(memory: Memory) -> int:
    """Return what the content costs: counted when it was stored, or now where nothing was inferred yet."""
    return memory.detail.tokens.get("full") or count_tokens(memory.content)


def _quality(asking: _Asking, ranked: _Ranked, hits: Sequence[Hit], *, milliseconds: float) -> Quality:
    notes, period = asking.notes, asking.plan.period
    return Quality(
        answered=tuple(ranked.answers),
        missing=tuple(notes.missing),
        level=notes.level,
        intent=asking.plan.intent,
        strategy=asking.strategy,
        text_weight=ranked.weights[LEXICAL] if VECTOR in ranked.answers else 1.0,
        period=None if period is None else (period.start, period.end),
        candidates=len(ranked.order),
        average_relevancy=average([hit.trust.relevance for hit in hits]),
        ndcg=ndcg([hit.trust.composite for hit in hits]),
        tokens=sum(_tokens(hit.memory) for hit in hits),
        milliseconds=milliseconds,
        stages=notes.stages,
    )
