"""Verbs that ask: recall, timeline, entity, gaps, confidence, reason."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime

from msgspec.structs import replace

from engramdb import policy
from engramdb.capture.pipeline import find_turn
from engramdb.dream.gaps import INJECTION
from engramdb.engine.assemble import Parts
from engramdb.engine.handle import Handle
from engramdb.engine.status import CHAT
from engramdb.engine.workers import READING_PATIENCE_SECONDS
from engramdb.errors import EmbeddingError, InvalidQuery
from engramdb.index.domains import domain_of, domains, summaries
from engramdb.lifecycle.change import find
from engramdb.lifecycle.drafts import Draft, chosen
from engramdb.models.capabilities import capabilities
from engramdb.recall.answerability import Evidence, assess, fitting, unspoken
from engramdb.recall.as_of import INDEXED
from engramdb.recall.entity import profile
from engramdb.recall.evidence import Purse
from engramdb.recall.pipeline import recall, with_missing
from engramdb.recall.pipeline import recall as recall_recall
from engramdb.recall.reason import DEEPEST, Reasoner, reason
from engramdb.recall.timeline import timeline
from engramdb.store.contract import Transaction
from engramdb.text.normalize import is_text
from engramdb.values import (
    Action,
    AuditEvent,
    Breadth,
    Confidence,
    Domain,
    EntityProfile,
    Filters,
    Gap,
    Hit,
    Memory,
    MemoryId,
    Mode,
    Query,
    Reasoned,
    Recall,
    Scope,
    Status,
    Summary,
    Timeline,
    Turn,
    TurnId,
)
from engramdb.values.query import check_limit, check_moment

# The verbs that ask: recall, how knowledge came to be, whom it is about, and what is stored.
#
# Part of `Engram`; each is a few lines that call `recall` or the store. Whoever asks waits a moment for turns
# that are being read, and is told if that was too short. What is given and fits is noted as recalled: counts
# keep memories from fading, and are no evidence that they are true.

TIMELINE_RELEVANCE = 0.35
"""What fits a topic less than this is not part of its story."""


class Questions(Handle):
    """Verbs that tell what is known."""

    def recall(
        self,
        query: str,
        *,
        limit: int = 10,
        mode: Mode = Mode.FULL_CONTEXT,
        filters: Filters | None = None,
        session: str | None = None,
        as_of: datetime | None = None,
        strategy: str | None = None,
        explain: bool = False,
        scope: Scope | None = None,
    ) -> Recall:
        """
        Return the memories that fit the question, best first, with reasons, and how good the answer is.

        What is given and fits counts as recalled, in this `session` if named. With `as_of` the answer is
        what was believed at that moment, and counts as nothing; what was forgotten since stays forgotten.
        `strategy` puts the candidates in another order than the policy does; `explain` also shows what was
        nearly given.
        """
        if as_of is not None:
            check_moment("as_of", as_of)
        narrowed = _narrowing(filters).in_mode(chosen(Mode, mode))
        asked = Query(text=query, scope=self._in(scope), filters=narrowed, limit=limit)
        is_read = self._listener.wait(READING_PATIENCE_SECONDS)
        with self._parts.health.watch("recall"):
            answer = recall_recall(
                asked,
                self._parts.sources,
                now=self._now(),
                as_of=as_of,
                strategy=_known(strategy),
                with_explanation=explain,
            )
        self._parts.answers.add(answer)
        if as_of is None:
            self._note_hits(answer.hits, asked.scope, session)
        if is_read:
            return answer
        return with_missing(answer, "turns", "some are still being read")

    def _note_hits(self, hits: Sequence[Hit], place: Scope, session: str | None = None) -> None:
        """Note that a reader was given these; what fits the question counts as recalled."""
        least = self._parts.policy.recall.least_score
        self._reads.note(
            [hit.memory.id for hit in hits],
            fitting={hit.memory.id for hit in hits if hit.trust.relevance >= least},
            scope=place,
            session=session,
            at=self._now(),
            in_background=self._loader is not None,
        )

    def timeline(
        self, topic: str, *, entities: Iterable[str] = (), limit: int = 50, scope: Scope | None = None
    ) -> Timeline:
        """
        Return how the knowledge of a topic came to be: what was added, confirmed, corrected, disputed.

        A topic that is the name of a person or thing is told by all that speaks of it, whatever the words.
        With `entities`, only what speaks of these counts.
        """
        ask = recall_recall
        filters = Filters(statuses=INDEXED, entities=frozenset(entities))
        asked = Query(text=topic, scope=self._in(scope), filters=filters, limit=limit)
        found = ask(asked, self._parts.sources, now=self._now()).hits
        relevant = {hit.memory.id: hit.memory for hit in found if hit.trust.relevance >= TIMELINE_RELEVANCE}
        if not filters.entities:
            named = replace(asked, filters=replace(filters, entities=frozenset({topic})))
            about = ask(named, self._parts.sources, now=self._now()).hits
            relevant |= {hit.memory.id: hit.memory for hit in about}
        with self._parts.store.read() as tx:
            return timeline(tx, topic, list(relevant.values())[:limit], now=self._now())

    def entity(self, name: str, *, limit: int = 20, scope: Scope | None = None) -> EntityProfile:
        """Return everything about a person, project or thing: memories of all layers, relations, company."""
        check_limit(limit)
        with self._parts.store.read() as tx:
            return profile(tx, name, scope=self._in(scope), limit=limit, now=self._now())

    def get(self, memory_id: MemoryId, *, scope: Scope | None = None) -> Memory:
        """Return one memory by its id or the last eight characters of it."""
        self._reads.write(self._now())
        target = self._resolve(memory_id, scope)
        with self._parts.store.read() as tx:
            return find(tx, target, self._in(scope))

    def list(
        self,
        *,
        limit: int = 50,
        before: MemoryId | None = None,
        filters: Filters | None = None,
        scope: Scope | None = None,
    ) -> Sequence[Memory]:
        """Return memories, newest first; `before` a memory's id gives the page after it."""
        check_limit(limit)
        start = None if before is None else self._resolve(before, scope)
        with self._parts.store.read() as tx:
            if start is not None:
                find(tx, start, self._in(scope))
            return tx.memories.list(
                scope=self._in(scope),
                filters=_narrowing(filters),
                limit=limit,
                before=start,
                alive_at=self._now(),
            )

    def turns(
        self,
        *,
        session: str | None = None,
        limit: int = 50,
        before: TurnId | None = None,
        scope: Scope | None = None,
    ) -> Sequence[Turn]:
        """Return the latest turns, oldest of them first; `before` a turn's id gives those that led to it."""
        check_limit(limit)
        place = self._in(scope)
        with self._parts.store.read() as tx:
            start = None if before is None else find_turn(tx, before, place).id
            return tx.turns.list(scope=place, session=session, limit=limit, before=start)


def _narrowing(filters: Filters | None) -> Filters:
    """Return the filters, or those that let everything true through; raises where they are something else."""
    if filters is not None and not isinstance(filters, Filters):
        raise InvalidQuery(
            f"filters are Filters, not {type(filters).__name__}",
            hint='Give Filters(categories=frozenset({"fact"})); whose memories is told by `scope`.',
        )
    return filters or Filters()


def _known(strategy: str | None) -> str | None:
    """Return the strategy, checked: a word that means nothing must not be taken for the default."""
    if strategy is None or strategy in policy.STRATEGIES:
        return strategy
    raise InvalidQuery(
        f"no strategy is called {strategy!r}", hint=f"Use one of {', '.join(policy.STRATEGIES)}."
    )


# The verbs of insight: what is not known, what is known how well, and what everything comes to in short.
#
# Part of `Engram`; each is a few lines that call one room. All of it is what the last dream found, except for
# `confidence`, which looks at the memories themselves; asking it counts as no recall.


class Insights(Handle):
    """Verbs that tell what is known of the knowledge."""

    def gaps(self, *, limit: int = 20, after: str | None = None, scope: Scope | None = None) -> Sequence[Gap]:
        """
        Return open questions, the weightiest first: missing facts, contradictions, old beliefs.

        `after` a question's id gives the page after it, also if that one was settled meanwhile.
        """
        check_limit(limit)
        place = self._in(scope)
        with self._parts.store.read() as tx:
            if after is not None:
                _known_gap(tx, after, place)
            return tx.gaps.open_for(place, limit=limit, after=after)

    def close_gap(self, gap_id: str, *, reason: str = "", scope: Scope | None = None) -> Gap:
        """Settle a question without an answer; it is not asked again."""
        place = self._in(scope)
        with self._parts.store.atomic() as tx:
            _open_gap(tx, gap_id, place)
            tx.gaps.close(gap_id, at=self._now(), by=self._actor.kind, because=reason)
            detail = {"question": "closed"}
            tx.audit.add(
                AuditEvent(
                    at=self._now(), action=Action.FEEDBACK, actor=self._actor, target=gap_id, detail=detail
                )
            )
            return _known_gap(tx, gap_id, place)

    def answer_gap(self, gap_id: str, answer: str, *, scope: Scope | None = None) -> Memory:
        """Answer a question: what is stated is remembered in its scope, and the question is closed."""
        place = self._in(scope)
        with self._parts.store.read() as tx:
            _open_gap(tx, gap_id, place)
        memory = self._admit([Draft(content=answer, scope=place)])[0]
        self.close_gap(gap_id, reason="answered", scope=place)
        return memory

    def domains(self, *, scope: Scope | None = None) -> Sequence[Domain]:
        """Return the fields of knowledge that the last dream found, the best known first."""
        with self._parts.store.read() as tx:
            return domains(tx, self._in(scope), self._parts.policy.insight, self._now())

    def summaries(
        self,
        query: str | None = None,
        *,
        breadth: Breadth | str = Breadth.DOMAIN,
        limit: int = 5,
        scope: Scope | None = None,
    ) -> Sequence[Summary]:
        """Return what is known in short: by cluster, by domain or all of it, what fits the question first."""
        if breadth not in [one.value for one in Breadth]:
            raise InvalidQuery(f"no breadth is called {breadth!r}", hint=f"Use one of {', '.join(Breadth)}.")
        place = self._in(scope)
        vector, space = None, None
        if query is not None:
            (vector,) = self._parts.embedder.embed_queries([Query(text=query, scope=place).text])
        with self._parts.store.read() as tx:
            if vector is not None:
                space = tx.vectors.space(self._parts.embedder.identity)
            return summaries(tx, place, vector, breadth, limit, space=space)

    def confidence(self, query: str, *, scope: Scope | None = None) -> Confidence:
        """Say whether an answer to the question can be confident, is uncertain, or about the unknown."""
        return confidence(self._parts, query, scope=self._in(scope), now=self._now())


def _known_gap(tx: Transaction, gap_id: str, scope: Scope) -> Gap:
    gap = tx.gaps.get(gap_id, scope=scope) if isinstance(gap_id, str) and is_text(gap_id) else None
    if gap is None:
        raise InvalidQuery(f"no question has the id {str(gap_id)[:40]!r}")
    return gap


def _open_gap(tx: Transaction, gap_id: str, scope: Scope) -> Gap:
    """Return an open question of exactly this scope: one of a wider scope is for others to settle."""
    gap = _known_gap(tx, gap_id, scope)
    if gap.scope != scope:
        raise InvalidQuery(f"question {gap_id} belongs to the scope {gap.scope}", hint="Settle it there.")
    if gap.closed_at is not None:
        raise InvalidQuery(f"question {gap_id} is closed already")
    return gap


# The verb that follows a question further than one recall: `reason`.

EVIDENCE = 20


class Reasoning(Handle):
    """The verb that reasons."""

    def reason(
        self,
        question: str,
        *,
        depth: int | None = None,
        limit: int = EVIDENCE,
        calls: int | None = None,
        tokens: int | None = None,
        session: str | None = None,
        scope: Scope | None = None,
    ) -> Reasoned:
        """
        Recall, judge whether that is enough, ask for parts and gaps, and answer from what was found.

        The answer names the memories that it stands on. Without a chat model, or where it fails, there is
        none, and `why` says so; the evidence tree is there at any rate. `depth` is how many levels of
        questions are asked, from 1 to 5; a model is asked `calls` times at most, for `tokens` in all. What is
        not given follows from what the model can do.
        """
        place, now = self._in(scope), self._now()
        reasoned = reason_once(
            self._parts, question, depth=depth, limit=limit, calls=calls, tokens=tokens, scope=place, now=now
        )
        least = self._parts.policy.recall.least_score
        self._reads.note(
            [hit.memory.id for hit in reasoned.evidence],
            fitting={hit.memory.id for hit in reasoned.evidence if hit.trust.relevance >= least},
            scope=place,
            session=session,
            at=now,
            in_background=self._loader is not None,
        )
        return reasoned


# How well a question is covered by what is remembered.
#
# Called by `Engram.confidence`; asks recall, the domains and the open questions, and lets `dream.insight`
# judge. It gives no memory and counts as no recall. Loaded when somebody asks.

ASKED_HITS = 20
"""So many of the best memories are looked at to say how well a question is covered."""
KIN_LOOKED_AT = 9
"""The best memory itself and eight around it."""
LIVING = frozenset({Status.ACTIVE, Status.CHALLENGED})


def confidence(parts: Parts, question: str, *, scope: Scope, now: datetime) -> Confidence:
    """Say whether an answer to the question can be confident, is uncertain, or about the unknown."""
    asked = Query(text=question, scope=scope, filters=Filters(statuses=LIVING), limit=ASKED_HITS)
    answer = recall(asked, parts.sources, now=now)
    fits = fitting(answer.hits)
    with parts.store.read() as tx:
        domain = _domain_of(tx, fits, parts, now)
        count = tx.gaps.count_about([hit.memory.id for hit in fits])
    missing = tuple(f"{one.index}: {one.reason}" for one in answer.quality.missing)
    kin = _kin(parts, fits[0].memory, asked) if fits else []
    found = Evidence(
        answer.hits,
        kin=kin,
        domain=domain,
        gaps=count,
        unspoken=unspoken(question, [hit.memory for hit in fits]),
        missing=missing,
    )
    return assess(found)


def _kin(parts: Parts, memory: Memory, asked: Query) -> list[tuple[Memory, float]]:
    """Return the memories around one, with how alike they are; none while there is no embedder."""
    try:
        (vector,) = parts.embedder.embed_documents([memory.content])
    except EmbeddingError:  # recall has said so in what is missing
        return []
    with parts.store.read() as tx:
        near = parts.spaces.search(tx, vector, scope=asked.scope, filters=asked.filters, limit=KIN_LOOKED_AT)
        found = tx.memories.by_keys([one.key for one in near.found])
    others = [one for one in found.values() if one.id != memory.id and INJECTION not in one.flags]
    alike = parts.pipeline.likeness.between(memory.content, [one.content for one in others])
    return list(zip(others, alike, strict=True))


def _domain_of(tx: Transaction, fits: Sequence[Hit], parts: Parts, now: datetime) -> Domain | None:
    """Return the domain that most of what fits is in, weighed by how well it fits."""
    relevance = {hit.memory.id: hit.trust.relevance for hit in fits}
    homes = tx.tree.domains_of(list(relevance))
    votes: defaultdict[str, float] = defaultdict(float)
    for memory_id, node in homes.items():
        votes[node.id] += relevance[memory_id]
    if not votes:
        return None
    winner = min(votes, key=lambda node: (-votes[node], node))
    node = next(one for one in homes.values() if one.id == winner)
    return domain_of(node, parts.policy.insight, now)


# How a question is followed: how deep, with which model, and for how many calls and tokens.
#
# Called by `Engram.reason`; builds what `recall.reason` needs and calls it. What is not given follows from
# what
# the model can do. Loaded when somebody asks: the prompts are of no use to anybody else.

DEPTH = 3
"""Of a tree unless another is asked for; what it is worth: docs/lab/0024-dream.md."""
BUDGETS = ((200_000, True, 5, 15), (100_000, False, 3, 8), (0, False, 3, 3))
"""From what window on, whether for thinking models only: the depth and the calls. Seed 002 §15.6."""
MOST_TOKENS = 64_000
"""Half of a model's window may be spent, but never more than this: fifteen prompts with all they can hold."""


def reason_once(
    parts: Parts,
    question: str,
    *,
    depth: int | None,
    limit: int,
    calls: int | None,
    tokens: int | None,
    scope: Scope,
    now: datetime,
) -> Reasoned:
    """Follow one question and return what was found, with the answer if there is one."""
    deep, purse = _purse_for(parts, depth, calls=calls, tokens=tokens)

    def look_up(asked: str) -> Recall:
        return recall(Query(text=asked, scope=scope, limit=limit), parts.sources, now=now)

    Query(text=question, scope=scope, limit=limit)
    with parts.health.watch("reason"):
        return reason(
            question,
            Reasoner(
                recall=look_up,
                depth=deep,
                limit=limit,
                least_relevance=parts.policy.recall.least_score,
                log=parts.calls,
                purse=purse,
                failed=lambda error: parts.health.failed(CHAT, error),
            ),
        )


def _purse_for(
    parts: Parts, depth: int | None, *, calls: int | None, tokens: int | None
) -> tuple[int, Purse | None]:
    """Return how deep to go, and the model with what it may cost; None where there is no model."""
    _check(depth, calls=calls, tokens=tokens)
    chat = parts.chat
    if chat is None:
        return depth or DEPTH, None
    can = capabilities(chat.name, overrides=parts.settings.models)
    deep, often = next(
        (deep, often)
        for window, for_thinking, deep, often in BUDGETS
        if can.context_window >= window and (can.thinking or not for_thinking)
    )
    most = min(can.context_window // 2, MOST_TOKENS)
    purse = Purse(chat, calls=often if calls is None else calls, tokens=most if tokens is None else tokens)
    return depth or deep, purse


def _check(depth: int | None, *, calls: int | None, tokens: int | None) -> None:
    if depth is not None and not 1 <= depth <= DEEPEST:
        raise InvalidQuery(f"depth={depth} is outside 1 to {DEEPEST}")
    for name, number in (("calls", calls), ("tokens", tokens)):
        if number is not None and number < 0:
            raise InvalidQuery(f"{name}={number} is below 0")
