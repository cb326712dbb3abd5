"""Signals that adjust a score: session, speaker, time, trust."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from datetime import datetime

import numpy as np
from msgspec import Struct

from engramdb.erasable_cache import cached
from engramdb.policy import RecallPolicy
from engramdb.recall.entity import linked
from engramdb.recall.fuse import Fused, RankingSignal
from engramdb.recall.gather import Notes, Sources, crowd_score, open_sketches, surround
from engramdb.recall.period import Period, inside, nearness
from engramdb.recall.plan import RecallPlan, subjects
from engramdb.recall.relations import MAX_RELATED, RELATION, AskedRelation, asked_relation, tells_of
from engramdb.store.contract import Sketch, Transaction
from engramdb.text.mentions import mentions
from engramdb.text.names import fold_name
from engramdb.text.terms import telling_words
from engramdb.values import Entity, Memory, Query, Source, Status, Trust

GRAPH_SEEDS = 10
"""From how many of the best memories activation spreads."""
GRAPH_DECAY = 0.6
"""What is left of activation after each hop (seed 002)."""
GRAPH_FLOOR = 0.1
"""Below this activation goes no further (seed 002)."""
TRUST_RELEVANCE = 0.35
"""The share of fitting the question in trust; the four shares make 1 (seed 002)."""
TRUST_ACCURACY = 0.25
"""The share of being true: evidence, explicitness, contradiction, feedback."""
TRUST_FRESHNESS = 0.20
"""The share of being recent."""
TRUST_UTILITY = 0.20
"""The share of being important and of use."""

# What else speaks for a memory, beside its words and its meaning: where it stands, whom and what time it is
# about.
#
# Each signal adds to the score of memories that were found, or finds others beside them; one whose weight
# is 0 in the policy is not asked. What each is worth, and which were left out because they did not help:
# docs/lab/0018-recall.md.

SESSION, SUBJECT, TIME, LATE = "session", "subject", "time", "late"
GRAPH, LINKED, ENTITY, HOP = "graph", "linked", "entity", "hop"
SKETCHED = 80
"""Of how many of the best it is asked who said them and when: what lies lower cannot be lifted to the top."""
LINKED_FROM = 3
"""From how many of the best linked neighbors join the answer."""


def signals(
    tx: Transaction,
    ranked: Sequence[Fused],
    query: Query,
    sources: Sources,
    *,
    plan: RecallPlan,
    entities: Sequence[Entity],
    sketches: Mapping[int, Sketch],
    of_period: Sequence[int],
    notes: Notes,
) -> list[RankingSignal]:
    """Return what each signal adds; `of_period` are memories of the time that the question names."""
    policy = sources.policy
    with notes.timed(SESSION):
        found = [RankingSignal(name=SESSION, gained=surround(tx, ranked, query, policy))]
    if plan.graph_bonus:
        with notes.timed(GRAPH):
            found.append(_linked(tx, ranked, query, sources, plan))
    if policy.linked_share:
        with notes.timed(LINKED):
            found.append(_neighbors(tx, ranked, query, sources))
    if policy.entity_bonus and entities:
        with notes.timed(ENTITY):
            about = linked(tx, entities, scope=query.scope, filters=query.filters, limit=policy.candidates)
            found.append(RankingSignal(name=ENTITY, gained=dict.fromkeys(about, policy.entity_bonus)))
    if policy.relation_bonus and (asked := asked_relation(query.text)):
        with notes.timed(RELATION):
            found.append(_related(tx, asked, query, policy))
    with notes.timed("sketch"):
        timely = [*(one.key for one in ranked), *of_period] if plan.period else []  # that may lie low
        keys = dict.fromkeys([*(key for signal in found for key in signal.gained), *timely])
        known = {**sketches, **open_sketches(tx, [key for key in keys if key not in sketches])}
    if policy.subject_bonus:
        named = subjects(query.text, known)
        found.append(RankingSignal(name=SUBJECT, gained=dict.fromkeys(named, policy.subject_bonus)))
    if policy.uses_time and plan.period is not None:
        found.append(_timely(known, plan.period, policy))
    return [signal for signal in found if signal.gained]


HOP_SEEDS = 2
"""The best memories whose names are followed: the answer may be told of somebody whom only they name."""
HOP_BELOW = 0.95
"""What a memory leads to stays behind it."""
HOP_COMMON = 0.2
"""A name that more of the candidates have leads nowhere in particular,"""
HOP_FEW = 2
"""unless these are as few."""


def second_hop(
    ranked: Sequence[Fused], question: str, sketches: Mapping[int, Sketch], *, bonus: float
) -> Hop:
    """
    Return what candidates gain that tell of somebody whom the best memories name and the question does not.

    "What does Priya's manager drink?" finds that Odile is her manager; what Odile drinks is told of Odile,
    or by her. Only what has something to do with the question already is reached.
    """
    if not bonus:
        return Hop(RankingSignal(name=HOP), {})
    crowd, asked = crowd_score(ranked), f" {fold_name(question)} "
    own = {one.key: one.score for one in ranked}
    texts = {key: _plain(f"{one.speaker or ''} {one.content}") for key, one in sketches.items()}
    speakers = {fold_name(one) for one in {one.speaker for one in sketches.values()} if one}
    gained: dict[int, float] = {}
    led_by: dict[int, int] = {}
    for seed in [one for one in ranked[:HOP_SEEDS] if one.key in sketches]:
        spoken = [name for name in speakers if name and _holds(texts[seed.key], name)]
        for name in dict.fromkeys([*spoken, *_names_in(sketches[seed.key].content)]):
            if f" {name} " in asked:
                continue
            told = [key for key, text in texts.items() if key != seed.key and _holds(text, name)]
            if len(told) > max(HOP_FEW, HOP_COMMON * len(texts)):
                continue
            for key in told:
                more = min(bonus * (seed.score - crowd), HOP_BELOW * seed.score - own.get(key, crowd))
                if more > gained.get(key, 0.0):
                    gained[key], led_by[key] = more, seed.key
    return Hop(RankingSignal(name=HOP, gained=gained), led_by)


@cached(5000)
def _plain(text: str) -> str:
    return text.casefold() if text.isascii() else fold_name(text)


def _holds(text: str, name: str) -> bool:
    """Return whether a name stands in a text as a word of its own."""
    return name in text and re.search(rf"\b{re.escape(name)}\b", text) is not None


@cached(5000)
def _names_in(text: str) -> tuple[str, ...]:
    """Return what looks like a name in a text, folded."""
    return tuple(folded for one in mentions(text) if (folded := fold_name(one.text)))


class Hop(Struct, frozen=True):
    """What the second hop adds, and which memory led to each that gained."""

    signal: RankingSignal
    led_by: dict[int, int]


LATE_LEAST = 0.1
"""Below this score of the best, nothing fits, and comparing words would only make noise;"""
LATE_CANDIDATES = 40
"""How many of the best are compared word by word;"""
LATE_QUARTILE = 0.25
"""what this share of them stays below is the ground that gains and losses are counted from."""


def late_interaction(
    tx: Transaction,
    ranked: Sequence[Fused],
    query: Query,
    sources: Sources,
    sketches: Mapping[int, Sketch],
) -> RankingSignal:
    """Return what the best candidates gain by covering the question word by word."""
    best = [one.key for one in ranked[:LATE_CANDIDATES] if one.key in sketches]
    bonus = sources.policy.late_bonus
    if sources.matcher is None or not bonus or not best or ranked[0].score < LATE_LEAST:
        return RankingSignal(name=LATE)
    speakers = {fold_name(one.speaker) for one in sketches.values() if one.speaker}
    # Who spoke, says the subject.
    words = [word for word in telling_words(query.text) if word not in speakers]
    texts = [f"{sketches[key].content} {sketches[key].context}" for key in best]
    covered = sources.matcher.covers(sources.lexical.rarity(tx, words, scope=query.scope), texts)
    worth = bonus * (covered - np.quantile(covered, LATE_QUARTILE))
    return RankingSignal(name=LATE, gained=dict(zip(best, worth.tolist(), strict=True)))


def _related(tx: Transaction, asked: AskedRelation, query: Query, policy: RecallPolicy) -> RankingSignal:
    """Return what memories gain that tell the relation that was asked for, of the one it was asked of."""
    told = tx.candidates.with_predicates(
        asked.predicates, scope=query.scope, filters=query.filters, limit=MAX_RELATED
    )
    gained = {one.key: policy.relation_bonus for one in told if tells_of(asked, one)}
    return RankingSignal(name=RELATION, gained=gained)


def _timely(sketches: Mapping[int, Sketch], period: Period, policy: RecallPolicy) -> RankingSignal:
    """Return what memories gain by the time at which they were said, or the one that they are about."""
    moments = np.array([(one.when, one.said) for one in sketches.values()], np.float64).reshape(-1, 2)
    near = nearness(moments, period).max(axis=1)
    within = inside(moments, period).any(axis=1)
    worth = policy.time_bonus * near + policy.period_bonus * within
    gained = {key: float(one) for key, one in zip(sketches, worth, strict=True) if one > 0}
    return RankingSignal(name=TIME, gained=gained)


def _linked(
    tx: Transaction, ranked: Sequence[Fused], query: Query, sources: Sources, plan: RecallPlan
) -> RankingSignal:
    """Return what activation through links adds, spreading from the best."""
    policy = sources.policy
    # A seed is never reached itself: one too weak to give anything on would only be kept from gaining.
    seeds = [one for one in ranked[:GRAPH_SEEDS] if one.score * GRAPH_DECAY >= GRAPH_FLOOR]
    reached = sources.graph.activate(
        tx,
        {one.key: min(1.0, one.score) for one in seeds},
        scope=query.scope,
        filters=query.filters,
        limit=policy.candidates,
        hops=plan.hops,
        decay=GRAPH_DECAY,
        floor=GRAPH_FLOOR,
        through_entities=policy.graph_through_entities,
    )
    return RankingSignal(name=GRAPH, gained={one.key: plan.graph_bonus * one.score for one in reached})


def _neighbors(tx: Transaction, ranked: Sequence[Fused], query: Query, sources: Sources) -> RankingSignal:
    """Return what lifts the neighbors of the best to a share of the best's own score."""
    reached = sources.graph.activate(
        tx,
        {one.key: min(1.0, one.score) for one in ranked[:LINKED_FROM]},
        scope=query.scope,
        filters=query.filters,
        limit=sources.policy.candidates,
        hops=1,
        decay=sources.policy.linked_share,
        floor=0.0,
        through_entities=False,
    )
    own = {one.key: one.score for one in ranked}
    gained = {one.key: one.score - own.get(one.key, 0.0) for one in reached}
    return RankingSignal(name=LINKED, gained={key: more for key, more in gained.items() if more > 0})


# How far to believe a hit: relevance, accuracy, freshness, utility, and the four in one number.
#
# Being recalled often raises utility and never accuracy: being read is not evidence of being true.

NEUTRAL = 0.5
PER_FURTHER_EVIDENCE = 0.1
EXPLICIT = 0.3
CONTRADICTED = -0.2
PER_HELP = 0.05
PER_FAILURE = -0.1
RECALLS_ADD = 0.2
RECALLS_FULL = 20
_SECONDS_PER_DAY = 86_400
_BELIEF_DECAY_PER_DAY = 0.023
"""Halves in about thirty days."""


def trust(
    memory: Memory, *, relevance: float, is_contradicted: bool, now: datetime, policy: RecallPolicy
) -> Trust:
    """Return the parts, each in [0, 1], and their weighted sum."""
    right = accuracy(memory, is_contradicted=is_contradicted)
    fresh = 0.5 ** (_days_since(memory.last_stated_at, now) / policy.freshness_half_life_days)
    useful = utility(memory)
    composite = (
        TRUST_RELEVANCE * relevance
        + TRUST_ACCURACY * right
        + TRUST_FRESHNESS * fresh
        + TRUST_UTILITY * useful
    )
    return Trust(relevance=relevance, accuracy=right, freshness=fresh, utility=useful, composite=composite)


def accuracy(memory: Memory, *, is_contradicted: bool) -> float:
    """Return how likely it is to be right, by its evidence, and never more than its confidence."""
    further = max(memory.reinforcements, len(memory.provenance.episodes) - 1, 0)
    is_explicit = memory.provenance.source is Source.HUMAN and memory.extractor is None
    found = (
        NEUTRAL
        + PER_FURTHER_EVIDENCE * further
        + (EXPLICIT if is_explicit else 0.0)
        + (CONTRADICTED if is_contradicted or memory.status is Status.CHALLENGED else 0.0)
        + PER_HELP * (memory.helped + memory.successes)
        + PER_FAILURE * (memory.unhelpful + memory.failures)
    )
    return max(0.0, min(1.0, found, memory.confidence))


def utility(memory: Memory) -> float:
    """Return of how much use it is: important, often recalled, found helpful."""
    often = RECALLS_ADD * min(1.0, math.log1p(memory.access.count) / math.log1p(RECALLS_FULL))
    told = PER_HELP * memory.helped + PER_FAILURE * memory.unhelpful
    return max(0.0, min(1.0, memory.importance + often + told))


def belief_score(memory: Memory, *, relevance: float, is_subject: bool, now: datetime) -> float:
    """Return the score of the preset `beliefs`: meaning, importance, recency, stability and subject."""
    used = memory.access.last_at or memory.stated_at
    recency = math.exp(-_BELIEF_DECAY_PER_DAY * _days_since(used, now))
    return (
        0.50 * relevance
        + 0.20 * memory.importance
        + 0.10 * recency
        + 0.05 * min(1.0, memory.stability / 5)
        + 0.15 * is_subject
    )


def _days_since(moment: datetime, now: datetime) -> float:
    return max(0.0, (now - moment).total_seconds() / _SECONDS_PER_DAY)
