"""
The verbs that ask: recall, how knowledge came to be, whom it is about, and what is stored.

Part of `Engram`; each is a few lines that call `recall` or the store. Whoever asks waits a moment for turns
that are being read, and is told if that was too short. What is given and fits is noted as recalled: counts
keep memories from fading, and are no evidence that they are true.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from engram import policy, recall
from engram.capture.change import find
from engram.capture.draft import chosen
from engram.capture.observe import find_turn
from engram.engine.handle import Handle
from engram.engine.listening import READING_PATIENCE_SECONDS
from engram.errors import InvalidQuery
from engram.values import Filters, Mode, Query
from engram.values.query import check_limit, check_moment

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from engram.values import EntityProfile, Hit, Memory, MemoryId, Recall, Scope, Timeline, Turn, TurnId

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
            answer = recall.pipeline.recall(
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
        return recall.pipeline.with_missing(answer, "turns", "some are still being read")

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
        ask = recall.pipeline.recall
        filters = Filters(statuses=recall.as_of.INDEXED, entities=frozenset(entities))
        asked = Query(text=topic, scope=self._in(scope), filters=filters, limit=limit)
        found = ask(asked, self._parts.sources, now=self._now()).hits
        relevant = {hit.memory.id: hit.memory for hit in found if hit.trust.relevance >= TIMELINE_RELEVANCE}
        if not filters.entities:
            named = replace(asked, filters=replace(filters, entities=frozenset({topic})))
            about = ask(named, self._parts.sources, now=self._now()).hits
            relevant |= {hit.memory.id: hit.memory for hit in about}
        with self._parts.store.read() as tx:
            return recall.timeline.timeline(tx, topic, list(relevant.values())[:limit], now=self._now())

    def entity(self, name: str, *, limit: int = 20, scope: Scope | None = None) -> EntityProfile:
        """Return everything about a person, project or thing: memories of all layers, relations, company."""
        check_limit(limit)
        with self._parts.store.read() as tx:
            return recall.entity.profile(tx, name, scope=self._in(scope), limit=limit, now=self._now())

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
