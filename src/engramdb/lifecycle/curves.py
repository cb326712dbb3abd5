"""Retention curves, importance and tiers: how much of a memory is left and how much it matters."""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from engramdb.policy import AgingPolicy
from engramdb.policy.aging import BURST_DAYS
from engramdb.values import AccessLog, Importance, Layer, Memory, Tier
from engramdb.values.aging import LAYERS, MAX_RECENT, NEVER, SOURCES
from engramdb.values.population import Flags, Ints, Moment, Population, population_of, to_microseconds
from engramdb.values.reading import Lasting

PASSING = (Layer.WORKING, Layer.EPISODIC)
"""The layers of what happens; they count towards a project's limit."""
EXTRACTED_SPEED = 3.0
"""What was extracted fades so many times faster than what was stated (l2, huber, elastic; seed 001)."""
HUBER_TAIL_HALF_LIVES = 12.0
"""Where the straight tail of `huber` reaches nothing."""
ELASTIC_L1 = 0.1
"""What `elastic` cuts off either end: the top tenth stays whole, the bottom tenth is gone."""
RECALL_ADDS = 0.1
"""What recalls add to retention, times ln(1 + recalls) (l2, huber, elastic)."""
MAX_RECALL_ADDS = 0.3
"""The most that recalls add to retention (seed 001)."""
DEFAULT_TYPE_WEIGHT = 0.5
"""Salience of the categories without a weight of their own."""
TYPE_WEIGHTS = MappingProxyType(
    {
        "architecture": 0.9,
        "decision": 0.9,
        "principle": 0.9,
        "preference": 0.85,
        "instruction": 0.85,
        "pattern": 0.8,
        "skill": 0.8,
        "bug": 0.7,
        "correction": 0.7,
        "workflow": 0.6,
        "procedure": 0.6,
        "commitment": 0.6,
    }
)
"""Salience by category (reinforced; seed 004)."""

# How much of a memory is left: the retention curves, each in [0, 1].
#
# Called for a whole population by the verdict, the forecast and the plots; `retention_of` is the same for one
# memory. No curve rises with idle time, and one more recall never lowers it. Where the systems that they come
# from leave a constant open, docs/concepts/aging.md says what was chosen and why.

Floats = NDArray[np.float64]

SPACING_PER_SESSION = 0.3
"""What ln(sessions) adds to strength: recalls on different occasions last longer than a burst."""
AROUSAL_ADDS = 0.5
"""What full arousal adds to the first strength."""
RECALL_ADDS_SALIENCE = 0.02
RECALLS_ADD_MOST = 0.2
REPLAY_ADDS_STRENGTH = 0.2
REPLAY_SLOWS_BY = 4 / 3
"""What is stronger than at first lasts longer, by so much for every replay's worth of strength."""
SHORTEST_DAYS = 1 / 24
"""A recall counts as at least an hour ago, so that one of this very moment is not worth infinitely much."""


def held_until(population: Population, policy: AgingPolicy) -> Ints:
    """
    Return until when each memory does not fade: for ever, or to the end of the last time that it names.

    What it is decides: see `Memory.endures`. From there on it fades as if it had been stated then.
    """
    is_open = population.is_about("commitment") & (population.due <= population.said)
    is_open &= ~(population.lasts(Lasting.DATED) & (population.due > 0))
    is_held = population.enduring | population.is_in(*map(Layer, policy.permanent_layers))
    return np.where(is_held | (is_open & policy.keeps_promises), NEVER, population.due)


def retention(population: Population, policy: AgingPolicy, now: Moment) -> Floats:
    """Return how much is left of each memory under this policy."""
    curve = {
        "none": _whole,
        "ebbinghaus": _ebbinghaus,
        "l2": _l2,
        "huber": _huber,
        "elastic": _elastic,
        "half_life": _half_life,
        "reinforced": _reinforced,
    }[policy.curve]
    left: Floats = np.clip(curve(population, policy, now), 0.0, 1.0)
    return left


def retention_of(memory: Memory, policy: AgingPolicy, now: datetime) -> float:
    """Return how much is left of one memory."""
    return float(retention(population_of([memory]), policy, to_microseconds(now))[0])


def recalled_at(memory: Memory, policy: AgingPolicy, now: datetime, *, is_new_session: bool) -> Memory:
    """Return the memory as it would be after one more recall."""
    log = memory.access
    idle_days = (now - (log.last_at or memory.stated_at)) / timedelta(days=1)
    if log.last_at is None:
        idle_days = max(BURST_DAYS, idle_days)  # the first recall counts, however soon
    return memory.evolve(
        access=AccessLog(
            count=log.count + 1,
            last_at=now,
            recent=(*log.recent, now)[-MAX_RECENT:],
            sessions=log.sessions + is_new_session,
        ),
        stability=policy.stability_after(memory.stability, idle_days=idle_days),
    )


def ebbinghaus(
    idle_days: Floats,
    *,
    first: Floats,
    recalls: Floats,
    sessions: Floats,
    arousal: Floats,
    tau_days: float | Floats,
) -> Floats:
    """Return strength by the forgetting curve: slower with recalls and feeling, more with many sessions."""
    tau = tau_days * (1 + np.log(np.maximum(recalls, 1))) * (1 + arousal)
    spacing = 1 + SPACING_PER_SESSION * np.log(np.maximum(sessions, 1))
    strength: Floats = (first + AROUSAL_ADDS * arousal) * np.exp(-idle_days / tau) * spacing
    return strength


def l2(half_lives: Floats) -> Floats:
    """Return the plain exponential: a half after each half-life."""
    left: Floats = np.exp2(-half_lives)
    return left


def huber(half_lives: Floats, *, tail: float) -> Floats:
    """Return the exponential up to one half-life and a straight line from there to nothing at `tail`."""
    line = 0.5 * (tail - half_lives) / (tail - 1)
    return np.where(half_lives <= 1, l2(half_lives), np.maximum(line, 0))


def elastic(half_lives: Floats, *, l1: float) -> Floats:
    """Return the exponential with `l1` cut off either end: the strong stays whole, the weak is gone."""
    return np.clip((l2(half_lives) - l1) / (1 - 2 * l1), 0, 1)


def half_life(idle_days: Floats, *, confidence: Floats, stability: Floats, half_life_days: float) -> Floats:
    """Return the confidence that is left: halved every half-life times stability."""
    return confidence * l2(idle_days / (half_life_days * stability))


def reinforced(
    age_days: Floats, *, salience: Floats, boost: Floats, lambda_per_day: float | Floats
) -> Floats:
    """Return salience that falls with age, and what recent recalls add to it."""
    score: Floats = np.minimum(1, salience * np.exp(-lambda_per_day * age_days) + boost)
    return score


def _whole(population: Population, _policy: AgingPolicy, _now: Moment) -> Floats:
    return np.ones(len(population))


def _ebbinghaus(population: Population, policy: AgingPolicy, now: Moment) -> Floats:
    return ebbinghaus(
        _idle_days(population, policy, now),
        first=np.clip(population.strength, 0, 1),
        recalls=population.recalls.astype(np.float64),
        sessions=population.sessions.astype(np.float64),
        arousal=policy.arousal_slows * population.arousal,
        tau_days=policy.half_life_days / math.log(2) * replay_slows(population.strength),
    )


def _l2(population: Population, policy: AgingPolicy, now: Moment) -> Floats:
    return l2(_half_lives(population, policy, now)) + _recall_bonus(population)


def _huber(population: Population, policy: AgingPolicy, now: Moment) -> Floats:
    left = huber(_half_lives(population, policy, now), tail=HUBER_TAIL_HALF_LIVES)
    return left + _recall_bonus(population)


def _elastic(population: Population, policy: AgingPolicy, now: Moment) -> Floats:
    return elastic(_half_lives(population, policy, now), l1=ELASTIC_L1) + _recall_bonus(population)


def _half_life(population: Population, policy: AgingPolicy, now: Moment) -> Floats:
    return half_life(
        population.days_since(np.maximum(population.confirmed, held_until(population, policy)), now),
        confidence=population.confidence,
        stability=np.maximum(population.stability, 0.1),
        half_life_days=policy.half_life_days,
    )


def _reinforced(population: Population, policy: AgingPolicy, now: Moment) -> Floats:
    days_ago = np.maximum(population.days_since_recalls(now), SHORTEST_DAYS)
    boost = population.sum_of_recalls(policy.sigma_days / days_ago)
    gained = np.minimum(RECALLS_ADD_MOST, RECALL_ADDS_SALIENCE * population.recalls)
    last = np.maximum(population.confirmed, held_until(population, policy))
    return reinforced(
        population.days_since(np.maximum(population.said, last), now),
        salience=type_weights(population) + gained,
        boost=boost,
        lambda_per_day=policy.lambda_per_day / replay_slows(population.strength),
    )


def type_weights(population: Population) -> Floats:
    """Return the salience that each memory's category gives it."""
    weights = np.full(len(population), DEFAULT_TYPE_WEIGHT)
    for category, weight in TYPE_WEIGHTS.items():
        weights[population.is_about(category)] = weight
    return weights


def _idle_days(population: Population, policy: AgingPolicy, now: Moment) -> Floats:
    """Days since a memory was last recalled, confirmed or made, or since the day that it waits for."""
    last = np.maximum(population.recalled, population.confirmed)
    return population.days_since(np.maximum(last, held_until(population, policy)), now)


def _half_lives(population: Population, policy: AgingPolicy, now: Moment) -> Floats:
    return _idle_days(population, policy, now) / half_lives_days(population, policy)


def half_lives_days(population: Population, policy: AgingPolicy) -> Floats:
    """Return each memory's half-life: the extracted fade faster; the replayed, known and moving slower."""
    days = np.where(population.extracted, policy.half_life_days / EXTRACTED_SPEED, policy.half_life_days)
    days = np.where(population.overheard, days / policy.overheard_faster, days)
    days = np.where(holds(population), policy.stable_slower * days, days)
    return days * replay_slows(population.strength) * (1 + policy.arousal_slows * population.arousal)


def holds(population: Population) -> Flags:
    """
    Return what can be expected to hold until something replaces it: what somebody knows, and history.

    An event, a guess, a quotation and a plan whose day is over are past; what an assistant happened to say
    is its work of that day.
    """
    is_plan = population.lasts(Lasting.DATED) & (population.due > population.said)
    is_known = population.lasts(Lasting.STABLE, Lasting.DATED) & ~population.is_in(*PASSING)
    return is_known & ~is_plan & ~population.episodes & ~population.overheard


def replay_slows(strength: Floats) -> Floats:
    """Return how many times as long a memory lasts for having been replayed; 1 for one that never was."""
    return REPLAY_SLOWS_BY ** (np.maximum(strength - 1, 0) / REPLAY_ADDS_STRENGTH)


def _recall_bonus(population: Population) -> Floats:
    bonus: Floats = np.minimum(MAX_RECALL_ADDS, RECALL_ADDS * np.log1p(population.recalls))
    return bonus


# How much a memory matters now: nine factors, each with what it adds or takes.
#
# Called by the verdict, which promotes and archives by it, and shown with its parts in an outlook. The base
# is what was given or estimated at birth; the other eight move it up or down from there, so a memory that
# was just stated by a person has about its base. Recalls, recency and activation say that a memory is
# *used*, never that it is true. The weights are ours, since the source names the factors only:
# docs/concepts/aging.md.

FloatsImportance = NDArray[np.float64]

FREQUENCY_ADDS = 0.20
FREQUENCY_FULL_RECALLS = 20
RECENCY_TAKES = 0.35
"""What the most surprising statement gains at birth (0.3), and a little more: novelty wears off."""
AFFECT_ADDS = 0.10
STABILITY_ADDS = 0.10
TRUST_TAKES = 0.10
CONFIRMATIONS_ADD = 0.10
CONFIRMATIONS_FULL = 5
ACTIVATION_ADDS = 0.10
ACTIVATION_DECAY = 0.5
"""The usual exponent of base-level activation in ACT-R."""
LAYER_ADDS = {
    Layer.WORKING: -0.05,
    Layer.EPISODIC: 0.0,
    Layer.SEMANTIC: 0.10,
    Layer.PROCEDURAL: 0.10,
    Layer.CODEBASE: 0.05,
}
_LAYER_ADDS = np.array([LAYER_ADDS[layer] for layer in LAYERS])
_TRUST = np.array([source.trust for source in SOURCES])


def importance(population: Population, policy: AgingPolicy, now: Moment) -> FloatsImportance:
    """Return how much each memory matters now, in [0, 1]."""
    return np.clip(sum(factors(population, policy, now).values()), 0, 1)


def importance_of(memory: Memory, policy: AgingPolicy, now: datetime) -> Importance:
    """Return how much one memory matters now, with its parts."""
    population, moment = population_of([memory]), to_microseconds(now)
    parts = {name: float(part[0]) for name, part in factors(population, policy, moment).items()}
    return Importance(value=float(importance(population, policy, moment)[0]), factors=parts)


def factors(population: Population, policy: AgingPolicy, now: Moment) -> dict[str, FloatsImportance]:
    """Return what each factor adds to or takes from each memory's importance."""
    recency = l2(_half_lives(population, policy, now))
    return {
        "base": population.importance,
        "frequency": FREQUENCY_ADDS * _log_share(population.recalls, FREQUENCY_FULL_RECALLS),
        "recency": RECENCY_TAKES * (recency - 1),
        "affect": AFFECT_ADDS * population.arousal,
        "stability": STABILITY_ADDS * np.clip((population.stability - 1) / (policy.stability_most - 1), 0, 1),
        "layer": np.where(population.overheard, 0.0, _LAYER_ADDS[population.layers]),
        "trust": TRUST_TAKES * (_TRUST[population.sources] - 1),
        "confirmations": CONFIRMATIONS_ADD * _log_share(population.confirmations, CONFIRMATIONS_FULL),
        "activation": ACTIVATION_ADDS * activation(population, now),
    }


def activation(population: Population, now: Moment) -> FloatsImportance:
    """Return ACT-R's base-level activation of each memory, squeezed into [0, 1]; birth counts as a use."""
    born = _use(population.days_since(population.said, now))
    uses = _use(population.days_since_recalls(now))
    total = born + population.sum_of_recalls(uses)
    squeezed: FloatsImportance = total / (1 + total)  # the logistic function of ln(total)
    return squeezed


def _use(days_ago: FloatsImportance) -> FloatsImportance:
    worth: FloatsImportance = np.maximum(days_ago, SHORTEST_DAYS) ** -ACTIVATION_DECAY
    return worth


def _log_share(counts: NDArray[np.int64], full: int) -> FloatsImportance:
    share: FloatsImportance = np.minimum(1, np.log1p(counts) / np.log1p(full))
    return share


# Retention in a word: hot, warm, cold, evictable.

TIERS = tuple(Tier)


def tier_of(retention: float, policy: AgingPolicy) -> Tier:
    """Return the tier of one retention."""
    return TIERS[int(tiers(np.array([retention]), policy)[0])]


def tiers(retention: NDArray[np.float64], policy: AgingPolicy) -> NDArray[np.int8]:
    """Return the place in `TIERS` of each retention."""
    return np.select(
        [retention >= policy.hot, retention >= policy.warm, retention >= policy.cold], [0, 1, 2], 3
    ).astype(np.int8)


def floor_of(tier: Tier, policy: AgingPolicy) -> float:
    """Return the lowest retention that still belongs to a tier."""
    return {Tier.HOT: policy.hot, Tier.WARM: policy.warm, Tier.COLD: policy.cold, Tier.EVICTABLE: 0.0}[tier]
