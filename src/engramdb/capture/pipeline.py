"""From turns to memories: observe, claim what is unread, extract, save."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from datetime import datetime, timedelta
from typing import Final

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from engramdb.capture.extract import Extracted, Extractor, SentenceExtractor
from engramdb.erasable_cache import cached
from engramdb.errors import EngramError, MemoryNotFound
from engramdb.lifecycle.admission import Prepared, WritePipeline, prepare, prepared_write, save
from engramdb.lifecycle.drafts import Draft, checked_text, in_utc
from engramdb.lifecycle.speakers import check_names, fit_name
from engramdb.lifecycle.write import Admission
from engramdb.policy import CapturePolicy
from engramdb.store.contract import Store, Transaction
from engramdb.text.line_shapes import LineShape, shape_of
from engramdb.text.normalize import is_text
from engramdb.text.pii import PiiScan
from engramdb.text.pii_spoken import MAX_BETWEEN, answered_sentence
from engramdb.text.segments import segments
from engramdb.values import (
    Action,
    Actor,
    AuditEvent,
    Outcome,
    Provenance,
    Role,
    Scope,
    Source,
    Turn,
    TurnId,
    Voice,
    new_id,
)
from engramdb.values.privacy import PiiSpan
from engramdb.values.query import parse_enum
from engramdb.vault.finding import FindsPersonalData, find_private
from engramdb.vault.indexing import turn_terms
from engramdb.vault.masking import mask_part, scan_part, scan_text, scan_turn

CLAIM_SECONDS = 60.0
"""How long turns stay claimed by a process that was killed; one that lives renews its claim."""
RENEW_SECONDS = 20.0
"""How often it does."""

# Keep a turn as it was said, and find it again.
#
# Durable when it returns. What memories a turn gives is decided afterwards.

_ENDING = 8
MAX_FOUND_AT_ONCE: Final = 4000
"""Characters of a message that nobody waits long for; a longer one is looked through when it is read."""


def observe(
    content: str,
    *,
    role: str,
    speaker: str | None,
    session: str | None,
    occurred_at: datetime | None,
    scope: Scope,
    store: Store,
    policy: CapturePolicy,
    actor: Actor,
    now: datetime,
    finder: FindsPersonalData | None = None,
) -> Turn:
    """Store one message and return it; where a finder works, with where private words stand in it."""
    turn = heard(
        content,
        role=role,
        speaker=speaker,
        session=session,
        occurred_at=occurred_at,
        scope=scope,
        policy=policy,
        now=now,
    )
    if finder is not None and len(turn.content) <= MAX_FOUND_AT_ONCE:
        with store.read() as tx:
            before = tx.turns.list(scope=turn.scope, session=turn.session, limit=MAX_BETWEEN + 1)
        turn = next(_with_private_words([turn], before, finder))
    with store.atomic() as tx:
        return keep(tx, turn, actor=actor, now=now)


def heard(
    content: str,
    *,
    role: str,
    speaker: str | None,
    session: str | None,
    occurred_at: datetime | None,
    scope: Scope,
    policy: CapturePolicy,
    now: datetime,
) -> Turn:
    """Return a message as a turn that can be kept; raises where it may not enter."""
    check_names(speaker, session)
    return Turn(
        id=new_id(now),
        content=checked_text(content, what="turn", max_bytes=policy.max_turn_bytes),
        role=parse_enum(Role, role),
        speaker=speaker,
        session=session,
        scope=scope,
        occurred_at=in_utc("occurred_at", occurred_at) or now,
        created_at=now,
    )


def keep(tx: Transaction, turn: Turn, *, actor: Actor, now: datetime) -> Turn:
    """Write a turn down, with who brought it, and return it; an import does so with many in one write."""
    if turn.role is Role.USER and actor.relays:
        turn = replace(turn, relayed_by=actor.name)
    key = tx.turns.add(turn)
    before = tx.turns.list(scope=turn.scope, session=turn.session, limit=MAX_BETWEEN + 1, before=turn.id)
    tx.turn_terms.put(key, turn_terms(turn, before=before))
    tx.audit.add(AuditEvent(at=now, action=Action.OBSERVE, actor=actor, scope=turn.scope, target=turn.id))
    return turn


def refused_event(error: EngramError, *, actor: Actor, scope: Scope, now: datetime) -> AuditEvent:
    """Return that a statement was not let in, and why, without its words."""
    return AuditEvent(
        at=now,
        action=Action.REJECT,
        actor=actor,
        scope=scope,
        outcome=Outcome.DENIED,
        detail={"code": error.code},
    )


def find_turn(tx: Transaction, turn_id: TurnId, scope: Scope) -> Turn:
    """Return a turn by its id or the last eight characters of it; raises where there is no single one."""
    named = turn_id if isinstance(turn_id, str) and is_text(turn_id) else ""
    ids = tx.turns.ids_ending_with(named.lower(), scope=scope) if len(named) == _ENDING else [named]
    found = tx.turns.get(ids[0], scope=scope) if len(ids) == 1 else None
    if found is None:
        raise MemoryNotFound(
            f"no turn of scope {scope} has the id {str(turn_id)[:40]!r}", hint="`turns` shows the ids."
        )
    return found


# The latest turns of each agent, in memory only.

CAPACITY = 20
"""Turns kept per scope."""
MAX_SCOPES = 1000
"""Scopes kept; the one that was silent longest goes first."""
SETTLED_AFTER = timedelta(seconds=30)


class SensoryBuffer:
    """The latest turns by scope."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rings: OrderedDict[Scope, deque[Turn]] = OrderedDict()

    def add(self, turn: Turn) -> None:
        """Take in a turn; the oldest of a full ring falls out."""
        with self._lock:
            self._rings.setdefault(turn.scope, deque(maxlen=CAPACITY)).append(turn)
            self._rings.move_to_end(turn.scope)
            if len(self._rings) > MAX_SCOPES:
                self._rings.popitem(last=False)

    def recent(self, scope: Scope, *, session: str | None = None) -> list[Turn]:
        """Return what was just said in a scope, oldest first, of one session if that is given."""
        with self._lock:
            turns = list(self._rings.get(scope, ()))
        return [turn for turn in turns if session is None or turn.session == session]

    def settled(self, scope: Scope, *, now: datetime) -> list[Turn]:
        """Return the turns that have stood long enough to be candidates for working memory."""
        return [turn for turn in self.recent(scope) if now - turn.created_at >= SETTLED_AFTER]

    def update(self, turns: Sequence[Turn]) -> None:
        """Put turns in the place of what they were before they were read."""
        known = {turn.id: turn for turn in turns}
        with self._lock:
            for scope in {turn.scope for turn in turns} & set(self._rings):
                ring = self._rings[scope]
                self._rings[scope] = deque((known.get(one.id, one) for one in ring), maxlen=CAPACITY)

    def clear(self) -> None:
        """Let go of everything."""
        with self._lock:
            self._rings.clear()


# From turns to memories: claim what nobody has read, extract, and save with the note that it was read.
#
# Memories and the note are one write, so a process killed at any moment has read a turn either wholly or
# not at all, and no turn is read twice, by however many processes.

MOST_TURNS = 40
"""Turns read together: enough for a batch, few enough for one write."""
CONTEXT_TURNS = 20
PASSAGE_CHARACTERS = 240
"""How much before and after a sentence is screened with it: two or three sentences."""
MAX_SIBLINGS = 40
"""Of what is read together a statement is settled against the most alike; a list may have thousands."""

_SOURCES = {Role.USER: Source.HUMAN, Role.ASSISTANT: Source.ASSISTANT}


class Capture(Struct, frozen=True, kw_only=True):
    """What reading turns needs."""

    pipeline: WritePipeline
    extractor: Extractor
    sensory: SensoryBuffer


class ReadTurns(Struct, frozen=True):
    """What came of some turns."""

    turns: int = 0
    conversation: tuple[Scope, str | None] | None = None
    """Where they were said."""
    admissions: tuple[Admission, ...] = ()
    rejected: int = 0
    """Statements that may not enter, those included that say what the person asked to forget."""


def read_turns(
    capture: Capture,
    *,
    actor: Actor,
    now: datetime,
    within: tuple[Scope, str | None] | None = None,
    owner: Scope | None = None,
) -> ReadTurns:
    """
    Read the oldest turns that wait, of one conversation; `turns` is 0 when none do.

    The conversation is `within`, or the one that waits longest, of exactly the `owner` scope or of any.
    """
    store = capture.pipeline.store
    until = now + timedelta(seconds=CLAIM_SECONDS)
    with store.atomic() as tx:
        turns = tx.turns.claim(now=now, until=until, limit=MOST_TURNS, within=within, owner=owner)
    if not turns:
        return ReadTurns()
    try:
        is_quick = isinstance(capture.extractor, SentenceExtractor)
        claim = nullcontext() if is_quick else _renewed(store, [turn.id for turn in turns], now=now)
        with claim:
            return _read(capture, turns, actor=actor, now=now)
    except BaseException:
        with suppress(EngramError), store.atomic() as tx:  # else the claim runs out by itself
            tx.turns.release([turn.id for turn in turns])
        raise


@contextmanager
def _renewed(store: Store, turns: Sequence[TurnId], *, now: datetime) -> Iterator[None]:
    """Renew the claim on turns while they are read: a chat model may take its time."""
    is_over, begun = threading.Event(), time.monotonic()

    def renew() -> None:
        while not is_over.wait(RENEW_SECONDS):
            until = now + timedelta(seconds=time.monotonic() - begun + CLAIM_SECONDS)
            with suppress(EngramError), store.atomic() as tx:  # at worst, another process reads them too
                tx.turns.renew(turns, until=until)

    threading.Thread(target=renew, name="engram-claim", daemon=True).start()
    try:
        yield
    finally:
        is_over.set()


def _with_private_words(
    turns: Sequence[Turn], context: Sequence[Turn], finder: FindsPersonalData | None
) -> Iterator[Turn]:
    """Yield turns with where private words stand in each, whatever becomes of its sentences."""
    heard = [one.content for one in context if one.role in (Role.USER, Role.ASSISTANT)]
    for turn in turns:
        seen = None
        if not isinstance(turn.private, tuple):
            rules = scan_turn(turn, heard=heard)
            seen = find_private(turn.content, rules, finder, before=answered_sentence(heard))
        yield turn if seen is None else replace(turn, private=seen.findings)
        if turn.role in (Role.USER, Role.ASSISTANT):
            heard.append(turn.content)


def _note_private(tx: Transaction, turns: Sequence[Turn]) -> None:
    """Note where private words stand, and keep those that rules had not found out of the index."""
    for turn in turns:
        if isinstance(turn.private, tuple):
            key = tx.turns.note_private(turn)
            tx.turn_terms.put(key, turn_terms(turn, before=()))


def _read(capture: Capture, turns: Sequence[Turn], *, actor: Actor, now: datetime) -> ReadTurns:
    context = _context(capture, turns)
    known = {turn.id for turn in turns if isinstance(turn.private, tuple)}  # noted when they were stored
    finder = capture.pipeline.screen.personal
    turns = list(_with_private_words(turns, context, finder))
    extracted = capture.extractor.extract(turns, context=context)
    by_id = {turn.id: turn for turn in turns}
    heard = (*context, *turns)
    drafts = [_draft(one, by_id[one.turn_id], capture.extractor.name, heard, finder) for one in extracted]
    rejections: list[EngramError] = []

    def prepare_again() -> Prepared:
        rejections.clear()
        return prepare(
            drafts, capture.pipeline, now=now, most_siblings=MAX_SIBLINGS, on_rejection=rejections.append
        )

    with prepared_write(capture.pipeline, prepare_again) as (tx, prepared):
        if not tx.turns.settle(list(by_id), now=now):
            return ReadTurns()  # another process was faster; its memories are the ones that count
        _note_private(tx, [turn for turn in turns if turn.id not in known])
        admissions = save(tx, prepared, capture.pipeline, actor=actor, now=now)
        detail = {"turns": len(turns), "statements": len(drafts), "extractor": capture.extractor.name}
        where = turns[0].scope
        tx.audit.add(AuditEvent(at=now, action=Action.EXTRACT, actor=actor, scope=where, detail=detail))
        for rejection in rejections:
            tx.audit.add(refused_event(rejection, actor=actor, scope=where, now=now))
    capture.sensory.update(turns)
    place = (turns[0].scope, turns[0].session)
    stored = tuple(one for one in admissions if not one.is_withheld)
    return ReadTurns(len(turns), place, stored, len(rejections) + len(admissions) - len(stored))


def _context(capture: Capture, turns: Sequence[Turn]) -> Sequence[Turn]:
    """Return what was said just before: from the ring where it has it, otherwise from the store."""
    first, read = turns[0], {turn.id for turn in turns}
    ring = capture.sensory.recent(first.scope, session=first.session)
    if first.id not in {turn.id for turn in ring[1:]}:
        with capture.pipeline.store.read() as tx:
            ring = list(tx.turns.list(scope=first.scope, session=first.session, limit=2 * MOST_TURNS))
    own = (turn for turn in ring if turn.scope == first.scope)  # forgetting looks in exactly one scope
    before = [turn for turn in own if turn.created_at <= first.created_at and turn.id not in read]
    latest, known = before[-CONTEXT_TURNS:], capture.pipeline.forgotten
    if known is None or not latest:
        return latest
    with capture.pipeline.store.read() as tx:
        return known.conceal(tx, latest)


def _passage(content: str, turn: Turn, voice: Voice) -> str | None:
    """Return what stands around a sentence: an attempt may be spread over several."""
    parts = _parts(turn.content) if voice is not Voice.OWN else ()
    part = next((one for one in parts if content in one), turn.content)
    at = max(part.find(content), 0)
    around = part[max(at - PASSAGE_CHARACTERS, 0) : at + len(content) + PASSAGE_CHARACTERS]
    return around if len(around) > len(content) else None


@cached(64)
def _parts(text: str) -> tuple[str, ...]:
    """Return the parts of a message by whose words they are, without the lines that say so (From, Date)."""
    parts = (one.text.splitlines() for one in segments(text))
    return tuple("\n".join(one for one in lines if shape_of(one) is not LineShape.HEADER) for lines in parts)


def _without_secrets(words: str, heard: Sequence[Turn]) -> str:
    """Return words of another message without the secrets that were found in it."""
    said = (turn for turn in reversed(heard) if words in turn.content)
    turn = next(said, None)
    return words if turn is None else mask_part(turn, words)


def _private_part(
    turn: Turn, words: str, finder: FindsPersonalData | None
) -> tuple[PiiSpan, ...] | UnsetType:
    """Return where private words stand in a statement of a turn, as the whole turn tells."""
    if not isinstance(turn.private, tuple):
        return UNSET
    found = scan_part(turn, words).findings
    if words in turn.content and len(turn.content) <= MAX_FOUND_AT_ONCE:
        return found
    by_itself = find_private(words, scan_text(words), finder)  # reworded, or far down in a long message
    return found if by_itself is None else PiiScan.of([*found, *by_itself.findings]).findings


def _draft(
    one: Extracted, turn: Turn, extractor: str, heard: Sequence[Turn], finder: FindsPersonalData | None
) -> Draft:
    return Draft(
        content=one.content,
        passage=_passage(one.content, turn, one.voice),
        scope=turn.scope,
        category=one.category,
        kind=one.kind,
        subject=one.subject,
        predicate=one.predicate,
        object=one.object,
        provenance=Provenance(
            source=_SOURCES.get(turn.role, Source.INGEST) if one.voice is Voice.OWN else Source.INGEST,
            speaker=turn.speaker if one.voice is Voice.OWN else fit_name(one.sender),
            relayed_by=turn.relayed_by,
            voice=one.voice,
            session=turn.session,
            turns=(turn.id,),
        ),
        occurred_at=one.occurred_at or turn.occurred_at,
        said_at=turn.occurred_at,
        confidence=one.confidence,
        importance=one.importance,
        is_negated=one.is_negated,
        replaces=one.replaces,
        entities=one.entities,
        extractor=one.by or extractor,
        statement=one.statement,
        force=one.force,
        lasting=one.lasting,
        answers=_without_secrets(one.answers, heard) if one.answers else None,
        refers_to=tuple(_without_secrets(words, heard) for words in one.refers_to),
        claims=one.claims,
        private=_private_part(turn, one.content, finder),
    )
