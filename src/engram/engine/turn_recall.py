"""
The recall of one turn: what was prepared where that fits, else asked for, leaning on where the talk is
going.

Made by `lifecycle` for each turn and handed to whoever builds the window, who knows how many memories
fit. What is in working memory word for word is not given a second time as recalled. What was prepared is
looked at again: a memory that was forgotten meanwhile is not given.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from engram.attention.anticipation import Prepared, fits
from engram.attention.momentum import blend, centre
from engram.recall.pipeline import recall, with_missing
from engram.values import Query, Status
from engram.values.query import MAX_QUERY_CHARACTERS

if TYPE_CHECKING:
    from collections.abc import Iterator, Set
    from datetime import datetime

    from engram.attention.mind import Message
    from engram.attention.momentum import Momentum
    from engram.engine.assemble import Parts
    from engram.engine.turn_shapes import Expected
    from engram.values import Hit, Recall, Scope


class TurnRecall:
    """Answers for one turn, when it is asked for how much."""

    def __init__(
        self,
        parts: Parts,
        *,
        message: Message,
        scope: Scope,
        momentum: Momentum,
        prepared: Prepared | None,
        in_mind: Set[str],
        is_read: bool,
        now: datetime,
    ) -> None:
        self._parts = parts
        self._message = message
        self._scope = scope
        self._momentum = momentum
        self._prepared = prepared
        self._in_mind = in_mind
        self._is_read = is_read
        self._now = now
        self.answer: Recall | None = None
        self.is_anticipated = False

    def __call__(self, limit: int) -> Recall:
        """Return so many memories for the message, without those that are told as working memory anyway."""
        with self._parts.health.watch("recall"):
            found = self._from_prepared(limit)
            self.is_anticipated = found is not None
            found = found or self._asked(limit)
        if not self._is_read:
            found = with_missing(found, "turns", "some are still being read")
        self.answer = found
        self._parts.answers.add(found)
        fresh = tuple(hit for hit in found.hits if hit.memory.content not in self._in_mind)
        return replace(found, hits=fresh)

    def _asked(self, limit: int) -> Recall:
        vector = self._message.vector
        if vector is not None:
            policy = self._parts.policy.attention
            vector = blend(vector, self._momentum, self._message.text, policy)
        query = _query(self._message.text, self._scope, limit)
        return recall(query, self._parts.sources, now=self._now, vector=vector)

    def _from_prepared(self, limit: int) -> Recall | None:
        """Return what was prepared if it is for this question and holds enough, as it is known now."""
        prepared, vector, policy = self._prepared, self._message.vector, self._parts.policy.attention
        if prepared is None or vector is None or not _is_enough(prepared.answer, limit):
            return None
        if not fits(prepared, vector, self._parts.embedder.calibration, policy, now=self._now):
            return None
        hits = tuple(self._standing(prepared))[:limit]
        return replace(prepared.answer, query=_query(self._message.text, self._scope, limit), hits=hits)

    def _standing(self, prepared: Prepared) -> Iterator[Hit]:
        with self._parts.store.read() as tx:
            for hit in prepared.answer.hits:
                memory = tx.memories.get(hit.memory.id, scope=self._scope)
                if memory is not None and memory.status is Status.ACTIVE:
                    yield replace(hit, memory=memory)


def anticipate(parts: Parts, scope: Scope, expected: Expected) -> Prepared | None:
    """Return an answer to what will be asked next if the talk goes on as it does, if it goes anywhere."""
    if expected.momentum.is_empty:
        return None
    now, vector = parts.clock.now(), centre(expected.momentum, parts.policy.attention)
    query = _query(expected.text, scope, expected.limit)
    answer = recall(query, parts.sources, now=now, vector=vector)
    return Prepared(expected=expected.momentum, answer=answer, made_at=now)


def _is_enough(answer: Recall, limit: int) -> bool:
    """Say whether an answer holds as many memories as are asked for, or all that there are."""
    return limit <= answer.query.limit or len(answer.hits) < answer.query.limit


def _query(text: str, scope: Scope, limit: int) -> Query:
    """Return the question; of a message that is too long its end is asked."""
    return Query(text=text.strip()[-MAX_QUERY_CHARACTERS:], scope=scope, limit=limit)
