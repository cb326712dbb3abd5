"""The sections of a window: identity, skills, hints, working memory, recalled memories."""

from __future__ import annotations

import math
import threading
from collections import Counter, OrderedDict
from collections.abc import Iterable, Mapping, Sequence, Set
from datetime import datetime, timedelta

from msgspec import Struct

from engramdb.capture.actions import is_run_record
from engramdb.context.budget import SectionCandidate
from engramdb.context.lines import inline_name, may_be_standing, may_enter_window, one_line
from engramdb.lifecycle.questions import SHORT_ID_CHARACTERS
from engramdb.policy import ContextPolicy
from engramdb.store.contract import Transaction
from engramdb.text.dates import long_date
from engramdb.text.terms import query_terms
from engramdb.values import (
    Entity,
    Filters,
    Gap,
    Hit,
    Layer,
    Memory,
    MemoryId,
    OutdatedPremise,
    Recall,
    Scope,
    SecurityTier,
    Status,
    WorkingLine,
)
from engramdb.values.query import MAX_LIMIT

TOKENS_PER_HIT = 25
"""Recall is asked for one memory per this many tokens of the section."""
GAP_DAYS = 7.0
"""Days before an open question is brought up again."""

# What stands whatever the message: pinned memories, identity, skills, hints about the code.
#
# Asked by `build` for every window; reads the store. Looking for them takes a walk through a scope, so they
# are cached, with the cursor of the last change, and only memories that changed since are looked at again.
# Forgetting is a change, too: what was forgotten is gone from the next window.

MAX_HINTS = 12
"""What an agent should have seen of the code before it begins: an overview, not every section of a README."""
MAX_PER_KIND = 200
"""Memories cached of each kind, the newest."""
MAX_CHANGES_APPLIED = 200
"""After more changes than this everything is looked for again."""
MAX_CACHED_SCOPES = 32
_NO_SPACE = -1
_NO_WIDTH = 8


class StandingSet(Struct, frozen=True):
    """The standing memories of a scope at a moment."""

    cursor: int
    memories: Mapping[MemoryId, Memory]
    unreadable: tuple[MemoryId, ...] = ()
    """Of rows that were looked at and cannot be read."""

    def in_layer(self, layer: Layer) -> list[Memory]:
        """Return those of one layer."""
        return [one for one in self.memories.values() if one.layer is layer]

    def identity(self, policy: ContextPolicy) -> list[Memory]:
        """Return what is pinned or of a category of identity."""
        return [one for one in self.memories.values() if is_identity(one, policy)]


class StandingMemories:
    """Keeps the standing memories of the scopes that were asked for last; safe to share between threads."""

    def __init__(self, policy: ContextPolicy) -> None:
        self._policy = policy
        self._lock = threading.Lock()
        self._cache: OrderedDict[Scope, StandingSet] = OrderedDict()

    def of(self, tx: Transaction, scope: Scope) -> StandingSet:
        """Return the standing memories that a scope may see, as of this transaction."""
        cursor = tx.vectors.latest_change()
        with self._lock:
            known = self._cache.get(scope)
        if known is None or not 0 <= cursor - known.cursor <= MAX_CHANGES_APPLIED:
            known = self._search(tx, scope, cursor)
        elif cursor != known.cursor:
            known = self._apply_changes(tx, scope, known, cursor)
        with self._lock:
            self._cache[scope] = known
            self._cache.move_to_end(scope)
            while len(self._cache) > MAX_CACHED_SCOPES:
                self._cache.popitem(last=False)
        return known

    def clear(self) -> None:
        """Drop everything; they are looked for again."""
        with self._lock:
            self._cache.clear()

    def _search(self, tx: Transaction, scope: Scope, cursor: int) -> StandingSet:
        unreadable = tx.memories.skip_unreadable()
        narrowed = (
            Filters(categories=frozenset(self._policy.identity_categories)),
            Filters(layers=frozenset({Layer.PROCEDURAL})),
            Filters(layers=frozenset({Layer.CODEBASE})),
        )
        found = [
            memory
            for filters in narrowed
            for memory in tx.memories.list(scope=scope, filters=filters, limit=MAX_PER_KIND, before=None)
        ]
        pinned = tx.memories.pinned(scope=scope, limit=MAX_PER_KIND)
        rules = tx.memories.rules(scope=scope, limit=MAX_PER_KIND)
        every = {one.id: one for one in [*pinned, *rules, *found] if may_be_standing(one)}
        return StandingSet(cursor, every, tuple(unreadable))

    def _apply_changes(self, tx: Transaction, scope: Scope, known: StandingSet, cursor: int) -> StandingSet:
        """Return what stands after the changes since then: only what changed is read."""
        changed = tx.vectors.changes(
            _NO_SPACE, dimension=_NO_WIDTH, since=known.cursor, limit=MAX_CHANGES_APPLIED + 1
        )
        memories, unreadable = dict(known.memories), tx.memories.skip_unreadable()
        for memory in tx.memories.by_keys([int(key) for key in changed.keys]).values():
            memories.pop(memory.id, None)
            if scope.sees(memory.scope) and may_be_standing(memory) and self._is_standing(memory):
                memories[memory.id] = memory
        lost = [memory_id for memory_id, place in unreadable.items() if scope.sees(place)]
        return StandingSet(cursor, memories, tuple(dict.fromkeys([*known.unreadable, *lost])))

    def _is_standing(self, memory: Memory) -> bool:
        is_active = memory.status is Status.ACTIVE
        in_layer = memory.layer in (Layer.PROCEDURAL, Layer.CODEBASE)
        return is_active and (in_layer or is_identity(memory, self._policy))


def is_identity(memory: Memory, policy: ContextPolicy) -> bool:
    """Return whether a memory belongs to who the agent and the user are."""
    return memory.pinned or memory.is_rule or memory.category in policy.identity_categories


def order_standing(memories: Iterable[Memory]) -> list[Memory]:
    """Return standing memories in the order that they get tokens: pinned, rules, weighty, proven, newest."""
    return sorted(
        memories,
        key=lambda one: (one.pinned, one.is_rule, standing_weight(one), one.stated_at),
        reverse=True,
    )


def standing_weight(memory: Memory) -> float:
    """Return how much a standing memory matters, from its importance and from how often it worked."""
    runs = memory.successes + memory.failures
    worked = memory.successes / runs if runs else 0.5
    return 1.0 if memory.pinned else 0.3 + 0.4 * memory.importance + 0.3 * worked


# Hints about the code: the memories of the codebase layer.


def hint_candidates(standing: StandingSet) -> list[SectionCandidate]:
    """Return what coding hints would like to show, best first; what else is known of the code is recalled."""
    weightiest = order_standing(standing.in_layer(Layer.CODEBASE))[:MAX_HINTS]
    return [SectionCandidate(one, standing_weight(one)) for one in weightiest]


# Who the agent and the user are: pinned memories, instructions, principles and preferences of the scope.


def identity_candidates(standing: StandingSet, policy: ContextPolicy) -> list[SectionCandidate]:
    """Return what identity would like to show, best first."""
    return [SectionCandidate(one, standing_weight(one)) for one in order_standing(standing.identity(policy))]


# How things are done: the procedural memories of the scope, what worked most often first.


def skill_candidates(standing: StandingSet) -> list[SectionCandidate]:
    """Return what skills would like to show, best first: no bare counts of commands."""
    return [
        SectionCandidate(one, standing_weight(one))
        for one in order_standing(standing.in_layer(Layer.PROCEDURAL))
        if not is_run_record(one)
    ]


# Memories that fit the message: as many as could fit the budget, best first.

CONFIDENTIAL_FITS = 0.35
"""How well a confidential memory must fit before it is shown to a model unasked."""
MIN_HITS = 10
"""Requested however small the budget: the best of them may be short."""


def memories_to_recall(token_budget: int) -> int:
    """Return how many memories to ask for, given the tokens that there may be for them."""
    return min(MAX_LIMIT, max(MIN_HITS, math.ceil(token_budget / TOKENS_PER_HIT)))


def recalled_candidates(hits: Sequence[Hit]) -> list[SectionCandidate]:
    """
    Return what recall found and may enter a window, best first.

    The summary of a session only repeats what was stated in it, so beside that it is left out.
    """
    found = [hit for hit in hits if may_enter_window(hit.memory) and _is_eligible(hit)]
    told = {hit.memory.provenance.session for hit in found if not hit.memory.is_session_summary}
    return [
        SectionCandidate(hit.memory, hit.score)
        for hit in found
        if not (hit.memory.is_session_summary and hit.memory.provenance.session in told)
    ]


def _is_eligible(hit: Hit) -> bool:
    """Return whether a hit may use tokens: a confidential one only where it is what the message is about."""
    is_confidential = hit.memory.security is SecurityTier.CONFIDENTIAL
    return not is_confidential or hit.trust.relevance >= CONFIDENTIAL_FITS


def count_withheld(hits: Sequence[Hit]) -> int:
    """Return how many hits may not enter a window by themselves."""
    return sum(not may_enter_window(hit.memory) for hit in hits)


# A word about the knowledge itself: that little is known of a topic, and questions that would close a gap.

UNKNOWN_NOTE = (
    "- note: nothing in memory fits this message well; what is left is general knowledge, or asking the user"
)
THIN_NOTE = "- note: little in memory fits this message well; it may be incomplete or out of date"
_PREMISE = {
    True: "outdated premise, tell the user before you go on",
    False: "possibly outdated premise, ask the user before you rely on it",
}
MAX_PREMISES = 2
"""How many changes that a message overlooks are told."""
QUESTION_PREFIX = "- open question to ask the user, if it fits: "


def knowledge_note(answer: Recall, shown: Sequence[Hit], policy: ContextPolicy) -> str | None:
    """Return what to say where the answer is not known: that nothing fits, or that little does."""
    if not policy.reflects or (answer.quality.is_known and shown):
        return None
    return THIN_NOTE if shown else UNKNOWN_NOTE


def premise_notes(premises: Sequence[OutdatedPremise]) -> list[str]:
    """Return what to say where a message takes for granted what has changed; nothing of what is withheld."""
    return [
        f"- note: {_PREMISE[premise.is_certain]}: {_quoted(premise.was)}; since then: {_quoted(premise.now)}"
        for premise in premises
        if may_enter_window(premise.now)
        and all(not (_is_secret(one) or one.is_suspicious) for one in (premise.was, premise.now))
    ][:MAX_PREMISES]


def _is_secret(memory: Memory) -> bool:
    return memory.security is SecurityTier.CONFIDENTIAL


def _quoted(memory: Memory) -> str:
    return f"“{one_line(memory.content)}” ({long_date(memory.when.date())})"


def choose_questions(gaps: Sequence[Gap], shown: Set[MemoryId], *, left: int, now: datetime) -> list[Gap]:
    """Return the open questions worth asking now: about what is shown, not asked lately, weightiest first."""
    rested = now - timedelta(days=GAP_DAYS)
    due = [
        gap
        for gap in gaps
        if gap.closed_at is None
        and (gap.asked_at is None or gap.asked_at <= rested)
        and (gap.snoozed_until is None or gap.snoozed_until <= now)
        and not shown.isdisjoint(gap.memories)
    ]
    return sorted(due, key=lambda gap: -gap.priority)[: max(0, left)]


def question_line(gap: Gap) -> str:
    """Return an open question as a line, with the end of its id, by which it can be answered."""
    return f"{QUESTION_PREFIX}{one_line(gap.question)} [{gap.id[-SHORT_ID_CHARACTERS:]}]"


# Who else is there: the other agents, a line each.


def agent_lines(agents: Sequence[str]) -> list[str]:
    """Return the lines of the other agents."""
    return [f"- {one_line(agent)}" for agent in agents if one_line(agent)]


# What is known of the people and things mentioned: the semantic memories of the entities that the hits
# mention.

HITS_CONSIDERED = 4
MAX_ENTITIES = 2
MEMORIES_PER_ENTITY = 12
NAMED_BONUS = 10
"""What being named in the message counts for, in mentions by hits."""

_KNOWLEDGE = Filters(layers=frozenset({Layer.SEMANTIC}))


def schema_candidates(
    tx: Transaction, message: str, hits: Sequence[Hit], scope: Scope
) -> list[SectionCandidate]:
    """Return what schemas would like to show, the newest of each entity first."""
    if tx.entities.is_empty():
        return []
    found: list[SectionCandidate] = []
    for entity in entities_in_play(tx, message, hits, scope):
        keys = tx.entities.memories_of(entity.id, scope=scope, filters=_KNOWLEDGE, limit=MEMORIES_PER_ENTITY)
        memories = tx.memories.by_keys(keys)
        told = [memories[key] for key in keys if key in memories]
        found += [SectionCandidate(one, 0.3 + 0.7 * one.importance) for one in told]
    return [
        candidate
        for candidate in {one.memory.id: one for one in found}.values()
        if may_be_standing(candidate.memory)
    ]


def entities_in_play(tx: Transaction, message: str, hits: Sequence[Hit], scope: Scope) -> list[Entity]:
    """Return the entities that the best hits mention, those that the message names first."""
    words = set(query_terms(message))
    known: dict[str, Entity] = {}
    spoken: Counter[str] = Counter()
    for hit in hits[:HITS_CONSIDERED]:
        for entity in tx.entities.of_memory(hit.memory.id, scope=scope):
            is_named = bool(
                words & {term for name in (entity.name, *entity.aliases) for term in query_terms(name)}
            )
            known[entity.id] = entity
            spoken[entity.id] += 1 + (NAMED_BONUS if is_named and entity.id not in spoken else 0)
    return [known[entity_id] for entity_id, _ in spoken.most_common(MAX_ENTITIES)]


# What was stored today, newest first.

NEWEST = 20
"""How many of the newest memories are looked at."""


def today_candidates(
    tx: Transaction, scope: Scope, *, now: datetime, session: str | None = None
) -> list[SectionCandidate]:
    """
    Return what was stored today, newest first, but for what this session said: it has its history.

    Nor are sessions summed up here: what was stated in them is there itself.
    """
    newest = tx.memories.list(scope=scope, filters=Filters(), limit=NEWEST, before=None)
    fresh = [one for one in newest if one.stated_at.date() == now.date() and may_be_standing(one)]
    told = [one for one in fresh if not one.is_session_summary]
    stored = [one for one in told if session is None or one.provenance.session != session]
    return [SectionCandidate(one, 0.2 + 0.8 * one.importance) for one in stored]


# Working memory as lines: what is in working memory now, the most active first.


def working_memory_lines(slots: Sequence[WorkingLine]) -> list[str]:
    """Return a line for each slot."""
    strongest = sorted(slots, key=lambda slot: -slot.activation)
    return [
        f"- {inline_name(slot.source.replace('_', ' '))}: {one_line(slot.text)}"
        for slot in strongest
        if one_line(slot.text)
    ]
