"""
The verbs of insight: what is not known, what is known how well, and what everything comes to in short.

Part of `Engram`; each is a few lines that call one room. All of it is what the last dream found, except for
`confidence`, which looks at the memories themselves; asking it counts as no recall.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram import engine, index
from engram.capture.draft import Draft
from engram.engine.handle import Handle
from engram.errors import InvalidQuery
from engram.text.normal import is_text
from engram.values import Action, AuditEvent, Breadth, Query
from engram.values.query import check_limit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.store.contract import Transaction
    from engram.values import Confidence, Domain, Gap, Memory, Scope, Summary


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
            return index.domains.domains(tx, self._in(scope), self._parts.policy.insight, self._now())

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
            return index.domains.summaries(tx, place, vector, breadth, limit, space=space)

    def confidence(self, query: str, *, scope: Scope | None = None) -> Confidence:
        """Say whether an answer to the question can be confident, is uncertain, or about the unknown."""
        return engine.covered.confidence(self._parts, query, scope=self._in(scope), now=self._now())


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
