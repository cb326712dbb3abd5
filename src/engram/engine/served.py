"""
What a server needs of a memory beside the verbs: the feed of changes, and answers kept by key.

Part of `Engram`; used by `surfaces.http`. Both go through the store, so several processes that serve the
same file see each other's changes and know each other's answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.engine.built import built
from engram.engine.handle import Handle
from engram.engine.replies import ReplyBook
from engram.store import contract
from engram.values.query import check_limit

if TYPE_CHECKING:
    from engram.store.contract import FeedPage
    from engram.values import Scope


class Served(Handle):
    """What a server needs."""

    def changes(self, *, after: int | None = None, limit: int = 200, scope: Scope | None = None) -> FeedPage:
        """
        Return what changed after a place in the feed, oldest first, and the place to read on from.

        Without a place, nothing but where the feed ends now. Ids and actions only, of what the scope
        sees, whichever process made the change.
        """
        check_limit(limit)
        with self._parts.store.read() as tx:
            latest = tx.feed.latest()
            if after is None or after >= latest:
                return contract.FeedPage(cursor=latest)
            return tx.feed.after(max(0, after), scope=self._in(scope), limit=limit)

    @built
    def replies(self) -> ReplyBook:
        """The answers that are kept by the caller's key."""
        return ReplyBook(self._parts.store, self._parts.clock)
