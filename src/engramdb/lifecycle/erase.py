"""Erase the words of a memory, or everything of a user, for good."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from engramdb.errors import UserNotFound
from engramdb.lifecycle.change import find_own
from engramdb.lifecycle.guard import refuse_agent
from engramdb.lifecycle.mentions import mentions_of, mentions_of_user, similar_names
from engramdb.lifecycle.transitions import MemoryWriter
from engramdb.store.contract import Store, Transaction
from engramdb.text.sentences import sentences
from engramdb.text.terms import retells
from engramdb.values import (
    Action,
    Actor,
    AuditEvent,
    Erasure,
    ErasureMention,
    Memory,
    MemoryId,
    MentionKind,
    Role,
    Scope,
    Status,
    TurnId,
    new_id,
)

if TYPE_CHECKING:  # counting what would go needs no arrays
    from engramdb.lifecycle.forgotten import ForgottenStatements

MAX_TURNS_BESIDE = 1000
"""So many turns of a session are looked through for what retells an erased memory, the latest."""
MAX_SIMILAR = 3
"""So many names are suggested in the place of one that nobody has."""
TOKEN = "erased-"  # noqa: S105 - a name, and no secret
"""How the name begins that stands in the place of a user who was erased."""


class ErasureRequest(Struct, frozen=True, kw_only=True):
    """Who has what erased, where and why, maybe only if it still is as it was seen; a dry run only counts."""

    store: Store
    scope: Scope
    actor: Actor
    now: datetime
    reason: str = ""
    dry_run: bool = False
    expected_version: Memory | None = None
    forgotten: ForgottenStatements | None = None
    """Sketches a statement before its words go, so that it does not come back."""
    mentions: bool = False
    """Whether what only mentions the words is erased as well."""

    def opened(self) -> AbstractContextManager[Transaction]:
        """Open the store to look, or to write."""
        return self.store.read() if self.dry_run else self.store.atomic()


class ErasedWords(Struct, frozen=True, kw_only=True):
    """What an erasure took, and by what its words are known in files: gone from the store by now."""

    found: Erasure
    scopes: Mapping[MemoryId, Scope] = field(default_factory=dict)
    """The erased memories, with their scopes."""
    texts: tuple[str, ...] = ()
    """What they said; for the files that we wrote, and then to be let go of."""


def erase_memory(memory_id: MemoryId, order: ErasureRequest) -> ErasedWords:
    """
    Erase a memory of exactly this scope, with what says the same and what was concluded from it.

    One that is erased already takes nothing more along. What only mentions its words is listed, and erased
    where the order says so.
    """
    with order.opened() as tx:
        memory = find_own(tx, memory_id, order.scope, expected_version=order.expected_version)
        if memory.status is Status.ERASED:
            return ErasedWords(found=Erasure(dry_run=order.dry_run), scopes={memory.id: memory.scope})
        doomed = _with_kin(tx, memory)
        turns = list(dict.fromkeys(turn for one in doomed for turn in _evidence(tx, one)))
        mentions = mentions_of(tx, doomed, scope=order.scope, without_turns=turns)
        named, left = (mentions, []) if order.mentions else ([], mentions)
        if named:
            doomed = _with_mentions(tx, doomed, named)
            more = (turn for one in doomed for turn in _evidence(tx, one))
            turns = list(dict.fromkeys((*turns, *more)))
        holders = _holders(tx, doomed, turns, order.scope)
        found = Erasure(
            memories=tuple(one.id for one in doomed),
            turns=len(set(turns) | {one.id for one in named if one.kind is MentionKind.TURN}),
            gaps=tx.erasures.count_gaps([one.id for one in doomed]),
            working_memories=len(holders),
            dry_run=order.dry_run,
            mentions=tuple(left),
            mentions_erased=len(named),
        )
        if not order.dry_run:
            _sketch(tx, doomed, order)
            _take(tx, doomed, order)
            _withdraw_from_context(tx, turns, order)
            tx.erasures.drop_turns(turns)
            tx.erasures.drop_mentions(named)
            tx.erasures.drop_attention(holders)
        return ErasedWords(found=found, scopes={one.id: one.scope for one in doomed}, texts=_texts(doomed))


def _with_mentions(
    tx: Transaction, doomed: Sequence[Memory], mentions: Sequence[ErasureMention]
) -> list[Memory]:
    """Return the memories with those that mention them, and all of their kin."""
    found = {one.id: one for one in doomed}
    for mention in mentions:
        memory = (
            tx.memories.get(mention.id, scope=mention.scope) if mention.kind is MentionKind.MEMORY else None
        )
        if memory is not None:
            found.update({one.id: one for one in _with_kin(tx, memory)})
    return list(found.values())


def _texts(doomed: Sequence[Memory]) -> tuple[str, ...]:
    every = (text for one in doomed for text in (one.content, one.verbatim, one.statement))
    return tuple(dict.fromkeys(text for text in every if text))


def erase_user(order: ErasureRequest) -> ErasedWords:
    """
    Erase everything in the scopes of the order's user, and the user's name with it.

    A token stands in the place of the name from then on, in the scopes and in the audit. A name that no scope
    has is an error: "nothing to erase" would read like "erased". What others said of the user is listed.
    """
    with order.opened() as tx:
        places = tx.erasures.scopes_within(order.scope)
        around = replace(order.scope, user=None)
        if not places:
            raise _no_such_user(tx, order.scope.user or "", around)
        doomed = [memory for place in places for memory in tx.erasures.memories_in(place)]
        mentions = mentions_of_user(tx, order.scope.user or "", scope=around, within=order.scope)
        found = Erasure(
            mentions=tuple(mentions),
            memories=tuple(one.id for one in doomed),
            turns=sum(tx.erasures.count_turns(place) for place in places),
            gaps=sum(tx.erasures.count_gaps_in(place) for place in places),
            working_memories=sum(tx.attention.stamp(place) > 0 for place in places),
            scopes=len(places),
            dry_run=order.dry_run,
        )
        erased = ErasedWords(found=found, scopes={one.id: one.scope for one in doomed}, texts=_texts(doomed))
        if order.dry_run:
            return erased
        _take(tx, doomed, order)
        for place in places:
            tx.erasures.clear(place)
        return replace(erased, found=replace(found, token=_unnamed(tx, found, order)))


def _no_such_user(tx: Transaction, user: str, around: Scope) -> UserNotFound:
    """Return the error of a name that nobody has, with those that look like it."""
    similar = similar_names(user, tx.erasures.users_within(around))[:MAX_SIMILAR]
    hint = f"Did you mean {' or '.join(map(repr, similar))}?" if similar else None
    return UserNotFound(f"there is no user {user[:80]!r} in scope {around}; nothing was erased", hint=hint)


def _unnamed(tx: Transaction, found: Erasure, order: ErasureRequest) -> str:
    """Put a token in the place of the user's name, and return it."""
    token = f"{TOKEN}{new_id(order.now)}"
    tx.erasures.rename_user(order.scope, token)
    counted = {"memories": len(found.memories), "turns": found.turns, "scopes": found.scopes}
    tx.audit.add(
        AuditEvent(
            at=order.now,
            action=Action.ERASE,
            actor=order.actor,
            scope=replace(order.scope, user=token),
            target=token,
            detail=counted,
        )
    )
    return token


def _with_kin(tx: Transaction, memory: Memory) -> list[Memory]:
    """Return a memory and everything that says the same or rests on it, however far."""
    found, waiting = {memory.id: memory}, [memory]
    while waiting:
        for one in tx.erasures.copies_of(waiting.pop()):
            if one.id not in found:
                found[one.id] = one
                waiting.append(one)
    return list(found.values())


def _evidence(tx: Transaction, memory: Memory) -> Iterator[TurnId]:
    """Yield the turns that hold what a memory says, an assistant's that retell it in its session included."""
    found = tx.erasures.evidence(memory)
    yield from found
    said = (tx.turns.get(turn, scope=memory.scope) for turn in found)
    for session in {turn.session for turn in said if turn is not None} - {None}:
        for turn in tx.turns.list(scope=memory.scope, session=session, limit=MAX_TURNS_BESIDE):
            is_echo = turn.role is Role.ASSISTANT and turn.scope == memory.scope
            if is_echo and any(retells(one, memory.content) for one in sentences(turn.content)):
                yield turn.id


def _holders(
    tx: Transaction, doomed: Sequence[Memory], turns: Sequence[TurnId], scope: Scope
) -> Sequence[Scope]:
    """Return the scopes whose working memory holds any of it; such an agent starts over."""
    references = [*(one.id for one in doomed), *turns]
    return tx.erasures.attention_scopes(references, [one.content for one in doomed], scope=scope)


def _withdraw_from_context(tx: Transaction, turns: Sequence[TurnId], order: ErasureRequest) -> None:
    """Take the words of turns out of the memories that quote them as what they lean on."""
    writer = MemoryWriter(tx, order.actor, order.now)
    for turn_id in turns:
        turn = tx.turns.get(turn_id, scope=order.scope)
        if turn is not None:
            writer.withdraw_context(turn.content, session=turn.session, scope=turn.scope)


def _sketch(tx: Transaction, doomed: Sequence[Memory], order: ErasureRequest) -> None:
    """Keep what the statements are recognized by; none of their words is in it."""
    if order.forgotten is None:
        return
    for memory in doomed:
        if not (memory.is_derived or memory.is_session_summary):
            sketch = order.forgotten.sketch(tx, memory)
            since = new_id(order.now)
            tx.forgotten.add(memory.id, scope=memory.scope, at=order.now, since=since, sketch=sketch)


def _take(tx: Transaction, doomed: Sequence[Memory], order: ErasureRequest) -> None:
    for memory in doomed:
        refuse_agent(memory, order.actor, "erase")
    writer = MemoryWriter(tx, order.actor, order.now)
    for memory in doomed:
        tx.erasures.delete_notes(memory.id, now=order.now)
        writer.erase(memory, reason=order.reason)
