"""How sure an answer to a question can be."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Protocol

from msgspec import Struct

from engramdb.errors import EmbeddingError
from engramdb.index.domains import STALE_SHARE, measure_domain
from engramdb.index.spaces import VectorSpaces
from engramdb.lifecycle.admission import WritePipeline
from engramdb.models.embedder import Embedder
from engramdb.policy import Policy
from engramdb.recall.gather import Sources
from engramdb.recall.pipeline import recall
from engramdb.store.contract import Store, Transaction
from engramdb.text.grammar import relation_words
from engramdb.text.mentions import mentions
from engramdb.text.normalize import counted
from engramdb.text.terms import query_terms, terms
from engramdb.values import (
    BELIEVED,
    Certainty,
    Confidence,
    Domain,
    Filters,
    Hit,
    Memory,
    Query,
    Scope,
    Status,
)
from engramdb.values.recall import KNOWN_FROM
from engramdb.vault.indexing import open_memory

KNOWN_ABOVE = 0.37
"""A question that no memory fits better than this is about something unknown: docs/lab/0023-insight.md."""
CONFIDENT_ABOVE = 0.68
"""So well surrounded, undoubted and fresh must the best memory be to answer with confidence."""

# What a question asks of somebody that nothing known of them speaks of.

_SPOKEN_OF = {
    "born_on": "birthday birthdate",
    "lives_in": "home address city town country",
    "works_at": "job employer company",
    "works_as": "job profession occupation role",
    "is_married_to": "wife husband spouse partner",
    "likes": "favourite favorite",
    "prefers": "favourite favorite",
    "has_pet": "cat dog animal",
}
"""Words that ask for a relation without being said in it."""


def unspoken(question: str, known: Sequence[Memory]) -> tuple[str, ...]:
    """Return the asked words, where a question names somebody and no memory holds any of these words."""
    names = {term for one in mentions(question) for term in query_terms(one.text)}
    asked = [term for term in query_terms(question) if term not in names]
    if not names or not asked or not known:
        return ()
    held = {term for memory in known for term in _held(memory)}
    return () if held.intersection(asked) else tuple(_as_asked(question, asked))


def _held(memory: Memory) -> Iterable[str]:
    predicate = memory.predicate or ""
    yield from terms(open_memory(memory).content)
    yield from query_terms(f"{predicate.replace('_', ' ')} {relation_words(predicate)}")
    yield from query_terms(_SPOKEN_OF.get(predicate, ""))


def _as_asked(question: str, asked: Sequence[str]) -> Iterable[str]:
    """Yield the words of the question as they were typed, in place of their stems."""
    for word in question.split():
        plain = word.strip("?!.,;:\"'()")
        if any(term in asked for term in query_terms(plain)):
            yield plain


# Judge how sure an answer to a question can be: confident, uncertain or unknown.
#
# Pure. A question is about something unknown where nothing fits it, and about something thinly known where
# one memory does and little around it is known. Doubt about those memories, or about their domain, and age
# take away. The numbers were chosen on one half of labelled questions and held on the other:
# docs/lab/0023-insight.md.

RELATED_ABOVE = 0.2
"""A memory that fits a question better than this is about the same; below lies chance."""
KIN_ABOVE = 0.4
"""A memory more alike to the best one than this belongs to the same matter: what is worth a link."""
KIN_COUNTS = 0.5
"""A memory like the best one counts half as much as one that fits the question itself."""
SURROUND_SCALE = 0.5
"""So much knowledge around the best memory makes two thirds of being surrounded."""
HARDLY_BELIEVED = 0.4
BESIDE_THE_POINT = 0.5
"""A memory that fits no better, and holds none of the asked words, fits by the name alone."""
LIKELY_TOLD = 0.5
"""Below this chance that one of the hits answers, nobody can be confident."""
ALONE_COUNTS = 0.5
"""What one memory that fits is worth by itself: it may be right, and nothing else says so."""


class Evidence(Struct, frozen=True):
    """What was found for a question: hits, what lies around the best, their domain, open questions."""

    hits: Sequence[Hit]
    kin: Sequence[tuple[Memory, float]] = ()
    """Other memories, and how alike each is to the best hit, on the common scale."""
    domain: Domain | None = None
    gaps: int = 0
    unspoken: tuple[str, ...] = ()
    """What was asked of somebody that nothing known of them speaks of."""
    missing: tuple[str, ...] = ()
    answerable: float = 1.0
    """How likely the answer is among the hits."""


def fitting(hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits that are about what the question is about."""
    return [hit for hit in hits if hit.trust.relevance >= RELATED_ABOVE]


def assess(found: Evidence) -> Confidence:
    """Return how sure an answer can be, with what it rests on."""
    fits = fitting(found.hits)
    best = max((hit.trust.relevance for hit in fits), default=0.0)
    is_told = found.answerable >= KNOWN_FROM
    if not is_told or best < KNOWN_ABOVE or (found.unspoken and best < BESIDE_THE_POINT):
        return Confidence(
            certainty=Certainty.UNKNOWN,
            evidence=best,
            missing=found.missing,
            reason=_silence(found.unspoken) if found.unspoken else "nothing fits the question",
        )
    sure = _surrounded(fits, found.kin) * (1 - _doubt(fits, found.domain)) * _fresh(found.domain)
    is_confident = sure >= CONFIDENT_ABOVE and found.answerable >= LIKELY_TOLD and not found.unspoken
    return Confidence(
        certainty=Certainty.CONFIDENT if is_confident else Certainty.UNCERTAIN,
        domain=found.domain,
        confidence=max(sure, ALONE_COUNTS * max(hit.trust.relevance * believed(hit.memory) for hit in fits)),
        evidence=best,
        supporting=len(fits),
        gaps=found.gaps,
        reason=_reason(found, fits, is_confident=is_confident),
        missing=found.missing,
    )


def _surrounded(fits: Sequence[Hit], kin: Sequence[tuple[Memory, float]]) -> float:
    """
    Return how much is known around the best memory, 0 for one that stands alone.

    Either by further memories that fit the question, or by memories of the same matter: a question may name a
    detail that only one memory has, in a field that is known well.
    """
    ranked = sorted((hit.trust.relevance * believed(hit.memory) for hit in fits), reverse=True)
    alike = sum(similarity * believed(memory) for memory, similarity in kin if similarity >= KIN_ABOVE)
    return 1 - math.exp(-(sum(ranked[1:]) + KIN_COUNTS * alike) / SURROUND_SCALE)


def _doubt(fits: Sequence[Hit], domain: Domain | None) -> float:
    """Return the share of the fitting knowledge that is in doubt, or of its domain where that is more."""
    whole = sum(hit.trust.relevance for hit in fits)
    doubted = sum(hit.trust.relevance for hit in fits if _is_doubted(hit.memory))
    return max(doubted / whole if whole else 0.0, domain.uncertainty if domain else 0.0)


def _fresh(domain: Domain | None) -> float:
    return 1.0 if domain is None else STALE_SHARE + (1 - STALE_SHARE) * domain.freshness


def believed(memory: Memory) -> float:
    """Return how far a memory is to be believed: by its own confidence and by where it came from."""
    return memory.confidence * memory.provenance.source.trust


def _is_doubted(memory: Memory) -> bool:
    return memory.status is Status.CHALLENGED or memory.confidence < HARDLY_BELIEVED


def _reason(found: Evidence, fits: Sequence[Hit], *, is_confident: bool) -> str:
    if is_confident:
        return counted(len(fits), "memory fits", "memories fit") + " the question"
    if found.unspoken:
        return _silence(found.unspoken)
    if any(_is_doubted(hit.memory) for hit in fits) or found.gaps:
        return "what fits the question is in doubt"
    if len(fits) == 1:
        return "a single memory fits the question"
    return "what fits the question is little, weak or old"


def _silence(unspoken: tuple[str, ...]) -> str:
    return f"something is known, but none of it speaks of: {', '.join(unspoken)}"


# How well a question is covered, by what recall, the domains and the open questions say; counts as no recall.

ASKED_HITS = 20
"""The best memories that are looked at to say how well a question is covered."""
KIN_LOOKED_AT = 9
"""The best memory itself and eight around it."""


class ConfidenceParts(Protocol):
    """What judging a question needs of the engine."""

    @property
    def store(self) -> Store: ...
    @property
    def policy(self) -> Policy: ...
    @property
    def sources(self) -> Sources: ...
    @property
    def embedder(self) -> Embedder: ...
    @property
    def spaces(self) -> VectorSpaces: ...
    @property
    def pipeline(self) -> WritePipeline: ...


def confidence(parts: ConfidenceParts, question: str, *, scope: Scope, now: datetime) -> Confidence:
    """Return whether an answer to the question can be confident, is uncertain, or about the unknown."""
    asked = Query(text=question, scope=scope, filters=Filters(statuses=BELIEVED), limit=ASKED_HITS)
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
        answerable=1.0 if answer.quality.answerable is None else answer.quality.answerable,
    )
    return assess(found)


def _kin(parts: ConfidenceParts, memory: Memory, asked: Query) -> list[tuple[Memory, float]]:
    """Return the memories around one, with how alike they are; none while there is no embedder."""
    try:
        (vector,) = parts.embedder.embed_documents([open_memory(memory).content])
    except EmbeddingError:  # recall has said so in what is missing
        return []
    with parts.store.read() as tx:
        near = parts.spaces.search(tx, vector, scope=asked.scope, filters=asked.filters, limit=KIN_LOOKED_AT)
        found = tx.memories.by_keys([one.key for one in near.found])
    others = [one for one in found.values() if one.id != memory.id and not one.is_suspicious]
    alike = parts.pipeline.likeness.between(memory.content, [one.content for one in others])
    return list(zip(others, alike, strict=True))


def _domain_of(tx: Transaction, fits: Sequence[Hit], parts: ConfidenceParts, now: datetime) -> Domain | None:
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
    return measure_domain(node, parts.policy.insight, now)
