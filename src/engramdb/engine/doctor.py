"""Examine a store, and rebuild what is derived."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress

from msgspec.structs import replace

from engramdb.engine.clock import Clock
from engramdb.errors import EmbeddingError, EngramError, StorageError
from engramdb.lifecycle.enrich import enrich_pending
from engramdb.models.embedder import Embedder
from engramdb.store.contract import Store
from engramdb.text.normalize import counted
from engramdb.text.terms import TERMS_VERSION, index_terms, passage
from engramdb.values import Check, DoctorReport, Memory

# Derived data: embed what still waits, and rebuild the indexes from what is canonical.
#
# Called by the engine in the background after an embedder failed or changed, and by `doctor --fix`. Works in
# small writes, so that others get their turns, and never empties an index that questions are being asked of.

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


# Examine a store and its parts, and mend what can be made anew.
#
# Called by `Engram.doctor`. Canonical data is only looked at; derived data that is wrong is rebuilt when
# asked.

_CANONICAL = frozenset({"file", "references", "memories"})
_DERIVED = frozenset(
    {
        "text index",
        "text index complete",
        "text index free of the forgotten",
        "vectors free of the forgotten",
        "vectors whole",
        "text index rules",
        "traits",
    }
)

REBUILT = "made every derived index anew from the memories, and embedded what waited"
EMBEDDED = "embedded what waited"


def examine(
    store: Store, embedder: Embedder, *, fix: bool, progress: Callable[[int], None] | None = None
) -> DoctorReport:
    """Return what was found; with `fix`, rebuild derived data that is wrong and embed what waits."""
    found = _look(store, embedder)
    wrong = {check.name for check in found if not check.ok}
    if not fix or not wrong or _CANONICAL & wrong:
        return DoctorReport(checks=tuple(found))
    with suppress(EmbeddingError):  # the second look says what could not be mended
        if wrong & _DERIVED:
            rebuild(store, embedder, progress=progress)
        else:
            embed_pending(store, embedder, progress=progress)
    did = REBUILT if wrong & _DERIVED else EMBEDDED
    return DoctorReport(
        checks=tuple(
            replace(check, repaired=True, did=did) if check.ok and check.name in wrong else check
            for check in _look(store, embedder)
        )
    )


def _look(store: Store, embedder: Embedder) -> list[Check]:
    found = [*store.check()]
    if not all(check.ok for check in found if check.name == "file"):
        return found
    with store.read() as tx:
        version, wrong = tx.terms.version, tx.traits.count_wrong()
    found.append(Check(name="traits", ok=not wrong, found=_told(wrong)))
    found.append(Check(name="text index rules", ok=version in (0, TERMS_VERSION), found=_rules(version)))
    found.append(_try_embedder(embedder))
    if found[-1].ok:
        with store.read() as tx:
            waiting = tx.vectors.count_pending(tx.vectors.space(embedder.identity))
        found.append(Check(name="embedded", ok=waiting == 0, found=_waiting(waiting)))
    return found


def _rules(version: int) -> str:
    if version in (0, TERMS_VERSION):
        return f"words are cut as this version does, by rules {TERMS_VERSION}"
    return f"words were cut by rules {version}, and this version asks by rules {TERMS_VERSION}"


def _told(wrong: int) -> str:
    if not wrong:
        return "the people, tools and paths to filter by are as the memories say"
    return counted(wrong, "row is not as its memory says", "rows are not as their memories say")


def _waiting(number: int) -> str:
    if not number:
        return "every memory has its vector"
    return counted(number, "memory waits to be embedded", "memories wait to be embedded")


def _try_embedder(embedder: Embedder) -> Check:
    try:
        embedder.embed_queries(["is anybody there?"])
        identity = embedder.identity
    except EngramError as exc:
        return Check(name="embedder", ok=False, found=f"{exc.code} {exc}")
    return Check(
        name="embedder",
        ok=True,
        found=f"{identity.name} answers with {identity.dimension} dimensions, revision {identity.revision}",
    )
