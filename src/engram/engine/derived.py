"""
Derived data: embed what still waits, and rebuild the indexes from what is canonical.

Called by the engine in the background after an embedder failed or changed, and by `doctor --fix`. Works in
small writes, so that others get their turns, and never empties an index that questions are being asked of.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from engram.capture.enrich import enrich_pending
from engram.errors import EmbeddingError, StorageError
from engram.text.passage import index_terms, passage
from engram.text.terms import TERMS_VERSION

if TYPE_CHECKING:
    from collections.abc import Callable

    from engram.engine.clock import Clock
    from engram.providers.embedder import Embedder
    from engram.store.contract import Store
    from engram.values import Memory

_TERM_ROWS = 500
_FIRST_PAUSE_SECONDS = 1.0
_LONGEST_PAUSE_SECONDS = 60.0
_QUIET_SECONDS = 0.5
_LONGEST_QUIET_SECONDS = 30.0  # who never pauses is not waited for


def embed_pending(
    store: Store,
    embedder: Embedder,
    *,
    stop: threading.Event | None = None,
    progress: Callable[[int], None] | None = None,
) -> int:
    """Embed every memory that has no vector in the embedder's space, newest first, and return how many."""
    done = 0
    while stop is None or not stop.is_set():
        with store.read() as tx:
            waiting = tx.vectors.pending(tx.vectors.space(embedder.identity), limit=embedder.batch)
        if not waiting:
            break
        _embed(store, embedder, waiting)
        done += len(waiting)
        if progress is not None:
            progress(len(waiting))
    return done


def rebuild(store: Store, embedder: Embedder, *, progress: Callable[[int], None] | None = None) -> int:
    """Make terms, traits and vectors of every memory anew, and return how many memories there were."""
    rebuild_terms(store)
    with store.atomic() as tx:
        tx.vectors.drop_stray()
        tx.traits.rebuild()
    done, after = 0, 0
    while True:
        with store.read() as tx:
            memories = tx.memories.indexable(after_key=after, limit=embedder.batch)
        if not memories:
            return done
        _embed(store, embedder, memories)
        after = max(memories)
        done += len(memories)
        if progress is not None:
            progress(len(memories))


def rebuild_terms(store: Store) -> None:
    """Make the text index anew in one write: readers see the old one until it is done."""
    with store.atomic() as tx:
        tx.terms.clear(version=TERMS_VERSION)
        after = 0
        while memories := tx.memories.indexable(after_key=after, limit=_TERM_ROWS):
            for key, memory in memories.items():
                tx.terms.put(key, index_terms(memory))
            after = max(memories)


def _embed(store: Store, embedder: Embedder, memories: dict[int, Memory]) -> None:
    """Store vectors for these memories; one that was forgotten meanwhile is left out."""
    vectors = embedder.embed_documents([passage(memory) for memory in memories.values()])
    with store.atomic() as tx:
        space = tx.vectors.make_space(embedder.identity)
        current = tx.memories.by_keys(list(memories))
        rows = [row for row, key in enumerate(memories) if key in current and current[key].status.is_indexed]
        keys = list(memories)
        if rows:
            tx.vectors.put(space, [keys[row] for row in rows], vectors[rows])


class Backfill:
    """A background thread that enriches and embeds what waits, and after a failure tries again, patiently."""

    def __init__(self, store: Store, embedder: Embedder, *, clock: Clock) -> None:
        self._store = store
        self._embedder = embedder
        self._clock = clock
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._is_asked = False
        self._is_running = False
        self._asked_at = 0.0

    def wake(self) -> None:
        """Begin, or look once more if it is at work already."""
        with self._lock:
            if self._stop.is_set():
                return
            self._is_asked = True
            self._asked_at = time.monotonic()
            if not self._is_running:
                self._is_running = True
                self._thread = threading.Thread(target=self._run, name="engram-backfill", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """End the thread, after the batch that it is embedding."""
        self._stop.set()
        with self._lock:
            thread = self._thread
        if thread is not None:
            thread.join()

    def _run(self) -> None:
        pause = _FIRST_PAUSE_SECONDS
        while self._has_work():
            self._let_others_finish()
            try:
                enrich_pending(self._store, now=self._clock.now(), stop=self._stop)
                embed_pending(self._store, self._embedder, stop=self._stop)
            except (
                EmbeddingError,
                StorageError,
            ):  # the watched embedder has noted it, the store shows itself
                self._stop.wait(pause)
                pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
                self.wake()

    def _let_others_finish(self) -> None:
        """Wait until nobody has asked for a moment: during a bulk import, enriching would be in the way."""
        latest = time.monotonic() + _LONGEST_QUIET_SECONDS
        while (left := min(self._asked_at + _QUIET_SECONDS, latest) - time.monotonic()) > 0:
            if self._stop.wait(left):
                return

    def _has_work(self) -> bool:
        """Take the request that led here; without one the thread ends, and the next one starts another."""
        with self._lock:
            self._is_running = self._is_asked and not self._stop.is_set()
            self._is_asked = False
            return self._is_running
