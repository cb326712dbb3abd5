"""
Candidate: a draft that has been checked, scanned and classified, on its way through the gate.

Made by `capture.admit` before any write; reads nothing but the draft. What is inferred here can be inferred
again from the content, and a field that a door has set is never overruled.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from engram.capture.conflict import Statement, is_negation
from engram.capture.draft import born, checked, in_utc
from engram.capture.enrich import enriched
from engram.capture.extract.stated import read_statement
from engram.errors import InjectionBlocked
from engram.text.injection import scan
from engram.text.normal import fingerprint
from engram.text.topics import topic_terms

if TYPE_CHECKING:
    from datetime import datetime

    from engram.capture.draft import Draft
    from engram.policy import CapturePolicy
    from engram.values import Memory

INJECTION, REDUNDANT = "injection", "redundant"
"""Flags that the gate may set on a memory."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A statement ready to be settled."""

    statement: Statement
    fingerprint: bytes
    topics: frozenset[str]
    entities: tuple[str, ...]
    said_at: datetime
    """When the statement was made: of two that contradict each other the later one holds."""
    has_importance: bool
    """Whether a door gave the importance, which surprise must then leave alone."""
    is_enriched: bool = True

    @property
    def memory(self) -> Memory:
        """The memory as it would be stored if it were alone."""
        return self.statement.memory


class _Said(NamedTuple):
    """Subject, predicate and object of a statement, whether it denies them, and what it replaces."""

    relation: tuple[str | None, str | None, str | None]
    is_negated: bool
    replaces: str | None


def candidate(draft: Draft, policy: CapturePolicy, *, now: datetime, enrich: bool = True) -> Candidate:
    """Return the draft as a candidate, enriched now or left for later; raises where it may not enter."""
    content = checked(draft, policy)
    flags = _flags(content, policy)
    said = _said(draft, content)
    memory = born(draft, content, policy, relation=said.relation, flags=flags, now=now)
    if enrich:
        memory = enriched(memory, outcome=draft.outcome)
    return Candidate(
        statement=Statement(memory, is_negated=said.is_negated, replaces=said.replaces),
        fingerprint=fingerprint(content, speaker=memory.provenance.speaker),
        topics=topic_terms(content) if memory.provenance.session is not None else frozenset(),
        entities=draft.entities,
        said_at=min(in_utc("said_at", draft.said_at) or memory.valid_from or now, now),
        is_enriched=enrich,
        has_importance=draft.importance is not None and draft.extractor is None,
    )


def _said(draft: Draft, content: str) -> _Said:
    """Return what a draft says of whom: as the door gave it, or else as its words have it."""
    told = (draft.subject, draft.predicate, draft.object)
    if any(told):
        denies = is_negation(content) if draft.is_negated is None else draft.is_negated
        return _Said(told, denies, draft.replaces)
    found = read_statement(content, speaker=draft.provenance.speaker)
    if found is None:
        return _Said(told, is_negation(content), draft.replaces)
    relation = (found.subject, found.predicate, found.object)
    return _Said(relation, found.is_negated, draft.replaces or found.replaces)


def _flags(content: str, policy: CapturePolicy) -> tuple[str, ...]:
    """Return the warnings that the content earns; raises for what reads like an attack."""
    found = scan(content)
    if found.score >= policy.injection_reject_above:
        raise InjectionBlocked(
            f"the statement reads like an attack on the agent: {', '.join(found.reasons)}",
            hint="Say it in plain words, without instructions to the agent.",
        )
    return (INJECTION,) if found.score >= policy.injection_flag_above else ()
