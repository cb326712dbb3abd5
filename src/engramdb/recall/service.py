"""
Answer questions and tell stories: `recall` and `timeline`, around the read path.

A question waits a moment for turns that are being read, and the answer says so if that was too short. What is
given and fits is noted as recalled: counts keep memories from fading, and are no evidence that they are true.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from msgspec.structs import replace

from engramdb.clock import Clock
from engramdb.errors import InvalidQuery
from engramdb.health import Health
from engramdb.policy import STRATEGIES, Policy
from engramdb.recall.as_of import INDEXED
from engramdb.recall.gather import Sources
from engramdb.recall.pipeline import recall, with_missing
from engramdb.recall.timeline import timeline
from engramdb.store.contract import Store
from engramdb.values import Hit, Query, Recall, Scope, Timeline
from engramdb.values.query import MAX_QUERY_CHARACTERS, Then

AVERAGED_ANSWERS = 200
POOR_RELEVANCY = 0.3
"""An answer with a lower average relevancy is poor."""
POOR_IN_A_ROW = 10
"""So many poor answers in a row are worth a warning."""
TIMELINE_RELEVANCE = 0.35
"""What fits a topic as well as this is part of its story."""
TIMELINE_BEST, TIMELINE_LEAST = 4, 0.15
"""Of the best, so many count with less: how a thing was called before may share no word with the topic."""


class NotesHits(Protocol):
    """Counts what readers were given."""

    def note_hits(self, hits: Sequence[Hit], scope: Scope, session: str | None = None) -> None: ...


class RecallParts(Protocol):
    """What answering needs of the engine."""

    @property
    def clock(self) -> Clock: ...
    @property
    def health(self) -> Health: ...
    @property
    def store(self) -> Store: ...
    @property
    def policy(self) -> Policy: ...
    @property
    def sources(self) -> Sources: ...
    @property
    def answers(self) -> AnswerLog: ...
    @property
    def access_log(self) -> NotesHits: ...
    def wait_for_reading(self) -> bool:
        """Give turns that are being read a moment; return whether all are read."""


class RecallService:
    """Asks what is remembered."""

    def __init__(self, parts: RecallParts) -> None:
        self._parts = parts

    def recall(
        self,
        query: Query,
        *,
        session: str | None,
        then: Then,
        strategy: str | None,
        explain: bool,
        turns: bool,
        abstain: bool = False,
    ) -> Recall:
        """Return the memories that fit, and count those that do as recalled."""
        then.check()
        if strategy is not None and strategy not in STRATEGIES:  # or it would be taken for the default
            raise InvalidQuery(
                f"no strategy is called {strategy!r}", hint=f"Use one of {', '.join(STRATEGIES)}."
            )
        is_read = self._parts.wait_for_reading()
        with self._parts.health.watch("recall"):
            answer = recall(
                query,
                self._parts.sources,
                now=self._parts.clock.now(),
                then=then,
                strategy=strategy,
                with_explanation=explain,
                with_turns=turns,
                abstain=abstain,
            )
        self._parts.answers.add(answer)
        if not then.is_past:
            self._parts.access_log.note_hits(answer.hits, query.scope, session)
        return answer if is_read else still_reading(answer)

    def timeline(self, asked: Query) -> Timeline:
        """Return how the knowledge of a topic came to be; a name is told by all that speaks of it."""
        sources, now = self._parts.sources, self._parts.clock.now()
        filters = replace(asked.filters, statuses=INDEXED)
        found = recall(replace(asked, filters=filters), sources, now=now).hits
        relevant = {
            hit.memory.id: hit.memory
            for place, hit in enumerate(found)
            if hit.trust.relevance >= (TIMELINE_LEAST if place < TIMELINE_BEST else TIMELINE_RELEVANCE)
        }
        if not filters.entities:
            named = replace(asked, filters=replace(filters, entities=frozenset({asked.text})))
            about = recall(named, sources, now=now).hits
            relevant |= {hit.memory.id: hit.memory for hit in about}
        with self._parts.store.read() as tx:
            return timeline(tx, asked.text, list(relevant.values())[: asked.limit], now=now)


def still_reading(answer: Recall) -> Recall:
    """Return the answer with the note that turns are still being read."""
    return with_missing(answer, "turns", "some are still being read")


def message_query(message: str, scope: Scope, limit: int) -> Query:
    """Return a message as a question; of one that is too long, its end."""
    return Query(text=message.strip()[-MAX_QUERY_CHARACTERS:], scope=scope, limit=limit)


class AnswerLog:
    """How good the latest answers were: averages for `status`, and whether many in a row were poor."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._latest: deque[tuple[float, float, float]] = deque(maxlen=AVERAGED_ANSWERS)
        self._count = 0
        self._poor_in_a_row = 0
        self._levels: dict[str, int] = {}

    def add(self, answer: Recall) -> None:
        """Take in one answer; an empty one from an empty store says nothing about quality."""
        quality = answer.quality
        with self._lock:
            self._count += 1
            self._levels[quality.level] = self._levels.get(quality.level, 0) + 1
            if not quality.candidates:
                return
            self._latest.append((quality.average_relevancy, quality.ndcg, quality.milliseconds))
            is_poor = quality.average_relevancy < POOR_RELEVANCY
            self._poor_in_a_row = self._poor_in_a_row + 1 if is_poor else 0

    def summary(self) -> dict[str, float]:
        """Return how many answers there were, and the averages of the latest."""
        with self._lock:
            found: dict[str, float] = {"answers": self._count, "poor_in_a_row": self._poor_in_a_row}
            found |= {f"level: {level}": number for level, number in self._levels.items()}
            latest = list(self._latest)
        if latest:
            relevancy, ndcg, milliseconds = np.array(latest).T
            found |= {"average_relevancy": float(relevancy.mean()), "ndcg": float(ndcg.mean())}
            found |= {f"milliseconds_p{p}": float(np.percentile(milliseconds, p)) for p in (50, 95)}
        return found

    @property
    def is_poor(self) -> bool:
        """Whether so many poor answers came in a row that something may be wrong."""
        with self._lock:
            return self._poor_in_a_row > 0 and self._poor_in_a_row >= POOR_IN_A_ROW
