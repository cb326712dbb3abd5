"""
The verbs of insight: what is not known, what is known how well, and what everything comes to in short.

Part of `Engram`; each is a few lines that call one room. All of it is what the last dream found, except for
`confidence`, which looks at the memories themselves; asking it counts as no recall.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from engram.capture.draft import Draft
from engram.dream.insight.certainty import Evidence, assess, fitting
from engram.dream.insight.questions import INJECTION
from engram.engine.handle import Handle
from engram.errors import EmbeddingError, InvalidQuery
from engram.index.domains import domain_of, domains, summaries
from engram.recall.pipeline import recall
from engram.values import Action, AuditEvent, Breadth, Filters, Query, Status
from engram.values.query import MAX_LIMIT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.store.contract import Transaction
    from engram.values import Confidence, Domain, Gap, Hit, Memory, Scope, Summary

ASKED_HITS = 20
"""So many of the best memories are looked at to say how well a question is covered."""
KIN_LOOKED_AT = 9
"""The best memory itself and eight around it."""
LIVING = frozenset({Status.ACTIVE, Status.CHALLENGED})


class Insights(Handle):
    """Verbs that tell what is known of the knowledge."""

    def gaps(self, *, limit: int = 20, scope: Scope | None = None) -> Sequence[Gap]:
        """Return open questions, the weightiest first: missing facts, contradictions, old beliefs."""
        if not 1 <= limit <= MAX_LIMIT:
            raise InvalidQuery(f"limit={limit} is outside 1 to {MAX_LIMIT}")
        with self._parts.store.read() as tx:
            return tx.gaps.open_for(self._in(scope), limit=limit)

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
        filters = Filters(statuses=LIVING)
        asked = Query(text=query, scope=self._in(scope), filters=filters, limit=ASKED_HITS)
        answer = recall(asked, self._parts.sources, now=self._now())
        fits = fitting(answer.hits)
        with self._parts.store.read() as tx:
            domain = self._domain_of(tx, fits)
            count = tx.gaps.count_about([hit.memory.id for hit in fits])
        missing = tuple(f"{one.index}: {one.reason}" for one in answer.quality.missing)
        kin = self._kin(fits[0].memory, asked) if fits else []
        found = Evidence(answer.hits, kin=kin, domain=domain, gaps=count, missing=missing)
        return assess(found, self._parts.policy.insight)

    def _kin(self, memory: Memory, asked: Query) -> list[tuple[Memory, float]]:
        """Return the memories around one, with how alike they are; none while there is no embedder."""
        parts = self._parts
        try:
            (vector,) = parts.embedder.embed_documents([memory.content])
        except EmbeddingError:  # recall has said so in what is missing
            return []
        with parts.store.read() as tx:
            near = parts.spaces.search(
                tx, vector, scope=asked.scope, filters=asked.filters, limit=KIN_LOOKED_AT
            )
            found = tx.memories.by_keys([one.key for one in near.found])
        others = [one for one in found.values() if one.id != memory.id and INJECTION not in one.flags]
        alike = parts.gate.likeness.between(memory.content, [one.content for one in others])
        return list(zip(others, alike, strict=True))

    def _domain_of(self, tx: Transaction, fits: Sequence[Hit]) -> Domain | None:
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
        return domain_of(node, self._parts.policy.insight, self._now())


def _known_gap(tx: Transaction, gap_id: str, scope: Scope) -> Gap:
    gap = tx.gaps.get(gap_id, scope=scope)
    if gap is None:
        raise InvalidQuery(f"no question has the id {gap_id!r}")
    return gap


def _open_gap(tx: Transaction, gap_id: str, scope: Scope) -> Gap:
    """Return an open question of exactly this scope: one of a wider scope is for others to settle."""
    gap = _known_gap(tx, gap_id, scope)
    if gap.scope != scope:
        raise InvalidQuery(f"question {gap_id} belongs to the scope {gap.scope}", hint="Settle it there.")
    if gap.closed_at is not None:
        raise InvalidQuery(f"question {gap_id} is closed already")
    return gap
