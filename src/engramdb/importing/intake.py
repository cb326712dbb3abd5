"""
Take records into the store: statements through admission, messages as turns, each once.

A record and its mark are one write, so an import that is killed at any moment can be run again: what it had
taken in is known, what it had not comes in, and two imports of one source at once do not double it. What was
corrected or forgotten since stays so, because the mark stays.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime

from msgspec import Struct, field
from msgspec.structs import replace

from engramdb.capture.pipeline import heard, keep
from engramdb.errors import (
    AccessDenied,
    EdgeNotAllowed,
    EmbedderUnavailable,
    EngramError,
    InvalidScope,
    SecurityError,
    StatementForgotten,
)
from engramdb.importing.clamps import MAX_CONFIDENCE, clamp
from engramdb.importing.read import KindedRecord
from engramdb.importing.source import BrokenRecord, SkippedFile, SourceLink, SourceMessage, SourceStatement
from engramdb.lifecycle.admission import Prepared, WritePipeline, prepare, prepared_write, save
from engramdb.lifecycle.candidates import candidate
from engramdb.lifecycle.change import SAID, link_found
from engramdb.lifecycle.drafts import Draft, checked_text
from engramdb.lifecycle.speakers import fit_name
from engramdb.lifecycle.transitions import MemoryWriter
from engramdb.lifecycle.write import AdmissionOutcome
from engramdb.models.embedder import AbsentEmbedder
from engramdb.store.contract import Imported, Store, Transaction
from engramdb.text.normalize import clean
from engramdb.values import (
    GLOBAL,
    Actor,
    ImportKind,
    ImportReport,
    Memory,
    MemoryId,
    Provenance,
    Refusal,
    Role,
    Scope,
    Source,
)
from engramdb.values.memory import QUARANTINED

_MARK_BYTES = 16
MAX_REFUSALS = 100
"""Refused records named in a report; all of them are counted."""
MAX_SIBLINGS = 8
"""Of its own batch a statement is settled against the most alike: a hundred decide no more than eight."""
CARRIED = "carried over by an import"
_LATER = EmbedderUnavailable("left for later")
_NEW = frozenset(
    {
        AdmissionOutcome.CREATED,
        AdmissionOutcome.REPLACED,
        AdmissionOutcome.DISPUTED,
        AdmissionOutcome.PRECEDED,
    }
)


def mark_of(kind: ImportKind, record: SourceStatement | SourceMessage, scope: Scope) -> bytes:
    """
    Return what a record is known by: its scope, the source's own name for it, and its words.

    A source that changes a record under the same name brings something new. A message without a name is told
    from its like by who said it when.
    """
    name = record.key and f"{kind}/{record.key}"
    if not name and isinstance(record, SourceMessage):
        name = f"{record.session}/{record.role}/{record.speaker}/{record.occurred_at}"
    told = "\x1f".join((str(scope), name, record.content))
    return hashlib.blake2b(told.encode("utf-8", "backslashreplace"), digest_size=_MARK_BYTES).digest()


class ImportItem(Struct, frozen=True):
    """A record on its way in: its kind, the scope that it goes to and its mark."""

    kind: ImportKind
    record: SourceStatement | SourceMessage
    scope: Scope
    mark: bytes


class ImportTally(Struct):
    """What an import has done so far."""

    counts: Counter[str] = field(default_factory=Counter)
    by_kind: Counter[str] = field(default_factory=Counter)
    by_scope: Counter[str] = field(default_factory=Counter)
    by_code: Counter[str] = field(default_factory=Counter)
    refusals: list[Refusal] = field(default_factory=list)
    clamped: Counter[str] = field(default_factory=Counter)

    def refuse(self, place: str, code: str) -> None:
        """Count a record that does not come in."""
        self.by_code[code] += 1
        if len(self.refusals) < MAX_REFUSALS:
            self.refusals.append(Refusal(place=place, code=code))

    def report(self, *, dry_run: bool, turns_read: int = 0) -> ImportReport:
        """Return the whole as a value."""
        return ImportReport(
            dry_run=dry_run,
            found=self.by_kind.total(),
            by_kind=dict(self.by_kind),
            statements=self.counts["statements"],
            added=self.counts["added"],
            turns=self.counts["turns"],
            turns_read=turns_read,
            already=self.counts["already"],
            flagged=self.counts["flagged"],
            by_scope=dict(self.by_scope),
            refused=self.by_code.total(),
            by_code=dict(self.by_code),
            refusals=tuple(self.refusals),
            links=self.counts["links"],
            updated=self.counts["updated"],
            retired=self.counts["retired"],
            left_out=self.counts["left out"],
            clamped=dict(self.clamped),
        )


class EmptyScopes:
    """
    Which scopes were empty when an import came to them.

    An export of Engram that is taken into one of them holds nothing to settle: its store has done so.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._was_empty: dict[Scope, bool] = {}

    def among(self, places: Iterable[tuple[ImportKind, Scope]]) -> frozenset[Scope]:
        """Return those of a batch's scopes that were empty and that nothing but exports go to."""
        every = set(places)
        with self._store.read() as tx:
            for _, scope in every:
                if scope not in self._was_empty:
                    self._was_empty[scope] = tx.scopes.find(scope) is None
        mixed = {scope for kind, scope in every if kind is not ImportKind.ENGRAM}
        return frozenset(scope for _, scope in every if self._was_empty[scope] and scope not in mixed)


def without_settling(prepared: Prepared, scopes: frozenset[Scope]) -> Prepared:
    """Return what was prepared without anything to settle against in these scopes."""
    if not scopes:
        return prepared
    settled = {place for place, one in enumerate(prepared.candidates) if one.memory.scope not in scopes}
    return replace(
        prepared,
        neighbors={place: near for place, near in prepared.neighbors.items() if place in settled},
        siblings={place: alike for place, alike in prepared.siblings.items() if place in settled},
    )


def quarantine(prepared: Prepared) -> Prepared:
    """Return what was prepared with what reads like an instruction to an agent in quarantine."""
    return replace(
        prepared,
        candidates=[
            replace(one, memory=one.memory.evolve(flags=(*one.memory.flags, QUARANTINED)))
            if one.memory.is_suspicious and QUARANTINED not in one.memory.flags
            else one
            for one in prepared.candidates
        ],
    )


class _SeenRecord(Struct, frozen=True):
    """A record that was read: what it is known by, and the scope that it belongs to."""

    mark: bytes
    scope: Scope


class _CarriedLink(Struct, frozen=True):
    """A link as the source says it: the source's names of both ends, the one that it leaves first."""

    source: str
    link: SourceLink


class CarriedLinks:
    """
    Links that an export carries between its memories, waiting until both ends are there.

    An export names the ends by their ids in the store that it came from; the marks of the import say which
    memories those became here. A link is set in the write that brings the later of its ends, so an import
    that was killed completes it, and one that is repeated brings back no link that was taken away.
    """

    def __init__(self) -> None:
        self._seen: dict[str, _SeenRecord] = {}
        self._by_end: defaultdict[str, list[_CarriedLink]] = defaultdict(list)

    def note(self, items: Iterable[ImportItem]) -> None:
        """Note what the records of a batch are called and linked to, also of those that are here already."""
        for item in items:
            record = item.record
            if (
                not isinstance(record, SourceStatement)
                or item.kind is not ImportKind.ENGRAM
                or not record.key
            ):
                continue
            self._seen[record.key] = _SeenRecord(item.mark, item.scope)
            for link in record.links:
                if link.type in SAID:
                    carried = _CarriedLink(record.key, link)
                    self._by_end[record.key].append(carried)
                    self._by_end[link.to].append(carried)

    def settle(self, tx: Transaction, items: Iterable[ImportItem], *, actor: Actor, now: datetime) -> int:
        """Set the links of records that have just come in to those that are here; returns how many."""
        due = self._due({item.record.key for item in items})
        if not due:
            return 0
        ends = {key for one in due for key in (one.source, one.link.to)}
        became = tx.imports.memories_of([self._seen[key].mark for key in ends])
        here = {key: became[self._seen[key].mark] for key in ends if self._seen[key].mark in became}
        return sum(
            _set_link(tx, one, here, scope=self._seen[one.source].scope, actor=actor, now=now) for one in due
        )

    def _due(self, fresh: set[str]) -> list[_CarriedLink]:
        """Return the links that touch these records and of which both ends have been met."""
        touching = (one for key in fresh if key in self._by_end for one in self._by_end[key])
        met = self._seen
        return list(dict.fromkeys(one for one in touching if one.source in met and one.link.to in met))


def _set_link(
    tx: Transaction,
    one: _CarriedLink,
    here: Mapping[str, MemoryId],
    *,
    scope: Scope,
    actor: Actor,
    now: datetime,
) -> bool:
    """Set one link; what `link` would refuse, because of scope, status or a circle, stays away."""
    source, target = here.get(one.source), here.get(one.link.to)
    if source is None or target is None:
        return False
    start, end = tx.memories.get(source, scope=scope), tx.memories.get(target, scope=scope)
    if start is None or end is None:
        return False
    writer = MemoryWriter(tx, actor, now)
    try:
        link_found(writer, start, end, one.link.type, weight=one.link.weight, reason=CARRIED, scope=scope)
    except EdgeNotAllowed:
        return False
    return True


class Intake:
    """An import under way into one scope."""

    def __init__(
        self,
        pipeline: WritePipeline,
        *,
        scope: Scope,
        actor: Actor,
        embeds_later: bool = False,
        speaker: str | None = None,
        may_enter: Callable[[Scope], bool] | None = None,
    ) -> None:
        self._pipeline = pipeline
        # In bulk, neighbors are found by relation and by words: nothing waits for the vectors but recall.
        self._bulk_pipeline = replace(pipeline, embedder=AbsentEmbedder(_LATER)) if embeds_later else pipeline
        self._scope = scope
        self._actor = actor
        self._speaker = speaker
        self._may_enter = may_enter or (lambda _scope: True)
        self._previewed: set[bytes] = set()
        self._empty = EmptyScopes(pipeline.store)
        self._links = CarriedLinks()
        self.tally = ImportTally()
        self.scopes = {scope}
        """Every scope that something of the source belongs to, what is known already included."""

    def take(self, batch: Sequence[KindedRecord], *, now: datetime, enrich: bool) -> None:
        """Take a batch in, in one write."""
        items = self._items(batch)
        self.scopes.update(item.scope for item in items)
        self._links.note(items)
        fresh = self._clamped(self._fresh(items), now=now)
        while fresh and not self._store(fresh, now=now, enrich=enrich):
            fresh = self._fresh(fresh)  # another import of the same source was faster with some

    def preview(self, batch: Sequence[KindedRecord], *, now: datetime) -> None:
        """Count what `take` would do with a batch, and write nothing."""
        fresh = self._fresh([one for one in self._items(batch) if self._is_first(one)])
        fresh = self._clamped(fresh, now=now)
        with self._pipeline.store.read() as tx:
            for item in fresh:
                self._preview_one(tx, item, now=now)

    def _items(self, batch: Sequence[KindedRecord]) -> list[ImportItem]:
        """Return the records of a batch that can be read, with scope and mark; the others are counted."""
        found = []
        for kind, record in batch:
            if isinstance(record, SkippedFile):
                self.tally.counts["left out"] += 1
            elif isinstance(record, BrokenRecord) or kind is None:
                self.tally.refuse(record.place, getattr(record, "code", SecurityError.code))
            else:
                self.tally.by_kind[kind] += 1
                try:
                    scope = _narrowed(self._scope, record)
                except InvalidScope as exc:
                    self.tally.refuse(record.place, exc.code)
                    continue
                if not self._may_enter(scope):
                    self.tally.refuse(record.place, AccessDenied.code)
                    continue
                found.append(ImportItem(kind, record, scope, mark_of(kind, record, scope)))
        return found

    def _fresh(self, items: Sequence[ImportItem]) -> list[ImportItem]:
        """Return the items that no import has brought, each once."""
        first = {item.mark: item for item in reversed(items)}
        with self._pipeline.store.read() as tx:
            known = tx.imports.known_marks(list(first))
        fresh = [item for item in items if item.mark not in known and first[item.mark] is item]
        self.tally.counts["already"] += len(items) - len(fresh)
        return fresh

    def _clamped(self, items: Sequence[ImportItem], *, now: datetime) -> list[ImportItem]:
        """Return the items with what they claim held to what can be; their marks are of what they said."""
        return [
            replace(item, record=clamp(item.record, now=now, changed=self.tally.clamped)) for item in items
        ]

    def _is_first(self, item: ImportItem) -> bool:
        """Return whether a dry run meets a record for the first time, and count it where it does not."""
        is_first = item.mark not in self._previewed
        self._previewed.add(item.mark)
        self.tally.counts["already"] += not is_first
        return is_first

    def _store(self, items: Sequence[ImportItem], *, now: datetime, enrich: bool) -> bool:
        """Store the items with their marks; says False, and writes nothing, if one was brought meanwhile."""
        admitted: list[ImportItem] = []
        refusals: list[tuple[ImportItem, str]] = []

        def prepare_again() -> Prepared:
            prepared, admitted[:], refusals[:] = self._prepare(items, now=now, enrich=enrich)
            return prepared

        with prepared_write(self._pipeline, prepare_again) as (tx, prepared):
            if tx.imports.known_marks([item.mark for item in items]):
                return False
            admissions = save(tx, prepared, self._pipeline, actor=self._actor, now=now)
            pairs = list(zip(admitted, admissions, strict=True))
            noted = [_imported(item, memory_id=one.memory.id) for item, one in pairs if not one.is_withheld]
            refusals += [(item, StatementForgotten.code) for item, one in pairs if one.is_withheld]
            messages = [item for item in items if isinstance(item.record, SourceMessage)]
            turns = [self._observe(tx, item, refusals, now=now) for item in messages]
            noted += [one for one in turns if one is not None]
            tx.imports.add(noted, at=now)
            linked = self._links.settle(tx, items, actor=self._actor, now=now)
        new = [one.memory for one in admissions if one.outcome in _NEW]
        self._count(noted, new, items=items)
        self.tally.counts["links"] += linked
        for item, code in refusals:
            self.tally.refuse(item.record.place, code)
        return True

    def _prepare(
        self, items: Sequence[ImportItem], *, now: datetime, enrich: bool
    ) -> tuple[Prepared, list[ImportItem], list[tuple[ImportItem, str]]]:
        """Return what admission makes of the statements, which of them it lets in, and why not the others."""
        statements = [(item, item.record) for item in items if isinstance(item.record, SourceStatement)]
        rejections: list[EngramError] = []
        prepared = prepare(
            [draft_of(record, item.scope) for item, record in statements],
            self._pipeline if enrich else self._bulk_pipeline,
            now=now,
            enrich=enrich,
            most_siblings=MAX_SIBLINGS,
            on_rejection=rejections.append,
        )
        bare = self._empty.among((item.kind, item.scope) for item, _ in statements)
        prepared = quarantine(without_settling(prepared, bare))
        admitted, refused = _split_admitted(
            [item for item, _ in statements], prepared, has_refused=bool(rejections)
        )
        refusals = [(item, error.code) for item, error in zip(refused, rejections, strict=False)]
        return prepared, admitted, refusals

    def _user_name(self, message: SourceStatement | SourceMessage) -> str | None:
        """Return the name of who spoke as the user, where the source does not name them."""
        return self._speaker if isinstance(message, SourceMessage) and message.role is Role.USER else None

    def _observe(
        self, tx: Transaction, item: ImportItem, refusals: list[tuple[ImportItem, str]], *, now: datetime
    ) -> Imported | None:
        message = item.record
        try:
            turn = heard(
                message.content,
                role=message.role if isinstance(message, SourceMessage) else "user",
                speaker=fit_name(message.speaker or self._user_name(message)),
                session=message.session,
                occurred_at=message.occurred_at,
                scope=item.scope,
                policy=self._pipeline.policy,
                now=now,
            )
        except SecurityError as exc:
            refusals.append((item, exc.code))
            return None
        keep(tx, turn, actor=self._actor, now=now)
        return _imported(item, turn_id=turn.id)

    def _count(
        self, noted: Sequence[Imported], new: Sequence[Memory], *, items: Sequence[ImportItem]
    ) -> None:
        marks = {one.mark for one in noted}
        counts = self.tally.counts
        counts["statements"] += sum(one.memory_id is not None for one in noted)
        counts["turns"] += sum(one.turn_id is not None for one in noted)
        counts["added"] += len(new)
        counts["flagged"] += sum(memory.is_suspicious for memory in new)
        self.tally.by_scope.update(str(item.scope) for item in items if item.mark in marks)

    def _preview_one(self, tx: Transaction, item: ImportItem, *, now: datetime) -> None:
        record, counts, policy = item.record, self.tally.counts, self._pipeline.policy
        try:
            if isinstance(record, SourceMessage):
                checked_text(record.content, what="turn", max_bytes=policy.max_turn_bytes)
                counts["turns"] += 1
            else:
                would_be = candidate(
                    draft_of(record, item.scope),
                    policy,
                    now=now,
                    enrich=False,
                    date_order=self._pipeline.date_order,
                    screen=self._pipeline.screen,
                    actor=self._actor,
                )
                is_new = tx.memories.active_twin(would_be.fingerprint, scope=item.scope) is None
                counts["statements"] += 1
                counts["added"] += is_new
                counts["flagged"] += is_new and would_be.memory.is_suspicious
        except SecurityError as exc:
            self.tally.refuse(record.place, exc.code)
        else:
            self.tally.by_scope[str(item.scope)] += 1


def _narrowed(scope: Scope, record: SourceStatement | SourceMessage) -> Scope:
    """Return the scope of a record: the import's own, and where that leaves it open, the record's people."""
    told = record.scope if isinstance(record, SourceStatement) else GLOBAL
    if told == GLOBAL and not (record.agent or record.user):
        return scope
    return Scope(
        project=scope.project or told.project,
        squad=scope.squad or told.squad,
        agent=scope.agent or record.agent or told.agent,
        channel=scope.channel or told.channel,
        user=scope.user or record.user or told.user,
    )


def draft_of(record: SourceStatement, scope: Scope) -> Draft:
    """Return a statement of a source as admission takes it."""
    return Draft(
        content=record.content,
        scope=scope,
        category=record.category,
        provenance=Provenance(
            source=Source.INGEST, speaker=fit_name(record.speaker), session=record.session, voice=record.voice
        ),
        occurred_at=record.occurred_at,
        said_at=record.said_at or record.valid_from or record.occurred_at,
        valid_from=record.valid_from,
        valid_to=record.valid_to,
        moments=record.moments,
        confidence=MAX_CONFIDENCE if record.confidence is None else min(record.confidence, MAX_CONFIDENCE),
        importance=record.importance,
        layer=record.layer,
        type=record.type,
        kind=record.kind,
        force=record.force,
        lasting=record.lasting,
        pinned=record.pinned,
        forget_after=record.forget_after,
        flags=record.flags,
        security=record.security,
    )


def _imported(item: ImportItem, *, memory_id: str | None = None, turn_id: str | None = None) -> Imported:
    return Imported(
        mark=item.mark, kind=item.kind, place=item.record.place, memory_id=memory_id, turn_id=turn_id
    )


def _split_admitted(
    items: list[ImportItem], prepared: Prepared, *, has_refused: bool
) -> tuple[list[ImportItem], list[ImportItem]]:
    """Return which items admission let in, known by what it made of them in their order, and which not."""
    if not has_refused:
        return items, []
    admitted: list[ImportItem] = []
    refused: list[ImportItem] = []
    contents = [one.memory.content for one in prepared.candidates]
    for item in items:
        is_next = len(admitted) < len(contents) and clean(item.record.content) == contents[len(admitted)]
        (admitted if is_next else refused).append(item)
    return admitted, refused
