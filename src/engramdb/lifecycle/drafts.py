"""Draft and candidate: a statement before it is a memory."""

from __future__ import annotations

from datetime import UTC, datetime
from numbers import Real
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from engramdb.errors import ContentTooLarge, InjectionBlocked, InvalidContent
from engramdb.lifecycle.conflict import is_negation
from engramdb.lifecycle.enrich import enriched
from engramdb.policy import CapturePolicy
from engramdb.text.injection import scan
from engramdb.text.normalize import clean, fingerprint, is_text, lazy
from engramdb.text.pii import holds_more
from engramdb.text.relations import read_statement
from engramdb.text.topics import topic_terms
from engramdb.values import (
    GLOBAL,
    Kind,
    Layer,
    Memory,
    MemoryId,
    MemoryType,
    Outcome,
    Provenance,
    Scope,
    SecurityTier,
    Source,
    new_id,
)
from engramdb.values.query import chosen

# Draft: a statement at the write pipeline, before it is a memory.
#
# Made by every door (`remember`, `correct`, imports); checked and turned into a memory by `capture.admit`.

_DECODE = "Decode the text properly first."
_CATEGORY = lazy(r"[a-z][a-z0-9_-]{0,39}")


class Draft(Struct, frozen=True, kw_only=True):
    """What a door knows of a statement; what it leaves out, the write pipeline decides."""

    content: str
    scope: Scope = GLOBAL
    layer: Layer = Layer.EPISODIC
    type: MemoryType = MemoryType.FACT
    category: str = "general"
    kind: Kind = Kind.NOTE
    subject: str | None = None
    predicate: str | None = None
    object: str | None = None
    provenance: Provenance = Provenance()
    occurred_at: datetime | None = None
    said_at: datetime | None = None
    """When it was said, where that is another moment than the one that it is about."""
    valid_from: datetime | None = None
    forget_after: datetime | None = None
    confidence: float | None = None
    importance: float | None = None
    pinned: bool = False
    supersedes: MemoryId | None = None
    version: int = 1
    is_negated: bool | None = None
    """Whether it denies something; read from the words where a door does not say."""
    replaces: str | None = None
    """The object that it takes the place of: vim in "switched from vim to Helix"."""
    entities: tuple[str, ...] = ()
    """Names that an extractor found in it."""
    extractor: str | None = None
    verbatim: str | None = None
    outcome: Outcome | None = None
    """How the task went that it reports on, which colours its affect."""


def checked(draft: Draft, policy: CapturePolicy) -> str:
    """Return the content as it will be stored; raises where the draft cannot become a memory."""
    if not isinstance(draft, Draft):
        raise InvalidContent(
            f"a draft is a Draft, not {type(draft).__name__}", hint='Give one, such as Draft(content="…").'
        )
    content = checked_text(draft.content, what="memory", max_bytes=policy.max_memory_bytes)
    check_label("category", draft.category)
    if not _CATEGORY.fullmatch(draft.category):
        raise InvalidContent(
            f"category {draft.category[:40]!r} is not a usable name",
            hint="Use lower-case letters, digits, - and _, at most 40.",
        )
    for name, share in (("confidence", draft.confidence), ("importance", draft.importance)):
        if share is not None:
            _check_share(name, share)
    made = draft.provenance
    for name, text in (("speaker", made.speaker), ("session", made.session)):
        if text is not None:
            check_label(name, text)
    return content


def _check_share(name: str, share: object) -> None:
    if not isinstance(share, Real):
        raise InvalidContent(f"{name} is a number from 0 to 1, not {type(share).__name__}")
    if not 0 <= float(share) <= 1:
        raise InvalidContent(f"{name}={share} is outside 0 to 1")


def check_label(name: str, text: str) -> None:
    """Raise where a speaker, a session or the like is not text that can be written down."""
    if not isinstance(text, str):
        raise InvalidContent(f"the {name} is text, not {type(text).__name__}")
    if not is_text(text):
        raise InvalidContent(f"the {name} holds half a surrogate pair", hint=_DECODE)


def checked_text(text: str, *, what: str, max_bytes: int) -> str:
    """Return cleaned text that is not empty, not too large and can be written as UTF-8."""
    if not isinstance(text, str):
        raise InvalidContent(f"a {what} is text, not {type(text).__name__}")
    if len(text) > max_bytes:  # a character is at least a byte: refuse before any work on a huge text
        raise ContentTooLarge(f"a {what} of at least {len(text)} bytes is too large; at most {max_bytes}")
    if not is_text(text):
        raise InvalidContent(f"the {what} holds half a surrogate pair", hint=_DECODE)
    cleaned = clean(text)
    if not cleaned:
        raise InvalidContent(f"the {what} is empty")
    size = len(cleaned.encode())
    if size > max_bytes:
        raise ContentTooLarge(f"a {what} of {size} bytes is too large; at most {max_bytes}")
    return cleaned


def in_utc(name: str, moment: datetime | None) -> datetime | None:
    """Return the moment as the store will give it back, so that nothing differs after a rebuild."""
    if moment is None:
        return None
    if not isinstance(moment, datetime):
        raise InvalidContent(f"{name} is a datetime, not {type(moment).__name__}")
    if moment.tzinfo is None:
        raise InvalidContent(f"{name} has no time zone", hint="Give one, such as datetime.UTC.")
    return moment.astimezone(UTC)


def born(
    draft: Draft,
    content: str,
    policy: CapturePolicy,
    *,
    now: datetime,
    relation: tuple[str | None, str | None, str | None] | None = None,
    flags: tuple[str, ...] = (),
) -> Memory:
    """Return the draft as a new memory; a relation is its subject, predicate and object as they were read."""
    occurred_at = in_utc("occurred_at", draft.occurred_at)
    subject, predicate, object_ = relation or (draft.subject, draft.predicate, draft.object)
    return Memory(
        id=new_id(now),
        content=content,
        created_at=now,
        updated_at=now,
        scope=draft.scope,
        layer=chosen(Layer, draft.layer),
        type=chosen(MemoryType, draft.type),
        category=draft.category,
        kind=chosen(Kind, draft.kind),
        subject=subject,
        predicate=predicate,
        object=object_,
        provenance=_with_source(draft.provenance),
        occurred_at=occurred_at,
        valid_from=in_utc("valid_from", draft.valid_from) or occurred_at or now,
        forget_after=in_utc("forget_after", draft.forget_after),
        confidence=policy.default_confidence if draft.confidence is None else draft.confidence,
        importance=policy.default_importance if draft.importance is None else draft.importance,
        pinned=draft.pinned,
        supersedes=draft.supersedes,
        version=draft.version,
        # What has not been classified yet is protected as if it needed it.
        security=SecurityTier.SENSITIVE,
        flags=flags,
        extractor=draft.extractor,
        verbatim=_exact_words(draft),
    )


def _exact_words(draft: Draft) -> str | None:
    """Return the sentence it was said in, unless a secret in that is another statement's."""
    return None if draft.verbatim and holds_more(draft.verbatim, draft.content) else draft.verbatim


def _with_source(made: Provenance) -> Provenance:
    source = chosen(Source, made.source)
    return made if source is made.source else replace(made, source=source)


# Candidate: a draft that has been checked, scanned and classified, on its way through the write pipeline.
#
# Made by `capture.admit` before any write; reads nothing but the draft. What is inferred here can be inferred
# again from the content, and a field that a door has set is never overruled.

INJECTION, REDUNDANT = "injection", "redundant"
"""Flags that the write pipeline may set on a memory."""


class Candidate(Struct, frozen=True):
    """A statement ready to be settled."""

    memory: Memory
    """The memory as it would be stored if it were alone."""
    fingerprint: bytes
    topics: frozenset[str]
    entities: tuple[str, ...]
    said_at: datetime
    """When the statement was made: of two that contradict each other the later one holds."""
    has_importance: bool
    """Whether a door gave the importance, which surprise must then leave alone."""
    is_enriched: bool = True


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
    memory = memory.evolve(is_negated=said.is_negated, replaces=said.replaces)
    if enrich:
        memory = enriched(memory, outcome=draft.outcome)
    return Candidate(
        memory=memory,
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
