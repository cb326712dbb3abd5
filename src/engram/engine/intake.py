"""
Take records of an import into the store: statements through the gate, messages as turns, each with its mark.

Used by `engine.imports`, a batch to a write. A record and its mark are one write, so an import that is killed
at any moment can be run again: what it had taken in is known, what it had not comes in, and two imports of
one source at once do not double it. What was corrected or forgotten since stays so, because the mark stays.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from engram.capture.admit import prepare, save
from engram.capture.apply import Outcome
from engram.capture.candidate import INJECTION, candidate
from engram.capture.draft import Draft, checked_text
from engram.capture.observe import heard, keep
from engram.engine.absent import AbsentEmbedder
from engram.engine.bare_scopes import BareScopes, left_standing
from engram.engine.carried_links import CarriedLinks
from engram.engine.intake_shapes import Item, Tally
from engram.engine.marks import mark_of
from engram.errors import AccessDenied, EmbedderUnavailable, EngramError, InvalidScope, SecurityError
from engram.portability.read import read_source
from engram.portability.record import Broken, LeftOut, Message, Statement
from engram.store.contract import Imported
from engram.text.normal import clean
from engram.values import GLOBAL, Provenance, Role, Scope, Source

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence
    from datetime import datetime
    from pathlib import Path

    from engram.capture.admit import Gate, Prepared
    from engram.portability.read import Kinded
    from engram.store.contract import Transaction
    from engram.values import Actor, ImportKind, Memory

MOST_SIBLINGS = 8
"""Of its own batch a statement is settled against the most alike: a hundred decide no more than eight."""
_LATER = EmbedderUnavailable("left for later")
_NEW = frozenset({Outcome.CREATED, Outcome.REPLACED, Outcome.DISPUTED, Outcome.PRECEDED})


class Intake:
    """An import under way into one scope."""

    def __init__(
        self,
        gate: Gate,
        *,
        scope: Scope,
        actor: Actor,
        embeds_later: bool = False,
        speaker: str | None = None,
        may_enter: Callable[[Scope], bool] | None = None,
    ) -> None:
        self._gate = gate
        # In bulk, neighbours are found by relation and by words: nothing waits for the vectors but recall.
        self._bulk_gate = replace(gate, embedder=AbsentEmbedder(_LATER)) if embeds_later else gate
        self._scope = scope
        self._actor = actor
        self._speaker = speaker
        self._may_enter = may_enter or (lambda _scope: True)
        self._foreseen: set[bytes] = set()
        self._bare = BareScopes(gate.store)
        self._links = CarriedLinks()
        self.tally = Tally()

    def take(self, batch: Sequence[Kinded], *, now: datetime, enrich: bool) -> None:
        """Take a batch in, in one write."""
        items = self._items(batch)
        self._links.meet(items)
        fresh = self._fresh(items)
        while fresh and not self._stored(fresh, now=now, enrich=enrich):
            fresh = self._fresh(fresh)  # another import of the same source was faster with some

    def foresee(self, batch: Sequence[Kinded], *, now: datetime) -> None:
        """Count what `take` would do with a batch, and write nothing."""
        fresh = self._fresh([one for one in self._items(batch) if self._is_first(one)])
        with self._gate.store.read() as tx:
            for item in fresh:
                self._foresee_one(tx, item, now=now)

    def _items(self, batch: Sequence[Kinded]) -> list[Item]:
        """Return the records of a batch that can be read, with scope and mark; the others are counted."""
        found = []
        for kind, record in batch:
            if isinstance(record, LeftOut):
                self.tally.counts["left out"] += 1
            elif isinstance(record, Broken) or kind is None:
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
                found.append(Item(kind, record, scope, mark_of(kind, record, scope)))
        return found

    def _fresh(self, items: Sequence[Item]) -> list[Item]:
        """Return the items that no import has brought, each once."""
        first = {item.mark: item for item in reversed(items)}
        with self._gate.store.read() as tx:
            known = tx.imports.known(list(first))
        fresh = [item for item in items if item.mark not in known and first[item.mark] is item]
        self.tally.counts["already"] += len(items) - len(fresh)
        return fresh

    def _is_first(self, item: Item) -> bool:
        """Say whether a dry run meets a record for the first time, and count it where it does not."""
        is_first = item.mark not in self._foreseen
        self._foreseen.add(item.mark)
        self.tally.counts["already"] += not is_first
        return is_first

    def _stored(self, items: Sequence[Item], *, now: datetime, enrich: bool) -> bool:
        """Store the items with their marks; says False, and writes nothing, if one was brought meanwhile."""
        prepared, admitted, refusals = self._prepared(items, now=now, enrich=enrich)
        with self._gate.store.atomic() as tx:
            if tx.imports.known([item.mark for item in items]):
                return False
            admissions = save(tx, prepared, self._gate, actor=self._actor, now=now)
            noted = [
                _noted(item, memory_id=one.memory.id) for item, one in zip(admitted, admissions, strict=True)
            ]
            messages = [item for item in items if isinstance(item.record, Message)]
            turns = [self._observed(tx, item, refusals, now=now) for item in messages]
            noted += [one for one in turns if one is not None]
            tx.imports.add(noted, at=now)
            linked = self._links.settle(tx, items, now=now)
        new = [one.memory for one in admissions if one.outcome in _NEW]
        self._count(noted, new, items=items)
        self.tally.counts["links"] += linked
        for item, code in refusals:
            self.tally.refuse(item.record.place, code)
        return True

    def _prepared(
        self, items: Sequence[Item], *, now: datetime, enrich: bool
    ) -> tuple[Prepared, list[Item], list[tuple[Item, str]]]:
        """Return what the gate makes of the statements, which of them it lets in, and why not the others."""
        statements = [(item, item.record) for item in items if isinstance(item.record, Statement)]
        rejections: list[EngramError] = []
        prepared = prepare(
            [_draft(record, item.scope) for item, record in statements],
            self._gate if enrich else self._bulk_gate,
            now=now,
            enrich=enrich,
            most_siblings=MOST_SIBLINGS,
            on_rejection=rejections.append,
        )
        bare = self._bare.among((item.kind, item.scope) for item, _ in statements)
        prepared = left_standing(prepared, bare)
        admitted, refused = _matched([item for item, _ in statements], prepared, has_refused=bool(rejections))
        refusals = [(item, error.code) for item, error in zip(refused, rejections, strict=False)]
        return prepared, admitted, refusals

    def _user_name(self, message: Statement | Message) -> str | None:
        """Return the name of who spoke as the user, where the source does not name them."""
        return self._speaker if isinstance(message, Message) and message.role is Role.USER else None

    def _observed(
        self, tx: Transaction, item: Item, refusals: list[tuple[Item, str]], *, now: datetime
    ) -> Imported | None:
        message = item.record
        try:
            turn = heard(
                message.content,
                role=message.role if isinstance(message, Message) else "user",
                speaker=message.speaker or self._user_name(message),
                session=message.session,
                occurred_at=message.occurred_at,
                scope=item.scope,
                policy=self._gate.policy,
                now=now,
            )
        except SecurityError as exc:
            refusals.append((item, exc.code))
            return None
        keep(tx, turn, actor=self._actor, now=now)
        return _noted(item, turn_id=turn.id)

    def _count(self, noted: Sequence[Imported], new: Sequence[Memory], *, items: Sequence[Item]) -> None:
        marks = {one.mark for one in noted}
        counts = self.tally.counts
        counts["statements"] += sum(one.memory_id is not None for one in noted)
        counts["turns"] += sum(one.turn_id is not None for one in noted)
        counts["added"] += len(new)
        counts["flagged"] += sum(INJECTION in memory.flags for memory in new)
        self.tally.by_scope.update(str(item.scope) for item in items if item.mark in marks)

    def _foresee_one(self, tx: Transaction, item: Item, *, now: datetime) -> None:
        record, counts, policy = item.record, self.tally.counts, self._gate.policy
        try:
            if isinstance(record, Message):
                checked_text(record.content, what="turn", max_bytes=policy.max_turn_bytes)
                counts["turns"] += 1
            else:
                would_be = candidate(_draft(record, item.scope), policy, now=now, enrich=False)
                is_new = tx.memories.active_twin(would_be.fingerprint, scope=item.scope) is None
                counts["statements"] += 1
                counts["added"] += is_new
                counts["flagged"] += is_new and INJECTION in would_be.memory.flags
        except SecurityError as exc:
            self.tally.refuse(record.place, exc.code)
        else:
            self.tally.by_scope[str(item.scope)] += 1


def records_of(
    path: Path, *, kind: ImportKind | None, mapping: Mapping[str, str] | None
) -> Generator[Kinded, None, None]:
    """Return the records of a file, a folder or an archive as they are read; closing it closes the file."""
    return read_source(path, kind=kind, mapping=mapping)


def _narrowed(scope: Scope, record: Statement | Message) -> Scope:
    """Return the scope of a record: the import's own, and where that leaves it open, the record's people."""
    told = record.scope if isinstance(record, Statement) else GLOBAL
    if told == GLOBAL and not (record.agent or record.user):
        return scope
    return Scope(
        project=scope.project or told.project,
        squad=scope.squad or told.squad,
        agent=scope.agent or record.agent or told.agent,
        channel=scope.channel or told.channel,
        user=scope.user or record.user or told.user,
    )


def _draft(record: Statement, scope: Scope) -> Draft:
    return Draft(
        content=record.content,
        scope=scope,
        category=record.category,
        provenance=Provenance(source=Source.INGEST, speaker=record.speaker, session=record.session),
        occurred_at=record.occurred_at,
        confidence=record.confidence,
        importance=record.importance,
        layer=record.layer,
        type=record.type,
        kind=record.kind,
        pinned=record.pinned,
        forget_after=record.forget_after,
    )


def _noted(item: Item, *, memory_id: str | None = None, turn_id: str | None = None) -> Imported:
    return Imported(
        mark=item.mark, kind=item.kind, place=item.record.place, memory_id=memory_id, turn_id=turn_id
    )


def _matched(items: list[Item], prepared: Prepared, *, has_refused: bool) -> tuple[list[Item], list[Item]]:
    """Return which items the gate let in, known by what it made of them in their order, and which not."""
    if not has_refused:
        return items, []
    admitted: list[Item] = []
    refused: list[Item] = []
    contents = [one.memory.content for one in prepared.candidates]
    for item in items:
        is_next = len(admitted) < len(contents) and clean(item.record.content) == contents[len(admitted)]
        (admitted if is_next else refused).append(item)
    return admitted, refused
