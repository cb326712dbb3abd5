"""
The verbs of one memory's life: forget, erase, restore, pin, promote, link, what happened to it, and undo.

A person's word stands: what is forgotten stays forgotten for every rule, and a layer chosen by hand is left
alone. With `expected_version` a verb changes a memory only if it is unchanged since it was read, and raises
`MemoryChanged` otherwise.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from msgspec.structs import asdict, replace

from engramdb.clock import Clock
from engramdb.errors import EmbeddingError, InvalidQuery, InvalidScope, StorageError
from engramdb.lifecycle.change import (
    ChangeRequest,
    find,
    give_feedback,
    link_memories,
    release,
    restore,
    set_layer,
    set_pinned,
    set_status,
    unlink_memories,
)
from engramdb.lifecycle.erase import ErasedWords, ErasureRequest, erase_memory, erase_user
from engramdb.lifecycle.guard import may_replace
from engramdb.lifecycle.merging import joined
from engramdb.lifecycle.transitions import MemoryWriter
from engramdb.lifecycle.unlearn import unlearn_turn
from engramdb.models.embedder import Embedder
from engramdb.store.contract import Store, Transaction
from engramdb.text.normalize import fingerprint
from engramdb.text.terms import query_terms
from engramdb.values import (
    BELIEVED,
    Act,
    ActId,
    Action,
    Actor,
    Edge,
    EdgeType,
    Erasure,
    Filters,
    ForgottenMemory,
    HistoryEvent,
    Layer,
    Memory,
    MemoryId,
    Query,
    Scope,
    Source,
    Status,
    Support,
    Turn,
    Undone,
    UnlearnedTurn,
)

if TYPE_CHECKING:  # most changes of one memory need no arrays
    from engramdb.lifecycle.forgotten import ForgottenStatements


MAX_ECHOES = 20
"""How many memories are looked at for what others have stored of a forgotten one."""
ECHO = "it tells what was forgotten"
"""Why what others have stored of a memory goes along with it."""


class LifecycleParts(Protocol):
    """What changing a memory needs of the engine."""

    @property
    def clock(self) -> Clock: ...
    @property
    def store(self) -> Store: ...
    @property
    def actor(self) -> Actor: ...
    @property
    def embedder(self) -> Embedder: ...
    @property
    def forgotten(self) -> ForgottenStatements: ...
    def write_notes(self) -> None:
        """Write what recalls have noted, so that the write sees it."""

    def embed_changed(self) -> None:
        """Have what has lost its vector embedded: in the background, or now where there is none."""

    def forget_texts(self) -> None:
        """Drop every text that this process holds, because some of it was erased."""


class LifecycleService:
    """Changes single memories, and tells of them."""

    def __init__(self, parts: LifecycleParts) -> None:
        self._parts = parts

    def forget(
        self,
        memory_id: MemoryId,
        *,
        scope: Scope,
        reason: str,
        reinstate: bool,
        expected_version: Memory | None,
        actor: Actor | None = None,
    ) -> ForgottenMemory:
        """Take a memory out of every index; only a person can bring it back."""
        request = self._request(scope, reason, expected_version, actor)
        with self._parts.store.atomic() as tx:
            gone, displaced = set_status(
                memory_id, Status.FORGOTTEN, request, action=Action.FORGET, reinstates=reinstate
            )
            others = [one for one in _told_by_others(tx, gone) if may_replace(one, request.actor)]
            writer = MemoryWriter(tx, request.actor, request.now)
            for echo in self._parts.forgotten.echoes(tx, gone, others) if others else ():
                writer.forget(echo, reason=ECHO)
        self._parts.embed_changed()  # what quoted it has lost those words
        named = tuple(one.id for one in displaced)
        return ForgottenMemory(**asdict(gone), displaced=named, reinstated=reinstate and bool(named))

    def undo(
        self,
        memory_id: MemoryId | None,
        *,
        act: ActId | None,
        with_later: bool,
        scope: Scope,
        reason: str,
        expected_version: Memory | None,
    ) -> Undone:
        """Take back an act with all that followed from it."""
        from engramdb.lifecycle.undo import undo  # noqa: PLC0415 - few processes undo anything

        self._parts.write_notes()
        request = self._request(scope, reason, expected_version)
        undone = undo(request, memory_id=memory_id, act=act, with_later=with_later)
        self._parts.embed_changed()  # what counts again may have no vector
        return undone

    def acts(self, *, scope: Scope, limit: int, before: ActId | None) -> Sequence[Act]:
        """Return what was done in a scope, newest first."""
        from engramdb.lifecycle.undo import list_acts  # noqa: PLC0415 - few processes ask

        with self._parts.store.read() as tx:
            return list_acts(tx, scope, limit=limit, before=before)

    def forget_turn(self, turn: Turn, *, reason: str) -> UnlearnedTurn:
        """Drop a message, and take back what was learnt from it alone."""
        self._parts.write_notes()
        with self._parts.store.atomic() as tx:
            writer = MemoryWriter(tx, self._parts.actor, self._parts.clock.now())
            found = unlearn_turn(writer, turn, reason=reason)
        self._parts.forget_texts()
        self._parts.embed_changed()  # what quoted it has lost those words, what is back has no vector
        return found

    def set_status(
        self,
        memory_id: MemoryId,
        status: Status,
        *,
        scope: Scope,
        reason: str,
        reinstate: bool,
        expected_version: Memory | None,
    ) -> Memory:
        """Move a memory to another status; one that is indexed again may have to be embedded."""
        request = self._request(scope, reason, expected_version)
        moved, _ = set_status(memory_id, status, request, action=Action.SET_STATUS, reinstates=reinstate)
        if moved.status.is_indexed:
            self._parts.embed_changed()
        return moved

    def erase(
        self,
        memory_id: MemoryId | None,
        *,
        user: str | None,
        reason: str,
        dry_run: bool,
        mentions: bool,
        scope: Scope,
        expected_version: Memory | None,
    ) -> ErasedWords:
        """Take the words of a memory, or everything of a user, out of the store's file for good."""
        if (memory_id is None) == (user is None):
            raise InvalidQuery("erasing takes either a memory or a user", hint="Name exactly one of them.")
        if user is not None and expected_version is not None:
            raise InvalidQuery(
                "expected_version is for one memory, and not for all of a user", hint="Leave it out."
            )
        if user is not None and mentions:
            raise InvalidQuery(
                "what others say of a user is theirs, and is not erased along",
                hint="Look at what is listed, and erase those memories one by one.",
            )
        self._parts.write_notes()
        order = ErasureRequest(
            store=self._parts.store,
            scope=scope if user is None else _scope_of_user(user, scope),
            reason=reason,
            actor=self._parts.actor,
            now=self._parts.clock.now(),
            dry_run=dry_run,
            expected_version=expected_version,
            forgotten=None if dry_run or user is not None else self._parts.forgotten,
            mentions=mentions,
        )
        erased = erase_user(order) if memory_id is None else erase_memory(memory_id, order)
        return erased if dry_run else replace(erased, found=self._scrub(erased.found))

    def pin(
        self, memory_id: MemoryId, *, pinned: bool, scope: Scope, expected_version: Memory | None
    ) -> Memory:
        """Make a memory immune to every automatic loss, or let it age again."""
        return set_pinned(memory_id, self._request(scope, "", expected_version), pinned=pinned)

    def release(
        self, memory_id: MemoryId, *, reason: str, scope: Scope, expected_version: Memory | None
    ) -> Memory:
        """Let a memory that was held back as suspicious into automatic windows."""
        return release(memory_id, self._request(scope, reason, expected_version))

    def set_layer(
        self,
        memory_id: MemoryId,
        layer: Layer | None,
        *,
        up: bool,
        scope: Scope,
        reason: str,
        expected_version: Memory | None,
    ) -> Memory:
        """Put a memory one layer up or down, or into the layer given; rules then leave it there."""
        return set_layer(memory_id, layer, self._request(scope, reason, expected_version), up=up)

    def feedback(
        self,
        memory_id: MemoryId,
        *,
        helpful: bool,
        query: str | None,
        scope: Scope,
        expected_version: Memory | None,
    ) -> Memory:
        """Note whether a memory helped; the question is stored as fingerprint and vector, not as words."""
        vector, identity = None, None
        if query is not None:
            query = Query(text=query).text
            with contextlib.suppress(EmbeddingError):  # without a vector, the same words still count
                (vector,) = self._parts.embedder.embed_queries([query])
                identity = self._parts.embedder.identity
        return give_feedback(
            memory_id,
            self._request(scope, "", expected_version),
            is_helpful=helpful,
            question=None if query is None else fingerprint(query),
            vector=vector,
            identity=identity,
        )

    def restore(
        self, memory_id: MemoryId, *, scope: Scope, reason: str, expected_version: Memory | None
    ) -> Memory:
        """Let a memory count again; it counts as confirmed now, so no rule takes it again at once."""
        back = restore(memory_id, self._request(scope, reason or "restored", expected_version))
        self._parts.embed_changed()
        return back

    def get(self, memory_id: MemoryId, *, scope: Scope) -> Memory:
        """Return one memory, with what recalls have noted of it."""
        self._parts.write_notes()
        with self._parts.store.read() as tx:
            return find(tx, memory_id, scope)

    def history(self, memory_id: MemoryId, *, scope: Scope) -> Sequence[HistoryEvent]:
        """Return everything that happened to a memory, oldest first."""
        with self._parts.store.read() as tx:
            find(tx, memory_id, scope)
            return tx.history.of(memory_id)

    def evidence(self, memory_id: MemoryId, *, scope: Scope) -> Support:
        """Return what a memory rests on: the wordings that it stands for, and the turns they were said in."""
        with self._parts.store.read() as tx:
            memory = find(tx, memory_id, scope)
            found = [tx.memories.get(one, scope=scope) for one in memory.provenance.wordings]
            wordings = [one for one in found if one is not None and one.status is Status.MERGED]
            said = joined(memory.provenance.turns, *(one.provenance.turns for one in wordings))
            turns = [turn for one in said if (turn := tx.turns.get(one, scope=scope)) is not None]
        return Support(
            memory=memory,
            wordings=tuple(sorted(wordings, key=lambda one: one.stated_at)),
            turns=tuple(sorted(turns, key=lambda one: one.occurred_at)),
        )

    # --- links ----------------------------------------------------------------------------------------------

    def link(
        self,
        memory_id: MemoryId,
        other: MemoryId,
        type: EdgeType,  # noqa: A002 - the word users know
        *,
        weight: float,
        scope: Scope,
        reason: str,
        expected_version: Memory | None,
    ) -> Edge:
        """Link two memories; said again, it replaces the weight."""
        request = self._request(scope, reason, expected_version)
        return link_memories(memory_id, other, type, request, weight=weight)

    def unlink(
        self,
        memory_id: MemoryId,
        other: MemoryId,
        type: EdgeType,  # noqa: A002 - the word users know
        *,
        scope: Scope,
        reason: str,
        expected_version: Memory | None,
    ) -> bool:
        """Remove such a link; return whether it was there."""
        return unlink_memories(memory_id, other, type, self._request(scope, reason, expected_version))

    def links(self, memory_id: MemoryId, *, scope: Scope) -> Sequence[Edge]:
        """Return the links that leave or reach a memory and whose other end this scope may see."""
        with self._parts.store.read() as tx:
            find(tx, memory_id, scope)
            return [
                edge
                for edge in tx.edges.of(memory_id)
                if tx.memories.get(edge.target if edge.source == memory_id else edge.source, scope=scope)
            ]

    def _request(
        self, scope: Scope, reason: str, expected_version: Memory | None, actor: Actor | None = None
    ) -> ChangeRequest:
        return ChangeRequest(
            store=self._parts.store,
            scope=scope,
            actor=actor or self._parts.actor,
            now=self._parts.clock.now(),
            reason=reason,
            expected_version=expected_version,
        )

    def _scrub(self, found: Erasure) -> Erasure:
        """Drop what this process still holds, and rewrite the file."""
        self._parts.forget_texts()
        self._parts.embed_changed()  # what quoted it has lost those words
        try:
            self._parts.store.scrub()
        except StorageError as exc:
            return replace(found, why=f"{exc.code} {exc}")
        return replace(found, is_file_clean=True)


def _told_by_others(tx: Transaction, memory: Memory) -> list[Memory]:
    """Return what others have stored, in its scope, with words of a memory that was the person's own."""
    if memory.provenance.source is not Source.HUMAN:
        return []
    weights = dict.fromkeys(query_terms(memory.content), 1.0)
    believed = Filters(statuses=BELIEVED)
    near = tx.terms.search(weights, scope=memory.scope, filters=believed, limit=MAX_ECHOES)
    found = tx.memories.by_keys([one.key for one in near]).values()
    return [
        one
        for one in found
        if one.scope == memory.scope
        and one.provenance.source is not Source.HUMAN
        and not (one.pinned or one.is_derived)
    ]


def _scope_of_user(user: str, scope: Scope) -> Scope:
    """Return the scope in which a user is looked for: the one given, with that user."""
    if scope.user not in (None, user):
        raise InvalidScope(f"user={user[:40]!r} is not the user of the scope", hint="Name the user once.")
    return replace(scope, user=Scope(user=user).user)
