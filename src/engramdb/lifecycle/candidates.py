"""
Candidate: a draft that has been checked, scanned and read, on its way through the write pipeline.

Reads nothing but the draft. What is inferred here can be inferred again from the content; what the draft says
itself is never overruled.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from engramdb.errors import InvalidContent
from engramdb.lifecycle.drafts import Draft, checked, in_utc
from engramdb.lifecycle.filing import file_draft
from engramdb.lifecycle.pair_rules import is_negation
from engramdb.lifecycle.screening import Authorship, Screen, Screening, origin_of, refusal
from engramdb.lifecycle.speakers import check_names
from engramdb.policy import CapturePolicy
from engramdb.settings import DateOrder
from engramdb.text.affect import affect, sentiment
from engramdb.text.detail import levels
from engramdb.text.identity import WITHHELD_WORDS, fingerprint_of
from engramdb.text.moments import named_times
from engramdb.text.pii import CONCEALED, EVERYDAY, PiiScan, conceal, holds_more
from engramdb.text.relations import read_statement
from engramdb.text.traits import infer_traits, topic_terms
from engramdb.text.validity import read_validity
from engramdb.values import (
    Actor,
    Kind,
    Layer,
    Memory,
    Moment,
    Provenance,
    SecurityTier,
    Source,
    TaskOutcome,
    Voice,
    new_id,
)
from engramdb.values.memory import DREAMT, INJECTION, SUMMED_UP
from engramdb.values.privacy import PiiKind, PiiSpan
from engramdb.values.query import parse_enum
from engramdb.vault.finding import FindsPersonalData, find_private
from engramdb.vault.masking import Secrets, mask_memory, outside_secrets, scan_memory, scan_text


class Candidate(Struct, frozen=True):
    """A statement ready to be settled."""

    memory: Memory
    """The memory as it would be stored if it were alone."""
    fingerprint: bytes
    topics: frozenset[str]
    entities: tuple[str, ...]
    has_importance: bool
    """Whether the importance was given, which surprise must then leave alone."""
    is_enriched: bool = True

    @property
    def said_at(self) -> datetime:
        """When the statement was made: of two that contradict each other the later one holds."""
        return self.memory.last_stated_at


class _Claim(NamedTuple):
    """Subject, predicate and object of a statement, whether it denies them, and what it replaces."""

    relation: tuple[str | None, str | None, str | None]
    is_negated: bool
    replaces: str | None


def candidate(
    draft: Draft,
    policy: CapturePolicy,
    *,
    now: datetime,
    enrich: bool = True,
    date_order: DateOrder = "auto",
    screen: Screen | None = None,
    actor: Actor | None = None,
) -> Candidate:
    """Return the draft as a candidate, enriched now or left for later; raises where it may not enter."""
    content = checked(draft, policy)
    check_names(draft.provenance.speaker, draft.provenance.session)
    _refuse_masked(draft, content)
    screen = screen or Screen(policy)
    flags = _flags(draft, content, screen, actor)
    memory = born(draft, content, policy, flags=flags, now=now, screen=screen)
    claim = _claim(draft, memory)
    subject, predicate, object_ = claim.relation
    memory = memory.evolve(
        subject=subject,
        predicate=predicate,
        object=object_,
        is_negated=claim.is_negated,
        replaces=claim.replaces,
    )
    memory = protected(classified(memory, screen.personal), draft.security)
    memory = memory.evolve(**_times(draft, memory, now=now, date_order=date_order))
    memory = enriched(memory, outcome=draft.outcome) if enrich else memory
    if draft.extractor is not None and memory.security is SecurityTier.CONFIDENTIAL:
        memory = memory.evolve(importance=SECRET_IMPORTANCE)
    return Candidate(
        memory=memory,
        fingerprint=fingerprint_of(memory),
        topics=topic_terms(open_words(memory)) if memory.provenance.session is not None else frozenset(),
        entities=open_names(memory, draft.entities),
        is_enriched=enrich,
        has_importance=draft.importance is not None and draft.extractor is None,
    )


SECRET_IMPORTANCE: Final = 0.5
"""Of a secret that was read from a conversation: a weight made of its words would tell of them."""


def _refuse_masked(draft: Draft, content: str) -> None:
    """Refuse what a masked secret stands in: it would take the place of the secret itself."""
    is_retold = (draft.extractor or "").startswith((DREAMT, SUMMED_UP))
    if CONCEALED in content and not is_retold:
        raise InvalidContent(
            f"the statement holds {CONCEALED}, which stands for a secret that was not shown",
            hint="State it with the secret itself, or leave the stored memory as it is.",
        )


def open_words(memory: Memory) -> str:
    """Return the words that names, tags and topics may be made of: those of no secret."""
    if memory.security is not SecurityTier.CONFIDENTIAL:
        return memory.content
    return mask_memory(memory).content.replace(CONCEALED, "…")


def open_names(memory: Memory, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names, of those given, that hold nothing of a secret."""
    is_secret = memory.security is SecurityTier.CONFIDENTIAL
    return Secrets.of(memory).without(names) if is_secret else names


def _claim(draft: Draft, memory: Memory) -> _Claim:
    """Return what a draft says of whom: as it was given, or as its words have it where they are meant so."""
    told, content = (draft.subject, draft.predicate, draft.object), memory.content
    is_read = bool(memory.provenance.turns)  # by one who would have said, had it been sure
    if not any(told) and (is_read or not memory.is_believed):
        return _Claim(told, is_negation(content), None)
    if any(told):
        denies = is_negation(content) if draft.is_negated is None else draft.is_negated
        return _Claim(told, denies, draft.replaces)
    found = read_statement(content, speaker=draft.provenance.speaker)
    if found is None:
        return _Claim(told, is_negation(content), draft.replaces)
    relation = (found.subject, found.predicate, found.object)
    return _Claim(relation, found.is_negated, draft.replaces or found.replaces)


def _times(draft: Draft, memory: Memory, *, now: datetime, date_order: DateOrder) -> dict[str, Any]:
    """
    Return when a draft was said, when that is true, and the times that it names.

    What is given stands; the rest is read from the words, which stay as they are. Who says "I moved last
    month" today replaces what was said yesterday, because the order of saying decides what holds, and it is
    true since last month. A moment that was read counts more than one that is only that of saying it.
    """
    words = outside_secrets(memory)
    moments, memory = _without_times_of_secrets(draft, memory, words)
    known = _said_at(draft, memory, now=now, date_order=date_order)
    said = min(known or now, now)
    is_own = memory.provenance.voice is Voice.OWN
    is_dated = known is not None and is_own  # whoever wrote a pasted "tomorrow" wrote it on another day
    occurred_at = memory.occurred_at
    if not moments:
        moments, told = named_times(words, now=said, date_order=date_order)
        if is_dated:
            is_of_saying = draft.said_at is not None and draft.occurred_at == draft.said_at
            occurred_at = told or occurred_at if is_of_saying else occurred_at or told
        else:
            moments = tuple(one for one in moments if not one.is_relative)
    if occurred_at is None and said < now:
        occurred_at = said
    times = {"said_at": said, "occurred_at": occurred_at, "moments": moments}
    if draft.valid_from is not None or not is_own:
        return times | {"valid_from": in_utc("valid_from", draft.valid_from) or said}
    validity = read_validity(words, now=said, date_order=date_order, is_dated=is_dated)
    has_happened = memory.kind is Kind.EPISODE and occurred_at is not None and occurred_at <= said
    begun = validity.start or (occurred_at if has_happened else said)
    return times | {"valid_from": begun, "valid_to": memory.valid_to or validity.end}


def _without_times_of_secrets(draft: Draft, memory: Memory, words: str) -> tuple[tuple[Moment, ...], Memory]:
    """Return the times that came with a draft, and its memory, without those that only a secret names."""
    moments = tuple(one for one in draft.moments if one.words in words or one.words not in memory.content)
    hidden = {one.start for one in draft.moments} - {one.start for one in moments}
    return moments, memory.evolve(occurred_at=None) if memory.occurred_at in hidden else memory


def _said_at(draft: Draft, memory: Memory, *, now: datetime, date_order: DateOrder) -> datetime | None:
    """
    Return when a draft was said: where it does not tell, now, or at the past moment that it was given.

    That moment is when it happened where the words, said now, name it ("we met yesterday"). Nobody knows
    when imported text without a moment was said.
    """
    given = in_utc("said_at", draft.said_at) or in_utc("valid_from", draft.valid_from)
    if given is not None:
        return given
    occurred = memory.occurred_at
    if occurred is None:
        return None if memory.provenance.source is Source.INGEST else now
    moments, _ = named_times(memory.content, now=now, date_order=date_order)
    is_named = any(one.is_relative and one.start <= occurred < one.end for one in moments)
    return now if is_named else min(occurred, now)


_TASK: Final = "Task “"
"""How a report of an agent's task begins."""


def _screened(
    draft: Draft, text: str, screen: Screen, origin: Authorship, *, is_around: bool = False
) -> list[Screening]:
    """
    Return what comes of screening a text, or what stands around it.

    What a person says around it counts as a whole: one odd sentence does not hide its neighbors.

    Importers and reports put words of ours around those of others ("AGENTS.md of harbor tells agents: …"),
    which together look worse than they are: there the judge reads each part, and patterns the whole.
    """
    if draft.layer is not Layer.CODEBASE and not text.startswith(_TASK):
        is_whole = is_around and origin is Authorship.PERSON
        return [screen.screen(text, origin=origin, is_whole=is_whole)]
    by_patterns = Screen(policy=screen.policy).screen(text, origin=origin)
    return [by_patterns, *(screen.screen(part, origin=origin) for part in text.split(": "))]


def _flags(draft: Draft, content: str, screen: Screen, actor: Actor | None) -> tuple[str, ...]:
    """
    Return the warnings that a draft brings and those that its words earn; raises for an attack.

    Every text of it that is shown somewhere is screened; what stands around it can only flag it.
    """
    origin = origin_of(_with_source(draft.provenance), actor)
    told = (content, *{one for one in (draft.verbatim, draft.statement) if one and one != content})
    found = [one for text in told for one in _screened(draft, text, screen, origin)]
    refused = next((one for one in found if one.is_refused), None)
    if refused is not None:
        raise refusal(refused)
    is_flagged = any(one.is_flagged for one in found)
    if not is_flagged and draft.passage:
        around = _screened(draft, draft.passage, screen, origin, is_around=True)
        is_flagged = any(one.is_flagged for one in around)
    is_new = is_flagged and INJECTION not in draft.flags
    return (*draft.flags, INJECTION) if is_new else draft.flags


def born(
    draft: Draft,
    content: str,
    policy: CapturePolicy,
    *,
    now: datetime,
    flags: tuple[str, ...] = (),
    screen: Screen | None = None,
) -> Memory:
    """Return the draft as a new memory; what it says of whom is read from its words afterwards."""
    screen = screen or Screen(policy)
    occurred_at = in_utc("occurred_at", draft.occurred_at)
    filing = file_draft(draft, content, now=now)
    return Memory(
        id=new_id(now),
        content=content,
        created_at=now,
        updated_at=now,
        scope=draft.scope,
        layer=filing.layer,
        type=filing.type,
        category=filing.category,
        kind=filing.kind,
        provenance=_with_source(draft.provenance),
        occurred_at=occurred_at,
        valid_to=in_utc("valid_to", draft.valid_to),
        forget_after=in_utc("forget_after", draft.forget_after),
        confidence=_confidence(draft, policy),
        importance=policy.default_importance if draft.importance is None else draft.importance,
        pinned=draft.pinned,
        supersedes=draft.supersedes,
        version=draft.version,
        # What has not been classified yet is protected as if it needed it.
        security=SecurityTier.SENSITIVE,
        flags=flags,
        extractor=draft.extractor,
        verbatim=_exact_words(draft),
        statement=draft.statement,
        force=filing.force,
        lasting=filing.lasting,
        answers=_lent(draft.answers, screen) if draft.answers else None,
        refers_to=tuple(_lent(words, screen) for words in draft.refers_to),
        moments=draft.moments,
        claims=draft.claims,
        private=draft.private,
    )


def _confidence(draft: Draft, policy: CapturePolicy) -> float:
    """Return how far a draft is believed: as it says, and never further than its source allows."""
    limit = draft.provenance.max_confidence
    return policy.default_confidence * limit if draft.confidence is None else min(draft.confidence, limit)


def _exact_words(draft: Draft) -> str | None:
    """Return the sentence it was said in, unless a secret in that is another statement's."""
    return None if draft.verbatim and holds_more(draft.verbatim, draft.content) else draft.verbatim


def _lent(words: str, screen: Screen) -> str:
    """
    Return words of another sentence as a memory may carry them, which is shown wherever its own words may be.

    A harmless "yes" carries neither the secret nor the orders that stood in the question.
    """
    if not screen.is_clean(words):
        return WITHHELD_WORDS
    return conceal(words, scan_words(words, screen.personal))


def classified(memory: Memory, finder: FindsPersonalData | None = None) -> Memory:
    """
    Return a memory with where private words stand in it, and with the protection that it needs.

    That is for its own words and for those that it leans on.
    """
    if not isinstance(memory.private, tuple):
        before = memory.answers or (memory.refers_to[-1] if memory.refers_to else "")
        found = find_private(memory.content, scan_memory(memory), finder, before=before)
        memory = memory if found is None else memory.evolve(private=found.findings)
    own = scan_memory(memory)
    lent = (words for words in (memory.answers, *memory.refers_to) if words)
    is_more = own.kinds <= EVERYDAY and any(
        not scan_words(words, finder).kinds <= own.kinds | EVERYDAY for words in lent
    )
    if is_more and isinstance(memory.private, tuple):  # who looks again may have no finder
        memory = memory.evolve(private=(*memory.private, PiiSpan(0, 0, PiiKind.PERSONAL)))
    return memory.evolve(security=SecurityTier.SENSITIVE if is_more else own.tier)


def protected(memory: Memory, least: SecurityTier) -> Memory:
    """Return a memory with at least this much protection, whatever was found in its words."""
    tiers = list(SecurityTier)  # from the least protected to the most
    if tiers.index(memory.security) >= tiers.index(least):
        return memory
    kind = PiiKind.CREDENTIAL if least is SecurityTier.CONFIDENTIAL else PiiKind.PERSONAL
    found = (*scan_memory(memory).findings, PiiSpan(0, 0, kind))  # nobody knows where it stands
    return memory.evolve(security=least, private=found)


def scan_words(words: str, finder: FindsPersonalData | None) -> PiiScan:
    """Return what words hold that stand alone, by rules and by a finder where there is one."""
    rules = scan_text(words)
    return find_private(words, rules, finder) or rules


def _with_source(made: Provenance) -> Provenance:
    source = parse_enum(Source, made.source)
    return made if source is made.source else replace(made, source=source)


def enriched(memory: Memory, *, outcome: TaskOutcome | None = None) -> Memory:
    """Return the memory with security tier, affect, traits and levels of detail."""
    memory = classified(memory)
    felt = affect(open_words(memory), outcome=outcome, is_correction=memory.category == "correction")
    is_secret = memory.security is SecurityTier.CONFIDENTIAL
    shown = mask_memory(memory) if is_secret else memory
    return memory.evolve(
        affect=felt,
        traits=infer_traits(open_words(memory), sentiment=sentiment(felt)),
        detail=levels(
            shown.content,
            subject=shown.subject,
            predicate=shown.predicate,
            object=shown.object,
            category=shown.category,
        ),
    )


def as_stated_by(one: Candidate, actor: Actor) -> Candidate:
    """Return a candidate as what an actor states: an agent that speaks for the person is named in it."""
    made = one.memory.provenance
    if made.source is not Source.HUMAN or made.relayed_by is not None or not actor.relays:
        return one
    said = replace(made, relayed_by=actor.name)
    confidence = min(one.memory.confidence, said.max_confidence)
    return replace(one, memory=one.memory.evolve(provenance=said, confidence=confidence))


def stored_candidate(memory: Memory) -> Candidate:
    """Return a stored memory as what is settled; nothing but itself is of use there."""
    return Candidate(
        memory=memory,
        fingerprint=b"",
        topics=frozenset(),
        entities=(),
        has_importance=True,
    )
