"""The read path: plan, gather, fuse, weigh, explain."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from datetime import datetime

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace
from numpy.typing import NDArray

from engramdb.errors import EngramError, ModelUnavailable, StoreCorrupt
from engramdb.health import RERANKER
from engramdb.policy import RecallPolicy
from engramdb.recall.anchors import happened_at
from engramdb.recall.archived import find_archived
from engramdb.recall.as_of import widened
from engramdb.recall.entity import expansions, named_in
from engramdb.recall.fuse import (
    MMR_POOL,
    Fused,
    RankingSignal,
    behind_siblings,
    by_difference,
    by_model,
    by_rank,
    explain,
    fuse,
    unhelpful,
    with_signals,
)
from engramdb.recall.gather import (
    LEXICAL,
    PAST_CANDIDATES,
    VECTOR,
    Notes,
    Sources,
    answering,
    contradicted,
    crowd_score,
    embed,
    fetch,
    gather,
    gather_period,
    named_truly,
    open_sketches,
    united,
)
from engramdb.recall.period import Period, asks_of_the_past, lies_in, resolve_anchor
from engramdb.recall.plan import RecallPlan, plan
from engramdb.recall.revision import (
    DISPUTES,
    MAX_CANDIDATES,
    REPLACED,
    Succession,
    both_sides,
    outdated_premises,
    own_words_first,
    succeed,
    with_past,
)
from engramdb.recall.said import TURNS, falls_short, find_said
from engramdb.recall.signals import (
    HOP,
    LATE,
    SKETCHED,
    SUBJECT,
    TIME,
    TRUST_RELEVANCE,
    belief_score,
    late_interaction,
    second_hop,
    signals,
    trust,
)
from engramdb.store.contract import ScoredKey, Transaction
from engramdb.text.guarded import is_guarded
from engramdb.text.terms import query_terms
from engramdb.text.tokens import count_tokens
from engramdb.values import Entity, Hit, Kind, Memory, Missing, Quality, Query, Reason, Recall, SaidTurn
from engramdb.values.query import PRESENT, Then
from engramdb.values.reading import Lasting
from engramdb.values.recall import unreadable_notes
from engramdb.vault.indexing import open_memory

ANSWERS = "answers"
"""The signal of a judge that has read the question and the memory."""
MAX_READ = 20
"""How many of the best it reads: 120 ms of a pack's time;"""
MAX_LOOKED_THROUGH = 30
"""among how many, where a time is asked for;"""
MAX_REPLACED_READ = 3
"""and of how many that are gone, for what stands in their place."""
ANSWER_BONUS = 0.5
"""What a memory gains that surely answers, in order and in relevance: docs/lab/0051-answers.md."""
HALF_KNOWN_FIT, FIT_WIDTH = 0.2, 0.024
"""Without a judge: where the best fits so well, the answer is known as often as not, and how fast that turns.
It tells what a store knows nothing of, and no near misses: docs/lab/0056-answers.md."""
OF_ITS_TIME = 0.5
"""What is of the time that was asked for is as likely an answer as not, whatever it is about."""
FORMULA_PLACES = 8
"""By how many places trust, or the formula of `beliefs`, moves a hit at most."""
RANK_CONSTANT = 60
"""How little the first ranks count for more than the next, in reciprocal rank fusion."""

# A query under way, and its candidates in order: what the steps of the pipeline hand on to one another.


class Asking(Struct, frozen=True, kw_only=True):
    """A query under way: what it is asked of, how it is to be answered, and what was noted so far."""

    query: Query
    sources: Sources
    notes: Notes
    now: datetime
    then: Then
    strategy: str
    vector: NDArray[np.float32] | None
    plan: RecallPlan

    @property
    def policy(self) -> RecallPolicy:
        """The numbers that it is answered by."""
        return self.sources.policy

    @property
    def current(self) -> Query:
        """What may be added beside what the indexes found."""
        return self.search if self.then.is_past else self.query

    @property
    def search(self) -> Query:
        """What the indexes are asked: also what was replaced since, and of the past, what is other today."""
        if self.then.is_past:
            return replace(self.query, filters=widened(self.query.filters))
        return replace(self.query, filters=with_past(self.query.filters))


class Ranked(Struct, frozen=True, kw_only=True):
    """Candidates in order, and where their scores come from."""

    order: list[Fused]
    answers: Mapping[str, list[ScoredKey]]
    weights: Mapping[str, float]
    signals: Sequence[RankingSignal]
    words: str
    """What the text index was asked."""
    succession: Succession
    """Which candidates answer for what they replaced."""
    fits: Mapping[int, float] = field(default_factory=dict)
    """How well each fits, whatever puts them in order."""
    led_by: Mapping[int, int] = field(default_factory=dict)
    """By the key of what was found at the second hop, that of what led to it."""
    turns: Mapping[int, int] = field(default_factory=dict)
    """The messages that the best of them were read from."""
    chances: Mapping[int, float] = field(default_factory=dict)
    """How likely the best of them answer the question, where a judge has read them."""

    def reasons(self, keys: Sequence[int]) -> dict[int, tuple[Reason, ...]]:
        """Return what each index and signal gave to each of these memories."""
        return explain(keys, self.answers, self.weights, self.signals)


# How good an answer is, in numbers that go with it.


def quality_of(asking: Asking, ranked: Ranked, hits: Sequence[Hit], *, milliseconds: float) -> Quality:
    """Return how an answer came about and how good it is."""
    notes, period = asking.notes, asking.plan.period
    return Quality(
        answered=tuple(ranked.answers),
        missing=tuple(notes.missing),
        level=notes.level,
        intent=asking.plan.intent,
        strategy=asking.strategy,
        text_weight=ranked.weights[LEXICAL] if VECTOR in ranked.answers else 1.0,
        period=None if period is None else (period.start, period.end),
        answerable=answerable(asking, hits),
        candidates=len(ranked.order),
        average_relevancy=average([hit.trust.relevance for hit in hits]),
        ndcg=ndcg([hit.trust.relevance for hit in hits]),
        tokens=sum(_tokens(hit.memory) for hit in hits),
        milliseconds=milliseconds,
        stages=notes.stages,
    )


def answerable(asking: Asking, hits: Sequence[Hit]) -> float:
    """Return how likely the answer is among the hits: by a judge that has read them, or by the best fit."""
    period = asked_period(asking)
    if not any(is_of_period(hit.memory, period) for hit in hits):
        return 0.0
    of_then = period is not None and any(
        lies_in(period, hit.memory.when, hit.memory.stated_at) for hit in hits
    )
    least = OF_ITS_TIME if of_then else 0.0
    read = [hit.answers for hit in hits if hit.answers is not None]
    if read:
        return max(least, *read)
    best = max(hit.trust.relevance for hit in hits)
    return max(least, 1 / (1 + math.exp(-(best - HALF_KNOWN_FIT) / FIT_WIDTH)))


def average(grades: Sequence[float]) -> float:
    """Return the mean, 0 for none."""
    return sum(grades) / len(grades) if grades else 0.0


def ndcg(grades: Sequence[float]) -> float:
    """Return how close the order of these grades is to the best order of the same grades."""
    ideal = _gain(sorted(grades, reverse=True))
    return _gain(grades) / ideal if ideal else 0.0


def _gain(grades: Sequence[float]) -> float:
    return sum(grade / math.log2(place + 1) for place, grade in enumerate(grades, start=1))


def _tokens(memory: Memory) -> int:
    """Return what the content costs: counted when it was stored, or now where nothing was inferred yet."""
    return memory.detail.tokens.get("full") or count_tokens(memory.content)


# Answer one query: plan → gather → fuse → add signals → rerank → fetch → weigh → explain.
#
# Reads one snapshot of the store from beginning to end. An index that fails or has only part of the
# memories is named in the answer with its reason, and the others answer without it.

CONSIDERED = 20
"""With `explain`, so many candidates that were left out are shown."""
SPARE = 4
"""So many more than asked for are looked at: what belongs before a hit may fit a little less."""


def recall(
    query: Query,
    sources: Sources,
    *,
    now: datetime,
    then: Then = PRESENT,
    strategy: str | None = None,
    with_explanation: bool = False,
    with_turns: bool = False,
    abstain: bool = False,
    vector: NDArray[np.float32] | None = None,
) -> Recall:
    """
    Return the memories that fit the query, best first, and how the answer came about.

    `then` may ask what was believed at a moment (memories that were stored by then, with the status, the
    layer and the confidence that they had) and what was true at one. A `vector` is searched for in place of
    the text's own. With turns, what was said and not kept is given too where the memories fall short. One
    that may `abstain` gives no hits where the answer is not known.
    """
    notes, started = Notes(), time.perf_counter()
    with notes.timed("plan"):
        planned = plan(query.text, sources.policy, now=now, date_order=sources.date_order)
    asking = Asking(
        query=query,
        sources=sources,
        notes=notes,
        now=now,
        then=then,
        strategy=strategy or sources.policy.strategy,
        vector=embed(query.text, sources, notes) if vector is None else vector,
        plan=planned,
    )
    wanted = query.limit + (CONSIDERED if with_explanation else SPARE)
    with sources.store.read() as tx:
        unreadable = tx.memories.skip_unreadable()
        asking = _dated(tx, asking)
        ranked = _without_unhelpful(tx, asking, _rank(tx, asking))
        ranked = _reordered(tx, asking, read_by_judge(tx, asking, ranked))
        with notes.timed("fetch"):
            best = answering(asking, fetch(tx, asking, ranked.order, wanted=wanted), ranked.fits)
            disputed = contradicted(tx, asking, best)
        with notes.timed("weigh"):
            hits = _weighed(asking, ranked, best, disputed)
            hits = both_sides(tx, asking, hits, lambda memory, beside: _other_side(asking, memory, beside))
            hits = own_words_first(hits)
            near = [one.key for one in ranked.order[:MAX_CANDIDATES]]
            premises = outdated_premises(tx, asking, hits[: query.limit], ranked.succession, near=near)
        with notes.timed("archived"):
            archived = find_archived(tx, asking, hits, answers=ranked.answers, words=ranked.words)
        said = _said(tx, asking, hits) if with_turns and falls_short(asking, hits) else None
    notes.missing += unreadable_notes(
        memory_id for memory_id, place in unreadable.items() if query.scope.sees(place)
    )
    elapsed = (time.perf_counter() - started) * 1000
    shown = tuple(hits[: query.limit])
    quality = quality_of(asking, ranked, shown, milliseconds=elapsed)
    if said is not None:
        quality = replace(quality, answered=(*quality.answered, TURNS))
    if abstain and not quality.is_known:
        shown, hits = (), [*shown, *hits[query.limit :]]
    return Recall(
        query=query,
        hits=shown,
        said=said or (),
        premises=premises,
        archived=archived,
        quality=quality,
        also_considered=tuple(hits[len(shown) :] if with_explanation else ()),
    )


def _said(tx: Transaction, asking: Asking, hits: Sequence[Hit]) -> tuple[SaidTurn, ...] | None:
    """Return what was said and not kept; None, and a note, where the index of turns is damaged."""
    with asking.notes.timed(TURNS):
        try:
            return find_said(tx, asking, hits)
        except StoreCorrupt as exc:  # a last resort does not take the answer along
            asking.notes.lost(TURNS, str(exc))
            return None


def with_missing(answer: Recall, index: str, reason: str) -> Recall:
    """Return the answer with one more thing that did not take part."""
    missing = (*answer.quality.missing, Missing(index=index, reason=reason))
    return replace(answer, quality=replace(answer.quality, missing=missing))


def _dated(tx: Transaction, asking: Asking) -> Asking:
    """Return the question with the event dated that its time hangs on; one that is not known is noted."""
    period = asking.plan.period
    if period is None or period.anchor is None:
        return asking
    with asking.notes.timed("events"):
        by = asking.then.as_of or asking.now
        at = happened_at(tx, period.anchor, asking.search, lexical=asking.sources.lexical, by=by)
    if at is None:
        asking.notes.lost("time", "no memory says when the event was that the question names")
        known = None if period.start is None and period.end is None else replace(period, anchor=None)
    else:
        known = resolve_anchor(period, at)
    return replace(asking, plan=replace(asking.plan, period=known))


class Gathered(Struct, frozen=True, kw_only=True):
    """What the indexes offer: their answers, what is of the time asked for, whom the question names."""

    answers: Mapping[str, list[ScoredKey]]
    of_period: Sequence[int]
    words: str
    entities: Sequence[Entity]


def _gather(tx: Transaction, asking: Asking) -> Gathered:
    """Ask every index, also within the time that the question names."""
    notes, query = asking.notes, asking.search
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
        candidates=asking.plan.candidates * (PAST_CANDIDATES if asking.then.is_past else 1),
    )
    of_period: list[int] = []
    if asking.policy.uses_time and asking.plan.period is not None:
        with notes.timed(TIME):
            inside, of_period = gather_period(tx, query, asking, words=words)
            answers = {name: united(found, inside.get(name, ())) for name, found in answers.items()}
    return Gathered(answers=answers, of_period=of_period, words=words, entities=entities)


def _rank(tx: Transaction, asking: Asking) -> Ranked:
    """Return the candidates in order of what the indexes and the signals give them."""
    notes, weights, query, gathered = asking.notes, asking.plan.weights, asking.search, _gather(tx, asking)
    with notes.timed("fuse"):
        fused = fuse(gathered.answers, weights)
    with notes.timed(REPLACED):
        succession = succeed(tx, fused, asking, unfound=crowd_score(fused))
        fused = succession.living
    with notes.timed("sketch"):
        sketches = open_sketches(tx, [one.key for one in fused[:SKETCHED]])
    with notes.timed(LATE):
        late = late_interaction(tx, fused, query, asking.sources, sketches)
        compared = with_signals(fused, [late], unfound=0.0)
    added = signals(
        tx,
        compared,
        asking.current,
        asking.sources,
        plan=asking.plan,
        entities=gathered.entities,
        sketches=sketches,
        of_period=gathered.of_period,
        notes=notes,
    )
    added += [succession.signal] if succession.signal.gained else []
    with notes.timed("add"):
        order = with_signals(compared, added, unfound=crowd_score(compared))
    with notes.timed(HOP):
        hop = second_hop(order, query.text, sketches, bonus=asking.policy.hop_bonus)
        order = with_signals(order, [hop.signal], unfound=0.0)
    with notes.timed("add"):
        added += [hop.signal] if hop.signal.gained else []
        fits = with_signals(fused, added, unfound=crowd_score(fused))
    return Ranked(
        order=order,
        fits={one.key: one.score for one in fits},
        answers=gathered.answers,
        weights=weights,
        signals=[*added, late] if late.gained else added,
        words=gathered.words,
        succession=succession,
        led_by=hop.led_by,
        turns={key: one.turn for key, one in sketches.items() if one.turn is not None},
    )


def _without_unhelpful(tx: Transaction, asking: Asking, ranked: Ranked) -> Ranked:
    """Return the candidates without what was of no help for such a question; guarded ones go last."""
    with asking.notes.timed("feedback"):
        gone = unhelpful(
            tx,
            [one.key for one in ranked.order],
            asking.query.text,
            asking.vector,
            embedder=asking.sources.embedder,
            now=asking.now,
        )
    if not gone:
        return ranked
    guarded = {key for key, memory in tx.memories.by_keys(list(gone)).items() if is_guarded(memory)}
    helpful = [one for one in ranked.order if one.key not in gone]
    return replace(ranked, order=[*helpful, *(one for one in ranked.order if one.key in guarded)])


def read_by_judge(tx: Transaction, asking: Asking, ranked: Ranked) -> Ranked:
    """
    Return the candidates with what a judge that reads question and memory together gives to the best of them.

    Words and vectors find what a question is about; whether it is an answer takes reading both.
    """
    judge, seconds = asking.sources.judge, asking.sources.answering_seconds
    if judge is None or seconds <= 0 or asking.then.is_past or not asking.query.text.strip():
        return ranked
    with asking.notes.timed(ANSWERS):
        texts, ordered = _texts_to_read(tx, asking, ranked)
        try:
            chances = judge.answers(asking.query.text, [text for _, text in texts], seconds=seconds)
        except EngramError as exc:
            asking.notes.failed(ANSWERS, exc, "the order of scores was kept")
            return ranked
    if chances is None or not texts:
        return ranked
    if not chances:
        asking.notes.lost(ANSWERS, "there was no time to tell what answers; the order of scores was kept")
        return ranked
    found: dict[int, float] = {}
    for (key, _), chance in zip(texts, chances, strict=False):
        found[key] = max(chance, found.get(key, 0.0))
    gained = {key: ANSWER_BONUS * one for key, one in found.items() if key in ordered}
    signal = RankingSignal(name=ANSWERS, gained=gained)
    order = with_signals(ranked.order, [signal], unfound=0.0)
    fits = {key: fit + gained.get(key, 0.0) for key, fit in ranked.fits.items()}
    return replace(ranked, order=order, fits=fits, signals=[*ranked.signals, signal], chances=found)


def _texts_to_read(tx: Transaction, asking: Asking, ranked: Ranked) -> tuple[list[tuple[int, str]], set[int]]:
    """
    Return the best candidates by key, each with the words to be read, and which of them may gain by it.

    Of a time that is asked for only what is of that time: "yesterday" in an old memory is another day. What
    stands in the place of an older statement answers also by its words: "I ditched vim for Zed".
    """
    period = asked_period(asking)
    near = [one.key for one in ranked.order[: MAX_READ if period is None else MAX_LOOKED_THROUGH]]
    memories = tx.memories.by_keys(near)
    keys = [key for key in near if key in memories and is_of_period(memories[key], period)]
    keys = keys[:MAX_READ]
    replaced = [gone for gone, heir in ranked.succession.heirs.items() if heir in keys][:MAX_REPLACED_READ]
    memories |= tx.memories.by_keys(replaced)
    own = [(key, _with_speaker(memories[key])) for key in keys]
    older = [
        (ranked.succession.heirs[gone], _with_speaker(memories[gone]))
        for gone in replaced
        if gone in memories
    ]
    ordered = {key for key in keys if may_be_lifted(memories[key], asking)}
    return [*own[:1], *older, *own[1:]], ordered


def asked_period(asking: Asking) -> Period | None:
    """
    Return the time that nothing else answers for: of a question about what was.

    "What did we do on Friday?" wants that Friday; "who has the children on Friday?" is answered by a habit.
    """
    return asking.plan.period if asks_of_the_past(asking.query.text) else None


def may_be_lifted(memory: Memory, asking: Asking) -> bool:
    """Return whether reading may put a memory first: of a time asked for, what is of it or held then."""
    of_then = asked_period(asking)
    if of_then is not None:
        return lies_in(of_then, memory.when, memory.stated_at)
    return is_of_period(memory, asking.plan.period)


def is_of_period(memory: Memory, period: Period | None) -> bool:
    """Return whether a memory may tell of a time: said or set in it, or a state that held then."""
    if period is None or lies_in(period, memory.when, memory.stated_at):
        return True
    is_state = memory.kind is not Kind.EPISODE and memory.lasting in (Lasting.STABLE, Lasting.PERMANENT)
    return is_state and any(memory.holds_at(at) for at in (period.start, period.end) if at is not None)


def _with_speaker(memory: Memory) -> str:
    """Return what a memory tells, after who said it: whose words they are is half of many answers."""
    speaker, told = memory.provenance.speaker, open_memory(memory).told
    return f"{speaker}: {told}" if speaker else told


def _reordered(tx: Transaction, asking: Asking, ranked: Ranked) -> Ranked:
    """Return the candidates in the order of the strategy; one that cannot be followed says so."""
    policy, order = asking.policy, ranked.order
    with asking.notes.timed("rerank"):
        if asking.strategy == "cross_encoder":
            order = _read_by_model(tx, asking, order)
        if asking.strategy in ("rrf", "rrf_then_mmr"):
            order = by_rank(
                order,
                ranked.answers,
                ranked.weights,
                ranked.signals,
                constant=RANK_CONSTANT,
                heirs=ranked.succession.stands_for,
            )
        if asking.strategy in ("mmr", "rrf_then_mmr") and asking.vector is not None:
            floor = asking.sources.embedder.similarity_floor
            vectors = _vectors(tx, asking, order)
            order = by_difference(order, vectors, relevance=policy.mmr_lambda, floor=floor)
        order = behind_siblings(order, lambda one: ranked.turns.get(one.key))
    return replace(ranked, order=order)


def _read_by_model(tx: Transaction, asking: Asking, order: list[Fused]) -> list[Fused]:
    model = asking.sources.reranker
    if model is None:
        asking.notes.lost(RERANKER, "no cross-encoder is available; the order of scores was kept")
        return order
    top = order[: max(asking.query.limit, asking.policy.candidates // 2)]
    memories = tx.memories.by_keys([one.key for one in top])
    texts = {key: open_memory(memory).content for key, memory in memories.items()}
    try:
        return by_model(order, asking.query.text, texts, model)
    except ModelUnavailable as exc:
        asking.notes.failed(RERANKER, exc, "the order of scores was kept")
        return order


def _vectors(tx: Transaction, asking: Asking, order: Sequence[Fused]) -> dict[int, NDArray[np.float32]]:
    space = tx.vectors.space(asking.sources.embedder.identity)
    if space is None:
        return {}
    keys, found = tx.vectors.fetch(space, [one.key for one in order[:MMR_POOL]])
    rows = found.numbers * found.scales[:, None]
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
    return dict(zip(keys, rows, strict=True))


def _weighed(
    asking: Asking, ranked: Ranked, best: Sequence[tuple[Fused, Memory]], disputed: set[str]
) -> list[Hit]:
    """Return the hits with their trust, in the order of the policy's formula."""
    given, asked = ranked.reasons([one.key for one, _ in best]), frozenset(query_terms(ranked.words))
    reasons = {one.key: named_truly(given[one.key], memory, asked=asked) for one, memory in best}
    ids = {one.key: memory.id for one, memory in best}
    hits = [
        replace(
            _hit(asking, one.score, memory, reasons[one.key], disputed, fit=ranked.fits.get(one.key, 0.0)),
            through=ids.get(ranked.led_by.get(one.key, 0)),
            answers=ranked.chances.get(one.key),
        )
        for one, memory in best
    ]
    return in_order_of_formula(hits, asking.policy.formula)


def in_order_of_formula(hits: list[Hit], formula: str) -> list[Hit]:
    """
    Return the hits as the policy orders them.

    What speaks for a memory beside the question moves it by some places. It does not undo the order: among a
    hundred hits, what is important or new would otherwise go before all that answers.
    """
    if formula == "relevance":
        return hits
    places = {hit.memory.id: place for place, hit in enumerate(hits)}
    worth = {hit.memory.id: hit.trust.composite if formula == "trust" else hit.score for hit in hits}
    return sorted(hits, key=lambda hit: places[hit.memory.id] - FORMULA_PLACES * worth[hit.memory.id])


def _other_side(asking: Asking, memory: Memory, beside: Hit) -> Hit:
    """Return what disputes a hit as one that fits as well, whatever its own words are."""
    score = beside.trust.relevance
    why = Reason(index=DISPUTES, rank=1, score=score, contribution=score)
    hit = _hit(asking, score, memory, (why,), {memory.id, beside.memory.id}, fit=score)
    return replace(hit, score=max(hit.score, beside.score))


def _hit(
    asking: Asking,
    order: float,
    memory: Memory,
    reasons: tuple[Reason, ...],
    disputed: set[str],
    *,
    fit: float,
) -> Hit:
    """Return a hit: its score is what puts it in order, its relevance how well it fits."""
    policy, standing, relevance = asking.policy, min(1.0, max(0.0, order)), min(1.0, max(0.0, fit))
    now = asking.then.as_of or asking.now
    believed = trust(
        memory, relevance=relevance, is_contradicted=memory.id in disputed, now=now, policy=policy
    )
    score = standing
    if policy.formula == "trust":
        score = believed.composite + TRUST_RELEVANCE * (standing - relevance)
    if policy.formula == "beliefs":
        is_subject = any(reason.index == SUBJECT for reason in reasons)
        score = belief_score(memory, relevance=standing, is_subject=is_subject, now=now)
    return Hit(memory=memory, score=score, trust=believed, reasons=reasons, is_past=memory.is_past(now))
