"""The judge that is always there: the rules of settling. Its chances are 0 or 1."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from engramdb.lifecycle.candidates import candidate
from engramdb.lifecycle.drafts import Draft
from engramdb.lifecycle.pair_rules import ComparesStatements, conflict, same_relation, same_specifics
from engramdb.models.reader import Utterance
from engramdb.policy import CapturePolicy
from engramdb.text.relations import says_more
from engramdb.text.terms import query_terms, terms
from engramdb.values import Memory, Provenance, Source
from engramdb.values.reading import PairJudgment, PairRelation

NAME: Final = "rules/1"
_SOME_DAY: Final = datetime(2000, 1, 1, tzinfo=UTC)
_SOURCES: Final = {"user": Source.HUMAN, "assistant": Source.ASSISTANT, "tool": Source.INGEST}


class RulesJudge:
    """Judges by what the statements name: subject, relation, object, numbers, negation."""

    name: Final = NAME

    def __init__(self, policy: CapturePolicy, likeness: ComparesStatements) -> None:
        self._policy = policy
        self._likeness = likeness

    @property
    def is_remote(self) -> bool:
        """Rules ask nobody."""
        return False

    def relate(
        self,
        newer: Utterance,
        older: Sequence[Utterance],
        *,
        seconds: float | None = None,  # noqa: ARG002 - rules take no time worth counting
    ) -> list[PairJudgment | None]:
        """Return how the newer statement stands to each of the older ones."""
        new = self._memory(newer)
        return [PairJudgment.certain(self._relation(new, self._memory(one)), by=NAME) for one in older]

    def answers(
        self,
        question: str,
        memories: Sequence[str],
        *,
        seconds: float | None = None,  # noqa: ARG002 - it takes none
    ) -> list[float]:
        """Return for each memory the share of the question's words that it holds."""
        asked = set(query_terms(question))
        return [len(asked & set(terms(one))) / len(asked) if asked else 0.0 for one in memories]

    def rests_on(self, question: str, changes: Sequence[tuple[str, str]]) -> list[bool] | None:
        """Recall has a rule of its own for what a question takes for granted."""

    def makes_doubtful(self, change: tuple[str, str], statements: Sequence[str]) -> list[bool] | None:
        """Rules do not know what rests on what."""

    def _relation(self, new: Memory, old: Memory) -> PairRelation:
        if conflict(new, old) is not None:
            return PairRelation.CONFLICT
        (alike,) = self._likeness.between(new.content, [old.content])
        is_near = alike > self._policy.same_above
        if same_relation(new, old) or (is_near and same_specifics(new, old, self._likeness)):
            return PairRelation.REFINES if says_more(new.content, old.content) else PairRelation.SAME
        return PairRelation.RELATED if alike > self._policy.link_above else PairRelation.UNRELATED

    def _memory(self, said: Utterance) -> Memory:
        provenance = Provenance(
            source=_SOURCES.get(said.by, Source.HUMAN), speaker=None if said.by in _SOURCES else said.by
        )
        draft = Draft(content=said.text, provenance=provenance)
        return candidate(draft, self._policy, now=_SOME_DAY, enrich=False).memory
