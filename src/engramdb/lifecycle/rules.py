"""The rules by which memories leave or change layer, and what one sweep decides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from engramdb.lifecycle.curves import PASSING, held_until, importance, retention, tiers
from engramdb.policy import AgingPolicy
from engramdb.values import Layer, Status
from engramdb.values.aging import LAYERS, NEVER, UNREAD
from engramdb.values.population import Moment, Population
from engramdb.values.reading import Lasting

WORKING_RECALLS = 2
"""After so many recalls a working memory becomes an episode."""
SEMANTIC_RECALLS = 5
"""An important episode recalled so often becomes knowledge."""
SPECULATIVE_BELOW = 0.4
"""A statement less sure than this must be confirmed."""
UNUSED_IMPORTANCE = 0.3
"""`unused` archives what was stored with less importance than this"""
UNUSED_RECALLS = 2
"""and recalled at most so often."""
FADED_IMPORTANCE = 0.3
"""`faded` archives what is now less important than this"""
FADED_RECALLS = 3
"""and was recalled less often than this."""
WEAK_BELOW = 0.05
"""`weak` archives what has less strength left than this (seed 002),"""
WEAK_SPARES_IMPORTANCE = 0.9
"""except above this importance"""
WEAK_SPARES_AROUSAL = 0.5
"""and from this arousal on."""
DECAYED_BELOW = 0.05
"""`decayed` prunes beliefs that are less sure than this by now (seed 003)."""
LOW_VALUE_IMPORTANCE = 0.3
"""`low_value` archives old episodes less important than this (seed 004)."""

ANSWER_DAYS = 14.0
"""So long before stable knowledge may leave somebody is asked whether it still holds."""
ANSWER_MICROSECONDS = int(ANSWER_DAYS * 86_400e6)
MOST_ASKED = 20
"""So many such questions a sweep, the most faded first; what is not asked about stays meanwhile."""

# The rules by which memories leave, each with a name that its history rows carry.
#
# Asked by the verdict in the order below; the first that is due decides. A rule that is due stays due while
# nothing happens to the memory, which is what lets a forecast find its day. Pinned memories, and those of a
# kind that does not fade or not yet, are spared before any rule is asked; only a date to forget after, and
# doubt, count for more than what a memory is. `evicted` and `crowded_out` look at the whole store and choose
# among those that are due.

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Ints = NDArray[np.int64]

LIVING = (Status.ACTIVE, Status.CHALLENGED)


class Measured(Struct, frozen=True, kw_only=True):
    """A population at a moment, with what was computed of it."""

    population: Population
    policy: AgingPolicy
    now: Moment
    retention: Floats
    held: Ints
    """Until when each does not fade."""

    @property
    def importance(self) -> Floats:
        """How much each memory matters now; computed when a rule asks, since most policies never do."""
        return importance(self.population, self.policy, self.now)

    @property
    def age_days(self) -> Floats:
        """Days since a memory was made or last confirmed, or its day came; bringing one back confirms it."""
        last = np.maximum(self.population.said, self.population.confirmed)
        return self.population.days_since(np.maximum(last, self.held), self.now)

    @property
    def is_open(self) -> Flags:
        """What the policy protects neither by category nor because a person asked to remember it."""
        is_protected = self.population.is_about(*self.policy.protected)
        if self.policy.spares_stated:
            is_protected |= self.population.stated
        return ~is_protected


class AgingRule(Struct, frozen=True, kw_only=True):
    """One way to leave: from which statuses, to which, and who is due."""

    name: str
    to: Status
    due: Callable[[Measured], Flags]
    of: tuple[Status, ...] = LIVING
    heeds_kind: bool = True
    """Whether it leaves alone what does not fade because of what it says."""
    asks: bool = False
    """Whether it takes what is known only after somebody was asked if it still holds."""
    chooses: bool = False
    """Whether being due is not enough, because the rule takes only some of those."""


def _forget_after(measured: Measured) -> Flags:
    is_over: Flags = measured.population.forget_after <= measured.now
    return is_over


def _speculative(measured: Measured) -> Flags:
    """What nobody has confirmed, after the day that it names: a guess at a birthday is no birthday."""
    population, policy = measured.population, measured.policy
    last = np.maximum(np.maximum(population.said, population.confirmed), population.due)
    is_unsure: Flags = population.confidence < SPECULATIVE_BELOW
    is_due: Flags = is_unsure & (population.days_since(last, measured.now) > policy.speculative_days)
    return is_due


def _commitment(measured: Measured) -> Flags:
    is_promise = measured.population.is_about("commitment")
    return is_promise & (measured.age_days > measured.policy.commitment_days)


def _unused(measured: Measured) -> Flags:
    policy, population = measured.policy, measured.population
    is_due: Flags = (
        (measured.age_days > policy.unused_days)
        & (population.importance < UNUSED_IMPORTANCE)
        & (population.recalls <= UNUSED_RECALLS)
        & ~population.is_about("correction")
        & measured.is_open
    )
    return is_due


def _faded(measured: Measured) -> Flags:
    policy, population = measured.policy, measured.population
    is_due: Flags = (
        (measured.age_days > policy.faded_days)
        & (measured.retention < policy.faded_retention)
        & (measured.importance < FADED_IMPORTANCE)
        & (population.recalls < FADED_RECALLS)
        & ~(population.is_in(Layer.SEMANTIC) & (population.lastings == UNREAD))
        & measured.is_open
    )
    return is_due


def _weak(measured: Measured) -> Flags:
    _policy, population = measured.policy, measured.population
    is_spared = (
        population.stated
        | (population.importance > WEAK_SPARES_IMPORTANCE)
        | (population.arousal >= WEAK_SPARES_AROUSAL)
    )
    return (measured.retention < WEAK_BELOW) & ~is_spared


def _decayed(measured: Measured) -> Flags:
    is_gone: Flags = measured.retention < DECAYED_BELOW
    return is_gone


def _low_value(measured: Measured) -> Flags:
    policy, population = measured.policy, measured.population
    return (
        (measured.age_days > policy.low_value_days)
        & (population.importance < LOW_VALUE_IMPORTANCE)
        & population.episodes
        & ~population.summaries
        & measured.is_open
    )


def _stale_session(measured: Measured) -> Flags:
    policy, population = measured.policy, measured.population
    last = np.maximum(population.session_ended, population.confirmed)
    idle = population.days_since(np.maximum(last, measured.held), measured.now)
    is_due: Flags = (
        (idle > policy.stale_session_days)
        & population.episodes
        & population.extracted
        & (population.recalls == 0)
        & measured.is_open
    )
    return is_due


def _old_version(measured: Measured) -> Flags:
    superseded = measured.population.days_since(measured.population.changed, measured.now)
    return superseded > measured.policy.old_version_days


def _evicted(measured: Measured) -> Flags:
    is_low: Flags = (measured.retention < measured.policy.cold) & ~measured.population.summaries
    return is_low & measured.is_open


def _crowded_out(measured: Measured) -> Flags:
    """Who may leave a full project: not, for one half-life, what was stated again or brought back."""
    population = measured.population
    is_renewed = population.confirmed > population.said
    is_spared = is_renewed & (measured.age_days <= measured.policy.half_life_days)
    return population.is_in(*PASSING) & ~is_spared & ~population.summaries


def _archive_ended(measured: Measured) -> Flags:
    archived = measured.population.days_since(measured.population.changed, measured.now)
    return archived > measured.policy.archive_days


RULES = {
    rule.name: rule
    for rule in (
        AgingRule(name="forget_after", to=Status.FORGOTTEN, due=_forget_after, heeds_kind=False),
        AgingRule(name="speculative", to=Status.ARCHIVED, due=_speculative, heeds_kind=False),
        AgingRule(name="commitment", to=Status.ARCHIVED, due=_commitment),
        AgingRule(name="unused", to=Status.ARCHIVED, due=_unused, of=(Status.ACTIVE,), asks=True),
        AgingRule(name="faded", to=Status.ARCHIVED, due=_faded, asks=True),
        AgingRule(name="weak", to=Status.ARCHIVED, due=_weak, asks=True),
        AgingRule(name="decayed", to=Status.PRUNED, due=_decayed, asks=True),
        AgingRule(name="low_value", to=Status.ARCHIVED, due=_low_value),
        AgingRule(name="stale_session", to=Status.ARCHIVED, due=_stale_session),
        AgingRule(
            name="old_version",
            to=Status.ARCHIVED,
            due=_old_version,
            of=(Status.SUPERSEDED,),
            heeds_kind=False,
        ),
        AgingRule(name="evicted", to=Status.ARCHIVED, due=_evicted, asks=True, chooses=True),
        AgingRule(name="crowded_out", to=Status.ARCHIVED, due=_crowded_out, chooses=True),
        AgingRule(
            name="archive_ended",
            to=Status.PRUNED,
            due=_archive_ended,
            of=(Status.ARCHIVED,),
            heeds_kind=False,
        ),
    )
}
"""Every rule that columns can decide, by name, in the order in which they are asked."""


def is_due(rule: AgingRule, measured: Measured) -> Flags:
    """Return which memories a rule wants: of the right status, not pinned, free to fade, and due."""
    population = measured.population
    may_leave = population.has(*rule.of) & ~population.pinned
    if rule.heeds_kind:
        may_leave &= measured.held <= measured.now
    if rule.asks:
        may_leave &= ~is_asked_about(population) | (population.asked <= measured.now - ANSWER_MICROSECONDS)
    return may_leave & rule.due(measured)


def is_asked_about(population: Population) -> Flags:
    """Return what does not fade away unasked: knowledge that holds until something replaces it."""
    is_known = population.is_in(Layer.SEMANTIC) & population.lasts(Lasting.STABLE)
    return is_known & ~population.derived & ~population.episodes & ~population.overheard


def to_ask(population: Population, policy: AgingPolicy, now: Moment) -> Flags:
    """Return about which memories to ask now, because a rule may take them once there is time to answer."""
    found = np.zeros(len(population), np.bool_)
    may_ask = is_asked_about(population) & (population.asked == NEVER) & population.has(*LIVING)
    rows = np.flatnonzero(may_ask & ~population.pinned)
    some = answered(population.take(rows))
    later = np.broadcast_to(np.asarray(now, np.int64), (len(population),))[rows] + ANSWER_MICROSECONDS
    measured = measure(some, policy, later)
    for rule in chosen_rules(policy):
        if rule.asks:
            found[rows] |= is_due(rule, measured)
    return found


def answered(population: Population) -> Population:
    """Return the memories as they are when somebody was asked about each, long ago."""
    return replace(population, asked=np.zeros(len(population), np.int64))


def chosen_rules(policy: AgingPolicy) -> list[AgingRule]:
    """Return the policy's rules in the order in which they are asked."""
    return [rule for name, rule in RULES.items() if name in policy.rules]


# What one sweep decides: who changes layer and who leaves, by which rule.
#
# Called by the sweep, batch by batch, and by the forecast, moment by moment. Every memory is judged by its
# own columns alone, so the size of a batch changes nothing; what must look at the whole store (the lowest
# fifty, a project's ten thousand) is only marked as due here and chosen by `choose_evicted` and
# `choose_crowded`.

STAYS = -1
_WORKING, _EPISODIC, _SEMANTIC = (
    LAYERS.index(layer) for layer in (Layer.WORKING, Layer.EPISODIC, Layer.SEMANTIC)
)
_MINUTES_PER_DAY = 1440


class Verdicts(Struct, frozen=True, kw_only=True):
    """What becomes of each memory of a population."""

    measured: Measured
    tiers: NDArray[np.int8]
    layers: NDArray[np.int8]
    """The layer that each belongs to now."""
    rules: list[AgingRule]
    leaving: NDArray[np.int16]
    """The place in `rules` of the one by which a memory leaves, or `STAYS`."""
    due: dict[str, NDArray[np.bool_]]
    """Who is due for each rule that chooses among those."""


def measure(population: Population, policy: AgingPolicy, now: Moment) -> Measured:
    """Return a population at a moment, with what every rule asks for."""
    return Measured(
        population=population,
        policy=policy,
        now=now,
        retention=retention(population, policy, now),
        held=held_until(population, policy),
    )


def judge(population: Population, policy: AgingPolicy, now: Moment) -> Verdicts:
    """Return what one sweep at this moment does with each memory."""
    living = population.has(*LIVING)
    layers = next_layers(population, policy, now)
    settled = population.in_layers(layers)
    measured = measure(settled, policy, now)
    rules = chosen_rules(policy)
    leaving = np.full(len(population), STAYS, np.int16)
    due = {}
    for place, rule in enumerate(rules):
        wants = is_due(rule, measured) & (leaving == STAYS)
        if rule.chooses:
            due[rule.name] = wants
        else:
            leaving[wants] = place
    return Verdicts(
        measured=measured,
        tiers=tiers(measured.retention, policy),
        layers=np.where(living, layers, population.layers).astype(np.int8),
        rules=rules,
        leaving=leaving,
        due=due,
    )


def next_layers(population: Population, policy: AgingPolicy, now: Moment) -> NDArray[np.int8]:
    """Return the layer that each memory belongs to: working ones become episodes, used ones knowledge."""
    minutes = population.days_since(population.said, now) * _MINUTES_PER_DAY
    may_move = ~population.held & population.has(*LIVING)
    is_over = (minutes >= policy.working_minutes) | (population.recalls >= WORKING_RECALLS)
    layers = np.where(
        may_move & (population.layers == _WORKING) & is_over, _EPISODIC, population.layers
    ).astype(np.int8)

    is_used = may_move & (layers == _EPISODIC) & (population.recalls >= SEMANTIC_RECALLS)
    rows = np.flatnonzero(is_used)  # few, so that the nine factors of all the others need not be added up
    moments = np.broadcast_to(np.asarray(now, np.int64), (len(population),))[rows]
    matters = importance(population.in_layers(layers).take(rows), policy, moments)
    layers[rows[matters >= policy.semantic_importance]] = _SEMANTIC
    return layers


def choose_evicted(
    retention: NDArray[np.float64], keys: NDArray[np.int64], *, most: int
) -> NDArray[np.int64]:
    """Return the places of the memories that leave first: lowest retention, then oldest."""
    return np.lexsort((keys, retention))[:most]


def choose_crowded(
    importance: NDArray[np.float64],
    keys: NDArray[np.int64],
    projects: NDArray[np.int64],
    *,
    totals: dict[int, int],
    most: int,
) -> NDArray[np.int64]:
    """
    Return the places of the memories that a full project loses: least important, then oldest.

    `totals` says how many memories each project holds, those that may not leave included.
    """
    chosen = []
    for project in np.unique(projects):
        too_many = max(0, totals[int(project)] - most)
        if too_many:
            places = np.flatnonzero(projects == project)
            order = np.lexsort((keys[places], importance[places]))
            chosen.append(places[order[:too_many]])
    return np.concatenate(chosen) if chosen else np.empty(0, np.int64)


# Choose who leaves where being due is not enough: the lowest of a sweep, and what is too much for a project.
#
# Held by the sweep, which shows it every page once and then asks for the losers. Looks at the whole store
# before it chooses, so the size of a page changes nothing. Keeps four numbers for each memory that is due.

EVICTED, CROWDED_OUT = "evicted", "crowded_out"


class Contest:
    """Who is due for the rules that choose, of the whole store."""

    def __init__(self, policy: AgingPolicy, *, already: Mapping[str, int]) -> None:
        self._policy = policy
        self._evict_most = max(0, policy.evict_most - already.get(EVICTED, 0))
        self._due: dict[str, list[NDArray[np.float64]]] = {EVICTED: [], CROWDED_OUT: []}
        self._totals: Counter[int] = Counter()

    @property
    def is_needed(self) -> bool:
        """Whether the policy has such a rule at all."""
        return any(name in self._policy.rules for name in self._due)

    def enter(self, verdicts: Verdicts) -> None:
        """Take in one page."""
        population = verdicts.measured.population
        scores = {EVICTED: verdicts.measured.retention, CROWDED_OUT: population.importance}
        is_passing = population.is_in(*PASSING)
        for name, due in verdicts.due.items():
            columns = (population.keys, scores[name], population.projects, is_passing)
            self._due[name].append(np.stack([column[due] for column in columns]))
        is_here = is_passing & population.has(*LIVING) & (verdicts.leaving == STAYS)
        for project, number in zip(*np.unique(population.projects[is_here], return_counts=True), strict=True):
            self._totals[int(project)] += int(number)

    def losers(self) -> Iterator[tuple[AgingRule, list[int]]]:
        """Yield each rule with the keys of those that leave by it."""
        gone: set[int] = set()
        if EVICTED in self._policy.rules:
            keys, scores, projects, is_passing = self._columns(EVICTED)
            places = choose_evicted(scores, keys, most=self._evict_most)
            gone = set(keys[places].tolist())
            self._totals.subtract(projects[places][is_passing[places]].tolist())
            yield RULES[EVICTED], sorted(gone)
        if CROWDED_OUT in self._policy.rules:
            keys, scores, projects, _ = self._columns(CROWDED_OUT)
            is_left = ~np.isin(keys, list(gone))
            places = choose_crowded(
                scores[is_left],
                keys[is_left],
                projects[is_left],
                totals=self._totals,
                most=self._policy.project_most,
            )
            yield RULES[CROWDED_OUT], sorted(keys[is_left][places].tolist())

    def _columns(
        self, name: str
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64], NDArray[np.bool_]]:
        pages = self._due[name]
        keys, scores, projects, is_passing = np.concatenate(pages, axis=1) if pages else np.empty((4, 0))
        return keys.astype(np.int64), scores, projects.astype(np.int64), is_passing.astype(np.bool_)
