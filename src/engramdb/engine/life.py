"""Verbs of one memory's life and of its links."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from msgspec.structs import replace

from engramdb.engine.handle import Handle
from engramdb.errors import EmbeddingError, InvalidQuery, InvalidScope, StorageError
from engramdb.lifecycle.change import (
    Speaker,
    find,
    give_feedback,
    relate,
    restore,
    set_layer,
    set_pinned,
    set_status,
    unrelate,
)
from engramdb.lifecycle.drafts import chosen
from engramdb.lifecycle.erase import Order, erase_memory, erase_user
from engramdb.text.normalize import fingerprint
from engramdb.values import (
    Action,
    Edge,
    EdgeType,
    Erasure,
    HistoryEvent,
    Layer,
    Memory,
    MemoryId,
    Query,
    Scope,
    Status,
)

# The verbs of one memory's life: forget, erase, restore, pin, promote, and what happened to it.
#
# Part of `Engram`; each is a few lines that call one room. A person's word stands: what is forgotten stays
# forgotten for every rule, and a layer chosen by hand is left alone. With `if_still` a verb changes nothing
# but
# what still is as that look at it showed, and raises `MemoryChanged` else.


class Life(Handle):
    """Verbs that change or tell one memory's life."""

    def forget(
        self,
        memory_id: MemoryId,
        *,
        reason: str = "",
        if_still: Memory | None = None,
        scope: Scope | None = None,
    ) -> Memory:
        """Take a memory out of every index now; only a person can bring it back."""
        return self._move(memory_id, Status.FORGOTTEN, Action.FORGET, reason, scope, if_still=if_still)

    def erase(
        self,
        memory_id: MemoryId | None = None,
        *,
        user: str | None = None,
        reason: str = "",
        dry_run: bool = False,
        if_still: Memory | None = None,
        scope: Scope | None = None,
    ) -> Erasure:
        """
        Take the words of a memory, or everything of a user, out of the file for good; nobody can undo it.

        Along with a memory goes what says the same, what was concluded from it and the turns it was read
        from; along with a user every scope of that name inside this one. The file is then written anew,
        and others wait meanwhile. With `dry_run` it only counts. Twice is harmless: it cleans the file
        again where that did not succeed.
        """
        if (memory_id is None) == (user is None):
            raise InvalidQuery("erasing takes either a memory or a user", hint="Name exactly one of them.")
        if user is not None and if_still is not None:
            raise InvalidQuery("if_still is for one memory, and not for all of a user", hint="Leave it out.")
        self._reads.write(self._now())
        order = Order(
            store=self._parts.store,
            scope=self._in(scope) if user is None else self._around(user, scope),
            reason=reason,
            actor=self._actor,
            now=self._now(),
            dry_run=dry_run,
            if_still=if_still,
        )
        if memory_id is not None:
            found = erase_memory(self._resolve(memory_id, scope), order)
        else:
            found = erase_user(order)
        return found if dry_run else self._scrubbed(found)

    def set_status(
        self,
        memory_id: MemoryId,
        status: Status,
        *,
        reason: str = "",
        if_still: Memory | None = None,
        scope: Scope | None = None,
    ) -> Memory:
        """Move a memory to another status; bringing one back needs a reason."""
        wanted = chosen(Status, status)
        moved = self._move(memory_id, wanted, Action.SET_STATUS, reason, scope, if_still=if_still)
        if moved.status.is_indexed:
            self._embed_later()
        return moved

    def pin(
        self, memory_id: MemoryId, *, if_still: Memory | None = None, scope: Scope | None = None
    ) -> Memory:
        """Make a memory immune to every automatic loss."""
        return self._pin(memory_id, scope, pinned=True, if_still=if_still)

    def unpin(
        self, memory_id: MemoryId, *, if_still: Memory | None = None, scope: Scope | None = None
    ) -> Memory:
        """Let a memory age again."""
        return self._pin(memory_id, scope, pinned=False, if_still=if_still)

    def feedback(
        self,
        memory_id: MemoryId,
        *,
        helpful: bool,
        query: str | None = None,
        if_still: Memory | None = None,
        scope: Scope | None = None,
    ) -> Memory:
        """
        Say whether a memory helped, and for which question.

        Of no help, it is not given again to such questions for a while; to others it is. The question is kept
        as a fingerprint and a vector, not as words.
        """
        vector, identity = None, None
        if query is not None:
            query = Query(text=query).text
            with contextlib.suppress(EmbeddingError):  # without a vector, the same words still count
                (vector,) = self._parts.embedder.embed_queries([query])
                identity = self._parts.embedder.identity
        return give_feedback(
            self._resolve(memory_id, scope),
            is_helpful=helpful,
            question=None if query is None else fingerprint(query),
            vector=vector,
            identity=identity,
            store=self._parts.store,
            scope=self._in(scope),
            actor=self._actor,
            now=self._now(),
            if_still=if_still,
        )

    def restore(
        self,
        memory_id: MemoryId,
        *,
        reason: str = "",
        if_still: Memory | None = None,
        scope: Scope | None = None,
    ) -> Memory:
        """Bring back what a rule removed; it counts as confirmed now, so no rule takes it again at once."""
        back = restore(
            self._resolve(memory_id, scope),
            store=self._parts.store,
            scope=self._in(scope),
            reason=reason or "restored",
            actor=self._actor,
            now=self._now(),
            if_still=if_still,
        )
        self._embed_later()
        return back

    def promote(
        self,
        memory_id: MemoryId,
        *,
        layer: Layer | None = None,
        reason: str = "",
        if_still: Memory | None = None,
        scope: Scope | None = None,
    ) -> Memory:
        """Put a memory one layer up, or into the layer given; rules then leave it there."""
        return self._set_layer(memory_id, layer, reason, scope, up=True, if_still=if_still)

    def demote(
        self,
        memory_id: MemoryId,
        *,
        layer: Layer | None = None,
        reason: str = "",
        if_still: Memory | None = None,
        scope: Scope | None = None,
    ) -> Memory:
        """Put a memory one layer down, or into the layer given; rules then leave it there."""
        return self._set_layer(memory_id, layer, reason, scope, up=False, if_still=if_still)

    def history(self, memory_id: MemoryId, *, scope: Scope | None = None) -> Sequence[HistoryEvent]:
        """Return everything that happened to a memory, oldest first."""
        target = self._resolve(memory_id, scope)
        with self._parts.store.read() as tx:
            find(tx, target, self._in(scope))
            return tx.history.of(target)

    def _around(self, user: str, scope: Scope | None) -> Scope:
        """Return the place in which a user is looked for: the scope given, whoever is its user."""
        place = self._in(scope)
        if place.user not in (None, user):
            raise InvalidScope(f"user={user[:40]!r} is not the user of the scope", hint="Name the user once.")
        return replace(place, user=Scope(user=user).user)

    def _scrubbed(self, found: Erasure) -> Erasure:
        """Let go of what this process still holds, and write the file anew."""
        self._let_go()
        try:
            self._parts.store.scrub()
        except StorageError as exc:
            return replace(found, why=f"{exc.code} {exc}")
        return replace(found, is_file_clean=True)

    def _move(
        self,
        memory_id: MemoryId,
        status: Status,
        action: Action,
        reason: str,
        scope: Scope | None,
        *,
        if_still: Memory | None,
    ) -> Memory:
        return set_status(
            self._resolve(memory_id, scope),
            status,
            store=self._parts.store,
            scope=self._in(scope),
            reason=reason,
            action=action,
            actor=self._actor,
            now=self._now(),
            if_still=if_still,
        )

    def _pin(
        self, memory_id: MemoryId, scope: Scope | None, *, pinned: bool, if_still: Memory | None
    ) -> Memory:
        return set_pinned(
            self._resolve(memory_id, scope),
            pinned=pinned,
            store=self._parts.store,
            scope=self._in(scope),
            actor=self._actor,
            now=self._now(),
            if_still=if_still,
        )

    def _set_layer(
        self,
        memory_id: MemoryId,
        layer: Layer | None,
        reason: str,
        scope: Scope | None,
        *,
        up: bool,
        if_still: Memory | None,
    ) -> Memory:
        return set_layer(
            self._resolve(memory_id, scope),
            None if layer is None else chosen(Layer, layer),
            up=up,
            store=self._parts.store,
            scope=self._in(scope),
            reason=reason,
            actor=self._actor,
            now=self._now(),
            if_still=if_still,
        )


# The verbs of links: relate two memories, take it back, and tell what a memory is linked to.
#
# Part of `Engram`. What links do to answers is in `recall`; which links admission and dreams set is theirs.


class Links(Handle):
    """Verbs about two memories."""

    def relate(
        self,
        memory_id: MemoryId,
        other: MemoryId,
        *,
        type: EdgeType = EdgeType.RELATED_TO,  # noqa: A002 - the word users know
        weight: float = 1.0,
        reason: str = "",
        if_still: Memory | None = None,
        scope: Scope | None = None,
    ) -> Edge:
        """
        Say how a memory relates to another: it supports or contradicts it, was caused by it, is an instance
        of it, or has to do with it.

        Recall follows the link at once, and tells of a contradiction. Said again, it replaces the weight.
        """
        return relate(
            self._resolve(memory_id, scope),
            self._resolve(other, scope),
            chosen(EdgeType, type),
            weight=weight,
            store=self._parts.store,
            speaker=self._speaker(reason, scope, if_still),
        )

    def unrelate(
        self,
        memory_id: MemoryId,
        other: MemoryId,
        *,
        type: EdgeType = EdgeType.RELATED_TO,  # noqa: A002 - the word users know
        reason: str = "",
        if_still: Memory | None = None,
        scope: Scope | None = None,
    ) -> bool:
        """Take such a link away; returns whether it was there."""
        return unrelate(
            self._resolve(memory_id, scope),
            self._resolve(other, scope),
            chosen(EdgeType, type),
            store=self._parts.store,
            speaker=self._speaker(reason, scope, if_still),
        )

    def links(self, memory_id: MemoryId, *, scope: Scope | None = None) -> Sequence[Edge]:
        """Return the links that leave or reach a memory and whose other end this scope may see."""
        place, target = self._in(scope), self._resolve(memory_id, scope)
        with self._parts.store.read() as tx:
            find(tx, target, place)
            return [
                edge
                for edge in tx.edges.of(target)
                if tx.memories.get(edge.target if edge.source == target else edge.source, scope=place)
            ]

    def _speaker(self, reason: str, scope: Scope | None, if_still: Memory | None) -> Speaker:
        return Speaker(self._in(scope), self._actor, self._now(), reason, if_still)
