"""
The verbs that change the shelf: documents are put, removed, cleared and taken back, and expire.

Half of `Engram.shelf`; calls `ready` before a write and `shelving` inside it. A write is durable, and
found by every process, when it returns.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from engram.engine.shelf.ground import Ground
from engram.engine.shelf.ready import ready
from engram.engine.shelf.shelving import REMOVED, Shelving
from engram.errors import EngramError
from engram.store.contract import Corner
from engram.values import Putting, Removing, Source

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta

    from engram.values import Scope, ShelfItem

PRUNED_AT_ONCE = 100
"""So many expired documents leave with one write, so that none takes long."""


class ShelfWrites(Ground):
    """What changes documents."""

    def put(
        self,
        place: tuple[str, ...],
        key: str,
        value: Any,
        *,
        text: str | None = None,
        lifetime: timedelta | None = None,
        source: Source = Source.INGEST,
        scope: Scope | None = None,
    ) -> ShelfItem:
        """
        Put a document under a key, in place of what lies there, and remember its `text`.

        Another text than before corrects the memory; none forgets it. A document with a `lifetime`
        expires so long after it was last written or read.
        """
        putting = Putting(place=place, key=key, value=value, text=text, lifetime=lifetime, source=source)
        (item,) = self.write([putting], scope=scope)
        assert item is not None  # noqa: S101 - a putting always has one
        return item

    def write(
        self, changes: Sequence[Putting | Removing], *, scope: Scope | None = None
    ) -> Sequence[ShelfItem | None]:
        """Put and remove documents in one write, in this order, and return what lies or lay there."""
        place, now = self._in(scope), self._parts.clock.now()
        wanted = [
            ready(one, self._gate, scope=self._inner(one.scope, place), now=now)
            if isinstance(one, Putting)
            else one
            for one in changes
        ]
        self._around.before_write()
        with self._parts.health.watch("write"), self._parts.store.atomic() as tx:
            shelving = Shelving(tx=tx, gate=self._gate, actor=self._actor, now=now)
            done = [
                shelving.remove(one, self._inner(one.scope, place))
                if isinstance(one, Removing)
                else shelving.put(one)
                for one in wanted
            ]
            shelving.prune(limit=PRUNED_AT_ONCE)
        for turn in shelving.heard:
            self._around.heard(turn)
        if not shelving.is_all_embedded:
            self._around.embed_later()
        return done

    def remove(self, place: tuple[str, ...], key: str, *, scope: Scope | None = None) -> bool:
        """Take a document away and forget what was remembered of it; says whether there was one."""
        (item,) = self.write([Removing(place=place, key=key)], scope=scope)
        return item is not None

    def clear(self, place: tuple[str, ...], *, within: bool = False, scope: Scope | None = None) -> int:
        """
        Take away every document of a place and below it, and return how many there were.

        Turns stay, and so does what was read out of them.
        """
        now = self._parts.clock.now()
        corner = Corner(scope=self._in(scope), now=now, place=place, within=within)
        self._around.before_write()
        with self._parts.health.watch("write"), self._parts.store.atomic() as tx:
            items = list(tx.shelf.walk(corner))
            Shelving(tx=tx, gate=self._gate, actor=self._actor, now=now).drop(items, REMOVED)
        return len(items)

    def take_back(
        self, place: tuple[str, ...], *, most: int = 1, scope: Scope | None = None
    ) -> Sequence[ShelfItem]:
        """
        Take the latest documents of a place away, and return them, the last one first.

        The turns that they were heard as leave with them, and what was read out of these alone.
        """
        now = self._parts.clock.now()
        corner = Corner(scope=self._in(scope), now=now, place=place)
        self._around.before_write()
        with self._parts.health.watch("write"), self._parts.store.atomic() as tx:
            latest = tx.shelf.latest(corner, limit=most)
            for item in latest:
                Shelving(tx=tx, gate=self._gate, actor=self._actor, now=now).unsay(item)
        return latest

    def patrol(self) -> None:
        """Take away what has expired; where that cannot be written now, the next write does so."""
        with contextlib.suppress(EngramError):
            self.prune()

    def prune(self) -> int:
        """Take away what has expired, and return how many documents that were."""
        now, total = self._parts.clock.now(), 0
        while True:
            with self._parts.store.read() as tx:
                if not tx.shelf.expired(now, limit=1):
                    return total
            with self._parts.store.atomic() as tx:
                shelving = Shelving(tx=tx, gate=self._gate, actor=self._actor, now=now)
                total += shelving.prune(limit=PRUNED_AT_ONCE)
